"""Builds a knowledge base of your own from open data, merged by id into one file.

    writer = KnowledgeWriter("my.sqlite")
    from_wikidata(writer, "latest-all.json.bz2", languages={"en", "cs"}, min_sitelinks=10)
    from_geonames(writer, "cities500.txt", "alternateNamesV2.txt", languages={"en", "cs"})
    writer.finish()

Dumps are streamed, so memory stays constant. After every few thousand lines the work done is
committed together with the number of lines read and a digest of them: a build that breaks off, or a
dump that ends in the middle, keeps what it has, and the same command resumes there. Another dump of
the same name, or other options, are read from the first line.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import json
import lzma
import math
import os
import re
import zlib
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any

from mtgauge.data import checks, readers
from mtgauge.data.codes import Language
from mtgauge.errors import InputError, UsageError
from mtgauge.knowledge.base.store import tags_of
from mtgauge.knowledge.base.writer import KnowledgeWriter

Progress = Callable[[int], None]
_COMMIT_EVERY = 5_000
_LONGEST_LINE = 64 * 2**20  # the largest items of Wikidata have some 5 MB
# Wikidata classes (P31) by category; what is none of them is a concept
_CLASSES = {
    "person": "Q5 Q15632617 Q95074",
    "place": "Q515 Q6256 Q3624078 Q486972 Q1549591 Q5119 Q532 Q3957 Q35657 Q10864048 Q23442 Q4022 "
    "Q8502 Q5107 Q82794 Q1637706 Q7930989 Q15284 Q747074 Q484170 Q262166 Q13220204 Q23397 Q165",
    "organisation": "Q43229 Q4830453 Q783794 Q6881511 Q7278 Q7210356 Q476028 Q163740 Q3918 Q41710 "
    "Q11032 Q1320047 Q327333 Q484652 Q46970 Q22687 Q891723 Q167037 Q215380 Q847017",
    "product": "Q2424752 Q7889 Q11424 Q571 Q7397 Q1002697 Q5398426 Q482994 Q35127 Q28877 Q7366",
    "event": "Q1656682 Q1190554 Q198 Q178561 Q40231 Q27020041 Q18608583 Q132241 Q8065 Q16510064",
}
_CATEGORY = {qid: category for category, ids in _CLASSES.items() for qid in ids.split()}
_ISO2 = {
    "eng": "en", "ces": "cs", "deu": "de", "fin": "fi", "lav": "lv", "rus": "ru", "tur": "tr",
    "cmn": "zh", "zho": "zh", "lit": "lt", "est": "et", "ron": "ro", "guj": "gu", "kaz": "kk",
    "fra": "fr", "spa": "es", "ita": "it", "por": "pt", "nld": "nl", "pol": "pl", "swe": "sv",
    "dan": "da", "nob": "no", "nno": "no", "ell": "el", "heb": "he", "arb": "ar", "ara": "ar",
    "fas": "fa", "pes": "fa", "jpn": "ja", "kor": "ko", "hin": "hi", "ind": "id", "zsm": "ms",
    "tha": "th", "bul": "bg", "hrv": "hr", "slk": "sk", "slv": "sl", "hun": "hu", "ukr": "uk",
    "cat": "ca", "eus": "eu", "glg": "gl", "sqi": "sq", "als": "sq", "isl": "is", "srp": "sr",
}  # fmt: skip


def open_dump(path: str | os.PathLike[str]) -> IO[bytes]:
    """A plain, .gz, .bz2 or .xz file for reading."""
    place = Path(path)
    if not place.is_file():
        raise InputError("there is no such file", file=path)
    opener: Any = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}.get(place.suffix, open)
    stream: IO[bytes] = opener(place, "rb")
    return stream


def from_wikidata(
    writer: KnowledgeWriter,
    dump: str | os.PathLike[str],
    languages: set[str],
    min_sitelinks: int = 5,
    classes: frozenset[str] = frozenset(),
    progress: Progress | None = None,
) -> None:
    """Items of a Wikidata JSON dump with enough sitelinks, of given P31 classes (none: all)."""
    writer.source("Wikidata", "CC0-1.0", Path(dump).name)

    def take(line: bytes) -> None:
        text = line.strip().rstrip(b",")
        if text in (b"", b"[", b"]"):
            return  # the brackets around the dump
        item = json.loads(text)
        if not isinstance(item, dict) or not isinstance(item.get("id", ""), str):
            raise ValueError("not an item of Wikidata")
        if item.get("type") != "item" or len(item.get("sitelinks", ())) < min_sitelinks:
            return
        kinds = list(_kinds(item))
        if classes and not classes.intersection(kinds):
            return
        aliases = [
            (lang, name, 1.0 if kind == "labels" else 0.7)
            for kind in ("labels", "aliases")
            for lang, values in item.get(kind, {}).items()
            if lang in languages
            for name in _values(values)
        ]
        if aliases:
            category = next((_CATEGORY[kind] for kind in kinds if kind in _CATEGORY), "concept")
            labels = item["labels"]
            label = labels["en"]["value"] if "en" in labels else aliases[0][1]
            writer.add(item["id"], category, label, aliases)

    options = (*sorted(languages), min_sitelinks, *sorted(classes))
    _each_line(writer, dump, ("wikidata", *options), take, progress)


def _kinds(item: dict[str, Any]) -> Iterator[str]:
    for claim in item.get("claims", {}).get("P31", ()):
        value = claim.get("mainsnak", {}).get("datavalue", {}).get("value", {})
        if isinstance(value, dict) and "id" in value:
            yield str(value["id"])


def _values(values: Any) -> list[str]:
    rows = values if isinstance(values, list) else [values]
    return [str(row["value"]) for row in rows]


def from_geonames(
    writer: KnowledgeWriter,
    places: str | os.PathLike[str],
    alternate_names: str | os.PathLike[str] | None,
    languages: set[str],
    min_population: int = 15_000,
    progress: Progress | None = None,
) -> None:
    """Populated places and countries of a GeoNames table, then their names by language."""
    writer.source("GeoNames", "CC-BY-4.0", Path(places).name)

    def take_place(line: bytes) -> None:
        cells = _cells(line, 19)
        people = int(cells[14] or 0)
        if cells[6] not in ("P", "A") or people < min_population:
            return
        preference = min(0.94, 0.5 + 0.4 * math.log10(max(people, 1)) / 7.5)
        names = [("en", cells[1], preference), ("und-Latn", cells[1], preference - 0.05)]
        writer.add(f"geonames:{cells[0]}", "place", cells[1], names)

    def take_name(line: bytes) -> None:
        cells = _cells(line, 4)
        id = f"geonames:{cells[1]}"
        if cells[2] in languages and writer.has(id):
            colloquial_or_old = "1" in cells[6:8]
            preferred = cells[4:5] == ["1"]
            preference = 0.4 if colloquial_or_old else 0.94 if preferred else 0.8
            writer.add(id, "place", cells[3], [(cells[2], cells[3], preference)])

    read = _each_line(writer, places, ("places", min_population), take_place, progress)
    if alternate_names is not None:
        # which names are wanted depends on the places too
        options = (*sorted(languages), min_population, read)
        _each_line(writer, alternate_names, ("names", *options), take_name, progress)


def _cells(line: bytes, least: int) -> list[str]:
    cells = line.decode("utf-8").rstrip("\r\n").split("\t")
    if len(cells) < least:
        raise ValueError(f"{len(cells)} columns where {least} are needed")
    return cells


def from_omw(writer: KnowledgeWriter, path: str | os.PathLike[str]) -> None:
    """A wordnet in the tab format of the Open Multilingual Wordnet; synsets become concepts."""
    with open_dump(path) as stream:
        head = checks.decode_line(stream.readline(), path, 1).lstrip("# ").split("\t")
        if len(head) < 4:
            raise InputError(
                "the first line is not '# name<TAB>language<TAB>url<TAB>licence'", file=path, line=1
            )
        lang = _ISO2.get(head[1], head[1])
        writer.source(f"{head[0]} (OMW)", head[3], head[2])
        for number, line in enumerate(_lines(stream), start=2):
            cells = checks.decode_line(line, path, number).split("\t")
            if len(cells) < 3:
                raise InputError("not synset<TAB>type<TAB>word", file=path, line=number)
            if cells[1].split(":")[-1] == "lemma":
                word = cells[2].replace("_", " ")
                writer.add(f"wn30:{cells[0]}", "concept", word, [(lang, word, 0.6)])
    writer.commit()


def from_wn_lmf(writer: KnowledgeWriter, path: str | os.PathLike[str]) -> None:
    """A wordnet in WN-LMF (XML); a synset is known by its interlingual index where it has one."""
    from xml.etree import ElementTree

    ili: dict[str, str] = {}
    try:
        with open_dump(path) as stream:
            for _, element in ElementTree.iterparse(stream):
                if element.tag == "Synset":
                    number = element.get("ili", "")
                    id = element.get("id", "")
                    ili[id] = f"ili:{number}" if number.startswith("i") and number != "in" else id
                    element.clear()
        with open_dump(path) as stream:
            lang = ""
            for event, element in ElementTree.iterparse(stream, events=("start", "end")):
                if element.tag == "Lexicon" and event == "start":
                    lang = _ISO2.get(element.get("language", ""), element.get("language", ""))
                    name = element.get("label") or element.get("id") or str(path)
                    writer.source(name, element.get("license", "?"), element.get("version", "?"))
                elif element.tag == "LexicalEntry" and event == "end":
                    lemma = element.find("Lemma")
                    word = "" if lemma is None else lemma.get("writtenForm", "")
                    for sense in element.iter("Sense") if word else ():
                        synset = sense.get("synset", "")
                        row = [(lang, word, 0.6)]
                        writer.add(ili.get(synset, synset), "concept", word, row)
                    element.clear()
    except ElementTree.ParseError as error:
        raise InputError(f"not well-formed XML ({error})", file=path) from None
    writer.commit()


def from_csv(writer: KnowledgeWriter, path: str | os.PathLike[str]) -> None:
    """A CSV file with a header: id, category, lang, name and optionally preference and label."""
    place = Path(path)
    readers.must_exist(place)
    writer.source(place.name, "as stated by its owner", "-")
    wanted = ("id", "category", "lang", "name")
    for number, row in readers.rows(place, kind="csv"):
        missing = [key for key in wanted if key not in row]
        if missing:
            raise InputError(
                f"no column {', '.join(missing)}", file=path, line=1,
                remedy="The header is: id,category,lang,name,preference,label.",
            )  # fmt: skip
        stated = row.get("preference") or "0.9"
        preference = float(stated) if readers.is_number(stated) else -1.0
        if not 0 <= preference <= 1 or not all(row[key].strip() for key in wanted):
            raise InputError(
                "an empty cell, or a preference that is not between 0 and 1", file=path, line=number
            )
        names = [(_language(row["lang"], path, number), row["name"], preference)]
        writer.add(row["id"], row["category"], row.get("label") or row["name"], names)
    writer.commit()


def _language(tag: str, path: str | os.PathLike[str], line: int) -> str:
    """A language as names are tagged with it, or und-SCRIPT."""
    if re.fullmatch("und-[A-Z][a-z]{3}", tag):
        return tag
    try:
        return tags_of(Language.parse(tag).base)[0]
    except UsageError as error:
        raise InputError(str(error), file=path, line=line) from None


def _each_line(
    writer: KnowledgeWriter,
    path: str | os.PathLike[str],
    options: tuple[object, ...],
    take: Callable[[bytes], None],
    progress: Progress | None,
) -> str:
    """Give `take` the lines of a dump from where an earlier build stopped; commit on the way.

    The lines before that have to be unpacked anyway: their digest tells whether it is the same
    dump. Returns the digest of all lines.
    """
    named = hashlib.sha256(repr((Path(path).name, *options)).encode()).hexdigest()[:16]
    mark = f"lines:{named}"
    number, seen = 0, hashlib.sha256()

    def keep() -> None:
        writer.set(mark, f"{number} {seen.hexdigest()}")
        writer.commit()

    try:
        stream, done, seen = _go_on(path, *(writer.get(mark) or "0 ").split(" "))
        number = done
        with stream:
            for line in _lines(stream):
                take(line)
                number += 1
                seen.update(line)
                if number % _COMMIT_EVERY == 0:
                    keep()
                    if progress is not None:
                        progress(number)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        keep()
        raise InputError(
            f"the line cannot be read ({error})",
            file=path,
            line=number + 1,
            remedy="What was read before it is kept; repair it and run the same command again.",
        ) from None
    except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
        keep()
        raise InputError(
            f"the file ends in the middle, after line {number} ({error})",
            file=path,
            remedy="What was read is kept; complete the file and run the same command again.",
        ) from None
    if number == 0:
        raise InputError("the file is empty", file=path)
    keep()
    return seen.hexdigest()


def _go_on(
    path: str | os.PathLike[str], lines: str, digest: str
) -> tuple[IO[bytes], int, hashlib._Hash]:
    """The dump after the lines that were read before, if it begins with them; else all of it."""
    stream, seen, done = open_dump(path), hashlib.sha256(), int(lines)
    if done:
        try:
            for line in islice(_lines(stream), done):
                seen.update(line)
            if seen.hexdigest() == digest:
                return stream, done, seen
        except (EOFError, OSError, lzma.LZMAError, zlib.error):
            pass  # damaged before that place: read until there
        stream.close()
    return open_dump(path), 0, hashlib.sha256()


def _lines(stream: IO[bytes]) -> Iterator[bytes]:
    while line := stream.readline(_LONGEST_LINE):
        if len(line) == _LONGEST_LINE:
            raise ValueError(f"it is longer than {_LONGEST_LINE:,} bytes")
        yield line
