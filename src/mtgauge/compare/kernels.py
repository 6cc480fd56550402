"""The compiled loops: a small C library, called through ctypes, outside the GIL.

    call("all_edits", words, start, left, right, 0, len(left), out)

`native/` holds the sources, with what each kernel does at its head. The build compiles them once
per instruction set (`backend/native.py`); the best that this machine has is loaded. All of them
give the same bits, so a score does not depend on the machine. MTGAUGE_INSTRUCTIONS names another
one (`x86-64`, `x86-64-v3`, `x86-64-v4`), for tests.

A library that is missing, or was compiled from other sources, is an error that says how to build
it: nothing is compiled behind a user's back.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mtgauge.errors import ResourceError, UsageError

FOLDER = Path(__file__).parent / "native"
SUFFIX = ".dll" if sys.platform == "win32" else ".so"
_LEVELS = {1: "x86-64", 3: "x86-64-v3", 4: "x86-64-v4"}

# What each kernel takes: f, d, q are arrays of float32, float64 and int64 (or None); Q and D are
# single numbers. The C sources say what they are.
_KERNELS = {
    "solve_range": "dqqqqqqQQdQdd",
    "relaxed_range": "dqqqqqqQQd",
    "squared_float": "fqqfqqqQQQd",
    "squared_double": "dqqdqqqQQQd",
    "best_float": "fqqfqqQQQdqdq",
    "best_double": "dqqdqqQQQdqdq",
    "travel_problems": "fQqqqqQQqQDDQQddqqqqq",
    "all_edits": "qqqqQQq",
}
# Loops over short rows, which AVX2 runs in a seventh less time than AVX-512.
_SHORT_ROWS = {"solve_range"}
_ARRAYS = {"f": np.dtype(np.float32), "d": np.dtype(np.float64), "q": np.dtype(np.int64)}
_NUMBERS = {"Q": ctypes.c_int64, "D": ctypes.c_double}


def call(name: str, *arguments: NDArray[Any] | float | None) -> None:
    """Run a kernel. It sees nothing but addresses: arrays are contiguous and of its types."""
    function = getattr(_library(name in _SHORT_ROWS), name)
    values: list[Any] = []
    for kind, argument in zip(_KERNELS[name], arguments, strict=True):
        if isinstance(argument, np.ndarray):
            if argument.dtype != _ARRAYS.get(kind) or not argument.flags.c_contiguous:
                raise TypeError(f"{name}: {argument.dtype} or its strides where it takes {kind}")
            values.append(argument.ctypes.data)
        else:
            values.append(argument)
    if function(*values):
        raise MemoryError(name)


@lru_cache(maxsize=1)
def sources_digest() -> str:
    """Digest of the C sources: part of cache keys, and of the library that was made of them."""
    return digest_of(FOLDER)


def digest_of(folder: Path) -> str:
    made = hashlib.sha256()
    for path in sorted(folder.glob("*.[ch]")):
        made.update(path.name.encode() + b"\0" + path.read_bytes().replace(b"\r\n", b"\n"))
    return made.hexdigest()[:16]


@lru_cache
def _library(short_rows: bool = False) -> ctypes.CDLL:
    return load(os.environ.get("MTGAUGE_INSTRUCTIONS", ""), short_rows)


def load(instructions: str = "", short_rows: bool = False) -> ctypes.CDLL:
    """The library for these instructions; without a name the best that the machine has."""
    plainest = _plainest()
    if plainest == "any":
        return _open(plainest)
    best = int(_open(plainest).machine_level())
    if not instructions:
        return _open(_LEVELS[min(best, 3) if short_rows else best])
    runs = [name for level, name in _LEVELS.items() if level <= best]
    if instructions not in runs:
        raise UsageError(
            f"MTGAUGE_INSTRUCTIONS={instructions}: this machine has {', '.join(runs)}."
        )
    return _open(instructions)


def _plainest() -> str:
    """The instructions that every machine of this kind has."""
    return "x86-64" if platform.machine().lower() in ("x86_64", "amd64") else "any"


@lru_cache
def _open(instructions: str) -> ctypes.CDLL:
    path = FOLDER / f"kernels-{instructions}{SUFFIX}"
    remedy = (
        "Install mtgauge again; in a checkout, `python backend/native.py` compiles it in place."
    )
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        missing = "is missing" if not path.exists() else f"cannot be loaded ({error})"
        raise ResourceError(f"{path}: the compiled library {missing}. {remedy}") from None
    made_of = ctypes.c_char_p.in_dll(library, "sources_digest").value or b""
    if made_of.decode() != sources_digest():
        raise ResourceError(f"{path} was compiled from other sources than those here. {remedy}")
    for name, kinds in _KERNELS.items():
        getattr(library, name).argtypes = [_NUMBERS.get(kind, ctypes.c_void_p) for kind in kinds]
    return library
