"""Greedy matching against one matrix product a pair."""

from __future__ import annotations

import numpy as np
import pytest

from mtgauge.compare.greedy import best_matches, segment_means
from mtgauge.errors import UsageError


def batch(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x_at = np.concatenate([[0], np.cumsum(rng.integers(1, 20, 40))])
    y_at = np.concatenate([[0], np.cumsum(rng.integers(1, 20, 40))])
    x, y = (rng.normal(size=(at[-1], 33)).astype(np.float32) for at in (x_at, y_at))
    return x, x_at, y, y_at


def test_best_of_every_token() -> None:
    x, x_at, y, y_at = batch(1)
    rows, columns = best_matches(x, x_at, y, y_at)
    for p in range(40):
        a, b = slice(x_at[p], x_at[p + 1]), slice(y_at[p], y_at[p + 1])
        product = x[a].astype(np.float64) @ y[b].T.astype(np.float64)
        np.testing.assert_allclose(rows[a], product.max(axis=1), rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(columns[b], product.max(axis=0), rtol=1e-5, atol=1e-5)


def test_pairs_of_texts_are_named_by_number() -> None:
    x, x_at, y, y_at = batch(3)
    pairs = np.array([5, 5, 0]), np.array([1, 2, 2])
    rows, columns = best_matches(x, x_at, y, y_at, pairs)
    row, column = 0, 0
    for a, b in zip(*pairs, strict=True):
        left, right = x[x_at[a] : x_at[a + 1]], y[y_at[b] : y_at[b + 1]]
        ends = np.array([0, len(left)]), np.array([0, len(right)])
        alone = best_matches(left, ends[0], right, ends[1])
        np.testing.assert_array_equal(rows[row : row + len(left)], alone[0])
        np.testing.assert_array_equal(columns[column : column + len(right)], alone[1])
        row, column = row + len(left), column + len(right)
    assert (row, column) == (len(rows), len(columns))


def test_same_bits_in_any_batch_and_with_any_number_of_threads() -> None:
    x, x_at, y, y_at = batch(2)
    rows, columns = best_matches(x, x_at, y, y_at, threads=1)
    again = best_matches(x, x_at, y, y_at, threads=3)
    assert (rows == again[0]).all()
    assert (columns == again[1]).all()
    a, b = slice(x_at[7], x_at[8]), slice(y_at[7], y_at[8])
    alone = best_matches(
        x[a], np.array([0, x_at[8] - x_at[7]]), y[b], np.array([0, y_at[8] - y_at[7]])
    )
    assert (alone[0] == rows[a]).all()
    assert (alone[1] == columns[b]).all()


def test_means_with_and_without_weights() -> None:
    values, at = np.array([1.0, 3.0, 5.0]), np.array([0, 2, 3])
    assert segment_means(values, at).tolist() == [2.0, 5.0]
    assert segment_means(values, at, np.array([3.0, 1.0, 0.0])).tolist() == [1.5, 5.0]


def test_an_empty_text_is_refused() -> None:
    x = np.ones((2, 2), dtype=np.float32)
    with pytest.raises(UsageError, match="no token"):
        best_matches(x, np.array([0, 2, 2]), x, np.array([0, 1, 2]))
