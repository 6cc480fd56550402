"""What the two families of trained metrics share: batches of like length, validation, calibration.

for rows in bucketed(lengths, size=32, rng=rng): ...  # random batches, to learn from
for rows in by_length(lengths, size=128): ...         # shortest first, to predict
pearson_by_pair(dev.lps, predictions, dev.scores)     # {"de-en": .71, ..., "average": .70}
calibration(predictions, dev.raw)                     # z -> mean judgement, 0 to 100
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from torch import Tensor

from mtgauge.stats.correlation import pearson
from mtgauge.train.judged.codes import Coded, FloatArray, IntArray

_POOL = 50  # batches that are sorted by length together
_LEAST = 300  # judgements on 0-100 that a calibration needs


def bucketed(lengths: IntArray, size: int, rng: np.random.Generator) -> list[IntArray]:
    """Rows in random batches of like length: shuffled, sorted within pools, cut, shuffled."""
    order = rng.permutation(len(lengths))
    batches: list[IntArray] = []
    for start in range(0, len(order), size * _POOL):
        pool = order[start : start + size * _POOL]
        batches += [pool[rows] for rows in by_length(lengths[pool], size)]
    return [batches[i] for i in rng.permutation(len(batches))]


def by_length(lengths: IntArray, size: int) -> list[IntArray]:
    """Rows in batches of like length, the shortest first."""
    order = np.argsort(lengths, kind="stable")
    return [order[at : at + size] for at in range(0, len(order), size)]


def weighted_error(predicted: Tensor, rows: Coded, at: IntArray) -> Tensor:
    """Mean squared error of rows, each counted as its judgement weighs."""
    both = np.stack([rows.weights[at], rows.scores[at]]).astype(np.float32)
    weights, human = torch.from_numpy(both).to(predicted.device, non_blocking=True)
    error: Tensor = (weights * (predicted.float() - human) ** 2).sum() / weights.sum()
    return error


def pearson_by_pair(
    lps: Sequence[str], predictions: FloatArray, human: FloatArray
) -> dict[str, float]:
    """Pearson of each language pair, and their mean; pairs without one (constant) are left out."""
    names = np.array(lps)
    found = {
        lp: float(pearson(predictions[names == lp], human[names == lp])) for lp in sorted(set(lps))
    }
    return found | {"average": mean_of_defined(found.values())}


def mean_of_defined(values: Iterable[float]) -> float:
    """Mean of the values that are not NaN; NaN where there is none."""
    defined = [value for value in values if not np.isnan(value)]
    return float(np.mean(defined)) if defined else float("nan")


def rounded(values: dict[str, float]) -> dict[str, float]:
    """For a card: four digits, and no entry where there is no correlation."""
    return {name: round(value, 4) for name, value in values.items() if not np.isnan(value)}


def calibration(predictions: FloatArray, raw: FloatArray) -> dict[str, list[float]] | None:
    """The mean 0-100 judgement at each prediction, never falling, and the middle 80 % of them.

    Predictions are cut into 20 groups of equal size; the group means are made monotone (isotonic
    regression). None where there are too few judgements on 0-100.
    """
    from scipy.optimize import isotonic_regression

    has_raw = ~np.isnan(raw)
    if has_raw.sum() < _LEAST:
        return None
    order = np.argsort(predictions[has_raw], kind="stable")
    groups = np.array_split(order, 20)
    z = [float(predictions[has_raw][group].mean()) for group in groups]
    values = {
        "mean": [float(raw[has_raw][group].mean()) for group in groups],
        "low": [float(np.quantile(raw[has_raw][group], 0.1)) for group in groups],
        "high": [float(np.quantile(raw[has_raw][group], 0.9)) for group in groups],
    }
    table = {name: isotonic_regression(np.array(v)).x for name, v in values.items()}
    return {"z": [round(v, 4) for v in z]} | {
        name: [round(float(v), 2) for v in values] for name, values in table.items()
    }
