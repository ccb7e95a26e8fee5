# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""The communicator: ranks that call the same collectives in the same order."""

from __future__ import annotations

import atexit
import os
import sys
import weakref

from . import _core, _memory, _plan
from ._objects import Objects
from ._requests import CallGroup, Request, Start
from .errors import InvalidArgument, InvalidUsage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_ours: weakref.WeakSet[Communicator] = weakref.WeakSet()  # the communicators of this process


def unique_id() -> UniqueId:
    """A fresh id of a communicator, for all its ranks: they find each other by it."""
    return UniqueId(_core.unique_id())


class UniqueId(bytes):
    """128 bytes that name a communicator. They hold a secret, so pass them on only to ranks of it."""

    @classmethod
    def from_hex(cls, text: str) -> UniqueId:
        return cls(bytes.fromhex(text))

    @classmethod
    def from_bytes(cls, data: bytes) -> UniqueId:
        return cls(data)

    def as_bytes(self) -> bytes:
        return bytes(self)


def _user_frame() -> Any:
    """The innermost frame that is not this package's."""
    frame = sys._getframe(1)
    while frame.f_back is not None and (frame.f_globals.get("__package__") or "").partition(".")[0] == "tutti":
        frame = frame.f_back
    return frame


def _ms(seconds: float | None) -> int | None:
    return None if seconds is None else max(int(seconds * 1000), 1)


