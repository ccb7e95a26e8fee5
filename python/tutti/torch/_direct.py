# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Messages through a ProcessGroup of torch 2.14 and later.

What such a group returns wraps a backend's Work, and the wrapper hands on only wait and get_future: whether a message has arrived, and who has
sent it, is lost. So for groups whose backend for the CPU is Tutti's, send, recv and recv_anysource go to the backend itself. Everything else
stays as it is.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist

_installed = False


def install(kind: type) -> None:
    """From here on. `kind`: the class of the backends that it is about. Any number of times."""
    global _installed
    if _installed:
        return
    _installed = True
    for name in ("send", "recv", "recv_anysource"):
        setattr(dist.ProcessGroup, name, _direct(name, getattr(dist.ProcessGroup, name), kind))


def _direct(name: str, inherited: Any, kind: type) -> Any:
    cpu = torch.device("cpu")

    def call(self: Any, tensors: list[torch.Tensor], *args: Any, **options: Any) -> Any:
        if tensors[0].device.type == "cpu":
            try:
                backend = self._get_backend(cpu)
            except RuntimeError:
                backend = None
            if isinstance(backend, kind):
                return getattr(backend, name)(tensors, *args, **options)
        return inherited(self, tensors, *args, **options)

    call.__name__ = name
    call.__doc__ = inherited.__doc__
    return call
