#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Checks the tree file by file.

Fails on
* a .cc or .cu of src, tools, tests, bench or examples that no CMakeLists.txt or .cmake file above it names: a test
  that is not in the build would never fail; and on a name in such a list without a file;
* a header outside include/ that nothing includes;
* a source file without the licence lines;
* a leftover marker of unfinished work, or a path of somebody's machine;
* a *_fuzz.cc without TUTTI_FUZZ_CANARY: every fuzzer plants a fault that it must find.
Warns about files over 1000 lines and functions over 70: they are usually two things.
"""

import os
import re
import subprocess
import sys

TOPS = ("src", "tools", "tests", "bench", "examples")
CODE = (".h", ".cc", ".inc", ".cu", ".cuh")
LICENSED = CODE + (".py", ".sh")
# Put together here, so that this file does not contain them itself.
UNFINISHED = re.compile(r"\b(" + "|".join(("FIX" + "ME", "TO" + "DO", "X" + "XX")) + r")\b")
MACHINE_PATH = re.compile(r"(?<![\w.@$}/-])/(work|root|home/\w+)/")
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.M)
FILE_LINES = 1000
FUNCTION_LINES = 70


def listed_files(root):
    """Tracked files and new ones that git does not ignore, as far as they exist."""
    done = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=root, check=True, capture_output=True,
                          text=True)
    return sorted({f for f in done.stdout.splitlines() if os.path.isfile(os.path.join(root, f))})


class Checker:
    def __init__(self, root, files):
        self.root = root
        self.files = files
        self.errors = []
        self.warnings = []
        self.texts = {}
        for path in files:
            try:
                with open(os.path.join(root, path), encoding="utf-8") as file:
                    self.texts[path] = file.read()
            except UnicodeDecodeError:
                pass  # not text

    def run(self):
        self.check_in_build()
        self.check_headers_used()
        for path, text in self.texts.items():
            self.check_lines(path, text)
            if path.endswith(LICENSED) or path == "dev":
                self.check_licence(path, text)
            if path.endswith(CODE):
                self.check_length(path, text)
            if path.endswith("_fuzz.cc") and "TUTTI_FUZZ_CANARY" not in text:
                self.errors.append(f"{path}: plants no fault under #ifdef TUTTI_FUZZ_CANARY (CONTRIBUTING.md)")

    def check_in_build(self):
        named = set()
        for path, text in self.texts.items():
            if os.path.basename(path) != "CMakeLists.txt" and not path.endswith(".cmake"):
                continue
            folder = os.path.dirname(path)
            text = re.sub(r"#.*", "", text)
            text = re.sub(r"\$\{(CMAKE_CURRENT_(SOURCE|LIST)_DIR)\}/", "", text)
            text = re.sub(r"\$\{(PROJECT|CMAKE)_SOURCE_DIR\}/", os.path.relpath(".", folder or ".") + "/", text)
            for word in re.findall(r"[\w./+-]+\.(?:cc|cu)\b", text):
                source = os.path.normpath(os.path.join(folder, word))
                # A .cmake file may be written for the folder above it, which includes it.
                above = os.path.normpath(os.path.join(folder, "..", word))
                if source in self.texts or not path.endswith(".cmake"):
                    named.add(source)
                else:
                    named.add(above)
                    source = above
                if source not in self.texts:
                    self.errors.append(f"{path}: names {word}, but there is no {source}")
        for path in self.texts:
            if path.startswith(tuple(top + "/" for top in TOPS)) and path.endswith((".cc", ".cu")):
                if path not in named:
                    self.errors.append(f"{path}: not in the build: name it in {self.nearest_list(path)}")

    def nearest_list(self, path):
        folder = os.path.dirname(path)
        while folder and f"{folder}/CMakeLists.txt" not in self.texts:
            folder = os.path.dirname(folder)
        return f"{folder}/CMakeLists.txt".lstrip("/")

    def check_headers_used(self):
        included = set()
        for path, text in self.texts.items():
            if path.endswith(CODE):
                for header in INCLUDE.findall(text):
                    for place in ("", "src", "include", os.path.dirname(path)):
                        included.add(os.path.normpath(os.path.join(place, header)))
        for path in self.texts:
            if path.endswith((".h", ".inc", ".cuh")) and not path.startswith("include/") and path not in included:
                self.errors.append(f"{path}: no file includes it; remove it or use it")

    def check_lines(self, path, text):
        for number, line in enumerate(text.splitlines(), 1):
            marker = UNFINISHED.search(line)
            if marker:
                self.errors.append(f"{path}:{number}: {marker[0]}: finish it, or make it an issue")
            machine = MACHINE_PATH.search(line)
            if machine:
                self.errors.append(f"{path}:{number}: {machine[0]}... is a path of one machine")

    def check_licence(self, path, text):
        head = text.splitlines()[:3]
        if not any("Copyright" in line for line in head) or not any("SPDX-License-Identifier" in line for line in head):
            self.errors.append(f"{path}: must start with the two licence lines that the other files have")

    def check_length(self, path, text):
        lines = text.splitlines()
        if len(lines) > FILE_LINES:
            self.warnings.append(f"{path}: {len(lines)} lines")
        for start, end in functions(lines):
            if end - start + 1 > FUNCTION_LINES:
                self.warnings.append(f"{path}:{start}: a function of {end - start + 1} lines")


def functions(lines):
    """First and last line of what looks like a function, in text laid out by clang-format."""
    for start, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if indent > 4 or not line.endswith("{") or ")" not in line or line.lstrip().startswith(("//", "*", "}")):
            continue
        if re.match(r"\s*(namespace|class|struct|enum|union|extern|if|for|while|switch|else|do)\b", line):
            continue
        if line.lstrip().startswith(":"):  # a constructor's initialisers stand further in than its head
            indent = max(indent - 4, 0)
        closing = " " * indent + "}"
        for end in range(start + 1, len(lines)):
            if lines[end].startswith(closing):
                yield start + 1, end + 1
                break


def main():
    root = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    files = listed_files(root)
    checker = Checker(root, files)
    checker.run()
    for warning in checker.warnings:
        print(f"warning: {warning}")
    for error in checker.errors:
        print(error)
    if checker.errors:
        print(f"check_files: {len(checker.errors)} problems")
        return 1
    print(f"check_files: {len(files)} files are in order, {len(checker.warnings)} are long")
    return 0


if __name__ == "__main__":
    sys.exit(main())
