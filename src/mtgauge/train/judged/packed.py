"""Judged segments as one file: read, checked, split and tokenised once for many trainings.

    save(Path("judged.npz"), {"train": train, "dev": dev}, tokenizer="sha256", facts={...})
    parts, facts = load(Path("judged.npz"), tokenizer="sha256")

A training that finds its data so packed reads no text and tokenises none.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mtgauge.data.output import write_with
from mtgauge.encode.ragged import offsets_of
from mtgauge.errors import InputError, ResourceError
from mtgauge.train.judged.codes import COLUMNS, Book, Coded, FloatArray


def save(
    path: Path,
    parts: Mapping[str, Coded],
    tokenizer: str,
    facts: Mapping[str, Any],
    compressed: bool = True,
) -> None:
    """All parts and their book as one file; `tokenizer` is the SHA-256 of the tokenizer's file."""
    arrays: dict[str, NDArray[Any]] = {}
    for name, part in parts.items():
        arrays |= {f"{name}.{column}": part.numbers[column].astype(np.int32) for column in COLUMNS}
        for column in ("scores", "weights", "raw"):
            arrays[f"{name}.{column}"] = getattr(part, column).astype(np.float32)
        for column in ("lps", "files"):
            known, at = np.unique(getattr(part, column), return_inverse=True)
            arrays[f"{name}.{column}"] = at.astype(np.uint32)
            arrays[f"{name}.{column}.names"] = known.astype("U")
    book = next(iter(parts.values())).book
    header = json.dumps({"parts": list(parts), "tokenizer": tokenizer, "facts": facts})
    arrays |= {"flat": book.flat, "lengths": book.lengths.astype(np.uint32)}
    write = np.savez_compressed if compressed else np.savez
    path.parent.mkdir(parents=True, exist_ok=True)
    write_with(path, lambda file: write(file, header=np.array(header), **arrays))  # type: ignore


def load(path: str | Path, tokenizer: str) -> tuple[dict[str, Coded], dict[str, Any]]:
    """What `save` wrote, and its facts; a file for another tokenizer is refused."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        header = json.loads(str(arrays["header"]))
        book = Book(arrays["flat"], offsets_of(arrays["lengths"]))
        parts = {name: _part(name, arrays, book) for name in header["parts"]}
    except (OSError, EOFError, zipfile.BadZipFile, KeyError, ValueError) as error:
        raise InputError(
            f"no packed judgements ({error})",
            file=path,
            remedy="`mtgauge train pack` makes it.",
        ) from None
    if header["tokenizer"] != tokenizer:
        raise ResourceError(
            f"{path} was packed with another tokenizer than the encoder's: its numbers would "
            "mean other words. Pack it again with `mtgauge train pack`."
        )
    return parts, header["facts"]


def _part(name: str, arrays: Mapping[str, NDArray[Any]], book: Book) -> Coded:
    def names(column: str) -> NDArray[np.str_]:
        found: NDArray[np.str_] = arrays[f"{name}.{column}.names"][arrays[f"{name}.{column}"]]
        return found

    def numbers(column: str) -> FloatArray:
        return np.asarray(arrays[f"{name}.{column}"], dtype=np.float64)

    return Coded(
        book,
        {column: arrays[f"{name}.{column}"].astype(np.int64) for column in COLUMNS},
        names("lps"),
        names("files"),
        numbers("scores"),
        numbers("weights"),
        numbers("raw"),
    )
