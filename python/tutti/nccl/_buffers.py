# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Arrays and streams of all kinds as addresses; memory from the library."""

from __future__ import annotations

import ctypes
import math
import sys
from dataclasses import dataclass
from typing import Any, TypeAlias

from .. import _memory
from ..errors import InvalidArgument
from ._library import NcclInvalid, call
from ._types import UINT8, NcclDataType

NcclBufferSpec: TypeAlias = Any  # an array, or whatever has DLPack, the CUDA array interface, or Python's buffer protocol
NcclScalarSpec: TypeAlias = Any  # a number, or a buffer of one element
NcclStreamSpec: TypeAlias = Any  # an int, or an object of cuda.core, torch or cupy, or with __cuda_stream__

# DLPack's kinds of memory.
_DL_HOST, _DL_CUDA, _DL_PINNED, _DL_MANAGED = 1, 2, 3, 13
_DL_TYPES = {(0, 8): 0, (1, 8): 1, (0, 32): 2, (1, 32): 3, (0, 64): 4, (1, 64): 5, (2, 16): 6, (2, 32): 7, (2, 64): 8, (4, 16): 9,
             (10, 8): 10, (12, 8): 11}
_TYPESTRINGS = {"i1": 0, "u1": 1, "i4": 2, "u4": 3, "i8": 4, "u8": 5, "f2": 6, "f4": 7, "f8": 8}
_CU_POINTER_ATTRIBUTE_MEMORY_TYPE, _CU_MEMORYTYPE_DEVICE = 2, 2


@dataclass(slots=True)
class Place:
    """Where elements lie. device: the number of the GPU, None in host memory or where it is not known; keep: what holds host memory."""

    ptr: int
    count: int
    dtype: NcclDataType
    device: int | None
    keep: Any

    @property
    def nbytes(self) -> int:
        return self.count * self.dtype.itemsize


class _DlTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


def _must_be_contiguous(shape: tuple[int, ...], strides: tuple[int, ...] | None, unit: int, what: str) -> None:
    """strides: in units of which an element has so many, or None where they are C's."""
    expected = unit
    for length, stride in zip(reversed(shape), reversed(strides or ()), strict=False):
        if length != 1 and stride != expected and math.prod(shape) != 0:
            raise NcclInvalid(f"{what} is not contiguous; pass a contiguous copy")
        expected *= length


def _of_torch(x: Any, what: str) -> Place:
    if str(x.layout) != "torch.strided":
        raise NcclInvalid(f"{what} is a sparse tensor; pass x.to_dense()")
    if x.device.type not in ("cpu", "cuda"):
        raise NcclInvalid(f"{what} is a tensor on {x.device}; pass one on a GPU of NVIDIA's or on the CPU")
    if not x.is_contiguous() or x.is_conj() or x.is_neg():
        raise NcclInvalid(f"{what} is not contiguous; pass x.contiguous()")
    number = _memory.TYPES.get(str(x.dtype)[6:], -1)
    cuda = x.device.type == "cuda"
    return Place(x.data_ptr(), x.numel(), _type(number, x.dtype, what), x.device.index if cuda else None, None if cuda else x)


def _type(number: int, said: Any, what: str) -> NcclDataType:
    if not 0 <= number < 12:
        raise NcclInvalid(f"{what} has elements of type {said}, which NCCL does not have; view them as uint8, or convert them")
    return NcclDataType(number)


def _of_cuda_array(interface: dict[str, Any], what: str) -> Place:
    typestring = interface["typestr"].lstrip("<|=")
    dtype = _type(_TYPESTRINGS.get(typestring, -1), interface["typestr"], what)
    shape = tuple(interface["shape"])
    _must_be_contiguous(shape, interface.get("strides"), dtype.itemsize, what)
    return Place(int(interface["data"][0]), math.prod(shape), dtype, None, None)


def _of_dlpack(x: Any, what: str) -> Place:
    """An array on a GPU. Nothing is waited for: what the caller's stream holds comes before the operation in that stream."""
    capsule = x.__dlpack__(stream=-1)
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.argtypes, pointer.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
    tensor = _DlTensor.from_address(pointer(capsule, b"dltensor"))
    number = _DL_TYPES.get((tensor.code, tensor.bits), -1) if tensor.lanes == 1 else -1
    dtype = _type(number, f"DLPack {tensor.code} with {tensor.bits} bits", what)
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    _must_be_contiguous(shape, tuple(tensor.strides[i] for i in range(tensor.ndim)) if tensor.strides else None, 1, what)
    device = tensor.device_id if tensor.device_type in (_DL_CUDA, _DL_MANAGED) else None
    return Place((tensor.data or 0) + tensor.byte_offset, math.prod(shape), dtype, device, None if device is not None else (x, capsule))


