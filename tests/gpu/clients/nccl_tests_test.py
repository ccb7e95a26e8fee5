#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Tests of nccl_tests.py and common.py that need no GPU: what counts as wrong, ranks that fail or hang."""

import contextlib
import io
import os
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import common  # noqa: E402
import nccl_tests  # noqa: E402

GOOD = """#
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)
           8             2     float     sum      -1    11.24    0.00    0.00       0    11.12    0.00    0.00       0
     1048576        262144     float     sum      -1    21.07   49.76   49.76       0    20.61   50.87   50.87     N/A
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 25.1
#
"""


class Judging(unittest.TestCase):
    def test_good(self):
        self.assertIsNone(nccl_tests.judge(0, GOOD))

    def test_wrong_values(self):
        self.assertIn("5 wrong values", nccl_tests.judge(0, GOOD.replace("0.00       0\n", "0.00       5\n")))

    def test_a_table_without_operators(self):
        table = GOOD.replace("sum", "   ")
        self.assertIsNone(nccl_tests.judge(0, table))
        self.assertIn("5 wrong values", nccl_tests.judge(0, table.replace("0.00       0\n", "0.00       5\n")))

    def test_out_of_bounds(self):
        self.assertIn("3", nccl_tests.judge(0, GOOD.replace(": 0 OK", ": 3 FAILED")))

    def test_no_verdict(self):
        self.assertIn("no verdict", nccl_tests.judge(0, "Segmentation"))
        self.assertIn("exit code 3", nccl_tests.judge(3, GOOD))
        self.assertIn("no rows", nccl_tests.judge(0, "# Out of bounds values : 0 OK"))


class LeavingOut(unittest.TestCase):
    def test_hypercube_by_some_ranks(self):
        for name, gpus, out in (("hypercube_perf", 4, True), ("hypercube_perf", 2, False), ("hypercube_perf", 1, False),
                                ("hypercube_perf", 3, True), ("all_reduce_perf", 4, False), ("all_reduce_perf", 3, False)):
            self.assertEqual(nccl_tests.why_left_out(name, gpus, ["-c", "1", "-g", str(gpus)]) is not None, out, (name, gpus))


class Ranks(unittest.TestCase):
    def test_one_thread_each(self):
        good, _ = self.run_ranks("import os,sys;sys.exit(os.environ['OMP_NUM_THREADS']!='1')")
        self.assertTrue(good or "OMP_NUM_THREADS" in os.environ)

    def run_ranks(self, code, seconds=20):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            good = common.start_ranks(2, seconds, ["-c", code], [sys.executable])
        return good, out.getvalue()

    def test_all_good(self):
        with tempfile.TemporaryDirectory() as folder:
            good, _ = self.run_ranks("import os;open(os.path.join(%r,os.environ['RANK']),'w')" % folder)
            self.assertTrue(good)
            self.assertEqual(sorted(os.listdir(folder)), ["0", "1"])

    def test_one_fails(self):
        good, out = self.run_ranks("import os,sys;sys.exit(int(os.environ['RANK']))")
        self.assertFalse(good)
        self.assertIn("rank 1 ended with 1", out)

    def test_one_hangs(self):
        begin = time.monotonic()
        good, out = self.run_ranks("import os,time;time.sleep(60*int(os.environ['RANK']))", 1)
        self.assertFalse(good)
        self.assertIn("rank 1 did not end", out)
        self.assertLess(time.monotonic() - begin, 30)


class Counting(unittest.TestCase):
    def test_status(self):
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()):
            checks = common.Checks("name")
            self.assertEqual(checks.end(), 1)  # no check at all is no success
            checks.run("good", lambda: None)
            self.assertEqual(checks.end(), 0)

            def leave_out():
                raise common.LeftOut("why")
            checks.run("not here", leave_out)
            checks.run("bad", lambda: "reason")
            checks.run("thrown", lambda: 1 // 0)
            self.assertEqual(checks.end(), 1)
        self.assertIn("name: 3 checks, 1 left out, 2 wrong", out.getvalue())
        self.assertIn("WRONG     bad (rank 0): reason", out.getvalue())


if __name__ == "__main__":
    unittest.main()
