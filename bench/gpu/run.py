#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Compares our libnccl.so.2 with NVIDIA's on the GPUs of this machine, one process per GPU, both through nccl.h.

    python3 bench/gpu/run.py [--ranks 2,4] [--sizes 8:1G:4] [--ops LIST] [--modes graph,stream] [--rounds N]
                             [--nccl FILE] [--json FILE] [--svg-dir FOLDER] [--from FILE]

One program (gpu_compare) loads both libraries and measures them in turns: nine operations, float, out of place, buffers
of a plain cudaMalloc, in CUDA graphs and in a stream. Prints every figure, then per operation and range of sizes the
geometric mean and the worst of NCCL's time / Tutti's, and what misses its goal. --from prints the tables of an earlier
--json. NVLink multicast stays off (NCCL_NVLS_ENABLE=0).
"""

import argparse
import ctypes
import datetime
import json
import math
import os
import platform
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "peers")]
import plot  # noqa: E402
from goals import geomean  # noqa: E402

KIB, MIB = 1 << 10, 1 << 20
# Largest size of a range, and the geometric mean that it should reach for the first four operations.
RANGES = [("to 256 KiB", 256 * KIB, 2.0), ("to 8 MiB", 8 * MIB, 1.6), ("above", math.inf, 1.15)]
MEAN_OPS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
NOISE = 0.95  # a ratio below it counts as slower than NCCL


def find_programs(build):
    """The tool, the benchmark and our library: in a bundle of ./dev gpu, else in a build folder."""
    for tool, compare, library in (("bin/tutti", "bin/gpu_compare", "lib/libnccl.so.2"),
                                   ("tools/tutti", "bench/gpu_compare", "libnccl.so.2")):
        found = [os.path.abspath(os.path.join(build, name)) for name in (tool, compare, library)]
        if all(os.path.exists(path) for path in found):
            return found
    sys.exit(f"{build} holds no gpu_compare with tool and library: run ./dev gpu --build-only, or name the folder with "
             f"--build")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    bundle = os.path.join(HERE, "..")
    default = bundle if os.path.exists(os.path.join(bundle, "bin", "tutti")) else "build/gpu-bundle"
    parser.add_argument("--build", default=default, help="a bundle or a build folder (default: %(default)s)")
    parser.add_argument("--ranks", default="", help="default: 2 and, where there are more GPUs, all of them")
    parser.add_argument("--sizes", default="8:1G:4")
    parser.add_argument("--ops", default="")
    parser.add_argument("--modes", default="graph,stream")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--nccl", default="libnccl.so.2")
    parser.add_argument("--limit", type=float, default=540, help="seconds for one number of ranks")
    parser.add_argument("--json")
    parser.add_argument("--svg-dir")
    parser.add_argument("--from", dest="earlier", help="a file of --json")
    return parser.parse_args()


def count_gpus():
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False).stdout
    except OSError:
        return 0
    return sum(line.startswith("GPU ") for line in listed.splitlines())


def gpu_names():
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    names = subprocess.run(query, capture_output=True, text=True, check=False).stdout.split("\n")
    names = [name for name in names if name]
    return f"{len(names)} x {names[0]}" if names else "no GPU"


def revision(build):
    """The git revision of the library: a bundle holds it, a build folder lies in its checkout."""
    try:
        with open(os.path.join(build, "VERSION"), encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        done = subprocess.run(["git", "describe", "--always", "--dirty", "--tags"], cwd=HERE, capture_output=True, text=True,
                              check=False)
        return done.stdout.strip() or "unknown"


def nccl_version(library):
    """'2.28.9', or unknown."""
    number = ctypes.c_int()
    try:
        if ctypes.CDLL(library).ncclGetVersion(ctypes.byref(number)) != 0:
            return "unknown"
    except (OSError, AttributeError):
        return "unknown"
    return f"{number.value // 10000}.{number.value // 100 % 100}.{number.value % 100}"


def measure(options, ranks):
    tool, compare, library = find_programs(options.build)
    with tempfile.TemporaryDirectory() as folder:
        result = os.path.join(folder, "rows.json")
        command = [tool, "run", "-n", str(ranks), compare, "--tutti", library, "--nccl", options.nccl, "--sizes",
                   options.sizes, "--modes", options.modes, "--rounds", str(options.rounds), "--json", result]
        command += ["--ops", options.ops] if options.ops else []
        environment = dict(os.environ, NCCL_NVLS_ENABLE="0")
        try:
            done = subprocess.run(command, env=environment, timeout=options.limit, check=False)
        except subprocess.TimeoutExpired:
            sys.exit(f"{ranks} ranks took more than --limit {options.limit:g} s")
        if done.returncode != 0:
            sys.exit(f"gpu_compare failed with {ranks} ranks (exit status {done.returncode}); its words are above")
        with open(result, encoding="utf-8") as file:
            return json.load(file)


def ratios(rows, ranks, op, mode, index):
    least = RANGES[index - 1][1] if index > 0 else 0
    return [row["nccl_us"] / row["tutti_us"] for row in rows
            if row["ranks"] == ranks and row["op"] == op and row["mode"] == mode and row["nccl_us"] > 0
            and least < row["bytes"] <= RANGES[index][1]]


def goals_missed(rows):
    """One sentence for each goal that is missed."""
    missed = []
    for row in rows:
        if 0 < row["nccl_us"] < NOISE * row["tutti_us"]:
            missed.append(f"{row['ranks']} ranks, {row['op']}, {row['mode']}, {plot.bytes_text(row['bytes'])}: "
                          f"{row['nccl_us'] / row['tutti_us']:.2f} x as fast as NCCL, goal 1")
    for ranks in sorted({row["ranks"] for row in rows}):
        for mode in sorted({row["mode"] for row in rows}):
            for op in MEAN_OPS:
                for index, (name, _, goal) in enumerate(RANGES):
                    found = ratios(rows, ranks, op, mode, index)
                    if found and geomean(found) < goal:
                        missed.append(f"{ranks} ranks, {op}, {mode}, {name}: geometric mean {geomean(found):.2f}, "
                                      f"goal {goal:g}")
    return missed


def print_summary(rows):
    for ranks in sorted({row["ranks"] for row in rows}):
        modes = sorted({row["mode"] for row in rows if row["ranks"] == ranks})
        heads = [f"{mode}, {name}" for mode in modes for name, _, _ in RANGES]
        print(f"\n{ranks} ranks: NCCL's time / Tutti's, geometric mean (worst)\n")
        print("| operation | " + " | ".join(heads) + " |\n|" + "---|" * (len(heads) + 1))
        for op in dict.fromkeys(row["op"] for row in rows):
            cells = []
            for mode in modes:
                for index in range(len(RANGES)):
                    found = ratios(rows, ranks, op, mode, index)
                    cells.append(f"{geomean(found):.2f} ({min(found):.2f})" if found else "-")
            print(f"| {op} | " + " | ".join(cells) + " |")
        calls = [row for row in rows if row["ranks"] == ranks and row.get("nccl_call_us")]
        for op in dict.fromkeys(row["op"] for row in calls):
            small = [row for row in calls if row["op"] == op and row["bytes"] <= 256 * KIB]
            if small and op in ("all_reduce", "send_recv"):
                middle = len(small) // 2
                ours, theirs = (sorted(row[key] for row in small)[middle] for key in ("tutti_call_us", "nccl_call_us"))
                print(f"\nCPU time of one {op} call, median to 256 KiB: Tutti {ours:.2f} us, NCCL {theirs:.2f} us")
    missed = goals_missed(rows)
    print(f"\n{len(missed)} goals missed" + "".join(f"\n  {text}" for text in missed))


def write_plots(folder, head, rows):
    os.makedirs(folder, exist_ok=True)
    for op in dict.fromkeys(row["op"] for row in rows):
        libraries = "".join(f", {title} {text}" for title, text in (
            ("Tutti", head.get("revision")), ("NCCL", head.get("versions", {}).get("nccl"))) if text)
        chart = plot.Chart(f"{op} on GPUs", f"{head['machine']}, float, {head['date'][:10]}{libraries}")
        for ranks in sorted({row["ranks"] for row in rows}):
            for mode in sorted({row["mode"] for row in rows}):
                chosen = [r for r in rows if (r["op"], r["ranks"], r["mode"]) == (op, ranks, mode)]
                chart.add_panel(f"{ranks} GPUs, {mode}", {
                    "Tutti": [(r["bytes"], r["tutti_us"]) for r in chosen],
                    "NCCL": [(r["bytes"], r["nccl_us"]) for r in chosen if r["nccl_us"] > 0]})
        with open(os.path.join(folder, f"gpu_{op}.svg"), "w", encoding="utf-8") as file:
            file.write(chart.svg())
    print(f"wrote one plot per operation to {folder}")


def main():
    options = parse()
    if options.earlier:
        with open(options.earlier, encoding="utf-8") as file:
            head = json.load(file)
        rows = head.pop("rows")
    else:
        gpus = count_gpus()
        if gpus == 0 and not options.ranks:
            sys.exit("there is no GPU here (nvidia-smi lists none)")
        counts = [int(text) for text in options.ranks.split(",")] if options.ranks else sorted({2, max(gpus, 2)})
        head = {"kind": "gpu", "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
                "machine": f"{gpu_names()}, Linux {platform.release()}",
                "command": "bench/gpu/run.py " + " ".join(sys.argv[1:]), "revision": revision(options.build),
                "versions": {"nccl": nccl_version(options.nccl)}}
        rows = [row for ranks in counts for row in measure(options, ranks)]
    print(f"\n# date:    {head['date']}\n# machine: {head['machine']}\n# command: {head['command']}")
    if "revision" in head:
        print(f"# tutti:   {head['revision']}; NCCL {head.get('versions', {}).get('nccl', 'unknown')}")
    print_summary(rows)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({**head, "rows": rows, "goals_missed": goals_missed(rows)}, file, indent=1)
            file.write("\n")
        print(f"wrote {options.json}")
    if options.svg_dir:
        write_plots(options.svg_dir, head, rows)


if __name__ == "__main__":
    main()
