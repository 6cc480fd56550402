"""Scores, tests and distributions of a page, and the table of a notebook.

Pictures are rows of inline SVG with coordinates in percent, so that they fill any width without
distortion; what they show stands beside them as text.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from xml.etree.ElementTree import Element

import numpy as np

from mtgauge.engine.result import MetricResult, Result, SystemScore
from mtgauge.engine.verdict import served
from mtgauge.report.page import dom
from mtgauge.report.page.dom import el, html, part
from mtgauge.report.table import decimals
from mtgauge.report.writers import fixed
from mtgauge.stats.paired import ALPHA

_BINS = 30
_ENDS = (1.0, 100.0)  # of scales that begin at 0; no axis goes beyond where no score does
_COLOURS = 8  # page.css has so many


def colour(k: int) -> str:
    """The class of a system's colour."""
    return f"s{k % _COLOURS}"


def arrow(metric: MetricResult) -> str:
    return "↑" if metric.higher_is_better else "↓"


def name_of(result: Result, system: str) -> list[str | Element]:
    """A system's name; the baseline is marked."""
    if len(result.systems) == 1 or system != result.baseline:
        return [system]
    return [system, " ", el("small", {"class": "quiet"}, "baseline")]


def section(result: Result) -> Element:
    """The table, and dots with whiskers, one picture per metric."""
    return part(
        "scores",
        "Scores",
        el("p", {"class": "lead"}, _legend(result)),
        el("div", {"class": "panels"}, [_dots(result, m) for m in served(result)]),
        el("details", {}, el("summary", {}, "The same as a table"), table(result)),
    )


def _legend(result: Result) -> str:
    text = "↑ higher is better, ↓ lower is better."
    some = next(iter(served(result)[0].values()))
    if some.ci is not None:
        text += (
            " A dot is a score, the line its 95 % interval: where it would lie with other texts."
        )
    if served(result)[0].tests is not None:
        text += f" ★ differs from {result.baseline} by more than chance."
    return text


def table(result: Result) -> Element:
    """All numbers, for people and screen readers."""
    heads = [el("th", {"scope": "col"}, f"{m.spec} {arrow(m)}") for m in result.values()]
    rows = [
        el(
            "tr",
            {},
            el("th", {"scope": "row"}, name_of(result, name)),
            [el("td", {}, _cell(metric, name)) for metric in result.values()],
        )
        for name in result.systems
    ]
    caption = el("caption", {}, "Scores of systems, with half of the 95 % interval")
    return dom.table(
        "Scores of systems", caption, [el("th", {"scope": "col"}, "system"), heads], rows
    )


def _cell(metric: MetricResult, name: str) -> list[str | Element]:
    if metric.unserved is not None:
        return ["unserved"]
    system = metric[name]
    form = f".{decimals(metric)}f"
    cell: list[str | Element] = [fixed(system.score, form, "undefined")]
    if system.ci is not None and all(map(math.isfinite, system.ci)):
        half = format((system.ci[1] - system.ci[0]) / 2, form)
        cell.append(el("small", {"class": "quiet"}, f" ±{half}"))
    if system.versus is not None and system.versus.significant:
        cell.append(" ★")
    if system.rank is not None:
        cell.append(el("small", {"class": "quiet"}, f" #{system.rank}"))
    return cell


def notebook_table(result: Result) -> str:
    """The table alone, with no style or script of its own."""
    return html(el("div", {}, table(result), el("p", {}, el("small", {}, _legend(result)))))


# dots and whiskers


def _dots(result: Result, metric: MetricResult) -> Element:
    known = [x for s in metric.values() for x in (s.score, *(s.ci or ())) if math.isfinite(x)]
    low, high = _padded(known)
    rows = [
        _row(name, result, k, _whisker(metric[name], low, high, k), _cell(metric, name))
        for k, name in enumerate(result.systems)
    ]
    return _figure(metric, rows, low, high)


def _figure(metric: MetricResult, rows: Sequence[Element], low: float, high: float) -> Element:
    ends = [f"{x:.{_places(high - low)}f}" for x in (low, (low + high) / 2, high)]
    return el(
        "figure",
        {"class": "panel"},
        el("figcaption", {}, el("b", {}, metric.spec), f" {arrow(metric)}"),
        el("div", {"class": "rows"}, rows),
        el("div", {"class": "axis", "aria-hidden": "true"}, [el("span", {}, x) for x in ends]),
    )


def _places(span: float) -> int:
    return 0 if span > 20 else 1 if span > 2 else 2 if span > 0.2 else 3


def _padded(known: Sequence[float]) -> tuple[float, float]:
    """A range with some air at both ends, but none beyond the ends that scales have.

    >>> _padded([0.0, 80.0]), _padded([-1.0, 1.0])
    ((0.0, 84.8), (-1.12, 1.0))
    """
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    air = 0.06 * (high - low) or 0.05 * abs(high) or 0.5
    bottom = 0.0 if low >= 0 else low - air
    tops = [end for end in _ENDS if end >= high]
    return max(low - air, bottom), min([high + air, *tops])


def _row(name: str, result: Result, k: int, picture: Element, value: object) -> Element:
    return el(
        "div",
        {"class": "row"},
        el("span", {"class": f"name {colour(k)}", "title": name}, name_of(result, name)),
        picture,
        el("span", {"class": "value"}, value),  # type: ignore[arg-type]
    )


def _svg(height: int, *children: Element | list[Element] | None) -> Element:
    return el("svg", {"width": "100%", "height": height, "aria-hidden": "true"}, *children)


