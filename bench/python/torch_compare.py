#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""torch.distributed on CPUs with the backends tutti and gloo: the same script, the same calls, in turn.

    PYTHONPATH=build/release/python TORCH_PYTHON bench/python/torch_compare.py --ranks 2
    ... --ranks 2 4 8 --json result.json

Times are those of the slowest rank, the least of several rounds, in which the backends take turns; "x" is gloo's time over tutti's. `ddp` and
`fsdp` are steps of a small transformer (4 layers, width 128, 16 sequences of 64 on each rank).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time

BACKENDS = ("gloo", "tutti")


def timed(dist, call, least_s: float) -> float:
    """Seconds of one call, as all ranks agree."""
    import torch

    call()
    dist.barrier()
    begin = time.perf_counter()
    call()
    once = torch.tensor(time.perf_counter() - begin)
    dist.all_reduce(once, op=dist.ReduceOp.MAX)
    times = max(3, min(5000, int(least_s / max(once.item(), 1e-6))))
    dist.barrier()
    begin = time.perf_counter()
    for _ in range(times):
        call()
    took = torch.tensor((time.perf_counter() - begin) / times)
    dist.all_reduce(took, op=dist.ReduceOp.MAX)
    return took.item()


def operations(dist, sizes):
    """Name, bytes and call of each."""
    import torch

    n = dist.get_world_size()
    # Their names from PyTorch 2.14 on, and before.
    all_gather = getattr(dist, "all_gather_single", dist.all_gather_into_tensor)
    reduce_scatter = getattr(dist, "reduce_scatter_single", dist.reduce_scatter_tensor)
    for size in sizes:
        x = torch.ones(max(size // 4, 1))
        yield "all_reduce", size, lambda x=x: dist.all_reduce(x)
        yield "broadcast", size, lambda x=x: dist.broadcast(x, 0)
        whole = torch.ones(x.numel() * n)
        yield "all_gather_single", size, lambda x=x, w=whole: all_gather(w, x)
        yield "reduce_scatter_single", size, lambda x=x, w=whole: reduce_scatter(x, w)
        other = torch.ones_like(whole)
        yield "all_to_all_single", size * n, lambda w=whole, o=other: dist.all_to_all_single(o, w)
    yield "barrier", 0, dist.barrier
    for length in (10, 10000, 1000000):
        thing = {"rank": dist.get_rank(), "text": "x" * length}
        box = [None] * n
        yield "all_gather_object", length, lambda t=thing, b=box: dist.all_gather_object(b, t)


def steps(dist, how: str):
    """One step of training of a small transformer, by DDP or FSDP2."""
    import torch

    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(128, 4, 512, dropout=0.0, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
    if how == "ddp":
        model = torch.nn.parallel.DistributedDataParallel(model)
    else:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        mesh = init_device_mesh("cpu", (dist.get_world_size(),))
        for part in model.layers:
            fully_shard(part, mesh=mesh)
        fully_shard(model, mesh=mesh)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    data = torch.randn(16, 64, 128, generator=torch.Generator().manual_seed(dist.get_rank()))

    def step():
        optimizer.zero_grad()
        model(data).pow(2).mean().backward()
        optimizer.step()
    return step


def rank_main(rank, ranks, backend, folder, sizes, least_s, trained, answer):
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    if backend == "tutti":
        import tutti.torch

        tutti.torch.register()
    dist.init_process_group(backend, init_method=f"file://{folder}/store", rank=rank, world_size=ranks)
    rows = []
    for name, size, call in operations(dist, sizes):
        rows.append((name, size, timed(dist, call, least_s) * 1e6))
    for how in trained:
        rows.append((how, 0, timed(dist, steps(dist, how), least_s * 4) * 1e6))
    if rank == 0:
        answer.put(rows)
    dist.destroy_process_group()


def measure(backend, ranks, sizes, least_s, trained):
    import torch.multiprocessing as mp

    context = mp.get_context("fork")
    answer = context.SimpleQueue()
    with tempfile.TemporaryDirectory() as folder:
        processes = [context.Process(target=rank_main, args=(r, ranks, backend, folder, sizes, least_s, trained, answer)) for r in range(ranks)]
        for process in processes:
            process.start()
        rows = answer.get()
        for process in processes:
            process.join()
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, nargs="+", default=[2])
    parser.add_argument("--sizes", type=int, nargs="+", default=[8, 1024, 16384, 65536, 1 << 20, 16 << 20], help="bytes of a rank's tensor")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.2, help="how long each call is repeated in a round")
    parser.add_argument("--steps", nargs="*", choices=("ddp", "fsdp"), default=["ddp", "fsdp"],
                        help="training steps to measure; fsdp needs PyTorch 2.14")
    parser.add_argument("--json", help="where the times are written")
    args = parser.parse_args()
    import torch

    results = []
    print(f"torch {torch.__version__}, {len(os.sched_getaffinity(0))} cores; microseconds, the least of {args.rounds} rounds")
    for ranks in args.ranks:
        best = {}
        for _ in range(args.rounds):
            for backend in BACKENDS:
                for name, size, us in measure(backend, ranks, args.sizes, args.seconds, args.steps):
                    key = (name, size)
                    best.setdefault(key, {})[backend] = min(us, best.get(key, {}).get(backend, float("inf")))
        print(f"\n{ranks} ranks {'operation':>22} {'bytes':>10} {'gloo':>12} {'tutti':>12} {'x':>7}")
        for (name, size), us in best.items():
            print(f"{'':8} {name:>22} {size:>10} {us['gloo']:>12.1f} {us['tutti']:>12.1f} {us['gloo'] / us['tutti']:>7.2f}")
            results.append({"ranks": ranks, "operation": name, "bytes": size, **us})
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump({"torch": torch.__version__, "cores": len(os.sched_getaffinity(0)), "results": results}, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
