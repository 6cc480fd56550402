"""A printed table beside ours: which of our rows belongs to which printed one, and why none does.

    for line in lines(found): line.printed, line.ours, line.reason
    cells(found)                 every printed number: ours, how it was got, or why there is none
    defaults(found)              mtgauge's defaults on the same data; their settings are not the
                                 paper's, so they stand in no printed row

A row of ours is `same` (the paper's own metric, or its submitted scores) or `method`: the paper's
method with all its switches, where a model of the package stands in for the paper's. `mean_gap` is
the mean of ours minus printed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from mtgauge.meta import tables
from mtgauge.meta.rows import Row

if TYPE_CHECKING:
    from mtgauge.meta.study import Findings

Values = dict[str, float]  # column of a printed table -> our value
How = Literal["same", "method", ""]


@dataclass(frozen=True)
class Line:
    """A printed row, with what we have for it."""

    printed: tables.Printed
    ours: dict[str, Values]  # by spec
    reason: str  # what the paper's own number would need; "" where nothing is missing
    unserved: dict[str, str] = field(default_factory=dict)  # column -> why it is empty
    sampled: Mapping[str, int] = field(default_factory=dict)  # spec -> segments per pair it scored
    taught: Mapping[str, str] = field(default_factory=dict)  # spec -> on how much it was trained

    def how(self, spec: str) -> How:
        return "method" if spec == tables.recipe(self.printed).method else "same"

    def label(self, spec: str) -> str:
        """Our row's name; a stand-in says for what it stands, a model how much it was taught, a
        sample how large it is."""
        made = tables.recipe(self.printed)
        said = [made.stand_in] if self.how(spec) == "method" else []
        said += [self.taught[spec]] if spec in self.taught else []
        said += [sample(self.sampled[spec])] if spec in self.sampled else []
        return f"{spec} ({'; '.join(said)})" if said else spec


@dataclass(frozen=True)
class CellPair:
    """A printed number and ours."""

    row: str
    column: str
    printed: float
    ours: float | None
    spec: str
    how: How
    reason: str  # why there is none of ours

    @property
    def gap(self) -> float | None:
        return None if self.ours is None else self.ours - self.printed


def sample(segments: int) -> str:
    """How a row says that its metric scored a part of the texts."""
    return f"{segments} segments per pair"


def lines(found: Findings) -> list[Line]:
    """Each printed row of the experiment, in print's order."""
    return [_line(printed, found) for printed in found.printed]


def cells(found: Findings) -> list[CellPair]:
    """Every number that the table prints; correlations without sign are compared without."""
    return [pair for line in lines(found) for pair in _cells(line)]


def defaults(found: Findings) -> dict[str, Values]:
    """mtgauge's defaults on the table's columns, by spec."""
    printed = found.printed[0]
    wanted = [spec for spec in tables.DEFAULTS[printed.paper] if not _is_printed(spec, found)]
    return {spec: values for spec in wanted if (values := _values(spec, printed, found.rows))}


def others(found: Findings) -> dict[str, Values]:
    """Metrics that were asked for and are in no printed row, nor among the defaults."""
    shown = {spec for line in lines(found) for spec in line.ours} | set(defaults(found))
    printed = found.printed[0]
    names = dict.fromkeys(row.metric for row in found.rows if row.metric not in shown)
    return {name: values for name in names if (values := _values(name, printed, found.rows))}


def mean_gap(pairs: Sequence[CellPair]) -> float | None:
    """Mean of ours minus printed, over what has both; None without any.

    >>> mean_gap([CellPair("r", "de-en", 0.5, 0.6, "bleu", "same", "")])
    0.1
    """
    gaps = [pair.gap for pair in pairs if pair.gap is not None]
    return round(math.fsum(gaps) / len(gaps), 6) if gaps else None


def reduction(high: float, low: float) -> float:
    """How many per cent of the correlation are lost among bad translations.

    >>> round(reduction(0.553, 0.464), 2)
    16.09
    """
    return 100 * (high - low) / high


