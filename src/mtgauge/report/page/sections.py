"""The parts of a page that are mostly words: header, verdict, metrics, how it was made."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from mtgauge import registry
from mtgauge._version import __version__
from mtgauge.engine.result import MetricResult, Result
from mtgauge.engine.verdict import Verdict, served
from mtgauge.errors import MtgaugeError
from mtgauge.notes import sentence
from mtgauge.report.page.dom import el, part
from mtgauge.report.page.scores import arrow, colour

_PLACES = (
    ("scores", "Scores"),
    ("tests", "Tests"),
    ("groups", "Groups"),
    ("segments", "Segments"),
    ("spread", "Spread"),
    ("pairs", "Metrics compared"),
    ("metrics", "What they measure"),
)


def title(result: Result) -> str:
    """What the page is called."""
    names = " v ".join(result.systems)
    return f"{names}, {result.lang}" if result.lang else names


def header(result: Result, head: str) -> Element:
    systems = len(result.systems)
    size = (
        f"{result.segments:,} segment{'' if result.segments == 1 else 's'}, "
        f"{systems} system{'' if systems == 1 else 's'}, "
        f"{len(result)} metric{'' if len(result) == 1 else 's'}"
    )
    hidden = {"tests"} if systems < 2 else set()
    hidden |= set() if result.slices else {"groups"}
    hidden |= set() if len(served(result)) > 1 and result.texts is not None else {"pairs"}
    return el(
        "header",
        {"class": "top"},
        el("p", {"class": "brand"}, "mtgauge · translation quality report"),
        el("h1", {}, head),
        el("p", {"class": "quiet"}, size),
        el(
            "nav",
            {"aria-label": "Parts of this page"},
            el(
                "ul",
                {},
                [
                    el("li", {}, el("a", {"href": f"#{place}"}, name))
                    for place, name in _PLACES
                    if place not in hidden
                ],
            ),
        ),
    )


def verdict(said: Verdict, result: Result) -> Element:
    """The sentence that a reader came for."""
    best = None if said.best is None else colour(result.systems.index(said.best))
    marked = len(said.needs_person)
    look = None
    if result.texts is not None and marked:
        look = el(
            "button",
            {"type": "button", "class": "act", "data-show": "person"},
            f"Show the {marked:,} segment{'' if marked == 1 else 's'}",
        )
    return el(
        "section",
        {"class": f"verdict {best or ''}".strip(), "aria-labelledby": "verdict-title"},
        el("h2", {"id": "verdict-title"}, said.headline),
        [el("p", {}, text) for text in said.sentences],
        look,
        [el("p", {"class": "warning"}, el("b", {}, "Check the input: "), text)
         for text in result.warnings],
        [el("p", {"class": "warning"}, el("b", {}, f"{metric.spec} has no scores: "),
            metric.unserved)
         for metric in result.values() if metric.unserved is not None],
    )  # fmt: skip


def segments(result: Result) -> Element:
    """The frame of the segment browser, which the script fills."""
    if result.texts is None:
        inside = el(
            "p",
            {"class": "lead"},
            "The texts are not in this result: write it with mtgauge score --json FILE --texts, or "
            "make the report with mtgauge report -s ... -t ...",
        )
        return part("segments", "Segments", inside)  # fmt: skip
    explained = len({one.segment for one in result.explained})
    return part("segments", "Segments",
        el("p", {"class": "lead"}, _about_segments(result, explained)),
        el("div", {"id": "browser"}, el("noscript", {}, "Segments need a script, which is part of "
           "this file. Allow scripts for it.")),
    )  # fmt: skip


def _about_segments(result: Result, explained: int) -> str:
    with_reference = result.texts is not None and result.texts.references is not None
    whose = "the reference" if with_reference else result.baseline
    told = f"Words that differ from {whose} are marked, and places where words are missing (‸)."
    if not with_reference and len(result.systems) == 1:
        told = ""
    some = (
        f"{explained} of {result.segments:,} segments have an explanation: those on which systems "
        "differ most, and those that score lowest."
        if explained < result.segments
        else "Each segment has an explanation."
    )
    return f"{told} {some}".strip()


def scatter(result: Result) -> Element | None:
    """The frame of the picture of two metrics, which the script draws."""
    if len(served(result)) < 2 or result.texts is None:
        return None
    return part("pairs", "Do the metrics agree?",
        el("p", {"class": "lead"}, "Each point is one segment of one system under two metrics. "
           "Points far from the others are segments on which the metrics disagree."),
        el("div", {"id": "scatter"}),
    )  # fmt: skip


def metrics(result: Result) -> Element:
    """Each metric in a sentence, how far it may be trusted, and its signature."""
    return part(
        "metrics",
        "What the metrics measure",
        el("div", {"class": "panels"}, [_metric(result, m) for m in result.values()]),
    )


def _metric(result: Result, metric: MetricResult) -> Element:
    better = "Higher is better." if metric.higher_is_better else "Lower is better."
    return el(
        "article",
        {"class": "panel"},
        el("h3", {}, metric.spec, f" {arrow(metric)}"),
        [el("p", {}, text) for text in _said_of(metric)],
        el("p", {"class": "quiet"}, better, " ", _trust(result, metric)),
        [el("p", {"class": "quiet"}, sentence(what, n)) for what, n in metric.notes.items() if n],
        el("p", {}, el("code", {}, metric.signature.short)),
    )


def _said_of(metric: MetricResult) -> list[str]:
    if metric.signature.from_file:
        return ["Scores of another tool, read from a file."]
    try:
        kind = registry.get(metric.name)
    except MtgaugeError:  # a stored result of a version that had this metric
        return []
    return [text for text in (kind.summary, kind.meaning) if text]


def _trust(result: Result, metric: MetricResult) -> str:
    if result.lang is None:
        return "How far it agrees with people is not told: the run has no language pair."
    if metric.trust is None:
        return (
            f"Nothing is known of its agreement with people for {result.lang} and these settings."
        )
    return f"How far to trust it: {metric.trust.sentence(result.lang)}."


def making(result: Result) -> Element:
    """Files and settings, so that the run can be made again."""
    rows = [("systems", ", ".join(f"{n}: {f}" for n, f in result.files.get("systems", {}).items()))]
    rows += [("source", result.files.get("source") or "none")]
    rows += [("references", ", ".join(result.files.get("references", [])) or "none")]
    of = f" of {result.documents:,} documents" if result.documents else ""
    if result.resamples:
        rows.append(("resamples", f"{result.resamples:,}{of}, seed {result.seed}"))
    rows += [("mtgauge", __version__)]
    return part("making", "How this was made",
        el("dl", {}, [[el("dt", {}, key), el("dd", {}, value)] for key, value in rows]),
        el("details", {}, el("summary", {}, "Signatures in full"),
           [el("p", {}, el("code", {}, m.signature.full)) for m in result.values()]),
    )  # fmt: skip


def footer() -> Element:
    return el("footer", {}, f"Made by mtgauge {__version__}. This file needs no network.")
