#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Tests the comparison's scripts with programs that only pretend to measure."""

import contextlib
import io
import json
import os
import sys
import tempfile
import textwrap
import unittest
import xml.dom.minidom
from unittest import mock

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import goals
import plot
import run

# A rank: the settings below, then this. `replies` says what rank 0 answers, by the command's first word.
RANK = """
import os, signal, socket, sys, time
number, path = int(sys.argv[1]), sys.argv[sys.argv.index("--turns") + 1]
turns = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
turns.connect(path)
turns.send(f"hello {number} X  {number}".encode())
while words := turns.recv(100).decode().split():
    action(number, words)
    if number == 0:
        turns.send(replies[words[0]].encode())
"""


def rank_program(us=1.0, action="pass", **replies):
    replies = {"size": "ready 5 8", "batch": f"us {us}", **replies}
    return f"def action(number, words): {action}\nreplies = {replies}\n" + textwrap.dedent(RANK)


class FakePeer:
    def __init__(self, script, name="tutti"):
        self.name, self.script = name, script

    def why_absent(self):
        return None

    def commands(self, ranks, arguments, store):
        return [([sys.executable, "-c", self.script, str(number), *arguments], {}) for number in range(ranks)]


class SessionTest(unittest.TestCase):
    def session(self, script, ranks=2, limit_s=20):
        session = run.Session(FakePeer(script), ranks, [], limit_s)
        self.addCleanup(session.close)
        return session

    def failure(self, script, limit_s=20, ask="batch"):
        with self.assertRaises(run.PeerFailed) as raised:
            self.session(script, limit_s=limit_s).ask(ask)
        return str(raised.exception)

    def test_version_is_of_rank_0(self):
        self.assertEqual(self.session(rank_program()).version, "X 0")

    def test_answers_of_rank_0(self):
        session = self.session(rank_program(us=1.5), ranks=3)
        self.assertEqual(session.ask("size all_reduce 8"), ["ready", "5", "8"])
        self.assertEqual(session.ask("batch"), ["us", "1.5"])

    def test_failure_says_what_the_program_said(self):
        said = self.failure("import sys; sys.exit('no luck')")
        self.assertIn("status 1", said)
        self.assertIn("no luck", said)

    def test_rank_that_fails_in_a_batch(self):
        self.assertIn("status 4", self.failure(rank_program(action="number == 1 and os._exit(4); time.sleep(9)")))

    def test_crash(self):
        self.assertIn("signal 11", self.failure(rank_program(action="os.kill(os.getpid(), signal.SIGSEGV)")))

    def test_end_without_a_word(self):
        self.assertIn("ended too early", self.failure("pass"))
        self.assertIn("ended too early", self.failure(rank_program(action="sys.exit(0)")))

    def test_silence(self):
        self.assertIn("silent for more than 0.5 s", self.failure("import time; time.sleep(60)", limit_s=0.5))
        self.assertIn("silent for more than 2 s", self.failure(rank_program(action="time.sleep(60)"), limit_s=2))

    def test_ends_by_itself_when_nothing_more_is_asked(self):
        session = self.session(rank_program())
        session.end()
        self.assertEqual([child.poll() for child in session.children], [0, 0])

    def test_bad_end(self):
        with self.assertRaisesRegex(run.PeerFailed, "status 5"):
            self.session(rank_program() + "sys.exit(5)").end()
        with self.assertRaisesRegex(run.PeerFailed, "did not end within 1 s"):
            self.session(rank_program() + "time.sleep(60)", limit_s=1).end()

    def test_close_leaves_nothing(self):
        session = run.Session(FakePeer(rank_program() + "time.sleep(60)"), 2, [], 20)
        session.close()
        self.assertNotIn(None, [child.poll() for child in session.children])
        self.assertFalse(os.path.exists(session.folder.name))


class GoalsTest(unittest.TestCase):
    def test_ten_percent_slower_than_the_best_of_two_ranks(self):
        for best, missed in ((1 / 1.09, 0), (1 / 1.12, 1)):
            ratios = {(2, "gather", 8): {"openmpi": 7.0, "mpich": best}}
            self.assertEqual(len(goals.row_violations(ratios, (2, "gather", 8))), missed)

    def test_four_ranks_all_reduce(self):
        key = (4, "all_reduce", 8)
        for row, missed in (({"openmpi": 2.1, "gloo": 5.1}, 0), ({"openmpi": 1.9, "gloo": 4.9}, 2), ({}, 0)):
            self.assertEqual(len(goals.row_violations({key: row}, key)), missed)
        key = (4, "gather", 8)
        self.assertEqual(goals.row_violations({key: {"openmpi": 0.1}}, key), [])

    def test_geometric_means_of_large_sizes(self):
        ratios = {(2, op, size): {"openmpi": ratio}
                  for op in ("all_reduce", "reduce") for size, ratio in ((8, 100.0), (8192, 1.0), (65536, 3.0))}
        self.assertAlmostEqual(goals.geomean_ratio(ratios, 2, "reduce", "openmpi", 8192), 3 ** 0.5)
        self.assertEqual([(ranks, op) for ranks, op, _ in goals.mean_violations(ratios)], [(2, "all_reduce")])

    def test_without_tutti_nothing_is_missed(self):
        ratios = {(2, "reduce", 8192): {}}
        self.assertEqual(goals.row_violations(ratios, (2, "reduce", 8192)) + goals.mean_violations(ratios), [])


