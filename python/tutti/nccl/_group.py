# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Calls that begin together. What a thread calls between start and end begins at the end."""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Iterator
from typing import Any

from ._library import HEADER_VERSION, SIM_MAGIC, SimStruct, call
from ._types import NCCL_UNDEF_FLOAT


class _Depth(threading.local):
    groups = 0

    def __init__(self) -> None:
        self.kept: list[Any] = []


_depth = _Depth()


def within() -> bool:
    """Whether this thread has begun a group."""
    return _depth.groups > 0


def keep(what: Any) -> None:
    """Keeps what the library writes into at the end of this thread's group."""
    if within():
        _depth.kept.append(what)


def _ended() -> None:
    _depth.groups = max(_depth.groups - 1, 0)
    if _depth.groups == 0:
        _depth.kept.clear()


class GroupSimInfo:
    """What group_simulate_end finds out."""

    def __init__(self) -> None:
        self._struct = SimStruct(ctypes.sizeof(SimStruct), SIM_MAGIC, HEADER_VERSION, NCCL_UNDEF_FLOAT)

    @property
    def ptr(self) -> int:
        return ctypes.addressof(self._struct)

    @property
    def estimated_time(self) -> float:
        """Microseconds that the group's operations would take; -1 before it is known."""
        return self._struct.estimatedTime


def group_start() -> None:
    call("ncclGroupStart")
    _depth.groups += 1


def group_end() -> None:
    """Begins what was called since group_start. Where several are open: does so at the end of the outermost one."""
    try:
        call("ncclGroupEnd")
    finally:
        _ended()


def group_simulate_end(sim_info: GroupSimInfo | None = None) -> None:
    """Ends the group without running it."""
    try:
        call("ncclGroupSimulateEnd", None if sim_info is None else ctypes.byref(sim_info._struct))
    finally:
        _ended()


@contextlib.contextmanager
def group() -> Iterator[None]:
    """A group for the length of a `with` block. After an exception in it, what was called before still runs, so that other ranks need not
    wait for it."""
    group_start()
    try:
        yield
    finally:
        group_end()
