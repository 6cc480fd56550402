"""The corpus of a run: systems, source and references, read in step, a chunk at a time.

    corpus = Corpus.from_arguments(["a.txt", "b.txt"], source="src.de", references=["ref.txt"])
    for chunk in corpus.chunks(2000):
        chunk.systems["a"], chunk.sources, chunk.references

Texts are never all in memory. Files of different length are refused, with the line where they
seem to part. `from_lists` is the same door for Python callers, strict about shapes: sacrebleu's
`refs[k][i]` in place of `references[i]` must not give a number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from mtgauge.data import checks, readers
from mtgauge.data.readers import Column, Text
from mtgauge.errors import InputError, UsageError


@dataclass(frozen=True)
class Chunk:
    """Some consecutive segments of every column."""

    systems: dict[str, list[str]]
    sources: list[str] | None
    references: list[tuple[str, ...]] | None

    def __len__(self) -> int:
        return len(next(iter(self.systems.values())))


@dataclass
class Corpus:
    """Systems, source and references that belong together, read in step.

    >>> corpus = Corpus({"a": Column("a", values=["Hello.", "Bye."])})
    >>> [len(chunk) for chunk in corpus.chunks(1)]
    [1, 1]
    """

    systems: dict[str, Column]
    sources: Column | None = None
    references: list[Column] = field(default_factory=list)

    @classmethod
    def from_arguments(
        cls, systems: Sequence[str], source: str | None, references: Sequence[str]
    ) -> Corpus:
        """From what follows -t, -s and -r."""
        if [source, *systems, *references].count("-") > 1:
            raise UsageError("Standard input (-) can stand for one file only.")
        found = [c for argument in systems for c in readers.column(argument, "system")]
        named = dict(zip(_names(found), found, strict=True))
        refs = [c for argument in references for c in readers.column(argument, "reference")]
        sources = readers.column(source, "source")[0] if source is not None else None
        table = found[0] if len(systems) == 1 and found[0].key else None
        if table is not None and table.path is not None:
            header = readers.header_of(table.path)
            if sources is None and (keys := readers.choose(header, "source")):
                sources = Column(f"{table.path}:{keys[0]}", table.path, keys[0])
            if not refs:
                keys = readers.choose(header, "reference")
                refs = [Column(f"{table.path}:{k}", table.path, k) for k in keys]
        return cls(named, sources, refs)

    @classmethod
    def from_lists(
        cls,
        hypotheses: Mapping[str, Sequence[str]] | Sequence[str],
        sources: Sequence[str] | None = None,
        references: Sequence[str | Sequence[str]] | None = None,
    ) -> Corpus:
        """From Python lists; `references[i]` is one text or a list of alternatives."""
        if not isinstance(hypotheses, Mapping):
            hypotheses = {"system": hypotheses}
        if not hypotheses:
            raise InputError("there is no system to score")
        systems = {name: _texts(values, f"system {name!r}") for name, values in hypotheses.items()}
        n = len(next(iter(systems.values())))
        if n == 0:
            raise InputError("there are no segments to score")
        refs = (
            None if references is None else [_alternatives(r, i) for i, r in enumerate(references)]
        )
        if refs is not None and len(refs) != n:
            transposed = all(len(row) == n for row in refs)
            hint = (
                " These look like sacrebleu's transposed lists: give references[i] for segment i."
                if transposed
                else ""
            )
            raise InputError(
                f"{n} hypotheses but {len(refs)} entries in references",
                remedy="references[i] belongs to hypothesis i: one text or a list." + hint,
            )
        columns = {name: Column(f"system {name!r}", values=v) for name, v in systems.items()}
        source = None if sources is None else Column("sources", values=_texts(sources, "sources"))
        return cls(columns, source, [] if refs is None else [Column("references", values=refs)])

    def columns(self) -> list[Column]:
        first = [self.sources] if self.sources is not None else []
        return [*first, *self.references, *self.systems.values()]

    def reference_texts(self) -> Iterator[str]:
        for each in self.references:
            for cell in each:
                yield from _flat(cell)

    def chunks(self, size: int) -> Iterator[Chunk]:
        """Chunks of `size` segments; files of different length are refused at the end."""
        columns = self.columns()
        missing = object()
        rows = zip_longest(*columns, fillvalue=missing)
        while block := list(islice(rows, size)):
            if any(cell is missing for cell in block[-1]):
                lengths = [np.array([len(text) for text in c]) for c in columns]
                raise checks.refuse_uneven([c.label for c in columns], lengths)
            yield self._chunk(block)

    def _chunk(self, block: list[tuple[Any, ...]]) -> Chunk:
        cells = [list(column) for column in zip(*block, strict=True)]
        sources = cells.pop(0) if self.sources is not None else None
        count = len(self.references)
        references = None
        if count:
            rows = zip(*cells[:count], strict=True)
            references = [tuple(text for cell in row for text in _flat(cell)) for row in rows]
        return Chunk(dict(zip(self.systems, cells[count:], strict=True)), sources, references)


def _flat(cell: Text) -> tuple[str, ...]:
    return cell if isinstance(cell, tuple) else (cell,)


def _texts(values: Sequence[str], what: str) -> list[str]:
    if isinstance(values, str):
        raise InputError(f"{what} is one text", remedy="Give a list with one text a segment.")
    texts = list(values)
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(f"{what}[{i}] is {type(text).__name__}, not text")
    return texts


def _alternatives(entry: str | Sequence[str], i: int) -> tuple[str, ...]:
    row = tuple(entry) if isinstance(entry, list | tuple) else (entry,)
    if not row or not all(isinstance(text, str) for text in row):
        raise InputError(f"references[{i}] is not a text or a list of texts")
    return row


def _names(columns: Sequence[Column]) -> list[str]:
    """A system's name: its column, its file's stem, or as much of the path as tells it apart."""
    if all(c.key is None for c in columns):
        paths = [c.path or Path(c.label) for c in columns]
        labels = ["stdin" if c.label == "standard input" else None for c in columns]
        for depth in range(1, max(len(p.parts) for p in paths) + 1):
            names = [
                label or "/".join((*p.parts[-depth:-1], readers.stem(p)))
                for p, label in zip(paths, labels, strict=True)
            ]
            if len(set(names)) == len(names):
                return names
        names = [label or str(p) for p, label in zip(paths, labels, strict=True)]
    else:
        names = [c.key or readers.stem(c.path or Path(c.label)) for c in columns]
        if len(set(names)) < len(names):
            names = [f"{readers.stem(c.path)}:{c.key}" if c.path else c.label for c in columns]
    if len(set(names)) < len(names):
        twice = next(n for n in names if names.count(n) > 1)
        raise UsageError(f"The system {twice!r} is given twice: name each file once after -t.")
    return names
