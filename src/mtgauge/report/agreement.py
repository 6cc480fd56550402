"""Agreement with people as text: tables as the papers print them, and every format of `writers`.

    render(mtgauge.meta("judged.tsv", ["chrf"]), "markdown")

One table per data set and statistic, metrics down, language pairs across, averages last; under a
metric the printed values of the papers and the differences, if asked for. A dash is a statistic
that does not apply or is undefined; the reason stands among the notes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from mtgauge.meta.rows import ACCURACIES, STATISTICS, Comparison, Row
from mtgauge.meta.significance import ALPHA
from mtgauge.meta.study import Findings
from mtgauge.report import experiment
from mtgauge.report.writers import draw, escape, fixed, full, json_text

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


def render(found: Findings, format: str, *, matrix: bool = False) -> str:
    """The findings as text; `matrix` adds the p-values of all comparisons."""
    if format == "json":
        return json_text(found.to_dict())
    if format in ("tsv", "csv"):
        return draw(long_table(found.rows), format) + "\n"
    if found.printed:
        return experiment.render(found, format)

    def block(title: str, body: str) -> str:
        return escape(title, format) + "\n\n" + body

    blocks = []
    rows = found.rows
    whole = [row for row in rows if "[" not in row.data]
    for data, level in dict.fromkeys((row.data, row.level) for row in whole):
        about = f"{data}, {level} level: "
        mine = [row for row in whole if (row.data, row.level) == (data, level)]
        for statistic in (*STATISTICS, "robust_pearson", *ACCURACIES):
            if any(not math.isnan(row.values.get(statistic, math.nan)) for row in mine):
                blocks.append(
                    block(about + TITLES[statistic], draw(pivot(mine, statistic), format))
                )
        if any("pearson" in row.intervals for row in mine):
            grid = pivot(mine, "pearson", intervals=True)
            title = about + "95 % intervals of Pearson r (bootstrap)"
            blocks.append(block(title, draw(grid, format)))
        here = [c for c in found.comparisons if (c.data, c.level) == (data, level)]
        blocks += _verdicts(here, format, matrix)
        parts = [row for row in rows if row.data.startswith(f"{data}[") and row.level == level]
        if parts:
            title = about + "Pearson r by slice (number of translations)"
            blocks.append(block(title, draw(by_slice(parts), format)))
    if notes := notes_of(rows):
        blocks.append("Notes\n\n" + "\n".join(f"- {escape(note, format)}" for note in notes))
    return "\n\n".join(blocks) + "\n"


def pivot(rows: Sequence[Row], statistic: str, *, intervals: bool = False) -> list[list[str]]:
    """Metrics down, language pairs across, and the number of points in the last line.

    Where a metric has points of its own (--limit), it has a line of its own.
    """
    lps = list(dict.fromkeys(row.lp for row in rows))
    grid = [["metric", *lps]]
    for metric in dict.fromkeys(row.metric for row in rows):
        mine = {row.lp: row for row in rows if row.metric == metric}
        cells = [_cell(mine.get(lp), statistic, intervals) for lp in lps]
        grid.append([metric, *cells])
        if not intervals:
            grid += _printed_lines(mine, lps, statistic)
    what = "pairs" if any(statistic in row.pairs for row in rows) else "n"
    points: dict[str, dict[str, str]] = {}  # by metric and language pair
    for row in rows:
        if row.unserved is None:
            count = str(row.pairs.get(statistic, row.n))
            points.setdefault(row.metric, {})[row.lp] = count
    every = [{found[lp] for found in points.values() if lp in found} for lp in lps]
    if all(len(counts) < 2 for counts in every):
        return [*grid, [what, *(min(counts, default="-") for counts in every)]]
    alike: dict[tuple[str, ...], list[str]] = {}
    for metric, found in points.items():
        alike.setdefault(tuple(found.get(lp, "-") for lp in lps), []).append(metric)
    return [*grid, *([f"{what} of {', '.join(m)}", *counts] for counts, m in alike.items())]


def by_slice(rows: Sequence[Row]) -> list[list[str]]:
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
    chance = row.chance.get(statistic)
    return fixed(value) + ("" if math.isnan(value) or chance is None else f" ({chance:.2f})")


def _printed_lines(mine: dict[str, Row], lps: Sequence[str], statistic: str) -> list[list[str]]:
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
        grid.append([f"  {paper} table {table}, {name}", *map(fixed, values)])
        grid.append(["  difference", *(fixed(gap, "+.3f") for gap in gaps)])
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


def _verdicts(comparisons: Sequence[Comparison], format: str, matrix: bool) -> list[str]:
    blocks = []
    for statistic in dict.fromkeys(c.statistic for c in comparisons):
        mine = [c for c in comparisons if c.statistic == statistic]
        head = (
            f"Clusters by {statistic} ({mine[0].test} test, p < {ALPHA}); metrics of one cluster "
            "cannot be told apart"
        )
        lines = [escape(f"{c.lp}: {_ranking(c)}", format) for c in mine]
        blocks.append(escape(head, format) + "\n\n" + "\n".join(lines))
        for c in mine if matrix else ():
            grid = [["p that the row is better by chance", *c.metrics]]
            grid += [[name, *map(fixed, p)] for name, p in zip(c.metrics, c.p, strict=True)]
            title = escape(f"{c.lp}, {statistic}", format)
            blocks.append(title + "\n\n" + draw(grid, format))
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


def long_table(rows: Sequence[Row]) -> list[list[str]]:
    """One line per row, every number in full."""
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
        about = [row.metric, row.data, row.lp, row.level, str(row.n)]
        grid.append([*about, *map(full, numbers), "; ".join(row.outcomes), row.signature.short])
    return grid
