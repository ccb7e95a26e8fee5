#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""The explorer without a browser; tests/docs/explorer_test.py drives it in one."""
import contextlib
import io
import json
import os
import re
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import explorer
import results

RUNS = results.load_all()


class DataTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.data = explorer.data(RUNS)

    def test_every_time_is_there_once(self):
        points = [(run, point) for run in RUNS for point in run.points]
        self.assertEqual(sum(len(one["bytes"]) for one in self.data["series"]), len(points))
        folder = {path: run["id"] for run in self.data["runs"] for path in run["files"]}
        found = {(one["run"], one["op"], one["ranks"], one["mode"], one["library"], size): (us, ratio)
                 for one in self.data["series"] for size, us, ratio in zip(one["bytes"], one["us"], one["ratio"])}
        for run, point in points:
            us, ratio = found[folder[run.path], point.op, point.ranks, point.mode, point.library, point.bytes]
            for shown, measured in ((us, point.us), (ratio, point.ratio)):
                self.assertEqual(shown is None, measured is None)
                if measured is not None:
                    self.assertAlmostEqual(shown / measured, 1, delta=1e-4)

    def test_runs_of_a_machine_have_names_of_their_own(self):
        names = [(run["machine"], run["label"]) for run in self.data["runs"]]
        self.assertEqual(len(names), len(set(names)))
        self.assertIn(self.data["first"], [run["id"] for run in self.data["runs"]])

    def test_every_run_says_which_library_it_measured(self):
        for run in self.data["runs"]:
            self.assertRegex(run["libraries"], r"^Tutti (before )?[0-9a-f]{7}")
            self.assertTrue(run["command"] and run["when"] and run["files"], run["id"])

    def test_libraries_that_are_drawn_have_titles(self):
        for one in self.data["series"]:
            self.assertIn(one["library"], self.data["libraries"])


class PageTest(unittest.TestCase):
    def test_the_page_needs_nothing_from_outside(self):
        page = explorer.page(RUNS)
        self.assertEqual(page, explorer.page(RUNS), "the same figures make the same page")
        self.assertNotRegex(page, r"@(STYLE|SCRIPT|DATA)@")
        self.assertIn("default-src 'none'", page)
        addresses = set(re.findall(r"https?://[^\s\"'<]+", page))
        self.assertEqual(addresses, {"http://www.w3.org/2000/svg"})
        self.assertNotRegex(page, r"<(link|img|iframe)\b|\bsrc=|@import|\bfetch\(|XMLHttpRequest")

    def test_data_cannot_end_the_script(self):
        run = results.Run("2026-01-02-box/some.json", {
            "date": "2026-01-02", "machine": "a</script><b>", "command": "<!-- x", "revision": "abc1234", "results": [
                {"ranks": 2, "op": "reduce", "bytes": 8, "library": "tutti", "us": 1.0, "ratio": None}]})
        page = explorer.page([run])
        embedded = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1]
        self.assertNotIn("<", embedded)
        self.assertEqual(json.loads(embedded)["runs"][0]["machine"], "a</script><b>")

    def test_it_is_written_where_it_is_wanted(self):
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as output:
            path = os.path.join(folder, "new", "page.html")
            self.assertEqual(explorer.main([path]), 0)
            self.assertIn("KiB", output.getvalue())
            with open(path, encoding="utf-8") as file:
                self.assertEqual(file.read(), explorer.page(RUNS))


if __name__ == "__main__":
    unittest.main()
