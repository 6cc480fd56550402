"""Segment scores of metrics that other tools computed, for the translations of a run.

    read("comet.json", {"a": "a.txt", "b": "b.txt"})        [Foreign("COMET", ...)]

    plain     one score per line; for several systems all lines of the first, then of the second ...
    table     .tsv, .csv or .jsonl with a header: columns `system`, `segment` (1 is the first; or
              `sid`) and one per metric. `segment` may be left out where rows are in order, `system`
              where there is one system or they follow each other as in a plain file
    JSON      what `comet-score --to_json` writes: {FILE: [{"src": ..., "mt": ..., "COMET": 0.8}]}

A metric is called as its column, or as the file where the column is only `score` or `prediction`.
Nothing is guessed: a system that is not scored here, a segment without a score or with two, and a
wrong number of scores are refused with file and line. An empty cell (or NA, NaN) is a segment that
the metric did not score.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mtgauge.data import columns, readers
from mtgauge.data.codes import usual
from mtgauge.data.scores import NOT_METRICS
from mtgauge.data.spool import Spool
from mtgauge.errors import InputError, UsageError

_NAMELESS = frozenset({"score", "scores", "prediction", "value"})
_OTHER = NOT_METRICS | set("segment src mt ref variance doc document line human DA".split())
Row = tuple[int | None, dict[str, Any]]  # line, where there are lines, and cells by name


@dataclass(frozen=True)
class Foreign:
    """Scores by system, in the order of the segments."""

    name: str
    label: str  # where they come from
    scores: Mapping[str, NDArray[np.float64]]
    lines: Mapping[str, Sequence[int | None]] = field(default_factory=dict)

    def check(self, systems: Sequence[str], segments: int) -> None:
        """Refuse scores that are not one for every segment of every system."""
        missing = [name for name in systems if name not in self.scores]
        if missing:
            raise InputError(f"{self.name}: no scores of {', '.join(missing)}", file=self.label)
        for name in systems:
            found, lines = len(self.scores[name]), self.lines.get(name, ())
            if found != segments:
                at = segments if found > segments else found - 1
                headed = found == segments - 1 and lines and lines[0] == 2
                raise InputError(
                    f"{self.name}: {found:,} scores of {name}, which has {segments:,} segments",
                    file=self.label,
                    line=lines[at] if at < len(lines) else None,
                    remedy="Score the same files, one score per segment"
                    + (", all of the first system, then of the second." if systems[1:] else ".")
                    + (" Line 1 was read as the name of the column." if headed else ""),
                )


def given(scores: Mapping[str, Any], systems: Sequence[str]) -> list[Foreign]:
    """From Python: {metric: {system: [one score per segment]}}."""
    if not isinstance(scores, Mapping):
        raise UsageError("scores is {metric: {system: [one score per segment]}}.")
    found = []
    for name, by_system in scores.items():
        label = f"scores[{name!r}]"
        if not isinstance(by_system, Mapping):
            raise UsageError(f"{label} is not {{system: [one score per segment]}}.")
        for system in by_system:
            _known(system, {name: name for name in systems}, label, None)
        arrays = {s: _numbers(values, f"{label}[{s!r}]") for s, values in by_system.items()}
        found.append(Foreign(name, label, arrays))
    return found


def _numbers(values: Any, what: str) -> NDArray[np.float64]:
    """A list, array or series of numbers; NaN is a segment that was not scored."""
    listed = columns.checked_list(values, what)
    for i, value in enumerate(listed):
        if not isinstance(value, int | float | np.number) or isinstance(value, bool):
            raise InputError(
                f"{what}[{i}] is {type(value).__name__}, not a number",
                remedy="Give one number per segment; NaN for a segment without a score.",
            )
    found = np.array(listed, dtype=np.float64)
    if np.isinf(found).any():
        raise InputError(f"{what}[{int(np.argmax(np.isinf(found)))}] is infinite")
    return found


def read(path: str | Path, systems: Mapping[str, str], lang: str | None = None) -> list[Foreign]:
    """Every metric of a file; `systems` are their names, each with the file that it stands for."""
    path = Path(path)
    with Spool() as spool:
        file = spool.reusable(path)
        readers.must_exist(file)
        if readers.plain_name(path).endswith(".json"):
            return _read_json(file, path, systems)
        rows: list[Row] = [*readers.score_rows(file, str(path))]
    if readers.is_plain(rows):
        name = columns.stem(path)
        return [_stacked(name, path, [(at, {name: row[""]}) for at, row in rows], systems)]
    if lang is not None:
        rows = [(at, row) for at, row in rows if "lp" not in row or usual(str(row["lp"])) == lang]
    if not rows:
        raise InputError(f"no scores{f' of {lang}' if lang else ''}", file=path, line=1)
    return [_metric(name, path, rows, systems) for name in _metrics(rows, path)]


def _metrics(rows: Sequence[Row], path: Path) -> list[str]:
    names = dict.fromkeys(name for _, row in rows for name in row)
    found = [n for n in names if n not in _OTHER and any(_is_score(row.get(n)) for _, row in rows)]
    if not found:
        raise InputError(
            f"no column of scores; there are {', '.join(names)}",
            file=path,
            line=rows[0][0],
            remedy="Columns: system segment METRIC ...; or one number per line.",
        )
    return found


def _metric(column: str, path: Path, rows: Sequence[Row], systems: Mapping[str, str]) -> Foreign:
    name = columns.stem(path) if column.lower() in _NAMELESS else column
    cells: list[Row] = [(at, {**row, name: row.get(column)}) for at, row in rows]
    if "system" not in rows[0][1]:
        return _stacked(name, path, cells, systems)
    by_system: dict[str, list[Row]] = {}
    for at, row in cells:
        by_system.setdefault(_known(str(row.get("system")), systems, str(path), at), []).append(
            (at, row)
        )
    return _foreign(name, path, by_system)


def _stacked(name: str, path: Path, rows: Sequence[Row], systems: Mapping[str, str]) -> Foreign:
    """Rows that name no system: as many of each, one system after the other."""
    each, rest = divmod(len(rows), len(systems))
    if rest:
        raise InputError(
            f"{len(rows):,} scores cannot be those of {len(systems)} systems",
            file=path,
            line=rows[-1][0],
            remedy="One per segment, all of the first system, then all of the second; or a table "
            "with the columns system, segment and score.",
        )
    parts = {system: rows[i * each : (i + 1) * each] for i, system in enumerate(systems)}
    return _foreign(name, path, parts)


def _foreign(name: str, path: Path, by_system: Mapping[str, Sequence[Row]]) -> Foreign:
    ordered = {system: _in_order(rows, system, path) for system, rows in by_system.items()}
    return Foreign(
        name,
        str(path),
        {
            system: np.array([readers.number_of(row, name, path, at or 0) for at, row in rows])
            for system, rows in ordered.items()
        },
        {system: [at for at, _ in rows] for system, rows in ordered.items()},
    )


def _in_order(rows: Sequence[Row], system: str, path: Path) -> list[Row]:
    """Rows by their segment numbers, which run from 1 without a gap; as they are without any."""
    key = next((name for name in ("segment", "sid") if name in rows[0][1]), None)
    if key is None:
        return list(rows)
    found: dict[int, Row] = {}
    for at, row in rows:
        text = str(row.get(key))
        if not text.isdecimal() or int(text) < 1:
            raise InputError(f"{text!r} is not the number of a segment", file=path, line=at)
        if int(text) in found:
            raise InputError(f"segment {text} of {system} stands twice", file=path, line=at)
        found[int(text)] = (at, row)
    for number in range(1, max(found) + 1):
        if number not in found:
            raise InputError(f"{system} has no score of segment {number}", file=path)
    return [found[number] for number in sorted(found)]


def _read_json(file: Path, path: Path, systems: Mapping[str, str]) -> list[Foreign]:
    try:
        with readers.open_bytes(file) as handle:
            data = json.load(handle)
    except (ValueError, *readers.DAMAGE) as error:  # not JSON, not UTF-8, cut off
        raise InputError(f"cannot be read as JSON ({error})", file=path) from None
    if not isinstance(data, dict) or not all(_is_list_of_rows(rows) for rows in data.values()):
        raise InputError(
            "not what comet-score --to_json writes",
            file=path,
            remedy='Write {"SYSTEM": [{"COMET": 0.81}, ...], ...}, or one number per line.',
        )
    rows: list[Row] = [
        (None, {**row, "system": system, "segment": number})
        for system, entries in data.items()
        for number, row in enumerate(entries, 1)
    ]
    return [_metric(name, path, rows, systems) for name in _metrics(rows, path)]


def _is_list_of_rows(entries: object) -> bool:
    return isinstance(entries, list) and all(isinstance(entry, dict) for entry in entries)


def _is_score(cell: object) -> bool:
    if isinstance(cell, str):
        return readers.is_number(cell)
    return isinstance(cell, float | int) and not isinstance(cell, bool)


def _known(found: str, systems: Mapping[str, str], label: str, line: int | None) -> str:
    """The system of the run that is meant: by name, by its file, or by the file's stem."""
    if found in systems:
        return found
    for name, file in systems.items():
        if found == file:
            return name
    if (stem := columns.stem(Path(found))) in systems:
        return stem
    raise InputError(
        f"scores of {found!r}, which is not scored here",
        file=label,
        line=line,
        remedy=f"Systems of this run: {', '.join(systems)}.",
    )
