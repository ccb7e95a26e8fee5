#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
import contextlib
import io
import os
import re
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import measured
import results
import tables

MEASURED = measured.Measured(results.load_all())


def peers_run(rows, **more):
    """A comparison of `rows`, each (ranks, op, bytes, library, ratio)."""
    data = {"date": "2026-01-02T03:04", "machine": "box", "command": "run", "revision": "abc1234", "results": [
        {"ranks": ranks, "op": op, "bytes": size, "library": library, "us": 1.0, "ratio": ratio}
        for ranks, op, size, library, ratio in rows], **more}
    return results.Run("2026-01-02-box/some.json", data)


class TextTest(unittest.TestCase):
    def test_numbers(self):
        self.assertEqual([measured.number(v) for v in (None, 0.348, 9.994, 9.996, 99.94, 99.96, 17499.5)],
                         ["–", "0.35", "9.99", "10.0", "99.9", "100", "17500"])
        self.assertEqual([measured.size_text(v) for v in (8, 1024, 352 << 10, 1 << 20, 1 << 30)],
                         ["8 B", "1 KiB", "352 KiB", "1 MiB", "1 GiB"])

    def test_ranges_and_lists(self):
        self.assertEqual(measured.from_to([3.07, 2.2, 2.9]), "2.20 to 3.07")
        self.assertEqual(measured.from_to([2.001, 2.002]), "2.00")
        self.assertEqual(measured.from_to([]), "–")
        self.assertEqual(measured.listed([1]), "1")
        self.assertEqual(measured.listed([1, 5, 4]), "1, 5 and 4")

    def test_a_mean_stands_with_the_worst(self):
        self.assertEqual(measured.mean_and_worst([1, 4]), "2.00 (1.00)")
        self.assertEqual(measured.mean_and_worst([]), "–")

    def test_libraries_say_what_is_known_of_them(self):
        known = peers_run([(2, "reduce", 8, "openmpi", 2.0)])
        older = peers_run([(2, "reduce", 8, "openmpi", 2.0)], revision=None, recorded_in="def5678")
        self.assertEqual(measured.libraries([known]), "Tutti `abc1234`")
        self.assertEqual(measured.libraries([older, known, older]), "Tutti `abc1234`, and before `def5678`")


class FiguresTest(unittest.TestCase):
    def test_sizes_behind_the_best_peer_are_counted(self):
        run = peers_run([(2, "reduce", 8, "openmpi", 0.9), (2, "reduce", 8, "mpich", 2.0), (2, "reduce", 32, "openmpi", 0.92),
                         (2, "reduce", 128, "openmpi", 1.0), (4, "reduce", 8, "openmpi", 0.1), (2, "reduce", 128, "plain", 0.1)])
        self.assertEqual(measured.behind(run, 1.10), (1, 3))
        self.assertEqual(measured.behind(run, 1.05), (2, 3))

    def test_of_a_machine_that_has_later_runs_these_alone_count(self):
        def runs(*kinds):
            return [peers_run([(2, op, 8192, "openmpi", 2.0) for op in ops], **more) for ops, more in kinds]

        settled, huge = {"settle_ms": 150}, {"settle_ms": 150, "machine": {"cpu": "box", "huge_pages": "madvise"}}
        longer = huge | {"settle_operations": 640}
        for kinds, counting in (([(results.OPS, {})], [0]), ([(results.OPS, {}), (results.OPS, settled)], [1]),
                                ([(results.OPS, {}), (results.OPS[:2], settled)], [0, 1]),
                                ([(results.OPS, settled), (results.OPS, huge), (results.OPS[:2], huge)], [1, 2]),
                                ([(results.OPS, settled), (results.OPS[:2], huge)], [0, 1]),
                                ([(results.OPS, huge), (results.OPS, longer), (results.OPS[:2], longer)], [1, 2])):
            every = runs(*kinds)
            self.assertEqual(measured.Measured(every).settled("box"), [every[i] for i in counting], kinds)

    def test_a_mean_as_it_was_printed_counts_before_one_of_rounded_ratios(self):
        rows = [(2, "reduce", 8192, "openmpi", 2.0), (2, "reduce", 32768, "openmpi", 8.0), (2, "reduce", 8, "openmpi", 100.0)]
        self.assertAlmostEqual(measured.mean(peers_run(rows), 2, "reduce", "openmpi"), 4.0)
        printed = peers_run(rows, means=[{"ranks": 2, "op": "reduce", "library": "openmpi", "from_8_kib": 4.01}])
        self.assertEqual(measured.mean(printed, 2, "reduce", "openmpi"), 4.01)
        self.assertIsNone(measured.mean(printed, 2, "gather", "openmpi"))

    def test_runs_with_buffers_of_the_libraries_stand_apart(self):
        row = (2, "reduce", 8192, "openmpi", 2.0)
        both = measured.Measured([peers_run([row]), peers_run([row], library_buffers=True)])
        self.assertEqual([run.library_buffers for run in both.comparisons("box")], [False])
        self.assertEqual([run.library_buffers for run in both.with_library_buffers("box")], [True])

    def test_every_table_of_the_repository_can_be_written(self):
        for name, write in tables.TABLES.items():
            text = write(MEASURED)
            self.assertTrue(text.startswith("| "), name)
            self.assertTrue(text.endswith("\n") and not text.endswith("\n\n"), name)
            for block in text.split("\n\n"):
                widths = {line.count(" | ") for line in block.split("\n") if line.startswith("| ")}
                self.assertLessEqual(len(widths), 1, f"{name}: rows of different length")

    def test_means_agree_with_what_runs_that_are_whole_came_to(self):
        run = MEASURED.file("2026-11-22-epyc-2-cores/peers.json")
        for ranks in (2, 4):
            for op in results.OPS:
                printed = measured.mean(run, ranks, op, "openmpi")
                computed = measured.goals.geomean_ratio(run.ratios, ranks, op, "openmpi", measured.goals.LARGE_BYTES)
                self.assertAlmostEqual(printed / computed, 1, delta=0.003, msg=op)


