#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Tests check_layers.py on small trees: a good one passes, and each planted fault is reported."""

import os
import sys
import tempfile
import types
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import check_layers

GOOD = {
    "docs/architecture.md": """# A tree

| folder | what it is | may include |
|---|---|---|
| `base` | what all need | |
| `sys` | the door | `base` |
| `plan` | data | `base` |
| `exec` | runs | `base` `sys` `plan` |
| `exec/cpu` | here | |
| `exec/gpu` | there | `exec/cpu` |

Done.
""",
    "include/tutti/tutti.h": '#include <vector>\n#include "tutti/types.h"\n',
    "include/tutti/types.h": "",
    "src/base/CMakeLists.txt": "tutti_folder(base SOURCES a.cc)",
    "src/base/a.h": '#include "tutti/types.h"\n',
    "src/sys/CMakeLists.txt": "tutti_folder(sys SOURCES clock.cc DEPS base)",
    "src/sys/os/clock.h": '#include <time.h>\n#include "base/a.h"\nauto t = std::chrono::steady_clock::now();\n',
    "src/plan/CMakeLists.txt":
        "tutti_folder(plan\n  SOURCES plan.cc  # DEPS nothing\n  TESTS plan_test.cc\n  DEPS base)",
    "src/plan/plan.cc": '#include "plan/plan.h"\n#include "base/a.h"\n',
    "src/plan/plan.h": "",
    "src/plan/plan_test.cc": '#include <gtest/gtest.h>\n#include "tests/support/ranks.h"\n#include "plan/plan.h"\n',
    "src/exec/CMakeLists.txt": "tutti_folder(exec SOURCES cpu/run.cc DEPS plan sys)",
    "src/exec/cpu/run.cc": '#include "plan/plan.h"\n#include "sys/os/clock.h"\n#include "kernels.inc"\n',
    "src/exec/cpu/kernels.inc": "",
    "src/exec/face.h": "",
    "src/exec/cpu/run.h": '#include "exec/face.h"\n',
    "src/exec/gpu/start.h": '#include "exec/cpu/run.h"\n#include "exec/gpu/form/args.h"\n',
    "src/exec/gpu/form/args.h": "",
    "tests/support/ranks.h": '#include "exec/cpu/run.h"\n',
    "tools/main.cc": '#include <CLI/CLI.hpp>\n#include <unistd.h>\n#include "tools/cli.h"\n#include "plan/plan.h"\n',
    "tools/cli.h": "",
}


def exceptions(includes=(), ring_list=(), sees=()):
    return types.SimpleNamespace(INCLUDES=dict.fromkeys(includes, "why"), RINGS=list(ring_list), SEES=set(sees))


