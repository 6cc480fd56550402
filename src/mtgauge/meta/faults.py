"""Faults of known kind, made in good translations: what a metric ought to see.

    pair = LanguagePair.parse("de-en")
    good = Good("Das Haus war 1912 leer.", "The house was empty in 1912.", pair)
    make("negation", good)          # 'The house was not empty in 1912.'
    make("name", good)              # None: no name to change
    make_all(goods, foreign=texts)  # {fault: one text, or None, per translation}

Every fault is drawn from its own seeded generator (seed, fault, row), so a text has the same
faults whatever stands beside it. A fault that cannot be made (no number to change, no second
clause, no text in another language) is None, as is one that would leave the translation as it was,
and a copy of a source of which the good translation keeps half the words: such are lists of names.
A changed name, a clause from elsewhere and an unrelated text are taken from the other translations.

What is changed inside a sentence (a denial, number, name, date) is in slips.py.

Limits: no grammar; a part is cut or replaced by position, not by meaning.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from mtgauge.data.codes import LanguagePair
from mtgauge.errors import UsageError
from mtgauge.meta import slips
from mtgauge.text.words import UNSPACED

_UNIT = re.compile(rf"\s*(?:[{UNSPACED}]|(?:(?![{UNSPACED}])\S)+)")
_CLAUSE_END = re.compile(r"[,;:，；：、—–](?=\s|[^\d\s])")
_LATIN = "abcdefghijklmnopqrstuvwxyz"
_AS_CYRILLIC = "абцдефгхийклмнопкрстувшхиз"
_CYRILLIC = str.maketrans(_LATIN + _LATIN.upper(), _AS_CYRILLIC + _AS_CYRILLIC.upper())
_FEWEST = 5  # units in a text of which a part is taken away, or that is copied


@dataclass(frozen=True)
class Good:
    """A source and its good translation."""

    source: str
    translation: str
    pair: LanguagePair


@dataclass(frozen=True)
class _Around:
    """What a fault may take from elsewhere."""

    draw: random.Random
    others: Sequence[str]  # other good translations of the set
    foreign: Sequence[str]  # texts in languages that are neither source nor target


Fault = Callable[[Good, _Around], str | None]
_FAULTS: dict[str, Fault] = {}


def names() -> list[str]:
    return list(_FAULTS)


def make(
    fault: str,
    good: Good,
    *,
    others: Sequence[str] = (),
    foreign: Sequence[str] = (),
    seed: int = 0,
    row: int = 0,
) -> str | None:
    """The translation with the fault; None where it cannot be made."""
    if fault not in _FAULTS:
        raise UsageError(f"There is no fault {fault!r}. There are: {', '.join(_FAULTS)}.")
    around = _Around(random.Random(f"{seed}/{fault}/{row}"), others, foreign)
    text = _FAULTS[fault](good, around)
    return None if text is None or _same(text, good.translation) else text


def make_all(
    goods: Sequence[Good],
    *,
    foreign: Sequence[str] = (),
    seed: int = 0,
    faults: Sequence[str] | None = None,
) -> dict[str, list[str | None]]:
    """{fault: one text per translation}; the translations lend each other names and clauses."""
    texts = [good.translation for good in goods]
    return {
        fault: [
            make(fault, good, others=texts[:i] + texts[i + 1 :], foreign=foreign, seed=seed, row=i)
            for i, good in enumerate(goods)
        ]
        for fault in (names() if faults is None else faults)
    }


def _fault(name: str) -> Callable[[Fault], Fault]:
    def enter(function: Fault) -> Fault:
        _FAULTS[name] = function
        return function

    return enter


def _same(a: str, b: str) -> bool:
    return " ".join(a.split()) == " ".join(b.split())


def _units(text: str) -> list[str]:
    """Words with the space before them; characters one by one in scripts without spaces."""
    return _UNIT.findall(text)


def _text(units: Sequence[str]) -> str:
    return "".join(units).strip()


def copied(source: str, translation: str, share: float, draw: random.Random) -> str | None:
    """The translation with a part of it, at a random place, as it stands in the source."""
    theirs, mine = _units(source), _units(translation)
    if min(len(theirs), len(mine)) < _FEWEST:
        return None
    start = draw.random() * (1 - share)

    def cut(n: int) -> tuple[int, int]:
        return round(start * n), max(round((start + share) * n), round(start * n) + 1)

    (a, b), (c, d) = cut(len(theirs)), cut(len(mine))
    return _text([*mine[:c], " ", *theirs[a:b], " ", *mine[d:]]).replace("  ", " ")


@_fault("copy")
def _copy(good: Good, around: _Around) -> str | None:
    """Not of a few words, which may be names."""
    if len(_units(good.source)) < _FEWEST or _is_mostly_kept(good):
        return None
    return good.source


def _copy_of(share: float) -> Fault:
    return lambda good, around: (
        None if _is_mostly_kept(good) else copied(good.source, good.translation, share, around.draw)
    )


def _is_mostly_kept(good: Good) -> bool:
    """Whether half of the source stands in its good translation: to copy names is no fault."""
    theirs, mine = _words(good.source), _words(good.translation)
    return 2 * sum(word in mine for word in theirs) >= len(theirs)


def _words(text: str) -> list[str]:
    return [unit.strip(" .,;:!?\"'()").casefold() for unit in _units(text)]


for _percent in (75, 50, 25):
    _fault(f"copy-{_percent}")(_copy_of(_percent / 100))


@_fault("other-language")
def _other_language(good: Good, around: _Around) -> str | None:
    long = [text for text in around.foreign if len(_units(text)) >= _FEWEST]
    return around.draw.choice(long) if long else None


@_fault("empty")
def _empty(good: Good, around: _Around) -> str | None:
    return ""


@_fault("truncated")
def _truncated(good: Good, around: _Around) -> str | None:
    units = _units(good.translation)
    return _text(units[: 2 * len(units) // 5]) if len(units) >= _FEWEST else None


@_fault("doubled")
def _doubled(good: Good, around: _Around) -> str | None:
    units = _units(good.translation)
    space = " " if any(unit[0].isspace() for unit in units[1:]) else ""
    return good.translation + space + good.translation if units else None


@_fault("shuffled")
def _shuffled(good: Good, around: _Around) -> str | None:
    units = _units(good.translation)
    if len(units) < _FEWEST:
        return None
    units[0] = (" " if units[1][0].isspace() else "") + units[0]
    around.draw.shuffle(units)
    return _text(units)


@_fault("negation")
def _negation(good: Good, around: _Around) -> str | None:
    return slips.denied(good.translation, good.pair.target)


@_fault("number")
def _number(good: Good, around: _Around) -> str | None:
    return slips.renumbered(good.translation, around.draw)


@_fault("name")
def _name(good: Good, around: _Around) -> str | None:
    return slips.renamed(
        good.translation, good.source, around.others, good.pair.target, around.draw
    )


@_fault("date")
def _date(good: Good, around: _Around) -> str | None:
    return slips.redated(good.translation, good.pair.target, around.draw)


@_fault("clause-lost")
def _clause_lost(good: Good, around: _Around) -> str | None:
    clauses = _clauses(good.translation)
    if len(clauses) < 2:
        return None
    lost = around.draw.randrange(len(clauses))
    return "".join(clauses[:lost] + clauses[lost + 1 :]).strip(" ,;:，；：、")


@_fault("clause-from-elsewhere")
def _clause_from_elsewhere(good: Good, around: _Around) -> str | None:
    clauses = _clauses(good.translation)
    given = [c for text in around.others for c in _clauses(text) if c not in good.translation]
    if not clauses or not given:
        return None
    other = around.draw.choice(given).strip(" .,;:!?，；：、。！？")
    at = around.draw.randrange(len(clauses))
    kept = clauses[:at] + clauses[at + 1 :] if len(clauses) > 1 else clauses
    joint = " " if any(map(str.isspace, good.translation)) else ""
    mixed = [*kept[:at], joint, other, ",", joint, *kept[at:]]
    return "".join(mixed).replace("  ", " ").strip(" ,;:，；：、")


@lru_cache(maxsize=100_000)  # every text lends its clauses to all others
def _clauses(text: str) -> list[str]:
    """The text cut after its commas and the like; no clause is shorter than three words."""
    parts, start = [], 0
    ends = [match.end() for match in _CLAUSE_END.finditer(text)]
    for end in [*ends, len(text)]:
        if len(_units(text[start:end])) >= 3:
            parts.append(text[start:end])
            start = end
    if parts and start < len(text):
        parts[-1] += text[start:]
    return parts


@_fault("source-words")
def _source_words(good: Good, around: _Around) -> str | None:
    """A third of the words as they stand in the source, scattered."""
    theirs, mine = _units(good.source), _units(good.translation)
    if min(len(theirs), len(mine)) < _FEWEST:
        return None
    known = {unit.strip().casefold() for unit in mine}
    for i in around.draw.sample(range(len(mine)), max(1, len(mine) // 3)):
        word = theirs[i * len(theirs) // len(mine)].strip()
        if word.casefold() not in known and any(map(str.isalpha, word)):
            space = mine[i][: len(mine[i]) - len(mine[i].lstrip())]
            mine[i] = space + word
    return _text(mine)


@_fault("transliterated")
def _transliterated(good: Good, around: _Around) -> str | None:
    """Into Latin letters, or into Cyrillic ones where the text has Latin letters already."""
    from anyascii import anyascii

    if good.pair.target.scripts and "Latn" not in good.pair.target.scripts:
        return str(anyascii(good.translation))
    return str(anyascii(good.translation)).translate(_CYRILLIC)


@_fault("unrelated")
def _unrelated(good: Good, around: _Around) -> str | None:
    """Another translation of the set: of five the one with the fewest words in common."""
    mine = {unit.strip().casefold() for unit in _units(good.translation)}
    others = [text for text in around.others if text.strip()]
    drawn = around.draw.sample(others, min(5, len(others)))
    return min(
        drawn,
        key=lambda text: len(mine & {unit.strip().casefold() for unit in _units(text)}),
        default=None,
    )
