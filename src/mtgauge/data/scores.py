"""Scores that came from anywhere else, to be correlated like our own.

    system level    lp system METRIC METRIC ...          tab- or comma-separated, with a header
    segment level   lp system sid METRIC METRIC ...      `lp` may be left out with -l
    plain           one score per line, in the order of the judged segments' file

    read_scores("sys-level_scores_metrics.csv")   with human scores (`human`, or WMT's `DA`):
                                                  judgements of their own
    attach(judgements, read_scores("mine.tsv"))   without: beside judgements, by system and sid

The official WMT19 table of system-level scores is such a file. An empty cell is a metric that did
not score that translation: NaN, and it is counted, not guessed. Which direction is better is not
in the file: higher, unless the caller says otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mtgauge.data import readers
from mtgauge.data.codes import usual
from mtgauge.data.judgements import FloatArray, Judgements, data_name, dataset_name
from mtgauge.data.spool import Spool
from mtgauge.errors import InputError, UsageError

PLAIN = ""  # the language pair of a plain list of scores, which names none
_HUMAN = ("human", "DA", "HUMAN")
NOT_METRICS = frozenset(
    "lp system sid segid testset data year raw n source reference hypothesis id index refset "
    "ensemble available".split()
)


def read_scores(path: str | Path, lang: str | None = None) -> list[Judgements]:
    """Scores by language pair; `lang` names the pair if no column does.

    Human scores are NaN where the file has none. A system-level file has `system_scores` and no
    rows; a plain list has the pair `PLAIN`.
    """
    with Spool() as spool:
        return _read(spool.reusable(Path(path)), lang)


def _read(path: Path, lang: str | None) -> list[Judgements]:
    found = readers.score_rows(path)
    if readers.is_plain(found):
        return [_plain(path, found)]
    rows: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for number, row in found:
        if "system" not in row or ("lp" not in row and lang is None):
            raise InputError(
                f"the header needs lp and system; it has {', '.join(row)}",
                file=path,
                line=1,
                remedy="Columns: lp system [sid] METRIC ...; lp may be left out with -l de-en.",
            )
        rows.setdefault(usual(str(row.get("lp", lang))), []).append((number, row))
    if not rows:
        raise InputError("a header but no scores", file=path)
    return [_read_pair(path, lp, members) for lp, members in rows.items()]


def _plain(path: Path, rows: Sequence[tuple[int, dict[str, Any]]]) -> Judgements:
    values = [readers.parse_score(row[""], path, number, "1") for number, row in rows]
    return Judgements(
        data=data_name(path),
        lp=PLAIN,
        systems=[""] * len(values),
        sids=[str(i) for i in range(1, len(values) + 1)],
        human=np.full(len(values), np.nan),
        scores={data_name(path): np.array(values)},
    )


def _read_pair(path: Path, lp: str, rows: Sequence[tuple[int, dict[str, Any]]]) -> Judgements:
    header = rows[0][1]
    metrics = [n for n in header if n and n not in NOT_METRICS and n not in _HUMAN]
    if not metrics:
        raise InputError("no column of metric scores", file=path, line=1)
    systems = [row["system"] for _, row in rows]
    sids = [row.get("sid", "") for _, row in rows]
    seen: set[tuple[str, str]] = set()
    for (number, _), *key in zip(rows, systems, sids, strict=True):
        if tuple(key) in seen:
            raise InputError(f"{lp} {' '.join(key).strip()} stands twice", file=path, line=number)
        seen.add((key[0], key[1]))

    def column(name: str) -> FloatArray:
        return np.array([readers.number_of(row, name, path, number) for number, row in rows])

    columns = {name: column(name) for name in metrics}
    named = next((name for name in _HUMAN if name in header), None)
    human = np.full(len(rows), np.nan) if named is None else column(named)
    whole = Judgements(data_name(path), lp, systems, sids, human, dataset=dataset_name(path))
    if "sid" in header:
        return replace(whole, scores=columns)
    return replace(
        whole,
        systems=[],
        sids=[],
        human=np.empty(0),
        system_human=_by_system(systems, human),
        system_scores={name: _by_system(systems, values) for name, values in columns.items()},
    )


def is_judged(table: Judgements) -> bool:
    """Whether a table of scores brings human scores of its own."""
    return bool(table.system_human) or not np.isnan(table.human).all()


def attach(judgements: Sequence[Judgements], tables: Sequence[Judgements]) -> list[Judgements]:
    """The judgements with scores beside them; NaN where the tables have none."""
    if tables[0].lp == PLAIN:
        return _attach_lines(judgements, tables[0])
    by_pair = {table.lp: table for table in tables}
    if not any(item.lp in by_pair for item in judgements):
        wanted = ", ".join(sorted({item.lp for item in judgements}))
        raise InputError(f"no scores of {wanted} in {tables[0].data}")
    names = dict.fromkeys(name for table in tables for name in table.scores)
    found = []
    for item in judgements:
        table = by_pair.get(item.lp)
        columns = {name: np.full(len(item), np.nan) for name in names}
        systems = dict(item.system_scores)
        if table is not None:
            row_of = {key: i for i, key in enumerate(zip(table.systems, table.sids, strict=True))}
            rows = [row_of.get(key, -1) for key in zip(item.systems, item.sids, strict=True)]
            columns = {n: np.append(values, np.nan)[rows] for n, values in table.scores.items()}
            systems |= table.system_scores
        found.append(replace(item, scores={**item.scores, **columns}, system_scores=systems))
    return found


def _attach_lines(judgements: Sequence[Judgements], table: Judgements) -> list[Judgements]:
    """Plain scores, matched by line: the header of the judged file is line 1, its first row 2."""
    total = sum(len(item) for item in judgements)
    if len(table) != total:
        raise InputError(
            f"{table.data} has {len(table)} scores for {total} judged segments",
            remedy="One score per line, in the order of the judged segments; no -l selection.",
        )
    lines = [item.lines for item in judgements if item.lines is not None]
    found = np.sort(np.concatenate(lines)) if lines else np.empty(0)
    if not np.array_equal(found, np.arange(2, total + 2)):
        raise UsageError(
            f"{table.data} is a plain list of scores: that needs one TSV of judged segments."
        )
    ((name, values),) = table.scores.items()
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
