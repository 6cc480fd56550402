"""What a translation and its source visibly share: numbers, names, marks, words of one origin.

    anchored("Путин был в Праге.", "Putin was in Prague.")      # True: Putin
    numbers_differ("Es sind 12 Leute.", "All went home.")       # True
    marks_differ("Wer kommt?", "All went home: to Prague.")     # 2: the question, the colon
    names("All went home to Prague.", "en")                     # 1
    length("Es sind viele Leute.")                              # 4.0 words

Words are compared by their first four letters, in Latin letters whatever their script: an inflected
name and most loan words begin alike. Characters of scripts without spaces are no words here.

Limits: two texts of one topic may share a name by chance, and short or plain sentences share
nothing with a perfect translation. It says something of a pair only beside other evidence.
"""

from __future__ import annotations

import html
import re
from functools import lru_cache

from mtgauge.text.telling import read
from mtgauge.text.words import UNSPACED

_WORD = re.compile(rf"(?:(?![{UNSPACED}])\w)+")
_NUMBER = re.compile(r"\d+")
_INSIDE = re.compile(r"(?:(?<=[^\W\d_] )|(?<=[^\W\d_], ))[^\W\d_]{4,}")  # no sentence begins there
_LETTERS = 4  # that begin a word
_MARKS = (  # what stands for the same in every language
    re.compile(r"""["“”„«»「」『』《》]|(?<!\w)['‘‚][^'’]+['’](?!\w)"""),
    re.compile(r"[?？؟]"),
    re.compile(r"[!！]"),
    re.compile(r"：|:(?=\s|$)"),
    re.compile(r"[(\[（]"),
)
_ENDS = (
    re.compile(r"[.!?:;…。！？؟।]\W*$"),  # a whole sentence, no headline
    re.compile(r"[?;？؟]\W*$"),  # a question, as Greek writes it too
)
_END = 8  # characters in which a text ends
_CAPITAL_NOUNS = {"de", "lb"}


def anchored(source: str, text: str) -> bool:
    """Whether a number, or the beginning of a word, stands in both."""
    return not (
        _numbers(source).isdisjoint(_numbers(text))
        and _beginnings(source).isdisjoint(_beginnings(text))
    )


def numbers_differ(source: str, text: str) -> bool:
    """Whether either has numbers in digits, and no one stands in both."""
    theirs, ours = _numbers(source), _numbers(text)
    return bool(theirs or ours) and theirs.isdisjoint(ours)


def marks_differ(source: str, text: str) -> int:
    """How many kinds of marks stand on one side only.

    Quotation marks, question and exclamation marks, colons, brackets, and the end of a sentence.
    """
    return sum(a != b for a, b in zip(_marks(source), _marks(text), strict=True))


@lru_cache(maxsize=4096)
def _marks(text: str) -> tuple[bool, ...]:
    text = html.unescape(text)  # &quot; is a quotation mark, and ends no question
    inside = [bool(mark.search(text)) for mark in _MARKS]
    sentence, question = (bool(mark.search(text.rstrip()[-_END:])) for mark in _ENDS)
    inside[1] |= question
    return (*inside, sentence)


def names(text: str, language: str) -> int:
    """How many words have a capital inside a sentence; 0 where that does not mark names.

    German writes all nouns so, a headline most of its words.
    """
    words = _WORD.findall(text)
    capital = sum(word[0].isupper() for word in words)
    if language in _CAPITAL_NOUNS or 2 * capital > len(words):
        return 0
    return sum(word[0].isupper() for word in _INSIDE.findall(text))


def length(text: str) -> float:
    """In words, numbers left out; a character of a script without spaces is half of one."""
    return sum(read(text).weights)


@lru_cache(maxsize=4096)
def _beginnings(text: str) -> frozenset[str]:
    from anyascii import anyascii

    latin = (anyascii(word).casefold() for word in _WORD.findall(text))
    return frozenset(word[:_LETTERS] for word in latin if len(word) >= _LETTERS)


@lru_cache(maxsize=4096)
def _numbers(text: str) -> frozenset[str]:
    return frozenset(_NUMBER.findall(text))
