"""The corpus of a run: systems, source and references, read in step, one chunk after another.

    with Corpus.from_arguments(["a.txt", "-"], source="src.de", references=["ref.txt"]) as corpus:
        for chunk in corpus.chunks(2000):
            chunk.systems["a"], chunk.sources, chunk.references

The `with` block keeps copies of what can be read once only (standard input, FIFOs) and removes
them at its end. Texts are never all in memory. Files of different length are refused, with the line
where they seem to part. `from_lists` is the same door for Python callers, strict about shapes:
sacrebleu's `refs[k][i]` in place of `references[i]` must not give a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from mtgauge.data import checks, columns, readers
from mtgauge.data.columns import Argument, Column
from mtgauge.data.seal import text_digest
from mtgauge.data.spool import Spool
from mtgauge.errors import InputError, UsageError

_TURNED = "These look like sacrebleu's transposed lists: give references[i] for segment i."


@dataclass(frozen=True)
class Chunk:
    """Some consecutive segments of every column."""

    systems: dict[str, list[str]]
    sources: list[str] | None
    references: list[tuple[str, ...]] | None
    columns: dict[str, list[str]] = field(default_factory=dict)  # facts of segments, by name

    def __len__(self) -> int:
        return len(next(iter(self.systems.values())))

    @classmethod
    def joined(cls, parts: Sequence[Chunk]) -> Chunk:
        """Consecutive chunks as one."""
        first = parts[0]
        return cls(
            {name: [t for part in parts for t in part.systems[name]] for name in first.systems},
            None if first.sources is None else [t for p in parts for t in p.sources or ()],
            None if first.references is None else [t for p in parts for t in p.references or ()],
            {name: [t for part in parts for t in part.columns[name]] for name in first.columns},
        )

    def unescaped(self) -> Chunk:
        """The chunk with HTML escapes undone in all its texts."""
        undo = checks.unescape
        return Chunk(
            {name: [undo(t) for t in texts] for name, texts in self.systems.items()},
            None if self.sources is None else [undo(t) for t in self.sources],
            None
            if self.references is None
            else [tuple(undo(t) for t in row) for row in self.references],
            self.columns,
        )

    def only(self, i: int) -> Chunk:
        """One of its segments."""
        return self._part(slice(i, i + 1))

    def parts(self, size: int) -> Iterator[Chunk]:
        """The chunk in chunks of so many segments."""
        for start in range(0, len(self), size):
            yield self._part(slice(start, start + size))

    def _part(self, rows: slice) -> Chunk:
        return Chunk(
            {name: texts[rows] for name, texts in self.systems.items()},
            None if self.sources is None else self.sources[rows],
            None if self.references is None else self.references[rows],
            {name: values[rows] for name, values in self.columns.items()},
        )


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
    documents: Column | None = None  # the document of each segment
    columns: dict[str, Column] = field(default_factory=dict)  # other facts of segments, by name
    spool: Spool = field(default_factory=Spool, repr=False)

    def __post_init__(self) -> None:
        self._stamps = [_stamp(column) for column in self.all_columns()]

    def __enter__(self) -> Corpus:
        return self

    def __exit__(self, *fault: object) -> None:
        self.spool.close()

    @classmethod
    def from_arguments(
        cls,
        systems: Sequence[Argument],
        source: Argument | None,
        references: Sequence[Argument],
        documents: str | None = None,
        by: Sequence[str] = (),
    ) -> Corpus:
        """From what follows -t, -s, -r, --doc and --by; use it in a `with` block."""
        if [source, *systems, *references, documents, *by].count("-") > 1:
            raise UsageError("Standard input (-) can stand for one file only.")
        spool = Spool()
        try:
            found = [c for argument in systems for c in columns.column(argument, "system", spool)]
            found = [c for c in found if c.key is None or c.key not in by]
            named = dict(zip(_names(found), found, strict=True))
            refs = [c for a in references for c in columns.column(a, "reference", spool)]
            sources = None if source is None else columns.column(source, "source", spool)[0]
            if len(systems) == 1 and found[0].key is not None and found[0].path is not None:
                header = readers.header_of(found[0].path)
                name = found[0].label.removesuffix(f":{found[0].key}")
                if sources is None and columns.choose(header, "source"):
                    sources = columns.column(name, "source", spool)[0]
                if not refs and columns.choose(header, "reference"):
                    refs = columns.column(name, "reference", spool)
            texts = [*found, *refs, *([] if sources is None else [sources])]
            docs = None if documents is None else _facts(documents, texts, spool)
            facts = {name: _facts(name, texts, spool) for name in by}
            _refuse_same([*named.items()], "systems")
            _refuse_same([(c.label, c) for c in refs], "references")
        except BaseException:
            spool.close()
            raise
        return cls(named, sources, refs, docs, facts, spool)

    @classmethod
    def from_lists(
        cls,
        hypotheses: Mapping[str, Sequence[str]] | Sequence[str],
        sources: Sequence[str] | None = None,
        references: Sequence[str | Sequence[str]] | None = None,
        documents: Sequence[str] | None = None,
        by: Mapping[str, Sequence[str]] | None = None,
    ) -> Corpus:
        """From Python lists; `references[i]` is one text or a list of alternatives."""
        if not isinstance(hypotheses, Mapping):
            hypotheses = {"system": hypotheses}
        if not hypotheses:
            raise InputError("there is no system to score")
        for name in hypotheses:
            if not isinstance(name, str) or not name.strip():
                raise UsageError(f"A system is named by a text, not by {name!r}.")
        if by is not None and not isinstance(by, Mapping):
            raise UsageError(
                'by is {name: [the group of each segment]}, {"domain": ["news", ...]}.'
            )
        systems = {name: columns.from_list(v, f"system {name!r}") for name, v in hypotheses.items()}
        n = len(next(iter(systems.values())).values or ())
        if n == 0:
            raise InputError("there are no segments to score")
        refs = None if references is None else columns.alternatives(references)
        if refs is not None and len(refs) != n:
            lists = all(isinstance(entry, list | tuple) for entry in references or ())
            hint = f" {_TURNED}" if lists and all(len(row) == n for row in refs) else ""
            raise InputError(
                f"{n} hypotheses but {len(refs)} entries in references",
                remedy="references[i] belongs to hypothesis i: one text or a list." + hint,
            )
        for name, column in systems.items() if refs is not None else ():
            texts = [str(text) for text in column.values or ()]
            if len(texts) == n and columns.seem_turned(refs or (), texts):
                raise InputError(f"the references of {name!r} fit better turned", remedy=_TURNED)
            columns.refuse_tokens(refs or (), texts)
        source = None if sources is None else columns.from_list(sources, "sources")
        docs = None if documents is None else columns.from_list(documents, "documents")
        facts = {name: columns.from_list(v, f"by {name!r}") for name, v in (by or {}).items()}
        return cls(systems, source, [] if refs is None else _reference_columns(refs), docs, facts)

    def all_columns(self) -> list[Column]:
        first = [self.sources] if self.sources is not None else []
        last = [self.documents] if self.documents is not None else []
        return [*first, *self.references, *self.systems.values(), *self.columns.values(), *last]

    def files(self) -> dict[str, Any]:
        """What was read, by role: file names, or what messages call a list in memory."""
        return {
            "source": None if self.sources is None else self.sources.label,
            "references": [column.label for column in self.references],
            "systems": {name: column.label for name, column in self.systems.items()},
            "digest": text_digest(self._given()).hex(),
        }

    def _given(self) -> Iterator[str]:
        """What is the same for every system: tells one test set from another."""
        for cell in self.sources or ():
            yield from columns.flat(cell)
        yield from self.reference_texts()

    def reference_texts(self) -> Iterator[str]:
        for each in self.references:
            for cell in each:
                yield from columns.flat(cell)

    def chunks(self, size: int) -> Iterator[Chunk]:
        """Chunks of `size` segments; files of different length are refused at the end."""
        sides = self.all_columns()
        missing = object()
        rows = zip_longest(*sides, fillvalue=missing)
        while block := list(islice(rows, size)):
            if any(cell is missing for cell in block[-1]):
                lengths = [np.array([len(text) for text in c]) for c in sides]
                raise checks.refuse_uneven([c.label for c in sides], lengths)
            yield self._chunk(block)
        for column, stamp in zip(sides, self._stamps, strict=True):
            if _stamp(column) != stamp:
                raise InputError(
                    "the file was changed while it was read",
                    file=column.label,
                    remedy="Wait until it is finished, then run this again.",
                )

    def _chunk(self, block: list[tuple[Any, ...]]) -> Chunk:
        cells = [list(column) for column in zip(*block, strict=True)]
        sources = cells.pop(0) if self.sources is not None else None
        count = len(self.references)
        references = None
        if count:
            rows = zip(*cells[:count], strict=True)
            references = [
                tuple(text for cell in row for text in columns.flat(cell)) for row in rows
            ]
        if self.documents is not None:
            cells.pop()
        middle = count + len(self.systems)
        systems = dict(zip(self.systems, cells[count:middle], strict=True))
        facts = dict(zip(self.columns, cells[middle:], strict=True))
        return Chunk(systems, sources, references, facts)


def _stamp(column: Column) -> tuple[int, ...]:
    """Size, time and identity of a column's file."""
    if column.path is None:
        return ()
    try:
        about = column.path.stat()
    except OSError:
        return (-1,)
    return about.st_size, about.st_mtime_ns, about.st_dev, about.st_ino


