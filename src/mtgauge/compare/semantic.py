"""Semantic Travel Distance of many pairs of texts: from word vectors to exact transport costs.

Per pair and n-gram order (reference n-grams first, hypothesis second, V their union):

    SIM_i  = 1 if n-gram i is in the text, else cos(x_i, centroid of the text)
    nSIM   = softmax(SIM) over V: the mass that either text puts on every n-gram; or, with weights
             of words, their mean over the n-gram times how often the text has it
    S_ij   = 1 - max(cos(x_i, x_j), 0)              x: the concatenated vectors of its words
    O_ij   = |position of i in one text - position of j in the other|, relative, last one counts
    STD_n  = transport(nSIM of reference, nSIM of hypothesis, semantic S + order O)

Everything follows from the dot products G of the words of the pair, since the dot product of two
n-grams is the sum of those of their words, and a centroid is a sum of n-grams; G is computed once
a pair. With cancel=True the mass that both texts put on an n-gram is taken away at no cost before
transport, as PyEMD does.

    travel(table, words, offsets, references, hypotheses, TravelSettings())      # (pairs, orders)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mtgauge.compare.kernels import call
from mtgauge.compare.matrices import Matrices
from mtgauge.compare.threads import in_parallel

Float = NDArray[np.float64]
Int = NDArray[np.int64]
_UNITS = 2**60
_BLOCK = 128  # pairs whose cost matrices are in memory at once, a thread
_CELLS = 2**25  # cells of those matrices, unless one pair has more


@dataclass(frozen=True)
class TravelSettings:
    orders: tuple[int, ...] = (1, 2)
    semantic: float = 0.6
    order: float = 0.4
    centroid_of_set: bool = False
    cancel: bool = False


@dataclass(frozen=True)
class Problem:
    """One transport problem: ground distances between the n-grams of V, and both masses."""

    distance: Float
    left: Float
    right: Float


@dataclass
class _Block:
    """Room for the problems of a few pairs."""

    costs: Float
    starts: Int
    shapes: Int
    left: Int
    right: Int
    mass_at: Int

    @classmethod
    def fill(
        cls,
        table: NDArray[np.float32],
        words: Int,
        offsets: Int,
        lefts: Int,
        rights: Int,
        settings: TravelSettings,
        weights: Float | None = None,
    ) -> _Block:
        orders = np.array(settings.orders, dtype=np.int64)
        sizes = np.diff(offsets)
        at_most = np.maximum(sizes[lefts][:, None] - orders + 1, 1)
        at_most += np.maximum(sizes[rights][:, None] - orders + 1, 1)
        room = at_most.ravel()
        block = cls(
            np.empty(int((room**2).sum())),
            np.cumsum(room**2) - room**2,
            np.empty((len(room), 2), dtype=np.int64),
            np.empty(int(room.sum()), dtype=np.int64),
            np.empty(int(room.sum()), dtype=np.int64),
            np.cumsum(room) - room,
        )
        call(
            "travel_problems", table, table.shape[1], words, offsets, lefts, rights, 0, len(lefts),
            orders, len(orders), settings.semantic, settings.order, settings.centroid_of_set,
            settings.cancel, weights,
            block.costs, block.starts, block.shapes, block.left, block.right, block.mass_at,
        )  # fmt: skip
        return block

    def solve(self) -> Float:
        cost = np.empty(len(self.shapes))
        call(
            "solve_range", self.costs, self.starts, self.shapes, self.left, self.mass_at,
            self.right, self.mass_at, 0, len(self.shapes), cost, False, None, None,
        )  # fmt: skip
        return cost / _UNITS


def travel(
    table: NDArray[np.float32],
    words: Int,
    offsets: Int,
    lefts: Int,
    rights: Int,
    settings: TravelSettings,
    weights: Float | None = None,
) -> Float:
    """STD_n of each pair of texts (reference lefts[p], hypothesis rights[p]), one column per order.

    table (word types, d): vectors. words: type numbers of all texts, text t from offsets[t] to
    offsets[t + 1]; no text of a pair may be empty. weights (word types,): masses by count and
    weight instead of nSIM.
    """
    out = np.empty((len(lefts), len(settings.orders)))
    sizes = np.diff(offsets)
    room = len(settings.orders) * (sizes[lefts] + sizes[rights]) ** 2

    def run(lo: int, hi: int) -> None:
        at = lo
        while at < hi:
            cells = np.cumsum(room[at : min(at + _BLOCK, hi)])
            part = slice(at, at + max(1, int(np.searchsorted(cells, _CELLS, "right"))))
            at = part.stop
            block = _Block.fill(table, words, offsets, lefts[part], rights[part], settings, weights)
            out[part] = block.solve().reshape(-1, len(settings.orders))

    in_parallel(run, (sizes[lefts] + sizes[rights]) ** 3.0)
    return out


def problems(
    table: NDArray[np.float32],
    left: Int,
    right: Int,
    settings: TravelSettings,
    weights: Float | None = None,
) -> list[Problem]:
    """The transport problems of one pair, one per order, to look at."""
    words, offsets = np.concatenate([left, right]), np.array([0, len(left), len(left) + len(right)])
    block = _Block.fill(table, words, offsets, np.array([0]), np.array([1]), settings, weights)
    out = []
    for o in range(len(settings.orders)):
        size, start, at = int(block.shapes[o, 0]), int(block.starts[o]), int(block.mass_at[o])
        matrix = Matrices(block.costs[start : start + size * size], block.shapes[o : o + 1])[0]
        masses = (block.left[at : at + size] / _UNITS, block.right[at : at + size] / _UNITS)
        out.append(Problem(matrix, *masses))
    return out