def _whisker(system: SystemScore, low: float, high: float, k: int) -> Element:
    def at(x: float) -> str:
        return f"{100 * (x - low) / (high - low):.2f}%"

    parts = [el("line", {"class": "rail", "x1": "0", "x2": "100%", "y1": 11, "y2": 11})]
    if system.ci is not None and all(map(math.isfinite, system.ci)):
        a, b = map(at, system.ci)
        parts.append(
            el("line", {"class": f"whisker {colour(k)}", "x1": a, "x2": b, "y1": 11, "y2": 11})
        )
        parts += [
            el("line", {"class": f"whisker {colour(k)}", "x1": x, "x2": x, "y1": 6, "y2": 16})
            for x in (a, b)
        ]
    if math.isfinite(system.score):
        parts.append(
            el("circle", {"class": f"dot {colour(k)}", "cx": at(system.score), "cy": 11, "r": 5})
        )
    return _svg(22, parts)


# distributions


def distributions(result: Result) -> Element:
    """How the scores of segments lie, by system."""
    return part(
        "spread",
        "How segments score",
        el(
            "p",
            {"class": "lead"},
            "Each row is one system: how many of its segments have a score, from low to high. The "
            "mark and the number are the median.",
        ),
        el("div", {"class": "panels"}, [_histograms(result, m) for m in served(result)]),
    )


def _histograms(result: Result, metric: MetricResult) -> Element:
    every = np.concatenate([s.segments for s in metric.values()])
    every = every[np.isfinite(every)]
    ends = np.percentile(every, [0.5, 99.5]).tolist() if len(every) else []
    low, high = _padded(ends)
    counts = {
        name: np.histogram(np.clip(s.segments[np.isfinite(s.segments)], low, high), _BINS,
                           (low, high))[0]
        for name, s in metric.items()
    }  # fmt: skip
    most = max((int(c.max()) for c in counts.values()), default=1) or 1
    rows = []
    for k, name in enumerate(result.systems):
        known = metric[name].segments[np.isfinite(metric[name].segments)]
        median = float(np.median(known)) if len(known) else math.nan
        value = fixed(median, f".{decimals(metric)}f", "none")
        rows.append(_row(name, result, k, _bars(counts[name] / most, median, low, high, k), value))
    return _figure(metric, rows, low, high)


def _bars(heights: np.ndarray, median: float, low: float, high: float, k: int) -> Element:
    wide, tall = 100 / _BINS, 34
    bars = [
        el("rect", {"class": f"bar {colour(k)}", "x": f"{i * wide:.2f}%", "width": f"{wide:.2f}%",
                    "y": f"{tall * (1 - h):.1f}", "height": f"{tall * h:.1f}"})
        for i, h in enumerate(heights.tolist())
        if h > 0
    ]  # fmt: skip
    x = f"{100 * (median - low) / (high - low):.2f}%" if math.isfinite(median) else None
    mark = el("line", {"class": "median", "x1": x, "x2": x, "y1": 2, "y2": tall}) if x else None
    return _svg(tall + 1, bars, mark)


# tests of all pairs


def tests(result: Result) -> Element | None:
    """One matrix per metric: which systems differ by more than chance."""
    tested = [metric for metric in served(result) if metric.tests is not None]
    if len(result.systems) < 2:
        return None
    if not tested:
        text = "No tests: " + (result.untested or "the run was made without them.")
        return part(
            "tests",
            "Are the differences real?",
            el("p", {"class": "lead"}, text),
        )
    return part(
        "tests",
        "Are the differences real?",
        el(
            "p",
            {"class": "lead"},
            "Read a row: is this system better (▲) or worse (▼) than the one above the column by "
            f"more than chance (p < {ALPHA}, paired randomisation, Holm's correction over all "
            "pairs)? The small number is p; = is no sure difference.",
        ),
        el(
            "div",
            {"class": "panels" if len(result.systems) > 2 else "panels narrow"},
            [_matrix(result, metric) for metric in tested],
        ),
    )


def _matrix(result: Result, metric: MetricResult) -> Element:
    names = result.systems
    heads = [el("th", {"scope": "col", "class": colour(j)}, n) for j, n in enumerate(names)]
    rows = [
        el("tr", {}, el("th", {"scope": "row", "class": colour(i)}, one),
           [_test(metric, i, j, names) for j in range(len(names))])
        for i, one in enumerate(names)
    ]  # fmt: skip
    caption = el("caption", {}, el("b", {}, metric.spec), f" {arrow(metric)}")
    frame = {"class": "panel scroll"}
    return dom.table(metric.spec, caption, [el("td", {}), heads], rows, "matrix", frame)


def _test(metric: MetricResult, i: int, j: int, names: Sequence[str]) -> Element:
    if i == j:
        return el("td", {"class": "self"})
    assert metric.tests is not None
    p = float(metric.tests.adjusted[i, j])
    gain = metric[names[i]].score - metric[names[j]].score
    gain = gain if metric.higher_is_better else -gain
    kind, mark = ("better", "▲") if gain > 0 else ("worse", "▼")
    if not p < ALPHA or not gain:
        kind, mark = "same", "="
    shown = "p undefined" if math.isnan(p) else "<.001" if p < 0.001 else f"{p:.3f}"
    label = {"better": "better", "worse": "worse", "same": "no sure difference"}[kind]
    return el(
        "td",
        {"class": kind},
        el("span", {"aria-label": label}, mark),
        el("small", {}, f" {shown}"),
    )
