#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Shows Doxygen the comments of a header, which are written without its marks.

`//` above a declaration becomes `///`, and behind one `///<`; `/* */` becomes `/** */` and `/**< */`. Lines stay where they are.
"""

import re
import sys

# What no comment above it describes.
NO_DECLARATION = re.compile(r"\s*($|#|namespace\b|public:|private:|}|extern \"C\")")
OWN = re.compile(r"(\s*)//(?!/)(.*)")
BEHIND = re.compile(r"(.*[;,{}\w]\s+)//(?!/)\s*(.*)")
C_OPENS = re.compile(r"(\s*)/\*(?!\*)(.*)")
# Where a comment begins a thought of its own, as "Threads: one at a time."
THOUGHT = re.compile(r" (?:[A-Z][a-z]+|REQUIRES|In place): ")
C_BEHIND = re.compile(r"(.*[;,\w]\s+)/\*(?!\*)\s*(.*)")


def after_comment(lines, number, inside):
    """The first line below that is no part of the comment."""
    return next((text for text in lines[number + 1:] if not re.match(inside, text)), "")


def paragraph(text, before):
    """A line of a comment, with a paragraph before it where it begins one: a thought, or a table, which is set off by blanks."""
    table, table_before = text.startswith("   "), before.startswith("   ")
    begins = before.strip() and (THOUGHT.match(text) or table != table_before)
    return ("///\n" if begins else "") + "///" + ("    " if table else "") + text


def marked(lines, number):
    line = lines[number]
    if re.search(r"\bImpl\b", line):  # the library's own
        return ""
    own = OWN.match(line)
    if own:
        if NO_DECLARATION.match(after_comment(lines, number, r"\s*//")) or own[2].startswith(" ---"):
            return line
        before = OWN.match(lines[number - 1]) if number > 0 else None
        return f"{own[1]}{paragraph(own[2], before[2] if before else '')}"
    opens = C_OPENS.match(line)
    if opens:
        end = next(i for i in range(number, len(lines)) if "*/" in lines[i])
        below = lines[end + 1] if end + 1 < len(lines) else ""
        described = not NO_DECLARATION.match(below) and "---" not in opens[2] and not lines[end].split("*/")[1].strip()
        return f"{opens[1]}/**{opens[2]}" if described else line
    behind = BEHIND.match(line)
    if behind and '"' not in behind[1] and not behind[2].startswith(("NOLINT", "specialise")):
        return f"{behind[1]}///< {behind[2]}"
    behind = C_BEHIND.match(line)
    return f"{behind[1]}/**< {behind[2]}" if behind else line


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        lines = file.read().split("\n")
    print("\n".join(marked(lines, number) for number in range(len(lines))), end="")


if __name__ == "__main__":
    main()
