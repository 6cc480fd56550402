"""What the surface metrics share: each distinct (hypothesis, references) pair is scored once.

work = distinct(batch)
rows = ...one row for each of work.hypotheses against work.references[work.of]...
return rows[work.rows]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from mtgauge.data.segments import Segments
from mtgauge.errors import UsageError
from mtgauge.metric import FloatArray

Ints = NDArray[np.int64]
T = TypeVar("T")


@dataclass(frozen=True)
class Pairs:
    """Distinct pairs; pair i is `hypotheses[i]` against the reference set `references[of[i]]`.

    `rows[r]` is the owner of the batch's row r. A pair is its own owner, until `each_reference`
    splits it: then `owner[i]` is the pair it was split from.
    """

    hypotheses: list[str]
    references: Sequence[tuple[str, ...]]
    of: Ints
    owner: Ints
    rows: Ints

    def prepare(self, make: Callable[[str], T]) -> tuple[list[T], list[tuple[T, ...]]]:
        """`make` of every hypothesis and reference, called once a distinct text."""
        texts = dict.fromkeys(self.hypotheses)
        texts.update(dict.fromkeys(text for refs in self.references for text in refs))
        made = {text: make(text) for text in texts}
        left = [made[text] for text in self.hypotheses]
        return left, [tuple(made[text] for text in refs) for refs in self.references]

    def each_reference(self) -> Pairs:
        """One pair for every single reference of a pair."""
        number = np.array([len(refs) for refs in self.references], dtype=np.int64)
        if not len(number) or number.max() == 1:
            return self
        owner = np.repeat(np.arange(len(self.of)), number[self.of])
        first = np.concatenate([[0], np.flatnonzero(np.diff(owner)) + 1])
        slot = np.arange(len(owner)) - np.repeat(first, number[self.of])
        of = (np.cumsum(number) - number)[self.of][owner] + slot
        singles = [(text,) for refs in self.references for text in refs]
        return Pairs([self.hypotheses[i] for i in owner], singles, of, owner, self.rows)

    def best(self, rows: FloatArray, score: FloatArray) -> FloatArray:
        """The row of the highest score (the first of equals) of each owner, a row a segment."""
        order = np.lexsort((-score, self.owner))  # stable: the first of equals stays first
        return rows[order[np.searchsorted(self.owner, self.rows)]]

    def mean(self, rows: FloatArray) -> FloatArray:
        """The mean over the references of each owner, a row a segment."""
        sums = np.zeros((int(self.owner[-1]) + 1 if len(self.owner) else 0, rows.shape[1]))
        np.add.at(sums, self.owner, rows)
        return (sums / np.bincount(self.owner)[:, None])[self.rows]


def distinct(batch: Segments) -> Pairs:
    """The batch's distinct pairs, those with the same references side by side."""
    if batch.references is None:
        raise UsageError("This metric compares with references and none are given.")
    if not all(batch.references):
        raise UsageError("Every segment needs at least one reference.")
    groups: dict[tuple[str, ...], dict[str, int]] = {}
    for hypothesis, refs in zip(batch.hypotheses, batch.references, strict=True):
        groups.setdefault(refs, {})[hypothesis] = 0
    hypotheses: list[str] = []
    for members in groups.values():
        for hypothesis in members:
            members[hypothesis] = len(hypotheses)
            hypotheses.append(hypothesis)
    rows = [groups[refs][h] for h, refs in zip(batch.hypotheses, batch.references, strict=True)]
    of = np.repeat(np.arange(len(groups)), [len(members) for members in groups.values()])
    owner = np.arange(len(hypotheses))
    return Pairs(hypotheses, list(groups), of, owner, np.array(rows, dtype=np.int64))
