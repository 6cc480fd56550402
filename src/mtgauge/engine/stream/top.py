"""The best part of all records, exactly and in constant memory.

    cut = best(files, share=0.1)          files of float64 keys, one per shard, higher is better
    cut.mask(keys)                        which records of the next shard stay

The k-th largest of n keys is found by its bits, 16 at a time from the highest: float64 keys are
mapped to unsigned integers of the same order, and four passes over the files count how many keys
fall into each of 65,536 bins. Among equal keys at the border the first records stay, so that
exactly k do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mtgauge.errors import UsageError

FloatArray = NDArray[np.float64]
_SIGN = np.uint64(1 << 63)
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Top:
    """How much stays: a share of all records, or a number of them.

    >>> Top.parse("10%"), Top.parse("5000")
    (Top(share=0.1, number=0), Top(share=None, number=5000))
    """

    share: float | None = None
    number: int = 0

    @classmethod
    def parse(cls, text: str) -> Top:
        try:
            if text.endswith("%"):
                found = cls(share=float(text[:-1]) / 100)
                good = 0 < (found.share or 0) <= 1
            else:
                found = cls(number=int(text))
                good = found.number > 0
        except ValueError:
            good = False
        if not good:
            raise UsageError(f"--top {text!r} is neither a share such as 10% nor a number.")
        return found

    def of(self, many: int) -> int:
        """How many of so many stay; a share is rounded down."""
        wanted = self.number if self.share is None else int(many * self.share + 1e-9)
        return min(many, wanted)


@dataclass
class Cut:
    """Keys above `border` stay, and so do the first `ties` that equal it."""

    border: np.uint64
    ties: int
    none: bool = False

    def mask(self, keys: FloatArray) -> NDArray[np.bool_]:
        """Which records stay; shards are asked in their order."""
        if self.none:
            return np.zeros(len(keys), dtype=bool)
        ordered = _ordered(keys)
        equal = ordered == self.border
        rank = np.cumsum(equal)
        stays = (ordered > self.border) | (equal & (rank <= self.ties))
        self.ties = max(0, self.ties - int(equal.sum()))
        return np.asarray(stays)


def best(files: Sequence[Path], top: Top) -> Cut:
    """Where to cut, from the keys of all shards; keys are finite."""
    total = sum(path.stat().st_size // 8 for path in files)
    wanted = top.of(total)
    if wanted == 0:
        return Cut(np.uint64(0), 0, none=True)
    prefix, left = 0, wanted  # bits of the border found so far; how many must still be found
    for shift in (48, 32, 16, 0):
        counts = np.zeros(1 << 16, dtype=np.int64)
        for keys in _blocks(files):
            inside = keys if shift == 48 else keys[keys >> np.uint64(shift + 16) == prefix]
            bins = (inside >> np.uint64(shift)) & np.uint64(0xFFFF)
            counts += np.bincount(bins.astype(np.int64), minlength=1 << 16)
        above = np.cumsum(counts[::-1])[::-1]  # keys in this bin or a higher one
        found = int(np.flatnonzero(above >= left)[-1])
        left -= int(above[found] - counts[found])
        prefix = (prefix << 16) | found
    return Cut(np.uint64(prefix), left)


def _blocks(files: Sequence[Path]) -> Iterator[NDArray[np.uint64]]:
    for path in files:
        with path.open("rb") as stream:
            while len(block := np.fromfile(stream, "<f8", _BLOCK)):
                yield _ordered(block)


def _ordered(keys: FloatArray) -> NDArray[np.uint64]:
    """Unsigned integers in the order of the keys; -0.0 equals 0.0."""
    bits = (np.asarray(keys, dtype="<f8") + 0.0).view(np.uint64)
    return np.where(bits & _SIGN, ~bits, bits | _SIGN)
