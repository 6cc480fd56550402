"""Greedy matching: how similar the best partner of each token is, for a ragged batch.

    rows_i = max_j x_i . y_j          columns_j = max_i x_i . y_j

    rows, columns = best_matches(x, x_offsets, y, y_offsets)          # unit vectors: cosines
    recall = segment_means(rows, x_offsets); precision = segment_means(columns, y_offsets)

Tokens x_offsets[p] to x_offsets[p + 1] of x are compared with those of y of the same pair p. Each
pair is worked on alone, outside the GIL: the result does not depend on batch or threads.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mtgauge.compare.kernels import call
from mtgauge.compare.threads import in_parallel
from mtgauge.compare.transport import Float, Int, checked_pairs, precision_of


def best_matches(
    left: NDArray[np.floating],
    left_offsets: Int,
    right: NDArray[np.floating],
    right_offsets: Int,
    pairs: tuple[Int, Int] | None = None,
    *,
    threads: int | None = None,
) -> tuple[Float, Float]:
    """The greatest dot product of each left and each right token with one of the other side.

    `pairs` are numbers of left and right texts, without them text t meets text t; the tokens of
    each pair's texts follow one another in the results.
    """
    x, x_at, y, y_at, lefts, rights = checked_pairs(left, left_offsets, right, right_offsets, pairs)
    n, m = np.diff(x_at)[lefts], np.diff(y_at)[rights]
    rows, columns = np.empty(int(n.sum())), np.empty(int(m.sum()))
    rows_at, columns_at = np.cumsum(n) - n, np.cumsum(m) - m

    def run(lo: int, hi: int) -> None:
        call(
            f"best_{precision_of(x)}", x, x_at, lefts, y, y_at, rights, x.shape[1], lo, hi,
            rows, rows_at, columns, columns_at,
        )  # fmt: skip

    in_parallel(run, n * m * float(x.shape[1]), threads)
    return rows, columns


def segment_means(values: Float, offsets: Int, weights: Float | None = None) -> Float:
    """(Weighted) mean of `values` over each text; uniform where its weights sum to 0."""
    starts, sizes = offsets[:-1], np.diff(offsets)
    plain = np.add.reduceat(values, starts) / sizes if len(starts) else np.empty(0)
    if weights is None or not len(starts):
        return np.asarray(plain, dtype=np.float64)
    totals = np.add.reduceat(weights, starts)
    weighted = np.add.reduceat(values * weights, starts)
    return np.where(totals > 0, weighted / np.where(totals > 0, totals, 1.0), plain)
