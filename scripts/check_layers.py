#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Holds the sources to the folder table of docs/architecture.md.

    scripts/check_layers.py [root]        exit status 1 and one line per violation, or one line that all is well
    scripts/check_layers.py --sees        how many of the project's headers each source of src sees

The table's rows read `| folder | what it is | may include |`. A row such as `comm/meet` is that of a subfolder, and names
subfolders of the same folder. Checked are:

* every folder of src/ has a row, every row a folder, and a row names only rows above it, so there is no cycle;
* an #include in src/<folder>/ names that folder, one of its row, or include/tutti; tests, fuzzers and benchmarks
  beside the sources may also include gtest, benchmark and tests/support;
* include/ includes nothing but itself; nothing includes bench/, examples/, or tests/ but tests/support; only tests/
  and bench/ include tools/;
* where a folder has rows of subfolders, each of its subfolders has one, and an #include from one subfolder names one of its
  row, or a file that lies in a folder above;
* headers include each other in no ring; nor do units, where a unit is x.h with x.cc and the like;
* a source of src sees at most HEADERS_SEEN headers of the project, directly or through others;
* DEPS in src/<folder>/CMakeLists.txt are folders of the row, and name every folder that the sources include;
* the system's headers, the clock and each third-party library are used only where they belong (DOORS). Tests are
  free to: they fork, kill and limit processes.

