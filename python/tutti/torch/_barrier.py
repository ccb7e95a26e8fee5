# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""A barrier by the group's store, which can say who has not come."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any


def _wait_for(store: Any, keys: list[str], until: float) -> list[str]:
    """Those of the keys that are not there in time."""
    nap = 0.0005
    missing = list(keys)
    while True:
        missing = [key for key in missing if not store.check([key])]
        if not missing or time.monotonic() > until:
            return missing
        time.sleep(nap)
        nap = min(nap * 1.5, 0.02)


def monitored_barrier(store: Any, key: str, rank: int, ranks: int, timeout: timedelta, wait_all_ranks: bool) -> None:
    until = time.monotonic() + timeout.total_seconds()
    if rank == 0 and timeout.total_seconds() <= 0 and ranks > 1:
        said = f"Rank 0 timed out in monitoredBarrier after {timeout.total_seconds() * 1000:.0f} ms"
        store.set(f"{key}/done", said)
        raise RuntimeError(f"[Rank 0]: {said}")
    if rank != 0:
        store.set(f"{key}/{rank}", "1")
        if _wait_for(store, [f"{key}/done"], until):
            raise RuntimeError(f"Rank {rank} successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank 0. "
                               "Please check rank 0 logs for faulty rank.")
        said = bytes(store.get(f"{key}/done")).decode()
        if said != "ok":
            raise RuntimeError(f"Rank {rank} successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank 0: "
                               f"{said}")
        return
    missing = []
    for other in range(1, ranks):
        if _wait_for(store, [f"{key}/{other}"], until):
            missing.append(other)
            if not wait_all_ranks:
                break
    said = "ok"
    if missing and wait_all_ranks:
        said = f"Ranks {', '.join(str(r) for r in missing)} failed to pass monitoredBarrier in {timeout.total_seconds() * 1000:.0f} ms"
    elif missing:
        said = f"Rank {missing[0]} failed to pass monitoredBarrier in {timeout.total_seconds() * 1000:.0f} ms"
    store.set(f"{key}/done", said)
    if missing:
        raise RuntimeError(f"[Rank 0]: {said}")
