"""Words and phrases: which of the reference's does each system get right?

    counted = Counted(texts)                      needs references; the first of each segment counts
    counted.by_frequency()                        `Slices`: F1 of words, rare to frequent
    counted.ngrams("old", "new")                  phrases that one gets right and the other wrong
    counted.contrast("old")                       both, of all systems: what a report shows

A phrase of the reference (1 to 4 words) is right as often as it stands in the translation of the
same segment, at most as often as in the reference. Frequency is counted in these references. Words
are runs of letters and digits in lower case, and characters of scripts without spaces.

How it counts: every n-gram is a number, made of its first n - 1 words' number and its last word;
`segment * n-grams + number` is a cell. Counting is `numpy.unique` of cells, matching the minimum of
two counts of one cell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mtgauge.data.corpus import Chunk
from mtgauge.engine.slices import Slices
from mtgauge.text.words import tokenizer

ORDERS = 4
FREQUENCIES = ((1, 1), (2, 4), (5, 9), (10, 99), (100, None))
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Phrase:
    """A phrase and how often each of two systems gets it right, of so many in the references."""

    text: str
    first: int
    second: int
    of: int


@dataclass(frozen=True)
class Contrast:
    """Words and phrases of all systems of a run."""

    frequency: Slices
    # by system: the phrases that the baseline gets right more often, and those of the system
    phrases: dict[str, tuple[list[Phrase], list[Phrase]]]

    def to_dict(self) -> dict[str, Any]:
        """For a message of the process that counted."""
        return {"frequency": self.frequency.to_dict(), "phrases": asdict(self)["phrases"]}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Contrast:
        phrases = {
            name: ([Phrase(**p) for p in theirs], [Phrase(**p) for p in ours])
            for name, (theirs, ours) in given["phrases"].items()
        }
        return cls(Slices.from_dict(given["frequency"]), phrases)


@dataclass(frozen=True)
class _Cells:
    """Distinct (segment, n-gram) cells, sorted, and how often each occurs."""

    cells: IntArray
    counts: IntArray

    def matched(self, other: _Cells) -> IntArray:
        """For every cell of mine, how often the other has it too."""
        place = np.searchsorted(other.cells, self.cells)
        place[place == len(other.cells)] = 0
        same = (
            other.cells[place] == self.cells
            if len(other.cells)
            else np.zeros(len(self.cells), dtype=bool)
        )
        theirs = other.counts[place] if len(other.cells) else self.counts
        return np.where(same, np.minimum(self.counts, theirs), 0)


class Counted:
    """The texts of a run in numbers."""

    def __init__(self, texts: Chunk) -> None:
        self.systems = list(texts.systems)
        self._words: dict[str, int] = {}
        self._sides: list[list[list[int]]] = [[] for _ in range(1 + len(self.systems))]
        self.add(texts)

    def add(self, texts: Chunk) -> None:
        """The segments that follow; all must be there before anything is asked."""
        assert texts.references is not None
        split = tokenizer("punctuation-free")
        first = [row[0] if row else "" for row in texts.references]
        for side, lines in zip(self._sides, (first, *texts.systems.values()), strict=True):
            side += [self._ids(split(line.lower())) for line in lines]

    def contrast(self, baseline: str) -> Contrast:
        """What a report shows: every other system against the baseline."""
        others = [name for name in self.systems if name != baseline]
        phrases = {name: self.ngrams(baseline, name) for name in others}
        return Contrast(self.by_frequency(), phrases)

    def _ids(self, words: list[str]) -> list[int]:
        known = self._words
        return [known.setdefault(word, len(known)) for word in words]

    @cached_property
    def _orders(self) -> list[tuple[IntArray, list[_Cells]]]:
        """By order: the n-grams (rows of word numbers), and the cells of each side."""
        flat = [_flat(side) for side in self._sides]
        words = np.concatenate([w for w, _ in flat])
        segments = np.concatenate([at for _, at in flat])
        sides = np.repeat(np.arange(len(flat)), [len(w) for w, _ in flat])
        where = sides * len(self._sides[0]) + segments  # a text
        starts = np.arange(len(words))  # of the runs, in `words`
        number = words  # of the run at each start
        found = []
        for n in range(1, ORDERS + 1):
            if n > 1:
                inside = starts[starts + n <= len(words)]
                inside = inside[where[inside] == where[inside + n - 1]]
                shorter = number[np.searchsorted(starts, inside)]
                starts, number = inside, shorter * len(self._words) + words[inside + n - 1]
            kinds, first, number = np.unique(number, return_index=True, return_inverse=True)
            table = words[starts[first][:, None] + np.arange(n)[None, :]]
            cells = []
            for k in range(len(flat)):
                mine = sides[starts] == k
                cell = segments[starts[mine]] * len(kinds) + number[mine]
                cells.append(_Cells(*np.unique(cell, return_counts=True)))
            found.append((table, cells))
        return found

    def by_frequency(self) -> Slices:
        """F1 of words in groups by how often they stand in the references."""
        table, (reference, *systems) = self._orders[0]
        frequency = np.bincount(
            reference.cells % max(len(table), 1), weights=reference.counts, minlength=len(table)
        )
        group = np.searchsorted([low for low, _ in FREQUENCIES], frequency, side="right") - 1

        def by_group(cells: IntArray, counts: IntArray) -> NDArray[np.float64]:
            places = group[cells % max(len(table), 1)]
            known = places >= 0  # words that no reference has belong to no group
            totals = np.bincount(places[known], counts[known], minlength=len(FREQUENCIES))
            return totals.astype(np.float64)

        wanted = by_group(reference.cells, reference.counts)
        scores: dict[str, list[float]] = {}
        for name, mine in zip(self.systems, systems, strict=True):
            right = by_group(reference.cells, reference.matched(mine))
            written = by_group(mine.cells, mine.counts)
            with np.errstate(invalid="ignore", divide="ignore"):
                scores[name] = (100 * 2 * right / (wanted + written)).tolist()
        shown = [k for k in range(len(FREQUENCIES)) if wanted[k]]
        names = [f"{a} or more" if b is None else str(a) if a == b else f"{a}-{b}"
                 for a, b in FREQUENCIES]  # fmt: skip
        return Slices(
            "how often a word stands in the references",
            "words",
            tuple(names[k] for k in shown),
            tuple(int(wanted[k]) for k in shown),
            {"words right (F1)": {name: [row[k] for k in shown] for name, row in scores.items()}},
        )

    def ngrams(self, first: str, second: str, most: int = 10) -> tuple[list[Phrase], list[Phrase]]:
        """Phrases that the first system gets right more often, and those of the second."""
        a, b = self.systems.index(first) + 1, self.systems.index(second) + 1
        rows: list[tuple[int, int, int, tuple[int, ...]]] = []
        for table, cells in self._orders:
            reference = cells[0]
            gram = reference.cells % max(len(table), 1)
            mine, theirs, every = (
                np.bincount(gram, weights=counts, minlength=len(table)).astype(np.int64)
                for counts in (
                    reference.matched(cells[a]), reference.matched(cells[b]), reference.counts,
                )
            )  # fmt: skip
            gain = mine - theirs
            for order in (np.argsort(-gain, kind="stable"), np.argsort(gain, kind="stable")):
                for k in order[: 4 * most].tolist():
                    if gain[k]:
                        found = (int(mine[k]), int(theirs[k]), int(every[k]))
                        rows.append((*found, tuple(table[k].tolist())))
        ours = self._best([r for r in rows if r[0] > r[1]], most)
        others = self._best([r for r in rows if r[0] < r[1]], most)
        return ours, others

    def _best(self, rows: list[tuple[int, int, int, tuple[int, ...]]], most: int) -> list[Phrase]:
        """The largest differences; of phrases inside each other with equal counts, the longest."""
        rows.sort(key=lambda row: (-abs(row[0] - row[1]), -len(row[3]), row[2]))
        kept: list[tuple[int, int, int, tuple[int, ...]]] = []
        for row in rows:
            inside = any(row[:2] == other[:2] and _within(row[3], other[3]) for other in kept)
            if not inside:
                kept.append(row)
            if len(kept) == most:
                break
        vocabulary = list(self._words)
        return [
            Phrase(" ".join(vocabulary[w] for w in words), mine, theirs, every)
            for mine, theirs, every, words in kept
        ]


def _within(part: tuple[int, ...], whole: tuple[int, ...]) -> bool:
    n = len(part)
    return any(whole[k : k + n] == part for k in range(len(whole) - n + 1))


def _flat(side: list[list[int]]) -> tuple[IntArray, IntArray]:
    """All words of a side in a row, and the segment of each."""
    sizes = [len(words) for words in side]
    words = np.array([w for segment in side for w in segment], dtype=np.int64)
    return words, np.repeat(np.arange(len(side)), sizes)
