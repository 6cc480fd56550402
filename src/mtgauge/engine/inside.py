"""What a report shows beside the scores: warnings, phrases, and explanations of segments.

    looked_into(result, explain=20)     the result with all three; it must have kept its texts

An explanation costs as much as scoring some segments, so only some are explained: half of them
those on which the best system and the baseline differ most, half those on which the best scores
lowest, by the most trusted metric. A report shows segments in this order first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from mtgauge.data.segments import Segments
from mtgauge.engine.contrast import Counted
from mtgauge.engine.flags import KINDS, USUAL, Finder, Kind
from mtgauge.engine.places import SHARD
from mtgauge.engine.ready import Ready, serve
from mtgauge.engine.result import Explained, Result
from mtgauge.engine.verdict import most_trusted, served, shown_pair
from mtgauge.errors import UsageError
from mtgauge.metric import Task

SHARE = 100  # one segment of so many is explained
FEWEST, MOST = 5, 50


def how_many(segments: int) -> int:
    """How many segments a report explains, if nothing is said.

    >>> how_many(20), how_many(3000), how_many(100_000)
    (5, 30, 50)
    """
    return min(max(FEWEST, segments // SHARE), MOST, segments)


def kinds_beside(metrics: Iterable[str]) -> tuple[Kind, ...]:
    """The warnings of a report with these metrics: of names where entities are scored."""
    return KINDS if "kobe" in metrics else USUAL


def looked_into(result: Result, explain: int | None = None) -> Result:
    """The result with warnings, phrases and explanations of so many segments; needs its texts.

    What it has already (`aside.py`) is kept.
    """
    texts = result.texts
    if texts is None:
        return result
    flags, contrast = result.flags, result.contrast
    if contrast is None and texts.references is not None:
        contrast = Counted(texts).contrast(result.baseline)
    if not flags:
        finder = Finder(result.lang, kinds_beside(metric.name for metric in result.values()))
        flags = finder.look_at_all(texts.parts(SHARD))
    found = result if result.explained else explained(result, explain)
    return replace(found, flags=flags, contrast=contrast)


def explained(result: Result, explain: int | None = None) -> Result:
    """The result with explanations of so many segments, or of as many as `how_many` says."""
    n = how_many(result.segments) if explain is None else explain
    return replace(result, explained=tuple(_explanations(result, _ready(result), n)))


def _ready(result: Result) -> Mapping[str, Ready]:
    """The metrics that the result was made with; those of other tools are not here."""
    ours = [s for s, m in result.items() if m.unserved is None and not m.signature.from_file]
    texts = result.texts
    assert texts is not None
    sides = {"source": texts.sources, "reference": texts.references}
    task = Task(frozenset(k for k, v in sides.items() if v is not None), result.lang)
    given = [text for row in texts.references or () for text in row]
    number = max((len(row) for row in texts.references or ()), default=1)
    return serve(ours, task, references=lambda: given, number=number)[0]


def _explanations(result: Result, metrics: Mapping[str, Ready], n: int) -> Iterator[Explained]:
    from mtgauge.engine.explain import explain_alone

    texts = result.texts
    assert texts is not None
    for k in chosen(result, n):
        one = texts.only(k)
        for name, line in one.systems.items():
            alone = Segments(line, one.sources, one.references, result.lang)
            for spec, ready in metrics.items():
                try:
                    yield Explained(spec, name, k, explain_alone(ready.metric, alone))
                except UsageError:
                    continue  # a metric without explanations, a text with nothing to compare


def chosen(result: Result, n: int) -> list[int]:
    """The segments to explain: where the two systems differ most, and where the first is lowest."""
    metric = most_trusted(result, [m.spec for m in served(result)])
    if not n or metric is None:
        return []
    first, other = shown_pair(result)
    sign = 1 if metric.higher_is_better else -1
    mine, theirs = sign * metric[first].segments, sign * metric[other].segments
    lowest = [int(k) for k in np.argsort(np.nan_to_num(mine, nan=np.inf), kind="stable")]
    if first == other:
        return lowest[:n]
    gap = np.nan_to_num(np.abs(mine - theirs), nan=-np.inf)
    differing = [int(k) for k in np.argsort(-gap, kind="stable")]
    return list(dict.fromkeys([k for pair in zip(differing, lowest, strict=True) for k in pair]))[
        :n
    ]
