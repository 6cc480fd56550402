"""Bootstrap of system scores as a matrix product.

A resample draws n of the n units (segments, or documents) with replacement. Let c count how often
each was drawn: the sum of the drawn rows is c @ rows. All resamples of all systems are therefore

    totals = counts @ rows      (B, n) @ (n, S * k)  ->  B x S sums of k statistics

and `system_score` turns each sum into a score. Example with n = 3 segments and one statistic:

    rows = [1, 5, 9];  the draw (2, 2, 0) has counts [1, 0, 2];  its sum is 1*1 + 2*9 = 19

Counts are made in blocks, so memory stays bounded however many segments there are. Every metric
of a run sees the same draws, and so do all systems: that is what makes the tests paired.

Documents are units whose rows are the sums of their segments' rows (`by_document`); `sizes` says
how many segments each unit holds, since a system score divides by the number of segments drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from mtgauge.metric import FloatArray, Metric

RESAMPLES = 1000
SEED = 12345
BLOCK = 500_000  # counts held at a time: few enough for the processor's cache


def block_size(n: int, samples: int) -> int:
    """Samples made at a time: `BLOCK` numbers, but eight samples of a very large test set."""
    return max(1, min(samples, max(8, BLOCK // n)))


def by_document(rows: FloatArray, documents: Sequence[str]) -> tuple[FloatArray, FloatArray]:
    """(systems, segments, k) rows to (systems, documents, k) sums, and segments per document."""
    _, member = np.unique(np.asarray(documents, dtype=str), return_inverse=True)
    count = int(member.max()) + 1
    order = np.argsort(member, kind="stable")
    starts = np.searchsorted(member[order], np.arange(count))
    return np.add.reduceat(rows[:, order], starts, axis=1), np.bincount(
        member, minlength=count
    ).astype(np.float64)


def resampled_scores(
    metrics: Sequence[Metric],
    rows: Sequence[FloatArray],
    resamples: int = RESAMPLES,
    seed: int = SEED,
    sizes: FloatArray | None = None,
) -> list[FloatArray]:
    """Scores of every resample: one array (resamples, systems) per metric.

    `rows[j]` has shape (systems, units, k) and belongs to `metrics[j]`; `sizes` has the number of
    segments per unit, one each by default.
    """
    flat = [r.transpose(1, 0, 2).reshape(r.shape[1], -1) for r in rows]
    n = flat[0].shape[0]
    sizes = np.ones(n) if sizes is None else sizes
    found: list[list[FloatArray]] = [[] for _ in metrics]
    for counts in draw_counts(n, resamples, seed):
        drawn = counts @ sizes
        for j, metric in enumerate(metrics):
            sums = (counts @ flat[j]).reshape(len(counts), rows[j].shape[0], -1)
            found[j].append(system_scores(metric, sums, drawn))
    return [np.concatenate(blocks) for blocks in found]


def draw_counts(n: int, resamples: int, seed: int) -> Iterator[FloatArray]:
    """How often each of n units was drawn, one row per resample, in blocks."""
    rng = np.random.default_rng(seed)
    size = block_size(n, resamples)
    for start in range(0, resamples, size):
        block = min(size, resamples - start)
        counts = np.empty((block, n))
        # One count per resample: a single one over the block would miss the processor's cache.
        for i, drawn in enumerate(rng.integers(0, n, size=(block, n))):
            counts[i] = np.bincount(drawn, minlength=n)
        yield counts


def system_scores(metric: Metric, sums: FloatArray, n: FloatArray) -> FloatArray:
    """(b, systems) scores from (b, systems, k) sums over n segments each, n of shape (b,)."""
    flat = sums.reshape(-1, sums.shape[-1])
    return metric.system_score(flat, np.repeat(n, sums.shape[1])).reshape(sums.shape[:-1])


def interval(scores: FloatArray, level: float = 0.95) -> FloatArray:
    """Percentile interval of each system: (systems, 2) from (resamples, systems).

    A resample in which a score is undefined (KoBE without an entity) is left out of that system's
    interval; where more than half are undefined, so is the interval.
    """
    tail = 100 * (1 - level) / 2
    found = np.full((scores.shape[1], 2), np.nan)
    for i, column in enumerate(scores.T):
        known = column[~np.isnan(column)]
        if len(known) and 2 * len(known) >= len(column):
            found[i] = np.percentile(known, [tail, 100 - tail])
    return found
