"""Files of records: which ones arguments name, and what reads them.

paths, form = input_files([Path("corpus/"), Path("more.jsonl.gz")], None)
records = open_records(paths, form, texts=["src", "tgt"])
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mtgauge.data import readers
from mtgauge.data.record_parquet import ParquetRecords
from mtgauge.data.records import Form, Records, TextRecords
from mtgauge.data.spool import STANDARD_INPUT
from mtgauge.errors import InputError, UsageError

_ENDINGS = ".jsonl, .tsv (also .gz, .zst) or .parquet"


def open_records(
    paths: Sequence[Path],
    form: Form,
    texts: Sequence[str],
    *,
    needed: Sequence[str] = (),
    header: bool = True,
    batch: int = 2000,
) -> Records:
    """The records of these files; `texts` are the columns that must hold text."""
    if not header and form.kind != "tsv":
        raise UsageError(f"--no-header is for TSV, and {paths[0]} is none.")
    if form.kind == "parquet":
        return ParquetRecords(paths, texts, needed, batch)
    return TextRecords(paths, form.kind, texts, header=header)


def input_files(arguments: Sequence[Path], form: Form | None) -> tuple[list[Path], Form]:
    """The files that arguments name, folders opened (sorted by name), and their common form.

    `form` is that of standard input and of files whose names do not say theirs.
    """
    paths: list[Path] = []
    for path in arguments:
        if path != STANDARD_INPUT and path.is_dir():
            inside = sorted(p for p in path.rglob("*") if p.is_file() and Form.of(p) is not None)
            if not inside:
                raise InputError(
                    "the folder holds no corpus", file=path, remedy=f"It looks for {_ENDINGS}."
                )
            paths += inside
        else:
            if path != STANDARD_INPUT:
                readers.must_exist(path)
            paths.append(path)
    if len(set(paths)) < len(paths):
        twice = next(path for path in paths if paths.count(path) > 1)
        raise UsageError(f"{twice} is named twice.")
    named = {path: Form.of(path) for path in paths}
    if form is not None and None not in named.values():
        raise UsageError(f"--format is for files without an ending: {paths[0]} has one.")
    forms = {path: found or form for path, found in named.items()}
    for path, found in forms.items():
        if found is None:
            raise UsageError(
                f"{path}: which form has it? Name it {_ENDINGS}, or say --format jsonl or tsv."
            )
    first = forms[paths[0]]
    assert first is not None
    other = next((path for path, found in forms.items() if found != first), None)
    if other is not None:
        raise UsageError(f"{other} has another form than {paths[0]}: run them one after the other.")
    if first.kind == "parquet" and STANDARD_INPUT in paths:
        raise UsageError("Parquet cannot be read from standard input: name a file.")
    return paths, first
