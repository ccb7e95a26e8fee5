# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""tutti.nccl in host memory: nccl4py's names over libnccl.so.2, and which library a process gets."""

import array
import gc
import os
import pickle
import shutil
import subprocess
import sys
import time

import ml_dtypes
import numpy as np
import pytest

import tutti

nccl = pytest.importorskip("tutti.nccl", exc_type=ImportError)


def with_ranks(work, ranks=3, config=None):
    """What `work(communicator of tutti.nccl)` returns, by rank."""
    def rank_main(comm):
        id_ = comm.broadcast_object(nccl.get_unique_id() if comm.rank == 0 else None)
        with nccl.Communicator.init(comm.size, comm.rank, id_, config) as c:
            return work(c)

    return tutti.run(rank_main, ranks, timeout=60)


def test_collectives():
    def work(c):
        n, rank = c.nranks, c.rank
        x = np.arange(6, dtype="float32") + 10 * rank
        total = np.empty_like(x)
        largest, rooted, told, part = x.copy(), np.zeros_like(x), np.zeros_like(x), np.empty(2, "float32")
        rows, rows_at_root = np.empty((n, 6), "float32"), np.zeros((n, 6), "float32")
        given, exchanged = np.empty(2, "float32"), np.empty_like(x)
        c.allreduce(x, total, nccl.SUM)
        c.allreduce(largest, largest, nccl.MAX)
        c.reduce(x, rooted if rank == 1 else None, nccl.MIN, root=1)
        c.broadcast(x if rank == 2 else None, told, 2)
        c.reduce_scatter(x, part, nccl.SUM)
        c.allgather(x, rows)
        c.gather(x, rows_at_root if rank == 1 else None, 1)
        c.scatter(x if rank == 2 else None, given, 2)
        c.alltoall(x, exchanged)
        c.synchronize()
        return [a.ravel().tolist() for a in (total, largest, rooted, told, part, rows, rows_at_root, given, exchanged)]

    base = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    all_rows = [10.0 * r + b for r in range(3) for b in base]
    for rank, got in enumerate(with_ranks(work)):
        assert got == [[3 * b + 30 for b in base], [b + 20 for b in base], base if rank == 1 else [0.0] * 6, [b + 20 for b in base],
                       [6 * rank + 30.0, 6 * rank + 33.0], all_rows, all_rows if rank == 1 else [0.0] * 18,
                       [2 * rank + 20.0, 2 * rank + 21.0], [10.0 * r + 2 * rank + i for r in range(3) for i in (0, 1)]]


DTYPES = ["int8", "uint8", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64", ml_dtypes.bfloat16,
          ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2]


def test_types():
    def work(c):
        arrays = [np.array([1, 2, 3, 4]).astype(dtype) for dtype in DTYPES]
        for x in arrays:
            c.allreduce(x, x, nccl.SUM)
        c.synchronize()
        return [x.astype("float64").tolist() for x in arrays]

    assert with_ranks(work, 2) == [[[2.0, 4.0, 6.0, 8.0]] * len(DTYPES)] * 2
    types = [nccl.NcclDataType(np.dtype(dtype)) for dtype in DTYPES]
    assert [t.numpy_dtype for t in types] == [np.dtype(dtype) for dtype in DTYPES]
    assert [t.itemsize for t in types] == [np.dtype(dtype).itemsize for dtype in DTYPES]
    assert types == [nccl.INT8, nccl.UINT8, nccl.INT32, nccl.UINT32, nccl.INT64, nccl.UINT64, nccl.FLOAT16, nccl.FLOAT32, nccl.FLOAT64,
                     nccl.BFLOAT16, nccl.FLOAT8E4M3, nccl.FLOAT8E5M2]


class OnGpu:
    """What says of itself that it is on a GPU, which where there is none is the same to the library."""

    def __init__(self, x, strides=None):
        self.x = x
        self.__cuda_array_interface__ = {"data": (x.ctypes.data, False), "shape": x.shape, "typestr": x.dtype.str, "version": 3,
                                         "strides": strides}


class Pinned:
    def __init__(self, x):
        self.x = x

    def __dlpack_device__(self):
        return 3, 0

    def __dlpack__(self, stream=None):
        assert stream == -1
        return self.x.__dlpack__()


