#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""CuPy's two ways to NCCL: cupyx.distributed, and cupy.cuda.nccl, with a process per rank and with one for all GPUs.

    tutti preload --require -- python3 cupy_client.py [--ranks N]

Without a GPU it gives cupy.cuda.nccl host memory, which Tutti takes and NVIDIA's NCCL does not.
"""

import argparse
import os
import pickle
import sys
import time

from common import Checks, LeftOut, count_gpus, free_port, from_environment, start_ranks, RANK, WORLD

COUNT = 20011


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=120)
    return parser.parse_args()


class Memory:
    """Arrays on the GPU, or of numpy where there is none."""

    def __init__(self, device):
        import numpy
        self.numpy, self.device = numpy, device
        if device is None:
            self.arrays = numpy
        else:
            import cupy
            self.arrays = cupy
            cupy.cuda.Device(device).use()

    def pointer(self, array):
        return array.ctypes.data if self.device is None else array.data.ptr

    def stream(self):
        return 0 if self.device is None else self.arrays.cuda.get_current_stream().ptr

    def host(self, array):
        return array if self.device is None else array.get()

    def values(self, rank, count=COUNT, dtype="float32", seed=0):
        return self.arrays.asarray(((self.numpy.arange(count) * 7 + rank * 13 + seed) % 5 + 1).astype(dtype))

    def wait(self, comm):
        if self.device is not None:
            self.arrays.cuda.get_current_stream().synchronize()
            return
        import ctypes  # Tutti's own function, which waits on host memory
        ctypes.CDLL("libnccl.so.2").ncclTuttiSynchronize(ctypes.c_void_p(comm.comm))


def same(memory, got, want):
    got, want = memory.host(got), memory.host(want)
    wrong = (got != want).sum()
    return f"{wrong} of {got.size} elements differ" if wrong or got.shape != want.shape else None


def total(memory, ranks, count=COUNT, dtype="float32", seed=0):
    return sum(memory.values(r, count, dtype, seed) for r in range(ranks)).astype(dtype)


def check_bindings(checks, memory, comm, rank, ranks):
    """cupy.cuda.nccl's functions on raw pointers."""
    from cupy.cuda import nccl
    types = {"int8": nccl.NCCL_INT8, "uint8": nccl.NCCL_UINT8, "int32": nccl.NCCL_INT32, "uint32": nccl.NCCL_UINT32,
             "int64": nccl.NCCL_INT64, "uint64": nccl.NCCL_UINT64, "float16": nccl.NCCL_FLOAT16,
             "float32": nccl.NCCL_FLOAT32, "float64": nccl.NCCL_FLOAT64}
    stream, pointer = memory.stream(), memory.pointer
    checks.run("nccl: who it is", lambda: None if (comm.size(), comm.rank_id()) == (ranks, rank) else "wrong")

    def all_reduce(dtype):
        mine, out = memory.values(rank, dtype=dtype), memory.values(0, dtype=dtype) * 0
        comm.allReduce(pointer(mine), pointer(out), COUNT, types[dtype], nccl.NCCL_SUM, stream)
        memory.wait(comm)
        return same(memory, out, total(memory, ranks, dtype=dtype))
    for dtype in types:
        checks.run(f"nccl.allReduce {dtype}", lambda dtype=dtype: all_reduce(dtype))

    def moves():
        problems = []
        for root in range(ranks):
            mine, out = memory.values(rank, seed=root), memory.values(0) * 0
            comm.broadcast(pointer(mine), pointer(out), COUNT, nccl.NCCL_FLOAT32, root, stream)
            memory.wait(comm)
            problems.append(same(memory, out, memory.values(root, seed=root)))
            comm.bcast(pointer(mine), COUNT, nccl.NCCL_FLOAT32, root, stream)
            memory.wait(comm)
            problems.append(same(memory, mine, memory.values(root, seed=root)))
            mine, out = memory.values(rank, seed=root), memory.values(0) * 0
            comm.reduce(pointer(mine), pointer(out), COUNT, nccl.NCCL_FLOAT32, nccl.NCCL_SUM, root, stream)
            memory.wait(comm)
            problems.append(same(memory, out, total(memory, ranks, seed=root)) if rank == root else None)
        return next((p for p in problems if p), None)
    checks.run("nccl.broadcast, bcast, reduce with each root", moves)

    def gathers():
        mine, out = memory.values(rank), memory.values(0, COUNT * ranks) * 0
        comm.allGather(pointer(mine), pointer(out), COUNT, nccl.NCCL_FLOAT32, stream)
        memory.wait(comm)
        problem = same(memory, out, memory.arrays.concatenate([memory.values(r) for r in range(ranks)]))
        mine, out = memory.values(rank, COUNT * ranks), memory.values(0) * 0
        comm.reduceScatter(pointer(mine), pointer(out), COUNT, nccl.NCCL_FLOAT32, nccl.NCCL_SUM, stream)
        memory.wait(comm)
        return problem or same(memory, out, total(memory, ranks, COUNT * ranks)[rank * COUNT:(rank + 1) * COUNT])
    checks.run("nccl.allGather, reduceScatter", gathers)

    def ring():
        mine, out = memory.values(rank), memory.values(0) * 0
        nccl.groupStart()
        comm.send(pointer(mine), COUNT, nccl.NCCL_FLOAT32, (rank + 1) % ranks, stream)
        comm.recv(pointer(out), COUNT, nccl.NCCL_FLOAT32, (rank - 1) % ranks, stream)
        nccl.groupEnd()
        memory.wait(comm)
        return same(memory, out, memory.values((rank - 1) % ranks))
    checks.run("nccl.send and recv in a ring", ring)


