"""Columns of text that can be read again and again, never whole in memory.

    a.txt  a.txt.gz          one segment per line; also .xz and .zst
    data.tsv  data.csv       a header, then one segment per row
    data.jsonl               one object per line
    data.xlsx                the first sheet, its first row the header
    data.xlf  data.tmx       columns source and target
    -                        standard input, one segment per line

A table needs a column: `data.tsv:online-B`. Without one, `-s` takes the column `source`, `-r` takes
`reference`, `reference2`, ..., and `-t` takes every column that is none of the known names, so a
file of systems side by side needs no more than its name. A JSON list under `references` holds the
references of one segment. `mtgauge.data.corpus` reads columns in step.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from mtgauge.data import checks, readers
from mtgauge.data.spool import STANDARD_INPUT, Spool
from mtgauge.errors import InputError, UsageError

_SOURCE = ("source", "src")
_REFERENCE = re.compile(r"(?:references?|refs?)(?:[_-]?\d+)?")
_HYPOTHESIS = re.compile(r"(?:hypothesis|hyp|mt|translation)(?:[_-]?\d+)?")
_MARKED = frozenset(".json .sgm .sgml .xml .html .htm .po .srt .vtt".split())
_OTHER = frozenset({"sid", "id", "lp", "year", "system", "human", "raw", "n", "doc", "domain"})

Role = Literal["source", "reference", "system"]
Argument = str | tuple[Path, str | None]  # as it is written, or a file and one of its columns
Text = str | tuple[str, ...]  # a segment's text, or all its references in one cell of a table


@dataclass(frozen=True)
class Column:
    """One column of a file, or a list that is already in memory."""

    label: str  # how messages call it
    path: Path | None = None
    key: str | None = None  # column of a table
    values: Sequence[Text] | None = None
    lists: bool = False  # whether a cell may hold a list of texts

    def __iter__(self) -> Iterator[Text]:
        if self.values is not None:
            return iter(self.values)
        assert self.path is not None
        if self.key is None:
            return _lines(self.path, self.label)
        table = readers.rows(self.path, self.label)
        return (self._cell(row, number) for number, row in table)

    def _cell(self, row: dict[str, Any], line: int) -> Text:
        assert self.key is not None
        value = row.get(self.key)
        if not self.lists or not isinstance(value, list) or not value:
            return readers.text_of(row, self.key, self.label, line)
        return tuple(readers.text_of({self.key: v}, self.key, self.label, line) for v in value)


def _refuse_marked(path: Path) -> None:
    """Keys and tags that are alike on both sides would be scored as good translations."""
    suffix = Path(readers.plain_name(path).lower()).suffix
    if suffix in _MARKED:
        raise InputError(
            f"a {suffix} file holds more than texts, which would be scored too",
            file=path,
            remedy="Write the texts one per line, or as a table (.tsv, .csv, .jsonl).",
        )


def column(argument: Argument, role: Role, spool: Spool | None = None) -> list[Column]:
    """The columns that a command-line argument names.

    What can be read once only is copied into `spool`; without one, standard input is refused.
    """
    if argument == "":
        raise UsageError("A file name is empty: is a variable of the shell not set?")
    path, key = _split_argument(argument) if isinstance(argument, str) else argument
    if path == STANDARD_INPUT:
        if spool is None:
            raise UsageError("Standard input (-) cannot be read here: name a file.")
        return [Column("standard input", spool.reusable(path))]
    readers.must_exist(path)
    place = path if spool is None else spool.reusable(path)
    if readers.table_kind(path) is None:
        if key is not None:
            raise UsageError(
                f"{path} is plain text and has no column {key!r}: "
                "only .tsv, .csv, .jsonl, .xlsx, .xlf and .tmx files (also .gz) have columns."
            )
        _refuse_marked(path)
        return [Column(str(path), place)]
    header = readers.header_of(place, str(path))
    if key is not None:
        if key not in header:
            raise InputError(
                f"there is no column {key!r}", file=path, line=1, remedy=_listing(header)
            )
        keys = [key]
    else:
        keys = choose(header, role)
        if keys == header and all(len(name.split()) > 3 or len(name) > 30 for name in header):
            raise InputError(
                f"the first line holds texts, not names of columns: {keys[0]!r}",
                file=path,
                line=1,
                remedy="Write a line of names above it, such as source, reference and one per "
                f"system, or name a column: {path.name}:COLUMN.",
            )
        if not keys and readers.table_kind(path) in readers.BILINGUAL:
            keys = [name for name in header if name == "target"]
        if not keys:
            raise InputError(
                f"no column looks like a {role}",
                file=path,
                line=1,
                remedy=f"Name one: {path.name}:COLUMN. {_listing(header)}",
            )
    return [Column(f"{path}:{k}", place, k, lists=role == "reference") for k in keys]


def _split_argument(argument: str) -> tuple[Path, str | None]:
    """`data.tsv:online-B` is a path and a column, unless a file of that very name exists."""
    head, colon, tail = argument.rpartition(":")
    if not colon or readers.table_kind(Path(head)) is None or os.path.exists(argument):
        return Path(argument), None
    return Path(head), tail


def stem(path: Path) -> str:
    """A file's name without its endings: the name of a system."""
    name = readers.plain_name(path)
    return Path(name).stem or name


