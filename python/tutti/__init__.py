# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Tutti: collective communication between processes.

    import tutti

    def work(comm):
        return comm.all_reduce(comm.rank + 1)

    tutti.run(work, ranks=4)      # [10, 10, 10, 10]

In a program that a launcher starts (tutti run, torchrun, mpirun, srun): comm = tutti.init().
"""

# The import is to take little time. So modules of this package import what is slow (typing, re, pickle, threading) where it is used, or,
# for annotations, where a type checker reads: under `TYPE_CHECKING = False`.
from ._communicator import Communicator, UniqueId, unique_id
from ._core import __version__
from ._launch import RankError, init, run
from ._requests import CallGroup, Request
from .errors import Error, InvalidArgument, InvalidUsage, Mismatch, PeerLost, Timeout, Unsupported

ops = ("sum", "prod", "max", "min", "avg", "and", "or", "xor")
dtypes = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "bfloat16", "float32", "float64",
          "float8_e4m3fn", "float8_e5m2", "bool", "complex64", "complex128")

__all__ = ["CallGroup", "Communicator", "Error", "InvalidArgument", "InvalidUsage", "Mismatch", "PeerLost", "RankError", "Request",
           "Timeout", "UniqueId", "Unsupported", "__version__", "dtypes", "init", "ops", "run", "unique_id"]


def version() -> str:
    """The library's version."""
    return __version__