def _of_host(x: Any, writing: bool, what: str) -> Place:
    if isinstance(x, (int, float, complex)):
        raise NcclInvalid(f"{what} is a number, not a buffer; pass an array of one element")
    try:
        memory = _memory.of(x, writing, what)
    except InvalidArgument as error:
        raise NcclInvalid(str(error)) from None
    if memory.kind == "numpy" and memory.keep is not memory.like:
        raise NcclInvalid(f"{what} is not contiguous and aligned; pass a contiguous copy")
    return Place(memory.address, memory.count, _type(memory.type, _memory.NAMES[memory.type], what), None, memory.keep)


def place(x: NcclBufferSpec, what: str, *, writing: bool) -> Place:
    """Where the elements of `x` are; `what` it is for errors."""
    if isinstance(x, Allocation):
        return x.place()
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(x, torch.Tensor):
        return _of_torch(x, what)
    interface = getattr(x, "__cuda_array_interface__", None)
    if interface is not None:
        return _of_cuda_array(interface, what)
    if hasattr(x, "__dlpack_device__") and x.__dlpack_device__()[0] in (_DL_CUDA, _DL_PINNED, _DL_MANAGED):
        return _of_dlpack(x, what)
    return _of_host(x, writing, what)


def stream_pointer(stream: NcclStreamSpec | None) -> int | None:
    """cudaStream_t; None, CUDA's default stream, where no stream is given."""
    if stream is None or isinstance(stream, int):
        return stream
    if hasattr(stream, "__cuda_stream__"):
        told: Any = stream.__cuda_stream__  # a method, or in older objects a pair
        pair: Any = told() if callable(told) else told
        return int(pair[1])
    for name in ("cuda_stream", "ptr", "handle"):  # of torch, of cupy, of cuda.core
        if hasattr(stream, name):
            return int(getattr(stream, name))
    raise NcclInvalid(f"{type(stream).__name__} is no stream; pass the number of a cudaStream_t, or a stream of torch, cupy or cuda.core")


def _on_gpu(pointer: int) -> bool:
    try:
        driver = ctypes.CDLL("libcuda.so.1", mode=ctypes.DEFAULT_MODE)
    except OSError:
        return False
    kind = ctypes.c_uint()
    return (driver.cuPointerGetAttribute(ctypes.byref(kind), _CU_POINTER_ATTRIBUTE_MEMORY_TYPE, ctypes.c_uint64(pointer)) == 0
            and kind.value == _CU_MEMORYTYPE_DEVICE)


class Allocation:
    """Bytes from the library: on the current GPU, or in host memory where there is none. An array of uint8 for numpy there, for cupy and
    torch here. It is freed by close(), or when nothing refers to it any more."""

    def __init__(self, size: int) -> None:
        self._pointer = ctypes.c_void_p()
        self._size = size
        call("ncclMemAlloc", ctypes.byref(self._pointer), size)
        self._device = bool(size) and _on_gpu(self.handle)

    @property
    def handle(self) -> int:
        """The address; 0 once it was freed."""
        return self._pointer.value or 0

    ptr = handle

    @property
    def size(self) -> int:
        return self._size

    @property
    def on_gpu(self) -> bool:
        return self._device

    def _interface(self) -> dict[str, Any]:
        if not self.handle:
            raise NcclInvalid("the memory was freed")
        return {"data": (self.handle, False), "shape": (self._size,), "typestr": "|u1", "version": 3}

    @property
    def __array_interface__(self) -> dict[str, Any]:
        if self._device:
            raise AttributeError("the memory is on a GPU")
        return self._interface()

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if not self._device:
            raise AttributeError("the memory is the host's")
        return self._interface()

    def place(self) -> Place:
        """All of it, as bytes."""
        return Place(self._interface()["data"][0], self._size, UINT8, None, None if self._device else self)

    def close(self) -> None:
        pointer, self._pointer = self._pointer, ctypes.c_void_p()
        if pointer.value:
            call("ncclMemFree", pointer)

    def __del__(self) -> None:
        if getattr(self, "_pointer", None) and not sys.is_finalizing():
            self.close()


def mem_alloc(size: int, device: Any = None) -> Allocation:
    """Memory for buffers, of the current GPU: make `device` current before, where it is another."""
    if device is not None and not isinstance(device, int):
        device = getattr(device, "device_id", None)
    if device is not None:
        raise NcclInvalid("mem_alloc allocates on the current device; make the other one current, by torch.cuda.device(n) or its like, and "
                          "leave device= away")
    return Allocation(size)


def mem_free(buf: Allocation) -> None:
    """Frees what mem_alloc has returned."""
    buf.close()
