#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""All of torch.distributed's collectives on whatever libnccl torch finds, every element compared.

    tutti preload --require -- python3 torch_collectives.py [--ranks N] [--large]
    tutti preload -- torchrun --nproc-per-node 2 torch_collectives.py

--ranks N starts N ranks, on the GPUs in turn; NVIDIA's NCCL takes one per GPU. --cpu runs it on Gloo, to try the
script.
"""

import argparse
import os
import sys
import time

from common import Checks, LeftOut, count_gpus, from_environment, start_ranks, RANK, WORLD

SIZES = (1, 3, 1000, 65537, 1 << 20)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=0)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--large", action="store_true", help="more than 2^31 elements too")
    parser.add_argument("--seconds", type=float, default=240)
    return parser.parse_args()


class Job:
    """This rank: its device, and tensors whose contents are known on every rank."""

    def __init__(self, options):
        import torch
        import torch.distributed as dist
        self.torch, self.dist, self.options = torch, dist, options
        self.rank, self.ranks = from_environment(RANK), from_environment(WORLD)
        self.device = torch.device("cpu")
        if not options.cpu:
            local = int(os.environ.get("LOCAL_RANK", self.rank))
            self.device = torch.device("cuda", local % torch.cuda.device_count())
            torch.cuda.set_device(self.device)
        agent_has_store = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
        self.store = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), self.ranks,
                                   is_master=self.rank == 0 and not agent_has_store)
        self.checks = Checks("torch.distributed", self.rank)

    def begin(self, name):
        bound = {} if self.options.cpu else {"device_id": self.device}
        self.dist.init_process_group("gloo" if self.options.cpu else "nccl", rank=self.rank, world_size=self.ranks,
                                     store=self.dist.PrefixStore(name, self.store), **bound)

    def values(self, size, dtype, rank=None, most=4, seed=0):
        """Small whole numbers, at least 1, that any of the types holds, and their sums over few ranks too."""
        torch = self.torch
        rank = self.rank if rank is None else rank
        numbers = (torch.arange(size, dtype=torch.int64) * 7 + rank * 13 + seed) % most + 1
        return numbers.to(dtype).to(self.device)

    def same(self, got, expected):
        torch = self.torch
        got, expected = got.detach().cpu(), expected.detach().cpu()
        if got.dtype != expected.dtype or got.shape != expected.shape:
            return f"{got.dtype} {tuple(got.shape)} instead of {expected.dtype} {tuple(expected.shape)}"
        if got.element_size() == 1 and got.is_floating_point():
            got, expected = got.view(torch.uint8), expected.view(torch.uint8)
        wrong = (got != expected).nonzero()
        if wrong.numel() == 0:
            return None
        at = tuple(wrong[0].tolist())
        return f"{wrong.shape[0]} of {got.numel()} elements differ; at {at}: {got[at]}, not {expected[at]}"

    def first_wrong(self, pairs):
        return next((problem for problem in (self.same(got, want) for got, want in pairs) if problem), None)


def reduced(job, size, dtype, op, ranks=None, seed=0, factor=1):
    """What a reduction of values() must give."""
    torch, dist = job.torch, job.dist
    ranks = range(job.ranks) if ranks is None else ranks
    wide = torch.float64 if dtype.is_floating_point else torch.int64
    all_values = torch.stack([job.values(size, dtype, r, most(job, op), seed).cpu().to(wide) for r in ranks])
    if op == dist.ReduceOp.SUM:
        result = all_values.sum(0)
    elif op == dist.ReduceOp.PRODUCT:
        result = all_values.prod(0)
    elif op == dist.ReduceOp.MAX:
        result = all_values.max(0).values
    elif op == dist.ReduceOp.MIN:
        result = all_values.min(0).values
    elif op == dist.ReduceOp.AVG:
        total = all_values.sum(0)
        result = total / len(all_values) if dtype.is_floating_point else total // len(all_values)
    else:
        result = all_values.sum(0) * factor
    return result.to(dtype).to(job.device)


def most(job, op):
    return 2 if op == job.dist.ReduceOp.PRODUCT else 4


# ---------------------------------------------------------------------------------------------------------------
# Reductions

def check_all_reduce(job):
    torch, dist = job.torch, job.dist
    types = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.uint8, torch.int32,
             torch.int64]
    operators = [("sum", dist.ReduceOp.SUM), ("product", dist.ReduceOp.PRODUCT), ("max", dist.ReduceOp.MAX),
                 ("min", dist.ReduceOp.MIN), ("avg", dist.ReduceOp.AVG)]
    for dtype in types:
        for name, op in operators:
            def check(dtype=dtype, op=op):
                if op == dist.ReduceOp.AVG and job.options.cpu:
                    raise LeftOut("Gloo has no average")
                if op == dist.ReduceOp.AVG and dtype.is_floating_point and job.ranks & (job.ranks - 1):
                    raise LeftOut("1 / ranks is not exact")
                for size in SIZES:
                    tensor = job.values(size, dtype, most=most(job, op))
                    dist.all_reduce(tensor, op)
                    problem = job.same(tensor, reduced(job, size, dtype, op))
                    if problem:
                        return f"{size} elements: {problem}"
            job.checks.run(f"all_reduce {str(dtype)[6:]} {name}", check)

    def premul(dtype):
        if job.options.cpu:
            raise LeftOut("Gloo has no such operator")
        op = dist._make_nccl_premul_sum(2.0)
        tensor = job.values(1000, dtype)
        dist.all_reduce(tensor, op)
        return job.same(tensor, reduced(job, 1000, dtype, None, factor=2))
    for dtype in (torch.float32, torch.float64, torch.float16):
        job.checks.run(f"all_reduce {str(dtype)[6:]} premul_sum", lambda dtype=dtype: premul(dtype))

    def float8(dtype):
        tensor = job.values(1000, torch.float32, most=2).to(dtype)
        try:
            dist.all_reduce(tensor)
        except (RuntimeError, ValueError, TypeError) as error:
            raise LeftOut(f"this torch does not offer it: {str(error).splitlines()[0]}") from None
        return job.same(tensor, sum(job.values(1000, torch.float32, r, 2) for r in range(job.ranks)).to(dtype))
    for dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
        job.checks.run(f"all_reduce {str(dtype)[6:]} sum", lambda dtype=dtype: float8(dtype))

    def boolean():
        if job.options.cpu:
            raise LeftOut("not on Gloo")
        tensor = torch.arange(100, device=job.device) % job.ranks == job.rank
        dist.all_reduce(tensor)
        return job.same(tensor, torch.ones(100, dtype=torch.bool))
    job.checks.run("all_reduce bool sum", boolean)

    def empty():
        tensor = torch.empty(0, device=job.device)
        dist.all_reduce(tensor)
        return job.same(tensor, torch.empty(0))
    job.checks.run("all_reduce of nothing", empty)

    def asynchronous():
        tensors = [job.values(1000 + i, torch.float32, seed=i) for i in range(20)]
        works = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
        for work in works:
            work.wait()
        return job.first_wrong((t, reduced(job, 1000 + i, torch.float32, dist.ReduceOp.SUM, seed=i))
                               for i, t in enumerate(tensors))
    job.checks.run("all_reduce, 20 in flight", asynchronous)

    def complex_numbers():
        tensor = torch.view_as_complex(job.values(2000, torch.float32).view(1000, 2))
        dist.all_reduce(tensor)
        want = reduced(job, 2000, torch.float32, dist.ReduceOp.SUM).view(1000, 2)
        return job.same(torch.view_as_real(tensor), want)
    job.checks.run("all_reduce complex64", complex_numbers)

    def reduce():
        for root in range(job.ranks):
            tensor = job.values(5001, torch.float32, seed=root)
            dist.reduce(tensor, root)
            if job.rank == root:
                problem = job.same(tensor, reduced(job, 5001, torch.float32, dist.ReduceOp.SUM, seed=root))
                if problem:
                    return f"root {root}: {problem}"
    job.checks.run("reduce to each root", reduce)


def check_reduce_scatter(job):
    torch, dist = job.torch, job.dist
    for name, op in (("sum", dist.ReduceOp.SUM), ("max", dist.ReduceOp.MAX), ("avg", dist.ReduceOp.AVG)):
        def tensor_form(op=op):
            if op == dist.ReduceOp.AVG and (job.options.cpu or job.ranks & (job.ranks - 1)):
                raise LeftOut("not on Gloo, nor with a number of ranks that is no power of two")
            for size in (1, 1000, 65537):
                for dtype in (torch.float32, torch.bfloat16, torch.int64):
                    out = torch.empty(size, dtype=dtype, device=job.device)
                    dist.reduce_scatter_tensor(out, job.values(size * job.ranks, dtype), op)
                    want = reduced(job, size * job.ranks, dtype, op)[job.rank * size:(job.rank + 1) * size]
                    problem = job.same(out, want)
                    if problem:
                        return f"{size} of {dtype}: {problem}"
        job.checks.run(f"reduce_scatter_tensor {name}", tensor_form)

    def list_form():
        sizes = [1000 + 17 * r for r in range(job.ranks)]
        for uneven in (False, True):
            if uneven and job.options.cpu:
                continue
            lengths = sizes if uneven else [1000] * job.ranks
            inputs = [job.values(n, torch.float32, seed=i) for i, n in enumerate(lengths)]
            out = torch.empty(lengths[job.rank], device=job.device)
            dist.reduce_scatter(out, inputs)
            problem = job.same(out, reduced(job, lengths[job.rank], torch.float32, dist.ReduceOp.SUM, seed=job.rank))
            if problem:
                return f"{'uneven' if uneven else 'even'}: {problem}"
    job.checks.run("reduce_scatter of lists, even and uneven", list_form)


# ---------------------------------------------------------------------------------------------------------------
# Moves

def check_moves(job):
    torch, dist = job.torch, job.dist
    types = [torch.float32, torch.float16, torch.bfloat16, torch.int8, torch.int64, torch.bool]

    def broadcast():
        for root in range(job.ranks):
            for dtype in types:
                tensor = job.values(5001, dtype, seed=job.rank)
                dist.broadcast(tensor, root)
                problem = job.same(tensor, job.values(5001, dtype, root, seed=root))
                if problem:
                    return f"root {root}, {dtype}: {problem}"
    job.checks.run("broadcast from each root", broadcast)

    def float8_moves():
        for dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
            mine = job.values(999, torch.float32).to(dtype)
            out = torch.empty(999 * job.ranks, dtype=dtype, device=job.device)
            try:
                dist.all_gather_into_tensor(out, mine)
            except (RuntimeError, ValueError, TypeError) as error:
                raise LeftOut(f"this torch does not offer it: {str(error).splitlines()[0]}") from None
            problem = job.same(out, torch.cat([job.values(999, torch.float32, r) for r in range(job.ranks)]).to(dtype))
            if problem:
                return problem
    job.checks.run("all_gather_into_tensor of float8", float8_moves)

    def all_gather_tensor():
        for size in SIZES:
            for dtype in types:
                out = torch.empty(size * job.ranks, dtype=dtype, device=job.device)
                dist.all_gather_into_tensor(out, job.values(size, dtype))
                problem = job.same(out, torch.cat([job.values(size, dtype, r) for r in range(job.ranks)]))
                if problem:
                    return f"{size} of {dtype}: {problem}"
        if job.options.cpu:
            return None  # Gloo does not stack
        stacked = torch.empty(job.ranks, 10, device=job.device)
        dist.all_gather_into_tensor(stacked, job.values(10, torch.float32))
        return job.same(stacked, torch.stack([job.values(10, torch.float32, r) for r in range(job.ranks)]))
    job.checks.run("all_gather_into_tensor", all_gather_tensor)

    def all_gather_list(uneven):
        if uneven and job.options.cpu:
            raise LeftOut("not on Gloo")
        lengths = [1000 + (31 * r if uneven else 0) for r in range(job.ranks)]
        outs = [torch.empty(n, device=job.device) for n in lengths]
        dist.all_gather(outs, job.values(lengths[job.rank], torch.float32))
        return job.first_wrong((out, job.values(lengths[r], torch.float32, r)) for r, out in enumerate(outs))
    job.checks.run("all_gather of lists", lambda: all_gather_list(False))
    job.checks.run("all_gather of lists, uneven", lambda: all_gather_list(True))

    def gather():
        for root in range(job.ranks):
            outs = [torch.empty(777, device=job.device) for _ in range(job.ranks)] if job.rank == root else None
            dist.gather(job.values(777, torch.float32), outs, root)
            problem = job.first_wrong((out, job.values(777, torch.float32, r)) for r, out in enumerate(outs or []))
            if problem:
                return f"root {root}: {problem}"
    job.checks.run("gather to each root", gather)

    def scatter():
        for root in range(job.ranks):
            parts = [job.values(777, torch.float32, r, seed=root) for r in range(job.ranks)]
            out = torch.empty(777, device=job.device)
            dist.scatter(out, parts if job.rank == root else None, root)
            problem = job.same(out, parts[job.rank])
            if problem:
                return f"root {root}: {problem}"
    job.checks.run("scatter from each root", scatter)

    def sent(source, target, size):
        return job.values(size, torch.float32, source, seed=3 * target)

    def all_to_all_single():
        for size in SIZES:
            mine = torch.cat([sent(job.rank, r, size) for r in range(job.ranks)])
            out = torch.empty_like(mine)
            dist.all_to_all_single(out, mine)
            problem = job.same(out, torch.cat([sent(r, job.rank, size) for r in range(job.ranks)]))
            if problem:
                return f"{size}: {problem}"
    job.checks.run("all_to_all_single", all_to_all_single)

    def uneven():
        def length(source, target):
            return 100 * ((source + 2 * target) % 3) + source  # some are 0
        out_sizes = [length(job.rank, r) for r in range(job.ranks)]
        in_sizes = [length(r, job.rank) for r in range(job.ranks)]
        mine = torch.cat([sent(job.rank, r, n) for r, n in enumerate(out_sizes)])
        out = torch.empty(sum(in_sizes), device=job.device)
        dist.all_to_all_single(out, mine, in_sizes, out_sizes)
        return job.same(out, torch.cat([sent(r, job.rank, n) for r, n in enumerate(in_sizes)]))
    job.checks.run("all_to_all_single, uneven", uneven)

    def all_to_all_list():
        if job.options.cpu:
            raise LeftOut("not on Gloo")
        outs = [torch.empty(500 + r, device=job.device) for r in range(job.ranks)]
        dist.all_to_all(outs, [sent(job.rank, r, 500 + job.rank) for r in range(job.ranks)])
        return job.first_wrong((out, sent(r, job.rank, 500 + r)) for r, out in enumerate(outs))
    job.checks.run("all_to_all of lists", all_to_all_list)

    def objects():
        outs = [None] * job.ranks
        dist.all_gather_object(outs, {"rank": job.rank, "text": "x" * (100 + job.rank)})
        box = [("from", job.rank)]
        dist.broadcast_object_list(box, src=job.ranks - 1)
        good = all(o == {"rank": r, "text": "x" * (100 + r)} for r, o in enumerate(outs))
        return "" if good and box == [("from", job.ranks - 1)] else f"{outs} {box}"
    job.checks.run("all_gather_object, broadcast_object_list", objects)
    job.checks.run("barrier", lambda: dist.barrier())


def check_point_to_point(job):
    torch, dist = job.torch, job.dist
    after, before = (job.rank + 1) % job.ranks, (job.rank - 1) % job.ranks

    def need_two():
        if job.ranks < 2:
            raise LeftOut("needs 2 ranks")

    def blocking():
        need_two()
        for size in SIZES:
            out = torch.empty(size, device=job.device)
            mine = job.values(size, torch.float32)
            if job.rank % 2 == 0:
                dist.send(mine, after)
                dist.recv(out, before)
            else:
                dist.recv(out, before)
                dist.send(mine, after)
            problem = job.same(out, job.values(size, torch.float32, before))
            if problem:
                return f"{size}: {problem}"
    if job.ranks % 2 == 0:  # an odd ring would wait for itself
        job.checks.run("send and recv in a ring", blocking)

    def in_flight():
        need_two()
        if job.rank > 1:
            return None
        peer = 1 - job.rank
        mine = [job.values(1000 + i, torch.float32, seed=i) for i in range(8)]
        outs = [torch.empty(1000 + i, device=job.device) for i in range(8)]
        works = []
        for tensor, out in zip(mine, outs):
            first, second = (dist.isend, tensor), (dist.irecv, out)
            for call, buffer in ((first, second) if job.rank == 0 else (second, first)):
                works.append(call(buffer, peer))
        for work in works:
            work.wait()
        return job.first_wrong((out, job.values(1000 + i, torch.float32, peer, seed=i)) for i, out in enumerate(outs))
    job.checks.run("isend and irecv, 8 in flight", in_flight)

    def batch():
        need_two()
        operations, outs = [], {}
        for peer in range(job.ranks):
            if peer == job.rank:
                continue
            outs[peer] = torch.empty(2000 + peer, device=job.device)
            operations.append(dist.P2POp(dist.irecv, outs[peer], peer))
            operations.append(dist.P2POp(dist.isend, job.values(2000 + job.rank, torch.float32, seed=peer), peer))
        for work in dist.batch_isend_irecv(operations):
            work.wait()
        return job.first_wrong((out, job.values(2000 + peer, torch.float32, peer, seed=job.rank))
                               for peer, out in outs.items())
    job.checks.run("batch_isend_irecv with everyone", batch)


# ---------------------------------------------------------------------------------------------------------------
# Groups, graphs, streams

def check_groups(job):
    torch, dist = job.torch, job.dist

    def sum_of(group, ranks):
        tensor = job.values(3000, torch.float32)
        dist.all_reduce(tensor, group=group)
        return job.same(tensor, reduced(job, 3000, torch.float32, dist.ReduceOp.SUM, ranks))

    def halves():
        parts = [list(range(0, job.ranks, 2)), list(range(1, job.ranks, 2))]
        groups = [dist.new_group(part) for part in parts if part]
        mine = job.rank % 2
        problem = sum_of(groups[mine], parts[mine])
        dist.destroy_process_group(groups[mine])
        return problem
    job.checks.run("new_group: even and odd ranks", halves)

    def several():
        groups = [dist.new_group(list(range(job.ranks))) for _ in range(4)]
        tensors = [job.values(4000, torch.float32, seed=i) for i in range(4)]
        works = [dist.all_reduce(t, group=g, async_op=True) for t, g in zip(tensors, groups)]
        for work in works:
            work.wait()
        problem = job.first_wrong((t, reduced(job, 4000, torch.float32, dist.ReduceOp.SUM, seed=i))
                                  for i, t in enumerate(tensors))
        for group in groups:
            dist.destroy_process_group(group)
        return problem
    job.checks.run("four groups at once", several)

    def split():
        if job.options.cpu:
            raise LeftOut("not on Gloo")
        parts = [list(range(0, job.ranks, 2)), list(range(1, job.ranks, 2))]
        parts = [part for part in parts if part]
        group = dist.split_group(split_ranks=parts)
        return sum_of(group, parts[job.rank % 2])
    job.checks.run("split_group", split)

    def coalesced():
        if job.options.cpu:
            raise LeftOut("not on Gloo")
        from torch.distributed.distributed_c10d import _coalescing_manager
        size = 1500
        sums = [job.values(size + i, torch.float32, seed=i) for i in range(5)]
        with _coalescing_manager(device=job.device, async_ops=True) as manager:
            for tensor in sums:
                dist.all_reduce(tensor)
        manager.wait()
        gathered = [torch.empty(size * job.ranks, device=job.device) for _ in range(3)]
        with _coalescing_manager(device=job.device, async_ops=True) as manager:
            for i, out in enumerate(gathered):
                dist.all_gather_into_tensor(out, job.values(size, torch.float32, seed=i))
        manager.wait()
        scattered = [torch.empty(size, device=job.device) for _ in range(3)]
        with _coalescing_manager(device=job.device, async_ops=True) as manager:
            for i, out in enumerate(scattered):
                dist.reduce_scatter_tensor(out, job.values(size * job.ranks, torch.float32, seed=i))
        manager.wait()
        pairs = [(t, reduced(job, size + i, torch.float32, dist.ReduceOp.SUM, seed=i)) for i, t in enumerate(sums)]
        pairs += [(t, torch.cat([job.values(size, torch.float32, r, seed=i) for r in range(job.ranks)]))
                  for i, t in enumerate(gathered)]
        own = slice(job.rank * size, (job.rank + 1) * size)
        pairs += [(t, reduced(job, size * job.ranks, torch.float32, dist.ReduceOp.SUM, seed=i)[own])
                  for i, t in enumerate(scattered)]
        return job.first_wrong(pairs)
    job.checks.run("the coalescing manager", coalesced)

    def coalesced_many():
        if job.options.cpu:
            raise LeftOut("not on Gloo")
        from torch.distributed.distributed_c10d import _coalescing_manager
        sizes = [(1, 300, 5000, 70000)[i % 4] + i for i in range(120)]
        pairs = []
        for dtype in (torch.float32, torch.bfloat16):  # torch wants one type in a manager
            tensors = [job.values(size, dtype, seed=i) for i, size in enumerate(sizes)]
            with _coalescing_manager(device=job.device, async_ops=True) as manager:
                for tensor in tensors:
                    dist.all_reduce(tensor)
            manager.wait()
            pairs += [(t, reduced(job, sizes[i], dtype, dist.ReduceOp.SUM, seed=i)) for i, t in enumerate(tensors)]
        return job.first_wrong(pairs)
    job.checks.run("the coalescing manager with 120 tensors", coalesced_many)


def check_cuda(job):
    torch, dist = job.torch, job.dist
    if job.options.cpu:
        return

    def graph():
        problems = []
        static = job.values(10000, torch.float32)
        gathered = torch.empty(10000 * job.ranks, device=job.device)
        dist.all_reduce(static.clone())  # warm up
        dist.all_gather_into_tensor(gathered, static)
        torch.cuda.synchronize()
        time.sleep(0.5)  # torch's watchdog asks about earlier work, which a capture would not let it
        graphs = []
        for _ in range(2):
            captured = torch.cuda.CUDAGraph()
            with torch.cuda.graph(captured, capture_error_mode="thread_local"):
                total = static * 2
                dist.all_reduce(total)
                dist.all_gather_into_tensor(gathered, static)
                total = total + 1
            graphs.append((captured, total))
        for seed in range(6):
            static.copy_(job.values(10000, torch.float32, seed=seed))
            captured, total = graphs[seed % 2]
            captured.replay()
            eager = job.values(77, torch.float32, seed=seed)
            dist.all_reduce(eager)
            problems.append(job.same(total, reduced(job, 10000, torch.float32, dist.ReduceOp.SUM, seed=seed) * 2 + 1))
            want = torch.cat([job.values(10000, torch.float32, r, seed=seed) for r in range(job.ranks)])
            problems.append(job.same(gathered, want))
            problems.append(job.same(eager, reduced(job, 77, torch.float32, dist.ReduceOp.SUM, seed=seed)))
        return next((p for p in problems if p), None)
    job.checks.run("two CUDA graphs, replayed with eager calls between", graph)

    def streams():
        side = [torch.cuda.Stream() for _ in range(3)]
        tensors = [job.values(20000, torch.float32, seed=i) for i in range(9)]
        torch.cuda.synchronize()
        for i, tensor in enumerate(tensors):
            with torch.cuda.stream(side[i % 3]):
                dist.all_reduce(tensor)
        torch.cuda.synchronize()
        return job.first_wrong((t, reduced(job, 20000, torch.float32, dist.ReduceOp.SUM, seed=i))
                               for i, t in enumerate(tensors))
    job.checks.run("all_reduce from three streams", streams)

    def large(dtype, size):
        tensor = torch.full((size,), job.rank + 1, dtype=dtype, device=job.device)
        dist.all_reduce(tensor)
        want = job.ranks * (job.ranks + 1) // 2
        low, high = int(tensor.min()), int(tensor.max())
        return "" if low == high == want else f"from {low} to {high}, not {want}"
    job.checks.run("all_reduce of 256 MiB", lambda: large(torch.float32, 1 << 26))
    if job.options.large:
        job.checks.run("all_reduce of 2^31 + 1000 int8", lambda: large(torch.int8, (1 << 31) + 1000))


def check_again(job):
    """A process group made anew in the same process."""
    torch, dist = job.torch, job.dist

    def again():
        dist.destroy_process_group()
        job.begin("again")
        tensor = job.values(1000, torch.float32)
        dist.all_reduce(tensor)
        return job.same(tensor, reduced(job, 1000, torch.float32, dist.ReduceOp.SUM))
    job.checks.run("destroy_process_group and a new one", again)


def main():
    options = parse()
    if from_environment(RANK) is None:
        ranks = options.ranks or (2 if options.cpu else count_gpus())
        if ranks == 0:
            sys.exit("there is no GPU here; --cpu tries the script without one")
        sys.exit(0 if start_ranks(ranks, options.seconds) else 1)
    job = Job(options)
    job.begin("first")
    for check in (check_all_reduce, check_reduce_scatter, check_moves, check_point_to_point, check_groups, check_cuda,
                  check_again):
        check(job)
    wrong = job.torch.tensor([job.checks.wrong], device=job.device)
    job.dist.all_reduce(wrong)
    status = job.checks.end(int(wrong.item()))
    job.dist.destroy_process_group()
    sys.exit(status)


if __name__ == "__main__":
    main()