def _line(printed: tables.Printed, found: Findings) -> Line:
    if printed.note == tables.OTHER_DATA:
        return Line(printed, {}, f"a printed number of this data: {tables.NOTES[printed.note]}")
    made, missing = tables.recipe(printed), found.missing
    mine = [row for row in found.rows if _belongs(row, printed)]
    names = list(dict.fromkeys(row.metric for row in mine))
    ours = {name: _values(name, printed, mine) for name in names}
    ours = {name: values for name, values in ours.items() if values}
    unserved = {row.lp: row.unserved for row in mine if row.unserved}
    if any(name != made.method for name in ours):
        return Line(printed, ours, "", unserved, found.sampled, found.taught)
    reasons = [made.missing] if made.missing else []
    tried = made.method if made.missing else made.spec
    if not (found.rows or found.scored):
        reasons.insert(0, tables.data_needed(printed))
    elif made.spec and _only_scores(found):
        if not made.missing.startswith(tables.TEXTS):
            reasons.insert(0, f"{tables.TEXTS}{printed.dataset[:5]}")
    elif tried in missing:
        what = "its method on our models" if made.missing else "not run here"
        reasons.append(f"{what}: {missing[tried].rstrip('.')}")
    if not reasons:
        reasons.append("the table's language pairs in this data")
    return Line(printed, ours, "; ".join(reasons), unserved, found.sampled, found.taught)


def _only_scores(found: Findings) -> bool:
    texts = [item.hypotheses for item, _ in found.scored]
    return bool(texts) and not any(texts)


def _belongs(row: Row, printed: tables.Printed) -> bool:
    """Whether a row of ours is the printed one, or its method on our models."""
    made = tables.recipe(printed)
    named = row.metric in (made.spec, made.method)
    if not named and row.metric in tables.DEFAULTS[printed.paper]:
        return False
    if printed.statistic == tables.BANDS or row.unserved:
        return named
    key = (printed.paper, printed.table, printed.metric, printed.statistic)
    entries = row.paper or []
    return any((e["paper"], e["table"], e["metric"], e["statistic"]) == key for e in entries)


def _values(metric: str, printed: tables.Printed, rows: Sequence[Row]) -> Values:
    """A metric's values on the columns of a printed row."""
    mine = [row for row in rows if row.metric == metric]
    if printed.statistic == tables.BANDS:
        return _bands(mine)
    found = {
        "Average" if row.over else row.lp: row.values[printed.statistic]
        for row in mine
        if printed.statistic in row.values and "[" not in row.data
    }
    return {column: value for column, value in found.items() if column in printed.cells}


def _cells(line: Line) -> list[CellPair]:
    best = sorted(line.ours, key=lambda spec: line.how(spec) == "method")
    found = []
    for column, cell in line.printed.cells.items():
        if cell.value is None:
            continue
        spec = next((s for s in best if not math.isnan(line.ours[s].get(column, math.nan))), "")
        ours = _unsigned(line, spec, column) if spec else None
        how: How = line.how(spec) if spec else ""
        reason = "" if spec else line.reason or line.unserved.get(column, "no such pair here")
        found.append(CellPair(line.printed.metric, column, cell.value, ours, spec, how, reason))
    return found


def _unsigned(line: Line, spec: str, column: str) -> float:
    """Our value; without signs where the paper hides them, in an average those of its cells."""
    values, printed = line.ours[spec], line.printed.cells
    if printed[column].note not in tables.HIDES_SIGN:
        return values[column]
    pairs = [lp for lp in printed if lp != "Average"]
    if column == "Average" and all(lp in values for lp in pairs):
        return math.fsum(abs(values[lp]) for lp in pairs) / len(pairs)
    return abs(values[column])


def _is_printed(spec: str, found: Findings) -> bool:
    return any(spec == tables.recipe(printed).spec for printed in found.printed)


def _bands(rows: Sequence[Row]) -> Values:
    """r of one metric over all pooled pairs and by quality band, and what is lost between."""
    found: Values = {}
    for row in rows:
        if row.lp == "pooled":
            band = row.data.partition("[")[2].rstrip("]")
            column = {"": "All", "human >= 0": "DA>=0.0", "human < 0": "DA<0.0"}[band]
            found[column] = row.values["pearson"]
    if {"DA>=0.0", "DA<0.0"} <= set(found):
        found["reduction_percent"] = reduction(found["DA>=0.0"], found["DA<0.0"])
    return found
