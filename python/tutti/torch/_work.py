# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""What async calls return, and the thread that completes their futures."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from .. import _core
from ..errors import Timeout


class explained:  # noqa: N801 - used as a word: with explained(group): ...
    """Errors of the library in the words of torch.distributed, whose users look for them."""

    __slots__ = ("group",)

    def __init__(self, group: Any) -> None:
        self.group = group

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, Timeout):
            raise Timeout(f"[Rank {self.group.rank()}] Timed out in a collective: {error}", peer=error.peer) from None


class Work(dist._Work):
    """An operation that runs on. Threads: any."""

    def __init__(self, request: _core.Request | None, outputs: list[torch.Tensor], settle: Callable[[], None] | None,
                 finisher: Finisher, group: Any) -> None:
        super().__init__()
        self._request = request
        self._outputs = outputs
        self._settle = settle  # puts results into place
        self._finisher = finisher
        self._group = group
        self._lock = threading.Lock()
        self._done = False
        self._error: BaseException | None = None
        self._future: torch.futures.Future | None = None

    def _finish(self, timeout_s: float) -> bool:
        """Whether the operation has ended, within a time; raises its error."""
        if not self._done:
            try:
                with explained(self._group):
                    if self._request is not None and not self._request._wait(timeout_s):
                        return False
            except Exception as error:  # noqa: BLE001 - kept for all who ask; KeyboardInterrupt is no outcome
                self._error = error
            with self._lock:
                if not self._done:
                    if self._settle is not None and self._error is None:
                        self._settle()
                    self._settle = None
                    self._done = True
        if self._error is not None:
            raise self._error
        return True

    def wait(self, timeout: timedelta = timedelta(0)) -> bool:
        seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else float(timeout)
        if not self._finish(seconds if seconds > 0 else -1.0):
            raise RuntimeError(f"Timed out: the operation has not ended within {seconds} s; it still runs, and later calls of this group wait "
                               "for it")
        return True

    def synchronize(self) -> None:
        self.wait()

    def is_completed(self) -> bool:
        if self._done:
            return True
        try:
            return self._request is None or self._request.test()
        except Exception:  # noqa: BLE001 - wait raises it
            return True

    def is_success(self) -> bool:
        return self.is_completed() and self.exception() is None

    def exception(self) -> BaseException | None:
        if self.is_completed():
            try:
                self._finish(-1.0)
            except Exception:  # noqa: BLE001 - it is what is asked for
                pass
        return self._error

    def result(self) -> list[torch.Tensor]:
        self.wait()
        return self._outputs

    def get_future(self) -> torch.futures.Future:
        with self._lock:
            if self._future is not None:
                return self._future
            self._future = torch.futures.Future()
        if self._done:
            self._complete()
        else:
            self._finisher.add(self)
        return self._future

    def _complete(self) -> None:
        assert self._future is not None
        try:
            self._finish(-1.0)
        except Exception as error:  # noqa: BLE001 - the future's
            self._future.set_exception(error)
            return
        self._future.set_result(self._outputs)


class Finisher:
    """A thread that waits for works, one after the other, and completes their futures: of a group's collectives, which end in the order
    of their calls. It runs while there is something to wait for."""

    _IDLE_S = 10.0

    def __init__(self, name: str) -> None:
        self._name = name
        self._works: queue.SimpleQueue[Work] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._running = False

    def add(self, work: Work) -> None:
        self._works.put(work)
        with self._lock:
            if not self._running:
                self._running = True
                threading.Thread(target=self._run, name=self._name, daemon=True).start()

    def _run(self) -> None:
        while True:
            try:
                work = self._works.get(timeout=self._IDLE_S)
            except queue.Empty:
                with self._lock:
                    if self._works.empty():
                        self._running = False
                        return
                continue
            work._complete()


class Together(dist._Work):
    """Several works as one: what a coalesced block returns."""

    def __init__(self, works: list[Any]) -> None:
        super().__init__()
        self._works = [work for work in works if work is not None]

    def wait(self, timeout: timedelta = timedelta(0)) -> bool:
        for work in self._works:
            work.wait(timeout)
        return True

    def is_completed(self) -> bool:
        return all(work.is_completed() for work in self._works)

    def get_future(self) -> torch.futures.Future:
        done: torch.futures.Future = torch.futures.Future()
        if not self._works:
            done.set_result([])
            return done
        all_ = torch.futures.collect_all([work.get_future() for work in self._works])
        return all_.then(lambda f: [t for part in f.value() for t in (part.value() or [])])
