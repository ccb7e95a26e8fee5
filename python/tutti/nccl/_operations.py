# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""The operations of a communicator."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from . import _group
from ._buffers import NcclBufferSpec, NcclStreamSpec, Place, place, stream_pointer
from ._library import NcclInvalid, Result, WaitStruct, call
from ._resources import CustomRedOp, RegisteredWindowHandle
from ._types import NcclRedOp

_FORGET_AFTER = 32  # operations: then it is looked whether their arrays can be let go


@dataclass(kw_only=True)
class WaitSignalDesc:
    """One wait: for op_count signals of a peer."""

    peer: int
    op_count: int = 1
    signal_index: int = 0
    context: int = 0


def _operator(op: Any) -> int:
    if not isinstance(op, (NcclRedOp, CustomRedOp)):
        raise NcclInvalid(f"{op!r} is no operator; pass SUM, PROD, MAX, MIN, AVG, or what create_pre_mul_sum has returned")
    return int(op)


def _alike(sent: Place, received: Place) -> None:
    if sent.dtype != received.dtype:
        raise NcclInvalid(f"sendbuf has elements of type {sent.dtype}, recvbuf of type {received.dtype}; both must have the same")


def _both(sendbuf: NcclBufferSpec, recvbuf: NcclBufferSpec) -> tuple[Place, Place]:
    s, r = place(sendbuf, "sendbuf", writing=False), place(recvbuf, "recvbuf", writing=True)
    _alike(s, r)
    return s, r


def _room(buffer: Place, name: str, needed: int, why: str) -> None:
    if buffer.count < needed:
        raise NcclInvalid(f"{name} has {buffer.count} elements; it needs {needed}: {why}")


