# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""The list of what a release's files hold of other projects, as SPDX 2.3 in JSON.

What is in which library is read from the table in third-party-notices.txt; here stand the licences as SPDX writes them.
"""

import dataclasses
import json
import os
import re
import shutil
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
NOTICES = os.path.join(HERE, "third-party-notices.txt")


@dataclasses.dataclass(frozen=True)
class Part:
    licence: str
    home: str
    package: str = ""  # of Debian, which knows the version
    found_as: str = ""  # a variable of CMake, of what is left out where it is not there


PARTS = {
    "libsodium": Part("ISC", "https://github.com/jedisct1/libsodium", "libsodium-dev"),
    "pugixml": Part("MIT", "https://github.com/zeux/pugixml", "libpugixml-dev"),
    "{fmt}": Part("MIT", "https://github.com/fmtlib/fmt", "libfmt-dev"),
    "libfabric, its headers": Part("BSD-2-Clause", "https://github.com/ofiwg/libfabric", "libfabric-dev", "TUTTI_LIBFABRIC_INCLUDE"),
    "NVTX, its headers": Part("Apache-2.0 WITH LLVM-exception", "https://github.com/NVIDIA/NVTX", "", "TUTTI_NVTX_INCLUDE"),
    "CLI11": Part("BSD-3-Clause", "https://github.com/CLIUtils/CLI11", "libcli11-dev"),
    "JSON for Modern C++": Part("MIT", "https://github.com/nlohmann/json", "nlohmann-json3-dev"),
    "nanobind": Part("BSD-3-Clause", "https://github.com/wjakob/nanobind"),
    "libstdc++, libgcc": Part("GPL-3.0-or-later WITH GCC-exception-3.1", "https://gcc.gnu.org", "libstdc++-{compiler}-dev"),
}
# What a file of a release holds, by its name: words of the table's second column.
HOLDS = (
    (re.compile(r"^libtutti\d+_.*\.deb$"), {"libtutti", "libtutti_mpitrampoline.so"}),
    (re.compile(r"^libtutti-dev_.*\.deb$"), {"libtutti"}),
    (re.compile(r"^libnccl2-tutti_.*\.deb$"), {"libnccl.so.2"}),
    (re.compile(r"^tutti-tools_.*\.deb$"), {"tutti"}),
    (re.compile(r"^tutti-[\d.]+-linux-.*\.tar\.zst$"), {"libtutti", "libnccl.so.2", "libtutti_mpitrampoline.so", "tutti"}),
    (re.compile(r"^tutti_collectives-.*\.whl$"), {"libtutti", "libnccl.so.2", "libtutti_mpitrampoline.so", "the Python package"}),
    (re.compile(r"^tutti-[\d.]+\.tar\.gz$"), set()),
)


def table(text):
    """part -> the set of what it is in, of the notices' table."""
    rows = re.search(r"^  part +is in +licence\n((?:  .*\n)+)", text, re.M)[1]
    found = {}
    for row in rows.splitlines():
        name, place, _ = re.split(r" {2,}", row.strip(), maxsplit=2)
        found[name] = set(re.sub(r" \(\d\)$", "", place).split(", "))
    return found


def holds(name):
    for pattern, places in HOLDS:
        if pattern.match(name):
            return places
    raise ValueError(f"packaging/sbom.py does not say what {name} holds: it belongs in HOLDS")


def debian_version(package):
    """The version that is installed, or nothing."""
    if not package or not shutil.which("dpkg-query"):
        return ""
    if "{compiler}" in package:
        compiler = subprocess.run([os.environ.get("CXX", "c++"), "-dumpversion"], capture_output=True, text=True, check=True).stdout
        package = package.format(compiler=compiler.split(".")[0].strip())
    done = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status} ${Version}\n", package], capture_output=True, text=True, check=False)
    words = done.stdout.split()
    return words[1] if done.returncode == 0 and words[:1] == ["installed"] else ""


def spdx_id(name):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]+", "-", name).strip("-")


def part_entry(name, part, version):
    entry = {"SPDXID": spdx_id("part-" + name), "name": name.split(",")[0] if "headers" in name else name, "downloadLocation": part.home,
             "filesAnalyzed": False, "licenseConcluded": part.licence, "licenseDeclared": part.licence, "copyrightText": "NOASSERTION"}
    if version:
        entry["versionInfo"] = version
        entry["externalRefs"] = [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                                  "referenceLocator": f"pkg:deb/debian/{part.package}@{version.replace('+', '%2B')}"}]
    return entry


def file_entry(name, version, digest):
    return {"SPDXID": spdx_id("file-" + name), "name": name, "versionInfo": version, "packageFileName": name,
            "supplier": "Organization: The Tutti Authors", "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "checksums": [{"algorithm": "SHA256", "checksumValue": digest}], "licenseConcluded": "NOASSERTION",
            "licenseDeclared": "Apache-2.0", "copyrightText": "Copyright 2026 The Tutti Authors"}


def document(version, commit, epoch, files, cache, version_of=debian_version):
    """The list, as JSON's objects. `files`: name -> SHA-256. `cache`: the text of CMakeCache.txt of the build. The same files give the
    same list, where the same versions of the parts are installed."""
    with open(NOTICES, encoding="utf-8") as file:
        places = table(file.read())
    packages, relations = [], []
    versions = {name: version_of(PARTS[name].package) for name in places}
    there = [name for name in places if f":PATH={PARTS[name].found_as}-NOTFOUND" not in cache]
    source = next(name for name in files if name.endswith(".tar.gz"))
    for name, digest in sorted(files.items()):
        packages.append(file_entry(name, version, digest))
        relations.append(("SPDXRef-DOCUMENT", "DESCRIBES", spdx_id("file-" + name)))
        if name != source:
            relations.append((spdx_id("file-" + name), "GENERATED_FROM", spdx_id("file-" + source)))
        for part in there:
            if places[part] & holds(name):
                relations.append((spdx_id("file-" + name), "STATIC_LINK", spdx_id("part-" + part)))
    packages += [part_entry(name, PARTS[name], versions[name]) for name in there]
    return {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"tutti-{version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/tutti-{version}-{commit}-{files[source][:16]}",
        "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch)), "creators": ["Tool: tutti-release"]},
        "packages": packages,
        "relationships": [{"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other} for one, kind, other in relations],
    }


def write(path, version, commit, epoch, files, cache):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document(version, commit, epoch, files, cache), file, indent=1)
        file.write("\n")
