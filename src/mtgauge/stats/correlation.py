"""Correlation of metric scores with human scores, always signed.

    pearson      sum (x-mx)(y-my) / sqrt(sum (x-mx)^2 sum (y-my)^2)
    spearman     pearson of the ranks, ties share their mean rank
    kendall      tau-b = (C - D) / sqrt((P - Tx)(P - Ty)), P pairs, Tx and Ty tied ones
    tau_wmt      (Conc - Disc) / (Conc + Disc) over better/worse pairs; a metric tie is Disc

    pearson(scores, human)                      scores (m, n) or (n,), human (n,)
    pairs = darr_pairs(segments, raw)           WMT's direct assessment as relative ranking
    tau_wmt(scores, pairs)

Nothing is ever turned into an absolute value: a distance is negated by the caller because its
metric says `higher_is_better = False`. A constant column, or fewer than three points, has no
correlation: NaN, never 0. Callers drop missing values first; NaN in, NaN out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
DARR_GAP = 25.0  # points of 100 between two raw judgements that make a better/worse pair


def is_constant(values: FloatArray) -> NDArray[np.bool_]:
    """Whether values are equal up to rounding, along the last axis."""
    spread = values.max(axis=-1) - values.min(axis=-1)
    return np.asarray(spread <= 1e-13 * np.abs(values).max(axis=-1))


def pearson(scores: ArrayLike, human: ArrayLike) -> FloatArray:
    """Signed Pearson correlation of each row of `scores` with `human`.

    >>> pearson([[1, 2, 4], [4, 2, 1]], [1, 2, 3]).round(3)
    array([ 0.982, -0.982])
    """
    x, y = np.asarray(scores, dtype=np.float64), np.asarray(human, dtype=np.float64)
    if y.ndim != 1 or x.shape[-1] != len(y):
        raise ValueError(f"scores {x.shape} and human {y.shape} do not belong together")
    if len(y) < 3:
        return np.full(x.shape[:-1], np.nan)
    dx, dy = x - x.mean(axis=-1, keepdims=True), y - y.mean()
    with np.errstate(invalid="ignore", divide="ignore"):
        r = (dx @ dy) / np.sqrt((dx * dx).sum(axis=-1) * (dy @ dy))
    r = np.where(is_constant(x) | is_constant(y), np.nan, np.clip(r, -1.0, 1.0))
    return np.asarray(r, dtype=np.float64)


def spearman(scores: ArrayLike, human: ArrayLike) -> FloatArray:
    """Signed rank correlation of each row of `scores` with `human`."""
    x, y = np.asarray(scores, dtype=np.float64), np.asarray(human, dtype=np.float64)
    if len(y) < 3:
        return np.full(x.shape[:-1], np.nan)
    rows = x.reshape(-1, x.shape[-1])
    return pearson(np.array([mean_ranks(row) for row in rows]).reshape(x.shape), mean_ranks(y))


def mean_ranks(values: FloatArray) -> FloatArray:
    """Ranks from 1 on; equal values share their mean rank. NaN anywhere: all NaN.

    >>> mean_ranks(np.array([10.0, 30.0, 10.0, 20.0]))
    array([1.5, 4. , 1.5, 3. ])
    """
    if np.isnan(values).any():
        return np.full(len(values), np.nan)
    _, at, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[at], dtype=np.float64)


def kendall(scores: ArrayLike, human: ArrayLike) -> FloatArray:
    """Kendall's tau-b of each row of `scores` with `human`."""
    x, y = np.asarray(scores, dtype=np.float64), np.asarray(human, dtype=np.float64)
    if len(y) < 3:
        return np.full(x.shape[:-1], np.nan)
    rows = x.reshape(-1, x.shape[-1])
    values = [
        np.nan if np.isnan([row, y]).any() or is_constant(row) or is_constant(y) else _tau_b(row, y)
        for row in rows
    ]
    return np.array(values, dtype=np.float64).reshape(x.shape[:-1])


def _tau_b(x: FloatArray, y: FloatArray) -> float:
    """Tau-b in O(n log n): with x sorted (ties by y), a discordant pair is an inversion of y."""
    order = np.lexsort((y, x))
    rank = np.unique(y, return_inverse=True)[1][order]
    pairs, tied_x, tied_y = len(x) * (len(x) - 1) // 2, _tied(x), _tied(y)
    is_new = np.diff(x[order], prepend=np.nan) != 0  # NaN differs from everything
    both = _tied(np.cumsum(is_new | (np.diff(y[order], prepend=np.nan) != 0)))
    difference = pairs - tied_x - tied_y + both - 2 * _inversions(rank)
    tau = difference / np.sqrt(pairs - tied_x) / np.sqrt(pairs - tied_y)
    return float(np.clip(tau, -1.0, 1.0))