class ComparisonTest(unittest.TestCase):
    def comparison(self, compare, turns):
        comparison = run.Comparison(mock.Mock(compare=compare), [])
        comparison.turns = {(2, "reduce", 8): turns}
        return comparison

    def test_ratio_is_within_a_turn(self):
        # Twice as slow in every turn, while the machine changes its pace between them.
        turns = [{"tutti": 1, "mpich": 2}, {"tutti": 4, "mpich": 8}, {"mpich": 2}, {"tutti": 1, "mpich": 2}]
        comparison = self.comparison("median", turns)
        self.assertEqual(comparison.times(), {(2, "reduce", 8): {"tutti": 1, "mpich": 2}})
        self.assertEqual(comparison.ratios(), {(2, "reduce", 8): {"mpich": 2}})

    def test_best(self):
        comparison = self.comparison("best", [{"tutti": 4, "mpich": 3}, {"tutti": 2, "mpich": 9}])
        self.assertEqual(comparison.ratios(), {(2, "reduce", 8): {"mpich": 1.5}})

    def test_without_tutti_there_are_times(self):
        comparison = self.comparison("median", [{"mpich": 3}])
        self.assertEqual(comparison.times(), {(2, "reduce", 8): {"mpich": 3}})
        self.assertEqual(comparison.ratios(), {(2, "reduce", 8): {}})


class WholeTest(unittest.TestCase):
    def run_main(self, scripts, *arguments):
        argv = ["run.py", "--ops", "all_reduce,gather", "--ranks", "2", "--libraries", ",".join(scripts),
                "--sizes", "8:8", *arguments]
        out = io.StringIO()
        with mock.patch.object(run, "Peer", lambda name, build: FakePeer(scripts[name], name)), \
                mock.patch.object(sys, "argv", argv), contextlib.redirect_stdout(out):
            return run.main(), out.getvalue()

    def test_output_files_and_marks(self):
        lacks_gather = "words[1:2] == ['gather'] and replies.update(size='unsupported')"
        scripts = {"tutti": rank_program(us=5), "openmpi": rank_program(us=1), "mpich": "import sys; sys.exit(1)",
                   "gloo": rank_program(us=7, action=lacks_gather)}
        with tempfile.TemporaryDirectory() as folder:
            status, text = self.run_main(scripts, "--rounds", "2", "--turns", "3", "--json", folder + "/r.json",
                                         "--svg-dir", folder)
            self.assertEqual(status, 0)
            self.assertIn("5.00 x the time of openmpi", text)
            self.assertIn("Goals missed at single sizes: 2", text)
            self.assertIn("!! MPICH, gather, 2 ranks: it ended with status 1", text)
            xml.dom.minidom.parse(folder + "/all_reduce.svg")
            with open(folder + "/r.json", encoding="utf-8") as file:
                results = json.load(file)["results"]
        self.assertEqual({r["library"] for r in results if r["op"] == "gather"}, {"tutti", "openmpi"})
        self.assertEqual([(r["us_turns"], r["ratio"]) for r in results if r["library"] == "gloo"], [([7.0] * 6, 1.4)])

    def test_a_failure_of_tutti_is_one(self):
        status, text = self.run_main({"tutti": rank_program(size="wrong")}, "--quick")
        self.assertEqual(status, 1)
        self.assertIn("!! Tutti, gather, 2 ranks: 8 bytes: its answer is 'wrong'", text)

    def test_a_peer_that_fails_half_way_has_its_turns_until_then(self):
        dies = "words[0] == 'batch' and globals().update(n=globals().get('n', 0) + 1) or globals().get('n') == 3 and os._exit(3)"
        status, text = self.run_main({"tutti": rank_program(us=1), "mpich": rank_program(us=3, action=dies)}, "--quick")
        self.assertEqual(status, 0)
        self.assertIn("!! MPICH, all_reduce, 2 ranks: it ended with status 3", text)
        self.assertIn("(3.00)", text)

    def test_more_ranks_than_elements(self):
        status, text = self.run_main({"tutti": rank_program(size="small")}, "--quick")
        self.assertEqual(status, 0)
        self.assertNotIn("!!", text)

    def test_plot_of_one_point_and_of_nothing(self):
        for points in ([(8, 1.0)], []):
            chart = plot.Chart("a < b", "c & d")
            chart.add_panel("p", {"x": points})
            xml.dom.minidom.parseString(chart.svg())

    def test_sizes(self):
        self.assertEqual(run.sizes("8:64M:4"), (8, 64 << 20, 4))
        self.assertEqual(run.sizes("1K:2k"), (1024, 2048, 2))
        for text in ("8", "8:4", "0:8", "8:64:1", "8:x", "1:2:3:4", ""):
            self.assertRaises(run.argparse.ArgumentTypeError, run.sizes, text)


if __name__ == "__main__":
    unittest.main()
