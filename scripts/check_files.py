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
* in src and include, a file of more than 500 lines, a function of more than 60, a class of more than 30 public methods
  or 25 fields: they are usually two things. A comment that begins `Long because` and says why makes it fine: in the
  first lines of a file, above or at the top of a function or class. What is still too long is listed in known.py.
"""

import os
import re
import subprocess
import sys

import known

TOPS = ("src", "tools", "tests", "bench", "examples")
CODE = (".h", ".cc", ".inc", ".cu", ".cuh")
LICENSED = CODE + (".py", ".sh")
# Put together here, so that this file does not contain them itself.
UNFINISHED = re.compile(r"\b(" + "|".join(("FIX" + "ME", "TO" + "DO", "X" + "XX")) + r")\b")
MACHINE_PATH = re.compile(r"(?<![\w.@$}/-])/(work|root|home/\w+)/")
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.M)
FILE_LINES = 500
FUNCTION_LINES = 60
PUBLIC_METHODS = 30
FIELDS = 25
REASON = re.compile(r"^\s*(?://|#)\s*Long because \w")
WRAPPED_LINES = 30  # of a function's parameters
REASON_NEAR = 12  # lines in which a file's, and above and below the head of a function or class its, reason stands


def listed_files(root):
    """Tracked files and new ones that git does not ignore, as far as they exist."""
    done = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=root, check=True, capture_output=True,
                          text=True)
    return sorted({f for f in done.stdout.splitlines() if os.path.isfile(os.path.join(root, f))})


class Checker:
    def __init__(self, root, files, known_too_long=None):
        self.root = root
        self.files = files
        self.errors = []
        self.known = known.TOO_LONG if known_too_long is None else known_too_long
        self.known_left = set(self.known)
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
        for key in sorted(self.known_left):
            self.errors.append(f"{key}: is not too long any more: remove it from TOO_LONG in scripts/known.py")

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
        if not path.startswith(("src/", "include/")):
            return
        lines = text.splitlines()
        if len(lines) > FILE_LINES and not reason(lines, 0):
            self.too_long(path, "", f"{path}: {len(lines)} lines; a file has at most {FILE_LINES}")
        for start, end in functions(lines):
            if end - start + 1 > FUNCTION_LINES and not reason(lines, start - 1):
                name = function_name(lines[start - 1])
                self.too_long(path, name, f"{path}:{start}: {name} has {end - start + 1} lines; a function has at most "
                                          f"{FUNCTION_LINES}")
        for start, name, methods, fields in classes(text):
            if (methods > PUBLIC_METHODS or fields > FIELDS) and not reason(lines, start - 1):
                self.too_long(path, name, f"{path}:{start}: {name} has {methods} public methods and {fields} fields; "
                                          f"a class has at most {PUBLIC_METHODS} and {FIELDS}")

    def too_long(self, path, name, text):
        key = f"{path}:{name}" if name else path
        if key in self.known:
            self.known_left.discard(key)
        else:
            self.errors.append(text + ". Find the seam, or say why in a comment: // Long because ...")


def reason(lines, at):
    """Whether a comment near line `at` (from 0) says why what begins there is long."""
    first = 0 if at == 0 else max(at - REASON_NEAR, 0)
    for line in lines[first:at][::-1] if at else lines[:REASON_NEAR]:
        if REASON.match(line):
            return True
        if at and not line.strip().startswith(("//", "template", "[[")):
            break
    for line in lines[at + 1:at + 1 + REASON_NEAR] if at else []:
        if REASON.match(line):
            return True
        if not line.strip().startswith("//"):
            break
    return False


def functions(lines):
    """First and last line of what looks like a function, in text laid out by clang-format."""
    for last, line in enumerate(lines):
        if not line.endswith("{") or ")" not in line or line.lstrip().startswith(("//", "*", "}")):
            continue
        start = head_of(lines, last)
        indent = len(lines[start]) - len(lines[start].lstrip())
        if indent > 4 or lines[start].lstrip().startswith("}"):
            continue
        if re.match(r"\s*(namespace|class|struct|enum|union|extern|if|for|while|switch|else|do)\b", lines[start]):
            continue
        closing = " " * indent + "}"
        for end in range(last + 1, len(lines)):
            if lines[end].startswith(closing):
                yield start + 1, end + 1
                break


def head_of(lines, last):
    """Where the head begins that ends in line `last`: its parameters, and a constructor's initialisers, may be wrapped."""
    first = first_of_call(lines, last)
    at = first
    while at > 0 and lines[at - 1].endswith(",") and not lines[at].lstrip().startswith(":"):
        at = first_of_call(lines, at - 1)
    return first_of_call(lines, at - 1) if at > 0 and lines[at].lstrip().startswith(": ") else first