def _facts(argument: str, texts: Sequence[Column], spool: Spool) -> Column:
    """`--doc`, `--by`: a column of a table that is read anyway, or a file of its own."""
    headers: dict[str, list[str]] = {}
    for column in texts:
        if column.key is not None and column.path is not None:
            name = column.label.removesuffix(f":{column.key}")
            headers[name] = readers.header_of(column.path, name)
            if argument in headers[name]:
                return replace(column, label=f"{name}:{argument}", key=argument, lists=False)
    is_bare = argument != "-" and not re.search("[/:]", argument)
    if headers and is_bare and not Path(argument).exists():
        name, header = next(iter(headers.items()))
        raise InputError(
            f"there is no column {argument!r}, and no file of that name",
            file=name,
            line=1,
            remedy=f"The columns are: {', '.join(header)}.",
        )
    return columns.column(argument, "system", spool)[0]


def _reference_columns(rows: list[tuple[str, ...]]) -> list[Column]:
    """One column per alternative; one in all where segments have different numbers of them."""
    if len({len(row) for row in rows}) > 1:
        return [Column("references", values=rows)]
    return [
        Column("references" if len(rows[0]) == 1 else f"references {k}", values=texts)
        for k, texts in enumerate(map(list, zip(*rows, strict=True)), start=1)
    ]


