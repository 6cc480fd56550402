"""Do the columns of a run belong together? A file given twice, sorted or shifted scores, but wrong.

    together = Together()
    together.look({"a": texts}, sources, references)      # chunk by chunk
    together.messages()                                   # what is suspicious, in sentences

Columns that are equal in every line are told, and those whose lines are all alike. For the order of
lines two signs are looked at, on the first lines of each file:

- *words*: a word that stands in one or two lines of either file (a number, a name) should stand in
  the same line of both. If most of them stand in other lines, the lines are out of order; if they
  stand k lines further, the files are shifted by k.
- *lengths*: a long line has a long translation. If the lengths fit much better when one file is
  turned by k lines, the files are shifted; if they do not fit at all, they are out of order.

Limits: fewer than five lines tell nothing, and a fault after the first few thousand lines is not
seen.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from mtgauge.data.checks import is_blank

SOURCE, REFERENCES = "the source", "the references"  # as `watch.Watch` names them
_WORD = re.compile(r"\w+")
_LINES_OF_WORDS, _LINES_OF_LENGTHS = 500, 20_000
_FEWEST = 5  # lines, and words in common
_RARE = 2  # lines that a telling word stands in, at most
_FEWEST_LENGTHS = 100
_SPREAD = 0.2  # of the logarithms of lengths: lines of one length tell nothing


class Together:
    """What is remembered of the columns of a run: systems, the source and the first reference."""

    def __init__(self) -> None:
        self._seen = self._doubled = 0  # segments, and those with two equal references
        self._digests: dict[str, hashlib._Hash] = {}
        self._systems: dict[str, None] = {}
        self._alike: dict[str, str | None] = {}  # the text of all lines; None: they differ
        self._lengths: dict[str, list[int]] = defaultdict(list)
        self._words: dict[str, list[frozenset[str]]] = defaultdict(list)

    def look(
        self,
        systems: Mapping[str, Sequence[str]],
        sources: Sequence[str] | None,
        references: Sequence[tuple[str, ...]] | None,
    ) -> None:
        columns: dict[str, Sequence[str]] = dict(systems)
        self._systems.update(dict.fromkeys(systems))
        if sources is not None:
            columns[SOURCE] = sources
        if references is not None and all(references):
            columns[REFERENCES] = [row[0] for row in references]
            self._doubled += sum(len(set(row)) < len(row) for row in references)
        for name, texts in columns.items():
            self._remember(name, texts)
        self._seen += len(next(iter(columns.values()), ()))

    def _remember(self, name: str, texts: Sequence[str]) -> None:
        whole = self._digests.setdefault(name, hashlib.sha256())
        whole.update("\n".join(texts).encode("utf-8", "surrogatepass") + b"\n")
        if self._alike.setdefault(name, texts[0] if texts else None) is not None:
            self._alike[name] = texts[0] if set(texts) == {self._alike[name]} else None
        lengths, words = self._lengths[name], self._words[name]
        lengths.extend(map(len, texts[: _LINES_OF_LENGTHS - len(lengths)]))
        some = texts[: _LINES_OF_WORDS - len(words)]
        words.extend(frozenset(_WORD.findall(text[:1000].casefold())) for text in some)

    def messages(self) -> list[str]:
        if self._seen < 2:
            return []
        return [*self._equal(), *self._all_alike(), *self._out_of_order()]

    def _equal(self) -> list[str]:
        lines = []
        if self._doubled == self._seen:
            lines.append(f"{REFERENCES}: two of them are equal in every line.")
        equal: dict[tuple[bytes, bool], list[str]] = {}
        for name, whole in self._digests.items():
            # a system that equals the source or a reference is told with the counts of its lines
            equal.setdefault((whole.digest(), name in self._systems), []).append(name)
        for *names, last in equal.values():
            if names:
                both = f"{', '.join(names)} and {last}"
                lines.append(f"{both} are equal in every line. Is a file named twice?")
        return lines

    def _all_alike(self) -> list[str]:
        """Sides of one text where another side has several; empty lines are counted elsewhere."""
        alike = {name: text for name, text in self._alike.items() if text is not None}
        if self._seen < _FEWEST or len(alike) == len(self._alike):
            return []
        return [
            f"{name}: all {self._seen} lines are the same text."
            for name, text in alike.items()
            if not is_blank(text)
        ]

    def _out_of_order(self) -> list[str]:
        against = REFERENCES if REFERENCES in self._digests else SOURCE
        pairs = [*((name, against) for name in self._systems), (REFERENCES, SOURCE)]
        return [text for one, other in pairs if (text := self._doubt(one, other))]

    def _doubt(self, one: str, other: str) -> str:
        """What is wrong with the order of two columns, as a sentence; empty: nothing was seen."""
        if one not in self._words or other not in self._words:
            return ""
        found = _by_words(self._words[one], self._words[other])
        if found is None:
            found = _by_lengths(self._lengths[one], self._lengths[other])
        if found is None:
            return ""
        if found == 0:
            return f"{one}: its lines seem to be in another order than those of {other}."
        return f"{one}: its lines seem to be shifted by {abs(found)} against {other}."


def _by_words(one: Sequence[frozenset[str]], other: Sequence[frozenset[str]]) -> int | None:
    """By how many lines two files are shifted; 0: out of order; None: in order, or no telling."""
    n = len(one)
    votes: Counter[tuple[int, int]] = Counter()
    rare_one, rare_other = _rare(one), _rare(other)
    for word in rare_one.keys() & rare_other.keys():
        votes.update((i, j) for i in rare_one[word] for j in rare_other[word])
    best: dict[int, int] = {}
    shifts: Counter[int] = Counter()
    for (i, j), count in votes.items():
        best[i] = max(best.get(i, 0), count)
        shifts[(j - i + n // 2) % n - n // 2] += count
    total = sum(best.values())
    if n < _FEWEST or total < max(_FEWEST, 0.3 * n) or shifts[0] > 0.2 * total:
        return None
    shift, most = shifts.most_common(1)[0]
    return shift if most > 0.6 * total else 0


def _rare(lines: Sequence[frozenset[str]]) -> dict[str, list[int]]:
    """Words that stand in few lines, with those lines."""
    places: dict[str, list[int]] = defaultdict(list)
    for i, words in enumerate(lines):
        for word in words:
            places[word].append(i)
    return {word: at for word, at in places.items() if len(at) <= _RARE}


def _by_lengths(one: Sequence[int], other: Sequence[int]) -> int | None:
    """The same by the correlation of the lengths, for all shifts at once."""
    n = len(one)
    if n < _FEWEST_LENGTHS:
        return None
    a, b = _standard(one), _standard(other)
    if a is None or b is None:
        return None
    fit = np.fft.irfft(np.conj(np.fft.rfft(a)) * np.fft.rfft(b), n) / n
    shift = int(np.argmax(fit))
    if shift and fit[shift] > max(0.5, fit[0] + 0.25):
        return (shift + n // 2) % n - n // 2
    return 0 if fit[0] < 0.1 else None


def _standard(lengths: Sequence[int]) -> NDArray[np.float64] | None:
    values = np.log1p(np.array(lengths, dtype=np.float64))
    spread = float(values.std())
    return None if spread < _SPREAD else (values - values.mean()) / spread
