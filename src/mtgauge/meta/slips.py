"""Small slips that change what a sentence says: a denial, a number, a name, a date.

    denied("The bank is open.", english)                    # 'The bank is not open.'
    renumbered("17 people came.", random.Random(1))         # '27 people came.'

Each gives None where there is nothing to change. The words in negations.tsv (written by hand) and
calendar.tsv (recipes/calendar_words.py) cover the 32 languages of the embedded encoder; other
languages get no denial, and dates by year and number alone.

Limits: no grammar. A denial may read badly ("has not a house"); a name is any word with a capital
inside a sentence (in German one that the source has as well), so that in scripts without capitals
only names in Latin letters are found.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib import resources

from mtgauge.data.codes import Language
from mtgauge.text.words import UNSPACED

_NUMBER = re.compile(r"(?<![\d.,:A-Za-z])\d+(?:[.,:]\d+)*")
_YEAR = re.compile(r"(?<![\d.,])(?:1[6-9]|20)\d\d(?![\d.,]\d|\d)")
_DATE = re.compile(r"(?<!\d)(\d{1,2})([./-])\d{1,2}\2\d{2,4}(?!\d)")
_NAME = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
_BEFORE_A_NAME = " \"'“”„«»()‘’"
_SENTENCE_ENDS = ".!?:;…-–—。！？"
_NOUNS_IN_CAPITALS = frozenset({"de", "lb"})
_TITLES = frozenset("Mr Mrs Dr Herr Frau Monsieur Madame Pan Paní".split())


def denied(text: str, language: Language) -> str | None:
    """A denial is taken away where there is one, otherwise an affirmation is denied."""
    rows = _negations().get(language.base, [])
    denials = [(no, yes) for yes, no, _ in rows if _whole(no).search(text)]
    if denials:
        no, yes = max(denials, key=lambda row: len(row[0]))
        return _whole(no).sub(yes, text, count=1)
    for yes, no, both_ways in rows:
        if both_ways and _whole(yes).search(text):
            return _whole(yes).sub(no, text, count=1)
    return None


def renumbered(text: str, draw: random.Random) -> str | None:
    """Another first digit in one of the numbers: it weighs most."""
    found = list(_NUMBER.finditer(text))
    if not found:
        return None
    match = draw.choice(found)
    digit = match[0][0]
    zero = ord(digit) - int(digit)  # of whatever script the digits are
    other = draw.choice([d for d in range(1, 10) if d != int(digit)])
    return _replaced(text, match.start(), match.start() + 1, chr(zero + other))


def renamed(
    text: str, source: str, others: Sequence[str], language: Language, draw: random.Random
) -> str | None:
    """One name is exchanged for a name from other texts."""
    found = _names(text, language)
    if language.base in _NOUNS_IN_CAPITALS:
        in_source = set(_NAME.findall(source))
        found = [(a, b) for a, b in found if text[a:b] in in_source]
    pool = {other[a:b] for other in others for a, b in _names(other, language)}
    strange = sorted(name for name in pool if name not in text)
    if not found or not strange:
        return None
    return _replaced(text, *draw.choice(found), draw.choice(strange))


def redated(text: str, language: Language, draw: random.Random) -> str | None:
    """Another day of a date in figures, year, month or weekday."""
    changes: list[tuple[int, int, str]] = []
    for match in _DATE.finditer(text):
        other = draw.choice([day for day in range(1, 13) if day != int(match[1])])
        changes.append((*match.span(1), str(other).zfill(len(match[1]))))
    for match in _YEAR.finditer(text):
        changes.append((*match.span(), str(int(match[0]) + draw.choice([-7, -3, -2, 2, 3, 7]))))
    for words in _calendar().get(language.base, []):
        for word in words:
            for match in _whole(word).finditer(text):
                other_word = draw.choice([name for name in words if name != word])
                changes.append((*match.span(), other_word))
    return _replaced(text, *draw.choice(changes)) if changes else None


@lru_cache(maxsize=100_000)  # every text lends its names to all others
def _names(text: str, language: Language) -> list[tuple[int, int]]:
    """Spans of words with a capital inside a sentence, without titles, months and weekdays."""
    no_names = _TITLES.union(*_calendar().get(language.base, []))
    spans = []
    for match in _NAME.finditer(text):
        before = text[: match.start()].rstrip(_BEFORE_A_NAME)
        inside = bool(before) and before[-1] not in _SENTENCE_ENDS
        if inside and match[0][0].isupper() and len(match[0]) > 2 and match[0] not in no_names:
            spans.append(match.span())
    return spans


def _replaced(text: str, start: int, end: int, by: str) -> str:
    return text[:start] + by + text[end:]


@cache
def _whole(word: str) -> re.Pattern[str]:
    """A word that is not part of a longer one; anywhere in a script without spaces."""
    if re.search(f"[{UNSPACED}]", word):
        return re.compile(re.escape(word))
    spelt = re.escape(word).replace("'", "['’]")
    return re.compile(rf"(?<!\w){spelt}(?!\w)")


def table(name: str) -> list[list[str]]:
    """The lines of a file of this folder, in columns; # begins a remark."""
    text = (resources.files("mtgauge.meta") / name).read_text(encoding="utf-8")
    return [line.split("\t") for line in text.splitlines() if not line.startswith("#")]


@cache
def _negations() -> dict[str, list[tuple[str, str, bool]]]:
    """{language: [(affirmed, denied, whether what is affirmed may be denied)]}."""
    found: dict[str, list[tuple[str, str, bool]]] = {}
    for language, yes, no, *undo in table("negations.tsv"):
        found.setdefault(language, []).append((yes, no, not undo))
    return found


@cache
def _calendar() -> dict[str, list[list[str]]]:
    """{language: [months, weekdays]} as they stand in a date."""
    found: dict[str, list[list[str]]] = {}
    for language, _, *words in table("calendar.tsv"):
        found.setdefault(language, []).append(words)
    return found
