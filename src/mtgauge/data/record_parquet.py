"""Rows of Parquet files as records (records.py); they stay as pyarrow has them.

A file is read a row group at a time, so the largest row group must fit in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from mtgauge.data import readers
from mtgauge.data.records import SHOWN, Block, Records, Reject
from mtgauge.errors import InputError, ResourceError


class ParquetRecords(Records):
    """Rows of Parquet files. `needed` are columns that are wanted as Python values."""

    def __init__(
        self, paths: Sequence[Path], texts: Sequence[str], needed: Sequence[str], batch: int
    ) -> None:
        super().__init__(paths, texts)
        rows = 0
        for path in paths:
            with _parquet(path) as file:
                rows += file.metadata.num_rows
                names = file.schema_arrow.names
                if self.schema is None:
                    self.refuse_missing(names, path)
                    self.schema, self.first_columns = file.schema_arrow, names
                elif not file.schema_arrow.equals(self.schema):
                    raise InputError(
                        f"the columns are not those of {paths[0]}",
                        file=path,
                        remedy="Files of one run have the same schema.",
                    )
        if not rows:
            raise InputError("there are no records", file=paths[0])
        self._needed = [n for n in self.first_columns if n in {*texts, *needed}]
        self._batches = self._read(batch)
        self._rest: tuple[Path, int, Any] | None = None

    def take(self, most: int) -> Block | None:
        piece = self._piece(most)
        if piece is None:
            return None
        path, row, table = piece
        block, kept = Block(self.place, len(table)), [False] * len(table)
        values = table.select(self._needed).to_pylist() if self._needed else [{}] * len(table)
        for i, cells in enumerate(values):
            try:
                for name in self.texts:
                    readers.text_of(cells, name, path, row + i)
            except InputError as error:
                said = str(error).removeprefix(f"{path}, line {row + i}: ")
                text = repr({name: cells[name] for name in self.texts})[:SHOWN]
                block.rejects.append(Reject(str(path), row + i, said, text))
            else:
                kept[i] = True
                block.rows.append(cells)
                block.at.append(self.place + i)
        block.table = table if all(kept) else table.filter(kept)
        self.place += len(table)
        return block

    def skip(self, many: int) -> None:
        while many and (piece := self._piece(many)) is not None:
            many -= len(piece[2])
            self.place += len(piece[2])

    def _piece(self, most: int) -> tuple[Path, int, Any] | None:
        """The rest of the current batch, at most so many rows: (file, number of the first, rows)"""
        if self._rest is None:
            self._rest = next(self._batches, None)
        if self._rest is None:
            return None
        path, row, table = self._rest
        self._rest = (path, row + most, table.slice(most)) if len(table) > most else None
        return path, row, table.slice(0, most)

    def _read(self, batch: int) -> Iterator[tuple[Path, int, Any]]:
        import pyarrow

        for path in self.paths:
            row = 1
            with _parquet(path) as file:
                try:
                    for rows in file.iter_batches(batch_size=batch):
                        yield path, row, pyarrow.Table.from_batches([rows])
                        row += len(rows)
                except (OSError, pyarrow.ArrowException) as error:
                    raise InputError(
                        f"the file is damaged ({error})", file=path, remedy="Fetch it again."
                    ) from None


def pyarrow_parquet() -> Any:
    """The package pyarrow.parquet, or the error that says how to get it."""
    try:
        import pyarrow.parquet
    except ImportError:
        raise ResourceError(
            "Parquet files need the package pyarrow: pip install 'mtgauge[stream]'."
        ) from None
    return pyarrow.parquet


def _parquet(path: Path) -> Any:
    parquet = pyarrow_parquet()
    import pyarrow

    try:
        return parquet.ParquetFile(path)
    except (OSError, pyarrow.ArrowException) as error:
        raise InputError(f"this is no Parquet file ({error})", file=path) from None
