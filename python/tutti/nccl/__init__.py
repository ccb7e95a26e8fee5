# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Tutti's libnccl.so.2 in place of NVIDIA's, with the names of nccl.core of nccl4py.

    import tutti.nccl as nccl      # before torch, so that torch uses this library too

    comm = nccl.Communicator.init(nranks, rank, unique_id)
    comm.allreduce(x, y, nccl.SUM)
    comm.synchronize()

Importing it loads the library. It raises ImportError where the process has another libnccl already.

Buffers are arrays on GPUs (torch, cupy, jax, whatever has DLPack or the CUDA array interface) or contiguous arrays in host memory. Counts
are elements. Operations return before they have ended: on GPUs they take place in their stream, in host memory one after the other;
`synchronize` waits for the latter, and the communicator keeps their arrays alive until then.

Threads: one thread at a time calls methods of a communicator, except abort, revoke, get_async_error, get_last_error and verdict.
Errors: NcclInvalid for arguments of the wrong kind, NCCLError for what the library refuses, with its sentence. Both are tutti.Error.
"""

from .. import __version__
from . import _load
from ._buffers import Allocation, NcclBufferSpec, NcclScalarSpec, NcclStreamSpec, mem_alloc, mem_free
from ._communicator import Communicator
from ._config import NCCLConfig
from ._group import GroupSimInfo, group, group_end, group_simulate_end, group_start
from ._identity import (LibraryInfo, UniqueId, Version, VersionInfo, dump_params, get_error_string, get_lib_path, get_lib_version,
                        get_unique_id, get_version, params, show_versions)
from ._library import NCCLError, NcclInvalid, Result
from ._operations import WaitSignalDesc
from ._resources import CustomRedOp, RegisteredBufferHandle, RegisteredWindowHandle
from ._types import (AVG, BFLOAT16, CHAR, DOUBLE, FLOAT, FLOAT8E4M3, FLOAT8E5M2, FLOAT16, FLOAT32, FLOAT64, HALF, INT, INT8, INT32, INT64,
                     MAX, MIN, NCCL_SPLIT_NOCOLOR, NCCL_UNDEF_FLOAT, NCCL_UNDEF_INT, PROD, SUM, UINT8, UINT32, UINT64, CommShrinkFlag,
                     CommSuspendFlag, CTAPolicy, NcclCommMemStat, NcclDataType, NcclGinType, NcclRedOp, WindowFlag)

__all__ = [
    "AVG", "BFLOAT16", "CHAR", "DOUBLE", "FLOAT", "FLOAT16", "FLOAT32", "FLOAT64", "FLOAT8E4M3", "FLOAT8E5M2", "HALF", "INT", "INT32",
    "INT64", "INT8", "MAX", "MIN", "NCCL_SPLIT_NOCOLOR", "NCCL_UNDEF_FLOAT", "NCCL_UNDEF_INT", "PROD", "SUM", "UINT32", "UINT64",
    "UINT8", "Allocation", "CTAPolicy", "CommShrinkFlag", "CommSuspendFlag", "Communicator", "CustomRedOp", "GroupSimInfo",
    "LibraryInfo", "NCCLConfig", "NCCLError", "NcclBufferSpec", "NcclCommMemStat", "NcclDataType", "NcclGinType", "NcclInvalid",
    "NcclRedOp", "NcclScalarSpec", "NcclStreamSpec", "RegisteredBufferHandle", "RegisteredWindowHandle", "Result", "UniqueId",
    "Version", "VersionInfo", "WaitSignalDesc", "WindowFlag", "__version__", "dump_params", "get_error_string", "get_lib_path",
    "get_lib_version", "get_unique_id", "get_version", "group", "group_end", "group_simulate_end", "group_start", "mem_alloc",
    "mem_free", "params", "show_versions",
]

_load.library()
