#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Compares what a process or thread has once, beside its communicators, with the list in docs/architecture.md.

    scripts/check_state.py [root]         exit status 1 and one line per difference, or one line that all is well

The list's rows read `| file | what |`, with files of src in backquotes. A file of src that defines a variable which is
neither const nor a member nor local must be listed, and a listed file must define one. Found are, in text laid out by
clang-format: what is declared static, thread_local or constinit, and variables at the start of a line that are named
g_... or t_...
"""

import os
import re
import sys

HEAD = ["file", "once in a process, or a thread"]
QUALIFIERS = r"(?:(?:inline|static|thread_local|constinit)\s+)+"
DECLARATION = re.compile(
    rf"^\s*(?=(?:inline\s+)?(?:static|thread_local|constinit)\b){QUALIFIERS}(?!const\b|constexpr\b)[\w:<>,*& ]*?[*&\s]"
    r"(?:const\s+)?(\w+)(?:\[[^\]]*\])*\s*(?:=(?!=)|\{|;)|"
    r"^[A-Za-z][\w:<>,*& ]*?[*&\s]([gt]_\w+)(?:\[[^\]]*\])*\s*(?:=(?!=)|\{|;)")
FUNCTION = re.compile(r"^[^={;]*\(")  # a parenthesis before any value: declares or defines a function
BESIDE = ("_test.cc", "_fuzz.cc", "_bench.cc")


def listed(path):
    """Files in the list, in its order; None where there is no list."""
    files, inside = None, False
    with open(path, encoding="utf-8") as page:
        for line in page:
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if not line.startswith("|"):
                inside = False
            elif cells == HEAD:
                inside, files = True, []
            elif inside and not set(line.strip()) <= set("|-: "):
                files += re.findall(r"`([\w./]+)`", cells[0])
    return files


def variables(text):
    """Line and name of what the text defines once for all."""
    for number, line in enumerate(text.splitlines(), 1):
        line = line.split("//")[0]
        match = DECLARATION.match(line)
        if match and not FUNCTION.match(line) and not re.match(r"\s*(using|typedef|return|extern)\b", line):
            yield number, match[1] or match[2]


def differences(root):
    page = os.path.join(root, "docs/architecture.md")
    named = listed(page)
    if named is None:
        return [f"docs/architecture.md: no list with the head | {' | '.join(HEAD)} |"]
    found = {}
    for folder, _, names in os.walk(os.path.join(root, "src")):
        for name in sorted(names):
            path = os.path.relpath(os.path.join(folder, name), os.path.join(root, "src"))
            if name.endswith((".h", ".cc")) and not name.endswith(BESIDE):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    for number, variable in variables(file.read()):
                        found.setdefault(path, (number, variable))
    errors = [f"src/{path}:{number}: {variable} is there once in a process or thread: make it a member of what owns it, or "
              "list the file in docs/architecture.md" for path, (number, variable) in sorted(found.items())
              if path not in named]
    errors += [f"docs/architecture.md: lists {path}, which has nothing of a process or thread" for path in named
               if path not in found]
    return errors


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    root = os.path.normpath(root)
    errors = differences(root)
    for error in errors:
        print(error)
    if errors:
        print(f"check_state: {len(errors)} differences from the list in docs/architecture.md")
        return 1
    print(f"check_state: {len(listed(os.path.join(root, 'docs/architecture.md')))} files have something once in a process or "
          "thread, as docs/architecture.md says")
    return 0


if __name__ == "__main__":
    sys.exit(main())
