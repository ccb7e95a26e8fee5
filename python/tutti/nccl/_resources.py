# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""What belongs to a communicator: registrations and operators. Each is closed by close(), or together with it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from ._library import NcclInvalid, call
from ._types import NcclDataType, WindowFlag


class Resource:
    """handle: the library's; 0 once it was closed."""

    def __init__(self, comm: Callable[[], int]) -> None:
        self._comm_of = comm
        self._open = True

    @property
    def _comm(self) -> int:
        return self._comm_of()

    @property
    def is_valid(self) -> bool:
        return self._open

    def close(self) -> None:
        """Gives it back. A second call does nothing, and so does one after the communicator's end."""
        if self._open:
            self._open = False
            if self._comm:
                self._give_back()

    def _give_back(self) -> None:
        raise NotImplementedError

    def _must_be_open(self) -> None:
        if not self._open:
            raise NcclInvalid(f"this {type(self).__name__} was closed")


class _Registered(Resource):
    def __init__(self, comm: Callable[[], int], size: int) -> None:
        super().__init__(comm)
        self._handle = ctypes.c_void_p()
        self._size = size

    @property
    def handle(self) -> int:
        return (self._handle.value or 0) if self._open else 0

    @property
    def size(self) -> int:
        """Bytes."""
        return self._size


class RegisteredBufferHandle(_Registered):
    """A buffer that the library knows (ncclCommRegister)."""

    def __init__(self, comm: Callable[[], int], pointer: int, size: int) -> None:
        super().__init__(comm, size)
        call("ncclCommRegister", self._comm, pointer, size, ctypes.byref(self._handle))

    def _give_back(self) -> None:
        call("ncclCommDeregister", self._comm, self._handle)


class RegisteredWindowHandle(_Registered):
    """A buffer that all ranks map (ncclCommWindowRegister)."""

    def __init__(self, comm: Callable[[], int], pointer: int, size: int, flags: WindowFlag | None) -> None:
        super().__init__(comm, size)
        call("ncclCommWindowRegister", self._comm, pointer, size, ctypes.byref(self._handle), int(flags or 0))

    @property
    def user_ptr(self) -> int:
        """The address that was registered."""
        self._must_be_open()
        pointer = ctypes.c_void_p()
        call("ncclWinGetUserPtr", self._comm, self._handle, ctypes.byref(pointer))
        return pointer.value or 0

    def _give_back(self) -> None:
        if self._handle.value:
            call("ncclCommWindowDeregister", self._comm, self._handle)


class CustomRedOp(Resource):
    """A sum of inputs that are multiplied by a scalar first. It goes where SUM and its like go."""

    def __init__(self, comm: Callable[[], int], scalar: int, dtype: NcclDataType, on_device: bool, keep: Any) -> None:
        super().__init__(comm)
        self._number = ctypes.c_int()
        self._keep = keep
        call("ncclRedOpCreatePreMulSum", ctypes.byref(self._number), scalar, int(dtype), 0 if on_device else 1, self._comm)

    @property
    def op(self) -> int:
        self._must_be_open()
        return self._number.value

    def __int__(self) -> int:
        return self.op

    __index__ = __int__

    def _give_back(self) -> None:
        call("ncclRedOpDestroy", self._number, self._comm)
