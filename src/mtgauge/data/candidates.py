"""Candidates grouped by segment, from files.

    read(Path("cands.txt"), n=5)          n lines per segment, one after the other
    read(Path("cands.jsonl"))             {"source": "...", "candidates": ["...", ...]}
    read(Path("cands.nbest"))             Moses: 0 ||| text ||| features ||| score

Refused: lines that are not a multiple of n, a segment without candidates, n-best lists that do not
count from 0 without gaps, where a list may have been lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mtgauge.data import readers
from mtgauge.errors import InputError, UsageError


@dataclass
class Candidates:
    groups: list[list[str]] = field(default_factory=list)
    sources: list[str] | None = None  # where the file has them


def read(
    path: Path,
    n: int | None = None,
    *,
    label: str | None = None,
    column: str = "candidates",
    source: str = "source",
) -> Candidates:
    """The candidates of a file, by its ending; `label` is what messages call it."""
    name = label or str(path)
    kind = (
        "nbest" if readers.plain_name(Path(name)).endswith(".nbest") else readers.table_kind(path)
    )
    if kind in ("tsv", "csv"):
        raise UsageError(f"{name}: candidates come as plain lines (-n N), .jsonl or .nbest.")
    if kind is None:
        if n is None:
            raise UsageError("How many candidates has a segment? Give -n N.")
        return Candidates(_lines(path, n, name))
    if n is not None:
        raise UsageError(f"-n is for plain lines: {name} says itself how many there are.")
    return _objects(path, name, column, source) if kind == "jsonl" else _moses(path, name)


def _lines(path: Path, n: int, name: str) -> list[list[str]]:
    if n < 1:
        raise UsageError("-n is 1 or more.")
    texts = [text for _, text in readers.raw_lines(path, name)]
    if len(texts) % n:
        raise InputError(
            f"{len(texts):,} lines are not {n} for every segment",
            file=name,
            remedy=f"{len(texts) // n:,} segments would leave {len(texts) % n} line(s) over.",
        )
    return [texts[i : i + n] for i in range(0, len(texts), n)]


def _objects(path: Path, name: str, column: str, source: str) -> Candidates:
    found = Candidates()
    sources: list[str] = []
    for line, row in readers.rows(path, name):
        found.groups.append(_list(row, column, name, line))
        if source in row:
            sources.append(readers.text_of(row, source, name, line))
    if sources and len(sources) != len(found.groups):
        raise InputError(f"some lines have a {source!r} and some have none", file=name)
    found.sources = sources or None
    return found


def _list(row: dict[str, Any], column: str, name: str, line: int) -> list[str]:
    values = row.get(column)
    if not isinstance(values, list) or not values:
        what = "is missing" if column not in row else "is no list of texts, or empty"
        raise InputError(
            f"the value of {column!r} {what}",
            file=name,
            line=line,
            remedy=f"The line has: {', '.join(row)}. Name another with --candidates-column.",
        )
    return [readers.text_of({column: value}, column, name, line) for value in values]


def _moses(path: Path, name: str) -> Candidates:
    groups: list[list[str]] = []
    for line, text in readers.raw_lines(path, name):
        parts = [part.strip() for part in text.split("|||")]
        if len(parts) < 2 or not parts[0].isdecimal():
            raise InputError(
                "this is no line of an n-best list", file=name, line=line,
                remedy="It looks like: 0 ||| text ||| features ||| score.",
            )  # fmt: skip
        number = int(parts[0])
        if number == len(groups):
            groups.append([])
        elif number != len(groups) - 1:
            raise InputError(
                f"segment {number} comes after segment {len(groups) - 1}", file=name, line=line,
                remedy="Lists count from 0, in order and without gaps.",
            )  # fmt: skip
        groups[-1].append(parts[1])
    return Candidates(groups)


def moses_lines(
    groups: Sequence[Sequence[str]],
    orders: Sequence[Sequence[int]],
    scores: dict[str, Any],
    total: Sequence[Any],
) -> str:
    """An n-best list, the best first, with every score as a feature."""
    lines = []
    for s, order in enumerate(orders):
        for i in order:
            features = " ".join(f"{name}= {float(x[s][i])!r}" for name, x in scores.items())
            lines.append(f"{s} ||| {groups[s][i]} ||| {features} ||| {float(total[s][i])!r}\n")
    return "".join(lines)
