# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""What goes wrong: every error of Tutti is an Error, and says who caused it and what to do.

    try:
        comm.all_reduce(x, out=x)
    except tutti.PeerLost as error:
        print(error.peer, error.remedy)
"""

from __future__ import annotations

import time

from . import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_CODES = {2: "system", 3: "internal", 4: "invalid argument", 5: "invalid usage", 6: "remote", 7: "in progress", 8: "timeout",
          9: "unsupported"}


class Error(RuntimeError):
    """Something that Tutti could not do.

    code: the kind of error, a word; peer: the rank that caused it, None where none is known; remedy: the part of the message that says
    what to do, empty where it says nothing; calls: of calls that do not match, the lines of the program that made them, by rank.
    """

    code: str = "internal"
    peer: int | None = None
    remedy: str = ""
    calls: dict[int, str]

    def __init__(self, message: str = "", *, code: str | None = None, peer: int | None = None,
                 calls: dict[int, str] | None = None) -> None:
        super().__init__(message)
        self.peer = peer
        self.calls = calls or {}
        self.remedy = _remedy_of(message)
        if code is not None:
            self.code = code

    def __reduce__(self) -> Any:
        return _rebuild, (type(self), str(self), self.code, self.peer, self.calls)


class PeerLost(Error):
    """Another rank died, aborted or left."""

    code = "remote"


class Timeout(Error, TimeoutError):
    """A wait passed its deadline."""

    code = "timeout"


class InvalidUsage(Error):
    """The arguments are fine; the call is not allowed here."""

    code = "invalid usage"


class Mismatch(InvalidUsage):
    """Ranks have called different things. `calls` says from where."""


class InvalidArgument(Error, ValueError):
    """An argument is wrong on its own."""

    code = "invalid argument"


class Unsupported(Error):
    """It asks for something that this build or machine cannot do."""

    code = "unsupported"


def _rebuild(kind: type[Error], message: str, code: str, peer: int | None, calls: dict[int, str]) -> Error:
    return kind(message, code=code, peer=peer, calls=calls)


def _remedy_of(message: str) -> str:
    _, semicolon, rest = message.split("\n", 1)[0].rpartition("; ")
    return rest if semicolon else ""


# Calls that do not match are an error on all ranks at the same time, and each reads in the others' memory from where they have called: a program
# that ends at once would be gone before.
_LINGER_S = 0.2

_CLASSES: dict[int, type[Error]] = {4: InvalidArgument, 5: InvalidUsage, 6: PeerLost, 8: Timeout, 9: Unsupported}
_CALLS = r"rank (\d+) called [^;]*? as its operation (\d+) where rank (\d+) called "


def _lines_of_calls(message: str, communicator: Any) -> dict[int, str] | None:
    """The lines of both calls that do not match; None where the message is not about such calls."""
    import re

    found = re.search(_CALLS, message)
    if found is None:
        return {} if "do not match" in message or "must make the same calls" in message else None
    lines = {}
    for rank in (int(found[1]), int(found[3])):
        line = communicator._find_site(rank, int(found[2])) if communicator is not None else ""
        if line:
            lines[rank] = line
    return lines


def make(code: int, message: str, peer: int, communicator: Any) -> Error:
    """The exception for a status of the library. Called by tutti._core."""
    kind = _CLASSES.get(code, Error)
    lines = _lines_of_calls(message, communicator) if code == 5 else None
    if lines is not None:
        kind = Mismatch
        time.sleep(_LINGER_S)
        if lines:
            message += "\n" + "\n".join(f"  rank {rank}: {line}" for rank, line in sorted(lines.items()))
    return kind(message, code=_CODES.get(code, "internal"), peer=peer if peer >= 0 else None, calls=lines)


_core.set_error_factory(make)
