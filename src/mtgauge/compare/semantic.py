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

# Numba infers the types of the kernel; annotations would not be read by it.
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mtgauge.compare.jit import in_parallel, inner, kernel
from mtgauge.compare.kernels import solve_range
from mtgauge.compare.matrices import Matrices
from mtgauge.compare.products import dot_four

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


@inner
def _local(words, start, end, names, found, out):
    """Number the words of a text by first appearance; returns how many there are by now."""
    for k in range(start, end):
        at = 0
        while at < found and names[at] != words[k]:
            at += 1
        if at == found:
            names[found] = words[k]
            found += 1
        out[k - start] = at
    return found


@inner
def _grams(text, size, n, base, keys, grams, found, place, count):
    """Enter the n-grams of a text into V; a text shorter than n repeats its last word."""
    listed = max(size - n + 1, 1)
    for k in range(listed):
        key = 0
        for t in range(n):
            key = key * base + text[min(k + t, size - 1)]
        at = 0
        while at < found and keys[at] != key:
            at += 1
        if at == found:
            keys[at] = key
            for t in range(n):
                grams[at, t] = text[min(k + t, size - 1)]
            found += 1
        place[at] = (k + 1) / listed
        count[at] += 1
    return found


@inner
def _whole(size, mass, total, whole):
    """Shares of a mass as whole numbers that sum to 2^60."""
    left, greatest = np.int64(_UNITS), 0
    for i in range(size):
        whole[i] = np.int64(np.rint(mass[i] / total * _UNITS))
        left -= whole[i]
        if whole[i] > whole[greatest]:
            greatest = i
    whole[greatest] += left


@inner
def _masses(dots, size, place, count, of_set, mass, whole):
    """nSIM of one text as whole numbers that sum to 2^60."""
    total, square = 0.0, 0.0
    for i in range(size):
        mass[i] = 0.0
        weight = min(count[i], 1) if of_set else count[i]
        total += weight
    for j in range(size):
        weight = (min(count[j], 1) if of_set else count[j]) / total
        if weight > 0:
            for i in range(size):
                mass[i] += weight * dots[i * size + j]
    for j in range(size):
        square += (min(count[j], 1) if of_set else count[j]) / total * mass[j]
    norm = np.sqrt(max(square, 0.0))
    total = 0.0
    for i in range(size):
        length = norm * np.sqrt(max(dots[i * size + i], 0.0))
        similar = mass[i] / length if length > 0 else 0.0
        mass[i] = np.exp(1.0 if place[i] > 0 else similar)
        total += mass[i]
    _whole(size, mass, total, whole)


@inner
def _counted(size, count, grams, n, names, weights, mass, whole):
    """Mass by count and word weight, as whole numbers that sum to 2^60; equal if all weigh 0."""
    total = 0.0
    for i in range(size):
        mass[i] = 0.0
        for t in range(n):
            mass[i] += count[i] * weights[names[grams[i, t]]] / n
        total += mass[i]
    if total <= 0.0:
        for i in range(size):
            mass[i] = float(count[i])
            total += mass[i]
    _whole(size, mass, total, whole)


@inner
def _distances(dots, size, place, other, semantic, order, norms):
    """From the dot products of n-grams to ground distances, in place."""
    for i in range(size):
        norms[i] = np.sqrt(max(dots[i * size + i], 0.0))
    for i in range(size):
        for j in range(size):
            length = norms[i] * norms[j]
            similar = dots[i * size + j] / length if length > 0 else 0.0
            apart = 0.0 if i == j else 1.0 - min(max(similar, 0.0), 1.0)
            moved = _moved(place[i], place[j], other[i], other[j])
            dots[i * size + j] = semantic * apart + order * moved


@inner
def _moved(place_i, place_j, other_i, other_j):
    """O_ij: i in the reference against j in the hypothesis; the other way round if that is 0."""
    moved = 0.0
    if place_i > 0 and other_j > 0:
        moved = abs(place_i - other_j)
    if moved == 0.0 and other_i > 0 and place_j > 0:
        moved = abs(other_i - place_j)
    return moved


