"""Modern relatives of Kendall's tau: how often does a metric decide as people do?

    pairwise_accuracy   systems (Kocmi et al. 2021): share of system pairs ordered alike.
    acc_eq              segments (Deutsch et al. 2023): share of pairs with the same verdict
                        (better, worse, *tied*); metric differences up to epsilon count as ties,
                        and epsilon is the one that is best for the metric: tie calibration.
    spa                 systems (Thompson et al. 2024), soft pairwise accuracy:
                        1 - mean over pairs |p_human - p_metric|, p from paired permutation tests.

    acc_eq(scores, human, groups=segment_ids)      -> Accuracy(value, chance, pairs, epsilon)

Each result carries its chance level, since .5 is not always it:

- pairwise accuracy: a coin orders half of the pairs that people do not tie, (1 - T) / 2, with T
  the share of human ties;
- acc_eq: a metric of noise with a share q of ties gets q T + (1 - q)(1 - T) / 2. That is linear in
  q, so calibration takes q = 0 or 1: max(T, (1 - T) / 2);
- spa: the metric's p-values with every verdict reversed at random, p or 1 - p by a coin:
  1 - mean max(|p_human - 1/2|, |p_metric - 1/2|).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mtgauge.stats.bootstrap import RESAMPLES, SEED
from mtgauge.stats.correlation import FloatArray


@dataclass(frozen=True)
class Accuracy:
    value: float
    chance: float
    pairs: int
    epsilon: float = 0.0


_NONE = Accuracy(float("nan"), float("nan"), 0)


def pairwise_accuracy(scores: ArrayLike, human: ArrayLike) -> Accuracy:
    """Share of pairs with the same sign of difference; a tie agrees with a tie only.

    >>> pairwise_accuracy([1, 1, 2, 1, 2], [1, 2, 3, 3, 4]).value
    0.5
    """
    dm, dh, _ = _differences(scores, human, None)
    if not len(dm):
        return _NONE
    ties = float(np.mean(dh == 0))
    return Accuracy(float(np.mean(np.sign(dm) == np.sign(dh))), (1 - ties) / 2, len(dm))


def acc_eq(
    scores: ArrayLike,
    human: ArrayLike,
    groups: Sequence[str] | None = None,
    epsilon: float | None = None,
) -> Accuracy:
    """Accuracy with ties; pairs are formed within groups, and groups are averaged.

    Grouped by segment this is the measure of the WMT23 metrics task. NaN scores leave their
    translation out. `epsilon=None` calibrates; ties in accuracy go to the smallest epsilon.

    >>> acc_eq([2, 1, 1.5, 5, 3], [1, 2, 2, 3, 4])
    Accuracy(value=0.7, chance=0.45, pairs=10, epsilon=0.5)
    """
    dm, dh, weight = _differences(scores, human, groups)
    if not len(dm):
        return _NONE
    gap = np.abs(dm)
    tied = dh == 0
    agree = ~tied & (np.sign(dm) == np.sign(dh))
    ties = float(weight @ tied)
    chance = max(ties, (1 - ties) / 2)
    if epsilon is not None:
        right = np.where(gap <= epsilon, tied, agree)
        return Accuracy(float(weight @ right), chance, len(dm), epsilon)
    # raising epsilon past a gap turns that pair into a tie: it gains if people tied it and loses
    # if it agreed. Sorted by gap, the accuracy at every epsilon is one running sum.
    order = np.argsort(gap, kind="stable")
    gain = weight * (tied.astype(np.float64) - agree)
    value = float(weight @ agree) + np.cumsum(gain[order])
    last = np.concatenate((np.diff(gap[order]) > 0, [True]))  # a whole tie group moves at once
    thresholds, values = gap[order][last], value[last]
    if thresholds[0] > 0:
        thresholds = np.concatenate(([0.0], thresholds))
        values = np.concatenate(([float(weight @ agree)], values))
    best = int(np.argmax(np.round(values, 12)))
    return Accuracy(round(float(values[best]), 15), chance, len(dm), float(thresholds[best]))


def spa(
    scores: ArrayLike, human: ArrayLike, resamples: int = RESAMPLES, seed: int = SEED
) -> Accuracy:
    """Soft pairwise accuracy from (systems, segments) scores; NaN where not judged or scored.

    A pair of systems is tested on the segments that both have; pairs without any are left out.
    """
    x, h = np.asarray(scores, dtype=np.float64), np.asarray(human, dtype=np.float64)
    if x.shape != h.shape or x.ndim != 2:
        raise ValueError(f"scores {x.shape} and human {h.shape} must be (systems, segments)")
    p_metric, p_human = p_values(x, resamples, seed), p_values(h, resamples, seed)
    both = ~(np.isnan(p_metric) | np.isnan(p_human))
    a, b = p_metric[both], p_human[both]
    if not len(a):
        return _NONE
    chance = 1 - float(np.mean(np.maximum(np.abs(a - 0.5), np.abs(b - 0.5))))
    return Accuracy(1 - float(np.mean(np.abs(a - b))), chance, len(a))


def p_values(scores: FloatArray, resamples: int = RESAMPLES, seed: int = SEED) -> FloatArray:
    """One-sided p of every pair of systems i < j that i is better by chance.

    A permutation flips the sign of the difference in random segments. With signs R (B, n) and
    differences D (n, pairs), the permuted totals are R @ D: one product for all pairs. A segment
    that one of the two lacks has difference 0 and plays no part.
    """
    first, second = np.triu_indices(len(scores), 1)
    difference = scores[first] - scores[second]
    shared = ~np.isnan(difference)
    d = np.where(shared, difference, 0.0)
    rng = np.random.default_rng(seed)
    signs = 2.0 * rng.integers(0, 2, size=(resamples, d.shape[1]), dtype=np.int8) - 1.0
    total = d.sum(axis=1)
    noise = 1e-12 * np.abs(d).sum(axis=1)  # a tie of totals must not hang on rounding
    p = np.mean(signs @ d.T >= total - noise, axis=0)
    return np.where(shared.any(axis=1), p, np.nan)


def _differences(
    scores: ArrayLike, human: ArrayLike, groups: Sequence[str] | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Differences of metric and human in every pair of a group, and the pair's weight.

    Weights are 1 / (pairs of its group * groups): the weighted sum is the mean over groups.
    """
    x, h = np.asarray(scores, dtype=np.float64), np.asarray(human, dtype=np.float64)
    ids = np.unique(np.asarray(groups), return_inverse=True)[1] if groups is not None else None
    if ids is None:
        ids = np.zeros(len(x), dtype=np.int64)
    known = np.flatnonzero(~(np.isnan(x) | np.isnan(h)))
    order = known[np.argsort(ids[known], kind="stable")]
    metric, person, weight = [], [], []
    for rows in np.split(order, np.flatnonzero(np.diff(ids[order])) + 1):
        if len(rows) < 2:
            continue
        i, j = np.triu_indices(len(rows), 1)
        metric.append(x[rows[i]] - x[rows[j]])
        person.append(h[rows[i]] - h[rows[j]])
        weight.append(np.full(len(i), 1.0 / len(i)))
    if not metric:
        return np.empty(0), np.empty(0), np.empty(0)
    return (
        np.concatenate(metric),
        np.concatenate(person),
        np.concatenate(weight) / len(weight),
    )
