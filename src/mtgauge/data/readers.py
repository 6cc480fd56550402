"""Files as columns of text that can be read again and again, never whole in memory.

    a.txt  a.txt.gz          one segment a line
    data.tsv  data.csv       a header, then one segment a row; TSV knows no quoting
    data.jsonl               one object a line
    -                        standard input, one segment a line

A table needs a column: `data.tsv:online-B`. Without one, `-s` takes the column `source`, `-r` takes
`reference`, `reference2`, ..., and `-t` takes every column that is none of the known names, so a
file of systems side by side needs no more than its name. A JSON list under `references` holds the
references of one segment. `mtgauge.data.corpus` reads columns in step.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from mtgauge.data import checks
from mtgauge.errors import InputError, UsageError

_TABLES = {".tsv": "tsv", ".csv": "csv", ".jsonl": "jsonl"}
_SOURCE = ("source", "src")
_REFERENCE = re.compile(r"(?:references?|refs?)(?:[_-]?\d+)?")
_HYPOTHESIS = ("hypothesis", "hyp", "mt", "translation")
_OTHER = frozenset({"sid", "id", "lp", "year", "system", "human", "raw", "n", "doc", "domain"})


Text = str | tuple[str, ...]  # a segment's text, or all its references in one cell of a table


@dataclass(frozen=True)
class Column:
    """One column of a file, or a list that is already in memory."""

    label: str  # how messages call it
    path: Path | None = None
    key: str | None = None  # column of a table
    values: Sequence[Text] | None = None

    def __iter__(self) -> Iterator[Text]:
        if self.values is not None:
            return iter(self.values)
        assert self.path is not None
        if self.key is None:
            return _lines(self.path, self.label)
        return (_cell(row, self.key, self.label, n) for n, row in _rows(self.path, self.label))


def column(argument: str, role: str) -> list[Column]:
    """The columns that a command-line argument names; `role` is source, reference or system."""
    path, key = _split_argument(argument)
    if str(path) == "-":
        return [Column("standard input", _spooled())]
    kind = table_kind(path)
    must_exist(path)
    if kind is None:
        if key is not None:
            raise UsageError(
                f"{path} is plain text and has no column {key!r}: "
                "only .tsv, .csv and .jsonl files (also .gz) have columns."
            )
        return [Column(str(path), path)]
    header = header_of(path)
    if key is not None:
        if key not in header:
            raise InputError(
                f"there is no column {key!r}", file=path, line=1, remedy=_listing(header)
            )
        keys = [key]
    else:
        keys = choose(header, role)
        if not keys:
            raise InputError(
                f"no column looks like a {role}",
                file=path,
                line=1,
                remedy=f"Name one: {path.name}:COLUMN. {_listing(header)}",
            )
    return [Column(f"{path}:{k}", path, k) for k in keys]


def _split_argument(argument: str) -> tuple[Path, str | None]:
    """`data.tsv:online-B` is a path and a column, unless a file of that very name exists."""
    head, colon, tail = argument.rpartition(":")
    if not colon or Path(argument).exists() or table_kind(Path(head)) is None:
        return Path(argument), None
    return Path(head), tail


def table_kind(path: Path) -> str | None:
    """tsv, csv or jsonl by the file's name; None for plain text."""
    return _TABLES.get(Path(path.name.lower().removesuffix(".gz")).suffix)


def stem(path: Path) -> str:
    """A file's name without .gz and its last ending: the name of a system."""
    name = path.name.removesuffix(".gz")
    return Path(name).stem or name


def choose(header: Sequence[str], role: str) -> list[str]:
    low = {name: name.lower() for name in header}
    if role == "source":
        return [n for n in header if low[n] in _SOURCE][:1]
    if role == "reference":
        return [n for n in header if _REFERENCE.fullmatch(low[n])]
    named = [n for n in header if low[n] in _HYPOTHESIS]
    if named:
        return named[:1]
    known = {*_SOURCE, *_OTHER}
    return [n for n in header if low[n] not in known and not _REFERENCE.fullmatch(low[n])]


def _listing(header: Sequence[str]) -> str:
    return "The columns are: " + ", ".join(header) + "."


def must_exist(path: Path) -> None:
    """Refuse a missing file or a folder; a missing file is never scored as text."""
    if path.is_dir():
        raise InputError("this is a folder, not a file", file=path, remedy="Name a file in it.")
    if not path.exists():
        near = sorted(p.name for p in path.parent.glob(path.stem[:3] + "*"))[:3]
        hint = f" Files of a similar name there: {', '.join(near)}." if near else ""
        raise InputError("there is no such file", file=path, remedy="Check the path." + hint)