class Operations:
    """The part of Communicator that moves data. Each call returns before its operation has ended: see the module's text."""

    _held: list[Any]
    _operations_held = 0

    @property
    def rank(self) -> int:
        raise NotImplementedError

    @property
    def nranks(self) -> int:
        raise NotImplementedError

    def get_async_error(self) -> int:
        raise NotImplementedError

    def _usable(self, what: str) -> int:
        raise NotImplementedError

    # ---- how they run

    def _run(self, name: str, places: Sequence[Place | None], *arguments: Any, stream: NcclStreamSpec | None) -> None:
        """Calls it with the communicator and the stream behind the arguments, and keeps the arrays until it has ended."""
        handle = stream_pointer(stream)
        if not _group.within() and self._operations_held >= _FORGET_AFTER and self.get_async_error() == Result.Success:
            self._let_go()
        keep = [p.keep for p in places if p is not None and p.keep is not None]
        if keep:
            self._held.append(keep)
            self._operations_held += 1
        call(name, *arguments, self._usable(name), handle)

    def _let_go(self) -> None:
        self._held.clear()
        self._operations_held = 0

    # ---- messages

    def send(self, sendbuf: NcclBufferSpec, peer: int, *, stream: NcclStreamSpec | None = None) -> None:
        """Messages between two ranks arrive in the order of the calls."""
        self._usable("send")
        s = place(sendbuf, "sendbuf", writing=False)
        self._run("ncclSend", [s], s.ptr, s.count, int(s.dtype), peer, stream=stream)

    def recv(self, recvbuf: NcclBufferSpec, peer: int, *, stream: NcclStreamSpec | None = None) -> None:
        """Fills all of recvbuf."""
        self._usable("recv")
        r = place(recvbuf, "recvbuf", writing=True)
        self._run("ncclRecv", [r], r.ptr, r.count, int(r.dtype), peer, stream=stream)

    # ---- collectives

    def allreduce(self, sendbuf: NcclBufferSpec, recvbuf: NcclBufferSpec, op: NcclRedOp | CustomRedOp, *,
                  stream: NcclStreamSpec | None = None) -> None:
        """The reduction of all ranks' sendbuf, which may be recvbuf itself."""
        self._usable("allreduce")
        s, r = _both(sendbuf, recvbuf)
        _room(r, "recvbuf", s.count, "as many as sendbuf has")
        self._run("ncclAllReduce", [s, r], s.ptr, r.ptr, s.count, int(s.dtype), _operator(op), stream=stream)

    def reduce(self, sendbuf: NcclBufferSpec, recvbuf: NcclBufferSpec, op: NcclRedOp | CustomRedOp, root: int | None = None, *,
               stream: NcclStreamSpec | None = None) -> None:
        """The same on the root alone; recvbuf elsewhere is not looked at. Without a root: allreduce."""
        if root is None:
            return self.allreduce(sendbuf, recvbuf, op, stream=stream)
        self._usable("reduce")
        s, r = place(sendbuf, "sendbuf", writing=False), None
        if root == self.rank:
            r = place(recvbuf, "recvbuf", writing=True)
            _alike(s, r)
            _room(r, "recvbuf", s.count, "as many as sendbuf has")
        self._run("ncclReduce", [s, r], s.ptr, r.ptr if r else None, s.count, int(s.dtype), _operator(op), root, stream=stream)

    def broadcast(self, sendbuf: NcclBufferSpec, recvbuf: NcclBufferSpec, root: int, *, stream: NcclStreamSpec | None = None) -> None:
        """The root's sendbuf in everybody's recvbuf; sendbuf elsewhere is not looked at."""
        self._usable("broadcast")
        s, r = None, place(recvbuf, "recvbuf", writing=True)
        if root == self.rank:
            s = place(sendbuf, "sendbuf", writing=False)
            _alike(s, r)
            if s.count != r.count:
                raise NcclInvalid(f"sendbuf has {s.count} elements, recvbuf {r.count}; both must have as many")
        self._run("ncclBroadcast", [s, r], s.ptr if s else None, r.ptr, r.count, int(r.dtype), root, stream=stream)

    def allgather(self, sendbuf: NcclBufferSpec, recvbuf: NcclBufferSpec, *, stream: NcclStreamSpec | None = None) -> None:
        """All ranks' sendbuf, one after the other."""
        self._usable("allgather")
        s, r = _both(sendbuf, recvbuf)
        _room(r, "recvbuf", s.count * self.nranks, "those of sendbuf for each rank")
        self._run("ncclAllGather", [s, r], s.ptr, r.ptr, s.count, int(s.dtype), stream=stream)

    def gather(self, sendbuf: NcclBufferSpec, recvbuf: NcclBufferSpec, root: int | None = None, *,
               stream: NcclStreamSpec | None = None) -> None:
        """The same on the root alone; recvbuf elsewhere is not looked at. Without a root: allgather."""
        if root is None:
            return self.allgather(sendbuf, recvbuf, stream=stream)
        self._usable("gather")
        s, r = place(sendbuf, "sendbuf", writing=False), None
        if root == self.rank:
            r = place(recvbuf, "recvbuf", writing=True)
            _alike(s, r)
            _room(r, "recvbuf", s.count * self.nranks, "those of sendbuf for each rank")
        self._run("ncclGather", [s, r], s.ptr, r.ptr if r else None, s.count, int(s.dtype), root, stream=stream)

    def scatter(self, sendbuf: NcclBufferSpec, recvbuf: NcclBufferSpec, root: int, *, stream: NcclStreamSpec | None = None) -> None:
        """This rank's part of the root's sendbuf; sendbuf elsewhere is not looked at."""
        self._usable("scatter")
        s, r = None, place(recvbuf, "recvbuf", writing=True)
        if root == self.rank:
            s = place(sendbuf, "sendbuf", writing=False)
            _alike(s, r)
            if s.count != r.count * self.nranks:
                raise NcclInvalid(f"sendbuf has {s.count} elements; it needs {r.count * self.nranks}: those of recvbuf for each rank")
        self._run("ncclScatter", [s, r], s.ptr if s else None, r.ptr, r.count, int(r.dtype), root, stream=stream)

    def reduce_scatter(self, sendbuf: NcclBufferSpec, recvbuf: NcclBufferSpec, op: NcclRedOp | CustomRedOp, *,
                       stream: NcclStreamSpec | None = None) -> None:
        """Of the reduction of all ranks' sendbuf, this rank's part. Elements of sendbuf that do not divide by the ranks are left out."""
        self._usable("reduce_scatter")
        s, r = _both(sendbuf, recvbuf)
        _room(s, "sendbuf", self.nranks, "at least one for each rank")
        part = s.count // self.nranks
        _room(r, "recvbuf", part, "a rank's part of sendbuf")
        self._run("ncclReduceScatter", [s, r], s.ptr, r.ptr, part, int(s.dtype), _operator(op), stream=stream)

    def alltoall(self, sendbuf: NcclBufferSpec, recvbuf: NcclBufferSpec, *, stream: NcclStreamSpec | None = None) -> None:
        """Cuts sendbuf into a part for each rank; recvbuf gets the parts from ranks 0, 1, ... in turn."""
        self._usable("alltoall")
        s, r = _both(sendbuf, recvbuf)
        _room(s, "sendbuf", self.nranks, "at least one for each rank")
        part = s.count // self.nranks
        _room(r, "recvbuf", part * self.nranks, "as many as sendbuf sends")
        self._run("ncclAlltoAll", [s, r], s.ptr, r.ptr, part, int(s.dtype), stream=stream)

    # ---- one-sided access, between GPUs alone

    def put_signal(self, local_buffer: NcclBufferSpec, peer: int, peer_window: RegisteredWindowHandle, peer_window_offset: int = 0,
                   signal_index: int = 0, context: int = 0, flags: int = 0, *, stream: NcclStreamSpec | None = None) -> None:
        """Copies into the peer's window, at an offset of so many elements, and counts a signal there."""
        self._usable("put_signal")
        p = place(local_buffer, "local_buffer", writing=False)
        self._run("ncclPutSignal", [p], p.ptr, p.count, int(p.dtype), peer, peer_window.handle, peer_window_offset * p.dtype.itemsize,
                  signal_index, context, flags, stream=stream)

    def signal(self, peer: int, signal_index: int = 0, context: int = 0, flags: int = 0, *, stream: NcclStreamSpec | None = None) -> None:
        """Counts a signal at the peer."""
        self._run("ncclSignal", [], peer, signal_index, context, flags, stream=stream)

    def wait_signal(self, descs: WaitSignalDesc | Sequence[WaitSignalDesc], *, stream: NcclStreamSpec | None = None) -> None:
        """Has the stream wait for signals."""
        waits = [descs] if isinstance(descs, WaitSignalDesc) else list(descs)
        array = (WaitStruct * len(waits))(*((w.op_count, w.peer, w.signal_index, w.context) for w in waits))
        self._run("ncclWaitSignal", [], len(waits), ctypes.cast(array, ctypes.POINTER(WaitStruct)), stream=stream)
