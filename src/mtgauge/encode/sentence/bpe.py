"""Byte-pair encoding as fastBPE applies it, for the LASER of 2019.

    bpe = FastBpe(Path("93langs.fcodes"), Path("93langs.fvocab"))
    bpe.pieces(["lower", "."])                    # ["low@@", "er", "."]

A line of the codes is `left right count`, the most frequent pair first; a word's last character
carries `</w>`. A line of the vocabulary is `piece count`, where a piece within a word ends in `@@`.
A word is merged as far as the codes go, the earliest code first; a piece that is not in the
vocabulary is then taken apart again into the two that it was merged from, down to characters.
Lines end at line feeds only, for codes hold other separators of Unicode.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

from mtgauge.errors import ResourceError

END = "</w>"
WITHIN = "@@"
LONGEST = 1000  # characters of a word that are merged together: merging is quadratic


class FastBpe:
    def __init__(self, codes: Path, vocabulary: Path | None = None) -> None:
        self.ranks: dict[tuple[str, str], int] = {}
        self.halves: dict[str, tuple[str, str]] = {}
        for left, right, _ in _fields(codes, 3):
            self.ranks.setdefault((left, right), len(self.ranks))
            self.halves.setdefault(left + right, (left, right))
        self.known = {piece for piece, _ in _fields(vocabulary, 2)} if vocabulary else None
        self._cached = lru_cache(maxsize=100_000)(self._word)

    def pieces(self, words: Sequence[str]) -> list[str]:
        """The pieces of all words, in order."""
        return [piece for word in words for piece in self._cached(word)]

    def _word(self, word: str) -> tuple[str, ...]:
        found: list[str] = []
        for start in range(0, len(word), LONGEST):
            part = word[start : start + LONGEST]
            whole = start + LONGEST >= len(word)
            units = self._merged([*part[:-1], part[-1] + (END if whole else "")])
            for i, unit in enumerate(units):
                found += self._taken_apart(unit, whole and i == len(units) - 1)
        return tuple(found)

    def _merged(self, units: list[str]) -> list[str]:
        never = len(self.ranks)
        while len(units) > 1:
            pairs = list(pairwise(units))
            best = min(pairs, key=lambda pair: self.ranks.get(pair, never))
            if best not in self.ranks:
                break
            joined, at = [], 0
            while at < len(units):
                here = at < len(pairs) and pairs[at] == best
                joined.append(units[at] + units[at + 1] if here else units[at])
                at += 2 if here else 1
            units = joined
        return units

    def _taken_apart(self, unit: str, last: bool) -> Iterator[str]:
        shown = unit.removesuffix(END) if last else unit + WITHIN
        halves = self.halves.get(unit)
        if self.known is None or shown in self.known or halves is None:
            yield shown
        else:
            yield from self._taken_apart(halves[0], False)
            yield from self._taken_apart(halves[1], last)


def _fields(path: Path, number: int) -> Iterator[list[str]]:
    """The fields of every line, whose last one is a count."""
    try:
        lines = path.read_bytes().decode("utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ResourceError(f"{path} cannot be read as UTF-8 text ({error}).") from None
    for i, line in enumerate(lines, start=1):
        fields = [field for field in line.removesuffix("\r").split(" ") if field]
        if fields and (len(fields) != number or not fields[-1].isdecimal()):
            shape = {3: "two pieces and a count", 2: "a piece and a count"}[number]
            raise ResourceError(f"{path}, line {i}: fastBPE writes {shape} in every line.")
        if fields:
            yield fields
