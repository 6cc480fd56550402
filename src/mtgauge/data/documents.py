"""Spreadsheets and bilingual files as rows, like any table.

    rows(stream, "job.xlsx", "xlsx")       (row, {column: text}); the first row names the columns
    rows(stream, "job.xlf", "xliff")       (unit, {"source": ..., "target": ...}), 1.2 and 2.x
    rows(stream, "memory.tmx", "tmx")      the same; other languages under their codes

`mtgauge.data.readers` opens the file and asks here by its ending, so every command reads them:
`-t job.xlf` takes the column `target` as the system and `source` as the source.

Of an XLSX file the first sheet is read, formulas by the value that was saved with them. Inline
codes of XLIFF and TMX are left out, marked-up text is kept; a line end inside a text becomes a
space; a text that is not there is empty. Units that must not be translated are left out. A TMX file
whose header names no source language has one column per language code.

XML comes from strangers: entities are refused (defusedxml), and so is an archive that unpacks to
more than `LARGEST` bytes. Needs the extra `files`.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from typing import IO, Any, Literal

from mtgauge.errors import InputError, ResourceError

Kind = Literal["xlsx", "xliff", "tmx"]
Row = tuple[int, dict[str, str]]
LARGEST = 1 << 28  # bytes that an XLSX file may unpack to
_CODES = frozenset({"bpt", "ept", "ph", "it", "ut", "x", "bx", "ex"})  # inline, not text
_BREAKS = re.compile(r"[ \t]*[\r\n\t\v\f]\s*")
_LANG = "{http://www.w3.org/XML/1998/namespace}lang"


def rows(stream: IO[bytes], label: str, kind: Kind) -> Iterator[Row]:
    """Numbered rows of a document; `label` is what messages call it."""
    if kind == "xlsx":
        return _sheet(stream, label)
    return _xliff(stream, label) if kind == "xliff" else _tmx(stream, label)


def _sheet(stream: IO[bytes], label: str) -> Iterator[Row]:
    lines = _sheet_rows(stream, label)
    header = [_one_line(str(name or "")) for name in next(lines, ())]
    while header and not header[-1]:
        header.pop()
    if not header:
        raise InputError(
            "the first row of the first sheet is empty",
            file=label,
            remedy="It should name the columns: source, reference, and one per system.",
        )
    if len(set(header)) < len(header):
        twice = next(name for name in header if header.count(name) > 1)
        raise InputError(f"two columns are called {twice!r}", file=label, line=1)
    blank = 0
    for number, values in enumerate(lines, 2):
        texts = ["" if value is None else _one_line(str(value)) for value in values]
        if not any(texts):
            blank += 1
            continue
        if blank:
            raise InputError(
                "this row follows an empty one", file=label, line=number, remedy="Delete it."
            )
        texts += [""] * (len(header) - len(texts))
        extra = next((i for i, t in enumerate(texts) if t and not "".join(header[i : i + 1])), None)
        if extra is not None:
            raise InputError(
                f"column {extra + 1} has a text but no name in the first row",
                file=label,
                line=number,
            )
        pairs = zip(header, texts, strict=False)
        yield number, {name: text for name, text in pairs if name}


def _sheet_rows(stream: IO[bytes], label: str) -> Iterator[tuple[Any, ...]]:
    try:
        import openpyxl
    except ImportError:
        raise _missing("openpyxl", ".xlsx") from None
    try:
        size = sum(item.file_size for item in zipfile.ZipFile(stream).infolist())
        if size > LARGEST:
            raise InputError(
                f"unpacks to {size >> 20:,} MB, which is more than {LARGEST >> 20:,} MB", file=label
            )
        book = openpyxl.load_workbook(stream, read_only=True, data_only=True)
        sheet = book.worksheets[0]
        sheet.reset_dimensions()  # some programs write wrong ones
        yield from sheet.iter_rows(values_only=True)
    except InputError:
        raise
    except Exception as error:  # openpyxl raises whatever the damage led to
        raise InputError(
            f"not a readable XLSX file ({type(error).__name__}: {error})",
            file=label,
            remedy="Save it again as .xlsx, or as .csv.",
        ) from None


def _xliff(stream: IO[bytes], label: str) -> Iterator[Row]:
    units = _elements(stream, label, "xliff", ("trans-unit", "segment"))
    for number, element in enumerate(units, 1):
        if element.get("translate") != "no":
            sides = {_name(child): _text(child) for child in element}
            yield number, {side: sides.get(side, "") for side in ("source", "target")}
        element.clear()


def _tmx(stream: IO[bytes], label: str) -> Iterator[Row]:
    source, number = "", 0
    columns: dict[str, str] = {}
    for element in _elements(stream, label, "tmx", ("header", "tu")):
        if _name(element) == "header":
            source = (element.get("srclang") or "").casefold()
            continue
        number += 1
        texts = {}
        for variant in element:
            if _name(variant) == "tuv":
                code = variant.get(_LANG) or variant.get("lang") or ""
                seg = next((child for child in variant if _name(child) == "seg"), None)
                texts[code] = "" if seg is None else _text(seg)
        columns = columns or _tmx_columns(list(texts), source)
        yield number, {column: texts.get(code, "") for code, column in columns.items()}
        element.clear()


def _tmx_columns(codes: list[str], source: str) -> dict[str, str]:
    """{language code: column}: source and target where the header tells them apart."""
    same = [c for c in codes if c.casefold() == source]
    near = [c for c in codes if c.casefold().split("-")[0] == source.split("-")[0]]
    first = (same or near)[:1]
    if not first:
        return {code: code for code in codes}
    others = [code for code in codes if code != first[0]]
    named = {others[0]: "target"} if len(others) == 1 else {code: code for code in others}
    return {first[0]: "source", **named}


def _elements(stream: IO[bytes], label: str, root: str, wanted: tuple[str, ...]) -> Iterator[Any]:
    """Elements of these names, as they end; the root is told from other XML."""
    try:
        from defusedxml import DefusedXmlException
        from defusedxml.ElementTree import ParseError, iterparse
    except ImportError:
        raise _missing("defusedxml", ".xlf and .tmx") from None
    seen = False
    try:
        for event, element in iterparse(stream, events=("start", "end")):
            if not seen and _name(element) != root:
                raise InputError(f"not {root.upper()}: the root is {_name(element)!r}", file=label)
            seen = True
            if event == "end" and _name(element) in wanted:
                yield element
    except ParseError as error:
        line = error.position[0] if error.position else None
        raise InputError(f"not valid XML ({error})", file=label, line=line) from None
    except DefusedXmlException:
        raise InputError(
            "the file declares entities, which are not read",
            file=label,
            remedy="Save it without a document type that declares any.",
        ) from None


def _name(element: Any) -> str:
    """The name without its namespace."""
    return str(element.tag).rpartition("}")[2]


def _text(element: Any) -> str:
    return _one_line("".join(_parts(element)))


def _parts(element: Any) -> Iterator[str]:
    yield element.text or ""
    for child in element:
        if _name(child) not in _CODES:
            yield from _parts(child)
        yield child.tail or ""


def _one_line(text: str) -> str:
    return _BREAKS.sub(" ", text).strip()


def _missing(package: str, kind: str) -> ResourceError:
    return ResourceError(
        f"Reading {kind} files needs the package {package}: pip install 'mtgauge[files]'."
    )
