# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Types of elements, operators, and flags."""

from __future__ import annotations

import enum
from typing import Any

from ._library import NcclInvalid

NCCL_UNDEF_INT = -2147483648
NCCL_UNDEF_FLOAT = -1.0
NCCL_SPLIT_NOCOLOR = -1

# By number: the name that nccl4py gives it, that of numpy and torch, and bytes.
_TYPES = (("Int8", "int8", 1), ("Uint8", "uint8", 1), ("Int32", "int32", 4), ("Uint32", "uint32", 4), ("Int64", "int64", 8),
          ("Uint64", "uint64", 8), ("Float16", "float16", 2), ("Float32", "float32", 4), ("Float64", "float64", 8),
          ("Bfloat16", "bfloat16", 2), ("Float8e4m3", "float8_e4m3fn", 1), ("Float8e5m2", "float8_e5m2", 1))
_OPERATORS = ("Sum", "Prod", "Max", "Min", "Avg")


class NcclDataType:
    """ncclDataType_t, from its number or from a dtype of numpy or ml_dtypes."""

    __slots__ = ("_number",)

    def __init__(self, datatype: Any) -> None:
        name = getattr(datatype, "name", None) if not isinstance(datatype, NcclDataType) else None
        if name is not None:
            self._number = next((i for i, row in enumerate(_TYPES) if row[1] == name), -1)
        else:
            self._number = int(datatype)
        if not 0 <= self._number < len(_TYPES):
            names = ", ".join(row[1] for row in _TYPES)
            raise NcclInvalid(f"{datatype!r} is no type that NCCL has; types are {names}, and anything else can be viewed as uint8")

    def __int__(self) -> int:
        return self._number

    __index__ = __int__

    def __eq__(self, other: object) -> bool:
        return self._number == other._number if isinstance(other, NcclDataType) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._number)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"NcclDataType({self.name})"

    @property
    def value(self) -> int:
        return self._number

    @property
    def name(self) -> str:
        return _TYPES[self._number][0]

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return _TYPES[self._number][2]

    @property
    def numpy_dtype(self) -> Any:
        """numpy's dtype; of bfloat16 and float8 that of ml_dtypes, which must be installed."""
        import numpy

        name = _TYPES[self._number][1]
        if hasattr(numpy, name):
            return numpy.dtype(name)
        try:
            import ml_dtypes
        except ImportError:
            raise NcclInvalid(f"numpy has {name} only with the package ml_dtypes; install it (pip install ml-dtypes)") from None
        return numpy.dtype(getattr(ml_dtypes, name))


class NcclRedOp:
    """ncclRedOp_t, from its number: an operator of all communicators. Others are made by Communicator.create_pre_mul_sum."""

    __slots__ = ("_number",)

    def __init__(self, value: int) -> None:
        self._number = int(value)
        if not 0 <= self._number < len(_OPERATORS):
            raise NcclInvalid(f"{value!r} is no operator; operators are SUM, PROD, MAX, MIN, AVG, and what create_pre_mul_sum returns")

    def __int__(self) -> int:
        return self._number

    __index__ = __int__

    def __eq__(self, other: object) -> bool:
        return self._number == other._number if isinstance(other, NcclRedOp) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._number)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<NcclRedOp: {self.name}>"

    @property
    def value(self) -> int:
        return self._number

    @property
    def name(self) -> str:
        return _OPERATORS[self._number]


INT8 = CHAR = NcclDataType(0)
UINT8 = NcclDataType(1)
INT32 = INT = NcclDataType(2)
UINT32 = NcclDataType(3)
INT64 = NcclDataType(4)
UINT64 = NcclDataType(5)
FLOAT16 = HALF = NcclDataType(6)
FLOAT32 = FLOAT = NcclDataType(7)
FLOAT64 = DOUBLE = NcclDataType(8)
BFLOAT16 = NcclDataType(9)
FLOAT8E4M3 = NcclDataType(10)
FLOAT8E5M2 = NcclDataType(11)

SUM = NcclRedOp(0)
PROD = NcclRedOp(1)
MAX = NcclRedOp(2)
MIN = NcclRedOp(3)
AVG = NcclRedOp(4)


class CTAPolicy(enum.IntFlag):
    DEFAULT = 0
    EFFICIENCY = 1
    ZERO = 2
    Default = 0
    Efficiency = 1
    Zero = 2


class CommShrinkFlag(enum.IntEnum):
    DEFAULT = 0
    ABORT = 1
    Default = 0
    Abort = 1


class CommSuspendFlag(enum.IntFlag):
    MEM = 1
    Mem = 1


class WindowFlag(enum.IntFlag):
    DEFAULT = 0
    COLL_SYMMETRIC = 1
    STRICT_ORDERING = 2
    Default = 0
    CollSymmetric = 1
    StrictOrdering = 2


class NcclGinType(enum.IntEnum):
    NONE = 0
    PROXY = 2
    GDAKI = 3


class NcclCommMemStat(enum.IntEnum):
    """What Communicator.get_mem_stat can be asked."""

    GpuMemSuspend = 0
    GpuMemSuspended = 1
    GpuMemPersist = 2
    GpuMemTotal = 3
