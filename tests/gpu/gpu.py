#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the bundle that `./dev gpu` builds on a machine with GPUs, and prints one table. Needs nothing but the bundle.

    python3 BUNDLE/gpu.py [--parts conformance,races,stress,faults,clients] [--quick] [--seconds S] [--ranks N]
                          [--logs DIR] [--json FILE] [--nccl-tests FOLDER] [--step WORD]

conformance  every operation, type, operator, algorithm and protocol against what they must give; windows, where copy
             engines do the work
races        compute-sanitizer (memcheck, racecheck, synccheck) on small cases
stress       random operations, sizes and communicators through NCCL's C interface for --seconds; also with ranks that
             count as being on several hosts (NCCL_HOSTID), as in two parts that follow
faults       ranks that die, exit, abort or come late while the others' kernels spin, and what these are told of them
clients      torch.distributed, training, CuPy, a ctypes client; nccl-tests where its build folder is given
reference    stress and faults on NVIDIA's NCCL, to judge the programs; only where --parts names it

Every step has a time limit and a log. What is not installed is left out and said so. Exit status 1 where a step failed
or nothing could run.
"""

import argparse
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time

PARTS = ("conformance", "races", "stress", "faults", "clients", "reference")
HERE = os.path.dirname(os.path.abspath(__file__))
TAIL_LINES = 20


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", default=HERE)
    parser.add_argument("--parts", default=",".join(PARTS[:-1]))
    parser.add_argument("--step", default="", help="only steps whose name has this word")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seconds", type=float, default=60, help="of stress in all")
    parser.add_argument("--ranks", type=int, default=0, help="default: one per GPU, at least 2")
    parser.add_argument("--gpus", type=int, default=-1, help=argparse.SUPPRESS)  # tests of this script
    parser.add_argument("--logs", default="gpu-logs")
    parser.add_argument("--json")
    parser.add_argument("--nccl", help="NVIDIA's libnccl.so.2, for the reference (default: python's packages)")
    parser.add_argument("--nccl-tests", help="the build folder of nccl-tests")
    options = parser.parse_args()
    for part in options.parts.split(","):
        if part not in PARTS:
            parser.error(f"there is no part '{part}'; parts: {', '.join(PARTS)}")
    return options


class Step:
    def __init__(self, part, name, command, limit_s, left_out=None, environment=None):
        self.part, self.name, self.command, self.limit_s = part, name, command, limit_s
        self.left_out, self.environment = left_out, environment or {}
        self.outcome, self.seconds, self.last = "", 0.0, ""


def missing_module(name):
    return None if importlib.util.find_spec(name) else f"python has no {name}"


def find_nccl():
    """NVIDIA's libnccl.so.2 as pip installs it, or None."""
    found = importlib.util.find_spec("nvidia.nccl") if importlib.util.find_spec("nvidia") else None
    for folder in found.submodule_search_locations if found else []:
        file = os.path.join(folder, "lib", "libnccl.so.2")
        if os.path.exists(file):
            return file
    return None


