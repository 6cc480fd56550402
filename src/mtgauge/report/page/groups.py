"""Where systems differ: groups of segments, words and entities, and phrases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from xml.etree.ElementTree import Element

from mtgauge.engine.contrast import Contrast, Phrase
from mtgauge.engine.result import Result
from mtgauge.engine.slices import Slices
from mtgauge.engine.verdict import most_trusted, served, shown_pair
from mtgauge.report.page.dom import el, part, table
from mtgauge.report.page.scores import colour
from mtgauge.report.table import decimals
from mtgauge.report.writers import fixed


def section(result: Result) -> Element | None:
    """All groups there are; None where there are none."""
    if not result.slices:
        return None
    contrast = result.contrast
    every = [*result.slices, *([] if contrast is None else [contrast.frequency])]
    usual = most_trusted(result, [m.spec for m in served(result)])
    return part("groups", "Where systems differ" if len(result.systems) > 1
           else "Where it does well",
        el("p", {"class": "lead"}, "Scores of parts of the test set. Bars begin at 0, or at the "
           "lowest score where one is below 0; small groups say little."),
        el("div", {"class": "groups"},
           [_group(result, k, each, None if usual is None else usual.spec)
            for k, each in enumerate(every)],
           [] if contrast is None else _phrases(result, contrast)),
        None if any(m.name == "kobe" for m in result.values()) else el(
            "p", {"class": "quiet"},
            "With the metric kobe this page also tells which kinds of names and numbers are lost."),
    )  # fmt: skip


def _group(result: Result, k: int, slices: Slices, usual: str | None) -> Element:
    measures = list(slices.scores)
    shown = usual if usual in measures else measures[0]
    choice = None
    if len(measures) > 1:
        choice = el(
            "label",
            {"class": "choose"},
            "by ",
            el(
                "select",
                {"data-group": str(k)},
                [
                    el("option", {"value": str(m), "selected": "" if name == shown else None}, name)
                    for m, name in enumerate(measures)
                ],
            ),
        )
    tables = [
        _table(
            result, slices, name, {"data-of": f"{k}.{m}", "hidden": None if name == shown else ""}
        )
        for m, name in enumerate(measures)
    ]
    return el(
        "div",
        {"class": "panel"},
        el("h3", {}, f"By {slices.by}", f": {shown}" if choice is None else " ", choice),
        tables,
    )


def _table(
    result: Result, slices: Slices, measure: str, attributes: dict[str, str | None]
) -> Element:
    scores = slices.scores[measure]
    known = [x for row in scores.values() for x in row if math.isfinite(x)]
    low, high = min([0.0, *known]), max(known, default=1.0)
    places = decimals(result[measure]) if measure in result else 1
    lower = measure in result and not result[measure].higher_is_better
    names = [name for name in result.systems if name in scores]
    rows = []
    for g, group in enumerate(slices.groups):
        row = [scores[name][g] for name in names]
        real = [x for x in row if math.isfinite(x)]
        best = (min(real) if lower else max(real)) if real else math.nan
        cells = [
            _cell(x, low, high, places, k, is_best=len(names) > 1 and x == best)
            for k, x in enumerate(row)
        ]
        size = el("td", {"class": "size"}, f"{slices.sizes[g]:,}")
        rows.append(el("tr", {}, el("th", {"scope": "row"}, group), size, cells))
    heads = [el("th", {"scope": "col", "class": colour(k)}, name) for k, name in enumerate(names)]
    unit = el("th", {"scope": "col", "class": "size"}, slices.unit)
    caption = el("caption", {"class": "unseen"}, f"{measure} by {slices.by}")
    return table(f"By {slices.by}", caption, [el("td", {}), unit, heads], rows, "bars", attributes)


def _cell(x: float, low: float, high: float, places: int, k: int, *, is_best: bool) -> Element:
    if not math.isfinite(x):
        return el("td", {}, "–")
    share = 1 + 99 * ((x - low) / (high - low) if high > low else 1.0)
    bar = el(
        "svg",
        {"width": "100%", "height": 6, "aria-hidden": "true"},
        el("rect", {"class": f"bar {colour(k)}", "x": 0, "y": 0, "width": f"{share:.1f}%",
                    "height": 6, "rx": 3}),
    )  # fmt: skip
    number = fixed(x, f".{places}f")
    return el("td", {}, el("b", {}, number) if is_best else number, bar)


def _phrases(result: Result, contrast: Contrast) -> list[Element]:
    """Phrases that one of two systems gets right and the other wrong, each against the baseline."""
    shown = set(shown_pair(result))
    return [
        _phrases_of(result, other, *found, is_open=other in shown)
        for other, found in contrast.phrases.items()
    ]


def _phrases_of(
    result: Result,
    other: str,
    theirs: Sequence[Phrase],
    ours: Sequence[Phrase],
    *,
    is_open: bool,
) -> Element:
    base = result.baseline
    return el(
        "details",
        {"class": "panel wide", "open": "" if is_open else None},
        el("summary", {}, f"Phrases: {other} against {base}"),
        el("p", {"class": "quiet"}, "Phrases of the reference that one system has more often in "
           "the right segment than the other. A click shows where."),
        el("div", {"class": "two"},
           _phrase_table(result, f"{other} gets right, {base} misses", ours, (other, base),
                         swapped=True),
           _phrase_table(result, f"{base} gets right, {other} misses", theirs, (base, other),
                         swapped=False)),
    )  # fmt: skip


def _phrase_table(
    result: Result,
    caption: str,
    phrases: Sequence[Phrase],
    names: tuple[str, str],
    *,
    swapped: bool,
) -> Element:
    if not phrases:
        return el("p", {}, caption, ": none.")
    rows = [
        el(
            "tr",
            {},
            el("td", {}, el("button", {"class": "phrase", "type": "button", "data-find": p.text},
                            p.text)),
            [el("td", {"class": "size"}, str(n))
             for n in ((p.second, p.first) if swapped else (p.first, p.second))],
            el("td", {"class": "size"}, str(p.of)),
        )
        for p in phrases
    ]  # fmt: skip
    heads = [el("th", {"scope": "col", "class": colour(result.systems.index(n))}, n) for n in names]
    first, last = (el("th", {"scope": "col"}, name) for name in ("phrase", "of"))
    return table(caption, el("caption", {}, caption), [first, heads, last], rows)
