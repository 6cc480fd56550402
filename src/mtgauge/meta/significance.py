"""Is one metric's agreement with people really better than another's?

    williams      Pearson, in closed form (Williams 1959; Graham and Baldwin 2014). With r12, r13
                  the correlations of metrics A, B with people and r23 that of A with B,
                  K = 1 - r12^2 - r13^2 - r23^2 + 2 r12 r13 r23:
                  t = (r12 - r13) sqrt((n-1)(1+r23))
                      / sqrt(2K (n-1)/(n-3) + ((r12+r13)/2)^2 (1-r23)^3),   n - 3 degrees
    bootstrap     any statistic: the share of resamples in which A is not above B
    permutation   PERM-BOTH (Deutsch et al. 2021): scores of A and B, standardised, are swapped at
                  random cell by cell; p = share of swaps whose difference reaches the real one

    williams(0.70, 0.60, 0.80, 560)                    -> t 5.2241, p 1.2e-7
    permutation_test(a, b, human)                      -> p that A is better by chance
    better = matrix(scores, human, "williams")         better[i, j]: p that i beats j by chance

All p are one-sided: small means A is better than B. Undefined correlations (constant scores) give
NaN, and NaN is never significant.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from mtgauge.stats.bootstrap import RESAMPLES, SEED
from mtgauge.stats.correlation import FloatArray, IntArray, concordant, pearson
from mtgauge.stats.correlation_bootstrap import (
    pearson_from_sums,
    resampled_correlations,
    standardised,
)

ALPHA = 0.05
_BLOCK = 100  # swaps between two looks at whether to stop


def williams(
    r12: ArrayLike, r13: ArrayLike, r23: ArrayLike, n: int
) -> tuple[FloatArray, FloatArray]:
    """(t, one-sided p) that metric A (r12) correlates better than metric B (r13)."""

    a, b, c = (np.asarray(r, dtype=np.float64) for r in (r12, r13, r23))
    if n < 4:
        return np.full(a.shape, np.nan), np.full(a.shape, np.nan)
    # K is a determinant, at least 0; rounding may put it a hair below
    k = np.maximum(1 - a * a - b * b - c * c + 2 * a * b * c, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        below = 2 * k * (n - 1) / (n - 3) + ((a + b) / 2) ** 2 * (1 - c) ** 3
        t = (a - b) * np.sqrt((n - 1) * (1 + c)) / np.sqrt(below)
    t = np.where((a == b) & ~np.isnan(c), 0.0, t)  # 0/0 for two equal metrics
    return t, _above(t, n - 3)


def _above(t: FloatArray, degrees: int) -> FloatArray:
    """P(T > t) of Student's t: a finite sum for whole degrees (Abramowitz and Stegun 26.7.3, 4).

    With tan a = t / sqrt(degrees), P(|T| < t) is sin a (1 + 1/2 cos^2 a + 1.3/2.4 cos^4 a + ...)
    for even degrees, 2/pi (a + sin a (cos a + 2/3 cos^3 a + ...)) for odd ones.
    """
    angle = np.arctan(t / np.sqrt(degrees))
    odd = degrees % 2
    k = np.arange(1, degrees // 2)
    weights = np.cumprod(np.concatenate([[1.0], (2 * k - 1 + odd) / (2 * k + odd)]))
    inside = np.sin(angle) * np.polynomial.polynomial.polyval(np.cos(angle) ** 2, weights)
    if odd:
        inside = 2 / np.pi * (angle + (inside * np.cos(angle) if degrees > 1 else 0.0))
    return np.asarray(np.clip((1.0 - inside) / 2, 0.0, 1.0))


def bootstrap_test(a: FloatArray, b: FloatArray) -> float:
    """p that A is better than B by chance, from their values in the same resamples."""
    both = ~(np.isnan(a) | np.isnan(b))
    if not both.any():
        return float("nan")
    return float((np.sum(a[both] <= b[both]) + 1) / (both.sum() + 1))


def bootstrap_tau_test(
    a: ArrayLike, b: ArrayLike, pairs: IntArray, resamples: int = RESAMPLES, seed: int = SEED
) -> float:
    """p that A's Kendall-like tau is above B's by chance, pairs resampled.

    Only pairs on which the metrics disagree move the difference. How many of them are drawn, for A
    and for B, is multinomial: the exact resampling distribution without drawing each pair.
    """
    won_a, won_b = concordant(a, pairs), concordant(b, pairs)
    size = len(pairs)
    if not size or np.isnan(np.asarray(a)[pairs]).any() or np.isnan(np.asarray(b)[pairs]).any():
        return float("nan")
    only_a, only_b = float(np.mean(won_a & ~won_b)), float(np.mean(won_b & ~won_a))
    drawn = np.random.default_rng(seed).multinomial(
        size, [only_a, only_b, max(0.0, 1.0 - only_a - only_b)], size=resamples
    )
    return bootstrap_test(drawn[:, 0].astype(np.float64), drawn[:, 1].astype(np.float64))


def permutation_test(
    a: ArrayLike,
    b: ArrayLike,
    human: ArrayLike,
    trials: int = RESAMPLES,
    seed: int = SEED,
    alpha: float = ALPHA,
) -> tuple[float, int]:
    """(p, swaps made) that A's Pearson is above B's by chance.

    `a` and `b` are (n,), or (systems, segments) for system-level PERM-BOTH: then cells are swapped
    and a system's score is the mean of its cells. `human` has one score per point or system.

    Early stopping follows Besag and Clifford (1991): once alpha * trials swaps have reached the
    real difference, the result cannot become significant; p = reached / made is then valid.
    """
    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    h = np.asarray(human, dtype=np.float64)
    if x.shape != y.shape or len(x) != len(h):
        raise ValueError(f"a {x.shape}, b {y.shape} and human {h.shape} do not belong together")
    systems = x.mean(axis=1) if x.ndim == 2 else x, y.mean(axis=1) if y.ndim == 2 else y
    real = float(pearson(systems[0], h) - pearson(systems[1], h))
    if np.isnan(real):
        return float("nan"), 0
    shape = x.shape
    x, y = standardised(x.reshape(-1)), standardised(y.reshape(-1))
    rng = np.random.default_rng(seed)
    reached, made, stop = 0, 0, max(1, int(alpha * trials))
    while made < trials and reached < stop:
        size = min(_BLOCK, trials - made)
        mask = rng.integers(0, 2, size=(size, len(x)), dtype=np.int8).astype(np.float64)
        delta = _swapped(mask, x, y, shape, h)
        # NaN (no variance after the swap) says nothing against the real difference
        reached += int(np.sum(delta >= real - 1e-12))
        made += size
    if reached >= stop and made < trials:
        return reached / made, made
    return (reached + 1) / (made + 1), made


def _swapped(
    mask: FloatArray, x: FloatArray, y: FloatArray, shape: tuple[int, ...], h: FloatArray
) -> FloatArray:
    """Difference of Pearson after swapping the masked cells: (trials,)."""
    h = standardised(h)
    n = len(h)
    d = y - x
    if len(shape) == 2:
        moved = (mask * d).reshape(len(mask), *shape).mean(axis=2)
        one = x.reshape(shape).mean(axis=1) + moved
        two = y.reshape(shape).mean(axis=1) - moved
        return pearson(one, h) - pearson(two, h)
    # sums after the swap are the old sums plus what moved: one product for all trials
    moved = mask @ np.stack([d, y * y - x * x, d * h], axis=1)
    sy, syy = np.array(h.sum()), np.array(h @ h)
    sums = [np.array([v.sum(), v @ v, v @ h]) for v in (x, y)]
    first, second = sums[0] + moved, sums[1] - moved
    return pearson_from_sums(first[:, 0], first[:, 1], first[:, 2], sy, syy, n) - pearson_from_sums(
        second[:, 0], second[:, 1], second[:, 2], sy, syy, n
    )


Test = Literal["williams", "bootstrap", "permutation"]


def matrix(
    scores: ArrayLike,
    human: ArrayLike,
    test: Test = "williams",
    seed: int = SEED,
    cells: FloatArray | None = None,
) -> FloatArray:
    """p[i, j] that metric i correlates better (Pearson) than metric j by chance; diagonal NaN.

    `cells` (metrics, systems, segments) lets the permutation test swap segments of systems.
    """
    x, h = np.atleast_2d(np.asarray(scores, dtype=np.float64)), np.asarray(human, np.float64)
    m = len(x)
    if test == "williams":
        r = pearson(x, h)
        r23 = np.array([pearson(x, row) for row in x])
        p = williams(r[:, None], r[None, :], r23, x.shape[1])[1]
    elif test == "bootstrap":
        drawn = resampled_correlations(x, h, "pearson", seed=seed)
        p = np.array(
            [[bootstrap_test(drawn[:, i], drawn[:, j]) for j in range(m)] for i in range(m)]
        )
    else:
        swapped = x if cells is None else cells
        p = np.full((m, m), np.nan)
        for i, j in np.ndindex(m, m):
            if i != j:
                p[i, j] = permutation_test(swapped[i], swapped[j], h, seed=seed)[0]
    np.fill_diagonal(p, np.nan)
    return p


def tau_matrix(scores: ArrayLike, pairs: IntArray, seed: int = SEED) -> FloatArray:
    """p[i, j] that metric i has the better Kendall-like tau by chance."""
    x = np.atleast_2d(np.asarray(scores, dtype=np.float64))
    p = np.full((len(x), len(x)), np.nan)
    for i, j in np.ndindex(*p.shape):
        if i != j:
            p[i, j] = bootstrap_tau_test(x[i], x[j], pairs, seed=seed)
    return p


def clusters(values: Sequence[float], p: FloatArray, alpha: float = ALPHA) -> list[int | None]:
    """Significance cluster of each metric, 1 for the best; None where the value is undefined.

    Metrics are taken from best to worst; one that is beaten significantly by any member of the
    current cluster opens the next (the rule of the WMT metrics task).
    """
    found: list[int | None] = [None] * len(values)
    order = [i for i in np.argsort(-np.asarray(values, dtype=np.float64)) if values[i] == values[i]]
    current: list[int] = []
    number = 0
    for i in order:
        if not current or any(p[j, i] < alpha for j in current):
            current, number = [], number + 1
        current.append(int(i))
        found[int(i)] = number
    return found
