"""Is system b really better than a? Two paired tests, and clusters of systems.

Both tests are sacrebleu's, on sums of statistics instead of loops over samples:

- *paired bootstrap* (Koehn 2004, as in Moses): with d the absolute difference of each resample,
  p = share of resamples in which d - mean(d) exceeds the real difference;
- *paired approximate randomisation* (Riezler and Maxwell 2005): each trial swaps the outputs of
  the two systems in random segments; p = share of trials whose difference exceeds the real one.
  With m a 0/1 mask, the swapped sums are  sum(a) + m @ (b - a)  and  sum(b) - m @ (b - a),
  so all trials are one product.

One is added to both counts of a share, so p is never 0. Two systems with the same score get
p = 1; sacrebleu's formula would call them different, since no sample exceeds a difference of 0.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mtgauge.metric import FloatArray, Metric
from mtgauge.stats.bootstrap import RESAMPLES, SEED, block_size

ALPHA = 0.05


def p_bootstrap(resampled: FloatArray, real: FloatArray, base: int = 0) -> FloatArray:
    """p of each system against system `base`: (systems,) from (resamples, systems)."""
    differences = np.abs(resampled - resampled[:, [base]])
    centred = differences - differences.mean(axis=0)
    return _p_value(centred, np.abs(real - real[base]))


def p_randomisation(
    metrics: Sequence[Metric],
    rows: Sequence[FloatArray],
    trials: int = RESAMPLES,
    seed: int = SEED,
) -> list[FloatArray]:
    """p of each system against the first one, one array (systems,) a metric.

    `rows[j]` has shape (systems, segments, k).
    """
    n = rows[0].shape[1]
    deltas = [(r[1:] - r[:1]).transpose(1, 0, 2).reshape(n, -1) for r in rows]
    sums = [r.sum(axis=1) for r in rows]
    exceed: list[list[FloatArray]] = [[] for _ in metrics]
    rng = np.random.default_rng(seed + 1)
    size = block_size(n, trials)
    for start in range(0, trials, size):
        mask = rng.integers(0, 2, size=(min(size, trials - start), n), dtype=np.int8)
        mask_f = mask.astype(np.float64)
        for j, metric in enumerate(metrics):
            moved = (mask_f @ deltas[j]).reshape(len(mask), *sums[j][1:].shape)
            first, second = sums[j][0] + moved, sums[j][1:] - moved
            exceed[j].append(np.abs(_system(metric, first, n) - _system(metric, second, n)))
    found = []
    for j, metric in enumerate(metrics):
        real = _system(metric, sums[j][None], n)[0]
        p = _p_value(np.concatenate(exceed[j]), np.abs(real[1:] - real[0]))
        found.append(np.concatenate(([1.0], p)))
    return found


def _system(metric: Metric, sums: FloatArray, n: int) -> FloatArray:
    """(b, systems) scores from (b, systems, k) sums."""
    flat = sums.reshape(-1, sums.shape[-1])
    return metric.system_score(flat, np.full(len(flat), float(n))).reshape(sums.shape[:-1])


def _p_value(samples: FloatArray, real: FloatArray) -> FloatArray:
    p = (np.sum(samples > real, axis=0) + 1) / (len(samples) + 1)
    p = np.where(real == 0, 1.0, p)
    return np.where(np.isnan(real) | np.isnan(samples).any(axis=0), np.nan, p)


def clusters(resampled: FloatArray, real: FloatArray, higher_is_better: bool) -> list[int]:
    """Cluster of each system, 1 for the best.

    Systems are sorted by score; a new cluster begins where every system above differs from every
    system below (paired bootstrap, p < 0.05). Systems of one cluster cannot be told apart.
    """
    order = np.argsort(-real if higher_is_better else real, kind="stable")
    apart = np.array([p_bootstrap(resampled, real, base=i) < ALPHA for i in range(len(real))])
    ranks = [0] * len(real)
    current = 1
    for place, system in enumerate(order):
        if place and apart[np.ix_(order[:place], order[place:])].all():
            current = place + 1
        ranks[system] = current
    return ranks
