# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""The functions of nccl.h, called by ctypes, which releases the GIL; and their errors."""

from __future__ import annotations

import ctypes
import enum
from ctypes import POINTER, c_char_p, c_float, c_int, c_size_t, c_uint, c_uint64, c_void_p
from typing import Any

from ..errors import Error, InvalidArgument
from . import _load


class Result(enum.IntEnum):
    """ncclResult_t."""

    Success = 0
    UnhandledCudaError = 1
    SystemError = 2
    InternalError = 3
    InvalidArgument = 4
    InvalidUsage = 5
    RemoteError = 6
    InProgress = 7
    Timeout = 8
    NumResults = 9


_CODES = {1: "system", 2: "system", 3: "internal", 4: "invalid argument", 5: "invalid usage", 6: "remote", 8: "timeout"}


class NCCLError(Error):
    """What the library could not do, in its own sentence. status: a Result."""

    status: int

    def __init__(self, status: int, sentence: str = "") -> None:
        super().__init__(sentence or meaning(status), code=_CODES.get(status, "internal"))
        self.status = status

    def __reduce__(self) -> Any:
        return type(self), (self.status, str(self))


class NcclInvalid(InvalidArgument):
    """An argument that cannot be handed to the library. msg: why."""

    @property
    def msg(self) -> str:
        return str(self)


class IdStruct(ctypes.Structure):
    """ncclUniqueId."""

    _fields_ = [("internal", ctypes.c_ubyte * 128)]


class ConfigStruct(ctypes.Structure):
    """ncclConfig_t. Fields that an older library does not know lie behind those that it does."""

    _fields_ = [("size", c_size_t), ("magic", c_uint), ("version", c_uint), ("blocking", c_int), ("cgaClusterSize", c_int),
                ("minCTAs", c_int), ("maxCTAs", c_int), ("netName", c_char_p), ("splitShare", c_int), ("trafficClass", c_int),
                ("commName", c_char_p), ("collnetEnable", c_int), ("CTAPolicy", c_int), ("shrinkShare", c_int), ("nvlsCTAs", c_int),
                ("nChannelsPerNetPeer", c_int), ("nvlinkCentricSched", c_int), ("graphUsageMode", c_int), ("numRmaCtx", c_int),
                ("maxP2pPeers", c_int), ("graphStreamOrdering", c_int)]


class SimStruct(ctypes.Structure):
    """ncclSimInfo_t."""

    _fields_ = [("size", c_size_t), ("magic", c_uint), ("version", c_uint), ("estimatedTime", c_float)]


class PropertiesStruct(ctypes.Structure):
    """ncclCommProperties_t."""

    _fields_ = [("size", c_size_t), ("magic", c_uint), ("version", c_uint), ("rank", c_int), ("nRanks", c_int), ("cudaDev", c_int),
                ("nvmlDev", c_int), ("deviceApiSupport", ctypes.c_bool), ("multimemSupport", ctypes.c_bool), ("ginType", c_int),
                ("nLsaTeams", c_int), ("hostRmaSupport", ctypes.c_bool), ("railedGinType", c_int)]


class WaitStruct(ctypes.Structure):
    """ncclWaitSignalDesc_t."""

    _fields_ = [("opCnt", c_int), ("peer", c_int), ("sigIdx", c_int), ("ctx", c_int)]


API_MAGIC = 0xCAFEBEEF
SIM_MAGIC = 0x74685283
HEADER_VERSION = 22809  # of the interface that the structs above have

