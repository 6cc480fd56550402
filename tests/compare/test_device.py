"""Best matches on a device agree with those of the CPU, whatever batches they are found in."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from mtgauge.compare import device
from mtgauge.compare.device import Side, best_means
from mtgauge.compare.greedy import best_matches, segment_means
from mtgauge.encode.ragged import offsets_of, take


@pytest.mark.parametrize("numbers", [1, 1000, 2**27])
def test_means_of_best_matches(numbers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "NUMBERS", numbers)
    rng = np.random.default_rng(2)
    sides, weighed = [], []
    for number in (9, 14):
        offsets = offsets_of(rng.integers(1, 12, number))
        vectors = rng.normal(size=(offsets[-1], 16)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        weighed.append((vectors, offsets, rng.random(offsets[-1])))
    lefts, rights = rng.integers(0, 9, 40), rng.integers(0, 14, 40)
    for (vectors, offsets, weights), texts in zip(weighed, (lefts, rights), strict=True):
        block = torch.from_numpy(vectors)
        sides.append(Side(block, offsets[texts], np.diff(offsets)[texts], weights))
    found = best_means(*sides)
    (x, x_at, x_weights), (y, y_at, y_weights) = weighed
    rows, columns = best_matches(x, x_at, y, y_at, (lefts, rights))
    for column, (best, at, weights, texts) in enumerate(
        [(columns, y_at, y_weights, rights), (rows, x_at, x_weights, lefts)]
    ):
        which, offsets = take(at, texts)
        expected = segment_means(best, offsets, weights[which])
        np.testing.assert_allclose(found[:, column], expected, atol=1e-6)


def test_no_pairs() -> None:
    none = np.empty(0, np.int64)
    side = Side(torch.empty(0, 4), none, none, np.empty(0))
    assert best_means(side, side).shape == (0, 2)
