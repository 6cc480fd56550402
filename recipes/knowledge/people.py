"""Given and family names with Wikidata ids in many scripts, for the embedded knowledge base.

The source is the list that the package rigour (1.x) carries: one line per name part,

    merkel, меркел, меркель, ميركل, 默克尔 => Q1921787

small letters, no languages. A name in another script is taken only if it sounds like one of the
Latin ones, which also keeps vandalism of the wiki out. A Chinese name is either a transcription
(three characters or more) or read in Mandarin as it is written in Latin letters: Japanese readings
of the same characters are left out. Gujarati names are Devanagari's, letter for letter: the blocks
of the two scripts are parallel.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from cities_and_brands import script_of_name

from mtgauge.knowledge.base.keys import plain
from mtgauge.knowledge.base.writer import KnowledgeWriter
from mtgauge.knowledge.link.names import romanise, sound_alike

LICENCE = "MIT"  # the package; its data is Wikidata's, CC0
_DEVANAGARI, _GUJARATI = 0x0900, 0x0A80
_LONG = {"Hani": 3}
_SOUNDING = frozenset("Cyrl Grek Arab Hebr Deva Beng Geor Armn".split())


def people(writer: KnowledgeWriter, package: Path, version: str) -> None:
    """Every name part that is known in Latin letters and in another script."""
    writer.source("Person names of rigour (from Wikidata, CC0)", LICENCE, version)
    path = package / "rigour" / "data" / "names" / "persons.txt"
    for line in path.read_text(encoding="utf-8").splitlines():
        names, _, qid = line.partition(" => ")
        aliases = list(_aliases(names.split(", ")))
        if {script for script, _ in aliases} - {"Latn"}:
            rows = [(f"und-{script}", name, _preference(script, name)) for script, name in aliases]
            label = next(name for script, name in aliases if script == "Latn")
            writer.add(qid, "person", label, rows)


def _aliases(names: list[str]) -> Iterator[tuple[str, str]]:
    """(script, name) of those worth having; nothing without a Latin name."""
    tagged = [(script_of_name(name), name) for name in names if name.isalpha() or _has_marks(name)]
    latin = [name for script, name in tagged if script == "Latn" and _is_plain(name)]
    if not latin:
        return
    yield from (("Latn", name.title()) for name in latin)
    for script, name in tagged:
        if script == "Hani" and name[0] >= "\u4e00" and len(name) > 1:
            mandarin = romanise(name)
            if len(name) > 2 or any(romanise(plain(other)) == mandarin for other in latin):
                yield script, name
        elif script in _SOUNDING and any(sound_alike(name, other) for other in latin):
            yield script, name.title()
            if script == "Deva":
                yield "Gujr", "".join(_gujarati(char) for char in name)


def _is_plain(name: str) -> bool:
    """Not a romanisation with tones or apostrophes, which no running text has."""
    return len(name) > 2 and not any(char.isdigit() or char in "¹²³⁴⁵⁶⁷⁸⁹ˊˇˋ" for char in name)


def _has_marks(name: str) -> bool:
    """One word of a script whose vowels are marks."""
    return bool(name) and "\u0590" < name[0] < "\u1100" and " " not in name


def _gujarati(char: str) -> str:
    code = ord(char)
    return chr(code - _DEVANAGARI + _GUJARATI) if _DEVANAGARI <= code < _GUJARATI - 0x100 else char


def _preference(script: str, name: str) -> float:
    """Short names are ordinary words too often to be counted; a brand of that name is second."""
    return 0.56 if len(name) >= _LONG.get(script, 4) else 0.3
