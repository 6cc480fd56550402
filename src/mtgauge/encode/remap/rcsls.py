"""RCSLS: the linear map after which partners are nearest neighbours (Joulin et al. 2018).

    CSLS(x, z) = 2 cos(x, z) - mean cos(x, its k nearest z) - mean cos(z, its k nearest x)

Neighbours of everything ("hubs") lose by the two means. Over word pairs (x_i, z_i) of length 1,
rows of X and Z, with W free, RCSLS minimises

    L(W) = 1/n sum_i [ -2 x_i W z_i + 1/k sum_{j in N(x_i W)} x_i W z_j
                                    + 1/k sum_{j in N(z_i)}   x_j W z_i ]

by gradient descent from the orthogonal W. The step is halved whenever the loss rises, as in the
authors' script.

    w = rcsls(x, z)

Limits: neighbours are looked for among the first 4,000 pairs; the published vectors were made with
whole vocabularies.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
NEIGHBOURS = 10
ROUNDS = 10
POOL = 4000  # pairs among which neighbours are looked for
_BLOCK = 2000  # rows whose similarities are in memory at once


def rcsls(
    x: NDArray[Any], z: NDArray[Any], neighbours: int = NEIGHBOURS, rounds: int = ROUNDS
) -> Matrix:
    """The W (d, d) that is applied as x @ W."""
    x, z = _unit(x), _unit(z)
    u, _, vt = np.linalg.svd(x.T @ z)
    w, step = np.asarray(u @ vt), 1.0
    k = min(neighbours, len(x))
    before, slope = loss(x, z, w, k)
    for _ in range(rounds):
        moved = w - step * slope
        after, next_slope = loss(x, z, moved, k)
        if after > before:
            step /= 2
        else:
            w, before, slope = moved, after, next_slope
    return w


def loss(x: Matrix, z: Matrix, w: Matrix, k: int) -> tuple[float, Matrix]:
    """L(W) and its gradient, the neighbours held fixed."""
    moved = x @ w
    forward = _neighbour_sum(moved, z, z, k) / k  # of each x: the mean of its nearest z
    backward = _neighbour_sum(z, moved, x, k) / k  # of each z: the mean of its nearest x, unmoved
    slope = (x.T @ (forward - 2 * z) + backward.T @ z) / len(x)
    return float((w * slope).sum()), slope  # L is linear in W as long as neighbours stay


def _neighbour_sum(queries: Matrix, keys: Matrix, values: Matrix, k: int) -> Matrix:
    """Sum of the values of each query's k most similar keys, by cosine of unit keys."""
    keys, values = _unit(keys[:POOL]), values[:POOL]
    k = min(k, len(keys))
    found = np.empty((len(queries), values.shape[1]))
    for start in range(0, len(queries), _BLOCK):
        part = slice(start, start + _BLOCK)
        nearest = np.argpartition(-(queries[part] @ keys.T), k - 1, axis=1)[:, :k]
        found[part] = values[nearest].sum(axis=1)
    return found


def _unit(vectors: NDArray[Any]) -> Matrix:
    wide = np.asarray(vectors, np.float64)
    return np.asarray(wide / np.maximum(np.linalg.norm(wide, axis=1, keepdims=True), 1e-30))