What breaks the last rules for now is listed in known.py; an entry that is not needed any more is a violation.
"""

import os
import re
import sys

import known

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
    (r"nvtx3/.*", ("src/capi/nvtx.cc",), "NVTX belongs to src/capi/nvtx.cc"),
    (r"rdma/.*", ("src/transport/net/fabric/",), "libfabric belongs to src/transport/net/fabric"),
    (r"sodium.*", ("src/sys/",), "authentication belongs to sys/net/auth.h"),
    (r"hwloc.*", ("src/sys/",), "hwloc belongs to src/sys"),
    (r"pugixml.*", ("src/topo/",), "XML belongs to src/topo"),
    (r"CLI/.*|nlohmann/.*", (), "command lines and JSON belong to tools/, tests/ and bench/"),
]
CLOCK = re.compile(r"\b(steady_clock|system_clock|high_resolution_clock)::now\b|\bclock_gettime\b")
HEADERS_SEEN = 25
MARKS = {"include/tutti/export.h"}  # macros that mark what a library shows: nobody has to know them to read a source
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
                    names = re.findall(r"`([a-z0-9_/]+)`", cells[0])
                    if len(cells) != 3 or len(names) != 1:
                        complain(f"{where}: a row must read | `folder` | what it is | `other` `folders` |")
                        continue
                    allowed = re.findall(r"`([a-z0-9_/]+)`", cells[2])
                    if re.sub(r"`[a-z0-9_/]+`", "", cells[2]).strip(" ,"):
                        complain(f"{where}: '{cells[2]}': list the folders themselves, in backquotes")
                    for folder in allowed:
                        if folder not in self.rows:
                            complain(f"{where}: `{names[0]}` may include `{folder}`, which has no row above it")
                        elif "/" in folder + names[0] and folder.split("/")[0] != names[0].split("/")[0]:
                            complain(f"{where}: `{names[0]}` and `{folder}`: a subfolder's row names subfolders of the same "
                                     "folder; what others it may include stands in the row of the folder")
                    if names[0] in self.rows:
                        complain(f"{where}: a second row for `{names[0]}`")
                    self.rows[names[0]] = allowed
        if not self.rows:
            complain(f"{path}: no table with the head | folder | what it is | may include |")


class Checker:
    def __init__(self, root, exceptions=known):
        self.root = root
        self.violations = []
        rows = Table(os.path.join(root, "docs/architecture.md"), self.complain).rows
        self.table = {name: allowed for name, allowed in rows.items() if "/" not in name}
        self.rooms = {name: allowed for name, allowed in rows.items() if "/" in name}
        self.used = {folder: {} for folder in self.table}  # folder -> included folder -> where first
        self.includes = {}  # file -> included files of this project
        self.exceptions = exceptions
        self.needed = set()  # those of exceptions.INCLUDES that were met

    def complain(self, text):
        self.violations.append(text)

    def run(self):
        self.check_folders()
        for top in ("include", "src", "tools", "tests", "bench", "examples"):
            for path in self.files(top):
                self.includes[path] = set()
        for path in self.includes:
            self.check_file(path)
        self.check_deps()
        for pair in sorted(set(self.exceptions.INCLUDES) - self.needed):
            self.complain(f"{pair}: not so any more: remove it from INCLUDES in scripts/known.py")
        self.check_rings()
        self.check_seen()
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
        for room in self.rooms:
            if not os.path.isdir(os.path.join(src, room)):
                self.complain(f"docs/architecture.md: there is no src/{room}; a row comes with the first file")
        furnished = {room.split("/")[0] for room in self.rooms}
        for path in sorted({os.path.dirname(path) for folder in furnished for path in self.files(f"src/{folder}")}):
            folder = path[len("src/"):]
            if "/" in folder and self.room(folder) is None:
                self.complain(f"{path}: has no row in the table of docs/architecture.md, which has rows of its neighbours")

    def room(self, folder):
        """The longest row of a subfolder that `folder` lies in, or None."""
        while "/" in folder:
            if folder in self.rooms:
                return folder
            folder = os.path.dirname(folder)
        return None

    def check_file(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                where = f"{path}:{number}"
                match = INCLUDE.match(line)
                if match:
                    self.remember(path, match[2])
                if match and match[1] == "<":
                    self.check_outside(path, where, match[2])
                elif match:
                    self.check_inside(path, where, match[2])
                elif path.startswith("src/") and not path.startswith("src/sys/") and not path.endswith(BESIDE):
                    clock = CLOCK.search(line.split("//")[0])
                    if clock:
                        self.complain(f"{where}: {clock[0]}: time comes from sys/os/clock.h, so that tests can replace it")

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
            if other != top and not support and (top, other) not in (("tests", "tools"), ("bench", "tools")):
                self.complain(f'{where}: "{header}": nothing includes {other}/' +
                              (" but tests, and those only tests/support" if other == "tests" else ""))
            return
        if top != "src":
            if not beside_this and other not in self.table:
                self.complain(f'{where}: "{header}" is not a header of this project; write <{header}> for others\'')
            return
        folder = path.split("/")[1]
        if other == folder:
            self.check_room(path, where, header)
        if beside_this and other not in self.table or other == folder or folder not in self.table:
            return
        if other not in self.table:
            self.complain(f'{where}: "{header}" is not a header of this project; write <{header}> for others\'')
        elif other not in self.table[folder]:
            may = " ".join(self.table[folder]) or "no other folder"
            self.complain(f'{where}: `{folder}` may not include `{other}` (its row in docs/architecture.md: {may})')
        elif not path.endswith(BESIDE):
            self.used[folder].setdefault(other, where)

    def check_room(self, path, where, header):
        """An #include of the same folder of src."""
        mine, its = self.room(os.path.dirname(path)[len("src/"):]), self.room(os.path.dirname(header))
        if its is None or mine == its or its in self.rooms.get(mine, ()):
            return
        pair = f"{path} > {header}"
        if pair in self.exceptions.INCLUDES:
            self.needed.add(pair)
            return
        mine = mine or path.split("/")[1]
        may = " ".join(self.rooms.get(mine, ())) or "no other of the folder"
        self.complain(f"{where}: `{mine}` may not include `{its}` (its row in docs/architecture.md: {may})")

    def remember(self, path, header):
        for place in ("src", "include", "", os.path.dirname(path)):
            target = os.path.normpath(os.path.join(place, header))
            if target in self.includes:
                self.includes[path].add(target)
                return

    def check_rings(self):
        headers = {path: {other for other in others if not is_source(other)}
                   for path, others in self.includes.items() if not is_source(path)}
        for ring in rings(headers):
            self.complain(f"{' '.join(ring)}: these headers include each other")
        units = {}
        for path, others in self.includes.items():
            if not path.endswith(BESIDE):
                units.setdefault(unit(path), set()).update(map(unit, others))
        left = {tuple(ring) for ring in self.exceptions.RINGS}
        for ring in rings(units):
            if tuple(ring) in left:
                left.remove(tuple(ring))
            else:
                self.complain(f"{' '.join(ring)}: these include each other. Move what several of them need into a file of its "
                              "own below them")
        for ring in sorted(left):
            self.complain(f"{' '.join(ring)}: not this ring any more: mend RINGS in scripts/known.py")

    def seen(self, path):
        """The project's files that `path` includes, directly or through others."""
        found, left = set(), [path]
        while left:
            fresh = self.includes[left.pop()] - found
            found |= fresh
            left.extend(fresh)
        return found - {path} - MARKS

    def counts(self):
        return {path: len(self.seen(path)) for path in self.includes
                if path.startswith("src/") and is_source(path) and not path.endswith(BESIDE)}

    def check_seen(self):
        counts = self.counts()
        for path, count in counts.items():
            if count > HEADERS_SEEN and path not in self.exceptions.SEES:
                self.complain(f"{path}: sees {count} headers of the project, directly or through others; at most "
                              f"{HEADERS_SEEN}. Hide what its users need not know behind a narrower header")
        for path in sorted(self.exceptions.SEES):
            if counts.get(path, 0) <= HEADERS_SEEN:
                self.complain(f"{path}: sees no more than {HEADERS_SEEN} headers any more: remove it from SEES in "
                              "scripts/known.py")

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


def is_source(path):
    return path.endswith((".cc", ".cu"))


def unit(path):
    return os.path.splitext(path)[0]


def rings(graph):
    """The sets of nodes that reach each other, each sorted."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in index:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == index[node]:
            at = stack.index(node)
            ring = sorted(stack[at:])
            del stack[at:]
            if len(ring) > 1 or node in graph.get(node, ()) and "." in os.path.basename(node):
                found.append(ring)

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


def main():
    sees = "--sees" in sys.argv
    if sees:
        sys.argv.remove("--sees")
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    checker = Checker(os.path.normpath(root))
    violations = checker.run()
    if sees:
        for path, count in sorted(checker.counts().items(), key=lambda row: -row[1]):
            print(f"{count:4} {path}")
    for violation in violations:
        print(violation)
    if violations:
        print(f"check_layers: {len(violations)} violations of the rules above and of the folder table in docs/architecture.md")
        return 1
    print(f"check_layers: {len(checker.table)} folders and {len(checker.rooms)} subfolders follow their table; "
          f"known exceptions: {len(known.INCLUDES)} includes, {len(known.RINGS)} rings, "
          f"{len(known.SEES)} sources that see more than {HEADERS_SEEN} headers")
    return 0


if __name__ == "__main__":
    sys.exit(main())
