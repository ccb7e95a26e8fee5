#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Makes a release of the commit that is checked out, as `./dev release` does.

    packaging/release.py [--out FOLDER] [--cuda ARCHITECTURES] [--work FOLDER]

source    a tar of the commit, with the time stamp of the commit
builds    from that tar, in two folders with different names, time zones and permissions of new files: the tar of the prefix, the Debian
          packages and the wheel, each time
compare   both builds have the same bytes; where they differ, the members that differ are named, and both builds stay
try       the wheel, in an environment of Python with nothing else: two ranks sum
list      sbom.spdx.json, what each file holds of other projects; SHA256SUMS

Exit status 1 where something is wrong. It needs what building needs, git, python3-venv, dpkg-dev, zstd, and pip's packages.
"""

import argparse
import gzip
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile

import sbom

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, ".."))
SUMS = "SHA256SUMS"
# What each of the two builds has of its own; nothing of it may be seen in a package.
BUILDS = {"first": {"TZ": "UTC", "umask": 0o022}, "second-elsewhere": {"TZ": "Pacific/Kiritimati", "umask": 0o077}}


class Wrong(Exception):
    """The text says what is wrong and what to do."""


def run(*command, folder=ROOT, log=None, environment=None, umask=-1):
    """What the command prints on its standard output. With `log` all goes to that file instead."""
    with open(log, "a", encoding="utf-8") if log else open(os.devnull, "w", encoding="utf-8") as file:
        try:
            done = subprocess.run(command, cwd=folder, stdout=file if log else subprocess.PIPE, stderr=subprocess.STDOUT if log else subprocess.PIPE,
                                  text=True, errors="replace", env={**os.environ, **(environment or {})}, umask=umask, check=False)
        except OSError as error:
            raise Wrong(f"{command[0]} did not start: {error}. './dev setup build dist' installs what is missing") from None
    if done.returncode != 0:
        tail = "".join(read(log).splitlines(keepends=True)[-20:]) if log else done.stdout + done.stderr
        raise Wrong(f"{shlex.join(command)}: exit status {done.returncode}{f'; all that was printed: {log}' if log else ''}\n{tail}")
    return done.stdout


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def digest(path, kind="sha256"):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, kind).hexdigest()


# ---------------------------------------------------------------------------------------------------------------
# The source

def version_of(root):
    return re.search(r"^project\(tutti VERSION (\S+) ", read(os.path.join(root, "CMakeLists.txt")), re.M)[1]


def commit_of(root):
    """Its name and its time, in seconds."""
    changed = run("git", "status", "--porcelain", "--untracked-files=no", folder=root)
    if changed:
        raise Wrong("a release is made of a commit, and these files differ from it; commit them, or make the release in a fresh clone:\n" + changed)
    name, epoch = run("git", "log", "-1", "--format=%H %ct", folder=root).split()
    return name, int(epoch)


def source_tar(root, path, name, epoch):
    """Writes the tar of the commit, with all in a folder `name`. The same commit gives the same bytes."""
    plain = path.removesuffix(".gz")
    run("git", "-c", "tar.umask=0022", "archive", "--format=tar", f"--prefix={name}/", "-o", plain, "HEAD", folder=root)
    with open(plain, "rb") as tar, open(path, "wb") as out, gzip.GzipFile("", "wb", 9, out, mtime=epoch) as packed:
        shutil.copyfileobj(tar, packed)
    os.remove(plain)


# ---------------------------------------------------------------------------------------------------------------
# The two builds

def build(source, folder, epoch, own, cuda):
    """Builds the source's packages in `folder`. Returns the folder that has them and nothing else, and CMake's cache."""
    log, packages = os.path.join(folder, "build.log"), os.path.join(folder, "packages")
    os.makedirs(folder)
    jobs = os.environ.get("TUTTI_JOBS") or str(os.cpu_count() or 2)
    environment = {"SOURCE_DATE_EPOCH": str(epoch), "TZ": own["TZ"], "LC_ALL": "C.UTF-8", "CMAKE_BUILD_PARALLEL_LEVEL": jobs}

    def step(*command, umask=own["umask"]):
        run(*command, folder=tree, log=log, environment=environment, umask=umask)

    run("tar", "-xf", source, "-C", folder, "--same-permissions", "--no-same-owner")
    tree = os.path.join(folder, os.path.basename(source).removesuffix(".tar.gz"))
    made = os.path.join(tree, "build/release")
    gpu = ["-DTUTTI_CUDA=ON", f"-DCMAKE_CUDA_ARCHITECTURES={cuda}"] if cuda else []
    step("cmake", "--preset", "release", "-DTUTTI_TESTS=OFF", *gpu)
    step("cmake", "--build", made)
    # cpack writes the permissions of its own scratch files into Debian packages.
    step("cpack", "--config", os.path.join(made, "CPackConfig.cmake"), "-B", packages, umask=0o022)
    shutil.rmtree(os.path.join(packages, "_CPack_Packages"), ignore_errors=True)
    # The wheel takes the objects of this build: what it is compiled with is the same.
    python = os.path.join(folder, "venv/bin/python")
    step(sys.executable, "-m", "venv", os.path.join(folder, "venv"))
    options = [word for definition in gpu for word in ("-C", "cmake.define." + definition.removeprefix("-D"))]
    step(python, "-m", "pip", "wheel", "--disable-pip-version-check", "--no-deps", "-w", packages, "-C", f"build-dir={made}", *options, ".")
    return packages, read(os.path.join(made, "CMakeCache.txt"))


def members(path, into):
    """name -> digest of its content and what else is stored with it, of what is in a package."""
    found = {}
    if path.endswith(".whl"):
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                content = hashlib.sha256(archive.read(member)).hexdigest()
                found[member.filename] = (content, member.date_time, member.external_attr)
        return found
    for part, prefix in (("--fsys-tarfile", ""), ("--ctrl-tarfile", "control: ")) if path.endswith(".deb") else (("", ""),):
        plain = os.path.join(into, "plain.tar")
        with open(plain, "wb") as out:
            subprocess.run(["dpkg-deb", part, path] if part else ["zstd", "-dqc", path], stdout=out, check=True)
        with tarfile.open(plain) as archive:
            for member in archive:
                content = hashlib.sha256(archive.extractfile(member).read()).hexdigest() if member.isfile() else member.linkname
                found[prefix + member.name] = (content, member.mtime, member.mode, member.uname, member.gname)
        os.remove(plain)
    return found


def differences(first, second, scratch):
    """What differs between two folders of packages, a line each; none where all bytes are the same."""
    lines = []
    names = sorted({*os.listdir(first), *os.listdir(second)})
    for name in names:
        one, other = os.path.join(first, name), os.path.join(second, name)
        if not (os.path.exists(one) and os.path.exists(other)):
            lines.append(f"{name}: only the {'first' if os.path.exists(one) else 'second'} build has made it")
        elif digest(one) != digest(other):
            have, theirs = members(one, scratch), members(other, scratch)
            inside = sorted(member for member in {*have, *theirs} if have.get(member) != theirs.get(member))
            lines.append(f"{name}: {', '.join(inside) if inside else 'the same members, otherwise ordered or packed'}")
    return lines


def compare(first, second, scratch):
    lines = differences(first, second, scratch)
    if lines:
        raise Wrong("two builds of one source gave different bytes:\n" + "".join(f"  {line}\n" for line in lines) +
                    f"Both are kept in {first} and {second}; 'diffoscope' shows what differs. It is usually the time, the folder of the build, "
                    "permissions of new files, or an order in which files were found: let the build take it from the source instead.")


# ---------------------------------------------------------------------------------------------------------------

def try_wheel(folder, scratch, version):
    """Installs it in an environment with nothing else, and has two ranks sum."""
    wheel = [name for name in os.listdir(folder) if name.endswith(".whl")]
    venv, log = os.path.join(scratch, "trial"), os.path.join(scratch, "trial.log")
    run(sys.executable, "-m", "venv", venv, log=log)
    python = os.path.join(venv, "bin/python")
    run(python, "-m", "pip", "install", "--disable-pip-version-check", os.path.join(folder, wheel[0]), log=log)
    said = run(python, "-m", "tutti", "--version", folder=scratch).strip()
    if said != version:
        raise Wrong(f"the wheel of {version} says that it is {said}; see {log}")
    run(python, "-m", "tutti", "demo", "--ranks", "2", folder=scratch, log=log)


def write_lists(folder, version, commit, epoch, cache):
    """Writes sbom.spdx.json and SHA256SUMS, of all files in the folder."""
    names = sorted(os.listdir(folder))
    files = {name: digest(os.path.join(folder, name)) for name in names}
    sbom.write(os.path.join(folder, "sbom.spdx.json"), version, commit, epoch, files, cache)
    with open(os.path.join(folder, SUMS), "w", encoding="utf-8") as file:
        for name in sorted([*names, "sbom.spdx.json"]):
            file.write(f"{digest(os.path.join(folder, name))}  {name}\n")
    run("sha256sum", "--check", "--quiet", "--strict", SUMS, folder=folder)


class Steps:
    """Says each step and how long it took."""

    def __init__(self):
        self.begin = self.since = time.monotonic()

    def done(self, text):
        now = time.monotonic()
        print(f"{now - self.since:7.1f} s  {text}", flush=True)
        self.since = now


def release(root, out, work, cuda):
    steps = Steps()
    commit, epoch = commit_of(root)
    version = version_of(root)
    for folder in (out, work):
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
    source = os.path.join(out, f"tutti-{version}.tar.gz")
    source_tar(root, source, f"tutti-{version}", epoch)
    steps.done(f"the source of {commit[:12]}")
    packages = []
    for name, own in BUILDS.items():
        made, cache = build(source, os.path.join(work, name), epoch, own, cuda)
        packages.append(made)
        steps.done(f"the {name.split('-')[0]} build: {len(os.listdir(made))} packages")
    compare(*packages, work)
    steps.done("both have the same bytes")
    for name in os.listdir(packages[0]):
        shutil.copy(os.path.join(packages[0], name), out)
    try_wheel(out, work, version)
    steps.done("the wheel works in an environment with nothing else")
    write_lists(out, version, commit, epoch, cache)
    steps.done(f"sbom.spdx.json and {SUMS}")
    shutil.rmtree(work)
    print(f"\nTutti {version} is in {out}, made in {time.monotonic() - steps.begin:.0f} s:")
    for name in sorted(os.listdir(out)):
        print(f"{os.path.getsize(os.path.join(out, name)):12,d}  {name}")


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", help="where the release goes; what is there is removed (default: build/releases/VERSION)")
    parser.add_argument("--work", help="where it is built; twice some 300 MB (default: build/release-work)")
    parser.add_argument("--cuda", metavar="ARCHITECTURES", help="with kernels for these classes of GPUs, for example 90 or '80;90' (default: none)")
    options = parser.parse_args(arguments)
    out = os.path.abspath(options.out or os.path.join(ROOT, "build/releases", version_of(ROOT)))
    try:
        release(ROOT, out, os.path.abspath(options.work or os.path.join(ROOT, "build/release-work")), options.cuda)
    except Wrong as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
