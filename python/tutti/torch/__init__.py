# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""The backend `tutti` of torch.distributed, for tensors in host memory.

    torch.distributed.init_process_group("tutti")                  # or "cpu:tutti,cuda:nccl"

PyTorch finds it by itself (entry points). With versions before 2.14, "tutti" is the backend of all tensors of a group.
"""

from __future__ import annotations

import sys

_registered = False


def register() -> None:
    """Makes the backend known to torch.distributed. Any number of times."""
    global _registered
    if _registered:
        return
    import torch.distributed as dist

    if not dist.is_available():
        return
    _registered = True
    from . import _versions

    dist.Backend.register_backend("tutti", _versions.create, extended_api=True, devices=["cpu"])


def autoload() -> None:
    """For torch before 2.14, which calls this at the end of `import torch`: an error here would make that fail."""
    try:
        torch = sys.modules["torch"]
        if tuple(int(n) for n in torch.__version__.split(".")[:2]) < (2, 14):
            register()
    except Exception:  # noqa: BLE001 - then torch works without this backend
        pass