def test_buffers_of_all_kinds():
    def work(c):
        x, y = np.array([1.5, -2.0]), np.empty(2)
        got = []
        for sent, received, result in ((OnGpu(x), OnGpu(y), y), (Pinned(x), Pinned(y), y), (x, memoryview(y), y)):
            y[:] = 0
            c.allreduce(sent, received, nccl.SUM)
            c.synchronize()
            got.append(result.tolist())
        a, b = array.array("i", [1, 2]), bytearray(8)
        c.allreduce(a, memoryview(b).cast("i"), nccl.MAX)
        c.allreduce(a, a, nccl.SUM)
        memory = nccl.mem_alloc(16)
        m = np.asarray(memory)
        m[:] = c.rank
        c.allreduce(memory, memory, nccl.SUM)
        c.synchronize()
        got += [a.tolist(), memoryview(b).cast("i").tolist(), m.tolist(), memory.on_gpu]
        return got

    assert with_ranks(work, 2) == [[[3.0, -4.0]] * 3 + [[2, 4], [1, 2], [1] * 16, False]] * 2


def test_arrays_live_until_the_operation_has_ended():
    n = 1 << 16

    def work(c):
        if c.rank == 1:
            time.sleep(0.2)
        y = np.empty(n, "int64")
        c.allreduce(np.full(n, c.rank + 1), y, nccl.SUM)
        gc.collect()
        rubbish = [np.full(n, 77) for _ in range(20)]
        c.synchronize()
        assert not c._held
        for _ in range(100):  # they are let go without a synchronize too
            c.allreduce(np.ones(1), np.ones(1), nccl.SUM)
            while c.get_async_error() == nccl.Result.InProgress:
                pass
        return int(y.min()), int(y.max()), len(rubbish), len(c._held) < 50

    assert with_ranks(work, 2) == [(3, 3, 20, True)] * 2


def test_messages_and_groups():
    def work(c):
        right, left = (c.rank + 1) % c.nranks, (c.rank - 1) % c.nranks
        x, y = np.full(3, c.rank), np.empty(3, "int64")
        with nccl.group():
            c.send(x, right)
            c.recv(y, left)
        c.synchronize()
        info = nccl.GroupSimInfo()
        nccl.group_start()
        c.allreduce(x, x, nccl.SUM)
        nccl.group_simulate_end(info)
        assert info.estimated_time > 0
        assert x.tolist() == [c.rank] * 3
        return y.tolist()

    assert with_ranks(work) == [[2] * 3, [0] * 3, [1] * 3]


def test_two_ranks_of_one_process():
    with pytest.raises(nccl.NcclInvalid, match="number of devices"):
        nccl.Communicator.init_all()
    assert nccl.Communicator.init_all(0) == []
    id_ = nccl.get_unique_id()
    with nccl.group():
        both = [nccl.Communicator.init(2, rank, id_) for rank in range(2)]
    assert [(c.rank, c.nranks) for c in both] == [(0, 2), (1, 2)]
    with nccl.group():
        halves = [c.split(c.rank) for c in both]
    assert [(c.rank, c.nranks) for c in halves] == [(0, 1)] * 2
    for c in halves + both:
        c.destroy()
    both = nccl.Communicator.init_all(2)
    assert [(c.rank, c.nranks, c.cuda_dev) for c in both] == [(0, 2, 0), (1, 2, 1)]
    x, means = [np.array([1, 2]), np.array([10, 20])], [np.array([1.0]), np.array([4.0])]
    with nccl.group():
        for c, mine, mean in zip(both, x, means):
            c.allreduce(mine, mine, nccl.SUM)
            c.allreduce(mean, mean, nccl.AVG)
    for c in both:
        c.synchronize()
        c.destroy()
    assert [a.tolist() for a in x] == [[11, 22]] * 2
    assert [a.tolist() for a in means] == [[2.5]] * 2