class CheckLayersTest(unittest.TestCase):
    def violations(self, changes, known=exceptions()):
        """What the checker says about the good tree with files changed; None takes a file away."""
        with tempfile.TemporaryDirectory() as root:
            for path, text in {**GOOD, **changes}.items():
                if text is not None:
                    os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
                    with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                        file.write(text)
            return check_layers.Checker(root, known).run()

    def assert_only(self, changes, *parts):
        found = self.violations(changes)
        self.assertEqual(len(found), 1, found)
        for part in parts:
            self.assertIn(part, found[0])

    def test_good_tree_passes(self):
        self.assertEqual(self.violations({}), [])

    def test_include_between_subfolders(self):
        bad = {"src/exec/cpu/run.h": '#include "exec/gpu/form/args.h"\n'}
        self.assert_only(bad, "src/exec/cpu/run.h:1", "`exec/cpu` may not include `exec/gpu`")
        pair = "src/exec/cpu/run.h > exec/gpu/form/args.h"
        self.assertEqual(self.violations(bad, exceptions([pair])), [])
        self.assertIn("remove it from INCLUDES", self.violations({}, exceptions([pair]))[0])
        self.assert_only({"src/exec/face.h": '#include "exec/gpu/form/args.h"\n'}, "`exec` may not include `exec/gpu`")

    def test_subfolder_without_row_and_row_without_subfolder(self):
        self.assert_only({"src/exec/extra/x.h": ""}, "src/exec/extra: has no row")
        table = GOOD["docs/architecture.md"].replace("| `exec/gpu`", "| `exec/later` | x | |\n| `exec/gpu`")
        self.assert_only({"docs/architecture.md": table}, "there is no src/exec/later")

    def test_subfolders_row_that_names_another_folder(self):
        table = GOOD["docs/architecture.md"].replace("| there | `exec/cpu` |", "| there | `exec/cpu` `plan` |")
        self.assert_only({"docs/architecture.md": table}, "names subfolders of the same folder")

    def test_headers_that_include_each_other(self):
        found = self.violations({"src/exec/face.h": '#include "exec/other.h"\n', "src/exec/other.h": '#include "exec/face.h"\n'})
        self.assertIn("src/exec/face.h src/exec/other.h: these headers include each other", found)

    def test_units_that_include_each_other(self):
        pair = {"src/plan/plan.cc": '#include "plan/plan.h"\n#include "plan/check.h"\n',
                "src/plan/check.h": '#include "plan/plan.h"\n'}
        self.assert_only(pair, "src/plan/check src/plan/plan: these include each other")
        known = exceptions(ring_list=[["src/plan/check", "src/plan/plan"]])
        self.assertEqual(self.violations(pair, known), [])
        self.assertIn("not this ring any more", self.violations({}, known)[0])
        ring = {"src/plan/plan.h": '#include "plan/b.h"\n', "src/plan/b.cc": '#include "plan/c.h"\n', "src/plan/b.h": "",
                "src/plan/c.h": '#include "plan/plan.h"\n'}
        self.assert_only(ring, "src/plan/b src/plan/c src/plan/plan: these include each other")
        test = {"src/plan/plan_test.cc": '#include "plan/plan.h"\n', "src/plan/plan.h": '#include "base/a.h"\n'}
        self.assertEqual(self.violations(test), [])

    def test_source_that_sees_many_headers(self):
        chain = {f"src/base/h{i}.h": f'#include "base/h{i + 1}.h"\n' for i in range(25)}
        chain |= {"src/base/h25.h": '#include "tutti/export.h"\n', "include/tutti/export.h": "",  # which does not count
                  "src/base/x.cc": '#include "base/h0.h"\n', "src/base/y.cc": '#include "base/h1.h"\n'}
        self.assert_only(chain, "src/base/x.cc: sees 26 headers", "at most 25")
        self.assertEqual(self.violations(chain, exceptions(sees=["src/base/x.cc"])), [])
        self.assertIn("remove it from SEES", self.violations({}, exceptions(sees=["src/base/x.cc"]))[0])

    def test_include_that_the_row_does_not_allow(self):
        self.assert_only({"src/plan/plan.h": '#include "exec/face.h"\n'},
                         "src/plan/plan.h:1", "`plan` may not include `exec`")

    def test_tests_follow_the_row_of_their_folder(self):
        self.assert_only({"src/plan/plan_test.cc": '#include "exec/cpu/run.h"\n'}, "may not include `exec`")

    def test_folder_without_row(self):
        self.assert_only({"src/extra/x.h": ""}, "src/extra: has no row")

    def test_row_without_folder(self):
        table = GOOD["docs/architecture.md"].replace("| `exec`", "| `later` | x | `base` |\n| `exec`")
        self.assert_only({"docs/architecture.md": table}, "there is no src/later")

    def test_row_that_names_one_below(self):
        table = GOOD["docs/architecture.md"].replace("| data | `base` |", "| data | `base` `exec` |")
        self.assert_only({"docs/architecture.md": table}, "`exec`, which has no row above it")

    def test_row_in_prose(self):
        table = GOOD["docs/architecture.md"].replace("| runs | `base` `sys` `plan` |", "| runs | all but `base` |")
        self.assertTrue(any("list the folders themselves" in v
                            for v in self.violations({"docs/architecture.md": table})))

    def test_missing_table(self):
        self.assertTrue(any("no table" in v for v in self.violations({"docs/architecture.md": "# Nothing\n"})))

    def test_system_headers_outside_the_door(self):
        for header in ("sys/socket.h", "sys/mman.h", "unistd.h", "linux/futex.h", "dlfcn.h", "fcntl.h"):
            self.assert_only({"src/plan/plan.h": f"#include <{header}>\n"}, f"<{header}>", "use a function of sys/")

    def test_tests_may_use_the_system(self):
        text = "#include <sys/wait.h>\nsteady_clock::now();\n"
        self.assertEqual(self.violations({"src/plan/plan_test.cc": text}), [])

    def test_cuda_only_in_sys_and_gpu_code(self):
        self.assertEqual(self.violations({"src/exec/gpu/kernel.cu": "#include <cuda_runtime.h>\n"}), [])
        self.assert_only({"src/exec/cpu/run.h": "#include <cuda_runtime.h>\n"}, "<cuda_runtime.h>")

    def test_clock(self):
        self.assert_only({"src/plan/plan.h": "auto t = std::chrono::steady_clock::now();\n"}, "sys/os/clock.h")
        self.assertEqual(self.violations({"src/plan/plan.h": "// steady_clock::now is banned\n"}), [])

    def test_command_line_library_in_the_library(self):
        self.assert_only({"src/base/a.h": "#include <CLI/CLI.hpp>\n"}, "belong to tools/")

    def test_test_library_in_a_source(self):
        self.assert_only({"src/base/a.h": "#include <gtest/gtest.h>\n"}, "only tests and benchmarks")

    def test_sources_do_not_include_tests(self):
        self.assert_only({"src/exec/gpu/start.h": '#include "tests/support/ranks.h"\n'}, "nothing includes tests/")

    def test_nothing_includes_tools(self):
        self.assert_only({"src/base/a.h": '#include "tools/cli.h"\n'}, "nothing includes tools/")

    def test_only_tests_include_tools(self):
        self.assertEqual(self.violations({"tests/cli_test.cc": '#include "tools/cli.h"\n'}), [])
        self.assertEqual(self.violations({"bench/x.cc": '#include "tools/cli.h"\n'}), [])
        self.assert_only({"examples/x.cc": '#include "tools/cli.h"\n'}, "nothing includes tools/")

    def test_public_headers_include_only_public_ones(self):
        self.assert_only({"include/tutti/types.h": '#include "exec/face.h"\n'}, "only public headers")

    def test_parent_paths(self):
        self.assert_only({"src/plan/plan.h": '#include "../base/a.h"\n'}, "write paths from src/")

    def test_unknown_header(self):
        self.assert_only({"src/plan/plan.h": '#include "gtest/gtest.h"\n'}, "write <gtest/gtest.h>")

    def test_deps_outside_the_row(self):
        self.assert_only({"src/plan/CMakeLists.txt": "tutti_folder(plan SOURCES plan.cc DEPS base exec)"},
                         "DEPS names exec")

    def test_deps_that_lack_an_included_folder(self):
        self.assert_only({"src/exec/CMakeLists.txt": "tutti_folder(exec SOURCES cpu/run.cc DEPS plan)"},
                         "DEPS lacks sys", "src/exec/cpu/run.cc:2")


if __name__ == "__main__":
    unittest.main()
