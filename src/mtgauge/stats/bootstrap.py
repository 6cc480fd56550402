"""Bootstrap of system scores as a matrix product.

A resample draws n of the n segments with replacement. Let c count how often each was drawn: the
sum of the drawn rows is c @ rows. All resamples of all systems are therefore

    totals = counts @ rows      (B, n) @ (n, S * k)  ->  B x S sums of k statistics

and `system_score` turns each sum into a score. Example with n = 3 segments and one statistic:

    rows = [1, 5, 9];  the draw (2, 2, 0) has counts [1, 0, 2];  its sum is 1*1 + 2*9 = 19

Counts are made in blocks, so memory stays bounded however many segments there are. Every metric
of a run sees the same draws, and so do all systems: that is what makes the tests paired.
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


def resampled_scores(
    metrics: Sequence[Metric],
    rows: Sequence[FloatArray],
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> list[FloatArray]:
    """Scores of every resample: one array (resamples, systems) a metric.

    `rows[j]` has shape (systems, segments, k) and belongs to `metrics[j]`.
    """
    flat = [r.transpose(1, 0, 2).reshape(r.shape[1], -1) for r in rows]
    n = flat[0].shape[0]
    found: list[list[FloatArray]] = [[] for _ in metrics]
    for counts in draw_counts(n, resamples, seed):
        for j, metric in enumerate(metrics):
            found[j].append(_scores(metric, counts @ flat[j], rows[j].shape, n))
    return [np.concatenate(blocks) for blocks in found]


def draw_counts(n: int, resamples: int, seed: int) -> Iterator[FloatArray]:
    """How often each of n segments was drawn, one row a resample, in blocks."""
    rng = np.random.default_rng(seed)
    size = block_size(n, resamples)
    for start in range(0, resamples, size):
        block = min(size, resamples - start)
        counts = np.empty((block, n))
        # One count a resample: a single one over the whole block would miss the processor's cache.
        for i, drawn in enumerate(rng.integers(0, n, size=(block, n))):
            counts[i] = np.bincount(drawn, minlength=n)
        yield counts


def _scores(metric: Metric, totals: FloatArray, shape: tuple[int, ...], n: int) -> FloatArray:
    """Scores (b, systems) from sums (b, systems * k)."""
    systems, _, k = shape
    sums = totals.reshape(-1, k)
    scores = metric.system_score(sums, np.full(len(sums), float(n)))
    return scores.reshape(-1, systems)


def interval(scores: FloatArray, level: float = 0.95) -> FloatArray:
    """Percentile interval of each system: (systems, 2) from (resamples, systems)."""
    tail = 100 * (1 - level) / 2
    return np.percentile(scores, [tail, 100 - tail], axis=0).T
