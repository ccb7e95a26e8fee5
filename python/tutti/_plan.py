# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""From a call in Python to calls of tutti._core: where buffers lie, which shapes fit, and what the caller gets."""

from __future__ import annotations

import math

from . import _core, _memory
from ._memory import Memory
from .errors import InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, BROADCAST, REDUCE, GATHER, SCATTER, ALL_TO_ALL = range(8)
BARRIER, SEND, RECV = 9, 10, 11
KINDS = {"all_reduce": ALL_REDUCE, "all_gather": ALL_GATHER, "reduce_scatter": REDUCE_SCATTER, "broadcast": BROADCAST,
         "reduce": REDUCE, "gather": GATHER, "scatter": SCATTER, "all_to_all": ALL_TO_ALL, "barrier": BARRIER, "send": SEND,
         "recv": RECV}
PREMUL = 5
OPS = {"sum": 0, "prod": 1, "max": 2, "min": 3, "avg": 4, "and": 6, "or": 7, "xor": 8}


class Plan:
    """Calls that run as one, what keeps their memory, and what the caller gets when they have ended."""

    __slots__ = ("calls", "finish", "keep")

    def __init__(self, calls: list[_core.Call], keep: Any, finish: Callable[[], Any]) -> None:
        self.calls = calls
        self.keep = keep
        self.finish = finish


def _op_number(op: Any, scale: float | None, type_: int) -> int:
    if scale is not None:
        if op != "sum":
            raise InvalidArgument(f"scale= goes with op='sum', not with op={op!r}")
        return PREMUL
    number = OPS.get(op)
    if number is None:
        raise InvalidArgument(f"there is no operator {op!r}; operators are {', '.join(OPS)}")
    if not _core.defined(number, type_):
        raise InvalidArgument(f"{op} is not defined for elements of type {_memory.NAMES[type_]}; avg needs numbers, min and max an order, "
                              "and, or and xor integers or bool")
    return number


def _same_type(x: Memory, out: Memory) -> None:
    if x.type != out.type:
        raise InvalidArgument(f"out= has elements of type {_memory.NAMES[out.type]}, x of type {_memory.NAMES[x.type]}; both must be the "
                              "same on all ranks")


def _count_must_be(out: Memory, count: int, why: str) -> None:
    if out.count != count:
        raise InvalidArgument(f"out= is {out.describe()}, which has {out.count} elements where {count} are needed: {why}")


