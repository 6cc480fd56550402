"""Is one system really better than another? Two paired tests of all pairs, corrected, and ranks.

- *paired bootstrap* (Koehn 2004, as in Moses): with d the absolute difference of each resample,
  p = share of resamples in which d - mean(d) reaches the real difference. As d has no sign, its
  mean is too large where systems are equal: p < 0.05 in one case of seven. For comparisons with
  sacrebleu; nothing is decided by it;
- *paired approximate randomisation* (Riezler and Maxwell 2005): each trial swaps the outputs of
  the two systems in random segments; p = share of trials whose difference reaches the real one.
  With m a 0/1 mask, the swapped sums of systems a and b are

      sum(a) + m @ b - m @ a      and      sum(b) + m @ a - m @ b

  so one product `m @ rows` serves all pairs of systems.

One is added to both counts of a share, so p is never 0. Where there are no more ways to swap than
trials, each way is looked at once: p is exact, and nothing is added. A sample that equals the real
difference counts (sacrebleu counts only those above it, and so finds a star in a single segment).
Samples in which a score is undefined are left out; where more than half are, p is undefined.

Many pairs produce a small p by chance, so p of the randomisation test is adjusted over all pairs of
a metric (Holm 1979): sorted p_(1) <= ... <= p_(m), adjusted p_(i) = max over j <= i of
(m - j + 1) p_(j). This one number decides both the star and the rank.

    rank of a system = 1 + the number of systems that are better with adjusted p < 0.05

Two systems of the same rank may still differ from each other; `adjusted` tells. No p is below 2 of
the 2^n ways to swap n units, and m pairs ask for m times as little: so two systems need six units,
three need seven, twenty need thirteen (`fewest`). With fewer all systems would have rank 1 whatever
they are, so there is no test.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from mtgauge.metric import FloatArray, Metric
from mtgauge.stats.bootstrap import RESAMPLES, SEED, block_size, system_scores

ALPHA = 0.05
TRIALS_PER_PAIR = 40  # so that 1 / (trials + 1) survives Holm's factor
ROUNDING = 1e-9  # of the largest score: equal differences are equal in spite of rounding


def fewest(systems: int) -> int:
    """Units without which no two of the systems can differ with adjusted p < 0.05.

    >>> fewest(2), fewest(3), fewest(20)
    (6, 7, 13)
    """
    return math.floor(math.log2(2 * max(math.comb(systems, 2), 1) / ALPHA)) + 1


FEWEST = fewest(2)


@dataclass(frozen=True)
class Pairwise:
    """All pairs of systems under one metric: arrays (systems, systems), 1 on the diagonal."""

    bootstrap: FloatArray
    randomisation: FloatArray
    adjusted: FloatArray  # Holm's correction of `randomisation` over all pairs

    def take(self, systems: Sequence[int]) -> Pairwise:
        """The same tests with the systems in another order."""
        at = np.ix_(systems, systems)
        return Pairwise(self.bootstrap[at], self.randomisation[at], self.adjusted[at])

    def ranks(self, real: FloatArray, higher_is_better: bool) -> list[int]:
        """One more than the number of systems that are significantly better."""
        goodness = real if higher_is_better else -real
        better = goodness[:, None] > goodness[None, :]
        return [int(x) + 1 for x in (better & (self.adjusted < ALPHA)).sum(axis=0)]


def too_few(units: int, what: str) -> str:
    """How a message begins that says so; `what` is one of them."""
    return f"1 {what} is too few" if units == 1 else f"{units} {what}s are too few"


def compare_all(
    metrics: Sequence[Metric],
    rows: Sequence[FloatArray],
    resampled: Sequence[FloatArray],
    seed: int = SEED,
    sizes: FloatArray | None = None,
) -> list[Pairwise] | None:
    """Tests of all pairs, one `Pairwise` per metric; None where there are too few units.

    `rows[j]` has shape (systems, units, k), `resampled[j]` (resamples, systems); see `bootstrap`.
    """
    systems, units = rows[0].shape[:2]
    if units < fewest(systems):
        return None
    trials = max(RESAMPLES, TRIALS_PER_PAIR * math.comb(systems, 2))
    swapped = p_randomisation(metrics, rows, trials, seed, sizes)
    n = float(units if sizes is None else sizes.sum())
    found = []
    for j, metric in enumerate(metrics):
        real = system_scores(metric, rows[j].sum(axis=1)[None], np.array([n]))[0]
        found.append(Pairwise(p_bootstrap(resampled[j], real), swapped[j], holm(swapped[j])))
    return found


def p_bootstrap(resampled: FloatArray, real: FloatArray) -> FloatArray:
    """p of each pair: (systems, systems) from (resamples, systems) and (systems,)."""
    found = np.ones((len(real), len(real)))
    for i, j in zip(*np.triu_indices(len(real), 1), strict=True):
        differences = np.abs(resampled[:, i] - resampled[:, j])
        known = differences[~np.isnan(differences)]
        reached = np.sum(known - known.mean() >= _least(real[i], real[j])) if len(known) else 0
        share = _share(np.array(reached), np.array(len(known)), len(differences))
        found[i, j] = found[j, i] = _p_values(share, real[i], real[j])
    return found


def p_randomisation(
    metrics: Sequence[Metric],
    rows: Sequence[FloatArray],
    trials: int = RESAMPLES,
    seed: int = SEED,
    sizes: FloatArray | None = None,
) -> list[FloatArray]:
    """p of each pair, one array (systems, systems) per metric."""
    systems, units = rows[0].shape[:2]
    n = float(units if sizes is None else sizes.sum())
    flat = [r.transpose(1, 0, 2).reshape(units, -1) for r in rows]
    sums = [r.sum(axis=1) for r in rows]
    real = [
        system_scores(metric, total[None], np.array([n]))[0]
        for metric, total in zip(metrics, sums, strict=True)
    ]
    first, second = np.triu_indices(systems, 1)
    # counted as they are made: fifty systems have 60 million differences per metric
    reached, known = np.zeros((2, len(metrics), len(first)))
    made, is_exact = 0, units <= trials.bit_length()  # 2^(units-1) ways
    for mask in _all_swaps(units) if is_exact else _random_swaps(units, trials, seed):
        made += len(mask)
        for j, metric in enumerate(metrics):
            masked = (mask @ flat[j]).reshape(len(mask), systems, -1)
            for place, (a, b) in enumerate(zip(first, second, strict=True)):
                moved = masked[:, b] - masked[:, a]
                both = np.stack([sums[j][a] + moved, sums[j][b] - moved], axis=1)
                scores = system_scores(metric, both, np.full(len(mask), n))
                difference = np.abs(scores[:, 0] - scores[:, 1])
                reached[j, place] += np.sum(difference >= _least(real[j][a], real[j][b]))
                known[j, place] += len(mask) - np.isnan(difference).sum()
    found = []
    for j in range(len(metrics)):
        share = _share(reached[j], known[j], made, added=not is_exact)
        p = np.ones((systems, systems))
        p[first, second] = p[second, first] = _p_values(share, real[j][first], real[j][second])
        found.append(p)
    return found


def _all_swaps(units: int) -> Iterator[FloatArray]:
    """Every way to swap, as a 0/1 mask, in blocks; to swap the other units makes no difference."""
    ways = np.arange(2 ** (units - 1))
    size = block_size(units, len(ways))
    for start in range(0, len(ways), size):
        yield (ways[start : start + size, None] >> np.arange(units) & 1).astype(np.float64)


def _random_swaps(units: int, trials: int, seed: int) -> Iterator[FloatArray]:
    rng = np.random.default_rng(seed + 1)
    size = block_size(units, trials)
    for start in range(0, trials, size):
        count = min(size, trials - start)
        yield rng.integers(0, 2, size=(count, units), dtype=np.int8).astype(np.float64)


def holm(p: FloatArray) -> FloatArray:
    """Holm's correction of a symmetric matrix of p-values; undefined ones are no tests.

    >>> holm(np.array([[1, 0.01, 0.04], [0.01, 1, 0.02], [0.04, 0.02, 1]]))[0].tolist()
    [1.0, 0.03, 0.04]
    """
    upper = np.triu_indices(len(p), 1)
    values = p[upper]
    adjusted = np.full(len(values), np.nan)
    known = np.flatnonzero(~np.isnan(values))
    order = known[np.argsort(values[known], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(factors * values[order]))
    found = np.ones_like(p)
    found[upper] = adjusted
    found.T[upper] = adjusted
    return found


def _least(first: float, second: float) -> float:
    """What reaches the difference of two scores."""
    return abs(first - second) - ROUNDING * max(abs(first), abs(second))


def _share(reached: FloatArray, known: FloatArray, made: int, *, added: bool = True) -> FloatArray:
    """The share of defined samples that reach the difference; undefined below half of them."""
    share = (reached + added) / np.maximum(known + added, 1)
    return np.where(2 * known < made, np.nan, share)


def _p_values(share: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    """p of pairs of scores: equal ones do not differ, undefined ones have none."""
    # where no difference is centred, half of the samples would reach it
    p = np.where(first == second, 1.0, share)
    return np.where(np.isnan(first) | np.isnan(second), np.nan, p)
