# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""How a program's ranks begin: by a launcher, or out of a running program."""

from __future__ import annotations

import os
import sys
import time

from ._communicator import Communicator, from_environment, unique_id
from .errors import Error, InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

_of_run: Communicator | None = None  # of a rank that run() has started
_GRACE_S = 5.0


class RankError(Error):
    """A rank that run() has started has failed. `peer` is its number; the message ends with its traceback."""


def init(*, name: str = "", timeout: float | None = None, init_timeout: float | None = None) -> Communicator:
    """The communicator of this program's ranks. Blocks until all are there.

    Who this process is follows from its launcher's variables: tutti run, torchrun, mpirun, srun and others (docs/hosts.md); without a launcher
    it is the only rank. In a function that tutti.run has started: that run's communicator. Each call makes another communicator of the same
    ranks, so all ranks must call equally often.

    timeout: seconds that a wait for a late rank may last (TUTTI_TIMEOUT_MS). init_timeout: that this may last (TUTTI_INIT_TIMEOUT_MS).
    """
    if _of_run is not None and not _of_run.closed:
        return _of_run
    return from_environment(name, timeout, init_timeout)


def _takes_communicator(fn: Callable[..., Any]) -> bool:
    import inspect

    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        return True
    return any(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.VAR_POSITIONAL) for p in parameters)


def _rank_main(fn: Callable[..., Any], args: Sequence[Any], rank: int, ranks: int, id_: bytes, options: dict[str, Any],
               answer: Any) -> None:
    """What a started process does. Its answer: ("result", pickle) or ("error", text of the traceback, pickle of the exception or None)."""
    import pickle

    global _of_run
    os.environ.update({"RANK": str(rank), "WORLD_SIZE": str(ranks), "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(ranks)})
    try:
        with Communicator(rank, ranks, id_, **options) as comm:
            _of_run = comm
            value = fn(comm, *args) if _takes_communicator(fn) else fn()
        data = ("result", pickle.dumps(value))
    except BaseException as error:  # noqa: BLE001 - the caller gets it
        try:
            kept = pickle.dumps(error)
        except Exception:  # noqa: BLE001
            kept = None
        import traceback

        data = ("error", traceback.format_exc(), kept)
    try:
        answer.send(data)
    except BrokenPipeError:  # nobody waits for it
        pass
    answer.close()
    sys.stdout.flush()
    sys.stderr.flush()


class _Job:
    """The processes of one run()."""

    def __init__(self, start: str) -> None:
        import multiprocessing

        self.context: Any = multiprocessing.get_context(start)
        self.processes: list[Any] = []
        self.answers: list[Any] = []

    def launch(self, fn: Callable[..., Any], args: Sequence[Any], ranks: int, options: dict[str, Any]) -> None:
        id_ = unique_id()
        for rank in range(ranks):
            here, there = self.context.Pipe(duplex=False)
            process = self.context.Process(target=_rank_main, args=(fn, args, rank, ranks, bytes(id_), options, there),
                                           name=f"tutti rank {rank}")
            process.start()
            there.close()
            self.processes.append(process)
            self.answers.append(here)

    def collect(self, timeout: float | None) -> list[Any]:
        from multiprocessing.connection import wait

        until = None if timeout is None else time.monotonic() + timeout
        results: dict[int, Any] = {}
        failed: tuple[int, str, BaseException | None] | None = None
        open_ = dict(enumerate(self.answers))
        while open_:
            left = None if until is None else until - time.monotonic()
            if left is not None and left <= 0:
                break
            for answer in wait(list(open_.values()), timeout=left):
                rank = next(r for r, a in open_.items() if a is answer)
                del open_[rank]
                told = self._take(rank)
                if told[0] == "result":
                    results[rank] = told[1]
                elif failed is None or _is_consequence(failed[2]) and not _is_consequence(told[2]):
                    failed = (rank, told[1], told[2])
                if failed is not None:  # the others hear of it from their communicator
                    until = min(until or float("inf"), time.monotonic() + _GRACE_S)
        if failed is not None:
            rank, text, cause = failed
            raise RankError(f"rank {rank} of {len(self.answers)} has failed:\n{text}", peer=rank) from cause
        if open_:
            raise RankError(f"ranks {sorted(open_)} have not ended within {timeout} s; they were killed", code="timeout", peer=min(open_))
        return [results[rank] for rank in range(len(self.answers))]

    def _take(self, rank: int) -> tuple[str, Any, Any]:
        import pickle

        try:
            told = self.answers[rank].recv()
        except EOFError:
            self.processes[rank].join()
            code = self.processes[rank].exitcode
            how = f"was ended by signal {-code}" if code < 0 else f"has ended with exit code {code}"
            return "error", f"its process {how} before the function returned", None
        if told[0] == "result":
            return "result", pickle.loads(told[1]), None
        return "error", told[1], pickle.loads(told[2]) if told[2] is not None else None

    def end(self) -> None:
        for process in self.processes:
            process.join(timeout=_GRACE_S if process.exitcode is None and not self.killing else 0)
            if process.is_alive():
                process.kill()
                process.join()

    killing = False


def _is_consequence(error: BaseException | None) -> bool:
    """Whether it only says that another rank has failed."""
    return isinstance(error, Error) and error.code == "remote"


def run(fn: Callable[..., Any], ranks: int = 4, args: Sequence[Any] = (), *, timeout: float | None = None, start: str | None = None,
        name: str = "") -> list[Any]:
    """Calls `fn(comm, *args)` on so many ranks, each a new process, and returns what they return, by rank.

    fn: gets the communicator, unless it takes no argument; then tutti.init() in it returns it. timeout: seconds for all of it.
    start: "fork" (the default: works in notebooks and for functions within functions) or "spawn", which starts from a fresh interpreter; where
    jax has been imported that is the default, since its threads do not outlive a fork.
    Raises RankError where a rank raises or dies: of the rank that failed first, with its traceback; the others are ended.
    """
    if ranks < 1:
        raise InvalidArgument(f"run needs at least 1 rank, not {ranks}")
    job = _Job(start or ("spawn" if "jax" in sys.modules else "fork"))
    try:
        job.launch(fn, args, ranks, {"name": name})
        return job.collect(timeout)
    except BaseException:
        job.killing = True
        raise
    finally:
        job.end()


