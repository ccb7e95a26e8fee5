# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Every element type and kind of array, in every layout."""

import array

import ml_dtypes
import numpy as np
import pytest

import tutti

SUMMED = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64", "complex64", "complex128",
          "bfloat16", "float8_e4m3fn", "float8_e5m2"]


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name) if hasattr(ml_dtypes, name) else name)


@pytest.mark.parametrize("name", SUMMED)
def test_sum_of_type(name):
    def work(comm):
        x = np.array([1, 2, 3, comm.rank], dtype_of(name))
        want = np.array([2, 4, 6, 1], dtype_of(name))
        got = comm.all_reduce(x)
        assert got.dtype == x.dtype
        assert np.array_equal(got, want), (got, want)
        out = np.zeros_like(x)
        assert comm.all_reduce(x, out=out) is out
        assert np.array_equal(out, want)
        assert np.array_equal(comm.all_gather(x)[1 - comm.rank][:3], x[:3])

    tutti.run(work, 2, timeout=60)


def test_bool():
    def work(comm):
        x = np.array([False, True, comm.rank == 1, True])
        assert comm.all_reduce(x, "and").tolist() == [False, True, False, True]
        assert comm.all_reduce(x, "or").tolist() == [False, True, True, True]
        assert comm.all_reduce(x, "xor").tolist() == [False, False, True, False]
        assert comm.all_reduce(x, "sum").tolist() == [False, True, True, True]
        with pytest.raises(tutti.InvalidArgument, match="avg is not defined for elements of type bool"):
            comm.all_reduce(x, "avg")

    tutti.run(work, 2, timeout=60)


def test_layouts():
    def work(comm):
        base = np.arange(24, dtype="float32").reshape(4, 6)
        for x in (base[:, ::2], base.T, base[1:3], base[::-1], np.asfortranarray(base)):
            assert np.array_equal(comm.all_reduce(x), x * 2)
            big = np.zeros((8, 12), "float32")
            out = big[:x.shape[0], :2 * x.shape[1]:2]
            assert comm.all_reduce(x, out=out) is out
            assert np.array_equal(out, x * 2)
            assert big.sum() == (x * 2).sum()
        misaligned = np.frombuffer(bytearray(4 * 10 + 1), "uint8")[1:].view("float32")
        assert not misaligned.flags.aligned
        misaligned[:] = 3
        assert comm.all_reduce(misaligned)[9] == 6
        assert comm.all_reduce(misaligned, out=misaligned)[0] == 6
        zero_dimensions = np.array(2.5)
        assert comm.all_reduce(zero_dimensions) == 5
        assert comm.all_gather(zero_dimensions).shape == (2,)

    tutti.run(work, 2, timeout=60)


def test_buffers_and_numbers():
    def work(comm):
        x = array.array("d", [1.0, comm.rank])
        got = comm.all_reduce(x)
        assert isinstance(got, memoryview)
        assert got.tolist() == [2.0, 1.0]
        assert comm.all_reduce(x, out=x) is x
        assert x.tolist() == [2.0, 1.0]
        data = bytearray(b"from 0" if comm.rank == 0 else 6)
        assert comm.broadcast(data) is data and data == b"from 0"
        assert bytes(comm.all_gather(bytes([comm.rank, 7]))) == bytes([0, 7, 1, 7])
        assert comm.all_reduce(2.5) == 5.0
        assert comm.all_reduce(comm.rank) == 1 and isinstance(comm.all_reduce(comm.rank), int)
        assert comm.all_reduce(1 + 2j) == 2 + 4j
        assert comm.broadcast(comm.rank + 5, root=1) == 6
        assert comm.all_reduce(np.float32(1)) == 2

    tutti.run(work, 2, timeout=60)


def test_dlpack():
    class Wrapped:
        """Something that numpy does not know, but that speaks DLPack."""

        def __init__(self, array_):
            self.array = array_

        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    def work(comm):
        x = np.arange(5, dtype="float32")
        assert np.array_equal(comm.all_reduce(Wrapped(x)), x * 2)
        out = np.zeros(5, "float32")
        comm.all_reduce(x, out=Wrapped(out))
        assert np.array_equal(out, x * 2)

    tutti.run(work, 2, timeout=60)


def test_bad_arguments():
    def work(comm):
        x = np.zeros(6, "float32")
        cases = [
            (lambda: comm.all_reduce(x, out=np.zeros(5, "float32")), "5 elements where 6 are needed"),
            (lambda: comm.all_reduce(x, out=np.zeros(6)), "out= has elements of type float64, x of type float32"),
            (lambda: comm.all_reduce(x, "add"), "there is no operator 'add'; operators are sum, prod"),
            (lambda: comm.all_reduce(x, "and"), "and is not defined for elements of type float32"),
            (lambda: comm.all_reduce(x, "max", scale=2), "scale= goes with op='sum'"),
            (lambda: comm.reduce_scatter(x[:5]), "cuts the first axis of x into 2 equal parts"),
            (lambda: comm.all_to_all(x, out=x), "input and output overlap"),
            (lambda: comm.all_to_all(x, splits=[1, 2]), "names 3 rows of x"),
            (lambda: comm.all_reduce(np.array(["a"])), "has elements of type str"),
            (lambda: comm.all_reduce(np.zeros(2, "datetime64[s]")), "which no rank can exchange"),
            (lambda: comm.all_reduce(np.zeros(2, ">f4")), "another byte order"),
            (lambda: comm.all_reduce(object()), "is of type object, which has no elements"),
            (lambda: comm.all_reduce(x, out=b"123456789012345678901234"), "is read-only"),
            (lambda: comm.send(x, to=2), "2 is not a rank; this communicator has ranks 0 to 1"),
            (lambda: comm.broadcast(x, root=-1), "-1 is not a rank"),
            (lambda: comm.scatter(root=1 - comm.rank), "scatter needs out= on every rank but the root"),
            (lambda: comm.scatter_object([1], root=comm.rank), "needs an object for each of 2 ranks"),
            (lambda: comm.shared(0), "would have no elements"),
        ]
        for call, words in cases:
            with pytest.raises(tutti.InvalidArgument) as raised:
                call()
            assert words in str(raised.value), str(raised.value)
        assert isinstance(raised.value, ValueError)
        # Nothing of this has harmed it.
        assert comm.all_reduce(1) == 2

    tutti.run(work, 2, timeout=60)
