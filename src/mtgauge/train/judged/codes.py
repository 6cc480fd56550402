"""Judged segments as numbers: each distinct text once as pieces, rows that point at texts.

    train, dev = code([rows, held_out], packer.tokenize)      # they share one Book of texts
    train.framed("src", BOS, EOS)                             # the pieces of each row's source
    train.groups                                              # "da16 de-en" of each row

Files of such rows are in `packed`, batches of sentence pairs in `inputs`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mtgauge.data.judgements import data_name
from mtgauge.encode.ragged import offsets_of
from mtgauge.metrics.regressor import INPUTS
from mtgauge.train.judged.rows import Rows

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
COLUMNS = ("hyp", "src", "ref")
FACTS = ("lps", "files", "scores", "weights", "raw")  # of a row, beside its texts
LONGEST = 200  # pieces of a framed text


@dataclass(frozen=True, eq=False)
class Book:
    """Distinct texts end to end: `flat` pieces, `start` of each (one more than there are texts)."""

    flat: NDArray[Any]
    start: IntArray
    texts: list[str] | None = None  # what was tokenised; a stored book has the pieces only
    _on: dict[torch.device, Tensor] = field(default_factory=dict)

    @classmethod
    def of(cls, pieces: Sequence[Sequence[int]], texts: list[str] | None = None) -> Book:
        """Piece numbers up to 65,535 take two bytes, others four."""
        most = max((max(ids, default=0) for ids in pieces), default=0)
        kind = np.uint16 if most < 2**16 else np.int32
        flat = np.fromiter((p for ids in pieces for p in ids), kind)
        return cls(flat, offsets_of([len(ids) for ids in pieces]), texts)

    @classmethod
    def joined(
        cls, columns: Mapping[str, tuple[NDArray[Any], NDArray[Any]]]
    ) -> tuple[Book, dict[str, IntArray]]:
        """One book of several columns, each (flat pieces, lengths of its texts); and the numbers
        of each column's texts."""
        flat = np.concatenate([pieces.astype(np.uint16) for pieces, _ in columns.values()])
        book = cls(flat, offsets_of(np.concatenate([sizes for _, sizes in columns.values()])))
        numbers, begun = {}, 0
        for name, (_, sizes) in columns.items():
            numbers[name] = np.arange(len(sizes)) + begun
            begun += len(sizes)
        return book, numbers

    @property
    def lengths(self) -> IntArray:
        return np.diff(self.start)

    def pieces(self, number: int) -> list[int]:
        found: list[int] = self.flat[self.start[number] : self.start[number + 1]].tolist()
        return found

    def many(self, numbers: IntArray) -> list[list[int]]:
        """`pieces` of many texts, in a fraction of the time; of no text (-1) none."""
        flat = self.flat.tolist()
        spans = zip(self.start[numbers].tolist(), self.start[numbers + 1].tolist(), strict=True)
        has_text = (numbers >= 0).tolist()
        return [flat[a:b] if real else [] for (a, b), real in zip(spans, has_text, strict=True)]

    def on(self, device: torch.device) -> Tensor:
        """The flat row of pieces on a device, put there once."""
        if device not in self._on:
            self._on[device] = torch.from_numpy(self.flat.astype(np.int32)).to(device)
        return self._on[device]