def first_of_call(lines, last):
    """The line with the bracket that the last one in line `last` closes."""
    missing = 0
    for at in range(last, max(last - WRAPPED_LINES, -1), -1):
        code = re.sub(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'|//.*', "", lines[at])
        missing += code.count(")") - code.count("(")
        if missing <= 0:
            return at
    return last


def function_name(head):
    test = re.match(r"TEST\w*\((\w+), (\w+)\)", head)
    if test:
        return f"{test[1]}.{test[2]}"
    found = re.search(r"([~\w:]+)\s*\(", head)
    return found[1].split("::")[-1] if found else head.strip()


def without_comments(text):
    """The text with comments and the insides of strings blanked, of the same length in lines."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def classes(text):
    """Line, name, public methods and fields of every class and struct with a body."""
    code = without_comments(text)
    for head in re.finditer(r"\b(class|struct)\s+(?:alignas\([^)]*\)\s*|\[\[\w+\]\]\s*|TUTTI_\w+\s+)*(\w+)[^;{}()=]*\{", code):
        if re.search(r"\benum\s+$", code[:head.start()]) or re.search(r"template\s*<[^>]*$", code[:head.start()]):
            continue
        public, methods, fields = head[1] == "struct", 0, 0
        for member in members(code, head.end()):
            label = re.match(r"\s*(public|private|protected)\s*:(?!:)", member)
            while label:
                public = label[1] == "public"
                member = member[label.end():]
                label = re.match(r"\s*(public|private|protected)\s*:(?!:)", member)
            kind = member_kind(member)
            if kind == "method" and public:
                methods += 1
            elif kind != "method":
                fields += kind
        yield code.count("\n", 0, head.start()) + 1, head[2], methods, fields


def members(code, at):
    """The members of the class whose body begins at `at`; braces within one are left as {}."""
    text, depth, around = "", 0, 0
    while at < len(code):
        c = code[at]
        at += 1
        if c == "{":
            depth += 1
            if depth == 1:
                text += "{}"
        elif c == "}":
            depth -= 1
            if depth < 0:
                return
            body_of_function = re.search(r"\)[\w\s&:(),{}<>*\->]*\{\}$", text) and "=" not in text.split("(")[0]
            if depth == 0 and around == 0 and body_of_function and not re.match(r"[\s,{]", code[at:at + 1].strip() or "x"):
                yield text
                text = ""
        elif depth == 0:
            around += {"(": 1, ")": -1}.get(c, 0)
            if c == ";" and around == 0:
                yield text
                text = ""
            else:
                text += c


def member_kind(member):
    """"method", or how many fields it declares."""
    member = " ".join(member.split())
    if not member or re.match(r"(using|typedef|friend|static_assert|enum|template .*\busing|static constexpr)\b", member):
        return 0
    if re.match(r"(class|struct|union)\b", member):
        behind = member.split("{}")[-1] if "{}" in member else ""
        return behind.count(",") + 1 if behind.strip() else 0
    member = re.sub(r"\b(alignas|__attribute__|decltype)\s*\((?:[^()]|\([^()]*\))*\)", "", member)
    while re.search(r"<[^<>]*>", member) and "operator" not in member:
        member = re.sub(r"<[^<>]*>", "", member)
    if re.search(r"\(\s*\*\s*\w+\s*\)\s*\(", member):  # a pointer to a function
        return 1
    if "operator" in member or "(" in member.split("=")[0].split("{}")[0]:
        return 0 if re.search(r"= (delete|default)$", member) else "method"
    while re.search(r"\([^()]*\)", member):  # of initialisers
        member = re.sub(r"\([^()]*\)", "", member)
    return 0 if member.startswith("static ") else member.count(",") + 1


def main():
    root = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    files = listed_files(root)
    checker = Checker(root, files)
    checker.run()
    for error in checker.errors:
        print(error)
    if checker.errors:
        print(f"check_files: {len(checker.errors)} problems")
        return 1
    print(f"check_files: {len(files)} files are in order; {len(checker.known)} known places are too long")
    return 0


if __name__ == "__main__":
    sys.exit(main())
