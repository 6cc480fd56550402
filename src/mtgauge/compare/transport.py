"""Exact optimal transport for a ragged batch of small problems.

    min_F  sum_ij F_ij C_ij     with  F >= 0,  sum_j F_ij = a_i,  sum_i F_ij = b_j

    costs = cost_matrices(x, x_offsets, y, y_offsets, kind="euclidean")
    result = transport(costs)                    # uniform weights: Word Mover's Distance
    result.cost                                  # (k,) float64
    transport([[[0.0, 1.0]]], [([1.0], [0.25, 0.75])], flow=True).flow[0]

Every problem is solved on its own by `native/transport.c`, on all cores and without the GIL: a
result is the same bit for bit in any batch and with any number of threads. Weights are turned
into whole numbers first (uniform ones exactly, others to 2^-60 of the total mass), so marginals
hold to about 1e-13 of the total and the cost is exact to the rounding of its last sum.

Limits: the time grows with about the cube of the sentence length; `costs` of a whole batch are in
memory at once (8 bytes times n times m per pair), so callers work in chunks. The total masses of
both sides have to agree to 1e-9.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mtgauge.compare.kernels import call
from mtgauge.compare.matrices import Matrices
from mtgauge.compare.threads import in_parallel
from mtgauge.errors import UsageError

Float = NDArray[np.float64]
Int = NDArray[np.int64]
Weights = Sequence[tuple[ArrayLike, ArrayLike]]
Kind = Literal["euclidean", "sqeuclidean", "cosine"]
_UNITS = 2**60
_LARGEST = 1e100  # a cost above this is a mistake, and its differences would lose all digits


@dataclass(frozen=True)
class Transport:
    """`cost[p]`; with flow=True also `flow[p]` (n, m) and dual potentials `duals[p]` = (u, v)."""

    cost: Float
    flow: list[Float] | None = None
    duals: list[tuple[Float, Float]] | None = None


def transport(
    costs: Matrices | Sequence[ArrayLike],
    weights: Weights | None = None,
    *,
    flow: bool = False,
    threads: int | None = None,
) -> Transport:
    """Exact transport cost of every problem of the batch, and the flow when asked for.

    costs: matrices (n_i, m_i), as a list or packed. weights: None for uniform ones (1/n, 1/m), or
    a pair (a_i, b_i) for each problem, of equal total mass; zeros are allowed.

    >>> transport([[[0.0, 2.0], [1.0, 0.0]]]).cost.tolist()
    [0.0]
    """
    packed = _checked(costs)
    masses = _Masses.of(packed.shapes, weights)
    cost = np.empty(len(packed))
    size = len(packed.flat) if flow else 0
    sent, potentials = np.zeros(size), np.full(len(masses.right), -np.inf)

    def run(lo: int, hi: int) -> None:
        call(
            "solve_range", packed.flat, packed.starts, packed.shapes, masses.left, masses.left_at,
            masses.right, masses.right_at, lo, hi, cost, flow, sent, potentials,
        )  # fmt: skip

    in_parallel(run, packed.shapes.prod(axis=1) * packed.shapes.sum(axis=1) * 1.0, threads)
    cost *= masses.unit
    if not flow:
        return Transport(cost)
    sent *= np.repeat(masses.unit, packed.shapes.prod(axis=1))
    by_problem = np.split(potentials, masses.right_at[1:])
    duals = [_duals(c, v) for c, v in zip(packed, by_problem, strict=False)]
    return Transport(cost, list(Matrices(sent, packed.shapes)), duals)


def _duals(c: Float, v: Float) -> tuple[Float, Float]:
    """Feasible potentials from those of the columns with mass (the others hold -inf)."""
    u: Float = (c - v).min(axis=1)
    return u, (c - u[:, None]).min(axis=0)


def relaxed(
    costs: Matrices | Sequence[ArrayLike],
    weights: Weights | None = None,
    *,
    threads: int | None = None,
) -> Float:
    """The relaxed bound (RWMD): never above the exact cost, at a fraction of its price.

    One side's marginal is dropped, so every point sends all its mass to the nearest; the greater
    of both sides is returned.
    """
    packed = _checked(costs)
    masses = _Masses.of(packed.shapes, weights)
    bound = np.empty(len(packed))

    def run(lo: int, hi: int) -> None:
        call(
            "relaxed_range", packed.flat, packed.starts, packed.shapes, masses.left, masses.left_at,
            masses.right, masses.right_at, lo, hi, bound,
        )  # fmt: skip

    in_parallel(run, packed.shapes.prod(axis=1) * 1.0, threads)
    return bound * masses.unit


def cost_matrices(
    left: NDArray[np.floating],
    left_offsets: Int,
    right: NDArray[np.floating],
    right_offsets: Int,
    kind: Kind = "euclidean",
    pairs: tuple[Int, Int] | None = None,
    *,
    threads: int | None = None,
) -> Matrices:
    """Ground distances of every pair of texts.

    left (all tokens, d) with left_offsets (texts + 1): tokens left_offsets[t] to
    left_offsets[t + 1] belong to text t; right likewise. `pairs` are numbers of left and right
    texts; without them, text t meets text t. Distances are summed from differences in the precision
    of the vectors, so equal tokens are exactly 0 apart. `cosine` is 1 - cos, in [0, 2]; a zero
    vector is at distance 1 from everything.
    """
    if kind not in ("euclidean", "sqeuclidean", "cosine"):
        raise UsageError(f"No ground distance {kind!r}: euclidean, sqeuclidean or cosine.")
    x, x_at, y, y_at, lefts, rights = checked_pairs(left, left_offsets, right, right_offsets, pairs)
    shapes = np.stack([np.diff(x_at)[lefts], np.diff(y_at)[rights]], axis=1)
    sizes = shapes.prod(axis=1)
    packed = Matrices(np.empty(int(sizes.sum())), shapes)
    if kind == "cosine":
        (x, x_zero), (y, y_zero) = _unit(x), _unit(y)
    precision = precision_of(x)

    def run(lo: int, hi: int) -> None:
        call(
            f"squared_{precision}", x, x_at, lefts, y, y_at, rights, packed.starts,
            x.shape[1], lo, hi, packed.flat,
        )  # fmt: skip

    in_parallel(run, sizes * float(x.shape[1]), threads)
    if kind == "euclidean":
        np.sqrt(packed.flat, out=packed.flat)
    elif kind == "cosine":  # |x - y|^2 = 2 - 2 cos for unit vectors
        np.multiply(packed.flat, 0.5, out=packed.flat)
        odd = _any_in(x_zero, x_at)[lefts] | _any_in(y_zero, y_at)[rights]
        for p in np.flatnonzero(odd).tolist():
            a, b = lefts[p], rights[p]
            packed[p][x_zero[x_at[a] : x_at[a + 1]], :] = 1.0
            packed[p][:, y_zero[y_at[b] : y_at[b + 1]]] = 1.0
    return packed


def precision_of(x: NDArray[np.floating]) -> str:
    """How kernels for vectors of this type end."""
    return "float" if x.dtype == np.float32 else "double"


def _unit(x: NDArray[np.floating]) -> tuple[NDArray[np.floating], NDArray[np.bool_]]:
    norms = np.sqrt(np.einsum("ij,ij->i", x, x))[:, None]
    zero = norms[:, 0] == 0
    return x / np.where(norms == 0, np.ones_like(norms), norms), zero


def _any_in(flags: NDArray[np.bool_], offsets: Int) -> NDArray[np.bool_]:
    return np.diff(np.concatenate([[0], np.cumsum(flags)])[offsets]) > 0


def checked_pairs(
    left: NDArray[np.floating],
    left_offsets: Int,
    right: NDArray[np.floating],
    right_offsets: Int,
    pairs: tuple[Int, Int] | None,
) -> tuple[NDArray[np.floating], Int, NDArray[np.floating], Int, Int, Int]:
    """Both sides as contiguous arrays of one type and the texts of each pair, or an error that
    says what does not fit."""
    x, x_at = _checked_vectors(left, left_offsets)
    y, y_at = _checked_vectors(right, right_offsets)
    if pairs is None:
        pairs = np.arange(len(x_at) - 1), np.arange(len(y_at) - 1)
    lefts, rights = (np.asarray(side, dtype=np.int64) for side in pairs)
    if len(lefts) != len(rights) or x.shape[1] != y.shape[1]:
        raise UsageError(
            f"{len(lefts)} and {len(rights)} texts of {x.shape[1]} and {y.shape[1]} "
            "dimensions: both sides need the same numbers."
        )
    for side, texts, at in (("Left", lefts, x_at), ("Right", rights, y_at)):
        if len(texts) and not 0 <= texts.min() <= texts.max() < len(at) - 1:
            raise UsageError(f"{side} texts of pairs have to be from 0 to {len(at) - 2}.")
        empty = texts[at[texts + 1] <= at[texts]]
        if len(empty):
            raise UsageError(f"{side} text {empty[0]} has no token: a pair needs one at least.")
    return x, x_at, y.astype(x.dtype, copy=False), y_at, lefts, rights


def _checked_vectors(
    vectors: NDArray[np.floating], offsets: Int
) -> tuple[NDArray[np.floating], Int]:
    vectors = np.asarray(vectors)
    kept = vectors.dtype in (np.float32, np.float64)
    vectors = np.ascontiguousarray(vectors, dtype=vectors.dtype if kept else np.float32)
    offsets = np.asarray(offsets, dtype=np.int64)
    if vectors.ndim != 2 or vectors.shape[1] == 0:
        raise UsageError(f"Token vectors have shape {vectors.shape}: they need (tokens, d).")
    if offsets.ndim != 1 or offsets[0] != 0 or offsets[-1] != len(vectors):
        raise UsageError(f"Offsets have to run from 0 to the number of tokens, {len(vectors)}.")
    return vectors, offsets


def _checked(costs: Matrices | Sequence[ArrayLike]) -> Matrices:
    packed = costs if isinstance(costs, Matrices) else Matrices.pack(costs)
    if len(packed) and packed.shapes.min() < 1:
        p = int(np.flatnonzero(packed.shapes.min(axis=1) < 1)[0])
        raise UsageError(f"Cost matrix {p} is empty: transport needs a point on either side.")
    if len(packed.flat) and not (packed.flat.max() <= _LARGEST and packed.flat.min() >= -_LARGEST):
        at = np.flatnonzero(~(np.abs(packed.flat) <= _LARGEST))[0]
        p = int(np.searchsorted(packed.starts, at, side="right")) - 1
        raise UsageError(
            f"Cost matrix {p} holds {packed.flat[at]}: costs have to be finite, "
            f"and at most {_LARGEST:g}."
        )
    return packed


@dataclass(frozen=True)
class _Masses:
    """Whole-number masses of a batch; `unit[p]` is what one of them weighs."""

    left: Int
    left_at: Int
    right: Int
    right_at: Int
    unit: Float

    @classmethod
    def of(cls, shapes: Int, weights: Weights | None) -> _Masses:
        n, m = shapes[:, 0], shapes[:, 1]
        left_at, right_at = np.cumsum(n) - n, np.cumsum(m) - m
        if weights is None:
            common = np.gcd(n, m)
            left, right = np.repeat(m // common, n), np.repeat(n // common, m)
            return cls(left, left_at, right, right_at, 1.0 / (n * m // common))
        if len(weights) != len(shapes):
            raise UsageError(f"{len(weights)} pairs of weights for {len(shapes)} problems.")
        a, totals = _flat_weights([w[0] for w in weights], n, left_at, "left")
        b, others = _flat_weights([w[1] for w in weights], m, right_at, "right")
        wrong = np.flatnonzero(np.abs(totals - others) > 1e-9 * np.maximum(totals, others))
        if len(wrong):
            p = int(wrong[0])
            raise UsageError(
                f"Problem {p}: {totals[p]:.12g} on the left and {others[p]:.12g} on the right. "
                "Both sides need the same total mass: divide each by its sum, in double precision."
            )
        whole_a, whole_b = _whole(a, totals, n, left_at), _whole(b, others, m, right_at)
        return cls(whole_a, left_at, whole_b, right_at, totals / _UNITS)


def _flat_weights(rows: list[ArrayLike], sizes: Int, starts: Int, side: str) -> tuple[Float, Float]:
    arrays = [np.asarray(row, dtype=np.float64) for row in rows]
    for p, (array, size) in enumerate(zip(arrays, sizes, strict=True)):
        if array.shape != (size,):
            raise UsageError(f"Problem {p}: {side} weights {array.shape}, but {size} points.")
    flat = np.concatenate(arrays) if arrays else np.empty(0)
    wrong = np.flatnonzero(~((flat >= 0) & (flat < np.inf)))
    if len(wrong):
        p = int(np.searchsorted(starts, wrong[0], side="right")) - 1
        raise UsageError(
            f"Problem {p}: a {side} weight is {flat[wrong[0]]}; it has to be 0 or more, and finite."
        )
    totals = np.add.reduceat(flat, starts) if len(starts) else np.empty(0)
    empty = np.flatnonzero(totals <= 0)
    if len(empty):
        raise UsageError(f"Problem {int(empty[0])}: all {side} weights are 0.")
    return flat, totals


def _whole(flat: Float, totals: Float, sizes: Int, starts: Int) -> Int:
    """Weights as whole numbers that sum to 2^60; the greatest takes what rounding leaves."""
    if not len(starts):
        return np.empty(0, dtype=np.int64)
    whole = np.rint(flat / np.repeat(totals, sizes) * _UNITS).astype(np.int64)
    greatest = np.repeat(np.maximum.reduceat(whole, starts), sizes)
    at = np.flatnonzero(whole == greatest)
    first = at[np.searchsorted(at, starts)]
    whole[first] += _UNITS - np.add.reduceat(whole, starts)
    return whole
