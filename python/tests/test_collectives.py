# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Every operation, in all its forms: new results, out=, in place, started."""

import numpy as np
import pytest

import tutti

LENGTHS = [0, 1, 7, 1000, 70001]


def inputs(comm, length, kind="float32"):
    """Small whole numbers, which add up exactly. By rank: what every rank passes."""
    return [(np.arange(length) % 11 + r).astype(kind) for r in range(comm.size)]


def all_reduce(comm):
    for length in LENGTHS:
        each = inputs(comm, length)
        mine, total = each[comm.rank], sum(each)
        kept = mine.copy()
        assert np.array_equal(comm.all_reduce(mine), total)
        assert np.array_equal(mine, kept)
        out = np.empty_like(mine)
        assert comm.all_reduce(mine, out=out) is out
        assert np.array_equal(out, total)
        assert np.array_equal(comm.start.all_reduce(mine).wait(), total)
        assert comm.all_reduce(mine, out=mine) is mine
        assert np.array_equal(mine, total)


def operators(comm):
    each = inputs(comm, 100, "int64")
    mine = each[comm.rank]
    stack = np.stack(each)
    assert np.array_equal(comm.all_reduce(mine, "prod"), stack.prod(axis=0))
    assert np.array_equal(comm.all_reduce(mine, "max"), stack.max(axis=0))
    assert np.array_equal(comm.all_reduce(mine, op="min"), stack.min(axis=0))
    assert np.array_equal(comm.all_reduce(mine, "avg"), stack.sum(axis=0) // comm.size)
    for name, function in (("and", np.bitwise_and), ("or", np.bitwise_or), ("xor", np.bitwise_xor)):
        assert np.array_equal(comm.all_reduce(mine, name, out=np.empty_like(mine)), function.reduce(stack))
    scaled = comm.all_reduce(mine, scale=comm.rank + 2)
    assert np.array_equal(scaled, sum((r + 2) * each[r] for r in range(comm.size)))
    half = comm.all_reduce(mine.astype("float64"), scale=0.5)
    assert np.array_equal(half, stack.sum(axis=0) * 0.5)


def reduce_scatter(comm):
    for rows in (0, 1, 5, 3000):
        each = [x.reshape(rows * comm.size, 2) for x in inputs(comm, rows * comm.size * 2)]
        want = sum(each)[rows * comm.rank:rows * (comm.rank + 1)]
        got = comm.reduce_scatter(each[comm.rank])
        assert got.shape == (rows, 2)
        assert np.array_equal(got, want)
        out = np.empty((rows, 2), "float32")
        assert comm.reduce_scatter(each[comm.rank], out=out) is out
        assert np.array_equal(out, want)


def gathers(comm):
    for length in LENGTHS:
        each = inputs(comm, length)
        got = comm.all_gather(each[comm.rank])
        assert got.shape == (comm.size, length)
        assert np.array_equal(got, np.stack(each))
        out = np.empty(comm.size * length, "float32")
        assert comm.all_gather(each[comm.rank], out=out) is out
        assert np.array_equal(out, np.concatenate(each))
        for root in range(comm.size):
            got = comm.gather(each[comm.rank], root=root)
            assert (got is None) == (comm.rank != root)
            if got is not None:
                assert np.array_equal(got, np.stack(each))


def roots(comm):
    for root in range(comm.size):
        for length in LENGTHS:
            each = inputs(comm, length)
            data = each[comm.rank].copy()
            assert comm.broadcast(data, root=root) is data
            assert np.array_equal(data, each[root])
            out = np.empty_like(data)
            assert np.array_equal(comm.broadcast(each[comm.rank], root=root, out=out), each[root])
            got = comm.reduce(each[comm.rank], root=root)
            assert (got is None) == (comm.rank != root)
            if got is not None:
                assert np.array_equal(got, sum(each))
            whole = np.arange(length * comm.size, dtype="int32") + root
            part = comm.scatter(whole if comm.rank == root else None, root=root, out=np.empty(length, "int32"))
            assert np.array_equal(part, whole[length * comm.rank:length * (comm.rank + 1)])
            if comm.rank == root and comm.size == 1 and length > 0:
                assert np.array_equal(comm.scatter(whole), whole)


def all_to_all(comm):
    n = comm.size
    for rows in (0, 1, 40):
        whole = [(np.arange(n * rows * 3) + 1000 * r).reshape(n * rows, 3) for r in range(n)]
        want = np.concatenate([whole[r][rows * comm.rank:rows * (comm.rank + 1)] for r in range(n)])
        assert np.array_equal(comm.all_to_all(whole[comm.rank]), want)
    # Unequal: rank r sends r + to rows to each.
    splits = [comm.rank + to for to in range(n)]
    mine = np.concatenate([np.full((s, 2), 10 * comm.rank + to) for to, s in enumerate(splits)])
    want = np.concatenate([np.full((r + comm.rank, 2), 10 * r + comm.rank) for r in range(n)])
    assert np.array_equal(comm.all_to_all(mine, splits=splits), want)
    known = [r + comm.rank for r in range(n)]
    assert np.array_equal(comm.all_to_all(mine, splits=splits, out_splits=known), want)
    assert np.array_equal(comm.start.all_to_all(mine, splits=splits, out_splits=known).wait(), want)


def gather_unequal(comm):
    mine = np.full((comm.rank * 2, 3), comm.rank, "int16")
    want = np.concatenate([np.full((r * 2, 3), r, "int16") for r in range(comm.size)])
    assert np.array_equal(comm.all_gather_v(mine), want)
    assert np.array_equal(comm.all_gather_v(mine, counts=[r * 2 for r in range(comm.size)]), want)


def messages(comm):
    n, right, left = comm.size, (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    for length in LENGTHS:
        each = inputs(comm, length, "float64")
        got = comm.send_recv(each[comm.rank], right, np.empty(length), left)
        assert np.array_equal(got, each[left])
        with comm.group() as g:
            out = [np.empty(length) for _ in range(n)]
            for r in range(n):
                g.send(each[comm.rank], to=r)
                g.recv(out[r], source=r)
        assert all(np.array_equal(out[r], each[r]) for r in range(n))
        if n > 1 and comm.rank == 0:
            comm.send(each[0], to=1)
        elif comm.rank == 1:
            assert np.array_equal(comm.recv(np.empty(length), source=0), each[0])
    comm.barrier()


def requests(comm):
    arrays = [np.full(1000, comm.rank + i, "float32") for i in range(50)]
    running = [comm.start.all_reduce(a, out=a) for a in arrays]
    for i, r in enumerate(reversed(running)):
        assert r.wait() is arrays[49 - i]
    for i, a in enumerate(arrays):
        assert a[0] == sum(range(comm.size)) + i * comm.size
    request = comm.start.barrier()
    while not request.test():
        pass
    assert request.result is None
    with comm.start.group() as g:
        g.send(np.ones(3), to=comm.rank)
        g.recv(np.empty(3), source=comm.rank)
    assert g.request.wait()[1].sum() == 3


def awaits(comm):
    import asyncio

    async def both():
        a = comm.start.all_reduce(np.ones(5))
        b = comm.start.all_gather(np.array([comm.rank]))
        return await asyncio.gather(a, b)

    a, b = asyncio.run(both())
    assert a[0] == comm.size
    assert b.ravel().tolist() == list(range(comm.size))


def objects(comm):
    mine = {"rank": comm.rank, "text": "x" * (comm.rank * 50000)}
    all_ = comm.all_gather_object(mine)
    assert [o["rank"] for o in all_] == list(range(comm.size))
    assert [len(o["text"]) for o in all_] == [50000 * r for r in range(comm.size)]
    assert comm.all_gather_object(None) == [None] * comm.size
    for root in range(comm.size):
        assert comm.broadcast_object([root, mine] if comm.rank == root else None, root=root)[0] == root
        gathered = comm.gather_object(comm.rank * 3, root=root)
        assert gathered == ([3 * r for r in range(comm.size)] if comm.rank == root else None)
        given = [f"for {r}" for r in range(comm.size)] if comm.rank == root else None
        assert comm.scatter_object(given, root=root) == f"for {comm.rank}"


def splits(comm):
    child = comm.split(comm.rank % 2, name="half")
    same = [r for r in range(comm.size) if r % 2 == comm.rank % 2]
    assert (child.size, child.rank) == (len(same), same.index(comm.rank))
    assert child.all_reduce(comm.rank) == sum(same)
    backwards = comm.split(0, key=-comm.rank)
    assert backwards.rank == comm.size - 1 - comm.rank
    none = comm.split(None if comm.rank == 0 else 1)
    assert (none is None) == (comm.rank == 0)
    twin = comm.dup()
    assert twin.all_reduce(1) == comm.size
    for c in (child, backwards, none, twin):
        if c is not None:
            c.close()


def shared(comm):
    x = comm.shared((100, 3), "float32")
    assert x.sum() == 0
    x += comm.rank + 1
    comm.all_reduce(x, out=x)
    assert x[0, 0] == sum(range(1, comm.size + 1))
    comm.close()
    assert x[99, 2] == x[0, 0]  # the memory lives on
    assert comm.closed


ALL = [all_reduce, operators, reduce_scatter, gathers, roots, all_to_all, gather_unequal, messages, requests, awaits, objects, splits, shared]


@pytest.mark.parametrize("what", ALL, ids=lambda f: f.__name__)
def test_operation(what, ranks):
    tutti.run(what, ranks=ranks, timeout=120)


def test_more_ranks_than_cores():
    def work(comm):
        for _ in range(20):
            assert comm.all_reduce(1) == comm.size
        return comm.all_gather_object(comm.rank)

    assert tutti.run(work, ranks=9, timeout=120) == [list(range(9))] * 9
