# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Finds Tutti's libnccl.so.2 and loads it before anything asks for a library of that name.

The dynamic linker knows libraries by their name: whatever needs a libnccl.so.2 afterwards, as torch does, gets the one that is loaded.
"""

from __future__ import annotations

import ctypes
import functools
import os
import re
import shutil
from pathlib import Path

_NAME = "libnccl.so.2"
_NAMED_SO = re.compile(r"libnccl\.so(\.\d+)*$")
_ONLY_OURS = "ncclTuttiSynchronize"  # a function that NVIDIA's library does not have


def mapped() -> list[str]:
    """The files of that name that this process has mapped, whoever made them."""
    files = []
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        for line in maps:
            path = line.rstrip("\n").split(None, 5)[5:]
            if path and path[0] not in files and _NAMED_SO.search(path[0].removesuffix(" (deleted)").rpartition("/")[2]):
                files.append(path[0])
    return files


def find() -> Path:
    """Tutti's library: the one of this package, else the one that was installed with the program tutti."""
    own = Path(__file__).absolute().parent.parent / "lib" / _NAME
    if own.exists():
        return own
    program = shutil.which("tutti")
    if program is not None:
        prefix = Path(program).resolve().parent.parent
        for folder in ("lib*", "lib*/*"):  # the second one as Debian has it
            for installed in sorted(prefix.glob(f"{folder}/tutti/nccl/lib/{_NAME}")):
                return installed
    raise ImportError(f"tutti.nccl has no {_NAME}: there is none at {own}, since this package was built without it (TUTTI_NCCL=OFF), and "
                      "none beside a program tutti; build the package anew, or name the library in LD_PRELOAD before Python starts")


def _by_name() -> ctypes.CDLL | None:
    """What this process has under the library's name: what all get that ask for it."""
    try:
        return ctypes.CDLL(_NAME, mode=os.RTLD_NOLOAD | os.RTLD_NOW | os.RTLD_GLOBAL)
    except OSError:
        return None


@functools.cache
def library() -> ctypes.CDLL:
    """The library, for this process for good."""
    before = _by_name()
    if before is not None and hasattr(before, _ONLY_OURS):
        return before
    others = mapped()
    if others:
        raise ImportError(f"another libnccl is loaded in this process, and a second one would not take its place: {others[0]}; put `import "
                          "tutti.nccl` before `import torch` and whatever else loads it, or start the program by: tutti preload python ...")
    ours = ctypes.CDLL(str(find()), mode=os.RTLD_NOW | os.RTLD_GLOBAL)
    if not hasattr(ours, _ONLY_OURS):
        raise ImportError(f"{ours._name} is not Tutti's; build this package anew")
    return ours


class _Symbol(ctypes.Structure):
    """Dl_info of dladdr (man 3 dladdr)."""

    _fields_ = [("file", ctypes.c_char_p), ("base", ctypes.c_void_p), ("name", ctypes.c_char_p), ("address", ctypes.c_void_p)]


def path() -> Path:
    """The file of the library."""
    found = _Symbol()
    dladdr = ctypes.CDLL(None).dladdr
    dladdr.argtypes, dladdr.restype = [ctypes.c_void_p, ctypes.POINTER(_Symbol)], ctypes.c_int
    if dladdr(ctypes.cast(getattr(library(), _ONLY_OURS), ctypes.c_void_p), ctypes.byref(found)) == 0:
        raise OSError("the dynamic linker does not know the file of the library that it has loaded")
    return Path(os.fsdecode(found.file)).resolve()
