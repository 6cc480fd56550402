"""Files as checked lines and tables, read as a stream.

    raw_lines(path)          (line number, text) of any text file, also .gz, .xz and .zst
    text_lines(path)         the lines of a small one as a list
    rows(path)               (line number, {column: cell}) of a table, by its ending:
                             .tsv (no quoting), .csv (quotes as spreadsheets write them), .jsonl,
                             and the documents of `mtgauge.data.documents`: .xlsx, .xlf, .tmx

Damage is told with file and line. Refused, since a plausible number could come of it: a row of
another width than the header, two columns of one name (in texts also names that differ in case
only), a CSV file whose columns are not separated by commas, a JSON object with a key twice, a line
of more than 16 MiB.
"""

from __future__ import annotations

import csv
import difflib
import gzip
import io
import json
import lzma
import math
import os
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Any, Literal

from mtgauge.data import checks, documents
from mtgauge.data.zstd import open_zstd
from mtgauge.errors import InputError

_KEYS_FROM = 10_000  # rows of JSON that are asked for their keys
Kind = Literal["tsv", "csv", "jsonl", "spaces"] | documents.Kind
_KINDS: dict[str, Kind] = {
    ".tsv": "tsv", ".csv": "csv", ".jsonl": "jsonl", ".xlsx": "xlsx", ".tmx": "tmx",
    ".xlf": "xliff", ".xliff": "xliff", ".sdlxliff": "xliff", ".mqxliff": "xliff",
}  # fmt: skip
BILINGUAL = ("xliff", "tmx")
_PACKED = re.compile(r"\.(?:gz|xz|zst)$", re.IGNORECASE)
DAMAGE = (OSError, EOFError, zlib.error, lzma.LZMAError)  # what reading a damaged file raises
_MISSING = frozenset({"", "none", "na", "nan", "null"})
_ENDLESS = frozenset({"inf", "+inf", "-inf", "infinity", "+infinity", "-infinity"})  # refused
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def table_kind(path: Path) -> Kind | None:
    """tsv, csv, jsonl, xlsx, xliff or tmx by the file's name; None for plain text."""
    return _KINDS.get(Path(plain_name(path).lower()).suffix)


def plain_name(path: Path) -> str:
    """A file's name without the ending that tells how it is packed.

    >>> plain_name(Path("wmt17/de-en.tsv.gz"))
    'de-en.tsv'
    """
    return _PACKED.sub("", path.name)


def must_exist(path: Path) -> None:
    """Refuse a missing file or a folder; a missing file is never scored as text."""
    try:
        if path.is_dir():
            raise InputError("this is a folder, not a file", file=path, remedy="Name a file in it.")
        if path.exists():
            return
        if path.is_symlink():
            raise InputError(
                f"this is a link to {os.readlink(path)}, and that is not there", file=path
            )
        head = path.with_name(path.name.partition(":")[0] or path.name)
        if head != path and head.is_file():
            raise InputError(
                f"there is no such file, and {head} is plain text, which has no columns",
                file=path,
                remedy="Name the file alone, or a table (.tsv, .csv, .jsonl).",
            )
        others = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
    except OSError as error:  # a name that is too long, a folder that may not be searched
        raise InputError(f"cannot be opened ({error.strerror})", file=path) from None
    near = difflib.get_close_matches(path.name, others)
    hint = f" Files of a similar name there: {', '.join(sorted(near))}." if near else ""
    raise InputError("there is no such file", file=path, remedy="Check the path." + hint)


def open_bytes(path: Path) -> IO[bytes]:
    """The bytes of a file, of .gz, .xz and .zst what they hold."""
    try:
        handle = path.open("rb")
    except OSError as error:
        raise InputError(f"cannot be opened ({error.strerror})", file=path) from None
    if path.name.lower().endswith(".gz"):
        return io.BufferedReader(gzip.GzipFile(fileobj=handle))
    if path.name.lower().endswith(".zst"):
        return open_zstd(handle)
    if path.name.lower().endswith(".xz"):
        return io.BufferedReader(lzma.LZMAFile(handle))
    return handle


