#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Measures collectives that run beside matrix products, as in training, on Tutti and on NVIDIA's NCCL in turns.

    python3 torch_overlap.py --tutti BUNDLE/bin/tutti [--ranks N] [--rounds N]

A step is eight times some products of 4096 x 4096 bfloat16 matrices and a collective that does not wait for them: as
DDP has it, an all_reduce of a bucket of gradients behind the products that made it; as FSDP has it, an all_gather of
the next parameters before and a reduce_scatter of gradients behind. Microseconds per step of the slowest rank, each a
median of the steps and then of the rounds: the products alone, the collectives alone, both. --run is one run's rank.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

from common import count_gpus, from_environment, start_ranks, RANK, WORLD

SIDE, REPEATS = 4096, 8
CASES = ((25, 3), (25, 8), (100, 24))  # MiB per collective, products beside each
WARM_UP, STEPS = 3, 12


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tutti", help="the tool of that name")
    parser.add_argument("--ranks", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=120, help="limit of each run")
    parser.add_argument("--run", action="store_true")
    parser.add_argument("--result", help="with --run: the file for its result")
    return parser.parse_args()


def run_rank(options):
    import torch
    import torch.distributed as dist
    rank, ranks = from_environment(RANK), from_environment(WORLD)
    device = torch.device("cuda", rank % torch.cuda.device_count())
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", rank=rank, world_size=ranks, device_id=device)
    a, b = (torch.randn(SIDE, SIDE, device=device, dtype=torch.bfloat16) for _ in range(2))
    c = torch.empty_like(a)

    def measure(step):
        times = []
        for i in range(WARM_UP + STEPS):
            torch.cuda.synchronize()
            dist.barrier()
            torch.cuda.synchronize()
            begin = time.perf_counter()
            for work in step():
                work.wait()
            torch.cuda.synchronize()
            times.append((time.perf_counter() - begin) * 1e6)
        median = torch.tensor([statistics.median(times[WARM_UP:])], device=device, dtype=torch.float64)
        dist.all_reduce(median, op=dist.ReduceOp.MAX)
        return median.item()

    rows = []
    for mebibytes, products in CASES:
        count = mebibytes << 18
        whole = [torch.zeros(count, device=device) for _ in range(REPEATS)]
        part = [torch.zeros(count // ranks, device=device) for _ in range(REPEATS)]

        def multiply(times):
            for _ in range(times):
                torch.mm(a, b, out=c)

        def ddp(times):
            for i in range(REPEATS):
                multiply(times)
                yield dist.all_reduce(whole[i], async_op=True)

        def fsdp(times):
            for i in range(REPEATS):
                yield dist.all_gather_into_tensor(whole[i][:count // ranks * ranks], part[i], async_op=True)
                multiply(times)
                yield dist.reduce_scatter_tensor(part[i], whole[i][:count // ranks * ranks], async_op=True)

        def compute():
            multiply(REPEATS * products)
            return []

        alone = measure(compute)
        for name, step in (("DDP", ddp), ("FSDP", fsdp)):
            rows.append({"case": f"{name}, {mebibytes} MiB, {products} products", "products": alone,
                         "collectives": measure(lambda s=step: list(s(0))),
                         "both": measure(lambda s=step, n=products: list(s(n)))})
    if rank == 0:
        with open(options.result, "w", encoding="utf-8") as file:
            json.dump(rows, file)
    dist.destroy_process_group()


def run_job(options, ranks, on_tutti, folder):
    result = os.path.join(folder, "result.json")
    command = [sys.executable, os.path.abspath(__file__)]
    if on_tutti:
        command = [options.tutti, "preload", "--require", *command]
    environment = {} if on_tutti else {"LD_PRELOAD": "", "LD_AUDIT": "", "LD_LIBRARY_PATH": ""}
    if not start_ranks(ranks, options.seconds, ["--run", "--result", result], command, environment):
        sys.exit("a run failed")
    with open(result, encoding="utf-8") as file:
        return json.load(file)


def main():
    options = parse()
    if options.run:
        run_rank(options)
        return
    ranks = options.ranks or count_gpus()
    if ranks < 2:
        sys.exit("this needs two GPUs")
    if options.tutti is None or subprocess.run([options.tutti, "version"], check=False).returncode != 0:
        sys.exit("--tutti says where the tool of that name is; there it does not run")
    runs = {True: [], False: []}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.rounds):
            for on_tutti in (True, False):
                runs[on_tutti].append(run_job(options, ranks, on_tutti, folder))

    def median(on_tutti, row, key):
        return statistics.median(run[row][key] for run in runs[on_tutti])

    print(f"{ranks} ranks, {options.rounds} rounds; us per step: Tutti, NCCL (NCCL's / Tutti's)")
    print(f"{'':28}{'products':>20}{'collectives':>25}{'both':>28}")
    for row, first in enumerate(runs[True][0]):
        line = f"{first['case']:28}"
        for key in ("products", "collectives", "both"):
            ours, theirs = median(True, row, key), median(False, row, key)
            line += f"{ours:10.0f}{theirs:10.0f}" + ("" if key == "products" else f" ({theirs / ours:.2f})")
        print(line)


if __name__ == "__main__":
    main()
