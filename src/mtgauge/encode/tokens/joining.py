"""Pieces back to words, for people: where a tokeniser cut "Kanzlerin" into kan, z and lerin.

    words, number = join(text, spans, first, names)
    words[number[k]].text, words[number[k]].pieces        # the word that piece k belongs to

A word begins where the tokeniser says so, and also between letters and punctuation and around
every character of a script without spaces: SentencePiece marks neither. Apostrophes, hyphens and
the points of numbers stay inside their word. Pieces of a tokeniser that gives no positions are
joined by its own marks alone.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mtgauge.encode.ragged import IntArray
from mtgauge.encode.tokens.encoder import BoolArray, strip_marks
from mtgauge.text.words import UNSPACED

_UNSPACED = re.compile(f"[{UNSPACED}]")
_JOINERS = frozenset("'’-")  # inside a word


class Word(NamedTuple):
    """A word of a text, the pieces it was cut into, and its characters where they are known."""

    text: str
    pieces: tuple[str, ...]
    at: tuple[int, int] | None


def join(
    text: str, spans: IntArray, first: BoolArray, names: Sequence[str]
) -> tuple[list[Word], IntArray]:
    """The words of one text and, for each of its pieces, the number of its word.

    `spans` are the pieces' characters, `first` says which begin a word by the tokeniser's rules,
    `names` are the pieces as the vocabulary has them.

    >>> spans, first = np.array([[0, 3], [3, 5], [5, 6]]), np.array([True, False, False])
    >>> [word.text for word in join("Katze.", spans, first, ["kat", "##ze", "##."])[0]]
    ['Katze', '.']
    """
    begins = [k == 0 or bool(first[k]) or _apart(text, spans[k]) for k in range(len(names))]
    number = np.cumsum(begins, dtype=np.int64) - 1
    edges = [*np.flatnonzero(begins).tolist(), len(names)]
    return [_word(text, spans[a:b], names[a:b]) for a, b in itertools.pairwise(edges)], number


def _word(text: str, spans: IntArray, names: Sequence[str]) -> Word:
    start, end = int(spans[:, 0].min()), int(spans[:, 1].max())
    inside = text[start:end]
    stripped = inside.strip()
    if not stripped:
        pieces = tuple(strip_marks(name) for name in names)
        return Word("".join(pieces), pieces, None)
    start += len(inside) - len(inside.lstrip())
    shown = (text[a:b].strip() or strip_marks(n) for (a, b), n in zip(spans, names, strict=True))
    return Word(stripped, tuple(shown), (start, start + len(stripped)))


def _apart(text: str, span: IntArray) -> bool:
    """Whether a piece that continues a word for the tokeniser begins one for people."""
    start, end = int(span[0]), int(span[1])
    if start == end or start == 0:
        return False
    left, right = text[start - 1], text[start]
    if left.isspace() or right.isspace() or _UNSPACED.match(left) or _UNSPACED.match(right):
        return True
    if left in _JOINERS or right in _JOINERS:
        return False
    if right in ".," or left in ".,":
        around = text[start - 2 : start - 1] + text[start - 1] if left in ".," else left
        after = text[start + 1 : start + 2] if right in ".," else right
        return not (around[:1].isdigit() and after.isdigit())
    return _is_letter(left) != _is_letter(right)


def _is_letter(char: str) -> bool:
    return char.isalnum() or char == "_" or (not char.isascii() and not char.isprintable())
