#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Tries what a user installs, as `./dev test packages` has built it.

    tests/packages/run.py BUILD_FOLDER [--only WORDS] [--keep-face]

files     `cmake --install` into a folder, which is then moved; what lies where; no path of this machine in any file
symbols   libtutti.so and libtutti.a show the C++ interface and nothing else; what the libraries need
face      abidiff: whether programs built with the interface as it is stored in libtutti.abi would run; --keep-face stores it
projects  the projects in examples/projects, by find_package, pkg-config and FetchContent: built, and run by 2 ranks
pages     every command and option is in its manual page and in the completions; these are read by man, bash, zsh, fish
packages  Debian packages and the tar: made, looked into, unpacked, and run from there; lintian

What is not installed here (lintian, zsh, fish) is left out and said so. Exit status 1 where something is wrong.
"""

import argparse
import fnmatch
import gzip
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "../.."))
FACE = os.path.join(HERE, "libtutti.abi")
LIMIT_S = 300  # for any command

# What an installed prefix holds; stars are for versions and lists that grow.
FILES = """
bin/tutti
include/tutti/*.h
lib/cmake/tutti/tuttiConfig.cmake
lib/cmake/tutti/tuttiConfigVersion.cmake
lib/cmake/tutti/tuttiTargets.cmake
lib/cmake/tutti/tuttiTargets-release.cmake
lib/libtutti.a
lib/libtutti.so
lib/libtutti.so.*
lib/pkgconfig/tutti.pc
lib/pkgconfig/tutti-nccl.pc
lib/tutti/libtutti_audit.so
lib/tutti/libtutti_mpitrampoline.so
lib/tutti/nccl/include/nccl.h
lib/tutti/nccl/lib/libnccl.so
lib/tutti/nccl/lib/libnccl.so.2
lib/tutti/nccl/lib/libnccl.so.2.*
lib/tutti/nccl/lib/pkgconfig/nccl.pc
share/bash-completion/completions/tutti
share/doc/tutti/LICENSE
share/doc/tutti/README.md
share/doc/tutti/third-party-notices.txt
share/fish/vendor_completions.d/tutti.fish
share/man/man1/tutti.1.gz
share/man/man1/tutti-*.1.gz
share/zsh/site-functions/_tutti
""".split()


class Wrong(Exception):
    pass


def check(right, text):
    if not right:
        raise Wrong(text)


def run(*command, environment=None):
    """What the command printed on both outputs. Raises Wrong where it fails."""
    code, text = outcome(*command, environment=environment)
    if code != 0:
        raise Wrong(f"{shlex.join(command)}: exit status {code}\n{text}")
    return text


def outcome(*command, environment=None):
    """Its exit status and what it printed. What it has started ends with it."""
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                   env={**os.environ, **(environment or {})}, start_new_session=True)
    except OSError as error:
        raise Wrong(f"{shlex.join(command)}: {error}") from None
    try:
        text, _ = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise Wrong(f"{shlex.join(command)}: not ended after {LIMIT_S} s") from None
    return process.returncode, text


def files_below(folder):
    return sorted(os.path.relpath(os.path.join(path, name), folder) for path, _, names in os.walk(folder) for name in names)


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


class Test:
    def __init__(self, build, work, keep_face):
        self.build, self.work, self.keep_face = os.path.abspath(build), work, keep_face
        self.prefix = os.path.join(work, "moved prefix")  # a blank, and not where it was installed
        self.examples = os.path.join(work, "examples")
        self.left_out = set()
        self.projects_done = threading.Event()
        self.soversion = re.search(r"^set\(TUTTI_SOVERSION (\d+)\)", read(ROOT, "packaging/library.cmake"), re.M)[1]

    def tool(self, name):
        found = shutil.which(name)
        if not found:
            self.left_out.add(name)
        return found

    def two_ranks(self, program, prefix=None, environment=None):
        """The program's output, run by 2 ranks of the installed tutti."""
        tutti = os.path.join(prefix or self.prefix, "bin/tutti")
        text = run(tutti, "run", "-n", "2", program, environment=environment)
        if "first_program" in program:
            for rank in (0, 1):
                check(f"rank {rank} of 2: my {rank + 1} became 3" in text, f"{program} printed:\n{text}")
        return text

    # ---------------------------------------------------------------------------------------------------------

    def files(self):
        first = os.path.join(self.work, "first")
        run("cmake", "--install", self.build, "--prefix", first)
        os.rename(first, self.prefix)
        found = files_below(self.prefix)
        self.compare_with_list(found)
        for file in found:
            path = os.path.join(self.prefix, file)
            with open(path, "rb") as opened:
                content = opened.read()
            for place in (ROOT, self.build, first):
                check(place.encode() not in content, f"{file} contains the path {place}")
        check("tutti 0." in run(os.path.join(self.prefix, "bin/tutti"), "version"), "tutti version")

    @staticmethod
    def compare_with_list(found):
        for pattern in FILES:
            check(fnmatch.filter(found, pattern), f"{pattern} was not installed")
        for file in found:
            check(any(fnmatch.fnmatch(file, pattern) for pattern in FILES), f"{file} was installed, but is in no list (FILES)")

    def symbols(self):
        library = os.path.join(self.prefix, "lib/libtutti.so")
        shown, face = self.shown(library), self.shown(os.path.join(self.build, "libtutti_face.so"))
        check(len(shown) > 50, f"{library} shows {len(shown)} functions")
        check(shown == face, "tests/packages/face.cc should define these, if programs may call them: " +
              run("c++filt", *sorted(shown - face or {"none"})) + "and libtutti.so shows none of these, which need TUTTI_EXPORT or have "
              "no source: " + run("c++filt", *sorted(face - shown or {"none"})))
        archive = run("nm", "--defined-only", "--extern-only", "-f", "just-symbols", os.path.join(self.prefix, "lib/libtutti.a"))
        in_archive = {line for line in archive.split() if not line.endswith(":")}
        check(in_archive == {name.split("@")[0] for name in shown}, "libtutti.a shows other symbols than libtutti.so:\n" +
              "\n".join(sorted(in_archive ^ {name.split("@")[0] for name in shown})))
        self.needs(library, f"libtutti.so.{self.soversion}", {"libstdc++.so.6", "libgcc_s.so.1", "libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"})
        self.needs(os.path.join(self.prefix, "lib/tutti/nccl/lib/libnccl.so.2"), "libnccl.so.2", {"libc.so.6", "ld-linux-x86-64.so.2"})

    @staticmethod
    def shown(library):
        """Names with versions of what it defines for others, but for the name of the version."""
        lines = run("nm", "--dynamic", "--defined-only", "--with-symbol-versions", library).splitlines()
        return {line.split()[2].replace("@@", "@") for line in lines if line.split()[1] != "A"}

    @staticmethod
    def needs(library, soname, most):
        dynamic = run("readelf", "--dynamic", "--wide", library)
        needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
        check(needed <= most, f"{library} needs {sorted(needed - most)}")
        check(re.findall(r"\(SONAME\).*\[(.*)\]", dynamic) == [soname], f"the soname of {library} is not {soname}")
        check("(RPATH)" not in dynamic and "(RUNPATH)" not in dynamic, f"{library} has a path of libraries")
        check(re.search(r"\bNODELETE\b", dynamic), f"{library} may be unloaded while its threads run")

    # ---------------------------------------------------------------------------------------------------------

    def face(self):
        now = self.dump(os.path.join(self.build, "libtutti_face.so"), os.path.join(ROOT, "include/tutti"))
        if self.keep_face:
            shutil.copy(now, FACE)
            print(f"stored the interface in {os.path.relpath(FACE, ROOT)}")
        code, text = outcome("abidiff", FACE, now)
        check(code == 0, f"the interface differs from what {os.path.relpath(FACE, ROOT)} has:\n{text}\n"
              "If that is meant: './dev test packages --keep-face' stores it. Where programs that were built with a release would not "
              "run any more, raise TUTTI_SOVERSION in packaging/library.cmake too; a function more does not count.")
        # It would see a field more.
        changed = os.path.join(self.work, "changed")
        shutil.copytree(os.path.join(ROOT, "include/tutti"), os.path.join(changed, "tutti"))
        text = read(changed, "tutti/operation.h")
        check(text.count("  std::size_t count = 0;") == 1, "operation.h has no count to plant a change before")
        with open(os.path.join(changed, "tutti/operation.h"), "w", encoding="utf-8") as file:
            file.write(text.replace("  std::size_t count = 0;", "  int planted = 0;\n  std::size_t count = 0;"))
        words = [w for w in self.command_of(os.path.join(HERE, "face.cc")) if w != "-I" + os.path.join(ROOT, "include")]
        library = os.path.join(changed, "libtutti_face.so")
        run(words[0], *words[1:words.index("-o")], f"-I{changed}", "-shared", "-o", library, os.path.join(HERE, "face.cc"),
            f"-Wl,--version-script={self.build}/libtutti.map", f"-Wl,-soname,libtutti.so.{self.soversion}")
        code, text = outcome("abidiff", FACE, self.dump(library, os.path.join(changed, "tutti")))
        check(code & 4 and "int planted" in text, f"abidiff did not see a planted field:\n{text}")

    def dump(self, library, headers):
        file = library + ".abi"
        run("abidw", "--headers-dir", headers, "--drop-private-types", "--exported-interfaces-only", "--type-id-style", "hash",
            "--no-parameter-names", "--no-elf-needed", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--out-file", file,
            library)
        text = read(os.path.dirname(file), os.path.basename(file)).replace(ROOT + "/", "")  # the same wherever it is built
        with open(file, "w", encoding="utf-8") as dump:
            dump.write(text)
        return file

    def command_of(self, source):
        for entry in self.commands(self.build):
            if entry[0] == source:
                return entry[1]
        raise Wrong(f"{source} is not in the build")

    @staticmethod
    def commands(build):
        """Source, words of its compilation, of all sources of the build."""
        with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
            return [(entry["file"], shlex.split(entry["command"])) for entry in json.load(file)]

    # ---------------------------------------------------------------------------------------------------------

    def projects(self):
        shutil.copytree(os.path.join(ROOT, "examples"), self.examples)
        try:
            self.by_find_package()
            self.by_pkg_config()
        finally:
            self.projects_done.set()
        self.by_add_subdirectory()

    def by_find_package(self):
        source, build = os.path.join(self.examples, "projects/find_package"), os.path.join(self.work, "find_package")
        run("cmake", "-S", source, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_PREFIX_PATH={self.prefix}")
        run("cmake", "--build", build)
        for program in ("first_program", "first_program_static", "nccl_program"):
            self.two_ranks(os.path.join(build, program))
        # A version that is too new, and a part that there is not.
        for words, complaint in ((("0.1", "0.2"), "0.1."), (("0.1 REQUIRED", "0.1 REQUIRED COMPONENTS gpu"), "gpu")):
            other = tempfile.mkdtemp(dir=self.work)
            with open(os.path.join(other, "CMakeLists.txt"), "w", encoding="utf-8") as file:
                file.write(read(source, "CMakeLists.txt").replace("find_package(tutti " + words[0], "find_package(tutti " + words[1]))
            code, text = outcome("cmake", "-S", other, "-B", os.path.join(other, "build"), "-G", "Ninja",
                                 f"-DCMAKE_PREFIX_PATH={self.prefix}")
            check(code != 0 and "tutti" in text and complaint in text, f"find_package(tutti {words[1]}): status {code}\n{text}")

    def by_pkg_config(self):
        source = os.path.join(self.examples, "projects/pkg_config")
        # make and pkg-config have no names with blanks.
        prefix = os.path.join(self.work, "prefix")
        os.symlink(self.prefix, prefix)
        run("make", "-C", source, environment={"PKG_CONFIG_PATH": f"{prefix}/lib/pkgconfig"})
        self.two_ranks(os.path.join(source, "first_program"), environment={"LD_LIBRARY_PATH": f"{prefix}/lib"})
        self.two_ranks(os.path.join(source, "nccl_program"))  # it finds the library by the path in it
        # By the name that builds for NCCL ask for; then the library is found by who runs it.
        flags = shlex.split(run("pkg-config", "--cflags", "--libs", "nccl",
                                environment={"PKG_CONFIG_PATH": f"{prefix}/lib/tutti/nccl/lib/pkgconfig"}))
        program = os.path.join(source, "by_name")
        run(os.environ.get("CC", "cc"), os.path.join(self.examples, "nccl_program.c"), "-o", program, *flags)
        tutti = f"{prefix}/bin/tutti"
        text = run(tutti, "preload", "--require", tutti, "run", "-n", "2", program)
        check("2 processes mapped a libnccl" in text and "/lib/tutti/nccl/lib/libnccl.so.2" in text, text)
        self.two_ranks(program, environment={"LD_LIBRARY_PATH": f"{prefix}/lib/tutti/nccl/lib"})

    def by_add_subdirectory(self):
        """Objects are those of the build that is tested, where their compilation is the same: it takes ten minutes otherwise."""
        table, log = os.path.join(self.work, "objects"), os.path.join(self.work, "reuse.log")
        with open(table, "w", encoding="utf-8") as file:
            for source, words in self.commands(self.build):
                if source.startswith(os.path.join(ROOT, "src/")) and not source.endswith(("_test.cc", "_bench.cc")):
                    object_file, rest = self.without_place(words)
                    file.write("\t".join((source, os.path.join(self.build, object_file), rest)) + "\n")
        source, build = os.path.join(self.examples, "projects/add_subdirectory"), os.path.join(self.work, "add_subdirectory")
        launcher = f"{HERE}/reuse.sh;{table};{log}"
        run("cmake", "-S", source, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", f"-DTUTTI_SOURCE={ROOT}",
            "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}")
        targets = run("ninja", "-C", build, "-t", "targets", "all")
        for name in ("tools/", "_test", "libnccl", "fuzz"):
            check(name not in targets, f"a project that takes Tutti in would build {name}")
        run("cmake", "--build", build)
        text = read(log)
        taken = len(re.findall("^taken ", text, re.M))
        check(taken > 300, f"only {taken} objects were compiled as in a build of Tutti alone; {log}:\n{text[:2000]}")
        for program in ("first_program", "first_program_static"):
            self.two_ranks(os.path.join(build, program))
        # Nothing of ours in how the project itself is compiled.
        own = [words for file, words in self.commands(build) if file.endswith("first_program.cc")]
        check(own, "the project's own source is not in its compile_commands.json")
        for words in own:
            strange = [w for w in words[1:] if w.startswith(("-W", "-f", "-D")) and w != "-DNDEBUG"]
            check(not strange, f"the project's own source is compiled with {strange}")
            folders = [w[2:] for w in words if w.startswith("-I")]
            check(not any(os.path.exists(os.path.join(f, "nccl.h")) for f in folders), f"nccl.h lies in one of {folders}")

    @staticmethod
    def without_place(words):
        """The object and the words of a compilation that may change it."""
        rest, object_file, at = [], "", 0
        while at < len(words):
            if words[at] == "-o":
                object_file, at = words[at + 1], at + 1
            elif words[at] == "-c" or (words[at] == "-include" and "cmake_pch" in words[at + 1]):
                at += 1
            elif words[at] != "-Winvalid-pch":
                rest.append(words[at])
            at += 1
        return object_file, " ".join(rest)

    # ---------------------------------------------------------------------------------------------------------

    def pages(self):
        tutti, share = os.path.join(self.prefix, "bin/tutti"), os.path.join(self.prefix, "share")
        names = run(tutti, "man", "--list").split()
        pages = os.path.join(share, "man/man1")
        check(sorted(os.listdir(pages)) == sorted(f"{name}.1.gz" for name in names), f"other pages in {pages} than {names}")
        listed = set(re.findall(r"^  (\w+)  ", run(tutti, "--help"), re.M))
        commands = [name.removeprefix("tutti-") for name in names if name != "tutti"]
        check(listed == set(commands), f"'tutti --help' lists {sorted(listed)}, 'tutti man --list' has {sorted(commands)}")
        options = {command: self.options_in_help(run(tutti, command, "--help")) for command in commands}
        for name in names:
            file = os.path.join(pages, f"{name}.1.gz")
            with gzip.open(file, "rt", encoding="utf-8") as page:
                text = page.read().replace("\\-", "-")
            for word in options.get(name.removeprefix("tutti-"), commands):
                check(f"\\fB{word}\\fR" in text or f"\\fB{word}," in text, f"{name}.1 does not name {word}")
            if self.tool("man"):
                code, shown = outcome("man", "--warnings", "-E", "UTF-8", "-Tutf8", "-l", file,
                                      environment={"MANWIDTH": "100", "LC_ALL": "C.UTF-8"})
                check(code == 0 and "warning:" not in shown and name.upper() in shown, f"man finds fault with {name}.1:\n{shown}")
        self.completions(os.path.join(share, "bash-completion/completions/tutti"), "bash", options, self.ask_bash)
        self.completions(os.path.join(share, "fish/vendor_completions.d/tutti.fish"), "fish", options, self.ask_fish)
        zsh = os.path.join(share, "zsh/site-functions/_tutti")
        for command, words in options.items():
            function = re.search(rf"^_tutti_{command}\(\) {{\n(.*?)^}}", read(zsh), re.M | re.S)
            missing = [word for word in words if not function or not re.search(rf"['*{{,]{word}['\[,}}]", function[1])]
            check(not missing, f"the completion of {command} for zsh lacks {missing}")
        if self.tool("zsh"):
            run("zsh", "-n", zsh)

    @staticmethod
    def options_in_help(text):
        names = [name for line in re.findall(r"^  (-\S+)", text, re.M) for name in line.split(",")]
        check("--help" in names, f"a help without --help:\n{text}")
        return names

    def completions(self, file, shell, options, ask):
        if not self.tool(shell):
            return
        questions = [""] + [f"{command} -" for command in options] + ["perf all_g", "completion "]
        answers = ask(file, questions)
        missing = set(options) - set(answers[0])
        check(not missing, f"{shell} does not complete the commands {sorted(missing)}")
        for (command, names), answer in zip(options.items(), answers[1:]):
            missing = [name for name in names if name not in answer]
            check(not missing, f"{shell} does not complete {missing} behind 'tutti {command}': {answer}")
        check("all_gather" in answers[-2], f"{shell} completes 'tutti perf all_g' by {answers[-2]}")
        check({"bash", "zsh", "fish"} <= set(answers[-1]), f"{shell} completes 'tutti completion' by {answers[-1]}")

    @staticmethod
    def ask_bash(file, questions):
        script = f"compopt() {{ :; }}; source {shlex.quote(file)} || exit 1\n"
        for question in questions:
            words = question.split(" ")
            script += f"COMP_WORDS=(tutti {' '.join(shlex.quote(w) for w in words)}); COMP_CWORD={len(words)}; _tutti || exit 1; "
            script += 'echo "${COMPREPLY[*]}"\n'
        return [line.split() for line in run("bash", "--norc", "-c", script).split("\n")][:len(questions)]

    @staticmethod
    def ask_fish(file, questions):
        # It shows long options for "--" alone.
        answers = []
        for question in questions:
            asked = [question, question + "-"] if question.endswith("-") else [question]
            script = f"source {shlex.quote(file)}\n" + "\n".join(f"complete -C {shlex.quote('tutti ' + q)}" for q in asked)
            answers.append([line.split("\t")[0] for line in run("fish", "--no-config", "-c", script).splitlines()])
        return answers

    # ---------------------------------------------------------------------------------------------------------

    def packages(self):
        folder = os.path.join(self.work, "packages")
        run("cpack", "--config", os.path.join(self.build, "CPackConfig.cmake"), "-B", folder)
        found = os.listdir(folder)
        archive = [name for name in found if name.endswith(".tar.zst")]
        check(len(archive) == 1, f"cpack made {found}")
        unpacked = os.path.join(self.work, "unpacked")
        os.mkdir(unpacked)
        run("tar", "--zstd", "-xf", os.path.join(folder, archive[0]), "-C", unpacked, "--strip-components=1")
        self.compare_with_list(files_below(unpacked))
        self.works_from(unpacked)
        if self.tool("dpkg-deb"):
            self.debian_packages(sorted(os.path.join(folder, name) for name in found if name.endswith(".deb")))

    def debian_packages(self, files):
        names = [run("dpkg-deb", "--field", file, "Package").strip() for file in files]
        check(names == ["libnccl2-tutti", "libtutti-dev", f"libtutti{self.soversion}", "tutti-tools"], f"the packages are {names}")
        summaries = {run("dpkg-deb", "--field", file, "Description").splitlines()[0] for file in files}
        check(len(summaries) == len(files), f"packages share a summary: {summaries}")
        owner, root = {}, os.path.join(self.work, "root")
        for name, file in zip(names, files):
            for line in run("dpkg-deb", "--contents", file).splitlines():
                path = line.split()[5]
                if path.endswith("/"):
                    continue
                check(path not in owner, f"{path} is in {name} and in {owner.get(path)}")
                check(path.startswith("./usr/"), f"{name} has {path}")
                # NVIDIA's packages: nccl.h, the library and its links, pkg-config's file.
                taken = re.fullmatch(r"\./usr/(include/nccl.*|lib(/[^/]*-linux-gnu)?/(libnccl.*|pkgconfig/nccl\.pc))", path)
                check(not taken, f"{name} has {path}, which belongs to NVIDIA's packages")
                owner[path] = name
            run("dpkg-deb", "--extract", file, root)
            about = read(root, "usr/share/doc", name, "copyright")
            for part in ("Apache-2.0", "libsodium", "pugixml", "CLI11"):
                check(part in about, f"the copyright of {name} does not name {part}")
        needs = run("dpkg-deb", "--field", files[2], "Depends")
        check("libc6" in needs and "libstdc++6" in needs, f"libtutti needs {needs}")
        self.works_from(os.path.join(root, "usr"))
        if os.geteuid() == 0:  # dpkg itself, into a folder
            installed = os.path.join(self.work, "installed")
            for part in ("updates", "info", "triggers"):
                os.makedirs(os.path.join(installed, "var/lib/dpkg", part))
            with open(os.path.join(installed, "var/lib/dpkg/status"), "w", encoding="utf-8"):
                pass
            run("dpkg", f"--root={installed}", "--force-depends", "--unpack", *files)
            listed = run("dpkg-query", f"--admindir={installed}/var/lib/dpkg", "-W", "-f", "${Package} ${db:Status-Status}\n")
            check(listed.split() == [word for name in sorted(names) for word in (name, "unpacked")], f"dpkg says:\n{listed}")
        if self.tool("lintian"):
            run("lintian", "--allow-root", "--fail-on", "error,warning", *files)

    def works_from(self, prefix):
        """Runs what is installed there, with programs that the projects have built."""
        self.projects_done.wait(3 * LIMIT_S)
        tutti = os.path.join(prefix, "bin/tutti")
        text = run(tutti, "perf", "all_reduce", "--ranks", "2", "-b", "64", "-e", "1K", "-f", "4")
        check("all_reduce" in text, text)
        text = run(tutti, "preload", "--require", os.path.join(self.work, "find_package/nccl_program"))
        check(f"{prefix}/lib/tutti/nccl/lib/libnccl.so.2" in text and "Tutti, answers as NCCL" in text, text)
        program = os.path.join(self.examples, "projects/pkg_config/first_program")  # it has no path of a library in it
        self.two_ranks(program, prefix, {"LD_LIBRARY_PATH": os.path.join(prefix, "lib")})


PARTS = ("files", "symbols", "face", "projects", "pages", "packages")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--only", default=",".join(PARTS), help="parts, with commas; all need files, packages needs projects")
    parser.add_argument("--keep-face", action="store_true", help="store the interface as it is")
    options = parser.parse_args()
    parts = options.only.split(",")
    for part in parts:
        if part not in PARTS:
            parser.error(f"there is no part '{part}'; parts: {', '.join(PARTS)}")
    work = os.path.join(os.path.abspath(options.build), "packages-test")
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    test = Test(options.build, work, options.keep_face)
    begin = time.monotonic()

    def run_parts(names):
        """Whether all is well."""
        well = True
        for name in names:
            start = time.monotonic()
            try:
                getattr(test, name)()
                print(f"{name:10}{time.monotonic() - start:6.1f} s", flush=True)
            except Wrong as error:
                well = False
                print(f"{name:10} WRONG: {error}", flush=True)
        return well

    # What is installed comes first; then the projects beside all else.
    chains = [[part for part in parts if part == "files"]] + [
        [part for part in parts if part == "projects"], [part for part in parts if part not in ("files", "projects")]]
    failed = not run_parts(chains[0])
    if not failed:
        with ThreadPoolExecutor(2) as pool:
            failed = not all(list(pool.map(run_parts, chains[1:])))
    for tool in sorted(test.left_out):
        print(f"left out what needs {tool}, which is not installed")
    if failed:
        print(f"packages: something is wrong; the files are in {work}")
        return 1
    shutil.rmtree(work)
    print(f"packages: all is well, in {time.monotonic() - begin:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
