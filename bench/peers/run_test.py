#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Tests the comparison's scripts with programs that only pretend to measure."""

import contextlib
import io
import os
import sys
import tempfile
import unittest
import xml.dom.minidom
from unittest import mock

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import goals
import plot
import run


class FakePeer:
    def __init__(self, script, name="tutti"):
        self.name, self.script = name, script

    def commands(self, ranks, arguments, store):
        return [(["bash", "-c", self.script], {}) for _ in range(ranks)]


class RunPeerTest(unittest.TestCase):
    def test_rows_version_and_remarks(self):
        outcome = run.run_peer(FakePeer("echo '# library: X  1'; echo all_reduce 8 2 1.5 1.25 9 100"), 1, [], 10)
        self.assertEqual((outcome.rows, outcome.version, outcome.failure), ({8: (1.5, 1.25)}, "X 1", None))

    def test_operation_that_the_library_lacks(self):
        outcome = run.run_peer(FakePeer("echo '# gather: this library has no such operation'"), 1, [], 10)
        self.assertTrue(outcome.unsupported)
        self.assertIsNone(outcome.failure)

    def test_failure_keeps_rows_and_says_what_the_program_said(self):
        outcome = run.run_peer(FakePeer("echo all_reduce 8 2 1.5 1 9 100; echo no luck >&2; exit 3"), 1, [], 10)
        self.assertEqual(outcome.rows, {8: (1.5, 1.0)})
        self.assertIn("status 3", outcome.failure)
        self.assertIn("no luck", outcome.failure)

    def test_crash(self):
        self.assertIn("signal 11", run.run_peer(FakePeer("kill -SEGV $$"), 1, [], 10).failure)

    def test_silence_is_a_failure(self):
        self.assertIn("no results", run.run_peer(FakePeer("true"), 1, [], 10).failure)

    def test_time_limit_ends_all_ranks(self):
        self.assertIn("more than 0.3 s", run.run_peer(FakePeer("sleep 60"), 3, [], 0.3).failure)

    def test_one_rank_that_fails_ends_the_others(self):
        script = 'if [[ ! -e "$0" ]]; then exit 4; fi; sleep 60'
        with tempfile.TemporaryDirectory() as folder:
            peer = FakePeer("")
            peer.commands = lambda *_: [(["bash", "-c", script, path], {}) for path in (folder, folder + "/absent")]
            self.assertIn("status 4", run.run_peer(peer, 2, [], 30).failure)


class GoalsTest(unittest.TestCase):
    def test_ten_percent_slower_than_the_best_of_two_ranks(self):
        for tutti, missed in ((1.09, 0), (1.12, 1)):
            times = {(2, "gather", 8): {"tutti": tutti, "openmpi": 7.0, "mpich": 1.0}}
            self.assertEqual(len(goals.row_violations(times, (2, "gather", 8))), missed)

    def test_four_ranks_all_reduce(self):
        key = (4, "all_reduce", 8)
        for row, missed in (({"openmpi": 2.1, "gloo": 5.1}, 0), ({"openmpi": 1.9, "gloo": 4.9}, 2), ({}, 0)):
            self.assertEqual(len(goals.row_violations({key: {"tutti": 1.0, **row}}, key)), missed)
        key = (4, "gather", 8)
        self.assertEqual(goals.row_violations({key: {"tutti": 1.0, "openmpi": 0.1}}, key), [])

    def test_geometric_means_of_large_sizes(self):
        times = {(2, op, size): {"tutti": 1.0, "openmpi": us}
                 for op in ("all_reduce", "reduce") for size, us in ((8, 100.0), (8192, 1.0), (65536, 3.0))}
        self.assertAlmostEqual(goals.geomean_ratio(times, 2, "reduce", "openmpi", 8192), 3 ** 0.5)
        self.assertEqual([(ranks, op) for ranks, op, _ in goals.mean_violations(times)], [(2, "all_reduce")])

    def test_without_tutti_nothing_is_missed(self):
        times = {(2, "reduce", 8192): {"openmpi": 1.0}}
        self.assertEqual(goals.row_violations(times, (2, "reduce", 8192)) + goals.mean_violations(times), [])


class WholeTest(unittest.TestCase):
    def test_output_files_and_marks(self):
        scripts = {"tutti": "echo all_reduce 8 2 5 4 9 1", "openmpi": "echo all_reduce 8 2 1 1 9 1", "mpich": "exit 1"}
        with tempfile.TemporaryDirectory() as folder:
            peers = lambda name, build: FakePeer(scripts[name], name)
            FakePeer.why_absent = lambda self: None
            argv = ["run.py", "--quick", "--ops", "all_reduce", "--ranks", "2", "--libraries", "tutti,openmpi,mpich",
                    "--json", folder + "/r.json", "--svg-dir", folder]
            out = io.StringIO()
            with mock.patch.object(run, "Peer", peers), mock.patch.object(sys, "argv", argv), \
                    contextlib.redirect_stdout(out):
                self.assertEqual(run.main(), 0)
            text = out.getvalue()
            self.assertIn("5.00 x the time of openmpi", text)
            self.assertIn("!! MPICH, all_reduce, 2 ranks: it ended with status 1", text)
            xml.dom.minidom.parse(folder + "/all_reduce.svg")
            with open(folder + "/r.json", encoding="utf-8") as file:
                self.assertIn('"us_best": 4.0', file.read())

    def test_plot_of_one_point_and_of_nothing(self):
        for points in ([(8, 1.0)], []):
            chart = plot.Chart("a < b", "c & d")
            chart.add_panel("p", {"x": points})
            xml.dom.minidom.parseString(chart.svg())


if __name__ == "__main__":
    unittest.main()
