"""From words to rows of word vectors, with a policy for words that have none.

    lookup = Lookup.open("embedded", "en", oov="paper")
    words = lookup.words([["a", "cat"], ["the", "cat"]])
    words.table, words.texts, words.known, words.missing

`table` holds the vectors of the distinct words, `texts` the word numbers of each text, `known` how
many of its words have a vector in the file (punctuation does not count with `spelling`), `marks`
which rows of the table are punctuation, and `missing` counts words without a vector. Policies:
`paper` as STD's authors have it (a word without a vector becomes `unk` if the file has a vector
for that, else it is left out), `drop` leaves it out, `spelling` makes a vector of its character
n-grams, each of which has a fixed random one: equal words agree, words of one stem are near, others
are not. FastText models with subwords have a vector for nearly every word.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from mtgauge.encode.card import read_object
from mtgauge.encode.words.converted import open_vectors
from mtgauge.encode.words.store import EMBEDDED, WordVectors
from mtgauge.text.words import is_punctuation

Oov = Literal["paper", "drop", "spelling"]
T = TypeVar("T")
_REMEMBERED = 200_000  # words whose row is kept in memory: some 30 MB
_SPELLING = (3, 4, 5)  # lengths of the character n-grams by which words are alike
_DROP, _MADE = -1, -2  # no vector; a vector made from subwords or from the spelling


@dataclass(frozen=True)
class NumberedTexts:
    """Texts as rows of a table of vectors."""

    table: NDArray[np.float32]
    texts: list[NDArray[np.int64]]
    known: NDArray[np.int64]
    marks: NDArray[np.bool_]
    missing: int


class Lookup:
    def __init__(self, vectors: WordVectors, oov: Oov) -> None:
        self.vectors, self.oov = vectors, oov
        self._row: dict[str, int] = {}
        self._made: dict[str, Any] = {}
        unk = int(vectors.rows(["unk"])[0]) if oov == "paper" else _DROP
        self._unknown = unk  # -1, that is _DROP, where there is no such word
        self._length = 0.0

    @classmethod
    def open(cls, where: str, lang: str, oov: Oov) -> Lookup:
        embedded = where == "embedded"
        return cls(WordVectors.embedded(lang) if embedded else open_vectors(where), oov)

    def remember(self, name: str, make: Callable[[Collection[str]], T]) -> T:
        """Something made once from the whole vocabulary."""
        if name not in self._made:
            self._made[name] = make(list(self.vectors.words()))
        made: T = self._made[name]
        return made

    def kept(self, text: Sequence[str]) -> list[str]:
        """The words that are not left out, by the name under which they are looked up."""
        self._find(text)
        rows = ((word, self._row[word]) for word in text)
        return ["unk" if row == self._unknown else word for word, row in rows if row != _DROP]

    def words(self, texts: Sequence[Sequence[str]]) -> NumberedTexts:
        """The texts as numbers of their distinct words, and the vectors of those."""
        if len(self._row) > _REMEMBERED:
            self._row.clear()
        distinct = list(dict.fromkeys(itertools.chain.from_iterable(texts)))
        self._find(distinct)
        number = dict.fromkeys(distinct, _DROP)
        rows: list[int] = []
        marks: list[bool] = []
        slots: dict[int, int] = {}  # words that share the row of `unk` share its number
        for word in distinct:
            row = self._row[word]
            if row in slots:
                number[word] = slots[row]
            elif row != _DROP:
                number[word] = len(rows)
                if row != _MADE:
                    slots[row] = len(rows)
                rows.append(row)
                marks.append(is_punctuation(word))
        at = np.array(rows, dtype=np.int64)
        table = np.empty((len(rows), self.vectors.dimensions), dtype=np.float32)
        table[at >= 0] = self.vectors.take(at[at >= 0])
        if (at == _MADE).any():
            table[at == _MADE] = self._make([w for w in distinct if self._row[w] == _MADE])
        has = (at != _MADE) | self.vectors.has_subwords
        tells = has & ~np.array(marks, dtype=bool) if self.oov == "spelling" else has
        numbered = [np.array([*map(number.__getitem__, t)], dtype=np.int64) for t in texts]
        kept = [text[text >= 0] for text in numbered]
        known = np.array([tells[t].sum() for t in kept], dtype=np.int64)
        missing = sum(map(len, numbered)) - sum(int(has[t].sum()) for t in kept)
        return NumberedTexts(table, kept, known, np.array(marks, dtype=bool), missing)

    def _find(self, words: Sequence[str]) -> None:
        new = [word for word in dict.fromkeys(words) if word not in self._row]
        if not new:
            return
        rows = self.vectors.rows(new)
        makes = self.oov == "spelling" or self.vectors.has_subwords
        rows[rows < 0] = _MADE if makes else self._unknown
        self._row.update(zip(new, rows.tolist(), strict=True))

    def _make(self, words: list[str]) -> NDArray[np.float32]:
        if self.vectors.has_subwords:
            return self.vectors.subword_vectors(words)
        if not self._length:  # as long as the vectors of common words are
            some = self.vectors.take(np.arange(min(len(self.vectors), 2000)))
            self._length = float(np.linalg.norm(some, axis=1).mean())
        made = np.stack([_spelt(word, self.vectors.dimensions) for word in words])
        made *= np.float32(self._length) / np.linalg.norm(made, axis=1, keepdims=True)
        return made


def _spelt(word: str, size: int) -> NDArray[np.float32]:
    """A vector that depends on the spelling alone: the sum of those of its character n-grams."""
    padded = f"<{word}>"
    total = _random(padded, size).astype(np.float32)
    for n in _SPELLING:
        for start in range(len(padded) - n + 1):
            total += _random(padded[start : start + n], size)
    return total


@functools.lru_cache(maxsize=100_000)
def _random(text: str, size: int) -> NDArray[np.float32]:
    """Numbers that look random and depend on the text alone, so that any two are at odds."""
    stream = hashlib.shake_128(text.encode("utf-8")).digest(size)
    return np.frombuffer(stream, dtype=np.int8).astype(np.float32) + np.float32(0.5)


def version(where: str) -> str:
    """What names the vectors in a signature: the embedded set's version, or a fingerprint."""
    if where == "embedded":
        return f"embedded-{read_object(EMBEDDED / 'card.json')['version']}"
    if Path(where).is_file():
        return open_vectors(where).fingerprint
    header = Path(where) / "header.json"
    if not header.is_file():
        return "missing"
    return str(read_object(header).get("fingerprint", "missing"))
