# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Arrays of all kinds as addresses: numpy, torch, jax, whatever has Python's buffer protocol or DLPack, and plain numbers.

What is not contiguous or not aligned is copied, and copied back where it is written to.
"""

from __future__ import annotations

import math
import sys

from . import _core
from .errors import InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    import array
    from collections.abc import Callable, Sequence
    from typing import Any

# tutti::DataType, by the names that numpy, ml_dtypes, torch and jax share.
TYPES = {"int8": 0, "uint8": 1, "int32": 2, "uint32": 3, "int64": 4, "uint64": 5, "float16": 6, "float32": 7, "float64": 8,
         "bfloat16": 9, "float8_e4m3fn": 10, "float8_e5m2": 11, "bool": 12, "int16": 13, "uint16": 14, "complex64": 15,
         "complex128": 16}
NAMES = {number: name for name, number in TYPES.items()}
BYTES = {0: 1, 1: 1, 2: 4, 3: 4, 4: 8, 5: 8, 6: 2, 7: 4, 8: 8, 9: 2, 10: 1, 11: 1, 12: 1, 13: 2, 14: 2, 15: 8, 16: 16}
_FORMATS = {0: "b", 1: "B", 2: "i", 3: "I", 4: "q", 5: "Q", 6: "e", 7: "f", 8: "d", 12: "?", 13: "h", 14: "H"}
# DLPack's type codes and bits.
_DLPACK = {(0, 8): 0, (1, 8): 1, (0, 32): 2, (1, 32): 3, (0, 64): 4, (1, 64): 5, (2, 16): 6, (2, 32): 7, (2, 64): 8, (4, 16): 9,
           (10, 8): 10, (12, 8): 11, (6, 8): 12, (0, 16): 13, (1, 16): 14, (5, 64): 15, (5, 128): 16}


def python_array(form: str, values: Sequence[Any]) -> array.array[Any]:
    """An array of Python's own, of such a format."""
    import array

    return array.array(form, values)


class Memory:
    """Where elements lie. `keep` holds the memory; `settle`, where it is set, is called once it was written to; `result` is what the caller
    gets then, if it is not the object itself."""

    __slots__ = ("address", "count", "keep", "kind", "like", "settle", "shape", "type")

    def __init__(self, kind: str, like: Any, address: int, type_: int, shape: tuple[int, ...], keep: Any) -> None:
        self.kind = kind
        self.like = like
        self.address = address
        self.type = type_
        self.shape = shape
        self.count = math.prod(shape)
        self.keep = keep
        self.settle: Callable[[], Any] | None = None

    def describe(self) -> str:
        return f"{self.kind} {NAMES[self.type]}{list(self.shape)}"


def _type_named(name: str, what: str) -> int:
    number = TYPES.get(name)
    if number is None:
        raise InvalidArgument(f"{what} has elements of type {name}, which no rank can exchange; "
                              f"types are {', '.join(TYPES)}, and anything else can be viewed as uint8")
    return number


def _of_numpy(x: Any, writing: bool, what: str) -> Memory:
    import numpy

    number = _type_named(x.dtype.name, what)
    if not x.dtype.isnative:
        raise InvalidArgument(f"{what} has elements of another byte order; convert it by x.astype(x.dtype.newbyteorder('='))")
    if writing and not x.flags.writeable:
        raise InvalidArgument(f"{what} is read-only; pass an array that may be written to, or leave out= away")
    straight = x
    if not (x.flags.c_contiguous and x.flags.aligned):
        straight = numpy.empty(x.shape, x.dtype) if writing else numpy.ascontiguousarray(x.copy())
    memory = Memory("numpy", x, straight.__array_interface__["data"][0], number, x.shape, straight)
    if writing and straight is not x:
        def settle() -> Any:
            x[...] = straight
            return x
        memory.settle = settle
    return memory


def _of_torch(x: Any, writing: bool, what: str) -> Memory:
    number = _type_named(str(x.dtype)[6:], what)
    if x.device.type != "cpu":
        raise InvalidArgument(f"{what} is a tensor on {x.device}; these calls exchange host memory: pass x.cpu(), or use torch's backend "
                              "nccl for tensors on GPUs, which tutti.nccl replaces")
    if x.layout.__str__() != "torch.strided":
        raise InvalidArgument(f"{what} is a sparse tensor; pass x.to_dense()")
    x = x.detach()
    straight = x
    plain = x.is_contiguous() and not x.is_conj() and not x.is_neg()
    if not plain or x.data_ptr() % x.element_size() != 0:
        straight = x.resolve_conj().resolve_neg().clone(memory_format=sys.modules["torch"].contiguous_format)
    memory = Memory("torch", x, straight.data_ptr(), number, tuple(x.shape), straight)
    if writing and straight is not x:
        def settle() -> Any:
            x.copy_(straight)
            return x
        memory.settle = settle
    return memory


def _of_jax(x: Any, writing: bool, what: str) -> Memory:
    if writing:
        raise InvalidArgument(f"{what} is a jax array, which cannot be written to; leave out= away and take the result")
    import numpy

    memory = _of_numpy(numpy.asarray(x), False, what)
    memory.kind = "jax"
    memory.like = x
    return memory


