"""Scores that came from anywhere else, to be correlated like our own.

    system level    lp system METRIC METRIC ...          tab- or comma-separated, with a header
    segment level   lp system sid METRIC METRIC ...      `lp` may be left out with -l
    plain           one score a line, in the order of the judged segments' file

    table = read_scores("sys-level_scores_metrics.csv")
    table.judgements()           where the file has human scores of its own (`human`, or WMT's `DA`)
    table.attach(judgements)     else: scores beside the judgements, matched by system and sid

The official WMT19 table of system-level scores is such a file. An empty cell is a metric that did
not score that translation: NaN, and it is counted, not guessed. Which direction is better is not
in the file: higher, unless the caller says otherwise.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from mtgauge.data import readers
from mtgauge.data.judgements import (
    FloatArray,
    Judgements,
    data_name,
    dataset_name,
    parse_score,
)
from mtgauge.errors import InputError, UsageError

_HUMAN = ("human", "DA", "HUMAN")
_NOT_METRICS = frozenset(
    "lp system sid segid testset data year raw n source reference hypothesis id index refset "
    "ensemble available".split()
)


@dataclass(frozen=True)
class ScoreTable:
    path: Path
    metrics: Sequence[str]
    level: str  # "segment" or "system"; "lines" for a plain file
    keys: dict[str, list[tuple[str, str]]] = field(default_factory=dict)  # lp -> (system, sid)
    values: dict[str, FloatArray] = field(default_factory=dict)  # lp -> (rows, metrics)
    human: dict[str, FloatArray] | None = None  # lp -> (rows,)

    def judgements(self) -> list[Judgements]:
        """The table as judgements of its own; it must have a column of human scores."""
        if self.human is None:
            raise UsageError(
                f"{self.path} has no column {' or '.join(_HUMAN[:2])}: give the judged data too."
            )
        found = []
        for lp, keys in self.keys.items():
            columns = {name: self.values[lp][:, j] for j, name in enumerate(self.metrics)}
            systems, sids = [key[0] for key in keys], [key[1] for key in keys]
            human = self.human[lp]
            at_systems = self.level == "system"
            found.append(
                Judgements(
                    data=data_name(self.path),
                    lp=lp,
                    systems=[] if at_systems else systems,
                    sids=[] if at_systems else sids,
                    human=np.empty(0) if at_systems else human,
                    system_human=_by_system(systems, human) if at_systems else {},
                    scores={} if at_systems else columns,
                    system_scores={n: _by_system(systems, c) for n, c in columns.items()}
                    if at_systems
                    else {},
                    dataset=dataset_name(self.path),
                )
            )
        return found

    def attach(self, judgements: Sequence[Judgements]) -> list[Judgements]:
        """The judgements with these scores beside them; NaN where the table has none."""
        if self.level == "lines":
            return self._attach_lines(judgements)
        found = []
        for item in judgements:
            keys = self.keys.get(item.lp, [])
            values = self.values.get(item.lp, np.empty((0, len(self.metrics))))
            if self.level == "system":
                systems = [key[0] for key in keys]
                tables = {n: _by_system(systems, values[:, j]) for j, n in enumerate(self.metrics)}
                found.append(replace(item, system_scores={**item.system_scores, **tables}))
                continue
            row_of = {key: i for i, key in enumerate(keys)}
            rows = [row_of.get(key, -1) for key in zip(item.systems, item.sids, strict=True)]
            padded = np.vstack([values, np.full((1, len(self.metrics)), np.nan)])
            columns = {name: padded[rows, j] for j, name in enumerate(self.metrics)}
            found.append(replace(item, scores={**item.scores, **columns}))
        if not any(key for item in judgements for key in self.keys.get(item.lp, [])):
            raise InputError(
                f"no scores of {', '.join(sorted({item.lp for item in judgements}))} in here",
                file=self.path,
            )
        return found

    def _attach_lines(self, judgements: Sequence[Judgements]) -> list[Judgements]:
        total = sum(len(item) for item in judgements)
        values = self.values[""][:, 0]
        lines = [item.lines for item in judgements if item.lines is not None]
        if len(values) != total:
            raise InputError(
                f"{len(values)} scores for {total} judged segments",
                file=self.path,
                remedy="One score a line, in the order of the judged segments; no -l selection.",
            )
        found = np.sort(np.concatenate(lines)) if lines else np.empty(0)
        if not np.array_equal(found, np.arange(2, total + 2)):
            raise UsageError(
                f"{self.path} is a plain list of scores: that needs one TSV of judged segments."
            )
        name = self.metrics[0]
        # the header of the judged file is line 1, so its first row is line 2
        return [
            replace(item, scores={**item.scores, name: values[item.lines - 2]})
            for item in judgements
            if item.lines is not None
        ]


def _by_system(systems: Sequence[str], column: FloatArray) -> dict[str, float]:
    return {
        system: float(value)
        for system, value in zip(systems, column, strict=True)
        if not math.isnan(value)
    }


def read_scores(path: str | Path, lang: str | None = None) -> ScoreTable:
    """A table of scores, or a plain list of them; `lang` names the pair if no column does."""
    path = Path(path)
    lines = _lines(path)
    number, header = next(lines)
    if len(header) == 1 and _is_number(header[0]):
        column = [parse_score(header[0], path, number, "1")]
        for number, fields in lines:
            if len(fields) != 1:
                raise InputError("more than one column", file=path, line=number)
            column.append(parse_score(fields[0], path, number, "1"))
        values = {"": np.array(column)[:, None]}
        return ScoreTable(path, [data_name(path)], "lines", values=values)
    at = {name: i for i, name in enumerate(header)}
    if "system" not in at or ("lp" not in at and lang is None):
        raise InputError(
            f"the header needs lp and system; it has {', '.join(header)}",
            file=path,
            line=1,
            remedy="Columns: lp system [sid] METRIC ...; lp may be left out with -l de-en.",
        )
    human = next((name for name in _HUMAN if name in at), None)
    metrics = [n for n in header if n and n not in _NOT_METRICS and n not in _HUMAN]
    if not metrics:
        raise InputError("no column of metric scores", file=path, line=1)
    keys: dict[str, list[tuple[str, str]]] = {}
    rows: dict[str, list[list[float]]] = {}
    people: dict[str, list[float]] = {}
    seen: set[tuple[str, str, str]] = set()
    for number, fields in lines:
        if len(fields) != len(header):
            raise InputError(
                f"{len(fields)} columns where the header has {len(header)}", file=path, line=number
            )
        pair = fields[at["lp"]] if "lp" in at else str(lang)
        key = (fields[at["system"]], fields[at["sid"]] if "sid" in at else "")
        if (pair, *key) in seen:
            raise InputError(f"{pair} {' '.join(key).strip()} stands twice", file=path, line=number)
        seen.add((pair, *key))
        keys.setdefault(pair, []).append(key)
        rows.setdefault(pair, []).append(
            [parse_score(fields[at[name]], path, number, name) for name in metrics]
        )
        if human is not None:
            people.setdefault(pair, []).append(parse_score(fields[at[human]], path, number, human))
    if not keys:
        raise InputError("a header but no scores", file=path)
    return ScoreTable(
        path,
        metrics,
        "segment" if "sid" in at else "system",
        keys,
        {pair: np.array(table) for pair, table in rows.items()},
        {pair: np.array(column) for pair, column in people.items()} if human else None,
    )


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Numbered fields, by tab, or by comma where the name or the header says so."""
    readers.must_exist(path)
    lines = readers.raw_lines(path, str(path))
    number, first = next(lines)
    comma = readers.table_kind(path) == "csv" or ("," in first and "\t" not in first)
    if not comma:
        yield number, first.split("\t")
        yield from ((n, text.split("\t")) for n, text in lines)
        return
    yield number, next(csv.reader([first]))
    for n, text in lines:
        yield n, next(csv.reader([text]))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