@kernel
def _problems(table, words, offsets, lefts, rights, lo, hi, orders, semantic, order, of_set, cancel,
              weights, flat, starts, shapes, left, right, mass_at):  # fmt: skip
    """The transport problems of pairs lo to hi: costs, shapes and whole-number masses."""
    longest = 1
    for p in range(lo, hi):
        a_size = offsets[lefts[p] + 1] - offsets[lefts[p]]
        longest = max(longest, a_size + offsets[rights[p] + 1] - offsets[rights[p]])
    vectors = np.empty((longest, table.shape[1]), table.dtype)
    g = np.empty((longest, longest))
    numbers = np.empty((4, longest), np.int64)
    names, a, b, keys = numbers[0], numbers[1], numbers[2], numbers[3]
    most = 1  # loops in place of array methods here and below: each takes a second to compile
    for o in range(len(orders)):
        most = max(most, orders[o])
    grams = np.empty((longest, most), np.int64)
    counts = np.empty((2, longest), np.int64)
    places, mass = np.empty((2, longest)), np.empty(longest)
    for p in range(lo, hi):
        a_size = offsets[lefts[p] + 1] - offsets[lefts[p]]
        b_size = offsets[rights[p] + 1] - offsets[rights[p]]
        known = _local(words, offsets[lefts[p]], offsets[lefts[p] + 1], names, 0, a)
        known = _local(words, offsets[rights[p]], offsets[rights[p] + 1], names, known, b)
        for i in range(known):
            for k in range(table.shape[1]):
                vectors[i, k] = table[names[i], k]
        for i in range(known):
            for j in range(i, known, 4):
                four = dot_four(vectors, i, vectors, j, known - 1)
                for k in range(min(4, known - j)):
                    g[i, j + k] = four[k]
                    g[j + k, i] = four[k]
        for o in range(len(orders)):
            n, at = orders[o], (p - lo) * len(orders) + o
            for side in range(2):
                for i in range(longest):
                    counts[side, i] = 0
                    places[side, i] = 0.0
            size = _grams(a, a_size, n, known, keys, grams, 0, places[0], counts[0])
            size = _grams(b, b_size, n, known, keys, grams, size, places[1], counts[1])
            dots = flat[starts[at] : starts[at] + size * size]
            for i in range(size):
                for j in range(size):
                    total = 0.0
                    for t in range(n):
                        total += g[grams[i, t], grams[j, t]]
                    dots[i * size + j] = total
            shapes[at, 0] = shapes[at, 1] = size
            one, other = left[mass_at[at] :], right[mass_at[at] :]
            if len(weights):
                _counted(size, counts[0], grams, n, names, weights, mass, one)
                _counted(size, counts[1], grams, n, names, weights, mass, other)
            else:
                _masses(dots, size, places[0], counts[0], of_set, mass, one)
                _masses(dots, size, places[1], counts[1], of_set, mass, other)
            _distances(dots, size, places[0], places[1], semantic, order, mass)
            if cancel:
                for i in range(size):
                    common = min(one[i], other[i])
                    one[i] -= common
                    other[i] -= common


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
        _problems(
            table, words, offsets, lefts, rights, 0, len(lefts), orders, settings.semantic,
            settings.order, settings.centroid_of_set, settings.cancel,
            np.empty(0) if weights is None else weights,
            block.costs, block.starts, block.shapes, block.left, block.right, block.mass_at,
        )  # fmt: skip
        return block

    def solve(self) -> Float:
        cost, unused = np.empty(len(self.shapes)), np.empty(0)
        solve_range(
            self.costs, self.starts, self.shapes, self.left, self.mass_at,
            self.right, self.mass_at, 0, len(self.shapes), cost, False, unused, unused,
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
    *,
    threads: int | None = None,
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

    in_parallel(run, (sizes[lefts] + sizes[rights]) ** 3.0, threads)
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
