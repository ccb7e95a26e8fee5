#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Tests check_files.py on small trees: a good one passes, and each planted fault is reported."""

import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import check_files

LICENCE = "// Copyright 2026 The Tutti Authors\n// SPDX-License-Identifier: Apache-2.0\n"
GOOD = {
    "src/plan/CMakeLists.txt": "tutti_folder(plan SOURCES plan.cc cpu/fold.cc TESTS plan_test.cc)\n",
    "src/plan/plan.cc": LICENCE + '#include "plan/plan.h"\n',
    "src/plan/plan.h": LICENCE,
    "src/plan/plan_test.cc": LICENCE + '#include "plan/plan.h"\nauto path = mkdtemp("/tmp/XXXXXX");\n',
    "src/plan/cpu/fold.cc": LICENCE,
    "include/tutti/tutti.h": LICENCE,
    "docs/page.md": "network/work/place\n",
}


class CheckFilesTest(unittest.TestCase):
    def check(self, changes):
        with tempfile.TemporaryDirectory() as root:
            tree = {path: text for path, text in {**GOOD, **changes}.items() if text is not None}
            for path, text in tree.items():
                os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text)
            checker = check_files.Checker(root, sorted(tree))
            checker.run()
            return checker

    def assert_only(self, changes, *parts):
        errors = self.check(changes).errors
        self.assertEqual(len(errors), 1, errors)
        for part in parts:
            self.assertIn(part, errors[0])

    def test_good_tree_passes(self):
        checker = self.check({})
        self.assertEqual(checker.errors + checker.warnings, [])

    def test_source_outside_the_build(self):
        self.assert_only({"src/plan/cost_test.cc": LICENCE}, "cost_test.cc: not in the build", "src/plan/CMakeLists")

    def test_source_named_only_in_a_comment(self):
        self.assert_only({"src/plan/x.cc": LICENCE, "src/plan/y.cmake": "# x.cc\n"}, "x.cc: not in the build")

    def test_cmake_file_for_the_folder_above(self):
        self.assertEqual(self.check({"src/plan/cpu/list.cmake": "set(A cpu/x.cc)\n",
                                     "src/plan/cpu/x.cc": LICENCE}).errors, [])

    def test_name_without_file(self):
        self.assert_only({"src/plan/cpu/fold.cc": None}, "names cpu/fold.cc")

    def test_header_that_nobody_includes(self):
        self.assert_only({"src/plan/lost.h": LICENCE}, "no file includes it")

    def test_unfinished_work(self):
        self.assert_only({"docs/page.md": "line\nTO" + "DO later\n"}, "docs/page.md:2")

    def test_path_of_a_machine(self):
        for path in ("/" + "work/main/x", "/" + "root/x", "/" + "home/me/x"):
            self.assert_only({"docs/page.md": f"see {path}\n"}, "path of one machine")

    def test_licence(self):
        self.assert_only({"src/plan/plan.h": "#pragma once\n"}, "licence lines")

    def test_fuzzer_without_canary(self):
        self.assert_only({"src/plan/CMakeLists.txt": GOOD["src/plan/CMakeLists.txt"] + "x(FUZZERS a_fuzz.cc)\n",
                          "src/plan/a_fuzz.cc": LICENCE}, "TUTTI_FUZZ_CANARY")

    def test_long_function_and_file_are_warnings(self):
        text = LICENCE + "int Long(int x) {\n" + "  ++x;\n" * 1000 + "}\n"
        checker = self.check({"src/plan/plan.cc": '#include "plan/plan.h"\n' + text})
        self.assertEqual(checker.errors, [])
        self.assertEqual(len(checker.warnings), 2, checker.warnings)

    def test_constructor_with_initialisers_ends_at_its_own_brace(self):
        constructor = "Engine::Engine(int rank)\n    : rank_(rank) {\n}\n"
        rest = "int Short();\n" * 80 + "void Next() {\n  Call({\n    1,\n    });\n}\n"
        text = LICENCE + '#include "plan/plan.h"\n' + constructor + rest
        self.assertEqual(self.check({"src/plan/plan.cc": text}).warnings, [])


if __name__ == "__main__":
    unittest.main()
