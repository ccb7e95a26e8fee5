#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Tests of check_errors.py: what it must find, on a tree made up here."""

import os
import tempfile
import unittest

import check_errors

SOURCE = r'''
// Status(Code::kRemote, "only a comment speaks like this")
Status A() { return Status(Code::kRemote, fmt::format("rank {} of {}{} has "
                                                      "\"gone\" away", 1, 2, 3)); }
Status B() { return Status(Code::kInProgress, "nobody sees this one"); }
Status C() { return Status(Code::kSystem, fmt::format("{} {}", a, b)); }
'''
ROW = '| ``rank ... of ... has "gone" away`` | cause | remedy | Provoke.Loss |\n'


TEST = "// TEST_F(Provoke, Comment)\nTEST_F(Provoke, Loss) {\n}\n"


def faults(page, source=SOURCE, test=TEST):
    with tempfile.TemporaryDirectory() as root:
        for path, text in (("docs/errors.md", page), ("src/a/b.cc", source), ("tests/a_test.cc", test)):
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        return check_errors.Checker(root).run()


class CheckErrorsTest(unittest.TestCase):
    def test_good(self):
        self.assertEqual(faults("## src/a/b.cc\n" + ROW), [])

    def test_sentence_that_the_source_lacks(self):
        found = faults("## src/a/b.cc\n" + ROW + "| ``rank ... left`` | cause | remedy | not provoked: it never happens |\n")
        self.assertEqual(found, ["docs/errors.md:3: src/a/b.cc has no such sentence: rank ... left"])

    def test_sentence_without_row(self):
        other = SOURCE + 'Status D() { return Status(Code::kTimeout, "it took too long"); }\n'
        self.assertEqual(faults("## src/a/b.cc\n" + ROW, other),
                         ["src/a/b.cc: docs/errors.md has no row for ``it took too long``"])

    def test_comments_raise_nothing(self):
        self.assertEqual([fault for fault in faults("## src/a/b.cc\n") if "comment" in fault], [])

    def test_cells(self):
        self.assertIn("four cells", faults("## src/a/b.cc\n" + ROW.replace("cause", ""))[0])
        for wrong in ("yes", "Provoke.Other", "Provoke.Comment", "not provoked:", "not provoked: why"):
            found = faults("## src/a/b.cc\n" + ROW.replace("Provoke.Loss", wrong))
            self.assertIn("the last cell names a test", found[0])
            self.assertIn("no row of docs/errors.md names this test", found[1])
        self.assertEqual(faults("## src/a/b.cc\n" + ROW.replace("Provoke.Loss", "not provoked: why so"), test=""), [])

    def test_no_source(self):
        self.assertIn("there is no src/a/c.cc", faults("## src/a/c.cc\n" + ROW)[0])

    def test_empty_page(self):
        self.assertIn("no rows", faults("")[-1])


if __name__ == "__main__":
    unittest.main()
