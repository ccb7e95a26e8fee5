# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""What torch's versions ask of a backend in Python: a Backend from 2.14 on, a ProcessGroup before."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import torch.distributed as dist
from torch._C._distributed_c10d import Backend

from .._communicator import Communicator, UniqueId, unique_id
from . import _direct
from ._calls import Calls

_KEY = "tutti_id"
_LEAST_MEETING_S = 60.0  # a group's timeout is for its operations; ranks of a busy machine may be later than a short one to make it


def has_python_backends() -> bool:
    """Whether a Backend can be written in Python: PyBackend came with 2.14."""
    return hasattr(Backend, "all_gather_single") or hasattr(Backend, "supports_window")


def meet(store: Any, rank: int, size: int, timeout: timedelta, name: str) -> Communicator:
    """The communicator of a group, whose ranks share a store."""
    if rank == 0:
        store.set(_KEY, unique_id().hex())
    seconds = max(timeout.total_seconds(), 0.001)
    id_ = UniqueId.from_hex(bytes(store.get(_KEY)).decode())
    return Communicator(rank, size, id_, name=name, timeout=seconds, init_timeout=max(seconds, _LEAST_MEETING_S))


def _options_of(opts: Any) -> Any:
    options = Backend.Options("tutti", timeout=opts.timeout)
    for field, value in (("global_ranks_in_group", opts.global_ranks_in_group), ("group_name", opts.group_id)):
        if hasattr(options, field):
            setattr(options, field, value)
    return options


class TuttiBackend(Calls, Backend):
    """The backend of a group, for its tensors on the CPU."""

    def __init__(self, store: Any, communicator: Communicator, options: Any) -> None:
        Backend.__init__(self, communicator.rank, communicator.size)
        self._options = options
        self._begin_calls(communicator, store, options._timeout)

    def getBackendName(self) -> str:
        return "tutti"

    @property
    def options(self) -> Any:
        return self._options

    @property
    def supports_splitting(self) -> bool:
        return True

    @property
    def supports_coalescing(self) -> bool:
        return True

    def split(self, store: Any, ranks: list[int], opts: Any) -> TuttiBackend | None:
        """Collective: the backend of some of this one's ranks; None on the others."""
        ranks = list(ranks)
        options = opts if opts is not None else Backend.Options("tutti", timeout=self._options._timeout)
        parent = list(self._options.global_ranks_in_group)
        options.global_ranks_in_group = [parent[r] for r in ranks] if len(parent) == self.size() else ranks
        member = self.rank() in ranks
        child = self._communicator.split(min(ranks) if member else None, ranks.index(self.rank()) if member else 0,
                                         name=self._communicator.name)
        return TuttiBackend(store, child, options) if child is not None else None


class TuttiProcessGroup(Calls, dist.ProcessGroup):
    """The same as a whole process group, for torch before 2.14."""

    def __init__(self, store: Any, communicator: Communicator, timeout: timedelta) -> None:
        dist.ProcessGroup.__init__(self, communicator.rank, communicator.size)
        self._begin_calls(communicator, store, timeout)

    def getBackendName(self) -> str:
        return "tutti"

    def name(self) -> str:
        return "tutti"


def create(opts: Any, backend_options: Any = None) -> Any:
    """What torch.distributed calls for each new group."""
    communicator = meet(opts.store, opts.group_rank, opts.group_size, opts.timeout, str(opts.group_id))
    if not has_python_backends():
        return TuttiProcessGroup(opts.store, communicator, opts.timeout)
    _direct.install(TuttiBackend)
    return TuttiBackend(opts.store, communicator, backend_options if isinstance(backend_options, Backend.Options) else _options_of(opts))