@dataclass(frozen=True, eq=False)
class Coded:
    """Rows as columns; a text is its number in the book, -1 where the row has none."""

    book: Book
    numbers: Mapping[str, IntArray]  # hyp, src, ref
    lps: NDArray[np.str_]
    files: NDArray[np.str_]
    scores: FloatArray
    weights: FloatArray
    raw: FloatArray

    @classmethod
    def unjudged(
        cls, book: Book, numbers: Mapping[str, IntArray], lps: NDArray[np.str_], name: str,
        scores: FloatArray,
    ) -> Coded:  # fmt: skip
        """Rows with scores that no person gave: each counts 1; `name` stands for their file."""
        n = len(scores)
        return cls(book, numbers, lps, np.full(n, name), scores, np.ones(n), np.full(n, np.nan))

    def __len__(self) -> int:
        return len(self.scores)

    def take(self, rows: Sequence[int] | NDArray[Any]) -> Coded:
        at = np.asarray(rows)
        numbers = {name: column[at] for name, column in self.numbers.items()}
        return replace(self, numbers=numbers, **{name: getattr(self, name)[at] for name in FACTS})

    def has(self, view: str) -> NDArray[np.bool_]:
        """Rows whose texts suffice for a view."""
        parts = {part for slot in INPUTS[view] for part in slot.split("+")} | {"hyp"}
        has_text: NDArray[np.bool_] = np.ones(len(self), bool)
        for part in parts:
            has_text &= self.numbers[part] >= 0
        return has_text

    def length(self, *names: str) -> IntArray:
        """Pieces of the named texts together, row by row."""
        sizes = np.append(self.book.lengths, 0)  # the last is that of no text
        return np.asarray(sum(sizes[self.numbers[name]] for name in names))

    def framed(self, column: str, first: int, last: int) -> list[list[int]]:
        """Each row's text between two special pieces; an absent text is an empty one."""
        found = self.book.many(self.numbers[column])
        return [[first, *ids[:LONGEST], last] for ids in found]

    @property
    def groups(self) -> list[str]:
        """File and language pair of each row: inside which correlations are calculated."""
        name = {file: data_name(Path(file)) for file in set(self.files.tolist())}
        pairs = zip(self.files.tolist(), self.lps.tolist(), strict=True)
        return [f"{name[file]} {lp}" for file, lp in pairs]

    def digest(self) -> str:
        """Changes whenever a text or a score does."""
        whole = hashlib.sha256()
        for part in (
            self.book.flat.astype(np.int32),
            self.book.start,
            *(self.numbers[name] for name in COLUMNS),
            self.lps.astype("U32"),
            self.scores,
            self.weights,
        ):
            whole.update(np.ascontiguousarray(part).tobytes())
        return whole.hexdigest()


def code(
    parts: Sequence[Rows],
    tokenize: Callable[[Sequence[str]], list[list[int]]],
    wanted: Sequence[str] = COLUMNS,
) -> list[Coded]:
    """Rows with one book for all parts; texts of columns that are not wanted are left out."""
    columns: list[dict[str, Sequence[str | None]]] = []
    for rows in parts:
        own = {"hyp": rows.hypotheses, "src": rows.sources, "ref": rows.references}
        nothing = [None] * len(rows)
        columns.append({name: own[name] if name in wanted else nothing for name in COLUMNS})
    texts = sorted({t for part in columns for column in part.values() for t in column if t})
    has_empty = any(t == "" for part in columns for column in part.values() for t in column)
    texts = [""] * has_empty + texts
    place: dict[str | None, int] = {text: i for i, text in enumerate(texts)}
    place[None] = -1
    book = Book.of(tokenize(texts), texts)
    return [
        Coded(
            book,
            {name: np.array([place[t] for t in part[name]], np.int64) for name in COLUMNS},
            np.array(rows.lps),
            np.array(rows.files),
            rows.scores,
            rows.weights,
            rows.raw,
        )
        for rows, part in zip(parts, columns, strict=True)
    ]


def merged(first: Coded, second: Coded) -> Coded:
    """The rows of both, with both books."""
    book, more = first.book, second.book
    whole = Book(
        np.concatenate([book.flat, more.flat]),
        np.concatenate([book.start, more.start[1:] + len(book.flat)]),
    )
    shift = len(book.start) - 1
    numbers = {
        name: np.concatenate([column, np.where(other < 0, -1, other + shift)])
        for name, column in first.numbers.items()
        for other in [second.numbers[name]]
    }
    facts = (np.concatenate([getattr(first, name), getattr(second, name)]) for name in FACTS)
    return Coded(whole, numbers, *facts)
