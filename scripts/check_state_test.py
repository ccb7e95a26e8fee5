#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Tests check_state.py on small trees: a good one passes, and each planted fault is reported."""

import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import check_state

PAGE = """# A tree

| file | once in a process, or a thread |
|---|---|
| `base/log.cc` `base/log.h` | the log |

"""
GOOD = {
    "docs/architecture.md": PAGE,
    "src/base/log.h": "inline constinit std::atomic<int> g_enabled{0};\n",
    "src/base/log.cc": "Sink* g_sink = nullptr;\nstatic const Table& table = *[] {\n  static int Count(int x);\n  int g_local(2);\n",
    "src/base/other.cc": "constexpr int kMost = 3;\nstatic constexpr int kLeast = 1;\n  use(g_sink);\n  if (g_x == 2) {\n"
                         "// static int commented = 1;\n",
    "src/base/other_test.cc": "static int calls = 0;\n",
}


class CheckStateTest(unittest.TestCase):
    def differences(self, changes):
        with tempfile.TemporaryDirectory() as root:
            for path, text in {**GOOD, **changes}.items():
                os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text)
            return check_state.differences(root)

    def test_good_tree_passes(self):
        self.assertEqual(self.differences({}), [])

    def test_what_is_not_listed(self):
        for text in ("  static int calls = 0;\n", "thread_local std::vector<A*> t_open;\n", "  static Watch& watch = *[] {\n",
                     "constinit std::mutex m;\n", "std::atomic<int> g_count{0};\n", "  static std::atomic<int> counts[9];\n",
                     "  static auto* const table = [] {\n", "thread_local char t_text[kBytes];\n"):
            found = self.differences({"src/base/other.cc": text})
            self.assertEqual(len(found), 1, text)
            self.assertIn("src/base/other.cc:1:", found[0])

    def test_listed_without_reason(self):
        found = self.differences({"src/base/log.cc": "int x;\n"})
        self.assertEqual(len(found), 1, found)
        self.assertIn("lists base/log.cc", found[0])

    def test_no_list(self):
        self.assertIn("no list", self.differences({"docs/architecture.md": "# Nothing\n"})[0])


if __name__ == "__main__":
    unittest.main()
