#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""A client that opens libnccl.so.2 with ctypes, as inference servers do: no headers, no build, functions by name.

    VLLM_NCCL_SO_PATH=/path/libnccl.so.2 python3 ctypes_client.py [--ranks N]
    tutti preload --require -- python3 ctypes_client.py [--ranks N]

Like vLLM's it takes the path from VLLM_NCCL_SO_PATH, else the bare name; passes the id of 128 bytes by value; needs
every function of its list when it opens the library; warms up with one all_reduce; puts operations into CUDA graphs;
and never destroys its communicator before the process ends. Memory comes from the driver, or is the host's without a
GPU.
"""

import argparse
import ctypes
import os
import sys
import time

from common import Checks, LeftOut, count_gpus, from_environment, start_ranks, RANK, WORLD

COUNT = 30011
FLOAT32, SUM, IN_PROGRESS = 7, 0, 7


class UniqueId(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_byte * 128)]


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=90)
    return parser.parse_args()


class Nccl:
    """The functions that such a client needs, checked at each call."""

    pointer, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    FUNCTIONS = {
        "ncclGetVersion": [ctypes.POINTER(number)],
        "ncclGetUniqueId": [ctypes.POINTER(UniqueId)],
        "ncclCommInitRank": [ctypes.POINTER(pointer), number, UniqueId, number],
        "ncclAllReduce": [pointer, pointer, size, number, number, pointer, pointer],
        "ncclReduce": [pointer, pointer, size, number, number, number, pointer, pointer],
        "ncclAllGather": [pointer, pointer, size, number, pointer, pointer],
        "ncclReduceScatter": [pointer, pointer, size, number, number, pointer, pointer],
        "ncclSend": [pointer, size, number, number, pointer, pointer],
        "ncclRecv": [pointer, size, number, number, pointer, pointer],
        "ncclBroadcast": [pointer, pointer, size, number, number, pointer, pointer],
        "ncclCommDestroy": [pointer],
        "ncclGroupStart": [],
        "ncclGroupEnd": [],
        "ncclCommWindowRegister": [pointer, pointer, size, ctypes.POINTER(pointer), number],
        "ncclCommWindowDeregister": [pointer, pointer],
        "ncclCommGetAsyncError": [pointer, ctypes.POINTER(number)],
    }

    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.library.ncclGetErrorString.restype = ctypes.c_char_p
        self.library.ncclGetErrorString.argtypes = [ctypes.c_int]
        for name, arguments in self.FUNCTIONS.items():
            function = getattr(self.library, name)  # AttributeError where it is missing, as vLLM would say
            function.restype, function.argtypes = ctypes.c_int, arguments

    def __getattr__(self, name):
        function = getattr(self.library, name)

        def call(*arguments):
            result = function(*arguments)
            if result != 0:
                raise RuntimeError(f"{name}: {self.library.ncclGetErrorString(result).decode()}")
        return call


class Gpu:
    """Memory, a stream and graphs of the driver."""

    def __init__(self, device):
        self.driver = ctypes.CDLL("libcuda.so.1")
        self.context, self.stream = ctypes.c_void_p(), ctypes.c_void_p()
        self("cuInit", 0)
        self("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), device)
        self("cuCtxSetCurrent", self.context)
        self("cuStreamCreate", ctypes.byref(self.stream), 1)

    def __call__(self, name, *arguments):
        result = getattr(self.driver, name)(*arguments)
        if result != 0:
            raise RuntimeError(f"{name} returned {result}")

    def allocate(self, count):
        address = ctypes.c_uint64()
        self("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(4 * count))
        return address.value

    def write(self, address, values):
        data = (ctypes.c_float * len(values))(*values)
        self("cuMemcpyHtoD_v2", ctypes.c_uint64(address), data, ctypes.c_size_t(ctypes.sizeof(data)))
        self("cuStreamSynchronize", None)

    def read(self, address, count):
        data = (ctypes.c_float * count)()
        self("cuMemcpyDtoH_v2", data, ctypes.c_uint64(address), ctypes.c_size_t(ctypes.sizeof(data)))
        return list(data)

    def wait(self, nccl, comm):
        self("cuStreamSynchronize", self.stream)

    def capture(self, call):
        graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
        self("cuStreamBeginCapture_v2", self.stream, 1)
        call()
        self("cuStreamEndCapture", self.stream, ctypes.byref(graph))
        self("cuGraphInstantiateWithFlags", ctypes.byref(executable), graph, ctypes.c_ulonglong(0))
        return lambda: self("cuGraphLaunch", executable, self.stream)


class Host:
    """The same in host memory, for Tutti without a GPU."""

    stream = None

    def __init__(self):
        self.kept = {}

    def allocate(self, count):
        data = (ctypes.c_float * count)()
        self.kept[ctypes.addressof(data)] = data
        return ctypes.addressof(data)

    def write(self, address, values):
        self.kept[address][:len(values)] = values

    def read(self, address, count):
        return self.kept[address][:count]

    def wait(self, nccl, comm):
        state = ctypes.c_int(IN_PROGRESS)
        deadline = time.monotonic() + 30
        while state.value == IN_PROGRESS and time.monotonic() < deadline:
            nccl.ncclCommGetAsyncError(comm, ctypes.byref(state))
        if state.value != 0:
            raise RuntimeError(f"an operation ended with {state.value}")

    def capture(self, call):
        raise LeftOut("needs a GPU")


def values(rank, count=COUNT, seed=0):
    return [float((i * 7 + rank * 13 + seed) % 5 + 1) for i in range(count)]


def sums(ranks, count=COUNT, seed=0):
    columns = [values(r, count, seed) for r in range(ranks)]
    return [sum(column) for column in zip(*columns)]


def same(got, want):
    wrong = sum(a != b for a, b in zip(got, want))
    return f"{wrong} of {len(want)} elements differ" if wrong or len(got) != len(want) else None


def share_id(nccl, rank):
    folder = os.environ["CLIENT_FOLDER"]
    path, unique_id = os.path.join(folder, "id"), UniqueId()
    if rank == 0:
        nccl.ncclGetUniqueId(ctypes.byref(unique_id))
        with open(path + ".part", "wb") as file:
            file.write(bytes(unique_id))
        os.rename(path + ".part", path)
    while not os.path.exists(path):
        time.sleep(0.01)
    with open(path, "rb") as file:
        return UniqueId.from_buffer_copy(file.read())


def run_rank():
    rank, ranks, gpus = from_environment(RANK), from_environment(WORLD), count_gpus()
    path = os.environ.get("VLLM_NCCL_SO_PATH", "libnccl.so.2")
    nccl = Nccl(path)
    version = ctypes.c_int()
    nccl.ncclGetVersion(ctypes.byref(version))
    if rank == 0:
        print(f"{path} answers as {version.value}; {ranks} ranks on {gpus} GPUs", flush=True)
    memory = Gpu(rank % gpus) if gpus else Host()
    comm = ctypes.c_void_p()
    nccl.ncclCommInitRank(ctypes.byref(comm), ranks, share_id(nccl, rank), rank)
    first, second = memory.allocate(COUNT * ranks), memory.allocate(COUNT * ranks)
    nccl.ncclAllReduce(first, second, 1, FLOAT32, SUM, comm, memory.stream)  # warm up
    memory.wait(nccl, comm)
    checks = Checks("ctypes", rank)
    checks.run("the version has five digits", lambda: None if 20000 < version.value < 100000 else str(version.value))

    def operation(count_in, count_out, call, want, mine=None):
        memory.write(first, values(rank, count_in) if mine is None else mine)
        memory.write(second, [0.0] * count_out)
        call()
        memory.wait(nccl, comm)
        return same(memory.read(second, count_out), want) if want is not None else None

    checks.run("AllReduce", lambda: operation(
        COUNT, COUNT, lambda: nccl.ncclAllReduce(first, second, COUNT, FLOAT32, SUM, comm, memory.stream), sums(ranks)))
    for root in range(ranks):
        checks.run(f"Reduce to {root}", lambda root=root: operation(
            COUNT, COUNT, lambda: nccl.ncclReduce(first, second, COUNT, FLOAT32, SUM, root, comm, memory.stream),
            sums(ranks) if rank == root else None))
        checks.run(f"Broadcast from {root}", lambda root=root: operation(
            COUNT, COUNT, lambda: nccl.ncclBroadcast(first, second, COUNT, FLOAT32, root, comm, memory.stream),
            values(root)))
    checks.run("AllGather", lambda: operation(
        COUNT, COUNT * ranks, lambda: nccl.ncclAllGather(first, second, COUNT, FLOAT32, comm, memory.stream),
        [x for r in range(ranks) for x in values(r)]))
    checks.run("ReduceScatter", lambda: operation(
        COUNT * ranks, COUNT,
        lambda: nccl.ncclReduceScatter(first, second, COUNT, FLOAT32, SUM, comm, memory.stream),
        sums(ranks, COUNT * ranks)[rank * COUNT:(rank + 1) * COUNT]))

    def ring():
        nccl.ncclGroupStart()
        nccl.ncclSend(first, COUNT, FLOAT32, (rank + 1) % ranks, comm, memory.stream)
        nccl.ncclRecv(second, COUNT, FLOAT32, (rank - 1) % ranks, comm, memory.stream)
        nccl.ncclGroupEnd()
    checks.run("Send and Recv in a ring", lambda: operation(COUNT, COUNT, ring, values((rank - 1) % ranks)))

    def graph():
        replay = memory.capture(
            lambda: nccl.ncclAllReduce(first, second, COUNT, FLOAT32, SUM, comm, memory.stream))
        for seed in range(5):
            problem = operation(COUNT, COUNT, replay, sums(ranks, seed=seed), values(rank, seed=seed))
            if problem:
                return f"replay {seed}: {problem}"
    checks.run("AllReduce in a CUDA graph", graph)

    def window():
        handle = ctypes.c_void_p()
        nccl.ncclCommWindowRegister(comm, first, 4 * COUNT, ctypes.byref(handle), 1)
        problem = operation(COUNT, COUNT, lambda: nccl.ncclAllReduce(first, second, COUNT, FLOAT32, SUM, comm,
                                                                     memory.stream), sums(ranks))
        if handle.value:
            nccl.ncclCommWindowDeregister(comm, handle)
        return problem
    checks.run("AllReduce on a registered window", window)
    sys.exit(checks.end())  # without ncclCommDestroy


def main():
    options = parse()
    if from_environment(RANK) is not None:
        run_rank()
    import tempfile
    with tempfile.TemporaryDirectory() as folder:
        good = start_ranks(options.ranks or count_gpus() or 2, options.seconds,
                           environment={"CLIENT_FOLDER": folder})
        sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
