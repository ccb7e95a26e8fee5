#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Checks what can be checked of the Markdown pages.

* A relative link leads to a file that exists, and its #anchor to a heading there.
* A block after `<!-- quote: path -->` equals that file, without its licence lines.
* A `./dev task` that a page mentions exists.
* `path/like/this.h` in backquotes exists, in the tree or in src/, include/ or beside the page.
"""

import os
import re
import subprocess
import sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
QUOTE = re.compile(r"<!-- quote: (\S+) -->\n```\w*\n(.*?)```", re.S)
PATH = re.compile(r"`([\w.-]+(?:/[\w.-]+)+\.(?:h|cc|md|py|txt|cmake|json))`")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def pages():
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=ROOT, check=True,
                            capture_output=True, text=True).stdout.split()
    return [page for page in listed if os.path.exists(os.path.join(ROOT, page))]


def anchors(text):
    headings = re.findall(r"^#+\s+(.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def without_licence(text):
    return re.sub(r"\A// Copyright .*\n// SPDX-License-Identifier: .*\n\n?", "", text)


def check(page, tasks):
    text = read(page)
    here = os.path.dirname(page)
    for link in LINK.findall(text):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = os.path.normpath(os.path.join(here, path)) if path else page
        if not os.path.exists(os.path.join(ROOT, target)):
            yield f"the link to {link} leads nowhere"
        elif anchor and target.endswith(".md") and anchor not in anchors(read(target)):
            yield f"the link to {link}: {target} has no such heading"
    for path, block in QUOTE.findall(text):
        if not os.path.exists(os.path.join(ROOT, path)):
            yield f"quotes {path}, which does not exist"
        elif block != without_licence(read(path)):
            yield f"the quote of {path} differs from the file; copy it again, without the licence lines"
    if text.count("<!-- quote:") != len(QUOTE.findall(text)):
        yield "a quote marker is not followed at once by a fenced block"
    for task in re.findall(r"\./dev ([a-z]+)", text):
        if task not in tasks:
            yield f"./dev has no task '{task}'"
    for path in PATH.findall(text):
        places = (path, f"src/{path}", f"include/{path}", os.path.join(here, path))
        if not any(os.path.exists(os.path.join(ROOT, place)) for place in places):
            yield f"there is no file {path}"


def main():
    tasks = set(re.findall(r"^task_([a-z]+)\(\)", read("dev"), re.M))
    listed = pages()
    wrong = [f"{page}: {complaint}" for page in listed for complaint in check(page, tasks)]
    if "README.md" in listed and "<!-- quote: examples/first_program.cc -->" not in read("README.md"):
        wrong.append("README.md: must quote examples/first_program.cc after <!-- quote: examples/first_program.cc -->")
    for complaint in wrong:
        print(complaint)
    if not wrong:
        print(f"check_docs: {len(listed)} pages are in order")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
