"""Meta-evaluation beside a loop over scipy: bootstrap, permutation, and the row cache.

    python bench/meta.py [--metrics 10] [--segments 560] [--resamples 1000]

Prints seconds of both in one process on the same random scores, and their ratio. The loop draws
the same resamples and calls scipy once for each metric and resample, which is how such tables are
commonly made. It is timed on a tenth of the resamples and multiplied, to spare your time; the two
agree to 1e-9 on that tenth, or the bench fails.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable

import numpy as np
from scipy import stats

from mtgauge import Segments
from mtgauge.engine.cache import RowCache
from mtgauge.engine.places import rows_of
from mtgauge.engine.ready import make_ready
from mtgauge.meta import accuracy
from mtgauge.meta.significance import permutation_test
from mtgauge.metric import Task
from mtgauge.stats.bootstrap import SEED, draw_counts
from mtgauge.stats.correlation import FloatArray
from mtgauge.stats.correlation_bootstrap import Statistic, resampled_correlations

SCIPY: dict[Statistic, Callable[[FloatArray, FloatArray], float]] = {
    "pearson": lambda x, y: float(stats.pearsonr(x, y).statistic),
    "spearman": lambda x, y: float(stats.spearmanr(x, y).statistic),
    "kendall": lambda x, y: float(stats.kendalltau(x, y).statistic),
}


def timed(work: Callable[[], object], repeats: int = 3) -> float:
    """The best of some runs: what the work costs when nothing else disturbs it."""
    best = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return float(best)


def show(what: str, ours: float, theirs: float) -> None:
    print(f"{what:44} ours {ours:8.3f} s   peer {theirs:8.3f} s   ratio {theirs / ours:7.1f} x")


def resampling(scores: FloatArray, human: FloatArray, resamples: int) -> tuple[float, float]:
    total_ours = total_theirs = 0.0
    some = max(1, resamples // 10)
    draws = np.concatenate(list(draw_counts(len(human), resamples, SEED)))[:some].astype(int)
    rows = [np.repeat(np.arange(len(human)), counts) for counts in draws]
    for name, function in SCIPY.items():

        def loop(function: Callable[[FloatArray, FloatArray], float] = function) -> FloatArray:
            return np.array([[function(x[r], human[r]) for x in scores] for r in rows])

        ours = timed(lambda name=name: resampled_correlations(scores, human, name, resamples))  # type: ignore[misc]
        theirs = timed(loop, repeats=1) * resamples / some
        gap = float(
            np.abs(resampled_correlations(scores, human, name, resamples)[:some] - loop()).max()
        )
        if gap > 1e-9:
            raise SystemExit(f"{name}: ours and scipy's differ by {gap}")
        show(f"bootstrap of {name}", ours, theirs)
        total_ours, total_theirs = total_ours + ours, total_theirs + theirs
    return total_ours, total_theirs


def permuting(scores: FloatArray, human: FloatArray, trials: int) -> tuple[float, float]:
    """Every metric against the first, all trials made (alpha 1 switches early stopping off)."""
    z = stats.zscore(scores, axis=1)
    rng = np.random.default_rng(0)
    some = max(1, trials // 10)

    def ours() -> None:
        for row in scores[1:]:
            permutation_test(scores[0], row, human, trials, alpha=1.0)

    def loop() -> None:
        for row in z[1:]:
            for _ in range(some):
                mask = rng.integers(0, 2, len(human)).astype(bool)
                SCIPY["pearson"](np.where(mask, row, z[0]), human)
                SCIPY["pearson"](np.where(mask, z[0], row), human)

    mine, theirs = timed(ours), timed(loop, repeats=1) * trials / some
    show("permutation test, all swaps", mine, theirs)
    return mine, theirs


def calibrating(n: int = 400) -> None:
    """Tie calibration beside trying every threshold on the n x n table of differences."""
    rng = np.random.default_rng(1)
    human = rng.integers(0, 5, n).astype(float)
    scores = human + rng.normal(size=n)
    i, j = np.triu_indices(n, 1)
    dm, dh = scores[i] - scores[j], np.sign(human[i] - human[j])
    candidates = np.unique(np.abs(dm))
    some = candidates[:: max(1, len(candidates) // 100)]

    def loop() -> None:
        for epsilon in some:
            np.mean(np.where(np.abs(dm) <= epsilon, 0, np.sign(dm)) == dh)

    theirs = timed(loop, repeats=1) * len(candidates) / len(some)
    show(
        f"tie calibration, {len(dm):,} pairs", timed(lambda: accuracy.acc_eq(scores, human)), theirs
    )


def caching(n: int = 2000) -> None:
    rng = np.random.default_rng(2)
    words = np.array([f"word{i}" for i in range(3000)])
    texts = [" ".join(rng.choice(words, 25)) for _ in range(2 * n)]
    batch = Segments(texts[:n], references=[(text,) for text in texts[n:]], lang="de-en")
    ready = make_ready("chrf", Task.of(batch))
    with tempfile.TemporaryDirectory() as folder:
        cache = RowCache(folder)
        first = timed(lambda: rows_of(ready, batch, cache=cache), repeats=1)
        again = timed(lambda: rows_of(ready, batch, cache=cache))
        cache.close()
    show(f"chrf of {n:,} segments, cached against scored", again, first)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--metrics", type=int, default=10)
    parser.add_argument("--segments", type=int, default=560)
    parser.add_argument("--resamples", type=int, default=1000)
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    human = rng.normal(size=args.segments)
    scores = human + rng.normal(size=(args.metrics, args.segments)) * 1.5
    print(f"{args.metrics} metrics, {args.segments} segments, {args.resamples} resamples")
    a = resampling(scores, human, args.resamples)
    b = permuting(scores, human, args.resamples)
    show("correlation, bootstrap and permutation", a[0] + b[0], a[1] + b[1])
    calibrating()
    caching()


if __name__ == "__main__":
    main()
