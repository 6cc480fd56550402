"""Independent problems, spread over the cores.

    in_parallel(lambda lo, hi: solve(problems, lo, hi, out), work)

A kernel takes a range of problems and writes each result to its own place, so a result cannot
depend on the batch, on the number of threads or on the order in which they finish. Compiled
kernels run outside the GIL (`kernels.py`).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

_SMALL = 200_000  # units of work below which a second thread costs more than it brings


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