def _spooled() -> Path:
    """Standard input in a temporary file, since a run may read it twice."""
    if sys.stdin.isatty():
        print("Reading segments from the keyboard; end with Ctrl-D.", file=sys.stderr)
    with tempfile.NamedTemporaryFile("wb", prefix="mtgauge-", suffix=".txt", delete=False) as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    _SPOOLED.append(Path(file.name))
    return Path(file.name)


_SPOOLED: list[Path] = []


def forget_spooled() -> None:
    """Delete what was spooled from standard input."""
    while _SPOOLED:
        _SPOOLED.pop().unlink(missing_ok=True)


def _open(path: Path) -> IO[bytes]:
    try:
        handle = path.open("rb")
        if path.name.lower().endswith(".gz"):
            return io.BufferedReader(gzip.GzipFile(fileobj=handle))
        return handle
    except OSError as error:
        raise InputError(f"cannot be opened ({error.strerror})", file=path) from None


def raw_lines(path: Path, label: str) -> Iterator[tuple[int, str]]:
    """Numbered, decoded, checked lines; the file's damage becomes an error with the line."""
    number = 0
    with _open(path) as handle:
        try:
            for number, raw in enumerate(handle, 1):
                yield number, checks.decode_line(raw, label, number)
        except (OSError, EOFError) as error:
            raise InputError(
                f"the file is damaged after this line ({error})",
                file=label,
                line=number,
                remedy="Fetch or compress it again.",
            ) from None
    if number == 0:
        raise InputError(
            "the file is empty", file=label, remedy="It should hold one segment a line."
        )


def _lines(path: Path, label: str) -> Iterator[str]:
    tabbed = 0
    for number, text in raw_lines(path, label):
        tabbed += "\t" in text
        if number == 20 and tabbed == 20:
            raise InputError(
                "every line holds a tab, so this looks like a table and not like plain text",
                file=label,
                remedy="Name it .tsv and give it a header, or cut out one column.",
            )
        yield text


def header_of(path: Path) -> list[str]:
    first = next(_rows(path, str(path)), None)
    if first is None:
        raise InputError("the table has a header but no rows", file=path)
    return list(first[1])


def _rows(path: Path, label: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Numbered rows of a table by column name."""
    kind = table_kind(path)
    lines = raw_lines(path, label)
    if kind == "jsonl":
        for number, text in lines:
            yield number, _json_row(text, label, number)
        return
    numbered: Iterator[tuple[int, list[str]]]
    if kind == "tsv":
        numbered = ((n, text.split("\t")) for n, text in lines)
    else:
        numbered = _csv_rows(csv.reader((text + "\n" for _, text in lines), strict=True), label)
    _, header = next(numbered)
    if len(set(header)) < len(header):
        twice = next(h for h in header if header.count(h) > 1)
        raise InputError(f"two columns are called {twice!r}", file=label, line=1)
    for number, cells in numbered:
        if len(cells) != len(header):
            raise InputError(
                f"{len(cells)} cells, but the header names {len(header)} columns",
                file=label,
                line=number,
                remedy="Check for a tab inside a text."
                if kind == "tsv"
                else "Check the quotes and commas.",
            )
        yield number, dict(zip(header, cells, strict=True))


def _csv_rows(reader: Any, label: str) -> Iterator[tuple[int, list[str]]]:
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise InputError(f"not valid CSV ({error})", file=label, line=reader.line_num) from None
        yield reader.line_num, [cell.replace("\n", " ") for cell in cells]


def _json_row(text: str, label: str, number: int) -> Mapping[str, Any]:
    try:
        row = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"not valid JSON ({error.msg})", file=label, line=number) from None
    if not isinstance(row, dict):
        raise InputError("the line is not a JSON object", file=label, line=number)
    return row


def _cell(row: Mapping[str, Any], key: str, label: str, line: int) -> Text:
    value = row.get(key)
    if isinstance(value, list) and value and all(isinstance(text, str) for text in value):
        return tuple(value)
    if not isinstance(value, str):
        what = "is missing" if value is None else f"is {type(value).__name__}, not text"
        raise InputError(f"the value of {key!r} {what}", file=label, line=line)
    return value