def test_operators_of_a_communicator():
    def work(c):
        got = []
        for dtype, scalar, arguments in (("float64", 0.5, ()), ("float32", 2, (nccl.FLOAT32,)), ("float16", 2.0, (nccl.FLOAT16,)),
                                         ("int32", np.array([3], "int32"), ()), ("int64", array.array("q", [4]), ())):
            op = c.create_pre_mul_sum(scalar, *arguments)
            x = np.array([2, 4], dtype)
            c.allreduce(x, x, op)
            c.synchronize()
            op.close()
            op.close()
            got.append(x.tolist())
            with pytest.raises(nccl.NcclInvalid, match="CustomRedOp was closed"):
                c.allreduce(x, x, op)
        with pytest.raises(nccl.NcclInvalid, match="scalar has 2 elements"):
            c.create_pre_mul_sum(np.ones(2))
        return got

    assert with_ranks(work, 2) == [[[2.0, 4.0], [8.0, 16.0], [8.0, 16.0], [12, 24], [16, 32]]] * 2


def sum_of(c, number):
    x = np.array([number])
    c.allreduce(x, x, nccl.SUM)
    c.synchronize()
    return int(x[0])


def test_split_shrink_and_grow():
    def rank_main(comm):
        id_ = comm.broadcast_object(nccl.get_unique_id() if comm.rank == 0 else None)
        c = nccl.Communicator()
        assert not c.is_valid
        assert repr(c) == "<tutti.nccl.Communicator, null>"
        got = []
        if comm.rank < 2:
            c.initialize(2, comm.rank, id_)
            with pytest.raises(nccl.NcclInvalid, match="initialised already"):
                c.initialize(2, comm.rank, id_)
        more = comm.broadcast_object(c.get_unique_id() if comm.rank == 0 else None)
        if comm.rank < 2:
            grown = c.grow(3, more if comm.rank == 0 else None)
        else:
            with pytest.raises(nccl.NcclInvalid, match="new ones on"):
                c.grow(3, more)
            grown = c.grow(3, more, rank=2)
        got.append((grown.rank, grown.nranks, sum_of(grown, 1)))
        backwards = grown.split(0, key=-grown.rank)
        alone = grown.split(None if grown.rank else 5)
        got.append((backwards.rank, sum_of(backwards, 2), alone.is_valid))
        alone.destroy()
        if grown.rank != 1:
            small = grown.shrink([1])
            got.append((small.rank, small.nranks, sum_of(small, 3)))
            small.destroy()
        for one in (backwards, grown, c):
            one.destroy()
            one.destroy()
            assert one.ptr == 0
        return got

    assert tutti.run(rank_main, 3, timeout=60) == [[(0, 3, 3), (2, 6, True), (0, 2, 6)], [(1, 3, 3), (1, 6, False)],
                                                  [(2, 3, 3), (0, 6, False), (1, 2, 6)]]


def test_several_ids_and_options():
    def rank_main(comm):
        ids = comm.broadcast_object([nccl.get_unique_id() for _ in range(2)] if comm.rank == 0 else None)
        config = nccl.NCCLConfig(blocking=False, comm_name="in the background")
        c = nccl.Communicator.init(comm.size, comm.rank, ids, config)
        until = time.monotonic() + 60
        while c.get_async_error() == nccl.Result.InProgress:
            assert time.monotonic() < until
        got = sum_of(c, comm.rank)
        assert c.get_mem_stat(nccl.NcclCommMemStat.GpuMemTotal) > 0
        assert (c.nvml_dev, c.device_api_support, c.multimem_support, c.gin_type) == (c.cuda_dev, False, False, nccl.NcclGinType.NONE)
        c.suspend()
        c.resume()
        again = sum_of(c, 1)
        c.finalize()
        c.destroy()
        return got, again

    assert tutti.run(rank_main, 3, timeout=60) == [(3, 3)] * 3
    with pytest.raises(nccl.NCCLError, match="blocking") as caught:
        nccl.Communicator.init(1, 0, nccl.get_unique_id(), nccl.NCCLConfig(blocking=7))
    assert (caught.value.status, caught.value.code) == (nccl.Result.InvalidArgument, "invalid argument")


