"""The compiled loops over two texts' vectors: squared distances, dot products, best partners."""

# Numba infers the types of what follows; annotations would not be read by it.
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from mtgauge.compare.jit import inner, kernel

# Four columns at a time, not beyond `last`: then x_i is loaded once and four sums run side by side.


@inner
def _squared_four(x, i, y, j, last):
    """Squared distances of x_i from y_j to y_(j+3)."""
    j1, j2, j3 = min(j + 1, last), min(j + 2, last), min(j + 3, last)
    s0 = s1 = s2 = s3 = x[i, 0] * 0  # in double: numba widens float32 times an integer
    for k in range(x.shape[1]):
        one = x[i, k]
        g0, g1, g2, g3 = one - y[j, k], one - y[j1, k], one - y[j2, k], one - y[j3, k]
        s0, s1, s2, s3 = s0 + g0 * g0, s1 + g1 * g1, s2 + g2 * g2, s3 + g3 * g3
    return s0, s1, s2, s3


@inner
def dot_four(x, i, y, j, last):
    """Dot products of x_i with y_j to y_(j+3)."""
    j1, j2, j3 = min(j + 1, last), min(j + 2, last), min(j + 3, last)
    s0 = s1 = s2 = s3 = x[i, 0] * 0
    for k in range(x.shape[1]):
        one = x[i, k]
        s0, s1 = s0 + one * y[j, k], s1 + one * y[j1, k]
        s2, s3 = s2 + one * y[j2, k], s3 + one * y[j3, k]
    return s0, s1, s2, s3


@kernel
def squared_range(x, x_at, lefts, y, y_at, rights, starts, lo, hi, flat):
    """Squared Euclidean distances by differences: equal points are exactly 0 apart.

    Pair p is text lefts[p] of x with text rights[p] of y; text t has rows x_at[t] to x_at[t + 1].
    """
    for p in range(lo, hi):
        at = starts[p]
        y_start, y_end = y_at[rights[p]], y_at[rights[p] + 1]
        for i in range(x_at[lefts[p]], x_at[lefts[p] + 1]):
            for j in range(y_start, y_end, 4):
                four = _squared_four(x, i, y, j, y_end - 1)
                for k in range(min(4, y_end - j)):
                    flat[at] = four[k]
                    at += 1


@kernel
def best_range(x, x_at, lefts, y, y_at, rights, lo, hi, rows, rows_at, columns, columns_at):
    """The best dot product of each unit of pair p (see `squared_range`) with one of the other side.

    Those of the left text are written from rows_at[p] on, of the right one from columns_at[p] on.
    """
    for p in range(lo, hi):
        x_start, y_start, y_end = x_at[lefts[p]], y_at[rights[p]], y_at[rights[p] + 1]
        row, column = rows_at[p], columns_at[p] - y_start
        for j in range(y_start, y_end):
            columns[column + j] = -np.inf
        for i in range(x_start, x_at[lefts[p] + 1]):
            best = -np.inf
            for j in range(y_start, y_end, 4):
                four = dot_four(x, i, y, j, y_end - 1)
                for k in range(min(4, y_end - j)):
                    best = max(best, four[k])
                    columns[column + j + k] = max(columns[column + j + k], four[k])
            rows[row + i - x_start] = best