def plan_steps(options, gpus):
    """All steps for a machine with so many GPUs."""
    binary = lambda name: os.path.join(options.bundle, "bin", name)  # noqa: E731
    client = lambda name: [sys.executable, os.path.join(options.bundle, "clients", name)]  # noqa: E731
    tutti, ranks = binary("tutti"), options.ranks or max(gpus, 2)
    preload = [tutti, "preload", "--require"]
    quick = ["--quick"] if options.quick else []
    steps = [
        Step("conformance", f"{ranks} ranks as threads",
             [binary("gpu_conformance"), "--threads", str(ranks), *quick], 400),
        Step("conformance", f"{ranks} ranks as processes",
             [tutti, "run", "-n", str(ranks), binary("gpu_conformance"), "--quick"], 300),
    ]
    # Rings in host memory, as between GPUs without peer access.
    staged = {"NCCL_P2P_DISABLE": "1"}
    for how, command in (("threads", [binary("gpu_conformance"), "--threads", str(ranks)]),
                         ("processes", [tutti, "run", "-n", str(ranks), binary("gpu_conformance")])):
        steps.append(Step("conformance", f"over host memory, {ranks} ranks as {how}", [*command, "--quick"], 300,
                          environment=staged))
    windows = [binary("nccl_windows"), "--ranks", str(ranks), *quick]
    for how, more in (("processes", []), ("processes, plain memory", ["--plain"]), ("threads", ["--threads"]),
                      ("threads, plain memory", ["--threads", "--plain"]), ("processes, no policy", ["--policy", "0"])):
        steps.append(Step("conformance", f"windows, {ranks} ranks as {how}", [*windows, *more], 150))
    for operation in ("all_reduce", "all_to_all", "send_recv"):
        steps.append(Step("conformance", f"tutti perf {operation}",
                          [tutti, "perf", operation, "--gpu", "--ranks", str(ranks), "-b", "8", "-e", "64M", "-f", "8",
                           "-n", "5", "-c", "2", "-d", "float,bfloat16"], 120))
    sanitizer = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    why = None if os.path.exists(sanitizer) else "there is no compute-sanitizer"
    # What runs in kernels of teams and heralds: relays, chains, large sends and receives.
    def perf(operation, size):
        return [tutti, "perf", operation, "--gpu", "-b", size, "-e", size, "-n", "1", "-w", "0"]

    simple = {"NCCL_PROTO": "Simple"}
    watched = [("graphs", 2, [binary("gpu_conformance"), "--quick", "--only", "graphs"], {}),
               ("relays", 2, perf("all_reduce", "1M"), {**simple, "NCCL_ALGO": "two_shot"}),
               ("chains", 3, perf("reduce", "1M"), {**simple, "NCCL_ALGO": "ring"}),
               ("large sends", 2, perf("send_recv", "4M"), {})]
    if not options.quick:
        watched.append(("transfers", 2, [binary("gpu_conformance"), "--quick", "--only", "transfers"], {}))
    for tool in ("memcheck", "racecheck", "synccheck"):
        for what, some, command, environment in watched:
            # A process per rank: the tool may run one kernel of a process at a time.
            steps.append(Step("races", f"{tool}, {what}",
                              [tutti, "run", "-n", str(some), sanitizer, "--tool", tool, "--error-exitcode", "9",
                               *command], 150, why, {"TUTTI_TIMEOUT_MS": "120000", **environment}))
    seconds = options.seconds / (4 if options.quick else 1)
    stress = [binary("nccl_stress"), "--ranks", str(ranks)]
    pairs = ["--ranks", str(max(4, ranks // 2 * 2)), "--hosts", "2"]  # hosts of several ranks each
    steps += [
        Step("stress", "ranks as processes", [*stress, "--seconds", str(seconds / 2)], seconds / 2 + 150),
        Step("stress", "ranks as threads", [*stress, "--threads", "--seconds", str(seconds / 4), "--seed", "2"],
             seconds / 4 + 150),
        Step("stress", "large messages", [*stress, "--seconds", str(seconds / 4), "--seed", "3", "--largest",
                                          str(64 << 20)], seconds / 4 + 150),
        Step("stress", "over host memory", [*stress, "--seconds", str(seconds / 4), "--seed", "4"], seconds / 4 + 150,
             environment=staged),
        Step("stress", "several communicators at once",
             [binary("nccl_stress"), "--ranks", str(min(ranks, gpus)), "--at-once", "--seconds", str(seconds / 4),
              "--seed", "6", "--largest", str(128 << 20)], seconds / 4 + 150,
             None if gpus > 1 else "it needs 2 GPUs"),
        Step("stress", "windows", [*stress, "--windows", "--seconds", str(seconds / 4), "--seed", "5"],
             seconds / 4 + 150),
        Step("stress", "2 hosts", [*stress, "--hosts", "2", "--seconds", str(seconds / 4), "--seed", "7"],
             seconds / 4 + 150),
        Step("stress", "a host for every rank, large messages",
             [*stress, "--hosts", str(ranks), "--seconds", str(seconds / 4), "--seed", "8", "--largest", str(32 << 20)],
             seconds / 4 + 150),
        Step("stress", "2 hosts of several ranks",
             [binary("nccl_stress"), *pairs, "--seconds", str(seconds / 4), "--seed", "9", "--largest", str(32 << 20)],
             seconds / 4 + 150),
        Step("faults", "all", [binary("nccl_faults"), "--ranks", str(ranks)], 400),
        Step("faults", "2 hosts", [binary("nccl_faults"), "--ranks", str(ranks), "--hosts", "2"], 400),
        Step("faults", "2 hosts of several ranks", [binary("nccl_faults"), *pairs], 400),
        Step("faults", "windows", [binary("nccl_faults"), "--ranks", str(ranks), "--windows"], 400),
        Step("faults", "what is told", [binary("nccl_verdicts"), "--ranks", str(ranks)], 300),
    ]
    worlds = sorted({gpus, ranks})
    no_torch, no_cupy = missing_module("torch"), missing_module("cupy")
    for world in worlds:
        where = f"{world} {'rank' if world == 1 else 'ranks'} on {gpus} {'GPU' if gpus == 1 else 'GPUs'}"
        steps.append(Step("clients", f"torch.distributed, {where}",
                          [*preload, *client("torch_collectives.py"), "--ranks", str(world)], 300, no_torch))
        # NVIDIA's NCCL takes one rank per GPU, so there is nothing to compare with otherwise.
        alone = [] if world <= gpus else ["--no-nccl"]
        steps.append(Step("clients", f"torch training, {where}",
                          [*client("torch_training.py"), "--tutti", tutti, "--ranks", str(world), *alone], 400,
                          no_torch))
        hosts = {"TUTTI_TEST_HOSTS": "2"}
        too_few = "it needs 2 ranks" if world < 2 else None
        steps.append(Step("clients", f"torch.distributed on 2 hosts, {where}",
                          [*preload, *client("torch_collectives.py"), "--ranks", str(world)], 300, no_torch or too_few,
                          hosts))
        steps.append(Step("clients", f"torch training on 2 hosts, {where}",
                          [*client("torch_training.py"), "--tutti", tutti, "--ranks", str(world), "--no-nccl"], 400,
                          no_torch or too_few, hosts))
        steps.append(Step("clients", f"CuPy, {where}",
                          [*preload, *client("cupy_client.py"), "--ranks", str(world)], 150, no_cupy))
        steps.append(Step("clients", f"ctypes, {where}",
                          [*preload, *client("ctypes_client.py"), "--ranks", str(world)], 120))
    steps.append(Step("clients", "torchrun",
                      [*preload, sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node",
                       str(gpus), client("torch_collectives.py")[1]], 300, no_torch))
    tests = options.nccl_tests
    steps.append(Step("clients", "nccl-tests",
                      [*client("nccl_tests.py"), "--tutti", tutti, "--binaries", tests or "", *quick], 550,
                      None if tests else "--nccl-tests names no folder"))
    nccl = options.nccl or find_nccl()
    on_nccl = [tutti, "preload", "--library", nccl or "", "--require"]
    why = None if nccl else "--nccl names no library"
    steps += [
        Step("reference", "stress",
             [*on_nccl, binary("nccl_stress"), "--ranks", str(gpus), "--seconds", "10"], 150, why),
        Step("reference", "faults", [*on_nccl, binary("nccl_faults"), "--ranks", str(max(gpus, 2))], 450,
             why or (None if gpus > 1 else "NVIDIA's NCCL takes one rank per GPU")),
    ]
    chosen = options.parts.split(",")
    return [step for step in steps if step.part in chosen and options.step in f"{step.part} {step.name}"]


def run_step(step, options, number):
    """Runs a step; its outcome is passed, FAILED or left out."""
    if step.left_out:
        step.outcome, step.last = "left out", step.left_out
        return
    log = os.path.join(options.logs, f"{number:02d}-{step.part}-{step.name}.log".replace(" ", "-").replace(",", ""))
    environment = dict(os.environ, PYTHONUNBUFFERED="1", **step.environment)
    if step.part in ("stress", "faults", "reference"):  # they link libnccl.so.2; clients get it by `tutti preload`
        paths = [os.path.join(options.bundle, "lib"), os.environ.get("LD_LIBRARY_PATH", "")]
        environment["LD_LIBRARY_PATH"] = ":".join(path for path in paths if path)
    begin = time.monotonic()
    with open(log, "w", encoding="utf-8", errors="replace") as file:
        file.write(f"$ {' '.join(step.command)}\n")
        file.flush()
        try:
            process = subprocess.Popen(step.command, stdout=file, stderr=subprocess.STDOUT, env=environment,
                                       start_new_session=True, stdin=subprocess.DEVNULL)
        except OSError as error:
            step.outcome, step.last = "FAILED", str(error)
            return
        try:
            code = process.wait(step.limit_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            code = None
    step.seconds = time.monotonic() - begin
    with open(log, encoding="utf-8", errors="replace") as file:
        lines = [line.rstrip() for line in file if line.strip()]
    spoken = [line for line in lines[1:] if not line.startswith(("tutti preload:", "    ", "  /"))]
    step.last = spoken[-1] if spoken else ""
    step.outcome = "passed" if code == 0 else "FAILED"
    if code is None:
        step.last = f"no end within {step.limit_s:.0f} s"
    if step.outcome == "FAILED":
        wrong = [line for line in lines if line.startswith(("WRONG", "rank ")) or "ERROR SUMMARY" in line]
        print(f"--- {log}: exit code {code}")
        for line in wrong[:TAIL_LINES] + ["..."] + lines[-TAIL_LINES:]:
            print(f"    {line[:300]}")


def print_table(steps):
    width = max(len(step.name) for step in steps)
    print(f"\n{'part':<13}{'step':<{width + 2}}{'outcome':<10}{'s':>6}  last line")
    for step in steps:
        print(f"{step.part:<13}{step.name:<{width + 2}}{step.outcome:<10}{step.seconds:>6.1f}  {step.last[:110]}")
    print()
    for part in PARTS:
        own = [step.outcome for step in steps if step.part == part]
        if own:
            counts = ", ".join(f"{own.count(o)} {o}" for o in ("passed", "FAILED", "left out") if o in own)
            verdict = next(o for o in ("FAILED", "passed", "left out") if o in own)
            print(f"{part:<13}{verdict:<10}{counts}")


def describe(path):
    file = os.path.join(path, "VERSION")
    if not os.path.exists(file):
        return "unknown version"
    with open(file, encoding="utf-8") as text:
        return text.read().strip()


def main():
    options = parse()
    options.bundle = os.path.abspath(options.bundle)
    sys.path.insert(0, os.path.join(options.bundle, "clients"))
    from common import count_gpus
    gpus = count_gpus() if options.gpus < 0 else options.gpus
    if gpus == 0:
        sys.exit("there is no GPU that the driver shows here (libcuda.so.1); copy the bundle to a machine with one")
    os.makedirs(options.logs, exist_ok=True)
    steps = plan_steps(options, gpus)
    if not steps:
        sys.exit(f"no step's name has '{options.step}'")
    print(f"{describe(options.bundle)}; {gpus} GPUs; logs in {options.logs}", flush=True)
    for number, step in enumerate(steps):
        run_step(step, options, number)
        print(f"{step.outcome:<9} {step.seconds:6.1f} s  {step.part}: {step.name}: {step.last[:150]}", flush=True)
    print_table(steps)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"version": describe(options.bundle), "gpus": gpus, "steps": [
                {"part": s.part, "name": s.name, "outcome": s.outcome, "seconds": round(s.seconds, 1), "last": s.last}
                for s in steps]}, file, indent=1)
    outcomes = [step.outcome for step in steps]
    sys.exit(1 if "FAILED" in outcomes or "passed" not in outcomes else 0)


if __name__ == "__main__":
    main()
