"""Columns that corpus cleaners filter by, and that cost little beside a metric.

    RULES["length_ratio"].values(Pairs(["Ein Haus."], ["A house."], "de-en"))     # [1.125]

Both sides are meant by `source_` and `target_`: language and script as they look, length in
characters and words, and whether the text is surely not in the language that -l names (the
calibrated question of text/untranslated.py; a plain `source_lang` is a guess for short texts).
`duplicate` columns come from duplicates.py, since they need all records.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mtgauge.data.codes import LanguagePair
from mtgauge.data.record_output import Type
from mtgauge.errors import UsageError


@dataclass(frozen=True)
class Pairs:
    sources: Sequence[str]
    targets: Sequence[str]
    lang: str | None = None


@dataclass(frozen=True)
class Rule:
    """A column: its type, what it says, and how it is computed."""

    type: Type
    says: str
    values: Callable[[Pairs], Sequence[Any]]
    needs_lang: bool = False
    is_costly: bool = False  # identifies languages: asked only of what cheap conditions have left


def _languages(texts: Sequence[str]) -> list[str]:
    from mtgauge.text import language

    return language.identify(texts, sorted(code for code in language.known() if len(code) == 2))


def _scripts(texts: Sequence[str]) -> list[str]:
    from mtgauge.text.script import script

    return list(map(script, texts))


def _lengths(texts: Sequence[str]) -> list[int]:
    return list(map(len, texts))


def _words(texts: Sequence[str]) -> list[int]:
    return [len(text.split()) for text in texts]


def _foreign(texts: Sequence[str], lang: str | None, side: str) -> list[bool]:
    from mtgauge.text.untranslated import is_foreign

    assert lang is not None
    return [bool(x) for x in is_foreign(texts, getattr(LanguagePair.parse(lang), side))]


def _untranslated(pairs: Pairs) -> list[float]:
    from mtgauge.text.guard import shares

    return list(map(float, shares(pairs.sources, pairs.targets, pairs.lang)))


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _copies(pairs: Pairs) -> list[bool]:
    return [_plain(x) == _plain(y) for x, y in zip(pairs.sources, pairs.targets, strict=True)]


def _ratios(pairs: Pairs) -> list[float | None]:
    """The longer over the shorter; missing where one is empty."""
    return [
        max(len(x), len(y)) / min(len(x), len(y)) if x and y else None
        for x, y in zip(pairs.sources, pairs.targets, strict=True)
    ]


def _both(
    name: str, type_: Type, says: str, of: Callable[[Sequence[str]], Any], is_costly: bool = False
) -> dict[str, Rule]:
    """The same question of both sides."""
    return {
        f"source_{name}": Rule(
            type_, f"{says} of the source", lambda pairs: of(pairs.sources), is_costly=is_costly
        ),
        f"target_{name}": Rule(
            type_, f"{says} of the target", lambda pairs: of(pairs.targets), is_costly=is_costly
        ),
    }


RULES: dict[str, Rule] = {
    **_both("lang", "text", "language, as it looks,", _languages, is_costly=True),
    **_both("script", "text", "script, such as Latn,", _scripts),
    "source_foreign": Rule(
        "truth",
        "the source is surely not in the language of -l",
        lambda pairs: _foreign(pairs.sources, pairs.lang, "source"),
        needs_lang=True,
        is_costly=True,
    ),
    "target_foreign": Rule(
        "truth",
        "the target is surely not in the language of -l",
        lambda pairs: _foreign(pairs.targets, pairs.lang, "target"),
        needs_lang=True,
        is_costly=True,
    ),
    "copy": Rule("truth", "the target is the source, but for case and spaces", _copies),
    "untranslated": Rule(
        "number", "share of the target that was left untranslated", _untranslated, is_costly=True
    ),
    "length_ratio": Rule("number", "characters of the longer side over the shorter", _ratios),
    **_both("length", "integer", "characters", _lengths),
    **_both("words", "integer", "words between spaces", _words),
}
DUPLICATES = {
    "duplicate": "source and target stood together before",
    "duplicate_source": "the source stood before",
    "duplicate_target": "the target stood before",
}


def check_rules(names: Sequence[str], lang: str | None) -> None:
    """Refuse a column that there is not, or that needs a language pair."""
    for name in names:
        if name not in RULES and name not in DUPLICATES:
            known = ", ".join([*RULES, *DUPLICATES])
            raise UsageError(f"There is no column {name!r} to add. There are: {known}.")
        if name in RULES and RULES[name].needs_lang and lang is None:
            raise UsageError(f"{name} needs the language pair: give -l de-en.")