def check_distributed(checks, memory, comm, rank, ranks):
    """cupyx.distributed's operations on arrays."""
    arrays = memory.arrays

    def wait():
        arrays.cuda.get_current_stream().synchronize()

    def reductions():
        for name, fold in (("sum", arrays.sum), ("prod", arrays.prod), ("max", arrays.max), ("min", arrays.min)):
            mine, out = memory.values(rank), arrays.zeros(COUNT, "float32")
            comm.all_reduce(mine, out, name)
            wait()
            want = fold(arrays.stack([memory.values(r) for r in range(ranks)]), axis=0).astype("float32")
            problem = same(memory, out, want)
            if problem:
                return f"{name}: {problem}"
        out = arrays.zeros(COUNT, "float32")
        comm.reduce(memory.values(rank), out, 0)
        wait()
        return same(memory, out, total(memory, ranks)) if rank == 0 else None
    checks.run("distributed.all_reduce, reduce", reductions)

    def gathers():
        out = arrays.zeros(COUNT * ranks, "float32")
        comm.all_gather(memory.values(rank), out, COUNT)
        wait()
        problem = same(memory, out, arrays.concatenate([memory.values(r) for r in range(ranks)]))
        out = arrays.zeros(COUNT, "float32")
        comm.reduce_scatter(memory.values(rank, COUNT * ranks), out, COUNT)
        wait()
        want = total(memory, ranks, COUNT * ranks)[rank * COUNT:(rank + 1) * COUNT]
        return problem or same(memory, out, want)
    checks.run("distributed.all_gather, reduce_scatter", gathers)

    def rooted():
        array = memory.values(rank)
        comm.broadcast(array, 0)
        wait()
        problem = same(memory, array, memory.values(0))
        parts = arrays.stack([memory.values(r, seed=3) for r in range(ranks)])
        out = arrays.zeros(COUNT, "float32")
        comm.scatter(parts, out, 0)
        wait()
        problem = problem or same(memory, out, memory.values(rank, seed=3))
        gathered = arrays.zeros((ranks, COUNT), "float32")
        comm.gather(memory.values(rank, seed=4), gathered, 0)
        wait()
        want = arrays.stack([memory.values(r, seed=4) for r in range(ranks)])
        return problem or (same(memory, gathered, want) if rank == 0 else None)
    checks.run("distributed.broadcast, scatter, gather", rooted)

    def everyone():
        mine = arrays.stack([memory.values(rank, seed=r) for r in range(ranks)])
        out = arrays.zeros((ranks, COUNT), "float32")
        comm.all_to_all(mine, out)
        wait()
        return same(memory, out, arrays.stack([memory.values(r, seed=rank) for r in range(ranks)]))
    checks.run("distributed.all_to_all", everyone)

    def pairs():
        if ranks < 2:
            raise LeftOut("needs 2 ranks")
        if rank > 1:
            return None
        peer, out = 1 - rank, arrays.zeros(COUNT, "float32")
        comm.send_recv(memory.values(rank), out, peer)
        wait()
        problem = same(memory, out, memory.values(peer))
        if rank == 0:
            comm.send(memory.values(0, seed=9), 1)
        else:
            comm.recv(out, 0)
        wait()
        return problem or (same(memory, out, memory.values(0, seed=9)) if rank == 1 else None)
    checks.run("distributed.send, recv, send_recv", pairs)


