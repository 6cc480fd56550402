"""Ragged arrays: rows of all texts in one block, text i at offsets[i]:offsets[i + 1].

offsets = [0, 2, 5] says that text 0 has rows 0 and 1, text 1 rows 2, 3 and 4.

    >>> ranges(np.array([2, 0]), np.array([3, 2]))
    array([2, 3, 4, 0, 1])
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T", bound=Hashable)
IntArray = NDArray[np.int64]


def offsets_of(lengths: Sequence[int] | IntArray) -> IntArray:
    """[2, 3] -> [0, 2, 5]."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)


def ranges(starts: IntArray, lengths: IntArray) -> IntArray:
    """start, start + 1, ... for every (start, length), concatenated."""
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(lengths.sum(), dtype=np.int64)


def take(offsets: IntArray, texts: IntArray) -> tuple[IntArray, IntArray]:
    """Row numbers of the given texts, in that order, and the offsets of the result."""
    lengths = np.diff(offsets)[texts]
    return ranges(offsets[texts], lengths), offsets_of(lengths)


def distinct(texts: Sequence[T]) -> tuple[list[T], IntArray]:
    """The distinct texts (or pairs) in order of first appearance, and where each went."""
    seen: dict[T, int] = {}
    index = np.fromiter((seen.setdefault(t, len(seen)) for t in texts), np.int64, len(texts))
    return list(seen), index
