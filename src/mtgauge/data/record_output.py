"""Records written again with more columns, in the form they were read in.

    with writer(stream, records, form, {"xmoverscore": "number"}) as out:
        out.write(block, {"xmoverscore": [0.41, 0.52]}, keep=[True, False])

A JSON line or a line of a table keeps its bytes and gets the new values at its end; an undefined
number is null in JSON and Parquet, and empty in TSV. The same records give the same bytes: gzip
carries no time, and compression uses one thread.
"""

from __future__ import annotations

import gzip
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, Any, Literal, Protocol

from mtgauge.data.record_parquet import pyarrow_parquet
from mtgauge.data.records import Block, Form, Records
from mtgauge.data.zstd import zstandard

Type = Literal["number", "integer", "text", "truth"]
Columns = Mapping[str, Sequence[Any]]
_ROW_GROUP = 20_000  # rows of a Parquet row group, and in memory before it is written


class Output(Protocol):
    def write(self, block: Block, added: Columns, keep: Sequence[bool]) -> None:
        """The rows of a block that are kept; `added` has one value per row of the block."""


@contextmanager
def writer(
    stream: IO[bytes], records: Records, form: Form, added: Mapping[str, Type]
) -> Iterator[Output]:
    """What writes records of this form to a stream; the stream stays open."""
    if form.kind == "parquet":
        with _ParquetOutput(stream, records.schema, added) as out:
            yield out
        return
    with (
        _packed(stream, form.packing) as packed,
        io.BufferedWriter(_Open(packed), 1 << 16) as lines,
    ):
        if records.header is not None:
            lines.write(("\t".join([*records.header, *added]) + "\n").encode())
        yield _TextOutput(lines, form.kind)


class _Open(io.RawIOBase):
    """A stream that is not closed with what is built upon it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._stream.write(data)
        return len(data)


@contextmanager
def _packed(stream: IO[bytes], packing: str) -> Iterator[IO[bytes]]:
    if packing == "gz":
        with gzip.GzipFile("", "wb", 6, stream, mtime=0) as packed:
            yield packed  # type: ignore[misc]  # typeshed: it is no IO[bytes]
    elif packing == "zst":
        with zstandard().ZstdCompressor(level=3).stream_writer(stream, closefd=False) as packed:
            yield packed
    else:
        yield stream


class _TextOutput:
    def __init__(self, stream: IO[bytes], kind: str) -> None:
        self._stream = stream
        self._line = _json_line if kind == "jsonl" else _tsv_line

    def write(self, block: Block, added: Columns, keep: Sequence[bool]) -> None:
        names = list(added)
        for i, line in enumerate(block.lines):
            if keep[i]:
                values = {name: added[name][i] for name in names}
                self._stream.write(self._line(line, values).encode())


def _json_line(line: str, values: Mapping[str, Any]) -> str:
    if not values:
        return line + "\n"
    plain = {name: _defined(value) for name, value in values.items()}
    more = json.dumps(plain, ensure_ascii=False)[1:]
    return f"{line.rstrip()[:-1].rstrip()}, {more}\n"


def _tsv_line(line: str, values: Mapping[str, Any]) -> str:
    cells = (_cell(_defined(value)) for value in values.values())
    return "\t".join([line, *cells]) + "\n"


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else repr(value) if isinstance(value, float) else str(value)


def _defined(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


class _ParquetOutput:
    def __init__(self, stream: IO[bytes], schema: Any, added: Mapping[str, Type]) -> None:
        import pyarrow

        parquet = pyarrow_parquet()
        self._types = {
            name: {
                "number": pyarrow.float64(),
                "integer": pyarrow.int64(),
                "text": pyarrow.string(),
                "truth": pyarrow.bool_(),
            }[type_]
            for name, type_ in added.items()
        }
        for name, type_ in self._types.items():
            schema = schema.append(pyarrow.field(name, type_))
        self._waiting: list[Any] = []
        self._writer = parquet.ParquetWriter(stream, schema, compression="zstd")

    def __enter__(self) -> _ParquetOutput:
        return self

    def __exit__(self, *_: object) -> None:
        self._flush()
        self._writer.close()

    def write(self, block: Block, added: Columns, keep: Sequence[bool]) -> None:
        import pyarrow

        table = block.table
        for name, type_ in self._types.items():
            values = [_defined(value) for value in added[name]]
            table = table.append_column(name, pyarrow.array(values, type_))
        self._waiting.append(table.filter(pyarrow.array(list(keep), pyarrow.bool_())))
        if sum(map(len, self._waiting)) >= _ROW_GROUP:
            self._flush()

    def _flush(self) -> None:
        import pyarrow

        if self._waiting:
            self._writer.write_table(pyarrow.concat_tables(self._waiting))
        self._waiting = []
