#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""What a call costs in Python, over the same call in C++: all_reduce of 8 bytes, numpy, out=.

    PYTHONPATH=build/release/python bench/python/call_cost.py --perf build/release/tools/tutti

Both are measured in turn, several times, on this machine; the smallest time of each counts. Import times are those of fresh interpreters.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time


def per_call_us(comm, calls: int, rounds: int) -> float:
    import numpy as np

    x, out = np.ones(2, "float32"), np.zeros(2, "float32")
    best = float("inf")
    for _ in range(rounds):
        comm.barrier()
        begin = time.perf_counter()
        for _ in range(calls):
            comm.all_reduce(x, out=out)
        best = min(best, (time.perf_counter() - begin) / calls * 1e6)
    return comm.all_reduce(best, "max")


def alone_us(calls: int) -> float:
    """One rank: nothing but the call."""
    import numpy as np

    import tutti

    with tutti.Communicator(0, 1) as comm:
        return per_call_us(comm, calls, 5)


def in_cpp_us(tutti: str, ranks: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "perf.json")
        subprocess.run([tutti, "perf", "all_reduce", "--ranks", str(ranks), "-b", "8", "-e", "8", "-n", "20000", "--json", path],
                       stdout=subprocess.DEVNULL, check=True)
        with open(path, encoding="utf-8") as file:
            rows = json.load(file)["results"]
    return min(row[place]["time"] for row in rows for place in ("out_of_place", "in_place"))


def import_ms(times: int) -> tuple[float, float]:
    """The least and the middle of how much longer an interpreter takes with `import tutti`."""
    def run(program: str) -> float:
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-c", program], check=True)
        return (time.perf_counter() - begin) * 1e3

    run("import tutti")
    with_it, without = [], []
    for _ in range(times):
        without.append(run("pass"))
        with_it.append(run("import tutti"))
    return min(with_it) - min(without), statistics.median(with_it) - statistics.median(without)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--perf", default="build/release/tools/tutti", help="the program tutti of the same build")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    import tutti

    python, cpp = [], []
    for _ in range(args.rounds):
        python.append(tutti.run(per_call_us, args.ranks, args=(20000, 5))[0])
        cpp.append(in_cpp_us(args.perf, args.ranks))
    least, middle = import_ms(20)
    print(f"all_reduce, 8 B, {args.ranks} ranks: Python {min(python):.3f} us, C++ {min(cpp):.3f} us, difference {min(python) - min(cpp):.3f} us")
    print(f"  each time: Python {[round(t, 3) for t in python]}, C++ {[round(t, 3) for t in cpp]}")
    print(f"all_reduce, 8 B, 1 rank, Python: {alone_us(100000):.3f} us")
    print(f"import tutti: {least:.1f} ms at least, {middle:.1f} ms in the middle of 20")
    return 0


if __name__ == "__main__":
    sys.exit(main())
