"""Scores of systems in every format of `writers`: table, tsv, csv, json, markdown, latex.

    render(result, "markdown")

The plain table fits `width` columns: metrics that do not fit beside each other go below. Numbers of
one metric carry the same decimals: two on a scale of 100, four on a scale of 1.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace

from mtgauge.engine.result import P_VALUES, MetricResult, Result
from mtgauge.report.writers import (
    display_width,
    draw,
    escape,
    fixed,
    fold,
    full,
    json_text,
    visible,
)
from mtgauge.stats.paired import ALPHA

WIDTH = 80


def render(
    result: Result,
    format: str,
    *,
    segments: bool = False,
    width: int = WIDTH,
    by: Collection[str] = (),
) -> str:
    """The result as text in one of `writers.FORMATS`; a plain table is so many columns wide.

    JSON holds the groups that `by` names; for other formats they are a text of their own, `groups`.
    """
    if format == "json":
        return json_text(result.to_dict(segments=segments, by=by))
    if format == "table":
        return _table(result, segments, width)
    if segments:
        return draw(_segment_rows(result), format) + "\n"
    if format in ("tsv", "csv"):
        return draw(_rows(result), format) + "\n"
    text = draw(_grid(result), format) + "\n"
    if format == "markdown":
        text += "\n" + escape(_legend(result).replace("\n", "; "), format) + "\n"
    return text


def decimals(metric: MetricResult) -> int:
    """Two for scores on a scale of 100, four for scores on a scale of 1."""
    sizes = [abs(s.score) for s in metric.systems.values() if math.isfinite(s.score)]
    return 2 if max(sizes, default=0) > 2 else 4


def _column(metric: MetricResult) -> list[str]:
    """One metric's cells, one per system, decimal points below each other.

    * marks a significant difference to the baseline, #n the rank.
    """
    if metric.unserved is not None:
        return ["unserved"] * len(metric.systems)
    places = decimals(metric)
    scores = [fixed(s.score, f".{places}f", "undefined") for s in metric.values()]
    halves = [_half(s.ci, places) for s in metric.values()]
    wide, wider = max(map(len, scores)), max(map(len, halves))
    cells = []
    for system, score, half in zip(metric.values(), scores, halves, strict=True):
        star = "*" if system.versus is not None and system.versus.significant else " "
        rank = f" #{system.rank}" if system.rank is not None else ""
        cells.append(f"{score.rjust(wide)}{half.ljust(wider)}{star}{rank}".rstrip())
    return cells


def _half(ci: tuple[float, float] | None, places: int) -> str:
    """Half of the interval, behind its sign; nothing where it is undefined."""
    width = math.nan if ci is None else ci[1] - ci[0]
    return f" ±{width / 2:.{places}f}" if math.isfinite(width) else ""


def _heading(metric: MetricResult) -> str:
    return f"{metric.spec} {'↑' if metric.higher_is_better else '↓'}"


def render_scores(result: Result, width: int = WIDTH) -> str:
    """The terminal's table without what explains its signs, which is `legend`."""
    first = ["system", *_names(result)]
    columns = [[_heading(metric), *_column(metric)] for metric in result.values()]
    return _side_by_side(first, columns, width)


def _table(result: Result, segments: bool, width: int) -> str:
    blocks = [render_scores(result, width)]
    if segments:
        blocks.append(_segment_table(result, width))
    return "\n\n".join([*blocks, legend(result, width)]) + "\n"


def _names(result: Result) -> list[str]:
    """The systems' names; the one that others are tested against is marked."""
    several = len(result.systems) > 1
    return [f"{n} (baseline)" if several and n == result.baseline else n for n in result.systems]


def _side_by_side(first: list[str], columns: list[list[str]], width: int) -> str:
    """Columns in groups that fit the page, each led by the first column."""
    lead = max(display_width(visible(cell)) for cell in first)
    groups: list[list[list[str]]] = []
    room = 0
    for column in columns:
        wide = max(display_width(visible(cell)) for cell in column) + 2
        if not groups or wide > room:
            groups.append([first])
            room = width - lead
        groups[-1].append(column)
        room -= wide
    grids = (list(zip(*group, strict=True)) for group in groups)
    return "\n\n".join(draw(grid, "table", numbers=False) for grid in grids)


def _segment_table(result: Result, width: int) -> str:
    first = ["segment", *map(str, range(1, result.segments + 1))]
    columns = []
    for spec, metric in result.items():
        form = f".{decimals(metric)}f"
        for name in result.systems:
            cells = [fixed(value, form) for value in metric[name].segments.tolist()]
            columns.append([f"{spec} {name}", *cells])
    return _side_by_side(first, columns, width)