def own_name(column: Column) -> str | None:
    """What a table's column is called; None where the file's name tells more (XLIFF, TMX)."""
    path = column.path
    bilingual = path is not None and readers.table_kind(path) in readers.BILINGUAL
    return None if bilingual else column.key


def choose(header: Sequence[str], role: Role) -> list[str]:
    """The columns of a table that play a role."""
    low = {name: name.lower() for name in header}
    if role == "source":
        return [n for n in header if low[n] in _SOURCE][:1]
    if role == "reference":
        return [n for n in header if _REFERENCE.fullmatch(low[n])]
    named = [n for n in header if _HYPOTHESIS.fullmatch(low[n])]
    if named:
        return named
    known = {*_SOURCE, *_OTHER}
    return [n for n in header if low[n] not in known and not _REFERENCE.fullmatch(low[n])]


def flat(cell: Text) -> tuple[str, ...]:
    """The texts of a cell: one, or all references of a segment."""
    return cell if isinstance(cell, tuple) else (cell,)


def texts_of(argument: str) -> list[str]:
    """All references that an option names, a file or a column of one."""
    return [text for each in column(argument, "reference") for cell in each for text in flat(cell)]


def _listing(header: Sequence[str]) -> str:
    return "The columns are: " + ", ".join(header) + "."


def _lines(path: Path, label: str) -> Iterator[str]:
    tabbed = 0
    for number, text in readers.raw_lines(path, label):
        tabbed += "\t" in text
        if number == 20 and tabbed == 20:
            raise InputError(
                "every line holds a tab, so this looks like a table and not like plain text",
                file=label,
                remedy="Name it .tsv and give it a header, or cut out one column.",
            )
        yield text


def from_list(values: Sequence[str], what: str) -> Column:
    """A column from a Python list; whatever has no order, or only one reading, is refused."""
    texts = checked_list(values, what)
    for i, text in enumerate(texts):
        _check(text, f"{what}[{i}]")
    return Column(what, values=texts)


def checked_list(values: Sequence[Any], what: str) -> list[Any]:
    """The items of a list, tuple, array or series; anything else is refused by name."""
    if isinstance(values, str | bytes):
        raise InputError(f"{what} is one text", remedy="Give a list, one entry per segment.")
    listed = hasattr(values, "__len__") and hasattr(values, "__getitem__")
    flat = getattr(values, "ndim", 1) == 1  # arrays and data frames know their dimensions
    if not listed or not flat or isinstance(values, Mapping):
        raise InputError(
            f"{what} is a {type(values).__name__}, not a list",
            remedy="Give a list, one entry per segment. Sets, dictionaries and their views, and "
            "generators are refused: they have no order, or can be read once only.",
        )
    return list(values)


def alternatives(references: Sequence[Any], what: str = "references") -> list[tuple[str, ...]]:
    """References from Python, one text or a list of alternatives per segment."""
    found = []
    for i, entry in enumerate(checked_list(references, what)):
        row = tuple(entry) if isinstance(entry, list | tuple) else (entry,)
        if not row or not all(isinstance(text, str) for text in row):
            raise InputError(f"{what}[{i}] is not a text or a list of texts")
        for text in row:
            _check(text, f"{what}[{i}]")
        found.append(row)
    return found


def refuse_tokens(rows: Sequence[tuple[str, ...]], hypotheses: Sequence[str]) -> None:
    """Words of one reference must not pass for so many references.

    Lists of single words, of different length per segment, beside texts of several words.
    """
    words = all(len(text.split()) == 1 for row in rows for text in row)
    many = sum(map(len, rows)) >= 3 * len(rows) and (
        len(rows) == 1 or len({len(row) for row in rows}) > 1
    )
    if words and many and sum(len(text.split()) > 1 for text in hypotheses) * 2 > len(hypotheses):
        raise InputError(
            "references[0] is a list of single words, each of which would be a reference",
            remedy="Join the words: references[i] is one text, or a list of alternative texts.",
        )


def seem_turned(rows: Sequence[tuple[str, ...]], hypotheses: Sequence[str]) -> bool:
    """Whether as many lists as segments are sacrebleu's: the words fit the other way round."""
    n = len(hypotheses)
    if n < 2 or len(rows) != n or any(len(row) != n for row in rows):
        return False
    found = [[set(text.casefold().split()) for text in row] for row in rows]
    mine = [set(text.casefold().split()) for text in hypotheses]
    pairs = [(i, j) for i in range(n) for j in range(n) if i != j]
    as_given = sum(len(mine[i] & found[i][j]) for i, j in pairs)
    turned = sum(len(mine[i] & found[j][i]) for i, j in pairs)
    return turned > as_given


def _check(text: Any, place: str) -> None:
    if not isinstance(text, str):
        raise InputError(f"{place} is {type(text).__name__}, not text")
    checks.check_text(text, file=place)