def _of_number(x: Any) -> Memory:
    kind = complex if isinstance(x, complex) else float if isinstance(x, float) else int
    if kind is complex:
        import numpy

        memory = _of_numpy(numpy.array(x, dtype="complex128"), False, "the number")
    else:
        held = python_array("d" if kind is float else "q", [x])
        memory = Memory("number", x, held.buffer_info()[0], 8 if kind is float else 4, (), held)
    memory.kind = "number"
    memory.like = kind
    return memory


def _of_buffer(x: Any, writing: bool, what: str) -> Memory | None:
    described = _core.describe_buffer(x)
    if described is None:
        return None
    address, _, form, size, shape, read_only = described
    form = form.lstrip("@=<")
    signed, unsigned = {1: 0, 2: 13, 4: 2, 8: 4}, {1: 1, 2: 14, 4: 3, 8: 5}
    number = {"e": 6, "f": 7, "d": 8, "?": 12, "Zf": 15, "Zd": 16}.get(form)
    if number is None and form in ("b", "h", "i", "l", "q"):
        number = signed[size]
    if number is None and form in ("B", "c", "H", "I", "L", "Q"):
        number = unsigned[size]
    if number is None or BYTES[number] != size:
        raise InvalidArgument(f"{what} has elements of the format {form!r}, which no rank can exchange; pass memoryview(x).cast('B')")
    if writing and read_only:
        raise InvalidArgument(f"{what} is read-only; pass a buffer that may be written to, as a bytearray or an array")
    if address % (size // 2 if number >= 15 else size) != 0:
        return None
    return Memory("buffer", x, address, number, shape, memoryview(x))


def _of_dlpack(x: Any, writing: bool, what: str) -> Memory:
    try:
        address, shape, code, bits, keep = _core.describe_dlpack(x)
    except TypeError:
        raise InvalidArgument(f"{what} offers DLPack, but not as a contiguous array in host memory; copy it there") from None
    number = _DLPACK.get((code, bits))
    if number is None:
        raise InvalidArgument(f"{what} has elements of DLPack's type {code} with {bits} bits, which no rank can exchange")
    memory = Memory("dlpack", x, address, number, tuple(shape), keep)
    if writing:
        memory.settle = lambda: x
    return memory


def of(x: Any, writing: bool, what: str) -> Memory:
    """The memory of `x`, ready to be read, or to be written; `what` it is for errors."""
    module = type(x).__module__.partition(".")[0]
    if module == "numpy" or (module in sys.modules and hasattr(x, "__array_interface__") and hasattr(x, "flags")):
        import numpy

        if isinstance(x, numpy.generic) and not writing:
            x = numpy.asarray(x)
        return _of_numpy(x, writing, what)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(x, torch.Tensor):
        return _of_torch(x, writing, what)
    if module in ("jax", "jaxlib"):
        return _of_jax(x, writing, what)
    if isinstance(x, (int, float, complex)) and not writing:
        return _of_number(x)
    memory = _of_buffer(x, writing, what)
    if memory is not None:
        return memory
    try:
        view = memoryview(x)
    except TypeError:
        view = None
    if view is not None:  # not contiguous, or not aligned
        import numpy

        return _of_numpy(numpy.asarray(view), writing, what)
    if hasattr(x, "__dlpack__"):
        return _of_dlpack(x, writing, what)
    raise InvalidArgument(f"{what} is of type {type(x).__name__}, which has no elements to exchange; pass an array of numpy, torch or jax, a "
                          "buffer, or, for other objects, use broadcast_object and its like")


def new(like: Memory, shape: tuple[int, ...]) -> Memory:
    """Fresh memory for a result like `like` of another shape."""
    if like.kind == "torch":
        torch = sys.modules["torch"]
        return _of_torch(torch.empty(shape, dtype=like.like.dtype), True, "the result")
    if like.kind in ("number", "buffer") and like.type in _FORMATS:
        held = memoryview(bytearray(math.prod(shape) * BYTES[like.type]))
        if held.nbytes == 0:  # which cannot be cast
            held = memoryview(python_array(_FORMATS[like.type], []))
        else:
            held = held.cast(_FORMATS[like.type], list(shape) if shape else [1])
        memory = Memory(like.kind, like.like, _core.describe_buffer(held)[0], like.type, shape, held)
        number = like.kind == "number" and not shape
        memory.settle = (lambda: held[0]) if number else (lambda: held)
        return memory
    import numpy

    if like.kind in ("numpy", "buffer", "number"):
        dtype = like.like.dtype if like.kind == "numpy" else NAMES[like.type]
        memory = _of_numpy(numpy.empty(shape, dtype), True, "the result")
        if like.kind == "number" and not shape:
            held = memory.keep
            memory.settle = lambda: held[()].item()
        return memory
    if NAMES[like.type] in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        import ml_dtypes

        fresh = numpy.empty(shape, getattr(ml_dtypes, NAMES[like.type]))
    else:
        fresh = numpy.empty(shape, NAMES[like.type])
    memory = _of_numpy(fresh, True, "the result")
    if like.kind == "jax":
        import jax.numpy

        memory.settle = lambda: jax.numpy.asarray(fresh)
    return memory


def result_of(memory: Memory) -> Any:
    """What the caller gets once `memory` was written to."""
    return memory.settle() if memory.settle is not None else memory.like
