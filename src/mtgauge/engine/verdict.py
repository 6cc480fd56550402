"""The verdict of a run in sentences: who is better, how sure, would people notice, what to look at.

    found = verdict(result)
    found.best                 a system's name; None where no system is better than all others
    found.sentences            for people, the most important first
    found.needs_person         segments (from 0) of the best system, else of all, to look at

A metric *prefers* one of two systems where the test of all pairs finds a difference (p < 0.05,
corrected). A system beats another that more metrics prefer it to than the other way round; the best
beats all others. A metric that people went either way with, when it was measured on systems of this
pair or direction, has no say. Whether people would notice is told by the most trusted metric that
prefers the best system (engine/trust.py). A segment needs a person if it has a warning
(engine/flags.py), or if the most trusted metric scores it unusually low: below the first quartile
by more than 1.5 times the distance of the quartiles (Tukey's rule), over the segments of all
systems.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mtgauge.engine.result import MetricResult, Result
from mtgauge.engine.trust import ENOUGH
from mtgauge.stats.paired import ALPHA

_NOTICE = ((0.8, "would probably notice"), (0.65, "may notice"), (0.0, "would hardly notice"))
_FENCE = 1.5


@dataclass(frozen=True)
class Verdict:
    best: str | None
    headline: str
    sentences: tuple[str, ...]
    needs_person: tuple[int, ...]
    about: str | None  # the system whose segments these are; None: of all


@dataclass(frozen=True)
class Preferences:
    """Metrics that find a difference between two systems, by the one they prefer."""

    mine: tuple[str, ...]
    theirs: tuple[str, ...]
    undecided: tuple[str, ...]

    @property
    def balance(self) -> int:
        return len(self.mine) - len(self.theirs)


def verdict(result: Result) -> Verdict:
    """What a run says."""
    names = result.systems
    best = best_system(result)
    metric = most_trusted(result, [m.spec for m in served(result)])
    marked = needs_person(result, best, metric)
    about = best if best is not None else names[0] if len(names) == 1 else None
    headline, *more = (*_comparison(result, best), _work(result, len(marked), about))
    if len(names) == 1 and result.texts is not None:  # there is no better system, but there is work
        headline, more = more[0], [headline]
    return Verdict(
        best,
        headline,
        tuple(more),
        tuple(marked),
        about,
    )


def served(result: Result) -> list[MetricResult]:
    """Metrics that have scores."""
    return [metric for metric in result.values() if metric.unserved is None]


def preferences(result: Result, system: str, other: str) -> Preferences:
    """Which metrics prefer which of two systems."""
    mine: list[str] = []
    theirs: list[str] = []
    undecided: list[str] = []
    i, j = result.systems.index(system), result.systems.index(other)
    for metric in served(result):
        if metric.has_no_say:
            continue
        gain = metric[system].score - metric[other].score
        gain = gain if metric.higher_is_better else -gain
        sure = metric.tests is not None and metric.tests.adjusted[i, j] < ALPHA
        if not sure or not gain:
            undecided.append(metric.spec)
        else:
            (mine if gain > 0 else theirs).append(metric.spec)
    return Preferences(tuple(mine), tuple(theirs), tuple(undecided))


def best_system(result: Result) -> str | None:
    """The system that beats every other; None where there is none."""
    for name in result.systems:
        others = [other for other in result.systems if other != name]
        if others and all(preferences(result, name, other).balance > 0 for other in others):
            return name
    return None


def most_trusted(result: Result, specs: Sequence[str]) -> MetricResult | None:
    """The metric that agrees best with people's judgements of segments, else the first."""
    metrics = [result[spec] for spec in specs]

    def agreement(metric: MetricResult) -> float:
        r = math.nan if metric.trust is None else metric.trust.pearson
        return -math.inf if math.isnan(r) else r

    return max(metrics, key=agreement, default=None)


def shown_pair(result: Result) -> tuple[str, str]:
    """The two systems that a report compares first: the best, or another, and the baseline."""
    best = best_system(result)
    others = [name for name in result.systems if name != result.baseline]
    if not others:
        return result.baseline, result.baseline
    first = best if best is not None else others[0]
    return (first, others[0]) if first == result.baseline else (first, result.baseline)


def needs_person(result: Result, system: str | None, metric: MetricResult | None) -> list[int]:
    """Segments with a warning or an unusually low score, of one system or of all."""
    names = result.systems if system is None else (system,)
    marked = np.zeros(result.segments, dtype=bool)
    for name in names:
        marked |= np.array([bool(f) for f in result.flags.get(name, [()] * result.segments)])
        if metric is not None:
            marked |= unusually_low(metric)[list(metric).index(name)]
    return [int(k) for k in np.flatnonzero(marked)]


def unusually_low(metric: MetricResult) -> np.ndarray:
    """Which segments of which system: (systems, segments), by Tukey's rule."""
    scores = np.stack([system.segments for system in metric.values()])
    worth = scores if metric.higher_is_better else -scores
    known = worth[np.isfinite(worth)]
    if not len(known):
        return np.zeros(scores.shape, dtype=bool)
    low, high = np.percentile(known, [25, 75])
    with np.errstate(invalid="ignore"):
        return np.asarray(worth < low - _FENCE * (high - low))


# the sentences