_COMM = _STREAM = _WINDOW = _BUFFER = c_void_p
_ARGUMENTS: dict[str, list[Any]] = {
    "ncclGetVersion": [POINTER(c_int)],
    "ncclGetUniqueId": [POINTER(IdStruct)],
    "ncclMemAlloc": [POINTER(c_void_p), c_size_t],
    "ncclMemFree": [c_void_p],
    "ncclCommInitRankScalable": [POINTER(c_void_p), c_int, c_int, c_int, POINTER(IdStruct), POINTER(ConfigStruct)],
    "ncclCommInitAll": [POINTER(c_void_p), c_int, POINTER(c_int)],
    "ncclCommFinalize": [_COMM],
    "ncclCommDestroy": [_COMM],
    "ncclCommAbort": [_COMM],
    "ncclCommRevoke": [_COMM, c_int],
    "ncclCommSplit": [_COMM, c_int, c_int, POINTER(c_void_p), POINTER(ConfigStruct)],
    "ncclCommShrink": [_COMM, POINTER(c_int), c_int, POINTER(c_void_p), POINTER(ConfigStruct), c_int],
    "ncclCommGetUniqueId": [_COMM, POINTER(IdStruct)],
    "ncclCommGrow": [_COMM, c_int, POINTER(IdStruct), c_int, POINTER(c_void_p), POINTER(ConfigStruct)],
    "ncclCommGetAsyncError": [_COMM, POINTER(c_int)],
    "ncclCommCount": [_COMM, POINTER(c_int)],
    "ncclCommCuDevice": [_COMM, POINTER(c_int)],
    "ncclCommUserRank": [_COMM, POINTER(c_int)],
    "ncclCommQueryProperties": [_COMM, POINTER(PropertiesStruct)],
    "ncclCommSuspend": [_COMM, c_int],
    "ncclCommResume": [_COMM],
    "ncclCommMemStats": [_COMM, c_int, POINTER(c_uint64)],
    "ncclCommRegister": [_COMM, _BUFFER, c_size_t, POINTER(c_void_p)],
    "ncclCommDeregister": [_COMM, c_void_p],
    "ncclCommWindowRegister": [_COMM, _BUFFER, c_size_t, POINTER(c_void_p), c_int],
    "ncclCommWindowDeregister": [_COMM, _WINDOW],
    "ncclWinGetUserPtr": [_COMM, _WINDOW, POINTER(c_void_p)],
    "ncclRedOpCreatePreMulSum": [POINTER(c_int), c_void_p, c_int, c_int, _COMM],
    "ncclRedOpDestroy": [c_int, _COMM],
    "ncclReduce": [_BUFFER, _BUFFER, c_size_t, c_int, c_int, c_int, _COMM, _STREAM],
    "ncclBroadcast": [_BUFFER, _BUFFER, c_size_t, c_int, c_int, _COMM, _STREAM],
    "ncclAllReduce": [_BUFFER, _BUFFER, c_size_t, c_int, c_int, _COMM, _STREAM],
    "ncclReduceScatter": [_BUFFER, _BUFFER, c_size_t, c_int, c_int, _COMM, _STREAM],
    "ncclAllGather": [_BUFFER, _BUFFER, c_size_t, c_int, _COMM, _STREAM],
    "ncclAlltoAll": [_BUFFER, _BUFFER, c_size_t, c_int, _COMM, _STREAM],
    "ncclGather": [_BUFFER, _BUFFER, c_size_t, c_int, c_int, _COMM, _STREAM],
    "ncclScatter": [_BUFFER, _BUFFER, c_size_t, c_int, c_int, _COMM, _STREAM],
    "ncclSend": [_BUFFER, c_size_t, c_int, c_int, _COMM, _STREAM],
    "ncclRecv": [_BUFFER, c_size_t, c_int, c_int, _COMM, _STREAM],
    "ncclPutSignal": [_BUFFER, c_size_t, c_int, c_int, _WINDOW, c_size_t, c_int, c_int, c_uint, _COMM, _STREAM],
    "ncclSignal": [c_int, c_int, c_int, c_uint, _COMM, _STREAM],
    "ncclWaitSignal": [c_int, POINTER(WaitStruct), _COMM, _STREAM],
    "ncclGroupStart": [],
    "ncclGroupEnd": [],
    "ncclGroupSimulateEnd": [POINTER(SimStruct)],
    "ncclParamGetParameter": [c_char_p, POINTER(c_char_p), POINTER(c_int)],
    "ncclParamGetAllParameterKeys": [POINTER(POINTER(c_char_p)), POINTER(c_int)],
    "ncclTuttiSynchronize": [_COMM],
    "ncclTuttiVerdict": [_COMM, c_char_p, c_size_t, POINTER(c_int), POINTER(c_int)],
}


def _declared(name: str) -> Any:
    function = getattr(_load.library(), name)
    function.argtypes = _ARGUMENTS[name]
    function.restype = c_int
    return function


_functions = {name: _declared(name) for name in _ARGUMENTS}
_meaning = _load.library().ncclGetErrorString
_meaning.argtypes, _meaning.restype = [c_int], c_char_p
_last_error = _load.library().ncclGetLastError
_last_error.argtypes, _last_error.restype = [_COMM], c_char_p


def meaning(status: int) -> str:
    """What a result code says in general."""
    return _meaning(int(status)).decode()


def last_error(comm: int | None) -> str:
    """The library's sentence about what has failed: last on this thread, or, of a communicator, in the background."""
    return (_last_error(comm) or b"").decode(errors="replace")


def call(name: str, *arguments: Any) -> int:
    """Calls it, and raises NCCLError unless it succeeds or goes on in the background."""
    status = _functions[name](*arguments)
    if status not in (Result.Success, Result.InProgress):
        raise NCCLError(status, last_error(None))
    return status
