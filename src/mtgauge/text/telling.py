"""The words of a text, and which of them tell its language: no names, titles, addresses, code.

    text = read("Jan van der Berg sang “Let it be me” at home.")
    [word for word, tells in zip(text.words, text.telling) if tells]    # ['sang', 'at', 'home']

Names and titles stand in every language as they are, so they say nothing of the language around
them. Known by their spelling: words with a capital, small short words between two such (van der,
of the), and quotations of up to five words, unless the text is hardly anything else. Numbers,
addresses, paths and code are no words at all. In scripts without capitals every word tells.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

from mtgauge.text.words import UNSPACED

_UNSPACED_WORD = 0.5  # words in a character of a script without spaces
_SHORT_QUOTATION = 5  # words; such are titles, and often kept
# addresses, paths and code: letters on both sides of a mark that joins no words of a language
_CODE_MARK = re.compile(r"[A-Za-z0-9)*][.:/@_=\\][A-Za-z0-9]|(?<![!-~])[/~.][A-Za-z0-9]|[a-z][A-Z]")
_CODE = re.compile(r"[!-~]+")  # with a mark inside
_NO_WORD = re.compile(r"[\d_]")
_QUOTES = frozenset('"“”„«»「『')
_QUOTATION = re.compile(r'"[^"]*"|[“„][^“”„]*[“”]|«[^»]*»|»[^«]*«|「[^」]*」|『[^』]*』')


class Text(NamedTuple):
    words: list[str]  # as they stand
    folded: list[str]
    weights: list[float]
    small: list[bool]  # without a capital, and not in a title
    telling: list[bool]  # of these, words that are part of no name

    def take(self, rows: Sequence[int]) -> Text:
        return Text(
            [self.words[i] for i in rows],
            [self.folded[i] for i in rows],
            [self.weights[i] for i in rows],
            [self.small[i] for i in rows],
            [self.telling[i] for i in rows],
        )


@lru_cache(maxsize=4096)
def read(text: str) -> Text:
    if text.isupper():  # a headline in capitals: nothing marks its names
        text = text.lower()
    words: list[str] = []
    quoted: list[bool] = []
    follows: list[bool] = []  # the word before, with nothing but a space between
    for in_quotes, part in _parts(text):
        end = None
        for match in _word_finder()(part):
            if not match[0].isalpha() and _NO_WORD.search(match[0]):
                continue
            words.append(match[0])
            quoted.append(in_quotes)
            follows.append(end is not None and part[end : match.start()] == " ")
            end = match.end()
    if 3 * sum(quoted) > 2 * len(words):  # dialogue, not a title
        quoted = [False] * len(words)
    small = [not (word[0].isupper() or q) for word, q in zip(words, quoted, strict=True)]
    telling = small.copy()
    for i in _inside_names(words, follows):
        telling[i] = False
    return Text(
        words,
        [word.casefold() for word in words],
        [_UNSPACED_WORD if _is_unspaced(word) else 1.0 for word in words],
        small,
        telling,
    )


def _parts(text: str) -> list[tuple[bool, str]]:
    """The text without addresses and code, cut at short quotations: (quoted, part)."""
    if _CODE_MARK.search(text):
        text = _CODE.sub(lambda run: " " if _CODE_MARK.search(run[0]) else run[0], text)
    if _QUOTES.isdisjoint(text):
        return [(False, text)]
    parts, end = [], 0
    for match in _QUOTATION.finditer(text):
        short = len(match[0].split()) <= _SHORT_QUOTATION
        parts += [(False, text[end : match.start()]), (short, match[0])]
        end = match.end()
    return [*parts, (False, text[end:])]


def _inside_names(words: Sequence[str], follows: Sequence[bool]) -> list[int]:
    """Small short words between two with capitals: Lord of the Rings, Jeff van der Eems."""
    inside: list[int] = []
    last: int | None = None
    for i, word in enumerate(words):
        if not follows[i]:
            last = None
        if word[0].isupper():
            if last is not None and 1 < i - last <= 3:
                inside += range(last + 1, i)
            last = i
        elif len(word) > 3:
            last = None
    return inside


def joined(words: Sequence[str]) -> str:
    """A text of these words, with spaces where the script has them."""
    parts: list[str] = []
    for word in words:
        parts += [word] if _is_unspaced(word) else [" ", word, " "]
    return "".join(parts).replace("  ", " ").strip()


def _is_unspaced(word: str) -> bool:
    return word[0] > "\u0dff" and _unspaced().match(word) is not None


@cache
def _unspaced() -> Any:
    import regex

    return regex.compile(f"[{UNSPACED}]")


@cache
def _word_finder() -> Callable[[str], Iterable[re.Match[str]]]:
    """Words, also those with digits; every character of a script without spaces is one."""
    import regex

    run = rf"(?:(?![{UNSPACED}])[\p{{L}}\p{{M}}\p{{N}}_])++"
    find: Callable[[str], Iterable[re.Match[str]]] = regex.compile(
        rf"{run}(?:['’-]{run})*+|[{UNSPACED}]\p{{M}}*"
    ).finditer
    return find
