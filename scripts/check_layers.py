#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Holds the sources to the folder table of docs/architecture.md.

    scripts/check_layers.py [root]        exit status 1 and one line per violation, or one line that all is well

The table's rows read `| folder | what it is | may include |`. Checked are:

* every folder of src/ has a row, every row a folder, and a row names only rows above it, so there is no cycle;
* an #include in src/<folder>/ names that folder, one of its row, or include/tutti; tests, fuzzers and benchmarks
  beside the sources may also include gtest, benchmark and tests/support;
* include/ includes nothing but itself; nothing includes bench/, examples/, or tests/ but tests/support; only tests/
  includes tools/;
* DEPS in src/<folder>/CMakeLists.txt are folders of the row, and name every folder that the sources include;
* the system's headers, the clock and each third-party library are used only where they belong (DOORS). Tests are
  free to: they fork, kill and limit processes.
"""

import os
import re
import sys

SOURCE = (".h", ".cc", ".inc", ".cu", ".cuh")
BESIDE = ("_test.cc", "_fuzz.cc", "_bench.cc", "_test.cu", "_bench.cu")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')

# Pattern of an angle-bracket include -> (places where it is fine, what to do instead).
DOORS = [
    (r"sys/.*|linux/.*|netinet/.*|arpa/.*|net/.*|unistd\.h|fcntl\.h|sched\.h|dlfcn\.h|poll\.h|netdb\.h|ifaddrs\.h|"
     r"spawn\.h|pthread\.h|signal\.h|csignal|dirent\.h|time\.h",
     ("src/sys/",), "only src/sys talks to the system: use a function of sys/, or add one there"),
    (r"cuda.*|nvml\.h|cooperative_groups.*", ("src/sys/", "src/exec/gpu/", "include/nccl.h"),
     "CUDA and NVML belong to src/sys, device code to src/exec/gpu"),
    (r"sodium.*", ("src/sys/",), "authentication belongs to sys/auth.h"),
    (r"hwloc.*", ("src/sys/",), "hwloc belongs to src/sys"),
    (r"pugixml.*", ("src/topo/",), "XML belongs to src/topo"),
    (r"CLI/.*|nlohmann/.*", (), "command lines and JSON belong to tools/, tests/ and bench/"),
]
CLOCK = re.compile(r"\b(steady_clock|system_clock|high_resolution_clock)::now\b|\bclock_gettime\b")
TEST_LIBRARIES = re.compile(r"(gtest|gmock|benchmark)/.*")


class Table:
    """Folder -> folders it may include, in the order of the rows."""

    def __init__(self, path, complain):
        self.rows = {}
        inside = False
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
                if not line.startswith("|"):
                    inside = False
                elif cells == ["folder", "what it is", "may include"]:
                    inside = True
                elif inside and not set(line.strip()) <= set("|-: "):
                    where = f"{os.path.basename(path)}:{number}"
                    names = re.findall(r"`([a-z0-9_]+)`", cells[0])
                    if len(cells) != 3 or len(names) != 1:
                        complain(f"{where}: a row must read | `folder` | what it is | `other` `folders` |")
                        continue
                    allowed = re.findall(r"`([a-z0-9_]+)`", cells[2])
                    if re.sub(r"`[a-z0-9_]+`", "", cells[2]).strip(" ,"):
                        complain(f"{where}: '{cells[2]}': list the folders themselves, in backquotes")
                    for folder in allowed:
                        if folder not in self.rows:
                            complain(f"{where}: `{names[0]}` may include `{folder}`, which has no row above it")
                    if names[0] in self.rows:
                        complain(f"{where}: a second row for `{names[0]}`")
                    self.rows[names[0]] = allowed
        if not self.rows:
            complain(f"{path}: no table with the head | folder | what it is | may include |")


class Checker:
    def __init__(self, root):
        self.root = root
        self.violations = []
        self.table = Table(os.path.join(root, "docs/architecture.md"), self.complain).rows
        self.used = {folder: {} for folder in self.table}  # folder -> included folder -> where first

    def complain(self, text):
        self.violations.append(text)

    def run(self):
        self.check_folders()
        for top in ("include", "src", "tools", "tests", "bench", "examples"):
            for path in self.files(top):
                self.check_file(path)
        self.check_deps()
        return self.violations

    def files(self, top):
        for folder, folders, names in os.walk(os.path.join(self.root, top)):
            folders.sort()
            for name in sorted(names):
                if name.endswith(SOURCE):
                    yield os.path.relpath(os.path.join(folder, name), self.root)

    def check_folders(self):
        src = os.path.join(self.root, "src")
        real = {name for name in os.listdir(src) if os.path.isdir(os.path.join(src, name)) and
                any(files for _, _, files in os.walk(os.path.join(src, name)))}
        for folder in sorted(real - set(self.table)):
            self.complain(f"src/{folder}: has no row in the table of docs/architecture.md")
        for folder in self.table:
            if folder not in real:
                self.complain(f"docs/architecture.md: there is no src/{folder}; a row comes with the first file")

    def check_file(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                where = f"{path}:{number}"
                match = INCLUDE.match(line)
                if match and match[1] == "<":
                    self.check_outside(path, where, match[2])
                elif match:
                    self.check_inside(path, where, match[2])
                elif path.startswith("src/") and not path.startswith("src/sys/") and not path.endswith(BESIDE):
                    clock = CLOCK.search(line.split("//")[0])
                    if clock:
                        self.complain(f"{where}: {clock[0]}: time comes from sys/clock.h, so that tests can replace it")

    def check_outside(self, path, where, header):
        """An #include <header>."""
        if path.startswith(("include/", "src/")) and not path.endswith(BESIDE):
            for pattern, places, instead in DOORS:
                if re.fullmatch(pattern, header) and not path.startswith(places):
                    self.complain(f"{where}: <{header}>: {instead}")
            if TEST_LIBRARIES.fullmatch(header):
                self.complain(f"{where}: <{header}>: only tests and benchmarks include it")

    def check_inside(self, path, where, header):
        """An #include "header"."""
        if header.startswith("tutti/") or header == "nccl.h":
            if not os.path.exists(os.path.join(self.root, "include", header)):
                self.complain(f'{where}: there is no include/{header}')
            return
        if ".." in header.split("/"):
            self.complain(f'{where}: "{header}": write paths from src/ or from the root')
            return
        top = path.split("/")[0]
        if top == "include":
            self.complain(f'{where}: "{header}": public headers include only public headers')
            return
        beside_this = os.path.exists(os.path.join(self.root, os.path.dirname(path), header))
        other = header.split("/")[0]
        if other in ("tools", "tests", "bench", "examples") and "/" in header:
            support = header.startswith("tests/support/") and path.endswith(BESIDE)
            if other != top and not support and (top, other) != ("tests", "tools"):
                self.complain(f'{where}: "{header}": nothing includes {other}/' +
                              (" but tests, and those only tests/support" if other == "tests" else ""))
            return
        if top != "src":
            if not beside_this and other not in self.table:
                self.complain(f'{where}: "{header}" is not a header of this project; write <{header}> for others\'')
            return
        folder = path.split("/")[1]
        if beside_this and other not in self.table or other == folder or folder not in self.table:
            return
        if other not in self.table:
            self.complain(f'{where}: "{header}" is not a header of this project; write <{header}> for others\'')
        elif other not in self.table[folder]:
            may = " ".join(self.table[folder]) or "no other folder"
            self.complain(f'{where}: `{folder}` may not include `{other}` (its row in docs/architecture.md: {may})')
        elif not path.endswith(BESIDE):
            self.used[folder].setdefault(other, where)

    def check_deps(self):
        for folder, allowed in self.table.items():
            deps = set()
            path = f"src/{folder}/CMakeLists.txt"
            if not os.path.exists(os.path.join(self.root, path)):
                continue  # not in the build yet: scripts/check_files.py says so
            with open(os.path.join(self.root, path), encoding="utf-8") as file:
                text = re.sub(r"#.*", "", file.read())
            for call in re.findall(r"tutti_folder\(([^)]*)\)", text):
                words = call.split()
                if words[0] != folder:
                    self.complain(f"{path}: tutti_folder({words[0]} ...) in the folder {folder}")
                key = None
                for word in words[1:]:
                    if word.isupper():
                        key = word
                    elif key == "DEPS":
                        deps.add(word)
            for dep in sorted(deps - set(allowed)):
                self.complain(f"{path}: DEPS names {dep}, which is not in the row of `{folder}`")
            for other, where in self.used[folder].items():
                if other not in deps:
                    self.complain(f"{path}: DEPS lacks {other}, which {where} includes")


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    checker = Checker(os.path.normpath(root))
    violations = checker.run()
    for violation in violations:
        print(violation)
    if violations:
        print(f"check_layers: {len(violations)} violations of the folder table in docs/architecture.md")
        return 1
    print(f"check_layers: {len(checker.table)} folders follow their table")
    return 0


if __name__ == "__main__":
    sys.exit(main())
