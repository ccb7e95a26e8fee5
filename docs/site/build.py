#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Builds the documentation site, as `./dev docs` does, and checks every link and anchor in it. A warning is an error.

    build/docs-venv/bin/python docs/site/build.py [--tool build/release/tools/tutti] [--out build/site]

Needs doxygen, and what requirements.txt beside this file names.
"""

import argparse
import html.parser
import os
import re
import shutil
import subprocess
import sys
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "..", ".."))
LIMIT_S = 600  # for any program

# What Doxygen reads for each part of the reference, and how.
PARTS = {
    "cpp": ["INPUT = include/tutti", "PREDEFINED = TUTTI_EXPORT= TUTTI_HIDDEN=",
            "EXCLUDE_SYMBOLS = tutti::comm tutti::internal *::Detail"],
    "c": ["INPUT = include/nccl.h", "OPTIMIZE_OUTPUT_FOR_C = YES", "EXCLUDE_SYMBOLS = pnccl*"],
}


def run(command, **options):
    """Runs a program in the root of the tree. Ends this one where it fails, with what it printed."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S, check=False, **options)
    if done.returncode != 0:
        sys.exit(f"{done.stdout}{done.stderr}build.py: {command[0]} failed")


def doxygen(folder):
    with open(os.path.join(HERE, "doxygen.cfg"), encoding="utf-8") as file:
        settings = file.read()
    for part, lines in PARTS.items():
        out = os.path.join(folder, part)
        os.makedirs(out, exist_ok=True)
        run(["doxygen", "-"], input="\n".join([settings, *lines, f"OUTPUT_DIRECTORY = {out}",
                                               'INPUT_FILTER = "python3 docs/site/doxygen_filter.py"', ""]))
        without_includes(os.path.join(out, "xml"))


def without_includes(folder):
    """Breathe makes a link of the header that declares a type, which leads nowhere: the site has no page of the header."""
    for name in os.listdir(folder):
        if name.startswith("struct"):
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            with open(path, "w", encoding="utf-8") as file:
                file.write(re.sub(r"<includes .*</includes>", "", text))


class Page(html.parser.HTMLParser):
    """The links of a page and the places in it that links may name."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors, self.twice = [], set(), []
        with open(path, encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.append(value)
            elif name == "id" or (tag == "a" and name == "name"):
                # Breathe heads each list of members alike; nobody links to those.
                if name == "id" and value in self.anchors and not value.startswith("breathe-section-title"):
                    self.twice.append(value)
                self.anchors.add(value)


def wrong_links(site):
    """A complaint for each link of the site that leads nowhere; addresses on the net are not looked at."""
    files = [os.path.join(folder, name) for folder, _, names in os.walk(site) for name in names if name.endswith(".html")]
    pages = {path: Page(path) for path in files}
    for path, page in sorted(pages.items()):
        for name in page.twice:
            yield f"{os.path.relpath(path, site)}: two places have the name {name}"
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                if parts.scheme not in ("http", "https", "mailto", "data"):
                    yield f"{os.path.relpath(path, site)}: what is {link}?"
                continue
            target = path
            if parts.path:
                target = os.path.normpath(os.path.join(os.path.dirname(path), urllib.parse.unquote(parts.path)))
            here = os.path.relpath(path, site)
            if not target.startswith(site + os.sep) or not os.path.isfile(target):
                yield f"{here}: {link} leads nowhere"
            # The explorer reads what is chosen from there.
            elif parts.fragment and target in pages and os.path.basename(target) != "performance_explorer.html":
                if urllib.parse.unquote(parts.fragment) not in pages[target].anchors:
                    yield f"{here}: {link}: there is no such place"


def loads_from_the_net(site):
    """A complaint for each page that would not be whole without a network."""
    for folder, _, names in os.walk(site):
        for name in names:
            if name.endswith(".html"):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    text = file.read()
                for start in ('<script src="http', '<link rel="stylesheet" href="http', '<img src="http'):
                    if start in text:
                        yield f"{os.path.relpath(os.path.join(folder, name), site)}: {start}... needs a network"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--tool", default="build/release/tools/tutti", help="the tool that draws plans and prints help")
    parser.add_argument("--out", default="build/site")
    arguments = parser.parse_args()
    site = os.path.join(ROOT, arguments.out)
    work = os.path.join(ROOT, "build", "docs")
    if os.path.exists(os.path.join(site, "objects.inv")):
        shutil.rmtree(site)  # pages that no longer exist
    doxygen(os.path.join(work, "doxygen"))
    environment = {**os.environ, "TUTTI_TOOL": os.path.join(ROOT, arguments.tool),
                   "TUTTI_DOXYGEN": os.path.join(work, "doxygen"), "NO_COLOR": "1"}
    run([sys.executable, "-m", "sphinx", "-W", "--keep-going", "-E", "-q", "-b", "html", "-d", os.path.join(work, "doctrees"),
         "-c", HERE, os.path.join(ROOT, "docs"), site], env=environment)
    run([sys.executable, "bench/results/explorer.py", os.path.join(site, "performance_explorer.html")])
    wrong = [*wrong_links(site), *loads_from_the_net(site)]
    for complaint in wrong:
        print(complaint)
    if wrong:
        sys.exit(f"build.py: {len(wrong)} links are wrong")
    pages = sum(name.endswith(".html") for _, _, names in os.walk(site) for name in names)
    print(f"{pages} pages are in {arguments.out}; begin with {os.path.join(arguments.out, 'index.html')}")


if __name__ == "__main__":
    main()
