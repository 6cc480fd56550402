"""Judged segments as numbers: each distinct text once as pieces, rows that point at texts.

    train, dev = code([rows, held_out], packer.tokenize)      # they share one Book of texts
    save(Path("judged.npz"), {"train": train, "dev": dev}, tokenizer="sha256", facts={...})
    parts, facts = load(Path("judged.npz"), tokenizer="sha256")

A training that finds its data so prepared reads no text and tokenises none. `pack` makes a batch of
sentence-pair inputs on the training device, all rows at once: what Packer.pack_ids makes in turn.

`samples` makes the same of sampled translations, whose scores a machine gave.

Limits: piece numbers up to 65,535 take two bytes in the file, others four.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mtgauge.encode.tokens.pairs import Packer
from mtgauge.errors import InputError, ResourceError
from mtgauge.metrics.regressor import INPUTS
from mtgauge.train.judged.rows import LIMIT, Rows

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
COLUMNS = ("hyp", "src", "ref")


@dataclass(frozen=True, eq=False)
class Book:
    """Distinct texts end to end: `flat` pieces, `start` of each (one more than there are texts)."""

    flat: NDArray[Any]
    start: IntArray
    texts: list[str] | None = None  # what was tokenised; a stored book has the pieces only
    _on: dict[torch.device, Tensor] = field(default_factory=dict)

    @property
    def lengths(self) -> IntArray:
        return np.diff(self.start)

    def pieces(self, number: int) -> list[int]:
        found: list[int] = self.flat[self.start[number] : self.start[number + 1]].tolist()
        return found

    def many(self, numbers: IntArray) -> list[list[int]]:
        """`pieces` of many texts, in a fraction of the time."""
        flat = self.flat.tolist()
        spans = zip(self.start[numbers].tolist(), self.start[numbers + 1].tolist(), strict=True)
        return [flat[a:b] for a, b in spans]

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

    def __len__(self) -> int:
        return len(self.scores)

    def take(self, rows: Sequence[int] | NDArray[Any]) -> Coded:
        at = np.asarray(rows)
        return Coded(
            self.book,
            {name: column[at] for name, column in self.numbers.items()},
            self.lps[at],
            self.files[at],
            self.scores[at],
            self.weights[at],
            self.raw[at],
        )

    def scored(self, scores: FloatArray, weights: FloatArray) -> Coded:
        return replace(self, scores=scores, weights=weights)

    def has(self, view: str) -> NDArray[np.bool_]:
        """Rows whose texts suffice for a view."""
        parts = {part for slot in INPUTS[view] for part in slot.split("+")} | {"hyp"}
        there: NDArray[np.bool_] = np.ones(len(self), bool)
        for part in parts:
            there &= self.numbers[part] >= 0
        return there

    def length(self, *names: str) -> IntArray:
        """Pieces of the named texts together, row by row."""
        sizes = np.append(self.book.lengths, 0)  # the last is that of no text
        return np.asarray(sum(sizes[self.numbers[name]] for name in names))

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
    pieces = tokenize(texts)
    most = max((max(ids, default=0) for ids in pieces), default=0)
    kind = np.uint16 if most < 2**16 else np.int32
    flat = np.fromiter((p for ids in pieces for p in ids), kind)
    start = np.concatenate([[0], np.cumsum([len(ids) for ids in pieces])]).astype(np.int64)
    book = Book(flat, start, texts)
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


def save(
    path: Path,
    parts: Mapping[str, Coded],
    tokenizer: str,
    facts: Mapping[str, Any],
    small: bool = True,
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
    write = np.savez_compressed if small else np.savez
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as handle:  # under exactly this name
        write(handle, header=np.array(header), **arrays)  # type: ignore[arg-type]


def load(path: Path, tokenizer: str) -> tuple[dict[str, Coded], dict[str, Any]]:
    """What `save` wrote, and its facts; a file for another tokenizer is refused."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        header = json.loads(str(arrays["header"]))
        start = np.concatenate([[0], np.cumsum(arrays["lengths"], dtype=np.int64)])
        book = Book(arrays["flat"], start)
        parts = {name: _part(name, arrays, book) for name in header["parts"]}
    except (OSError, EOFError, zipfile.BadZipFile, KeyError, ValueError) as error:
        raise InputError(
            f"no prepared judgements ({error})",
            file=path,
            remedy="`mtgauge train judged` makes it.",
        ) from None
    if header["tokenizer"] != tokenizer:
        raise ResourceError(
            f"{path} was prepared with another tokenizer than the encoder's: its numbers would "
            "mean other words. Prepare it again with `mtgauge train judged`."
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


def samples(arrays: Mapping[str, NDArray[Any]], langs: Sequence[str], name: str) -> Coded:
    """Sampled translations into English with their scores, standardised and cut at the limit.

    `arrays` as `train.samples.piece_rows` makes them.
    """
    n = len(arrays["score"])
    flat, starts, numbers = [], [np.zeros(1, np.int64)], {}
    pieces = texts = 0
    for column, kind in (("hyp", "sample"), ("src", "source"), ("ref", "reference")):
        start = arrays[f"{kind}_start"].astype(np.int64)
        flat.append(arrays[kind].astype(np.uint16))
        starts.append(start[1:] + pieces)
        numbers[column] = np.arange(n) + texts
        pieces, texts = pieces + int(start[-1]), texts + n
    score = arrays["score"].astype(np.float64)
    return Coded(
        Book(np.concatenate(flat), np.concatenate(starts)),
        numbers,
        np.array([f"{lang}-en" for lang in langs])[arrays["lang"].astype(np.int64)],
        np.full(n, name),
        np.clip((score - score.mean()) / score.std(), -LIMIT, LIMIT),
        np.ones(n),
        np.full(n, np.nan),
    )


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
    parts = (
        np.concatenate([getattr(first, name), getattr(second, name)])
        for name in ("lps", "files", "scores", "weights", "raw")
    )
    return Coded(whole, numbers, *parts)


class Inputs(NamedTuple):
    """Padded inputs of a sentence-pair encoder, (n, t) each."""

    ids: Tensor
    mask: Tensor
    types: Tensor
    langs: Tensor


def pack(
    rows: Coded,
    slot: str,
    at: IntArray,
    packer: Packer,
    device: torch.device,
    langs: Mapping[str, int] | None = None,
) -> Inputs:
    """Rows of one slot (`src`, `ref`, `src+ref`) as the packer would join them."""
    parts = ("hyp", *slot.split("+"))
    numbers = np.stack([rows.numbers[part][at] for part in parts])
    if (numbers < 0).any():
        lacking = int(at[(numbers < 0).any(0)][0])
        raise InputError(f"segment {lacking + 1} lacks a text for {'+'.join(parts)}")
    sizes = rows.book.lengths[numbers]
    join = len(packer.between)
    room = packer.max_length - 2 - join * (len(parts) - 1)
    for i in np.flatnonzero(sizes.sum(0) > room):
        sizes[:, i] = packer.fit(sizes[:, i].tolist())
    total = sizes.sum(0) + 2 + join * (len(parts) - 1)
    # fast attention kernels want a multiple of eight
    width = -(-int(total.max(initial=1)) // 8) * 8 if device.type == "cuda" else int(total.max())
    speech = _languages(rows, parts, at, langs)
    moved = torch.from_numpy(np.concatenate([rows.book.start[numbers], sizes, speech]))
    shape = (3, len(parts), len(at), 1)
    start, size, lang = moved.to(device, non_blocking=True).view(shape)
    flat = rows.book.on(device)
    step = torch.arange(width, device=device)
    ids = torch.where(step == 0, packer.begin, packer.pad).expand(len(at), width)
    types = torch.zeros_like(ids)
    spoken = lang[0].expand_as(ids)
    begin = torch.ones_like(start[0])
    for place in range(len(parts)):
        end = begin + size[place]
        inside = (step >= begin) & (step < end)
        found = flat[(start[place] + step - begin).clamp(0, max(len(flat) - 1, 0))]
        ids = torch.where(inside, found.long(), ids)
        closing = (packer.end,) if place == len(parts) - 1 else packer.between
        for k, token in enumerate(closing):
            ids = torch.where(step == end + k, token, ids)
        if place:
            types = torch.where(step >= begin, 1, types)
            spoken = torch.where(step >= begin, lang[place], spoken)
        begin = end + len(closing)
    mask = (step < begin).long()
    return Inputs(ids, mask, types * mask, spoken)


def _languages(
    rows: Coded, parts: Sequence[str], at: IntArray, langs: Mapping[str, int] | None
) -> IntArray:
    """The language number of each part of each row, (parts, n); 0 for encoders without any."""
    if langs is None:
        return np.zeros((len(parts), len(at)), np.int64)
    pairs = [lp.split("-") for lp in rows.lps[at].tolist()]
    return np.array([[langs[lp[0 if part == "src" else 1]] for lp in pairs] for part in parts])
