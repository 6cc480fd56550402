"""Compiled kernels: how they are compiled, cached and spread over the cores.

    @kernel
    def f(flat, starts, lo, hi, out): ...        # problems lo..hi, each on its own
    in_parallel(lambda lo, hi: f(flat, starts, lo, hi, out), work)

A kernel takes a range of independent problems and writes each result to its own place, so a
result cannot depend on the batch, on the number of threads or on the order in which they finish.
Kernels release the GIL. Machine code is kept by numba beside the package, in the user's cache
folder where that is not writable, and only in memory where neither is.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

# No `ninf`: infinity marks what is not to be chosen. The rest only lets loops be vectorised.
_OPTIONS: dict[str, Any] = {
    "fastmath": {"nnan", "nsz", "contract", "reassoc"},
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
}
_SMALL = 200_000  # units of work below which a second thread costs more than it brings


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile for this machine on first use; keep the code on disk where there is a place."""
    try:
        compiled: Callable[..., Any] = numba.njit(cache=True, nogil=True, **_OPTIONS)(function)
    except RuntimeError:  # numba found no folder that it may write
        compiled = numba.njit(nogil=True, **_OPTIONS)(function)
    return compiled


def inner(function: Callable[..., Any]) -> Callable[..., Any]:
    """A part of a kernel, called by kernels alone: without the wrappers that Python would need."""
    compiled: Callable[..., Any] = numba.njit(no_cpython_wrapper=True, **_OPTIONS)(function)
    return compiled


@intrinsic  # type: ignore[untyped-decorator]
def fmin(typing: Any, left: Any, right: Any) -> Any:
    """The lesser of two doubles as one instruction.

    Python's `min` becomes a branch, and then a masked store, which is slow on AMD processors.
    """
    signature = types.float64(types.float64, types.float64)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        from llvmlite import ir

        double = ir.DoubleType()
        declared = builder.module.declare_intrinsic(
            "llvm.minnum", [double], ir.FunctionType(double, [double, double])
        )
        return builder.call(declared, arguments, fastmath=("nnan", "nsz"))

    return signature, generate


def thread_count() -> int:
    """Cores this process may use; the environment variable MTGAUGE_THREADS says less."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    wanted = os.environ.get("MTGAUGE_THREADS", "")
    return max(1, min(int(wanted), 256)) if wanted.isdigit() else max(1, cores or 1)


def in_parallel(
    run: Callable[[int, int], None], work: NDArray[np.float64], threads: int | None = None
) -> None:
    """`run(lo, hi)` over all problems, cut into ranges of about equal `work`."""
    threads = thread_count() if threads is None else threads
    total = float(work.sum())
    if threads <= 1 or len(work) < 2 or total < _SMALL:
        run(0, len(work))
        return
    done = np.cumsum(work)
    cuts = np.searchsorted(done, np.linspace(0, total, 8 * threads + 1)[1:-1])
    bounds = np.unique(np.concatenate([[0], cuts, [len(work)]])).tolist()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(run, bounds[:-1], bounds[1:]))
