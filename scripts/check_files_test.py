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
    def check(self, changes, known=()):
        with tempfile.TemporaryDirectory() as root:
            tree = {path: text for path, text in {**GOOD, **changes}.items() if text is not None}
            for path, text in tree.items():
                os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text)
            checker = check_files.Checker(root, sorted(tree), known)
            checker.run()
            return checker

    def assert_only(self, changes, *parts):
        errors = self.check(changes).errors
        self.assertEqual(len(errors), 1, errors)
        for part in parts:
            self.assertIn(part, errors[0])

    def test_good_tree_passes(self):
        self.assertEqual(self.check({}).errors, [])

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

    def test_long_file(self):
        text = '#include "plan/plan.h"\n' + "int x;\n" * 498
        self.assert_only({"src/plan/plan.cc": LICENCE + text}, "src/plan/plan.cc: 501 lines", "at most 500")
        because = LICENCE + "//\n// Long because it lists everything.\n" + text
        self.assertEqual(self.check({"src/plan/plan.cc": because}).errors, [])
        self.assertEqual(self.check({"src/plan/plan.cc": LICENCE + text}, ["src/plan/plan.cc"]).errors, [])
        self.assertIn("remove it from TOO_LONG", self.check({}, ["src/plan/plan.cc"]).errors[0])
        self.assertEqual(self.check({"tests/CMakeLists.txt": "x(plan.cc)", "tests/plan.cc": LICENCE + text}).errors, [])

    def test_long_function(self):
        head, body = LICENCE + '#include "plan/plan.h"\n', "int Long(int x) {\n" + "  ++x;\n" * 59 + "}\n"
        self.assert_only({"src/plan/plan.cc": head + body}, "src/plan/plan.cc:4: Long has 61 lines")
        for text in ("// Long because it is a table.\n" + body, body.replace("{\n", "{\n  // Long because of x.\n")):
            self.assertEqual(self.check({"src/plan/plan.cc": head + text}).errors, [])
        self.assertEqual(self.check({"src/plan/plan.cc": head + body}, ["src/plan/plan.cc:Long"]).errors, [])
        self.assertEqual(len(self.check({"src/plan/plan.cc": head + "// Long because\n" + body}).errors), 1)

    def test_large_class(self):
        methods = "".join(f"  int Get{i}(std::function<void(int, int)> f = {{}}) const {{ return {i}; }}\n" for i in range(31))
        fields = "".join(f"  std::map<int, std::function<void(int)>> a{i}_{{}}, b{i}_ = Make({i}, 2);\n" for i in range(13))
        rest = ("  Big(const Big&) = delete;\n  static constexpr int kSize = 3;\n  using Key = int;\n  struct Part {\n"
                "    int x, y;\n    void Call();\n  };\n  enum class Kind { kA, kB };\n  friend class Other;\n")
        for text, says in ((f"class Big {{\n public:\n{methods}{rest}}};\n", "31 public methods and 0 fields"),
                           (f"class Big {{\n public:\n{rest} private:\n{methods}{fields}}};\n",
                            "0 public methods and 26 fields"),
                           (f"struct Big {{\n{fields}}};\n", "0 public methods and 26 fields")):
            self.assert_only({"src/plan/plan.h": LICENCE + text}, "Big has " + says)
            because = {"src/plan/plan.h": LICENCE + "// Long because it is the face.\n" + text}
            self.assertEqual(self.check(because).errors, [])

    def test_long_function_with_wrapped_head(self):
        body = "  Call();\n" * 60 + "}\n"
        for head, name in (("Status Engine::Run(const Plan& plan, std::span<const int> ranks,\n"
                            "                   Stream stream) {\n", "Run"),
                           ("Engine::Engine(int rank, int ranks,\n               Stream stream)\n"
                            "    : rank_(rank),\n      ranks_(ranks) {\n", "Engine")):
            lines = head.count("\n") + 61
            text = LICENCE + '#include "plan/plan.h"\n' + head + body
            self.assert_only({"src/plan/plan.cc": text}, f"src/plan/plan.cc:4: {name} has {lines} lines")

    def test_wrapped_condition_is_no_function(self):
        text = "void Run() {\n  if (first &&\n      second()) {\n" + "    Call();\n" * 50 + "  }\n}\n"
        more = "void Next() {\n" + "  Call();\n" * 20 + "}\n"
        self.assertEqual(self.check({"src/plan/plan.cc": LICENCE + '#include "plan/plan.h"\n' + text + more}).errors, [])

    def test_constructor_with_initialisers_ends_at_its_own_brace(self):
        constructor = "Engine::Engine(int rank)\n    : rank_(rank) {\n}\n"
        rest = "int Short();\n" * 80 + "void Next() {\n  Call({\n    1,\n    });\n}\n"
        text = LICENCE + '#include "plan/plan.h"\n' + constructor + rest
        self.assertEqual(self.check({"src/plan/plan.cc": text}).errors, [])


if __name__ == "__main__":
    unittest.main()
