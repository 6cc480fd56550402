"""Two systems of a run side by side: what `mtgauge.compare` returns, without its looks.

    found = compare(result, "old", "new")
    found.differences          by metric: scores, difference, p, whether people would agree
    found.slices               the same by groups of segments, words and entities
    found.only_first, found.only_second     phrases that one gets right and the other wrong
    found.segments             numbers from 0, the largest difference first

Slices, phrases and texts need a result that kept its texts, as that of `mtgauge.score` does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mtgauge.arguments import refuse_other
from mtgauge.engine.contrast import Counted, Phrase
from mtgauge.engine.result import Result
from mtgauge.engine.slices import Slices
from mtgauge.engine.verdict import most_trusted, served, shown_pair
from mtgauge.errors import UsageError
from mtgauge.stats.paired import ALPHA


@dataclass(frozen=True)
class Difference:
    """One metric's view of two systems; `difference` is second - first."""

    metric: str
    first: float
    second: float
    difference: float
    p_adjusted: float | None  # None: not tested
    better: str | None  # the system that the test prefers; None: no sure difference
    people_agree: float | None  # share of people's judgements at such a difference


@dataclass(frozen=True)
class Comparison:
    """Two systems side by side."""

    first: str
    second: str
    differences: tuple[Difference, ...]
    slices: tuple[Slices, ...]
    only_first: tuple[Phrase, ...]
    only_second: tuple[Phrase, ...]
    segments: tuple[int, ...]
    result: Result


def compare(result: Result, first: str | None = None, second: str | None = None) -> Comparison:
    """Two systems of a result; without names the baseline and the best of the others."""
    refuse_other("result", result, Result)
    if len(result.systems) < 2:
        raise UsageError("There is one system only: a comparison needs two.")
    usual = shown_pair(result)[::-1]
    first, second = first or usual[0], second or usual[1]
    for name in (first, second):
        if name not in result.systems:
            raise UsageError(f"There is no system {name!r}: it is {', '.join(result.systems)}.")
    if first == second:
        raise UsageError(f"{first} cannot be compared with itself: name two systems.")
    texts = result.texts
    counted = Counted(texts) if texts is not None and texts.references is not None else None
    groups = [*result.slices, *([] if counted is None else [counted.by_frequency()])]
    only = ([], []) if counted is None else counted.ngrams(first, second)
    return Comparison(
        first,
        second,
        tuple(_difference(result, spec, first, second) for spec in result),
        tuple(_of_two(each, first, second) for each in groups),
        tuple(only[0]),
        tuple(only[1]),
        tuple(_most_different(result, first, second)),
        result,
    )


def _difference(result: Result, spec: str, first: str, second: str) -> Difference:
    metric = result[spec]
    a, b = metric[first].score, metric[second].score
    p = better = None
    if metric.tests is not None:
        names = list(metric)
        p = float(metric.tests.adjusted[names.index(first), names.index(second)])
        if p < ALPHA and a != b:
            better = second if (b > a) == metric.higher_is_better else first
    people = metric.agreement(second, first)
    return Difference(spec, a, b, b - a, p, better, people[0] if people else None)


def _of_two(slices: Slices, first: str, second: str) -> Slices:
    scores = {
        measure: {name: rows[name] for name in (first, second) if name in rows}
        for measure, rows in slices.scores.items()
    }
    return replace(slices, scores=scores)


def _most_different(result: Result, first: str, second: str) -> list[int]:
    metric = most_trusted(result, [m.spec for m in served(result)])
    if metric is None:
        return []
    gap = np.abs(metric[first].segments - metric[second].segments)
    order = np.argsort(-np.nan_to_num(gap, nan=-1.0), kind="stable")
    return [int(k) for k in order]
