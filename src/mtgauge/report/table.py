"""One result, five formats: table, tsv, json, markdown, latex.

The plain table fits 80 columns: metrics that do not fit beside each other go below. Numbers of one
metric carry the same decimals: two on a scale of 100, four on a scale of 1.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence

from mtgauge.engine.result import MetricResult, Result

WIDTH = 80


def render(result: Result, format: str, *, segments: bool = False) -> str:
    """The result as text in one of `FORMATS`."""
    return FORMATS[format](result, segments)


def decimals(metric: MetricResult) -> int:
    """Two for scores on a scale of 100, four for scores on a scale of 1."""
    sizes = [abs(s.score) for s in metric.systems.values() if math.isfinite(s.score)]
    return 2 if max(sizes, default=0) > 2 else 4


def _column(metric: MetricResult) -> list[str]:
    """One metric's cells, one per system, decimal points below each other.

    * marks a difference to the baseline that both tests see, #n the rank.
    """
    if metric.unserved is not None:
        return ["unserved"] * len(metric.systems)
    places = decimals(metric)
    scores = [_number(s.score, places) for s in metric.values()]
    halves = ["" if s.ci is None else f" ±{_half(s.ci, places)}" for s in metric.values()]
    wide, wider = max(map(len, scores)), max(map(len, halves))
    cells = []
    for system, score, half in zip(metric.values(), scores, halves, strict=True):
        star = "*" if system.versus is not None and system.versus.significant else " "
        rank = f" #{system.cluster}" if system.cluster is not None else ""
        cells.append(f"{score.rjust(wide)}{half.ljust(wider)}{star}{rank}".rstrip())
    return cells


def _number(value: float, places: int) -> str:
    return f"{value:.{places}f}" if math.isfinite(value) else "undefined"


def _half(ci: tuple[float, float], places: int) -> str:
    return _number((ci[1] - ci[0]) / 2, places)


def _heading(metric: MetricResult) -> str:
    return f"{metric.spec} {'↑' if metric.higher_is_better else '↓'}"


def table(result: Result, segments: bool = False) -> str:
    names = [*result.systems]
    first = [
        "system",
        *(f"{n} (baseline)" if len(names) > 1 and n == names[0] else n for n in names),
    ]
    columns = [[_heading(metric), *_column(metric)] for metric in result.values()]
    blocks = ["\n".join(_align(block)) for block in _wrap(first, columns)]
    lines = ["\n\n".join(blocks)]
    if segments:
        lines.append(_segment_table(result))
    lines.append(_legend(result))
    return "\n\n".join(line for line in lines if line) + "\n"


def _wrap(first: list[str], columns: list[list[str]]) -> list[list[list[str]]]:
    """Columns in groups that fit the page, each led by the systems' names."""
    lead = max(map(len, first))
    groups: list[list[list[str]]] = []
    room = 0
    for column in columns:
        width = max(map(len, column)) + 2
        if not groups or width > room:
            groups.append([first])
            room = WIDTH - lead
        groups[-1].append(column)
        room -= width
    return groups


def _align(columns: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in columns]
    rows = []
    for cells in zip(*columns, strict=True):
        padded = [c.ljust(w) for c, w in zip(cells, widths, strict=True)]
        rows.append("  ".join(padded).rstrip())
    rows.insert(1, "  ".join("-" * w for w in widths))
    return rows


def _segment_table(result: Result) -> str:
    columns = [["segment", *map(str, range(1, result.segments + 1))]]
    for spec, metric in result.items():
        for name in result.systems:
            values = metric[name].segments.tolist()
            cells = ["-" if math.isnan(v) else f"{v:.{decimals(metric)}f}" for v in values]
            columns.append([f"{spec} {name}", *cells])
    return "\n\n".join("\n".join(_align(b)) for b in _wrap(columns[0], columns[1:]))


def _legend(result: Result) -> str:
    anything = next(metric for metric in result.values() if metric.unserved is None)
    some = next(iter(anything.values()))
    lines = ["↑ higher is better, ↓ lower is better"]
    if some.ci is not None:
        lines[0] += "; ± half of the 95 % interval (bootstrap)"
    if len(result.systems) > 1 and some.ci is not None:
        lines.append(
            f"* differs from {result.systems[0]}: paired bootstrap and randomisation, both p < 0.05"
        )
    if some.cluster is not None:
        lines.append("#n rank; systems of the same rank cannot be told apart (p < 0.05)")
    for metric in result.values():
        if metric.unserved is not None:
            lines.append(f"unserved: {metric.spec} cannot score {result.lang}")
    return "\n".join(lines)


def rows(result: Result) -> tuple[list[str], list[list[str]]]:
    """Header and rows with full numbers, one row a system and metric."""
    header = ["metric", "system", "score", "ci_low", "ci_high", "p_bootstrap", "p_randomisation"]
    body = []
    for spec, metric in result.items():
        for name, system in metric.items():
            low, high = system.ci or (math.nan, math.nan)
            tests = system.versus
            p = (tests.p_bootstrap, tests.p_randomisation) if tests else (math.nan, math.nan)
            numbers = [system.score, low, high, *p]
            cells = ["" if math.isnan(x) else f"{x:.6g}" for x in numbers]
            cells[0] = cells[0] if metric.unserved is None else "unserved"
            body.append([spec, name, *cells])
    return header, body


def tsv(result: Result, segments: bool = False) -> str:
    if segments:
        header = ["metric", "system", "segment", "score"]
        body = [
            [spec, name, str(i), "" if math.isnan(value) else repr(value)]
            for spec, metric in result.items()
            for name, system in metric.items()
            for i, value in enumerate(system.segments.tolist(), 1)
        ]
    else:
        header, body = rows(result)
    return "".join("\t".join(row) + "\n" for row in [header, *body])


def as_json(result: Result, segments: bool = False) -> str:
    return json.dumps(result.to_dict(segments=segments), ensure_ascii=False, indent=1) + "\n"


def _grid(result: Result) -> list[list[str]]:
    head = ["system", *(_heading(m) for m in result.values())]
    columns = [[" ".join(cell.split()) for cell in _column(m)] for m in result.values()]
    return [head, *map(list, zip(result.systems, *columns, strict=True))]


def markdown(result: Result, segments: bool = False) -> str:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(c.replace("|", "\\|") for c in cells) + " |"

    head, *body = _grid(result)
    rule = "| --- |" + " ---: |" * (len(head) - 1)
    legend = _legend(result).replace("\n", "; ")
    return "\n".join([line(head), rule, *map(line, body), "", legend]) + "\n"


_LATEX = str.maketrans(
    {c: "\\" + c for c in "&%$#_{}"}
    | {"±": r"$\pm$", "↑": r"$\uparrow$", "↓": r"$\downarrow$"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
)


def latex(result: Result, segments: bool = False) -> str:
    head, *body = [[cell.translate(_LATEX) for cell in row] for row in _grid(result)]
    lines = [
        r"\begin{tabular}{l" + "r" * (len(head) - 1) + "}",
        r"\hline",
        " & ".join(head) + r" \\",
        r"\hline",
        *(" & ".join(row) + r" \\" for row in body),
        r"\hline",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


FORMATS: dict[str, Callable[[Result, bool], str]] = {
    "table": table,
    "tsv": tsv,
    "json": as_json,
    "markdown": markdown,
    "latex": latex,
}
