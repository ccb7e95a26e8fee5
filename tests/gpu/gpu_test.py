#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Tests of gpu.py on a bundle of fakes: what passes, fails, hangs or is not there, and the exit status."""

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = ("tutti", "gpu_conformance", "nccl_stress", "nccl_faults", "nccl_verdicts", "nccl_windows")


class Bundle(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.bundle = os.path.join(self.folder, "bundle")
        for name in ("bin", "lib", "clients"):
            os.makedirs(os.path.join(self.bundle, name))
        shutil.copy(os.path.join(HERE, "gpu.py"), self.bundle)
        shutil.copy(os.path.join(HERE, "clients", "common.py"), os.path.join(self.bundle, "clients"))
        for name in PROGRAMS:
            self.write(name, f"echo {name} says this")

    def tearDown(self):
        shutil.rmtree(self.folder)

    def write(self, name, body):
        path = os.path.join(self.bundle, "bin", name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n{body}\n")
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)

    def run_bundle(self, *options, gpus="2"):
        report = os.path.join(self.folder, "report.json")
        done = subprocess.run([sys.executable, os.path.join(self.bundle, "gpu.py"), "--gpus", gpus, "--json", report,
                               "--logs", os.path.join(self.folder, "logs"), *options], capture_output=True, text=True,
                              check=False, timeout=60)
        steps = []
        if os.path.exists(report):
            with open(report, encoding="utf-8") as file:
                steps = json.load(file)["steps"]
        return done.returncode, done.stdout + done.stderr, {f"{s['part']} {s['name']}": s for s in steps}

    def assert_total(self, output, steps, part, outcome):
        """The last lines count the steps of `part`, all of which ended in `outcome`."""
        count = sum(step["part"] == part for step in steps.values())
        self.assertGreater(count, 2)
        self.assertRegex(output, rf"{part} +{outcome} +{count} {outcome}\n")

    def test_all_pass(self):
        code, output, steps = self.run_bundle("--parts", "conformance,stress,faults")
        self.assertEqual(code, 0, output)
        self.assertEqual({s["outcome"] for s in steps.values()}, {"passed"})
        self.assertEqual(steps["faults all"]["last"], "nccl_faults says this")
        self.assert_total(output, steps, "stress", "passed")

    def test_one_fails(self):
        for name in ("nccl_faults", "nccl_verdicts"):
            self.write(name, "echo WRONG: late; exit 1")
        code, output, steps = self.run_bundle("--parts", "stress,faults")
        self.assertEqual(code, 1)
        self.assertEqual(steps["faults all"]["outcome"], "FAILED")
        self.assertIn("WRONG: late", output)
        self.assert_total(output, steps, "faults", "FAILED")

    def test_a_program_is_missing(self):
        os.remove(os.path.join(self.bundle, "bin", "nccl_stress"))
        code, _, steps = self.run_bundle("--parts", "stress", "--step", "threads")
        self.assertEqual(code, 1)
        self.assertEqual(steps["stress ranks as threads"]["outcome"], "FAILED")

    def test_what_is_left_out_is_no_success(self):
        code, output, steps = self.run_bundle("--parts", "clients", "--step", "nccl-tests")
        self.assertEqual(code, 1)
        self.assertEqual(steps["clients nccl-tests"]["outcome"], "left out")
        self.assertIn("--nccl-tests names no folder", output)

    def test_without_gpu(self):
        code, output, _ = self.run_bundle(gpus="0")
        self.assertEqual(code, 1)
        self.assertIn("there is no GPU", output)

    def test_unknown_part(self):
        self.assertEqual(self.run_bundle("--parts", "nonsense")[0], 2)

    def test_library_of_the_bundle_comes_first(self):
        self.write("nccl_faults", 'echo "$LD_LIBRARY_PATH"')
        _, _, steps = self.run_bundle("--parts", "faults")
        self.assertTrue(steps["faults all"]["last"].startswith(os.path.join(self.bundle, "lib")), steps)


if __name__ == "__main__":
    unittest.main()
