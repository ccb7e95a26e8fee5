#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Holds docs/errors.md to the sentences in the sources.

    scripts/check_errors.py [root]     exit status 1 and one line per fault, or one line that all is well
    scripts/check_errors.py --list FILE...     the sentences of these sources, as the page writes them

A section of the page is headed by a source file and holds a table:

    ## src/comm/host/wait.cc
    | message | cause | remedy | provoked by |
    |---|---|---|---|
    | ``rank ... died`` | why it happens | what to do | Provoke.Death |

A message is the format string of the source, each {} as three dots. Checked are:

* the message of each row is a string of that source, word for word;
* the last cell names a test of tests/*_test.cc that provokes it, which fails where it does not and where a row says
  wrongly that nothing does; or it says "not provoked: " and why;
* each sentence that a source with a section hands to Status, or to the short forms InvalidArgument and InvalidUsage, has
  a row, but for kInProgress and kInternal, which are no user's affair.
"""

import os
import re
import sys

STRING = r'"(?:[^"\\\n]|\\.)*"'
STRINGS = re.compile(rf"{STRING}(?:\s*{STRING})*")
RAISED = re.compile(
    r"\b(?:Status\(\s*Code::k(?!InProgress|Internal)\w+,|Invalid(?:Argument|Usage)\()\s*"
    rf"(?:[^\"();]*\?\s*)?(?:fmt::format\(\s*)?({STRING}(?:\s*{STRING})*)")
NULL_POINTER = re.compile(r"(?:is|are) NULL$")
NOT_PROVOKED = re.compile(r"not provoked: \S+ \S+")
HOLE = re.compile(r"(?:\{[^{}]*\})+")


def sentence(strings):
    """Adjacent string literals as the page writes them."""
    text = "".join(piece[1:-1] for piece in re.findall(STRING, strings))
    text = text.replace('\\"', '"').replace("\\n", " ").replace("{{", "\0").replace("}}", "\1")
    return HOLE.sub("...", text).replace("\0", "{").replace("\1", "}")


def code_of(path):
    with open(path, encoding="utf-8") as file:
        return re.sub(r"^\s*(//|#include).*$", "", file.read(), flags=re.M)


def sentences(code):
    return {sentence(match[0]) for match in STRINGS.finditer(code)}


def raised(code):
    """Sentences that are handed to Status; those of two words or less only frame another one, and what is only said of a
    null pointer explains itself."""
    found = (sentence(match[1]) for match in RAISED.finditer(code))
    return [text for text in found if len(re.findall(r"[A-Za-z]{2,}", text)) > 2 and not NULL_POINTER.search(text)]


class Checker:
    def __init__(self, root):
        self.root = root
        self.faults = []
        self.rows = 0
        self.provoked = 0
        self.tests = set()

    def run(self):
        page = os.path.join(self.root, "docs/errors.md")
        folder = os.path.join(self.root, "tests")
        for path, _, names in sorted(os.walk(folder)):
            for name in sorted(names):
                if name.endswith("_test.cc"):
                    self.tests.update(f"{suite}.{test}" for suite, test in
                                      re.findall(r"^TEST_F\((Provoke), (\w+)\)", code_of(os.path.join(path, name)),
                                                 re.M))
        named = set()
        sections = {}
        source = None
        with open(page, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                where = f"docs/errors.md:{number}"
                heading = re.match(r"## (src/\S+)\s*$", line)
                if line.startswith("## "):
                    source = heading[1] if heading else None
                if heading:
                    if not os.path.exists(os.path.join(self.root, source)):
                        self.faults.append(f"{where}: there is no {source}")
                        source = None
                    else:
                        sections.setdefault(source, set())
                elif source and line.startswith("| `"):
                    named.add(self.check_row(where, source, line, sections[source]))
        for test in sorted(self.tests - named):
            self.faults.append(f"{test}: no row of docs/errors.md names this test")
        for source, messages in sections.items():
            for text in raised(code_of(os.path.join(self.root, source))):
                if text not in messages:
                    self.faults.append(f"{source}: docs/errors.md has no row for ``{text}``")
        if not self.rows:
            self.faults.append("docs/errors.md: no rows | ``message`` | cause | remedy | provoked by |")
        return self.faults

    def check_row(self, where, source, line, messages):
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if len(cells) != 4 or not all(cells):
            self.faults.append(f"{where}: a row has four cells: message, cause, remedy, provoked by")
            return None
        message = cells[0].strip("`").strip()
        self.rows += 1
        messages.add(message)
        if message not in sentences(code_of(os.path.join(self.root, source))):
            self.faults.append(f"{where}: {source} has no such sentence: {message}")
        if cells[3] not in self.tests and not NOT_PROVOKED.match(cells[3]):
            self.faults.append(f"{where}: the last cell names a test Provoke.X of tests/, or says 'not provoked: ' and why; "
                               f"there is no {cells[3]}")
        self.provoked += cells[3] in self.tests
        return cells[3]


def main():
    if sys.argv[1:2] == ["--list"]:
        for path in sys.argv[2:]:
            print(f"\n## {path}\n")
            for text in raised(code_of(path)):
                print(f"| ``{text}`` | | | |")
        return 0
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    checker = Checker(os.path.normpath(root))
    for fault in checker.run():
        print(fault)
    if checker.faults:
        print(f"check_errors: {len(checker.faults)} faults of docs/errors.md")
        return 1
    print(f"check_errors: {checker.rows} sentences are as docs/errors.md says; a test provokes {checker.provoked} of them")
    return 0


if __name__ == "__main__":
    sys.exit(main())
