"""Records of corpora of any size, block by block, in constant memory; here: JSONL and TSV.

    form = Form.of(Path("a.jsonl.zst"))                    # Form("jsonl", "zst")
    reader = TextRecords([Path("a.jsonl.zst")], form.kind, texts=["src", "tgt"])
    while block := reader.take(2000):
        block.rows[0]["src"]; block.rejects

A record is a line of text or a row of a Parquet file. One that cannot be used (not UTF-8, not JSON,
a missing text, a line of another width than the header) is a `Reject` with its reason; the others
keep the line as it stood, so that what is written again is what was read.

Files follow each other as if they were one. `skip` passes over records without parsing them, and
`digest` names the bytes of the lines passed since it was last asked: a run that goes on after a
kill sees whether its input is still the same. A line longer than `LONGEST` bytes is a reject.
record_parquet.py reads Parquet, record_files.py finds files and opens them.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Literal

from mtgauge.data import checks, readers
from mtgauge.data.spool import STANDARD_INPUT
from mtgauge.errors import InputError

Kind = Literal["jsonl", "tsv", "parquet"]
KINDS: tuple[Kind, ...] = ("jsonl", "tsv", "parquet")
LONGEST = 1 << 20  # bytes of a line
SHOWN = 2000  # characters of a reject that are kept


@dataclass(frozen=True)
class Form:
    """How records are written: `kind`, and `packing` ("", "gz" or "zst")."""

    kind: Kind
    packing: Literal["", "gz", "zst"] = ""

    @classmethod
    def of(cls, path: Path) -> Form | None:
        """By the ending of a file's name.

        >>> Form.of(Path("a.tsv.gz"))
        Form(kind='tsv', packing='gz')
        """
        name = path.name.lower()
        packing: Literal["", "gz", "zst"] = ""
        if name.endswith(".gz"):
            packing = "gz"
        elif name.endswith(".zst"):
            packing = "zst"
        stem = name.removesuffix(f".{packing}") if packing else name
        for kind in KINDS:
            if stem.endswith(f".{kind}") and not (kind == "parquet" and packing):
                return cls(kind, packing)
        return None

    @property
    def ending(self) -> str:
        return f".{self.kind}" + (f".{self.packing}" if self.packing else "")


@dataclass(frozen=True)
class Reject:
    """A record that cannot be used, and why."""

    file: str
    line: int
    reason: str
    text: str

    def to_dict(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass
class Block:
    """Some records in order. `at[i]` is the place of row i among all records of the input."""

    first: int  # place of the first record of the block
    size: int = 0  # records, rejects included
    rows: list[dict[str, Any]] = field(default_factory=list)
    at: list[int] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)  # of text: row i as it stood
    table: Any = None  # of Parquet: the rows, as pyarrow has them
    rejects: list[Reject] = field(default_factory=list)


class Records:
    """The records of some files, one after the other."""

    header: list[str] | None = None  # of TSV
    schema: Any = None  # of Parquet
    first_columns: list[str]  # names in the first record

    def __init__(self, paths: Sequence[Path], texts: Sequence[str]) -> None:
        self.paths, self.texts = paths, list(texts)
        self.place = 0

    def take(self, most: int) -> Block | None:
        """The next records, at most so many; None at the end."""
        raise NotImplementedError

    def skip(self, many: int) -> None:
        """Pass over so many records."""
        raise NotImplementedError

    def digest(self) -> str:
        """A name for what was read since the last call."""
        return ""

    def refuse_missing(self, names: Sequence[str], file: Path, line: int | None = None) -> None:
        for text in self.texts:
            if text not in names:
                raise InputError(
                    f"there is no column {text!r}",
                    file=file,
                    line=line,
                    remedy=f"The columns are: {', '.join(names)}. Name others with "
                    "--source-column, --target-column and --reference-column.",
                )


class TextRecords(Records):
    def __init__(
        self, paths: Sequence[Path], kind: Kind, texts: Sequence[str], *, header: bool = True
    ) -> None:
        super().__init__(paths, texts)
        self.kind, self._has_header = kind, header and kind == "tsv"
        self._hash = hashlib.blake2b(digest_size=16)
        self._numbers: list[str] = []  # names of columns where there is no header
        self._lines = self._raw()
        self._peeked: tuple[Path, int, bytes] | None = next(self._lines, None)
        self.first_columns = self._check_first()

    def take(self, most: int) -> Block | None:
        block = Block(self.place)
        for path, number, raw in self._pass(most):
            self._add(block, path, number, raw)
        return block if block.size else None

    def skip(self, many: int) -> None:
        for _ in self._pass(many):
            pass

    def digest(self) -> str:
        found = self._hash.hexdigest()
        self._hash = hashlib.blake2b(digest_size=16)
        return found

    def _pass(self, most: int) -> Iterator[tuple[Path, int, bytes]]:
        for _ in range(most):
            if self._peeked is not None:
                item, self._peeked = self._peeked, None
            else:
                found = next(self._lines, None)
                if found is None:
                    return
                item = found
            self._hash.update(item[2])
            self.place += 1
            yield item

    def _add(self, block: Block, path: Path, number: int, raw: bytes) -> None:
        try:
            if len(raw) >= LONGEST:
                raise InputError(f"the line is longer than {LONGEST:,} bytes")
            text = checks.decode_line(raw, path, number)
            row = self._parse(text, path, number)
            for name in self.texts:
                readers.text_of(row, name, path, number)
        except InputError as error:
            shown = raw[: 4 * SHOWN].decode("utf-8", "backslashreplace").rstrip("\r\n")
            said = str(error).removeprefix(f"{path}, line {number}: ")
            block.rejects.append(Reject(str(path), number, said, shown[:SHOWN]))
        else:
            block.rows.append(row)
            block.lines.append(text)
            block.at.append(block.first + block.size)
        block.size += 1

    def _parse(self, text: str, path: Path, number: int) -> dict[str, Any]:
        if self.kind == "jsonl":
            return readers.json_row(text, str(path), number)
        cells = text.split("\t")
        names = self.header or self._numbers or [str(i) for i in range(1, len(cells) + 1)]
        if len(cells) != len(names):
            first = "header" if self.header else "first record"
            raise InputError(f"{len(cells)} columns where the {first} has {len(names)}")
        return dict(zip(names, cells, strict=True))

    def _raw(self) -> Iterator[tuple[Path, int, bytes]]:
        """(file, line number, bytes) of every record; headers are checked and left out."""
        for path in self.paths:
            number = 0
            try:
                with _opened(path) as stream:
                    for number, raw in enumerate(_lines(stream), 1):
                        if number == 1 and self._has_header:
                            self._check_header(path, raw)
                        else:
                            yield path, number, raw
            except readers.DAMAGE as error:
                raise readers.damaged(error, path, number) from None

    def _check_header(self, path: Path, raw: bytes) -> None:
        names = checks.decode_line(raw, path, 1).split("\t")
        readers.refuse_alike(names, names, str(path))
        if self.header is None:
            self.refuse_missing(names, path, 1)
            self.header = names
        elif names != self.header:
            raise InputError(
                f"the columns are not those of {self.paths[0]}",
                file=path,
                line=1,
                remedy="Files of one run have the same header.",
            )

    def _check_first(self) -> list[str]:
        """The names in the first record; a text that is missing there is missing everywhere."""
        if self._peeked is None:
            raise InputError("there are no records", file=self.paths[0])
        if self.header is not None:
            return self.header
        path, number, raw = self._peeked
        try:
            names = list(self._parse(checks.decode_line(raw, path, number), path, number))
        except InputError:
            return []  # a reject like any other
        self.refuse_missing(names, path, number)
        self._numbers = names if self.kind == "tsv" else []
        return names


def _opened(path: Path) -> IO[bytes]:
    if path != STANDARD_INPUT:
        return readers.open_bytes(path)
    if sys.stdin is None:
        raise InputError("standard input is closed", remedy="Name a file instead of -.")
    return sys.stdin.buffer


def _lines(stream: IO[bytes]) -> Iterator[bytes]:
    """Lines; of one that is too long the first `LONGEST` bytes."""
    while raw := stream.readline(LONGEST):
        yield raw
        while len(raw) == LONGEST and not raw.endswith(b"\n"):
            raw = stream.readline(LONGEST)
