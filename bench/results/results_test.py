#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import results

HEAD = {"date": "2026-01-02T03:04:05+00:00", "machine": {"cpu": "A(R) Processor", "cores": 2}, "command": "run --neighbour",
        "revision": "abc1234", "versions": {"openmpi": "Open MPI v4.1.4, package: Debian", "gloo": "Debian"}}
PEERS = [{"ranks": 2, "op": "reduce", "bytes": 8, "library": "tutti", "us": 1.0, "ratio": None},
         {"ranks": 2, "op": "reduce", "bytes": 8, "library": "openmpi", "us": 3.0, "ratio": 2.9}]


def written(folder, path, data):
    os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
    with open(os.path.join(folder, path), "w", encoding="utf-8") as file:
        json.dump(data, file)


class LoadTest(unittest.TestCase):
    def load(self, data, path="2026-01-02-box/some.json"):
        with tempfile.TemporaryDirectory() as folder:
            written(folder, path, data)
            return results.load(path, folder)

    def refused(self, data, words, path="2026-01-02-box/some.json"):
        with self.assertRaises(results.ResultsError) as raised:
            self.load(data, path)
        self.assertIn(words, str(raised.exception))
        self.assertIn(path, str(raised.exception))

    def test_what_a_comparison_writes(self):
        run = self.load({**HEAD, "results": PEERS})
        self.assertEqual((run.kind, run.machine, run.machine_text), ("peers", "box", "A, 2 cores"))
        self.assertEqual((run.day, run.minute), ("2026-01-02", "03:04"))
        self.assertEqual((run.library, run.hosts, run.neighbour), ("abc1234", 1, True))
        self.assertEqual((run.version("openmpi"), run.version("gloo"), run.version("mpich")), ("4.1.4", "", ""))
        self.assertEqual([(p.library, p.us, p.ratio) for p in run.points], [("tutti", 1.0, None), ("openmpi", 3.0, 2.9)])

    def test_a_library_whose_revision_was_not_noted(self):
        run = self.load({**HEAD, "revision": None, "recorded_in": "def5678", "results": PEERS})
        self.assertEqual(run.library, "on record since def5678")

    def test_files_that_lack_something_are_refused(self):
        good = {**HEAD, "results": PEERS}
        self.refused({**good, "date": ""}, "has no 'date'")
        self.refused({**good, "machine": None}, "has no 'machine'")
        self.refused({key: value for key, value in good.items() if key != "command"}, "has no 'command'")
        self.refused({**good, "revision": None}, "which library")
        self.refused({**good, "kind": "poem"}, "unknown kind 'poem'")
        self.refused({**good, "results": []}, "no rows")
        self.refused({**good, "results": [PEERS[0], {"ranks": 2}]}, "row 2 lacks op, bytes, library, us, ratio")
        self.refused(good, "is of 2026-01-02", "2026-01-03-box/some.json")
        self.refused(good, "DATE-MACHINE", "box/some.json")
        self.refused([1, 2], "must be an object")

    def test_a_file_that_is_no_json_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "2026-01-02-box"))
            with open(os.path.join(folder, "2026-01-02-box", "some.json"), "w", encoding="utf-8") as file:
                file.write("{")
            with self.assertRaisesRegex(results.ResultsError, "2026-01-02-box/some.json cannot be read"):
                results.load_all(folder)

    def test_times_of_gpus(self):
        row = {"ranks": 2, "op": "reduce", "bytes": 8, "mode": "graph", "tutti_us": 2.0, "nccl_us": 3.0}
        rows = [row, {**row, "group": 8, "run": 2}, {**row, "nccl_us": 0}, {"ranks": 2, "op": "reduce", "bytes": 64, "mode": "stream",
                                                                          "tutti_us": 2.0, "ratio": 1.25}]
        points = self.load({**HEAD, "rows": rows}).points
        self.assertEqual([(p.library, p.mode, p.us, p.ratio, p.group) for p in points],
                         [("tutti", "graph", 2.0, None, 1), ("nccl", "graph", 3.0, 1.5, 1),
                          ("tutti", "graph, 8 in a group, run 2", 2.0, None, 8), ("nccl", "graph, 8 in a group, run 2", 3.0, 1.5, 8),
                          ("tutti", "graph", 2.0, None, 1), ("tutti", "stream", 2.0, None, 1), ("nccl", "stream", None, 1.25, 1)])

    def test_a_chosen_way_that_is_the_best_one_is_as_fast_as_it(self):
        rows = [{"ranks": 2, "op": "reduce", "bytes": 8, "chosen": "ring", "chosen_us": 5.0},
                {"ranks": 2, "op": "reduce", "bytes": 64, "chosen": "ring", "chosen_us": 6.0, "best": "tree", "best_us": 5.0,
                 "longer_percent": 25}]
        points = self.load({**HEAD, "kind": "regret", "rows": rows}).points
        self.assertEqual([(p.library, p.us, p.ratio) for p in points],
                         [("tutti", 5.0, None), ("best_way", 5.0, 1.0), ("tutti", 6.0, None), ("best_way", 5.0, 0.8)])

    def test_kinds_without_times_have_no_points(self):
        run = self.load({**HEAD, "kind": "means", "rows": [{"ranks": 2, "op": "reduce", "library": "openmpi", "from_8_kib": 2.0}]})
        self.assertEqual(run.points, [])


class RepositoryTest(unittest.TestCase):
    def test_all_files_are_in_order_and_every_time_is_one(self):
        runs = results.load_all()
        self.assertGreater(len(runs), 60)
        for run in runs:
            seen = set()
            for point in run.points:
                self.assertTrue(point.us is None or point.us > 0, run.path)
                self.assertTrue(point.ratio is None or point.ratio > 0, run.path)
                self.assertTrue(point.us is not None or point.ratio is not None, run.path)
                self.assertIn(point.op, results.OPS, run.path)
                key = (point.op, point.ranks, point.mode, point.bytes, point.library)
                self.assertNotIn(key, seen, f"{run.path} has two times for {key}")
                seen.add(key)


if __name__ == "__main__":
    unittest.main()
