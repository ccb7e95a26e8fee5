# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Collectives of any Python objects, which are pickled: convenient, and slower than arrays."""

from __future__ import annotations

from . import _core, _plan
from ._memory import python_array
from .errors import InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    import array
    from collections.abc import Sequence
    from typing import Any

    from ._communicator import Communicator

_INT64, _UINT8 = 4, 1


def _address(held: array.array[int]) -> int:
    return held.buffer_info()[0]


def _dumps(obj: Any) -> bytes:
    import pickle

    return pickle.dumps(obj, protocol=pickle.HIGHEST_PROTOCOL)


def _loads(data: Any) -> Any:
    import pickle

    return pickle.loads(data)


class Objects(_core.Communicator):
    """The part of Communicator for objects. Unpickling runs code, so ranks must trust each other."""

    # ---- numbers, which say how long what follows is

    def _numbers_of_all(self: Communicator, number: int) -> list[int]:
        mine, all_ = python_array("q", [number]), python_array("q", [0] * self.size)
        call = _core.Call(_plan.ALL_GATHER, _address(mine), _address(all_), 1, _INT64)
        self._run_plan(_plan.Plan([call], None, lambda: None))
        return all_.tolist()

    def _numbers_to_all(self: Communicator, numbers: Sequence[int]) -> list[int]:
        mine, theirs = python_array("q", numbers), python_array("q", [0] * self.size)
        call = _core.Call(_plan.ALL_TO_ALL, _address(mine), _address(theirs), 1, _INT64)
        self._run_plan(_plan.Plan([call], None, lambda: None))
        return theirs.tolist()

    # ---- objects

    def all_gather_object(self: Communicator, obj: Any) -> list[Any]:
        """All ranks' objects, by rank."""
        mine = _dumps(obj)
        lengths = self._numbers_of_all(len(mine))
        longest = max(lengths)
        if longest * self.size <= 1 << 16:  # one call for all, where what is too long costs little
            all_ = bytearray(longest * self.size)
            self.all_gather(mine.ljust(longest), out=all_)
            return [_loads(memoryview(all_)[i * longest:i * longest + n]) for i, n in enumerate(lengths)]
        all_ = bytearray(sum(lengths))
        self.all_gather_v(mine, counts=lengths, out=all_)
        objects, at = [], 0
        for n in lengths:
            objects.append(_loads(memoryview(all_)[at:at + n]))
            at += n
        return objects

    def broadcast_object(self: Communicator, obj: Any = None, *, root: int = 0) -> Any:
        """The root's object, on every rank; the root gets its own back."""
        data = _dumps(obj) if self.rank == root else b""
        length = python_array("q", [len(data)])
        self.broadcast(length, root=root)
        if self.rank == root:
            self.broadcast(data, root=root)
            return obj
        received = bytearray(length[0])
        self.broadcast(received, root=root)
        return _loads(received)

    def gather_object(self: Communicator, obj: Any, *, root: int = 0) -> list[Any] | None:
        """All ranks' objects on the root; None elsewhere."""
        mine = _dumps(obj)
        lengths = self._numbers_of_all(len(mine))
        if self.rank != root:
            self.send(mine, to=root)
            return None
        parts = [bytearray(n) for n in lengths]
        parts[root][:] = mine
        with self.group() as g:
            for rank in range(self.size):
                if rank != root:
                    g.recv(parts[rank], source=rank)
        return [_loads(part) for part in parts]

    def scatter_object(self: Communicator, objects: Sequence[Any] | None = None, *, root: int = 0) -> Any:
        """Object r of the root's list, on rank r."""
        if self.rank != root:
            length = python_array("q", [0])
            self.scatter(out=length, root=root)
            received = bytearray(length[0])
            self.recv(received, source=root)
            return _loads(received)
        if objects is None or len(objects) != self.size:
            raise InvalidArgument(f"scatter_object needs an object for each of {self.size} ranks on the root")
        data = [_dumps(obj) for obj in objects]
        length = python_array("q", [0])
        self.scatter(python_array("q", [len(d) for d in data]), out=length, root=root)
        with self.group() as g:
            for rank in range(self.size):
                if rank != root:
                    g.send(data[rank], to=rank)
        return objects[root]