def _refuse_same(named: Sequence[tuple[str, Column]], what: str) -> None:
    """One file under two paths would be a comparison of a text with itself."""
    seen: dict[tuple[int, int, str | None], str] = {}
    for name, column in named:
        if column.path is not None:
            stat = column.path.stat()
            key = (stat.st_dev, stat.st_ino, column.key)
            if key in seen:
                names = f"{seen[key]} and {name}"
                raise UsageError(f"The {what} {names} are the same file: name it once.")
            seen[key] = name


def _names(found: Sequence[Column]) -> list[str]:
    """A system's name: its column, its file's stem, or as much of the path as tells it apart."""
    if all(c.key is None for c in found):
        paths = [Path(c.label) for c in found]
        labels = ["stdin" if c.label == "standard input" else None for c in found]
        for depth in range(1, max(len(p.parts) for p in paths) + 1):
            names = [
                label or "/".join((*p.parts[-depth:-1], columns.stem(p)))
                for p, label in zip(paths, labels, strict=True)
            ]
            if len(set(names)) == len(names):
                return names
        names = [label or str(p) for p, label in zip(paths, labels, strict=True)]
    else:
        names = [columns.own_name(c) or columns.stem(c.path or Path(c.label)) for c in found]
        if len(set(names)) < len(names):
            names = [f"{columns.stem(c.path)}:{c.key}" if c.path else c.label for c in found]
    if len(set(names)) < len(names):
        twice = next(n for n in names if names.count(n) > 1)
        raise UsageError(f"The system {twice!r} is given twice: name each file once after -t.")
    return names
