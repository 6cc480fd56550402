"""Bootstrap of correlations: all resamples at once, by matrix products.

A resample draws n of n points with replacement; let c count how often each was drawn. Every sum
that a correlation needs is then linear or bilinear in c, so B resamples are one product:

    pearson     sum c x, sum c x^2, sum c y, sum c y^2, sum c x y       C (B, n) @ (n, 3m + 2)
    spearman    the points stay sorted, so the rank of a tie group is (drawn below it)
                + (drawn in it + 1) / 2: a running sum of C; then Pearson of ranks, weighted by c
    kendall     2 (Conc - Disc) = c' S c with S_ij = sign(x_i - x_j) sign(y_i - y_j);
                tied pairs follow from the counts of the tie groups
    tau_wmt     pairs are drawn; of P pairs the drawn concordant ones are Binomial(P, share):
                that *is* the resampling distribution, so nothing needs to be drawn pair by pair

    resampled_correlations(scores, human, "pearson")      scores (m, n) -> (1000, m)

Worked example: x = [1, 5, 9], draw (2, 2, 0) has c = [1, 0, 2] and sum c x = 1 + 18 = 19. Limits:
rank correlations are refused above `RANK_LIMIT` points: Kendall needs an n x n matrix per metric,
and ranks of a thousand resamples fill memory, while intervals that narrow tell little. A resample
without variance (all draws one point) has no correlation and stays NaN.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from mtgauge.stats.bootstrap import RESAMPLES, SEED, draw_counts
from mtgauge.stats.correlation import FloatArray, IntArray, concordant

Statistic = Literal["pearson", "spearman", "kendall"]
RANK_LIMIT = 3000


def resampled_correlations(
    scores: ArrayLike,
    human: ArrayLike,
    statistic: Statistic = "pearson",
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> FloatArray:
    """The statistic in every resample, (resamples, m); the same draws for all metrics."""
    x = np.atleast_2d(np.asarray(scores, dtype=np.float64))
    y = np.asarray(human, dtype=np.float64)
    if statistic != "pearson" and len(y) > RANK_LIMIT:
        raise ValueError(f"The bootstrap of {statistic} is limited to {RANK_LIMIT} points.")
    if len(y) < 3:
        return np.full((resamples, len(x)), np.nan)
    resample = {"pearson": _pearson, "spearman": _spearman, "kendall": _kendall}[statistic]
    blocks = draw_counts(len(y), resamples, seed)
    return np.concatenate([resample(counts, x, y) for counts in blocks])


def resampled_tau_wmt(
    scores: ArrayLike, pairs: IntArray, resamples: int = RESAMPLES, seed: int = SEED
) -> FloatArray:
    """Tau of resampled better/worse pairs, (resamples, m).

    The draws of different metrics are independent: compare two metrics with
    `significance.bootstrap_tau_test`, which draws jointly.
    """
    won = concordant(np.atleast_2d(np.asarray(scores, dtype=np.float64)), pairs)
    size = won.shape[-1]
    if not size:
        return np.full((resamples, len(won)), np.nan)
    drawn = np.random.default_rng(seed).binomial(
        size, won.mean(axis=-1), size=(resamples, len(won))
    )
    return np.asarray((2.0 * drawn - size) / size)


def standardised(x: FloatArray) -> FloatArray:
    """Centred and scaled, so that sums of squares do not cancel; constant rows become 0."""
    spread = x.std(axis=-1, keepdims=True)
    return np.asarray((x - x.mean(axis=-1, keepdims=True)) / np.where(spread > 0, spread, 1.0))


def pearson_from_sums(
    sx: FloatArray, sxx: FloatArray, sxy: FloatArray, sy: FloatArray, syy: FloatArray, n: float
) -> FloatArray:
    """Pearson's r from sums over n points; NaN where one side does not vary."""
    with np.errstate(invalid="ignore", divide="ignore"):
        vx, vy = sxx - sx * sx / n, syy - sy * sy / n
        r = (sxy - sx * sy / n) / np.sqrt(vx * vy)
    # below rounding noise the resample has no variance, hence no correlation
    return np.where((vx > 1e-9 * n) & (vy > 1e-9 * n), np.clip(r, -1.0, 1.0), np.nan)


def _pearson(counts: FloatArray, x: FloatArray, y: FloatArray) -> FloatArray:
    m, n = x.shape
    x, y = standardised(x), standardised(y)
    sums = counts @ np.concatenate([x, x * x, x * y, [y, y * y]]).T
    return pearson_from_sums(
        sums[:, :m], sums[:, m : 2 * m], sums[:, 2 * m : 3 * m], sums[:, [-2]], sums[:, [-1]], n
    )


def _tie_groups(values: FloatArray) -> tuple[IntArray, IntArray, IntArray]:
    """Sorting order, start of each tie group in it, and the group of each point."""
    _, group = np.unique(values, return_inverse=True)
    order = np.argsort(group, kind="stable")
    starts = np.concatenate(([0], np.flatnonzero(np.diff(group[order])) + 1))
    return order, starts, group


def _ranks(counts: FloatArray, values: FloatArray) -> FloatArray:
    """Mean ranks of the points in each resample, centred on 0 and scaled by n."""
    order, starts, group = _tie_groups(values)
    n = len(values)
    drawn = np.add.reduceat(counts[:, order], starts, axis=1) if len(starts) < n else None
    drawn = counts[:, order] if drawn is None else drawn
    rank = np.cumsum(drawn, axis=1) - (drawn - 1.0) / 2.0
    rank -= (n + 1) / 2
    rank /= n
    return rank[:, group]


def _spearman(counts: FloatArray, x: FloatArray, y: FloatArray) -> FloatArray:
    n = len(y)
    ry = _ranks(counts, y)
    weighted = counts * ry
    syy = np.einsum("bn,bn->b", weighted, ry)
    found = np.empty((len(counts), len(x)))
    zero = np.zeros(len(counts))  # ranks are centred: their weighted sums are 0
    for j, row in enumerate(x):
        rx = _ranks(counts, row)
        sxy = np.einsum("bn,bn->b", weighted, rx)
        sxx = np.einsum("bn,bn,bn->b", counts, rx, rx)
        found[:, j] = pearson_from_sums(zero, sxx, sxy, zero, syy, n)
    return found


def _tied_pairs(counts: FloatArray, values: FloatArray) -> FloatArray:
    """Ordered pairs of draws with equal values, a draw paired with itself not counted."""
    order, starts, _ = _tie_groups(values)
    drawn = np.add.reduceat(counts[:, order], starts, axis=1)
    return np.asarray(np.einsum("bg,bg->b", drawn, drawn) - len(values))


def _kendall(counts: FloatArray, x: FloatArray, y: FloatArray) -> FloatArray:
    n = len(y)
    small = counts.astype(np.float32)  # whole numbers: single precision is exact below 2^24
    sign_y = np.sign(y[:, None] - y[None, :]).astype(np.float32)
    free_y = n * (n - 1) - _tied_pairs(counts, y)
    found = np.empty((len(counts), len(x)))
    for j, row in enumerate(x):
        product = np.sign(row[:, None] - row[None, :]).astype(np.float32) * sign_y
        difference = np.einsum("bn,bn->b", (small @ product).astype(np.float64), counts)
        free_x = n * (n - 1) - _tied_pairs(counts, row)
        with np.errstate(invalid="ignore", divide="ignore"):
            found[:, j] = difference / np.sqrt(free_x * free_y)
    found[~np.isfinite(found)] = np.nan
    return found