def raw_lines(path: Path, label: str | None = None) -> Iterator[tuple[int, str]]:
    """Numbered, decoded, checked lines; `label` is what messages call the file."""
    number = 0
    name = str(path) if label is None else label
    with open_bytes(path) as handle:
        try:
            bounded = partial(handle.readline, checks.LONGEST + 1)
            for number, raw in enumerate(iter(bounded, b""), 1):
                yield number, checks.decode_line(raw, name, number)
        except DAMAGE as error:
            raise damaged(error, name, number) from None
    if number == 0:
        raise InputError(
            "the file is empty", file=name, remedy="It should hold one segment per line."
        )


def damaged(error: Exception, file: str | Path, line: int) -> InputError:
    """What is told of a file that cannot be read to its end."""
    return InputError(
        f"the file is damaged {'after this line' if line else 'from its start'} ({error})",
        file=file,
        line=line or None,
        remedy="Fetch or compress it again.",
    )


def text_lines(path: Path) -> list[str]:
    """The lines of a plain text file."""
    must_exist(path)
    return [text for _, text in raw_lines(path)]


# Tables


def header_of(path: Path, label: str | None = None) -> list[str]:
    """The names of a table's columns; a table without rows is refused.

    In JSON each row has names of its own: a column that begins later must not go unnoticed.
    """
    some = _KEYS_FROM if table_kind(path) == "jsonl" else 1
    header = list(dict.fromkeys(name for _, row in islice(rows(path, label), some) for name in row))
    if not header:
        raise InputError("the table has a header but no rows", file=label or path)
    refuse_alike(header, [name.casefold() for name in header], label or str(path))
    return header