def legend(result: Result, width: int = WIDTH) -> str:
    """What the signs of a table mean, a line each; folded where there is less room than usual."""
    lines = visible(_legend(result), keep="\n").split("\n")
    return "\n".join(
        part for line in lines for part in (fold(line, width) if width < WIDTH else [line])
    )


def _legend(result: Result) -> str:
    anything = next(metric for metric in result.values() if metric.unserved is None)
    some = next(iter(anything.values()))
    lines = ["↑ higher is better, ↓ lower is better"]
    if some.ci is not None:
        over = f" over {result.documents:,} documents" if result.documents else ""
        lines[0] += f"; ± half of the 95 % interval (bootstrap{over})"
    if anything.tests is not None:
        lines.append(
            f"* differs from {result.baseline}: p < {ALPHA} by paired randomisation, corrected for "
            "all pairs (Holm)"
        )
    if some.rank is not None:
        lines.append("#n rank: one more than the number of systems that are better by that test")
    if result.untested is not None:
        lines.append(f"no test: {result.untested}")
    for metric in result.values():
        if metric.unserved is not None:
            lines.append(f"unserved: {metric.spec} cannot score {result.lang}")
    return "\n".join(lines)


def _rows(result: Result) -> list[list[str]]:
    """Full numbers, one row per system and metric."""
    grid = [["metric", "system", "score", "ci_low", "ci_high", *P_VALUES, "rank"]]
    for spec, metric in result.items():
        for name, system in metric.items():
            low, high = system.ci or (math.nan, math.nan)
            tests = system.versus
            p = [getattr(tests, key) if tests else math.nan for key in P_VALUES]
            cells = [full(x) for x in (system.score, low, high, *p)]
            cells.append("" if system.rank is None else str(system.rank))
            if metric.unserved is not None:
                cells[0] = "unserved"
            grid.append([spec, name, *cells])
    return grid


def _segment_rows(result: Result) -> list[list[str]]:
    """One row per segment, system and metric."""
    grid = [["metric", "system", "segment", "score"]]
    for spec, metric in result.items():
        for name, system in metric.items():
            grid += [
                [spec, name, str(i), "" if math.isnan(value) else repr(value)]
                for i, value in enumerate(system.segments.tolist(), 1)
            ]
    return grid


def _grid(result: Result) -> list[list[str]]:
    head = ["system", *(_heading(m) for m in result.values())]
    columns = [[" ".join(cell.split()) for cell in _column(m)] for m in result.values()]
    return [head, *map(list, zip(_names(result), *columns, strict=True))]


def groups(result: Result, by: Collection[str], format: str, width: int = WIDTH) -> str:
    """Scores of groups of segments: one table per column that `by` names, one line per group."""
    blocks = []
    for each in result.slices:
        if each.by not in by:
            continue
        columns = [["segments", *map(str, each.sizes)]]
        for spec, systems in each.scores.items():
            form = f".{decimals(result[spec])}f"
            for name in result.systems:
                columns.append([f"{spec} {name}", *(fixed(x, form) for x in systems[name])])
        first = [each.by, *each.groups]
        if format == "table":
            blocks.append(_side_by_side(first, columns, width))
        else:
            blocks.append(draw(list(zip(first, *columns, strict=True)), format))
    return "\n\n".join(blocks) + "\n"


def pairs(result: Result, format: str) -> str:
    """Adjusted p of every pair of systems, one matrix per metric."""
    names = [*result.systems]
    blocks = []
    for metric in result.values():
        if metric.tests is not None:
            rows = [
                [name, *("-" if i == j else fixed(p, ".3f") for j, p in enumerate(line))]
                for i, (name, line) in enumerate(
                    zip(names, metric.tests.adjusted.tolist(), strict=True)
                )
            ]
            blocks.append(draw([[metric.spec, *names], *rows], format))
    if blocks and format == "table":
        said = "p of every two systems by paired randomisation, corrected for all (Holm)"
        blocks.insert(0, said)
    return "\n\n".join(blocks) + "\n" if blocks else ""


def by_score(result: Result) -> Result:
    """The same with the best system first, by the first metric that has scores."""
    metric = next(m for m in result.values() if m.unserved is None)
    sign = -1.0 if metric.higher_is_better else 1.0
    known = [name for name in result.systems if not math.isnan(metric[name].score)]
    order = sorted(known, key=lambda name: sign * metric[name].score)
    order += [name for name in result.systems if name not in known]
    places = [result.systems.index(name) for name in order]
    metrics = {
        spec: replace(
            m,
            systems={name: m[name] for name in order},
            tests=None if m.tests is None else m.tests.take(places),
        )
        for spec, m in result.items()
    }
    return replace(result, metrics=metrics, systems=tuple(order))