def test_what_is_refused():
    c = nccl.Communicator.init(1, 0, nccl.get_unique_id())
    x, y = np.ones(4, "float32"), np.ones(4, "float32")
    refused = [
        (lambda: c.allreduce(x, np.ones(4), nccl.SUM), "sendbuf has elements of type Float32, recvbuf of type Float64"),
        (lambda: c.allreduce(x, y[:3], nccl.SUM), "recvbuf has 3 elements; it needs 4: as many as sendbuf has"),
        (lambda: c.allreduce(x, y, "sum"), "'sum' is no operator"),
        (lambda: c.allreduce(1.0, y, nccl.SUM), "sendbuf is a number"),
        (lambda: c.allreduce([1.0], y, nccl.SUM), "sendbuf is of type list"),
        (lambda: c.allreduce(np.ones((4, 2), "float32")[:, 0], y, nccl.SUM), "sendbuf is not contiguous"),
        (lambda: c.allreduce(OnGpu(x, strides=(8,)), y, nccl.SUM), "sendbuf is not contiguous"),
        (lambda: c.allreduce(x, b"1234", nccl.SUM), "recvbuf is read-only"),
        (lambda: c.send(np.ones(3, bool), 0), "type bool, which NCCL does not have"),
        (lambda: c.broadcast(x, y[:2], 0), "both must have as many"),
        (lambda: c.scatter(x, y[:2], 0), "it needs 2"),
        (lambda: c.allreduce(x, y, nccl.SUM, stream=object()), "object is no stream"),
        (lambda: nccl.NcclDataType(12), "no type that NCCL has"),
        (lambda: nccl.NcclRedOp(5), "no operator"),
        (lambda: nccl.UniqueId.from_bytes(b"short"), "an id has 128 bytes, not 5"),
        (lambda: nccl.Communicator.init(1, 0, b"0" * 128), "unique_id is what get_unique_id"),
        (lambda: nccl.mem_alloc(8, device=1), "make the other one current"),
    ]
    for call, words in refused:
        with pytest.raises(nccl.NcclInvalid, match=words) as caught:
            call()
        assert isinstance(caught.value, tutti.InvalidArgument)
        assert caught.value.msg == str(caught.value)
    with pytest.raises(nccl.NCCLError, match="ncclSend: .*7") as caught:
        c.send(x, 7)
    assert caught.value.status == nccl.Result.InvalidArgument
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), again.status, str(again)) == (nccl.NCCLError, caught.value.status, str(caught.value))
    assert str(caught.value) == c.get_last_error()
    c.destroy()
    with pytest.raises(nccl.NcclInvalid, match="this one is null"):
        c.allreduce(x, y, nccl.SUM)


def test_a_rank_that_dies_is_named():
    id_ = nccl.get_unique_id()
    child = os.fork()
    if child == 0:
        other = nccl.Communicator.init(2, 1, id_)
        os._exit(9 if sum_of(other, 1) == 2 else 1)
    c = nccl.Communicator.init(2, 0, id_)
    assert sum_of(c, 1) == 2
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    x = np.ones(4)
    with pytest.raises(nccl.NCCLError, match="rank 1") as caught:
        c.allreduce(x, x, nccl.SUM)
        c.synchronize()
    assert caught.value.status == c.get_async_error() == nccl.Result.RemoteError
    assert caught.value.code == "remote"
    sentence, ranks = c.verdict()  # its monitor may not have looked yet
    assert (sentence == "" or "rank 1" in sentence, set(ranks) <= {1}) == (True, True)
    small = c.shrink([1], flag=nccl.CommShrinkFlag.ABORT)
    assert (small.nranks, sum_of(small, 2)) == (1, 2)
    small.destroy()
    c.abort()
    c.abort()


def test_revoke_and_a_block_that_raises():
    def work(c):
        c.revoke()
        x = np.ones(1)
        with pytest.raises(nccl.NCCLError, match="revoked"):
            c.allreduce(x, x, nccl.SUM)
            c.synchronize()
        return True

    assert with_ranks(work, 2) == [True, True]
    with pytest.raises(ZeroDivisionError), nccl.Communicator.init(1, 0, nccl.get_unique_id()) as c:
        1 / 0
    assert not c.is_valid