def _comparison(result: Result, best: str | None) -> list[str]:
    names, total = result.systems, len(served(result)) - len(_silent(result))
    if len(names) == 1:
        return [f"One system, {names[0]}: there is nothing to compare it with."]
    if all(metric.tests is None for metric in served(result)):
        why = result.untested or "the run made no tests."
        return [f"Which system is better was not tested: {why}", _ahead(result)]
    if best is None:
        return [*_undecided(result), *_no_say(result)]
    alike: dict[Preferences, list[str]] = {}
    for other in names:
        if other != best:
            alike.setdefault(preferences(result, best, other), []).append(other)
    lines = [_preferred(best, others, found, total) for found, others in alike.items()]
    return [f"{best} is the better system." if len(names) == 2 else f"{best} is the best system.",
            *lines, *_no_say(result), _how_sure(result, best),
            *_would_notice(result, best)]  # fmt: skip


def _preferred(best: str, others: Sequence[str], found: Preferences, total: int) -> str:
    """Which metrics prefer the best system to these."""
    whom = _list(others)
    line = f"{best} is better than {whom} by "
    if len(found.mine) == total:
        return line + (f"{found.mine[0]}." if total == 1 else f"all {total} metrics.")
    line += f"{len(found.mine)} of {_metrics(total)} ({_list(found.mine)})"
    if found.theirs:
        line += f"; {_list(found.theirs)} {_verb(found.theirs, 'prefer')} {whom}"
    if found.undecided:
        line += f"; {_list(found.undecided)} {_verb(found.undecided, 'see')} no sure difference"
    return line + "."


def _undecided(result: Result) -> list[str]:
    lines = []
    names = result.systems if len(_silent(result)) < len(served(result)) else ()
    for i, one in enumerate(names):
        for other in names[i + 1 :]:
            found = preferences(result, one, other)
            sides = [(one, found.mine), (other, found.theirs)]
            told = [f"{_list(s)} {_verb(s, 'prefer')} {name}" for name, s in sides if s]
            lines.append(
                f"{one} and {other}: {'; '.join(told)}." if told
                else f"{one} and {other}: no metric sees a sure difference."
            )  # fmt: skip
    return ["No system is clearly the better one." if len(result.systems) == 2
            else "No system is clearly the best.", *lines]  # fmt: skip


def _silent(result: Result) -> list[str]:
    return [metric.spec for metric in served(result) if metric.has_no_say]


def _no_say(result: Result) -> list[str]:
    if not (specs := _silent(result)):
        return []
    return [
        f"{_list(specs)} {'has' if len(specs) == 1 else 'have'} no say: on systems of this "
        "language pair or direction people went either way with such differences."
    ]


def _how_sure(result: Result, best: str) -> str:
    i = result.systems.index(best)
    worst = 0.0
    for other in result.systems:
        for spec in () if other == best else preferences(result, best, other).mine:
            tests = result[spec].tests
            assert tests is not None
            worst = max(worst, float(tests.adjusted[i, result.systems.index(other)]))
    least = "p < 0.001" if worst < 0.001 else f"p ≤ {worst:.3f}"
    return f"Chance alone hardly explains these differences: {least} each, corrected for all pairs."


def _would_notice(result: Result, best: str) -> list[str]:
    """What is known of people, at the difference between the best system and the baseline."""
    _, other = shown_pair(result)
    specs = preferences(result, best, other).mine
    metric = most_trusted(result, [spec for spec in specs if result[spec].knows_people])
    if metric is None:
        if result.lang is None:
            return ["Whether people would notice can be told if the language pair is given."]
        return [f"Whether people would notice is not known for these metrics and {result.lang}."]
    found = metric.agreement(best, other)
    if metric.is_beyond(best, other):
        return [
            f"The difference to {other} in {metric.spec} is larger than any seen among WMT's "
            "systems: how many people would notice is not known."
        ]
    if found is None:
        return [f"Whether people would notice takes {ENOUGH} segments or more to say."]
    share, low, high = found
    judged = next(text for least, text in _NOTICE if share >= least)
    shown = f"{100 * share:.0f} % of cases ({100 * low:.0f} to {100 * high:.0f} %)"
    if low > 0.99:
        shown = "more than 99 % of cases"
    return [
        f"People {judged} the difference to {other}: when two systems differed by so much in "
        f"{metric.spec}, people preferred the same one in {shown}."
    ]


def _ahead(result: Result) -> str:
    """Who has most of the better numbers, where nothing was tested."""
    wins = dict.fromkeys(result.systems, 0)
    for metric in served(result):
        sign = 1 if metric.higher_is_better else -1
        known = {n: sign * s.score for n, s in metric.items() if not math.isnan(s.score)}
        if known:
            wins[max(known, key=lambda n: known[n])] += 1
    told = ", ".join(f"{name} {n}" for name, n in wins.items())
    return f"By the numbers alone, the best of {_metrics(len(served(result)))}: {told}."


def _work(result: Result, marked: int, about: str | None) -> str:
    if result.texts is None:
        return "How many segments need a person is not known: the texts are not in this result."
    whose = "of any system" if about is None else f"of {about}"
    if not marked:
        return f"No segment {whose} has a warning or an unusually low score."
    one = marked == 1
    return (
        f"{marked:,} of {result.segments:,} segments {whose} {'needs' if one else 'need'} a "
        f"person: {'it has' if one else 'they have'} a warning or an unusually low score."
    )


def _metrics(n: int) -> str:
    return f"{n} metric" + ("" if n == 1 else "s")


def _verb(specs: Sequence[str], verb: str) -> str:
    return verb + ("s" if len(specs) == 1 else "")


def _list(specs: Sequence[str]) -> str:
    return specs[0] if len(specs) == 1 else f"{', '.join(specs[:-1])} and {specs[-1]}"
