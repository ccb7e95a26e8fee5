# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Ids of communicators, versions, and settings."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from .. import __version__
from . import _library, _load
from ._library import HEADER_VERSION, IdStruct, NcclInvalid, call


class UniqueId:
    """128 bytes that name a communicator. They hold a secret, so pass them on only to ranks of it: by pickle, or as bytes."""

    def __init__(self) -> None:
        self._struct = IdStruct()

    @staticmethod
    def from_bytes(b: bytes | bytearray | memoryview) -> UniqueId:
        data = bytes(b)
        if len(data) != ctypes.sizeof(IdStruct):
            raise NcclInvalid(f"an id has {ctypes.sizeof(IdStruct)} bytes, not {len(data)}; pass what get_unique_id() has returned")
        made = UniqueId()
        made._struct = IdStruct.from_buffer_copy(data)
        return made

    @property
    def as_bytes(self) -> bytes:
        return bytes(self._struct)

    @property
    def as_ndarray(self) -> Any:
        """The same memory as an array of numpy, for transports that fill arrays."""
        import numpy

        return numpy.frombuffer(memoryview(self._struct), dtype="uint8")

    @property
    def ptr(self) -> int:
        return ctypes.addressof(self._struct)

    def __bytes__(self) -> bytes:
        return bytes(self._struct)

    def __eq__(self, other: object) -> bool:
        return bytes(self) == bytes(other) if isinstance(other, UniqueId) else NotImplemented

    def __hash__(self) -> int:
        return hash(bytes(self))

    def __reduce__(self) -> Any:
        return UniqueId.from_bytes, (bytes(self),)

    def __repr__(self) -> str:
        return "<UniqueId>"  # its bytes are secret


def get_unique_id(empty: bool = False) -> UniqueId:
    """A fresh id, for one rank to make and give to all. empty: one of zeros, whose bytes come later (as_ndarray)."""
    made = UniqueId()
    if not empty:
        call("ncclGetUniqueId", ctypes.byref(made._struct))
    return made


def get_error_string(nccl_result: int) -> str:
    """What a Result says in general."""
    return _library.meaning(nccl_result)


class Version(NamedTuple):
    major: int
    minor: int
    micro: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.micro}"


def _decoded(number: int) -> Version:
    return Version(number // 10000, number // 100 % 100, number % 100)


class LibraryInfo(NamedTuple):
    """version: of NCCL, whose interface it has; path: the file. Tutti's needs no CUDA version, so cuda_variant is None."""

    version: Version
    cuda_variant: Version | None
    path: Path

    def __str__(self) -> str:
        return f"{self.version} @ {self.path}"


class VersionInfo(NamedTuple):
    """nccl4py: the version of this package, which takes its place; nccl_bindings: of NCCL's interface that it knows."""

    nccl4py: str
    nccl_bindings: Version
    libnccl: LibraryInfo


def get_lib_version() -> Version:
    """The version of NCCL whose interface the library has."""
    number = ctypes.c_int()
    call("ncclGetVersion", ctypes.byref(number))
    return _decoded(number.value)


def get_lib_path() -> Path:
    """The file of the library that is loaded."""
    return _load.path()


def get_version() -> VersionInfo:
    return VersionInfo(__version__, _decoded(HEADER_VERSION), LibraryInfo(get_lib_version(), None, get_lib_path()))


def show_versions() -> None:
    """Prints them."""
    versions = get_version()
    print(f"tutti    : {versions.nccl4py}\nbindings : {versions.nccl_bindings}\nlibnccl  : {versions.libnccl}")


class _Settings(Mapping[str, str]):
    """The library's settings, by the name of their variable."""

    def __getitem__(self, key: str) -> str:
        value, length = ctypes.c_char_p(), ctypes.c_int()
        if key not in self._keys():
            raise KeyError(key)
        call("ncclParamGetParameter", key.encode(), ctypes.byref(value), ctypes.byref(length))
        return (value.value or b"").decode(errors="replace")

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys())

    def __len__(self) -> int:
        return len(self._keys())

    def _keys(self) -> list[str]:
        table, length = ctypes.POINTER(ctypes.c_char_p)(), ctypes.c_int()
        call("ncclParamGetAllParameterKeys", ctypes.byref(table), ctypes.byref(length))
        return [table[i].decode() for i in range(length.value)]


params: Mapping[str, str] = _Settings()


def dump_params() -> None:
    """Prints the settings, a line each."""
    for name, value in params.items():
        print(f"{name}={value}")