def test_ids_versions_and_settings(capfd):
    id_ = nccl.get_unique_id()
    assert len(bytes(id_)) == len(id_.as_bytes) == 128
    assert nccl.UniqueId.from_bytes(bytes(id_)) == pickle.loads(pickle.dumps(id_)) == id_ != nccl.get_unique_id()
    empty = nccl.get_unique_id(empty=True)
    assert bytes(empty) == bytes(128)
    empty.as_ndarray[:] = id_.as_ndarray
    assert empty == id_
    assert bytes(id_)[:8].hex() not in repr(id_)
    versions = nccl.get_version()
    assert versions.nccl4py == tutti.__version__
    assert str(versions.libnccl.version) == "2.28.9" == str(nccl.get_lib_version())
    assert nccl.get_error_string(nccl.Result.InvalidUsage)
    assert nccl.params["NCCL_DEBUG"] == os.environ.get("NCCL_DEBUG", nccl.params["NCCL_DEBUG"])
    assert len(list(nccl.params)) == len(nccl.params) > 20
    with pytest.raises(KeyError):
        nccl.params["NCCL_NO_SUCH"]
    nccl.show_versions()
    nccl.dump_params()
    said = capfd.readouterr().out
    assert f"libnccl  : 2.28.9 @ {nccl.get_lib_path()}" in said
    assert f"NCCL_DEBUG={nccl.params['NCCL_DEBUG']}" in said


def python(program, **variables):
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, env={**os.environ, **variables})


def a_library():
    """Some other shared library, as NVIDIA's is to us."""
    with open("/proc/self/maps") as maps:
        return next(word for line in maps for word in line.split()[5:] if word.rpartition("/")[2].startswith("libm."))


def test_whoever_asks_by_name_gets_this_library():
    said = python("import sys, ctypes, tutti.nccl as n; print([m for m in ('numpy', 'torch') if m in sys.modules]);"
                  "print(ctypes.CDLL('libnccl.so.2')._handle == n._load.library()._handle, hasattr(ctypes.CDLL(None), 'ncclTuttiVerdict'))")
    assert said.stdout == "[]\nTrue True\n", said.stderr


def test_another_library_that_came_first(tmp_path):
    other = tmp_path / "libnccl.so.2"
    shutil.copy(a_library(), other)
    said = python(f"import ctypes; ctypes.CDLL({str(other)!r}); import tutti.nccl")
    assert said.returncode == 1
    words = f"ImportError: another libnccl is loaded in this process, and a second one would not take its place: {other}; put "
    assert words in said.stderr


def test_this_library_that_came_first(tmp_path):
    said = python("import tutti.nccl as n; print(n.get_lib_path())", LD_PRELOAD=str(nccl.get_lib_path()))
    assert said.stdout == f"{nccl.get_lib_path()}\n", said.stderr
    other = tmp_path / "libnccl.so.2"  # as torch opens NVIDIA's by its path, besides
    shutil.copy(a_library(), other)
    said = python(f"import ctypes; ctypes.CDLL({str(other)!r}); import tutti.nccl as n; print(n.get_lib_path(), len(n._load.mapped()))",
                  LD_PRELOAD=str(nccl.get_lib_path()))
    assert said.stdout == f"{nccl.get_lib_path()} 2\n", said.stderr


def test_a_package_without_the_library(tmp_path):
    copy = tmp_path / "tutti"
    shutil.copytree(os.path.dirname(tutti.__file__), copy, symlinks=True, ignore=shutil.ignore_patterns("lib"))
    program = tmp_path / "bin" / "tutti"
    library = tmp_path / "lib" / "tutti" / "nccl" / "lib" / "libnccl.so.2"
    for made in (program, library):
        made.parent.mkdir(parents=True)
    program.touch(mode=0o755)
    library.symlink_to(nccl.get_lib_path())
    said = python("import tutti.nccl as n; print(n._load.find())", PYTHONPATH=str(tmp_path), PATH=str(program.parent))
    assert said.stdout == f"{library}\n", said.stderr
    said = python("import tutti.nccl", PYTHONPATH=str(tmp_path), PATH="")
    assert f"ImportError: tutti.nccl has no libnccl.so.2: there is none at {copy}/lib/libnccl.so.2" in said.stderr
