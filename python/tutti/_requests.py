# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Operations that run on while the program does something else, and operations that run as one."""

from __future__ import annotations

from . import _core, _plan
from .errors import InvalidUsage, Timeout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from typing import Any

    from ._communicator import Communicator


class Request:
    """A running operation. Keep its arrays as they are until it has ended. Dropping it neither stops the operation nor frees its
    arrays too early."""

    def __init__(self, running: _core.Request | None, plan: _plan.Plan) -> None:
        self._running = running
        self._plan: _plan.Plan | None = plan
        self._result: Any = None

    def _take_result(self) -> Any:
        if self._plan is not None:
            self._result = self._plan.finish()
            self._plan = None
        return self._result

    def wait(self, timeout: float | None = None) -> Any:
        """The operation's result, once it has ended. Raises its error; Timeout after `timeout` seconds, after which the operation still
        runs, and so it does after a KeyboardInterrupt."""
        if self._running is not None and not self._running._wait(-1.0 if timeout is None else max(timeout, 0.0)):
            raise Timeout(f"the operation has not ended within {timeout} s; it still runs: wait again, or end it with comm.abort()")
        return self._take_result()

    def test(self) -> bool:
        """Whether it has ended. Raises its error."""
        return self._running is None or self._running.test()

    @property
    def result(self) -> Any:
        """What wait returns. Raises InvalidUsage where the operation still runs."""
        if not self.test():
            raise InvalidUsage("the operation still runs; call wait(), or await it")
        return self._take_result()

    def __await__(self) -> Generator[Any, None, Any]:
        return self._wait_beside().__await__()

    async def _wait_beside(self) -> Any:
        if not self.test():
            import asyncio

            await asyncio.get_running_loop().run_in_executor(None, self.wait)
        return self._take_result()


class Start:
    """comm.start: the same calls as of the communicator; each returns a Request instead of waiting. Operations of a communicator take place
    one after the other, in the order of the calls; sends and receives that are to go on together are a group."""

    def __init__(self, communicator: Communicator) -> None:
        self._communicator = communicator

    def _begin(self, plan: _plan.Plan) -> Request:
        return self._communicator._begin_plan(plan)

    def all_reduce(self, x: Any, op: str = "sum", *, out: Any = None, scale: float | None = None) -> Request:
        c = self._communicator
        return self._begin(_plan.reduction("all_reduce", c.size, c.rank, x, out, op, 0, scale))

    def reduce(self, x: Any, op: str = "sum", *, root: int = 0, out: Any = None, scale: float | None = None) -> Request:
        c = self._communicator
        return self._begin(_plan.reduction("reduce", c.size, c.rank, x, out, op, root, scale))

    def reduce_scatter(self, x: Any, op: str = "sum", *, out: Any = None, scale: float | None = None) -> Request:
        c = self._communicator
        return self._begin(_plan.reduction("reduce_scatter", c.size, c.rank, x, out, op, 0, scale))

    def all_gather(self, x: Any, *, out: Any = None) -> Request:
        c = self._communicator
        return self._begin(_plan.gathering("all_gather", c.size, c.rank, x, out, 0))

    def gather(self, x: Any, *, root: int = 0, out: Any = None) -> Request:
        c = self._communicator
        return self._begin(_plan.gathering("gather", c.size, c.rank, x, out, root))

    def broadcast(self, x: Any, *, root: int = 0, out: Any = None) -> Request:
        return self._begin(_plan.broadcast(self._communicator.rank, x, out, root))

    def scatter(self, x: Any = None, *, root: int = 0, out: Any = None) -> Request:
        c = self._communicator
        return self._begin(_plan.scatter(c.size, c.rank, x, out, root))

    def all_to_all(self, x: Any, *, out: Any = None, splits: Sequence[int] | None = None,
                   out_splits: Sequence[int] | None = None) -> Request:
        c = self._communicator
        if splits is None and out_splits is None:
            return self._begin(_plan.all_to_all(c.size, x, out))
        if splits is None or out_splits is None:
            raise InvalidUsage("start.all_to_all needs both splits= and out_splits=, since it cannot wait for what the others send")
        return self._begin(_plan.exchange(c.rank, x, splits, out, out_splits))

    def barrier(self) -> Request:
        return self._begin(_plan.Plan([_core.Call(_plan.BARRIER, 0, 0, 0, 1)], None, lambda: None))

    def send(self, x: Any, to: int) -> Request:
        return self._begin(_plan.send(x, to))

    def recv(self, out: Any, source: int) -> Request:
        return self._begin(_plan.recv(out, source))

    def group(self) -> CallGroup:
        """As Communicator.group, but it is begun at the end of the block; its request is `group.request`."""
        return CallGroup(self._communicator, waits=False)


class CallGroup:
    """Calls that run as one: sends and receives in it go on together, so no order of them can hold ranks up.

        with comm.group() as g:
            g.send(x, to=1)
            g.recv(y, source=1)
    """

    def __init__(self, communicator: Communicator, waits: bool) -> None:
        self._communicator = communicator
        self._waits = waits
        self._plans: list[_plan.Plan] = []
        self.request: Request | None = None

    def send(self, x: Any, to: int) -> None:
        self._plans.append(_plan.send(x, to))

    def recv(self, out: Any, source: int) -> None:
        self._plans.append(_plan.recv(out, source))

    def all_reduce(self, x: Any, op: str = "sum", *, out: Any, scale: float | None = None) -> None:
        c = self._communicator
        self._plans.append(_plan.reduction("all_reduce", c.size, c.rank, x, out, op, 0, scale))

    def broadcast(self, x: Any, *, root: int = 0) -> None:
        self._plans.append(_plan.broadcast(self._communicator.rank, x, None, root))

    def __enter__(self) -> CallGroup:
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        if kind is not None or not self._plans:
            return
        plan = _plan.together(self._plans)
        if self._waits:
            self._communicator._run_plan(plan)
        else:
            self.request = self._communicator._begin_plan(plan)
