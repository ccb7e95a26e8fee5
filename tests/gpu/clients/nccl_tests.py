#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the binaries of nccl-tests over a library and prints what each found. You build nccl-tests yourself.

    python3 nccl_tests.py --binaries nccl-tests/build [--tutti BUNDLE/bin/tutti] [--gpus N] [--quick] [--only WORD]

Every *_perf in the folder, with -c 1: one process with -g N, threads -t N, processes under mpirun (the binaries must be
built with MPI), graphs with -G, windows with -R 2, and all types and operators. With --tutti on Tutti's library, else on
the one that the binaries find themselves. A run counts as good where it exits with 0, says "Out of bounds values : 0 OK",
and its table has no wrong values.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys

from common import Checks, LeftOut, count_gpus

OUT_OF_BOUNDS = re.compile(r"Out of bounds values\s*:\s*(\d+)\s+(\w+)")
BANDWIDTH = re.compile(r"Avg bus bandwidth\s*:\s*([\d.]+)")
ROW = re.compile(r"^\s*\d+\s+\d+\s+\w+\s+(?:[a-z]\w*\s+)?-?\d+\s+(.*)$")  # hypercube_perf names no operator
NO_OPERATOR = ("all_gather", "alltoall", "broadcast", "gather", "hypercube", "scatter", "sendrecv")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binaries", required=True, help="the folder that holds all_reduce_perf and the others")
    parser.add_argument("--tutti", help="the tool of that name")
    parser.add_argument("--gpus", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="up to 1 MiB, float and bfloat16 sums only")
    parser.add_argument("--only", default="", help="binaries whose name has this word")
    parser.add_argument("--seconds", type=float, default=120, help="limit of each run")
    return parser.parse_args()


def wrong_values(output):
    """How many values the rows of the table call wrong; None where there is no row. N/A counts as none."""
    rows, wrong = 0, 0
    for line in output.splitlines():
        match = ROW.match(line)
        if not match:
            continue
        words = match.group(1).split()  # time algbw busbw #wrong, out of place and in place
        if len(words) not in (4, 8):
            continue
        rows += 1
        wrong += sum(int(words[i]) for i in range(3, len(words), 4) if words[i].isdigit())
    return wrong if rows else None


def judge(returncode, output):
    """What is wrong with a run, or None."""
    last = " | ".join(output.strip().splitlines()[-3:])
    if returncode != 0:
        return f"exit code {returncode}: {last}"
    found = OUT_OF_BOUNDS.search(output)
    if not found:
        return f"no verdict: {last}"
    if found.group(2) != "OK" or found.group(1) != "0":
        return f"out of bounds values: {found.group(1)}"
    wrong = wrong_values(output)
    if wrong is None:
        return f"no rows: {last}"
    return f"{wrong} wrong values" if wrong else None


def variants(name, gpus, options):
    """Name, launcher and arguments of each run of a binary."""
    most = "1M" if options.quick else "64M"
    base = ["-b", "8", "-e", most, "-f", "8" if options.quick else "4", "-c", "1", "-n", "3", "-w", "1"]
    yield f"one process, -g {gpus}", [], [*base, "-g", str(gpus)]
    if gpus > 1:
        yield f"threads, -t {gpus}", [], [*base, "-t", str(gpus), "-g", "1"]
        launcher = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", str(gpus)]
        yield f"mpirun -np {gpus}", launcher, [*base, "-g", "1"]
    yield f"graph, -G 3 -g {gpus}", [], [*base, "-G", "3", "-g", str(gpus)]
    yield f"windows, -R 2 -g {gpus}", [], [*base, "-R", "2", "-g", str(gpus)]
    yield f"windows, zero CTAs, -R 2 -x 2 -G 3 -g {gpus}", [], [*base, "-R", "2", "-x", "2", "-G", "3", "-g", str(gpus)]
    many = ["-b", "4", "-e", "64K", "-f", "32", "-c", "1", "-n", "1", "-w", "0", "-g", str(gpus)]
    if not options.quick:
        operators = [] if name.startswith(NO_OPERATOR) else ["-o", "all"]
        yield "all types and operators", [], [*many, "-d", "all", *operators]
    else:
        yield "bfloat16", [], [*many, "-d", "bfloat16"]


def why_left_out(name, ranks, arguments):
    """Why a run proves nothing, or None. hypercube_perf skips ranks that are no power of two. Its steps need those before them; where a
    thread has several GPUs, nccl-tests puts one group around all of them, and they fail with NVIDIA's library too (its issues 190 and 356)."""
    if not name.startswith("hypercube"):
        return None
    if ranks & (ranks - 1) != 0:
        return "it runs with a power of two of ranks only"
    return "its steps are one group there" if int(arguments[arguments.index("-g") + 1]) > 2 else None


def run(options, launcher, binary, arguments):
    command = [*launcher, binary, *arguments]
    if options.tutti:
        command = [options.tutti, "preload", "--require", *command]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=options.seconds)
    except subprocess.TimeoutExpired as late:
        text = late.stdout.decode() if isinstance(late.stdout, bytes) else late.stdout or ""
        return f"no end within {options.seconds:.0f} s: {' | '.join(text.strip().splitlines()[-2:])}"
    output = done.stdout + done.stderr
    problem = judge(done.returncode, output)
    bandwidth = BANDWIDTH.search(output)
    if bandwidth and not problem:
        print(f"          average bus bandwidth {bandwidth.group(1)} GB/s")
    return problem


def main():
    options = parse()
    gpus = options.gpus or count_gpus()
    if gpus == 0:
        sys.exit("there is no GPU here; nccl-tests needs one")
    if not os.path.isdir(options.binaries):
        sys.exit(f"there is no folder {options.binaries}; build nccl-tests (make MPI=1) and name its build folder")
    binaries = sorted(b for b in os.listdir(options.binaries) if b.endswith("_perf") and options.only in b)
    if not binaries:
        sys.exit(f"{options.binaries} holds no *_perf{' whose name has ' + options.only if options.only else ''}")
    checks = Checks("nccl-tests")
    for binary in binaries:
        for name, launcher, arguments in variants(binary, gpus, options):
            def check(launcher=launcher, arguments=arguments, binary=binary):
                if launcher and shutil.which(launcher[0]) is None:
                    raise LeftOut("there is no mpirun")
                if why := why_left_out(binary, gpus, arguments):
                    raise LeftOut(why)
                return run(options, launcher, os.path.abspath(os.path.join(options.binaries, binary)), arguments)
            checks.run(f"{binary}: {name}", check)
    sys.exit(checks.end())


if __name__ == "__main__":
    main()