class Communicator(Objects):
    """A group of ranks, processes or threads, which call the same collectives in the same order.

    Arrays are of numpy, torch (on the CPU) or jax, or anything with Python's buffer protocol or DLPack; elements are integers, floats, bfloat16,
    float8_e4m3fn, float8_e5m2, bool and complex numbers. A call returns a new array, or fills `out=`, which may be the input itself.
    What waits releases the GIL. A KeyboardInterrupt ends a call and the communicator with it.

    Threads: any number may call; calls take turns, and all ranks must make them in the same order.
    Errors: tutti.Error. A failed operation breaks the communicator: later calls raise the first error.
    Results have the same bits on every rank and in every run.
    """

    def __init__(self, rank: int, ranks: int, id: bytes | None = None, *, name: str = "", timeout: float | None = None,
                 init_timeout: float | None = None, shared_bytes: int | None = None, _recipe: _core.Recipe | None = None) -> None:
        """Meets the other ranks; blocks until all are there, for at most `init_timeout` seconds (default TUTTI_INIT_TIMEOUT_MS).

        id: the same on all ranks, from unique_id(). timeout: how long a wait for a late rank may last, in seconds (TUTTI_TIMEOUT_MS).
        """
        if _on_main_thread():
            _core.is_main_thread()
        if _recipe is None:
            if id is None and ranks > 1:
                raise InvalidArgument("a communicator of several ranks needs id=: make one by tutti.unique_id() and pass it to all of them")
            if id is not None and len(id) != 128:
                raise InvalidArgument(f"id= has {len(id)} bytes; ids have 128: pass what tutti.unique_id() has returned")
            _recipe = _core.recipe(rank, ranks, bytes(id or b""), name, _ms(timeout), _ms(init_timeout), shared_bytes, False)
        super().__init__(_recipe)
        self.name = name
        self.start = Start(self)
        _ours.add(self)

    @classmethod
    def _from_recipe(cls, recipe: _core.Recipe, name: str) -> Communicator:
        return cls(0, 1, name=name, _recipe=recipe)

    @classmethod
    def from_store(cls, store: Any, rank: int, ranks: int, *, key: str = "tutti_id", **options: Any) -> Communicator:
        """Ranks that share a store with set and get, as those of torch.distributed."""
        if rank == 0:
            store.set(key, unique_id().hex())
        return cls(rank, ranks, UniqueId.from_hex(bytes(store.get(key)).decode()), **options)

    @classmethod
    def from_torch(cls, group: Any = None, **options: Any) -> Communicator:
        """The ranks of a torch.distributed group."""
        import torch.distributed as dist

        rank, ranks = dist.get_rank(group), dist.get_world_size(group)
        box = [bytes(unique_id()) if rank == 0 else None]
        dist.broadcast_object_list(box, group=group, group_src=0)
        return cls(rank, ranks, box[0], **options)

    @classmethod
    def from_mpi(cls, comm: Any = None, **options: Any) -> Communicator:
        """The ranks of a communicator of mpi4py."""
        if comm is None:
            from mpi4py import MPI

            comm = MPI.COMM_WORLD
        box = comm.bcast(bytes(unique_id()) if comm.Get_rank() == 0 else None, root=0)
        return cls(comm.Get_rank(), comm.Get_size(), box, **options)

    # ---- how calls run

    def _run_plan(self, plan: _plan.Plan, frame: Any = None) -> Any:
        if plan.calls:
            self._set_site(frame if frame is not None else _user_frame())
            if len(plan.calls) == 1:
                self._run(plan.calls[0])
            else:
                self._run_group(plan.calls)
        return plan.finish()

    def _begin_plan(self, plan: _plan.Plan) -> Request:
        if not plan.calls:
            return Request(None, plan)
        self._set_site(_user_frame())
        running = self._begin(plan.calls[0], plan.keep) if len(plan.calls) == 1 else self._begin_group(plan.calls, plan.keep)
        return Request(running, plan)

    def _prepare(self, name: str, x: Any, out: Any, op: Any, root: Any, scale: Any, frame: Any) -> Any:
        """What tutti._core cannot do at once: new results, other arrays than contiguous ones with the buffer protocol, and bad arguments."""
        if name in ("all_reduce", "reduce_scatter"):
            plan = _plan.reduction(name, self.size, self.rank, x, out, op, 0, scale)
        elif name == "all_gather":
            plan = _plan.gathering(name, self.size, self.rank, x, out, 0)
        else:
            plan = _plan.all_to_all(self.size, x, out)
        return self._run_plan(plan, frame)

    # ---- collectives and messages; all_reduce, reduce_scatter, all_gather and barrier are of _core.Communicator

    def reduce(self, x: Any, op: str = "sum", *, root: int = 0, out: Any = None, scale: float | None = None) -> Any:
        """The reduction of all ranks' `x` on the root; None elsewhere."""
        return self._run_plan(_plan.reduction("reduce", self.size, self.rank, x, out, op, root, scale))

    def broadcast(self, x: Any, *, root: int = 0, out: Any = None) -> Any:
        """The root's `x`, on every rank: in `x` itself, in `out`, or, of jax arrays and numbers, in a new one. `x` has the same shape and
        type everywhere."""
        return self._run_plan(_plan.broadcast(self.rank, x, out, root))

    def gather(self, x: Any, *, root: int = 0, out: Any = None) -> Any:
        """All ranks' `x` on the root, in an array with a new first axis of ranks; None elsewhere."""
        return self._run_plan(_plan.gathering("gather", self.size, self.rank, x, out, root))

    def scatter(self, x: Any = None, *, root: int = 0, out: Any = None) -> Any:
        """Cuts the first axis of the root's `x` into equal parts, one for each rank. Other ranks pass `out`."""
        return self._run_plan(_plan.scatter(self.size, self.rank, x, out, root))

    def all_to_all(self, x: Any, *, out: Any = None, splits: Sequence[int] | None = None,
                   out_splits: Sequence[int] | None = None) -> Any:
        """Sends each rank its part of the first axis of `x`; the result holds the parts from ranks 0, 1, ... in turn. Parts are equal, or
        `splits` says how many rows go to each rank, and `out_splits` how many come from each; without it ranks tell each other first."""
        if splits is None and out_splits is None:
            return self._all_to_all(x, out)
        if splits is None:
            raise InvalidArgument("out_splits= goes with splits=: how many rows of x go to each rank")
        if len(splits) != self.size or (out_splits is not None and len(out_splits) != self.size):
            raise InvalidArgument(f"splits= and out_splits= need a number for each of {self.size} ranks")
        if out_splits is None:
            out_splits = self._numbers_to_all(splits)
        return self._run_plan(_plan.exchange(self.rank, x, splits, out, out_splits))

    def all_gather_v(self, x: Any, *, counts: Sequence[int] | None = None, out: Any = None) -> Any:
        """All ranks' `x`, which may differ in the length of their first axis, one after the other along that axis. `counts`: their lengths;
        without it ranks tell each other first."""
        if counts is None:
            shape = _memory.of(x, False, "x").shape
            counts = self._numbers_of_all(shape[0] if shape else 1)
        return self._run_plan(_plan.gather_unequal(self.size, self.rank, x, counts, out))

    def send(self, x: Any, to: int) -> None:
        """Sends `x`; returns when it may be changed again. Messages between two ranks arrive in the order of the calls."""
        self._run_plan(_plan.send(x, to))

    def recv(self, out: Any, source: int) -> Any:
        """Fills `out` with a message of the same length and type from rank `source`."""
        return self._run_plan(_plan.recv(out, source))

    def send_recv(self, x: Any, to: int, out: Any, source: int) -> Any:
        """A send and a receive that go on together."""
        return self._run_plan(_plan.together([_plan.send(x, to), _plan.recv(out, source)]))[1]

    def group(self) -> CallGroup:
        """Calls that run as one when the block ends: `with comm.group() as g: g.send(x, to=1); g.recv(y, source=1)`."""
        return CallGroup(self, waits=True)

    # ---- life

    def split(self, color: int | None, key: int | None = None, *, name: str = "") -> Communicator | None:
        """Collective: ranks of the same color form a communicator, ordered by key, then by rank. None without a color."""
        recipe = self._split(color, self.rank if key is None else key, name)
        return None if recipe is None else Communicator._from_recipe(recipe, name)

    def dup(self, *, name: str = "") -> Communicator:
        """Collective: another communicator of the same ranks, whose operations are independent of this one's."""
        child = self.split(0, name=name)
        assert child is not None
        return child

    def shrink(self, excluded: Sequence[int]) -> Communicator:
        """A communicator of the ranks that are not excluded; also where this one is broken. Called by those that stay."""
        return Communicator._from_recipe(self._shrink(list(excluded), self.name), self.name)

    def shared(self, shape: int | Sequence[int], dtype: Any = "float64") -> Any:
        """Collective: a numpy array of zeros in memory that all ranks of this host map: operations on it need no copy. Each rank has its own.
        The memory lives as long as the array."""
        import numpy

        dims = (shape,) if isinstance(shape, int) else tuple(shape)
        kind = numpy.dtype(dtype)
        count = 1
        for n in dims:
            count *= n
        if count == 0:
            raise InvalidArgument(f"shared memory of shape {dims} would have no elements")
        address, life = self._shared(count * kind.itemsize)
        return numpy.asarray(_SharedMemory(address, count * kind.itemsize, life)).view(kind).reshape(dims)

    def explain(self, name: str, x: Any, op: str = "sum") -> str:
        """Which algorithm and protocol a call would use: "one_shot LL"."""
        memory = _memory.of(x, False, "x")
        if name not in _plan.KINDS:
            raise InvalidArgument(f"there is no operation {name!r}; operations are {', '.join(_plan.KINDS)}")
        count = memory.count // (self.size if name in ("reduce_scatter", "scatter", "all_to_all") else 1)
        return self._explain(_core.Call(_plan.KINDS[name], memory.address, memory.address, count, memory.type, _plan.OPS[op]))

    def status(self) -> dict[str, Any]:
        """What is known of it: rank, size, name, whether it is broken and by what, and who holds it up, as far as its monitor can tell."""
        kind, sentence, exclude = self._who()
        return {"rank": self.rank, "size": self.size, "name": self.name, "closed": self.closed, "broken": self.broken,
                "last_error": self.last_error, "held_up_by": {"kind": kind, "sentence": sentence, "exclude": exclude} if kind else None}

    def abort(self, reason: str = "no reason given") -> None:
        """Ends it for all ranks, which raise an error within a second. Any thread."""
        self._abort(reason)

    def close(self) -> None:
        """Waits for what runs, then leaves. Calls on a closed communicator raise an error."""
        self._close()

    def __enter__(self) -> Communicator:
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        if kind is not None and not self.broken:
            self._abort(f"{kind.__name__}: {value}")
        self._close()

    def __repr__(self) -> str:
        name = f" {self.name!r}" if self.name else ""
        state = " closed" if self.closed else " broken" if self.broken else ""
        return f"<tutti.Communicator{name} rank {self.rank} of {self.size}{state}>"

    def __reduce__(self) -> Any:
        raise InvalidUsage("a communicator cannot be pickled; make one in each process, by tutti.init()")