def _first_axis_in_parts(x: Memory, ranks: int, name: str) -> tuple[int, ...]:
    if not x.shape or x.shape[0] % ranks != 0:
        raise InvalidArgument(f"{name} cuts the first axis of x into {ranks} equal parts, one for each rank, which {x.describe()} does not "
                              "allow; pad it, or use all_to_all with splits=")
    return (x.shape[0] // ranks, *x.shape[1:])


def _call(kind: int, x: Memory | None, out: Memory | None, count: int, op: int = 0, root: int = 0,
          scale: float | None = None) -> _core.Call:
    about = x if x is not None else out
    assert about is not None
    exact = scale if isinstance(scale, int) and about.type in (0, 1, 2, 3, 4, 5, 13, 14) else None
    return _core.Call(kind, x.address if x is not None else 0, out.address if out is not None else 0, count, about.type, op, root,
                      float(scale) if scale is not None else 1.0, exact)


def reduction(name: str, ranks: int, rank: int, x: Any, out: Any, op: Any, root: int, scale: float | None) -> Plan:
    """all_reduce, reduce_scatter and reduce."""
    source = _memory.of(x, False, "x")
    number = _op_number(op, scale, source.type)
    shape = _first_axis_in_parts(source, ranks, name) if name == "reduce_scatter" else source.shape
    if name == "reduce" and rank != root:
        return Plan([_call(REDUCE, source, None, source.count, number, root, scale)], source.keep, lambda: None)
    target = _memory.of(out, True, "out=") if out is not None else _memory.new(source, shape)
    _same_type(source, target)
    _count_must_be(target, math.prod(shape), "as many as " + ("a rank's part of x has" if name == "reduce_scatter" else "x has"))
    call = _call(KINDS[name], source, target, target.count, number, root, scale)
    return Plan([call], (source.keep, target.keep), lambda: _memory.result_of(target))


def gathering(name: str, ranks: int, rank: int, x: Any, out: Any, root: int) -> Plan:
    """all_gather and gather."""
    source = _memory.of(x, False, "x")
    if name == "gather" and rank != root:
        return Plan([_call(GATHER, source, None, source.count, 0, root)], source.keep, lambda: None)
    target = _memory.of(out, True, "out=") if out is not None else _memory.new(source, (ranks, *source.shape))
    _same_type(source, target)
    _count_must_be(target, ranks * source.count, f"those of x from each of {ranks} ranks")
    call = _call(KINDS[name], source, target, source.count, 0, root)
    return Plan([call], (source.keep, target.keep), lambda: _memory.result_of(target))


def broadcast(rank: int, x: Any, out: Any, root: int) -> Plan:
    if rank == root:
        source = _memory.of(x, False, "x")
        target = _memory.of(out, True, "out=") if out is not None and out is not x else None
        if target is not None:
            _same_type(source, target)
            _count_must_be(target, source.count, "as many as x has")
        call = _call(BROADCAST, source, target or source, source.count, 0, root)
        finish = (lambda: _memory.result_of(target)) if target is not None else (lambda: x)
        return Plan([call], (source.keep, target), finish)
    if out is None and not _is_fixed(x):
        out = x
    target = _memory.of(out, True, "x") if out is not None else _fresh_like(x)
    call = _call(BROADCAST, target, target, target.count, 0, root)
    return Plan([call], target.keep, lambda: _memory.result_of(target))


def _is_fixed(x: Any) -> bool:
    """Whether it can only say what the result looks like: a jax array or a number."""
    return isinstance(x, (int, float, complex)) or type(x).__module__.partition(".")[0] in ("jax", "jaxlib")


def _fresh_like(x: Any) -> Memory:
    like = _memory.of(x, False, "x")
    return _memory.new(like, like.shape)


def scatter(ranks: int, rank: int, x: Any, out: Any, root: int) -> Plan:
    source = _memory.of(x, False, "x") if rank == root else None
    if out is None:
        if source is None:
            raise InvalidArgument("scatter needs out= on every rank but the root, since only that one knows what it sends")
        target = _memory.new(source, _first_axis_in_parts(source, ranks, "scatter"))
    else:
        target = _memory.of(out, True, "out=")
    if source is not None:
        _same_type(source, target)
        if source.count != target.count * ranks:
            raise InvalidArgument(f"x has {source.count} elements where {ranks} parts like out=, {target.describe()}, have "
                                  f"{target.count * ranks}")
    call = _core.Call(SCATTER, source.address if source is not None else 0, target.address, target.count, target.type, 0, root, 1.0, None)
    return Plan([call], (source, target.keep), lambda: _memory.result_of(target))


def all_to_all(ranks: int, x: Any, out: Any) -> Plan:
    source = _memory.of(x, False, "x")
    _first_axis_in_parts(source, ranks, "all_to_all")
    target = _memory.of(out, True, "out=") if out is not None else _memory.new(source, source.shape)
    _same_type(source, target)
    _count_must_be(target, source.count, "as many as x has")
    if target.address == source.address and source.count > 0:
        raise InvalidArgument("all_to_all cannot write over what it reads; pass another array as out=")
    call = _call(ALL_TO_ALL, source, target, source.count // ranks)
    return Plan([call], (source.keep, target.keep), lambda: _memory.result_of(target))


def exchange(rank: int, x: Any, splits: Sequence[int], out: Any, out_splits: Sequence[int]) -> Plan:
    """all_to_all of unequal parts: `splits` rows of x to each rank, `out_splits` rows from each, as sends and receives that go on
    together."""
    source = _memory.of(x, False, "x")
    rows = source.shape[0] if source.shape else 0
    if sum(splits) != rows:
        raise InvalidArgument(f"splits= names {sum(splits)} rows of x, which is {source.describe()}")
    row = math.prod(source.shape[1:])
    shape = (sum(out_splits), *source.shape[1:])
    target = _memory.of(out, True, "out=") if out is not None else _memory.new(source, shape)
    _same_type(source, target)
    _count_must_be(target, math.prod(shape), "the rows that all ranks send here")
    calls, at, to = [], 0, 0
    size = _memory.BYTES[source.type]
    for peer, (given, taken) in enumerate(zip(splits, out_splits)):
        if given > 0:
            calls.append(_core.Call(SEND, source.address + at * row * size, 0, given * row, source.type, 0, peer, 1.0, None))
        if taken > 0:
            calls.append(_core.Call(RECV, 0, target.address + to * row * size, taken * row, target.type, 0, peer, 1.0, None))
        at, to = at + given, to + taken
    if row == 0:
        calls = []
    return Plan(calls, (source.keep, target.keep), lambda: _memory.result_of(target))


def gather_unequal(ranks: int, rank: int, x: Any, rows: Sequence[int], out: Any) -> Plan:
    """all_gather of `rows[r]` rows from each rank r, one after the other, as sends and receives that go on together."""
    source = _memory.of(x, False, "x")
    row = math.prod(source.shape[1:])
    if (source.shape[0] if source.shape else -1) != rows[rank]:
        raise InvalidArgument(f"x is {source.describe()}, but counts= says {rows[rank]} rows of rank {rank}")
    shape = (sum(rows), *source.shape[1:])
    target = _memory.of(out, True, "out=") if out is not None else _memory.new(source, shape)
    _same_type(source, target)
    _count_must_be(target, math.prod(shape), "the rows of all ranks")
    calls, to = [], 0
    size = _memory.BYTES[source.type]
    for peer in range(ranks):
        if source.count > 0:
            calls.append(_core.Call(SEND, source.address, 0, source.count, source.type, 0, peer, 1.0, None))
        if rows[peer] * row > 0:
            calls.append(_core.Call(RECV, 0, target.address + to * row * size, rows[peer] * row, target.type, 0, peer, 1.0, None))
        to += rows[peer]
    return Plan(calls, (source.keep, target.keep), lambda: _memory.result_of(target))


def send(x: Any, to: int) -> Plan:
    source = _memory.of(x, False, "x")
    return Plan([_call(SEND, source, None, source.count, 0, to)], source.keep, lambda: None)


def recv(out: Any, source: int) -> Plan:
    target = _memory.of(out, True, "out=")
    return Plan([_call(RECV, None, target, target.count, 0, source)], target.keep, lambda: _memory.result_of(target))


def together(plans: Sequence[Plan]) -> Plan:
    return Plan([call for plan in plans for call in plan.calls], [plan.keep for plan in plans], lambda: [plan.finish() for plan in plans])
