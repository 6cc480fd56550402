"""Rows as text: tables as the papers print them, TSV, Markdown, JSON.

One table a data set and statistic, metrics down, language pairs across, averages last; under a
metric the printed values of the papers and the differences, if asked for. A dash is a statistic
that does not apply or is undefined; the reason stands among the notes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from mtgauge._version import __version__
from mtgauge.engine.result import number
from mtgauge.meta.rows import ACCURACIES, STATISTICS, Comparison, Row
from mtgauge.meta.significance import ALPHA

TITLES = {
    "pearson": "Pearson r",
    "spearman": "Spearman rho",
    "kendall": "Kendall tau-b",
    "tau_wmt": "WMT Kendall-like tau, (Conc - Disc) / (Conc + Disc), ties against the metric",
    "robust_pearson": "Pearson r without outlier systems (MAD rule)",
    "acc_eq": "accuracy with calibrated ties, averaged over segments (chance)",
    "pairwise_accuracy": "pairwise system accuracy (chance)",
    "spa": "soft pairwise accuracy (chance)",
}
FORMATS = ("table", "tsv", "json", "markdown")
Grid = list[list[str]]


def render(
    rows: Sequence[Row], comparisons: Sequence[Comparison], format: str, *, matrix: bool = False
) -> str:
    if format == "json":
        return json.dumps(to_dict(rows, comparisons), ensure_ascii=False, indent=1) + "\n"
    if format == "tsv":
        return "".join("\t".join(cells) + "\n" for cells in long_table(rows))
    draw = markdown if format == "markdown" else plain
    blocks = []
    whole = [row for row in rows if "[" not in row.data]
    for data, level in dict.fromkeys((row.data, row.level) for row in whole):
        mine = [row for row in whole if (row.data, row.level) == (data, level)]
        for statistic in (*STATISTICS, "robust_pearson", *ACCURACIES):
            if any(not math.isnan(row.values.get(statistic, math.nan)) for row in mine):
                title = f"{data}, {level} level: {TITLES[statistic]}"
                blocks.append(title + "\n\n" + draw(pivot(mine, statistic)))
        if any("pearson" in row.intervals for row in mine):
            title = f"{data}, {level} level: 95 % intervals of Pearson r (bootstrap)"
            blocks.append(title + "\n\n" + draw(pivot(mine, "pearson", intervals=True)))
        here = [c for c in comparisons if (c.data, c.level) == (data, level)]
        blocks += _verdicts(here, draw, matrix)
        parts = [row for row in rows if row.data.startswith(f"{data}[") and row.level == level]
        if parts:
            title = f"{data}, {level} level: Pearson r by slice (number of translations)"
            blocks.append(title + "\n\n" + draw(by_slice(parts)))
    notes = notes_of(rows)
    if notes:
        blocks.append("Notes\n\n" + "\n".join(f"- {note}" for note in notes))
    return "\n\n".join(blocks) + "\n"


def pivot(rows: Sequence[Row], statistic: str, *, intervals: bool = False) -> Grid:
    """Metrics down, language pairs across, and the number of points in the last line."""
    lps = list(dict.fromkeys(row.lp for row in rows))
    grid = [["metric", *lps]]
    for metric in dict.fromkeys(row.metric for row in rows):
        mine = {row.lp: row for row in rows if row.metric == metric}
        cells = [_cell(mine.get(lp), statistic, intervals) for lp in lps]
        grid.append([metric, *cells])
        if not intervals:
            grid += _printed_lines(mine, lps, statistic)
    counts = {row.lp: row.pairs.get(statistic, row.n) for row in rows}
    what = "pairs" if any(statistic in row.pairs for row in rows) else "n"
    grid.append([what, *(str(counts[lp]) for lp in lps)])
    return grid


def by_slice(rows: Sequence[Row]) -> Grid:
    """Metrics and slices down, language pairs across, each cell with its number of points."""
    lps = list(dict.fromkeys(row.lp for row in rows))
    grid = [["metric", "slice", *lps]]
    for metric in dict.fromkeys(row.metric for row in rows):
        for data in dict.fromkeys(row.data for row in rows):
            mine = {row.lp: row for row in rows if (row.metric, row.data) == (metric, data)}
            cells = [
                f"{_cell(mine[lp], 'pearson', False)} ({mine[lp].n})" if lp in mine else "-"
                for lp in lps
            ]
            grid.append([metric, data.partition("[")[2].rstrip("]"), *cells])
    return grid


def _cell(row: Row | None, statistic: str, intervals: bool) -> str:
    if row is None:
        return "-"
    if row.unserved is not None:
        return "unserved"
    if intervals:
        found = row.intervals.get(statistic)
        return "-" if found is None else f"{found[0]:.3f}..{found[1]:.3f}"
    value = row.values.get(statistic, math.nan)
    if math.isnan(value):
        return "-"
    chance = row.chance.get(statistic)
    return f"{value:.3f}" + ("" if chance is None else f" ({chance:.2f})")


def _printed_lines(mine: dict[str, Row], lps: Sequence[str], statistic: str) -> Grid:
    """For each matching printed row: its values, and ours minus them."""
    found: dict[tuple[str, str, str], dict[str, dict[str, Any]]] = {}
    for lp, row in mine.items():
        for entry in row.paper or []:
            if entry["statistic"] == statistic:
                key = (entry["paper"], entry["table"], entry["metric"])
                found.setdefault(key, {})[lp] = entry
    grid = []
    for (paper, table, name), entries in found.items():
        values = [entries.get(lp, {}).get("value") for lp in lps]
        gaps = [entries.get(lp, {}).get("difference") for lp in lps]
        grid.append(
            [
                f"  {paper} table {table}, {name}",
                *("-" if v is None else f"{v:.3f}" for v in values),
            ]
        )
        grid.append(["  difference", *("-" if g is None else f"{g:+.3f}" for g in gaps)])
    return grid


def notes_of(rows: Sequence[Row]) -> list[str]:
    """Outcomes and remarks on printed numbers, each once with the places it holds for."""
    found: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for outcome in row.outcomes:
            found.setdefault((row.metric, outcome), []).append(row.lp)
        for entry in row.paper or []:
            if entry["note"]:
                about = f"{entry['paper']} table {entry['table']}, {entry['metric']}"
                found.setdefault((about, entry["note"]), []).append(row.lp)
    lines: dict[tuple[str, str], list[str]] = {}
    for (about, note), lps in found.items():
        lines.setdefault((note, ", ".join(dict.fromkeys(lps))), []).append(about)
    return [f"{', '.join(about)} ({lps}): {note}" for (note, lps), about in lines.items()]


def _verdicts(comparisons: Sequence[Comparison], draw: Any, matrix: bool) -> list[str]:
    blocks = []
    for statistic in dict.fromkeys(c.statistic for c in comparisons):
        mine = [c for c in comparisons if c.statistic == statistic]
        lines = [f"{c.lp}: {_ranking(c)}" for c in mine]
        head = (
            f"Clusters by {statistic} ({mine[0].test} test, p < {ALPHA}); metrics of one cluster "
            "cannot be told apart"
        )
        blocks.append(head + "\n\n" + "\n".join(lines))
        if matrix:
            for c in mine:
                grid = [["p that the row is better by chance", *c.metrics]]
                for name, p in zip(c.metrics, c.p, strict=True):
                    grid.append([name, *("-" if math.isnan(x) else f"{x:.3f}" for x in p)])
                blocks.append(f"{c.lp}, {statistic}\n\n" + draw(grid))
    return blocks


def _ranking(comparison: Comparison) -> str:
    ranks = [r for r in comparison.clusters if r is not None]
    return "  ".join(
        f"{rank}. "
        + ", ".join(
            name
            for name, cluster in zip(comparison.metrics, comparison.clusters, strict=True)
            if cluster == rank
        )
        for rank in sorted(set(ranks))
    )


def plain(grid: Grid, numbers: bool = True) -> str:
    widths = [max(len(row[i]) for row in grid) for i in range(len(grid[0]))]
    lines = [
        "  ".join(
            cell.rjust(w) if i and numbers else cell.ljust(w)
            for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in grid
    ]
    return "\n".join([lines[0], "  ".join("-" * w for w in widths), *lines[1:]])


def markdown(grid: Grid, numbers: bool = True) -> str:
    lines = ["| " + " | ".join(c.replace("|", "\\|") for c in row) + " |" for row in grid]
    rule = "| --- |" + (" ---: |" if numbers else " --- |") * (len(grid[0]) - 1)
    return "\n".join([lines[0], rule, *lines[1:]])


def long_table(rows: Sequence[Row]) -> Grid:
    """One line a row, every number in full."""
    names = [*STATISTICS, "robust_pearson", *ACCURACIES]
    head = ["metric", "data", "lp", "level", "n", *names]
    head += [f"{name}_{end}" for name in STATISTICS for end in ("low", "high")]
    head += [f"{name}_chance" for name in ACCURACIES] + ["outcomes", "signature"]
    grid = [head]
    for row in rows:
        low_high = [row.intervals.get(name, (math.nan, math.nan)) for name in STATISTICS]
        numbers = [row.values.get(name, math.nan) for name in names]
        numbers += [x for pair in low_high for x in pair]
        numbers += [row.chance.get(name, math.nan) for name in ACCURACIES]
        cells = ["" if math.isnan(x) else f"{x:.6g}" for x in numbers]
        about = [row.metric, row.data, row.lp, row.level, str(row.n)]
        grid.append([*about, *cells, "; ".join(row.outcomes), row.signature.short])
    return grid


def to_dict(rows: Sequence[Row], comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """`rows` as DESIGN section 4 promises; what else was found stands beside it."""
    measures = [
        {
            **{k: getattr(row, k) for k in ("metric", "data", "lp", "level")},
            "name": name,
            "value": number(value),
            "ci": [number(x) for x in row.intervals[name]] if name in row.intervals else None,
            "chance": number(row.chance[name]) if name in row.chance else None,
            "pairs": row.pairs.get(name),
        }
        for row in rows
        for name, value in row.values.items()
    ]
    outcomes = [
        {**{k: getattr(row, k) for k in ("metric", "data", "lp", "level")}, "outcome": outcome}
        for row in rows
        for outcome in row.outcomes
    ]
    return {
        "mtgauge": __version__,
        "rows": [row.to_dict() for row in rows],
        "measures": measures,
        "outcomes": outcomes,
        "comparisons": [c.to_dict() for c in comparisons],
    }
