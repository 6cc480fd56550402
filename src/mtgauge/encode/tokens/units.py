"""From tokens to the units that metrics compare: filters, words and n-grams.

    policy                     what it does                             who
    special=True               keep [CLS] and [SEP]                     XMoverScore, all versions
    pieces="first"             keep the first piece of each word        XMoverScore 2020, MoverScore
    pieces="mean"              join the pieces of a word to their mean  remapping
    punctuation=False          drop tokens that are one ASCII mark      XMoverScore 2020, MoverScore
    ngram=2                    mean of two neighbours, stride 1         both

A text of fewer than n tokens has one shorter window; a text without tokens has no unit. The weight
of an n-gram is the sum of its tokens' weights, and weights of a text sum to 1. The vector of an
n-gram is the weighted mean of its tokens', then scaled to length 1. Vectors of tokens that are on
a device stay there (`DeviceUnits`), except where the pieces of a word are joined.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from mtgauge.encode.ragged import IntArray, offsets_of, ranges
from mtgauge.encode.tokens.device import DeviceTokens, fetched, mixed
from mtgauge.encode.tokens.encoder import BoolArray, Tokens, TokenVectors, Vectors

if TYPE_CHECKING:
    from torch import Tensor

BLOCK = 24_000  # numbers at once: few enough to stay in the cache, and to need no fresh pages
Pieces = Literal["all", "first", "mean"]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Units:
    """Units of n texts, M in all."""

    offsets: IntArray  # (n + 1,)
    vectors: Vectors  # (M, d), rows of length 1 unless normalise=False
    weights: FloatArray  # (M,), sum 1 in each text
    ends: IntArray  # (M, 2): numbers of the unit's first and last token

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def uniform(self) -> bool:
        """Whether the units of each text weigh the same."""
        lengths = np.diff(self.offsets)
        return bool((self.weights == np.repeat(1.0 / np.maximum(lengths, 1), lengths)).all())


class DeviceUnits(Units):
    """Units whose vectors are on a device, in `block`; `vectors` fetches them."""

    block: Tensor

    def __init__(
        self, offsets: IntArray, block: Tensor, weights: FloatArray, ends: IntArray, half: bool
    ) -> None:
        self.__dict__.update(offsets=offsets, block=block, weights=weights, ends=ends, half=half)

    @cached_property
    def vectors(self) -> Vectors:
        return fetched(self.block, half=self.__dict__["half"])


def keep(
    tokens: Tokens,
    marks: BoolArray,
    special: bool = False,
    pieces: Pieces = "all",
    punctuation: bool = True,
) -> BoolArray:
    """Which tokens pass the filters; `marks` says by token id what is punctuation."""
    kept = np.ones(len(tokens.ids), dtype=bool)
    if pieces == "first":
        kept &= tokens.first
    if not punctuation:
        kept &= ~marks[tokens.ids]
    # Special tokens are judged by `special` alone: a filter of words does not concern them.
    return kept | tokens.special if special else kept & ~tokens.special


def build(
    tokens: TokenVectors,
    kept: BoolArray,
    weights: FloatArray,
    ngram: int,
    pieces: Pieces = "all",
    normalise: bool = True,
) -> Units:
    """Units of the kept tokens, whose weights (one per token) are `weights`."""
    rows = np.flatnonzero(kept)
    text = np.repeat(np.arange(len(tokens)), np.diff(tokens.offsets))[rows]
    mass, ends = weights[rows], np.stack([rows, rows], axis=1)
    joined: Vectors | None = None
    if pieces == "mean" and len(rows):
        # By word number, not by `first`: the first piece of a word may have been filtered.
        begins = np.flatnonzero(np.diff(np.cumsum(tokens.first)[rows], prepend=-1))
        counts = np.diff(np.append(begins, len(rows)))
        sums = np.add.reduceat(tokens.vectors[rows], begins, axis=0)
        joined = (sums / counts[:, None]).astype(np.float32)
        ends = np.stack([rows[begins], rows[begins + counts - 1]], axis=1)
        text, mass, rows = text[begins], mass[begins], np.arange(len(begins))
    lengths = np.bincount(text, minlength=len(tokens))

    def units(
        offsets: IntArray,
        parts: list[tuple[IntArray, Vectors | None]],
        weights: FloatArray,
        ends: IntArray,
    ) -> Units:
        even = _normalise(weights, offsets)
        if isinstance(tokens, DeviceTokens) and joined is None:
            block = mixed(tokens.block, parts, normalise)
            return DeviceUnits(offsets, block, even, ends, half=tokens.half)
        vectors = tokens.vectors if joined is None else joined
        return Units(offsets, _mixed(vectors, parts, normalise), even, ends)

    if ngram == 1:
        return units(offsets_of(lengths), [(rows, None)], mass, ends)
    starts = np.cumsum(lengths) - lengths
    grams = np.where(lengths > 0, np.maximum(lengths - ngram + 1, 1), 0)
    begin = ranges(starts, grams)
    width = np.repeat(np.minimum(lengths, ngram), grams)
    steps = [(step < width, np.where(step < width, begin + step, begin)) for step in range(ngram)]
    total = np.zeros(len(begin))
    for inside, at in steps:
        total += np.where(inside, mass[at], 0.0)
    parts: list[tuple[IntArray, Vectors | None]] = []
    for inside, at in steps:
        # An n-gram without weight (idf 0) still has a direction: the plain mean.
        share = np.where(total > 0, mass[at] / np.where(total > 0, total, 1.0), 1 / width) * inside
        parts.append((rows[at], share.astype(np.float32)))
    outer = np.stack([ends[begin, 0], ends[begin + width - 1, 1]], axis=1)
    return units(offsets_of(grams), parts, total, outer)


def _mixed(
    vectors: Vectors, parts: list[tuple[IntArray, Vectors | None]], normalise: bool
) -> Vectors:
    """Sum over parts of rows `at` of the vectors times `share`, in blocks that stay in cache."""
    out = np.empty((len(parts[0][0]), vectors.shape[1]), dtype=np.float32)
    size = max(BLOCK // max(vectors.shape[1], 1), 1)
    for start in range(0, len(out), size):
        here = slice(start, start + size)
        block = out[here]
        for number, (at, share) in enumerate(parts):
            # into its place at once where it is the first: most units are one token
            into = None if number else block
            part = np.take(vectors, at[here], axis=0, out=into, mode="clip")  # all are inside
            if share is not None:
                part *= share[here, None]
            if number:
                block += part
        if normalise:
            norms = np.sqrt(np.einsum("nd,nd->n", block, block))
            block /= np.maximum(norms, 1e-30)[:, None]
    return out


def _normalise(weights: FloatArray, offsets: IntArray) -> FloatArray:
    """Weights of each text divided by their sum; uniform where the sum is 0."""
    text = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    sums = np.bincount(text, weights, minlength=len(offsets) - 1)
    uniform = 1.0 / np.maximum(np.diff(offsets), 1)
    return np.where(sums[text] > 0, weights / np.where(sums > 0, sums, 1.0)[text], uniform[text])