def _tied(values: NDArray[np.generic]) -> int:
    """Pairs of equal values."""
    counts = np.unique(values, return_counts=True)[1]
    return int((counts * (counts - 1) // 2).sum())


def _inversions(rank: IntArray) -> int:
    """Pairs i < j with rank[i] > rank[j], for whole numbers from 0 on.

    Such a pair agrees in the leading bits, then has 1 before 0. Each bit is one pass: numbers
    that agree above it are brought together in their order, and each 0 counts the 1s before it.

    >>> _inversions(np.array([2, 0, 1, 1]))
    3
    """
    found = 0
    for bit in range(int(rank.max()).bit_length()):
        above = rank >> (bit + 1)
        order = np.argsort(above, kind="stable")
        is_one = (rank[order] >> bit & 1).astype(bool)
        ones = np.concatenate([[0], np.cumsum(is_one)])
        group = np.searchsorted(above[order], above[order])  # where each one's group begins
        found += int((ones[:-1] - ones[group])[~is_one].sum())
    return found


def darr_pairs(segments: Sequence[str], raw: ArrayLike, gap: float = DARR_GAP) -> IntArray:
    """Better/worse pairs of rows: same segment, raw judgements at least `gap` apart.

    `raw` is on 0 to 100, NaN where a translation was not judged. Returns (pairs, 2): row of the
    better translation, row of the worse one.

    >>> darr_pairs(["1", "1", "1", "2"], [80, 55, 60, 10]).tolist()
    [[0, 1]]
    """
    values = np.asarray(raw, dtype=np.float64)
    ids = np.unique(np.asarray(segments), return_inverse=True)[1]
    order = np.argsort(ids, kind="stable")
    order = order[~np.isnan(values[order])]
    bounds = np.flatnonzero(np.diff(ids[order])) + 1
    found = [np.empty((0, 2), dtype=np.int64)]
    for rows in np.split(order, bounds):
        difference = values[rows][:, None] - values[rows][None, :]
        better, worse = np.nonzero(difference >= gap)
        found.append(np.stack([rows[better], rows[worse]], axis=1))
    return np.concatenate(found)


def concordant(scores: ArrayLike, pairs: IntArray) -> NDArray[np.bool_]:
    """For each pair whether the better translation scores strictly higher; shape (..., pairs)."""
    x = np.asarray(scores, dtype=np.float64)
    return np.asarray(x[..., pairs[:, 0]] > x[..., pairs[:, 1]])


def tau_wmt(scores: ArrayLike, pairs: IntArray) -> FloatArray:
    """WMT's Kendall-like tau; metric ties count against the metric. NaN without pairs.

    >>> float(tau_wmt([2, 1, 4, 3], darr_pairs(["a"] * 4, [10, 11, 100, 150])))
    0.6
    """
    x = np.asarray(scores, dtype=np.float64)
    if not len(pairs):
        return np.full(x.shape[:-1], np.nan)
    won = concordant(x, pairs)
    undefined = np.isnan(x[..., pairs]).any(axis=(-1, -2))
    # counts first, one division last: 3/5 comes out as 0.6, not 0.6000000000000001
    tau = (2 * won.sum(axis=-1) - won.shape[-1]) / won.shape[-1]
    return np.asarray(np.where(undefined, np.nan, tau), dtype=np.float64)


def outliers(human: ArrayLike, cutoff: float = 2.5) -> NDArray[np.bool_]:
    """Systems far from the rest by the rule of Mathur et al. (2020).

    |h - median| / (1.483 MAD) > cutoff, with MAD the median absolute deviation. One very bad
    system can lift a correlation to .9 although the metric cannot tell the others apart. A MAD of
    0 (most systems equal) marks nobody.
    """
    y = np.asarray(human, dtype=np.float64)
    if not len(y):
        return np.zeros(0, dtype=bool)
    distance = np.abs(y - np.median(y))
    mad = 1.483 * np.median(distance)
    return np.asarray(distance > cutoff * mad) if mad > 0 else np.zeros(len(y), dtype=bool)


def robust_pearson(scores: ArrayLike, human: ArrayLike) -> FloatArray:
    """Pearson over the systems that `outliers` does not mark."""
    kept = ~outliers(human)
    return pearson(np.asarray(scores, dtype=np.float64)[..., kept], np.asarray(human)[kept])
