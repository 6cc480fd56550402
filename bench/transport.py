"""The transport solver beside PyEMD, used as the papers do, and POT: same inputs, one run.

    python bench/transport.py [--pairs 400] [--million]

Times of one core are CPU time of the calling thread, the least of several rounds in which all
solvers take turns, so that other work on the machine weighs on all alike. The row for all cores is
wall-clock time and means something on an idle machine only.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import ot
import pyemd
from numpy.typing import NDArray

from mtgauge.compare.matrices import Matrices
from mtgauge.compare.threads import thread_count
from mtgauge.compare.transport import cost_matrices, relaxed, transport

Float = NDArray[np.float64]
Float32 = NDArray[np.float32]


def token_vectors(pairs: int, seed: int, d: int = 384) -> list[tuple[Float32, Float32]]:
    """News-like pairs: 27 tokens a side on average, most of them near one of the other side."""
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(pairs):
        n = int(np.clip(rng.normal(27, 9), 3, 70))
        m = int(np.clip(n + rng.normal(0, 3), 3, 70))
        x = rng.normal(size=(n, d)).astype(np.float32)
        noise = rng.uniform(0.3, 1.5) * rng.normal(size=(m, d))
        y = x[rng.integers(0, n, m)] + noise.astype(np.float32)
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        y /= np.linalg.norm(y, axis=1, keepdims=True)
        out.append((x, y))
    return out


def pack(vectors: list[Float32]) -> tuple[Float32, NDArray[np.int64]]:
    return np.concatenate(vectors), np.cumsum([0, *map(len, vectors)], dtype=np.int64)


def papers_way(c: Float) -> float:
    """One pair, on the (n + m) x (n + m) matrix, as XMoverScore, MoverScore and STD call it."""
    n, m = c.shape
    both = np.zeros((n + m, n + m))
    both[:n, n:], both[n:, :n] = c, c.T
    left, right = np.zeros(n + m), np.zeros(n + m)
    left[:n], right[n:] = 1 / n, 1 / m
    return float(pyemd.emd(left, right, both, backend="cpp"))


def pot(c: Float) -> float:
    n, m = c.shape
    return float(ot.emd2(np.full(n, 1 / n), np.full(m, 1 / m), c))


def least(rounds: int, *functions: Callable[[], object], wall: bool = False) -> list[float]:
    """Least time of each function, taking turns."""
    clock = time.perf_counter if wall else time.thread_time
    best = [float("inf")] * len(functions)
    for _ in range(rounds):
        for k, function in enumerate(functions):
            start = clock()
            function()
            best[k] = min(best[k], clock() - start)
    return best


def solvers(pairs: int) -> None:
    vectors = token_vectors(pairs, 1)
    x, y = (pack([v[side] for v in vectors]) for side in (0, 1))
    costs = cost_matrices(*x, *y)
    mats = list(costs)
    transport(costs)
    exact = transport(costs).cost
    few = max(20, pairs // 8)
    from_pot = max(abs(exact[k] / pot(c) - 1) for k, c in enumerate(mats))
    from_pyemd = max(abs(exact[k] - papers_way(c)) for k, c in enumerate(mats[:few]))
    print(f"{pairs} pairs, {costs.shapes.mean():.1f} points a side. Greatest differences: from POT")
    print(f"{from_pot:.1e} (relative), from PyEMD {from_pyemd:.1e} (it rounds to 1e-6)\n")
    first = Matrices.pack(mats[:few])
    emd, alike = least(
        7, lambda: [papers_way(c) for c in mats[:few]], lambda: transport(first, threads=1)
    )
    theirs, ours, bound = least(
        9,
        lambda: [pot(c) for c in mats],
        lambda: transport(costs, threads=1),
        lambda: relaxed(costs, threads=1),
    )
    print("one core                  µs a pair   mtgauge is faster")
    print(f"PyEMD C++, papers' way   {emd / few * 1e6:10.1f} {emd / alike:12.1f} times")
    print(f"POT ot.emd2              {theirs / pairs * 1e6:10.1f} {theirs / ours:12.1f} times")
    print(f"mtgauge                  {ours / pairs * 1e6:10.1f}")
    print(f"mtgauge, relaxed bound   {bound / pairs * 1e6:10.1f}\n")
    many = Matrices(
        np.tile(costs.flat, 25), np.tile(costs.shapes, (25, 1))
    )  # long enough for threads
    one, every = least(7, lambda: transport(many, threads=1), lambda: transport(many), wall=True)
    faster = f"{one / every:.2f} times one thread"
    print(f"{thread_count()} threads, {len(many):,} pairs, wall clock: {faster}\n")


def sizes() -> None:
    rng = np.random.default_rng(2)
    print("size         mtgauge ms     POT ms   ratio")
    for n, m in ((27, 26), (60, 57), (100, 100), (100, 93), (200, 190), (500, 500), (500, 490)):
        a, b = rng.normal(size=(n, 16)), rng.normal(size=(m, 16))
        c = np.linalg.norm(a[:, None] - b[None], axis=2)
        ours, theirs = least(3 if n > 100 else 30, partial(transport, [c]), partial(pot, c))
        print(f"{n:4} x {m:4}  {ours * 1e3:12.3f} {theirs * 1e3:10.3f} {theirs / ours:7.2f}")
    print()


def ground_distances(pairs: int) -> None:
    vectors = token_vectors(pairs, 3)
    x, y = (pack([v[side] for v in vectors]) for side in (0, 1))

    def numpy_way() -> list[Float]:
        return [np.sqrt(np.maximum(2 - 2 * (a @ b.T), 0)) for a, b in vectors]

    ours, theirs = least(7, lambda: cost_matrices(*x, *y, threads=1), numpy_way)
    print(f"Euclidean costs of 384-d tokens, one core: {ours / pairs * 1e6:.1f} µs a pair; numpy ")
    print(f"with BLAS {theirs / pairs * 1e6:.1f} (loses digits: 2 - 2 cos of near tokens)\n")


def cold_start() -> None:
    code = (
        "import time; s = time.perf_counter(), time.process_time()\n"
        "from mtgauge.compare.transport import transport\n"
        "transport([[[0.0, 1.0], [1.0, 0.0]]])\n"
        "print(time.perf_counter() - s[0], time.process_time() - s[1])"
    )
    wall, cpu = map(float, subprocess.check_output([sys.executable, "-c", code]).split())
    print(f"first call in a new process: {wall:.2f} s ({cpu:.2f} s of CPU)\n")


def growth(million: bool) -> None:
    print("pairs       µs a pair (one core)   greatest memory, MB")
    some = token_vectors(1000, 4, d=32)
    x, y = (pack([v[side] for v in some]) for side in (0, 1))
    chunk = cost_matrices(*x, *y)
    for size in (10_000, 100_000, *([1_000_000] if million else [])):
        start = time.thread_time()
        for _ in range(size // 1000):
            transport(chunk, threads=1)
        spent = time.thread_time() - start
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{size:9,} {spent / size * 1e6:12.1f} {memory:22.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--pairs", type=int, default=400)
    parser.add_argument("--million", action="store_true", help="also a million pairs (a minute)")
    args = parser.parse_args()
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n")
    cold_start()
    solvers(args.pairs)
    sizes()
    ground_distances(args.pairs)
    growth(args.million)


if __name__ == "__main__":
    main()
