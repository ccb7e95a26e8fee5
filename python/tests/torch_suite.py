#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Runs PyTorch's own tests of torch.distributed, as they come in its wheel, with the backend tutti.

    torch_suite.py --world 3                     all tests that are for the CPU
    torch_suite.py --world 3 --backend gloo      the same with PyTorch's own backend, for comparison
    torch_suite.py --world 4 -k barrier --json out.json

Tests that PyTorch runs with Gloo only run too: while the tests are defined the backend is said to be gloo. Ranks are forked, since a new
process takes seconds to load torch.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
import time
import unittest


# Tests that work only where the backend is called mpi, nccl or gloo: elsewhere they use a variable before they set it.
NAMED_GLOO = "test_accumulate_gradients_no_sync"


def load(backend: str, world: int):
    """The test class. The tests read their settings from the environment while they are defined."""
    folder = tempfile.mkdtemp(prefix="tutti_torch_suite_")
    for name in ("barrier", "test_dir", "init_dir"):
        os.makedirs(os.path.join(folder, name))
    os.environ.update({"BACKEND": "gloo", "WORLD_SIZE": str(world), "TEMP_DIR": folder, "MASTER_ADDR": "127.0.0.1",
                       "INIT_METHOD": f"file://{folder}/shared_init_file", "OMP_NUM_THREADS": "1"})
    import torch

    torch.set_num_threads(1)
    if backend == "tutti":
        import tutti.torch

        tutti.torch.register()
    from torch.testing._internal.common_distributed import DistTestCases

    for feature in ("ddp", "subgroup", "plugin"):
        DistTestCases.backend_feature[feature].add(backend)
    from torch.testing._internal.distributed import distributed_test

    distributed_test.BACKEND = backend
    os.environ["BACKEND"] = backend

    class TorchSuite(distributed_test.TestDistBackend, distributed_test.DistributedTest._DistTestBase):
        @classmethod
        def _run(cls, rank, test_name, file_name, pipe, **kwargs):
            if test_name.startswith(NAMED_GLOO):
                real = distributed_test.dist.init_process_group

                def init(*args, **options):
                    return real(*args, **{**options, "backend": backend})

                distributed_test.BACKEND = "gloo"
                distributed_test.dist.init_process_group = init
            super()._run(rank, test_name, file_name, pipe, **kwargs)

        def setUp(self) -> None:
            super().setUp()
            self._start_processes(torch.multiprocessing.get_context("fork").Process)

    return TorchSuite


class Result(unittest.TextTestResult):
    """Also: every test's name, outcome, seconds and first words of its failure."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.rows = []
        self._begin = 0.0

    def startTest(self, test):
        self._begin = time.monotonic()
        super().startTest(test)

    def _row(self, test, outcome, why=""):
        self.rows.append({"test": test._testMethodName, "outcome": outcome, "seconds": round(time.monotonic() - self._begin, 1), "why": why})

    def addSuccess(self, test):
        super().addSuccess(test)
        self._row(test, "passed")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._row(test, "skipped", reason)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._row(test, "failed", str(err[1])[-1500:])

    def addError(self, test, err):
        super().addError(test, err)
        self._row(test, "failed", str(err[1])[-1500:])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--world", type=int, default=3, help="ranks")
    parser.add_argument("--backend", default="tutti", choices=["tutti", "gloo"])
    parser.add_argument("-k", "--match", default="", help="only tests whose name this regular expression finds")
    parser.add_argument("--part", default="1/1", help="the i-th of n parts: 1/4")
    parser.add_argument("--expect", help="a file of tests that are known to fail, a line each: NAME REASON")
    parser.add_argument("--json", help="where the outcomes are written")
    args = parser.parse_args()
    kind = load(args.backend, args.world)
    names = [n for n in unittest.TestLoader().getTestCaseNames(kind) if re.search(args.match, n)]
    part, parts = (int(n) for n in args.part.split("/"))
    names = names[part - 1::parts]
    suite = unittest.TestSuite(kind(name) for name in names)
    result = unittest.TextTestRunner(resultclass=Result, verbosity=2).run(suite)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(result.rows, file, indent=1)
    known = {}
    if args.expect:
        with open(args.expect, encoding="utf-8") as file:
            known = dict(line.strip().split(" ", 1) for line in file if line.strip() and not line.startswith("#"))
    outcomes = [row["outcome"] for row in result.rows]
    failed = [row["test"] for row in result.rows if row["outcome"] == "failed"]
    for name in failed:
        print(f"{name}: {known.get(name, 'NOT EXPECTED')}")
    print(f"{args.backend}, {args.world} ranks: " + ", ".join(f"{outcomes.count(o)} {o}" for o in ("passed", "skipped", "failed")) +
          f", {len([name for name in failed if name in known])} of these known")
    return 0 if names and all(name in known for name in failed) else 1


if __name__ == "__main__":
    sys.exit(main())