def rows(
    path: Path, label: str | None = None, kind: Kind | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Numbered rows of a table by column name; what is neither CSV nor JSONL is TSV."""
    kind = kind or table_kind(path) or "tsv"
    name = str(path) if label is None else label
    if kind == "xlsx" or kind == "xliff" or kind == "tmx":
        with open_bytes(path) as stream:
            yield from documents.rows(stream, name, kind)
        return
    if kind == "jsonl":
        for number, text in raw_lines(path, name):
            yield number, json_row(text, name, number)
        return
    numbered = cells(path, name, kind)
    _, header = next(numbered)
    refuse_alike(header, header, name)
    for number, fields in numbered:
        yield number, dict(zip(header, fields, strict=True))


def score_rows(path: Path, label: str | None = None) -> list[tuple[int, dict[str, Any]]]:
    """Rows of a file of scores: a table, or a number per line, whose column is called ""."""
    must_exist(path)
    _, first = next(raw_lines(path, label))
    if is_number(first) or first.strip().lower() in _MISSING | _ENDLESS:
        return [(number, {"": text}) for number, text in raw_lines(path, label)]
    kind = table_kind(path)
    comma = kind in (None, "tsv") and "," in first and "\t" not in first
    found = list(rows(path, label, "csv" if comma else kind))
    if kind != "jsonl" and any(map(is_number, found[0][1] if found else ())):
        raise InputError(
            f"the first line holds numbers, not names of columns: {first!r}",
            file=label or path,
            line=1,
            remedy="Write a line of names above it (system segment METRIC ...), or one number per "
            "line, with a point for decimals.",
        )
    return found


def is_plain(found: Sequence[tuple[int | None, dict[str, Any]]]) -> bool:
    """Whether rows of scores are a plain list of numbers; a table may have a column "" too."""
    return bool(found) and found[0][1].keys() == {""}


def cells(path: Path, label: str, kind: Kind) -> Iterator[tuple[int, list[str]]]:
    """Numbered cells of a table, header first; every line has as many as the header."""
    lines = raw_lines(path, label)
    if kind == "csv":
        numbered = _csv_cells(lines, label)
    elif kind == "spaces":
        numbered = ((number, text.split()) for number, text in lines)
    else:
        numbered = ((number, text.split("\t")) for number, text in lines)
    width = -1
    for number, fields in numbered:
        width = len(fields) if width < 0 else width
        if len(fields) != width:
            raise InputError(
                f"{len(fields)} columns where the header has {width}",
                file=label,
                line=number,
                remedy=_SEPARATED[kind],
            )
        yield number, fields


_SEPARATED = {
    "tsv": "Columns are separated by one tab; texts may hold none.",
    "csv": "Columns are separated by commas: check the quotes.",
    "spaces": "Columns are separated by spaces.",
}


def _csv_cells(lines: Iterator[tuple[int, str]], label: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader((text + "\n" for _, text in lines), strict=True)
    while True:
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise InputError(f"not valid CSV ({error})", file=label, line=reader.line_num) from None
        if reader.line_num == 1 and len(fields) == 1:
            for mark, name in ((";", "semicolons"), ("\t", "tabs")):
                if mark in fields[0]:
                    raise InputError(
                        f"the columns seem to be separated by {name}, not by commas",
                        file=label,
                        line=1,
                        remedy="Save it with commas, or with tabs under a name ending in .tsv.",
                    )
        yield reader.line_num, [cell.replace("\n", " ") for cell in fields]


def json_row(text: str, label: str, number: int) -> dict[str, Any]:
    """The object that a line of JSON holds, checked."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        row = dict(pairs)
        if len(row) < len(pairs):
            names = [key for key, _ in pairs]
            twice = next(key for key in names if names.count(key) > 1)
            raise InputError(f"the key {twice!r} stands twice", file=label, line=number)
        return row

    try:
        row = json.loads(text, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        raise InputError(
            f"not valid JSON ({error.msg}, character {error.pos + 1})",
            file=label,
            line=number,
            remedy="Each line is one object, without a comma behind it.",
        ) from None
    except (ValueError, RecursionError):
        raise InputError(
            "not sensible JSON: brackets nest too deep, or a number is too long",
            file=label,
            line=number,
        ) from None
    if not isinstance(row, dict):
        raise InputError("the line is not a JSON object", file=label, line=number)
    return row


def refuse_alike(header: Sequence[str], keys: Sequence[str], label: str) -> None:
    """Two columns of one name, or of names that differ in case only: which is meant?"""
    seen: dict[str, str] = {}
    for key, name in zip(keys, header, strict=True):
        if key in seen:
            both = repr(name) if seen[key] == name else f"{seen[key]!r} and {name!r}"
            raise InputError(f"two columns are called {both}", file=label, line=1)
        seen[key] = name


def text_of(row: Mapping[str, Any], key: str, file: str | Path, line: int) -> str:
    """The text in a cell of a table, checked."""
    value = row.get(key)
    if not isinstance(value, str):
        what = "is missing" if value is None else f"is {type(value).__name__}, not text"
        raise InputError(f"the value of {key!r} {what}", file=file, line=line)
    checks.check_text(value, file=file, line=line)
    return value


def number_of(row: Mapping[str, Any], key: str, file: str | Path, line: int) -> float:
    """The number in a cell; NaN for a missing one (empty, None, NA, NaN)."""
    value = row.get(key, "")
    text = "" if value is None else value if isinstance(value, str) else repr(value)
    return parse_score(text, file, line, key)


def parse_score(text: str, file: str | Path, line: int, column: str) -> float:
    """A number; NaN for a missing one; anything else is refused with its place."""
    if text.strip().lower() in _MISSING:
        return math.nan
    if not is_number(text) or math.isinf(value := float(text)):
        raise InputError(f"column {column}: {text!r} is not a number", file=file, line=line)
    return value


def is_number(text: str) -> bool:
    """Whether a text is a plain decimal number: 1_000 and Arabic digits are not."""
    return _NUMBER.fullmatch(text.strip()) is not None