def check_one_process(checks, gpus):
    """All GPUs driven by one thread, with groups."""
    import cupy
    from cupy.cuda import nccl

    def check():
        comms = nccl.NcclCommunicator.initAll(list(range(gpus)))
        memories = []
        ins, outs = [], []
        for device in range(gpus):
            memories.append(Memory(device))
            ins.append(memories[device].values(device))
            outs.append(cupy.zeros(COUNT, "float32"))
        nccl.groupStart()
        for device, comm in enumerate(comms):
            with cupy.cuda.Device(device):
                comm.allReduce(ins[device].data.ptr, outs[device].data.ptr, COUNT, nccl.NCCL_FLOAT32, nccl.NCCL_SUM,
                               cupy.cuda.Stream.null.ptr)
        nccl.groupEnd()
        problem = None
        for device in range(gpus):
            with cupy.cuda.Device(device):
                cupy.cuda.Stream.null.synchronize()
                problem = problem or same(memories[device], outs[device], total(memories[device], gpus))
        for comm in comms:
            comm.destroy()
        return problem
    checks.run(f"nccl.initAll: one process, {gpus} GPUs", check)


def run_rank(options):
    from cupy.cuda import nccl
    rank, ranks, gpus = from_environment(RANK), from_environment(WORLD), count_gpus()
    checks = Checks("CuPy", rank)
    memory = Memory(rank % gpus if gpus else None)
    folder = os.environ["CLIENT_FOLDER"]
    path = os.path.join(folder, "id")
    if rank == 0:
        with open(path + ".part", "wb") as file:
            pickle.dump(nccl.get_unique_id(), file)  # bytes, or a tuple in older versions
        os.rename(path + ".part", path)
    while not os.path.exists(path):
        time.sleep(0.01)
    with open(path, "rb") as file:
        unique_id = pickle.load(file)
    comm = nccl.NcclCommunicator(ranks, unique_id, rank)
    if rank == 0:
        print(f"NCCL {nccl.get_version()}, {ranks} ranks on {gpus} GPUs", flush=True)
    check_bindings(checks, memory, comm, rank, ranks)
    comm.destroy()
    if gpus:
        import cupyx.distributed
        backend = cupyx.distributed.init_process_group(ranks, rank, host="127.0.0.1",
                                                       port=int(os.environ["CLIENT_PORT"]))
        check_distributed(checks, memory, backend, rank, ranks)
        backend.barrier()
        if rank == 0:
            check_one_process(checks, gpus)
        backend.stop()
    sys.exit(checks.end())


def main():
    options = parse()
    if from_environment(RANK) is not None:
        run_rank(options)
    import tempfile
    with tempfile.TemporaryDirectory() as folder:
        variables = {"CLIENT_FOLDER": folder, "CLIENT_PORT": str(free_port())}
        sys.exit(0 if start_ranks(options.ranks or count_gpus() or 2, options.seconds, environment=variables) else 1)


if __name__ == "__main__":
    main()
