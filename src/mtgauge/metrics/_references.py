"""Several references per segment: which texts are compared, and how pairs become one row.

texts, owner = compared_with("bertr", batch, "reference")     # one entry per pair to score
rows = one_row_each(values, owner, "best", scores)            # one row per segment

work = distinct(batch)                                        # each distinct pair once
rows = ...one row for each of work.hypotheses against work.references[work.of]...
return rows[work.rows]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from mtgauge.data.segments import Segments
from mtgauge.errors import UsageError
from mtgauge.metric import FloatArray

Ints = NDArray[np.int64]
MultiReference = Annotated[
    Literal["best", "mean"], "of several references: the one that scores best, or their mean"
]
T = TypeVar("T")


def references_of(name: str, batch: Segments) -> Sequence[tuple[str, ...]]:
    """The references of every segment; a segment without one is refused."""
    if batch.references is None:
        raise UsageError(f"{name} needs references: give them with -r.")
    counts = [len(row) for row in batch.references]
    if not all(counts):
        raise UsageError(
            f"{name}: segment {counts.index(0) + 1} has no reference. "
            "Every segment needs at least one reference."
        )
    return batch.references


def sources_of(name: str, batch: Segments) -> Sequence[str]:
    if batch.sources is None:
        raise UsageError(f"{name} needs the source texts: give them with -s.")
    return batch.sources


def compared_with(name: str, batch: Segments, side: str) -> tuple[list[str], Ints]:
    """The texts of a side that hypotheses are compared with, and the segment of each."""
    if side == "source":
        return list(sources_of(name, batch)), np.arange(len(batch))
    rows = references_of(name, batch)
    owner = np.repeat(np.arange(len(batch)), [len(row) for row in rows])
    return [text for row in rows for text in row], owner


def one_row_each(
    values: FloatArray, owner: Ints, multi_ref: MultiReference, scores: FloatArray
) -> FloatArray:
    """The row of each owner's highest score (the first of equals), or the mean of its rows.

    `owner` is sorted and names every owner from 0 on.
    """
    if multi_ref == "best":
        order = np.lexsort((-scores, owner))  # stable: the first of equals stays first
        return np.asarray(values[order[np.flatnonzero(np.diff(owner, prepend=-1))]])
    sums = np.zeros((int(owner[-1]) + 1 if len(owner) else 0, values.shape[1]))
    np.add.at(sums, owner, values)
    return np.asarray(sums / np.bincount(owner)[:, None])


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
        """`make` of every hypothesis and reference, called once per distinct text."""
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

    def combine(
        self, rows: FloatArray, scores: FloatArray, multi_ref: MultiReference = "best"
    ) -> FloatArray:
        """One row per segment of the batch, from one per single reference."""
        return one_row_each(rows, self.owner, multi_ref, scores)[self.rows]


def distinct(batch: Segments) -> Pairs:
    """The batch's distinct pairs, those with the same references side by side."""
    references = references_of("This metric", batch)
    groups: dict[tuple[str, ...], dict[str, int]] = {}
    for hypothesis, refs in zip(batch.hypotheses, references, strict=True):
        groups.setdefault(refs, {})[hypothesis] = 0
    hypotheses: list[str] = []
    for members in groups.values():
        for hypothesis in members:
            members[hypothesis] = len(hypotheses)
            hypotheses.append(hypothesis)
    rows = [groups[refs][h] for h, refs in zip(batch.hypotheses, references, strict=True)]
    of = np.repeat(np.arange(len(groups)), [len(members) for members in groups.values()])
    owner = np.arange(len(hypotheses))
    return Pairs(hypotheses, list(groups), of, owner, np.array(rows, dtype=np.int64))
