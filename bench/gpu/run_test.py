#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
import contextlib
import importlib.util
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
spec = importlib.util.spec_from_file_location("gpu_bench_run", os.path.join(HERE, "run.py"))
run = importlib.util.module_from_spec(spec)
spec.loader.exec_module(run)


def row(op, mode, size, tutti_us, nccl_us, ranks=2):
    return {"op": op, "mode": mode, "bytes": size, "ranks": ranks, "tutti_us": tutti_us, "nccl_us": nccl_us}


class GoalsTest(unittest.TestCase):
    def test_all_met(self):
        rows = [row("all_reduce", "graph", 8, 3, 6.1), row("all_reduce", "graph", 1 << 20, 10, 16.1),
                row("all_reduce", "graph", 1 << 30, 100, 116)]
        self.assertEqual(run.goals_missed(rows), [])

    def test_a_slow_size_and_a_low_mean_are_told(self):
        rows = [row("all_reduce", "graph", 8, 3, 5.7), row("send_recv", "stream", 1 << 30, 100, 94)]
        missed = run.goals_missed(rows)
        self.assertEqual(len(missed), 2)
        self.assertIn("2 ranks, send_recv, stream, 1G: 0.94 x as fast as NCCL, goal 1", missed)
        self.assertIn("2 ranks, all_reduce, graph, to 256 KiB: geometric mean 1.90, goal 2", missed)

    def test_noise_is_no_miss(self):
        self.assertEqual(run.goals_missed([row("gather", "graph", 8, 100, 96)]), [])

    def test_an_operation_that_nccl_lacks_counts_nowhere(self):
        self.assertEqual(run.goals_missed([row("all_to_all", "graph", 8, 3, 0)]), [])

    def test_ranges_share_no_size(self):
        rows = [row("all_reduce", "graph", size, 1, 1) for size in (256 << 10, 512 << 10, 8 << 20, 16 << 20)]
        self.assertEqual([len(run.ratios(rows, 2, "all_reduce", "graph", i)) for i in range(3)], [1, 2, 1])


class WholeTest(unittest.TestCase):
    def test_tables_and_plots_of_an_earlier_run(self):
        rows = [row(op, mode, 8 << i, 2.0, 4.0 + i, ranks) for op in ("all_reduce", "broadcast")
                for mode in ("graph", "stream") for i in range(4) for ranks in (2, 4)]
        for entry in rows:
            if entry["mode"] == "stream":
                entry.update(tutti_call_us=2.5, nccl_call_us=4.5)
        with tempfile.TemporaryDirectory() as folder:
            earlier, plots = os.path.join(folder, "earlier.json"), os.path.join(folder, "plots")
            with open(earlier, "w", encoding="utf-8") as file:
                json.dump({"date": "2026-01-01", "machine": "m", "command": "c", "rows": rows}, file)
            done = subprocess.run([sys.executable, os.path.join(HERE, "run.py"), "--from", earlier, "--svg-dir", plots],
                                  capture_output=True, text=True, check=True)
            self.assertIn("4 ranks: NCCL's time / Tutti's", done.stdout)
            self.assertIn("| broadcast | 2.69 (2.00) |", done.stdout)
            self.assertIn("CPU time of one all_reduce call, median to 256 KiB: Tutti 2.50 us, NCCL 4.50 us", done.stdout)
            self.assertIn("0 goals missed", done.stdout)
            self.assertEqual(sorted(os.listdir(plots)), ["gpu_all_reduce.svg", "gpu_broadcast.svg"])

    def test_the_library_that_was_measured_is_told(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "VERSION"), "w", encoding="utf-8") as file:
                file.write("abc1234\n")
            self.assertEqual(run.revision(folder), "abc1234")
            self.assertNotEqual(run.revision(os.path.join(folder, "none")), "")
            self.assertEqual(run.nccl_version(os.path.join(folder, "none.so")), "unknown")

    def test_a_folder_without_the_programs_is_told(self):
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
            with self.assertRaises(SystemExit) as raised:
                run.find_programs(folder)
            self.assertIn("run ./dev gpu --build-only", str(raised.exception))


if __name__ == "__main__":
    unittest.main()