class PageTest(unittest.TestCase):
    def page(self, root, text):
        os.makedirs(os.path.join(root, "docs", "deep"), exist_ok=True)
        path = os.path.join(root, "docs", "deep", "page.md")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def run_main(self, root, *arguments):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            status = tables.main(list(arguments), root=root)
        return status, output.getvalue()

    def test_a_page_is_filled_and_then_holds(self):
        with tempfile.TemporaryDirectory() as root:
            path = self.page(root, "above\n<!-- results: init -->\nold\n<!-- end -->\nbelow\n")
            status, output = self.run_main(root, "--check")
            self.assertEqual(status, 1)
            self.assertIn("docs/deep/page.md: differs from bench/results", output)
            self.assertIn("-old", output)
            self.assertEqual(self.run_main(root)[0], 0)
            self.assertEqual(self.run_main(root, "--check")[0], 0)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            self.assertTrue(text.startswith("above\n<!-- results: init -->\n| ranks |"))
            self.assertTrue(text.endswith("<!-- end -->\nbelow\n"))
            target = re.search(r"\]\((\S+/init\.json)\)", text)[1]
            self.assertTrue(os.path.samefile(os.path.join(root, "docs", "deep", target), os.path.join(
                tables.HERE, "2026-11-25-epyc-zen5-2-cores", "init.json")))

    def test_one_digit_that_is_wrong_is_found(self):
        with open(os.path.join(results.ROOT, "docs", "performance.md"), encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(tables.filled(text, MEASURED, "../bench/results"), text)
        ratio = re.compile(r"(\| all_reduce \| \d\.\d)(\d)( \()")
        wrong = ratio.sub(lambda found: found[1] + str((int(found[2]) + 1) % 10) + found[3], text, count=1)
        self.assertNotEqual(wrong, text)
        self.assertEqual(tables.filled(wrong, MEASURED, "../bench/results"), text)

    def test_names_and_ends_that_are_not_there(self):
        with tempfile.TemporaryDirectory() as root:
            self.page(root, "<!-- results: nonsense -->\n<!-- end -->\n")
            status, output = self.run_main(root, "--check")
            self.assertEqual(status, 1)
            self.assertIn("there is no table 'nonsense'", output)
            self.page(root, "<!-- results: init -->\n")
            status, output = self.run_main(root)
            self.assertEqual(status, 1)
            self.assertIn("has no '<!-- end -->'", output)

    def test_files_that_are_wrong_fail_the_check(self):
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as output:
            os.mkdir(os.path.join(folder, "2026-01-02-box"))
            with open(os.path.join(folder, "2026-01-02-box", "some.json"), "w", encoding="utf-8") as file:
                file.write('{"rows": []}')
            self.assertEqual(tables.main(["--check"], root=folder, folder=folder), 1)
        self.assertIn("2026-01-02-box/some.json: has no 'date'", output.getvalue())

    def test_the_performance_page_stays_short(self):
        with open(os.path.join(results.ROOT, "docs", "performance.md"), encoding="utf-8") as file:
            self.assertLessEqual(len(file.readlines()), 200, "what does not fit goes to docs/measurements.md")


if __name__ == "__main__":
    unittest.main()
