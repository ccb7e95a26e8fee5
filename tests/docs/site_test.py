#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Whether what builds the site finds what is wrong, and makes of headers and errors what it should."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
SITE = os.path.join(ROOT, "docs", "site")
sys.path.insert(0, SITE)
sys.dont_write_bytecode = True
import build  # noqa: E402
import doxygen_filter  # noqa: E402

try:
    import site_pages
except ImportError:
    site_pages = None


class Links(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, name, text):
        path = os.path.join(self.folder.name, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def wrong(self):
        return list(build.wrong_links(self.folder.name))

    def test_good_ones(self):
        self.write("a.html", '<p id="x"><a href="b/c.html#y">c</a><a href="#x">here</a><a href="https://x.org/z">net</a></p>')
        self.write("b/c.html", '<h1 id="y">c</h1><img src="../d.svg">')
        self.write("d.svg", "<svg/>")
        self.assertEqual(self.wrong(), [])

    def test_bad_ones(self):
        self.write("a.html", '<p><a href="b.html">b</a><a href="c.html#y">c</a><a href="../up.html">out</a><b id="i"></b><i id="i"></i></p>')
        self.write("c.html", '<h1 id="x">c</h1>')
        self.assertEqual(sorted(self.wrong()),
                         ["a.html: ../up.html leads nowhere", "a.html: b.html leads nowhere", "a.html: c.html#y: there is no such place",
                          "a.html: two places have the name i"])

    def test_what_needs_a_network(self):
        self.write("a.html", '<script src="https://cdn.org/x.js"></script>')
        self.write("b.html", '<script src="x.js"></script><a href="https://x.org">x</a>')
        self.assertEqual(len(list(build.loads_from_the_net(self.folder.name))), 1)


class Headers(unittest.TestCase):
    def shown(self, text):
        lines = text.split("\n")
        return [doxygen_filter.marked(lines, number) for number in range(len(lines))]

    def test_comments_of_declarations(self):
        self.assertEqual(self.shown("// A thing.\n// More.\nstruct X {\n  int a = 0;  // us\n  int b;\n};"),
                         ["/// A thing.", "/// More.", "struct X {", "  int a = 0;  ///< us", "  int b;", "};"])
        self.assertEqual(self.shown("/* What.\n * More. */\nint f(void);\nenum { kA = 0, /* one */"),
                         ["/** What.", " * More. */", "int f(void);", "enum { kA = 0, /**< one */"])

    def test_thoughts_and_tables_are_paragraphs(self):
        self.assertEqual("\n".join(self.shown("// A thing.\n// Threads: one.\n//   a  b\n//   c  d\n// End.\nint f();")),
                         "/// A thing.\n///\n/// Threads: one.\n///\n///       a  b\n///       c  d\n///\n/// End.\nint f();")

    def test_comments_of_nothing(self):
        for text in ("// Copyright\n#ifndef X", "// -----\nint a;", "// Of the page.\n\nint a;", "/* Of the page.\n */\n#ifndef X"):
            self.assertEqual(self.shown(text), text.split("\n"))


class Commands(unittest.TestCase):
    def test_every_command_is_on_the_page(self):
        tool = os.path.join(ROOT, "build", "release", "tools", "tutti")
        text = subprocess.run([tool, "--help"], capture_output=True, text=True, timeout=60, check=True).stdout
        names = set(re.findall(r"^  ([a-z]+)  ", text, re.M)) - {"version"}
        self.assertGreater(len(names), 10)
        with open(os.path.join(ROOT, "docs", "reference", "commands.md"), encoding="utf-8") as file:
            self.assertEqual(set(re.findall(r"^```{command-help} (\w+)$", file.read(), re.M)), names)


@unittest.skipIf(site_pages is None, "Sphinx is not installed here; ./dev docs installs it into build/docs-venv")
class Errors(unittest.TestCase):
    def test_rows_become_entries(self):
        source = ["# Errors\n\n`scripts/check_errors.py` holds\nthem.\n\nMore.\n\n## src/capi/a.cc\n\n| message | cause | remedy | provoked by |\n|---|---|---|---|\n| ``rank ... is <gone>`` | It died | See `log` | Provoke.X |\n\nEnd"]
        site_pages.rows_to_entries(None, "errors", source)
        for wanted in ('<dt id="rank-is-gone"><code>rank ... is &lt;gone&gt;</code>', "**Cause** It died.", "**Remedy** See `log`.", "</dl>", "End", "More.",
                       "## NCCL's functions"):
            self.assertIn(wanted, source[0])
        for left_out in ("Provoke", "check_errors", "a.cc"):
            self.assertNotIn(left_out, source[0])

    def test_names_of_files_become_titles(self):
        source = ["[a.md](a.md#b), [a](a.md), [../README.md](../README.md), [x.json](x.json)"]
        site_pages.without_pages_outside(None, "x", source)
        site_pages.page_names(None, "x", source)
        self.assertEqual(source[0], "[](a.md#b), [a](a.md), ../README.md, [x.json](x.json)")

    def test_sentences_are_wrapped_and_tables_are_not(self):
        page = site_pages.nodes.section()
        page += [site_pages.nodes.literal_block("", text) for text in ("$ x\n" + "word " * 40, "$ y\n" + "1  " * 40)]
        site_pages.long_lines_wrap(None, page)
        self.assertEqual([block["classes"] for block in page], [["wrap"], []])

    def test_the_tool_prints_the_same_addresses(self):
        """`tutti explain` makes them in C++."""
        tool = os.path.join(ROOT, "build", "release", "tools", "tutti")
        with open(os.path.join(ROOT, "docs", "errors.md"), encoding="utf-8") as file:
            messages = [match[1] for match in map(site_pages.ROW.match, file.read().split("\n")) if match]
        self.assertGreater(len(messages), 200)
        for message in messages[::10]:
            done = subprocess.run([tool, "explain", message], capture_output=True, text=True, timeout=60, check=True)
            self.assertIn(f"  address: errors.html#{site_pages.anchor(message)}\n", done.stdout)


if __name__ == "__main__":
    unittest.main()