class _SharedMemory:
    """What numpy asks for an array over memory that `life` keeps."""

    def __init__(self, address: int, nbytes: int, life: Any) -> None:
        self.__array_interface__ = {"data": (address, False), "shape": (nbytes,), "typestr": "|u1", "version": 3}
        self._life = life


def from_environment(name: str = "", timeout: float | None = None, init_timeout: float | None = None) -> Communicator:
    """The communicator of the launcher's job; see tutti.init."""
    recipe = _core.recipe(0, 1, b"", name, _ms(timeout), _ms(init_timeout), None, True)
    return Communicator._from_recipe(recipe, name)


def _on_main_thread() -> bool:
    threading = sys.modules.get("threading")  # without it Python has no other thread
    return threading is None or threading.current_thread() is threading.main_thread()


def _leave_all() -> None:
    """At the end of the program: says goodbye, so that the others do not take this rank for dead."""
    for communicator in list(_ours):
        if communicator.closed:
            continue
        try:
            if getattr(sys, "last_value", None) is not None:
                communicator._abort("its program ended with an exception")
            elif not communicator._idle:
                communicator._abort("its program ended while operations were running")
            communicator._close()
        except Exception:  # noqa: BLE001 - nobody is left to hear of it
            pass


def _forget_all() -> None:
    """In a forked child, whose communicators are the parent's."""
    _core.is_main_thread()
    for communicator in list(_ours):
        communicator._abandon()
    _ours.clear()


atexit.register(_leave_all)
os.register_at_fork(after_in_child=_forget_all)
if _on_main_thread():
    _core.is_main_thread()
