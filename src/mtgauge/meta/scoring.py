"""Scores of judged translations: by our metrics, or brought from elsewhere.

    score(judgements, "chrf")                      the judged segments
    score(judgements, "bleu", level="system")      whole outputs of the judged systems
    external(judgements)                           scores that came with the data

Scores are turned so that higher is better, by the metric's declared direction and nothing else.
Work goes in chunks through the row cache, so an interrupted run goes on where it stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from mtgauge import registry
from mtgauge.data.judgements import FloatArray, IntArray, Judgements
from mtgauge.engine import local
from mtgauge.engine.cache import RowCache
from mtgauge.engine.places import Place, rows_of
from mtgauge.engine.ready import make_ready
from mtgauge.errors import InputError, LanguageError
from mtgauge.metric import Metric, Task
from mtgauge.signature import Signature, sign

Level = Literal["segment", "system"]


@dataclass(frozen=True)
class Scores:
    """One metric on one set of judgements, higher is better: distances are negated already."""

    metric: str  # the spec, or the name of scores from elsewhere
    signature: Signature
    segments: FloatArray  # (rows of the judgements,), NaN where not scored
    systems: dict[str, float]
    notes: dict[str, int] = field(default_factory=dict)  # what the metric counted while scoring
    unserved: str | None = None  # why there are no scores for this language pair


def score(
    judgements: Judgements,
    spec: str | Metric,
    level: Level = "segment",
    *,
    cache: RowCache | None = None,
    place: Place | None = None,
    unescape: bool = False,
    limit: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> Scores:
    """Scores of the translations that the level needs, shard by shard, through the cache.

    `limit` takes so many source segments, evenly spread, with all translations of each. A metric
    that cannot serve the language pair has no scores, and says why.
    """
    asked = registry.load(spec) if isinstance(spec, str) else spec
    name = spec if isinstance(spec, str) else registry.spec_of(spec)
    texts = judgements.segments(unescape=unescape)
    wanted = _wanted(judgements, level)
    if limit is not None:
        wanted = _spread(wanted, judgements.sids, limit)
    batch = texts.take(wanted.tolist())
    try:
        ready = make_ready(
            asked,
            Task.of(texts),
            references=lambda: _references(judgements.sids, texts.references or []),
            number=max((len(row) for row in texts.references or ()), default=0),
            facts=local.UNESCAPED if unescape else None,
        )
    except LanguageError as error:
        nothing = np.full(len(judgements), np.nan)
        facts = {"lang": judgements.lp}
        return Scores(name, sign(asked, facts), nothing, {}, unserved=str(error))
    metric = ready.metric
    rows = rows_of(ready, batch, place=place, cache=cache, progress=progress)
    direction = 1.0 if metric.higher_is_better else -1.0
    segments = np.full(len(judgements), np.nan)
    segments[wanted] = direction * metric.segment_score(rows)
    systems: dict[str, float] = {}
    if level == "system":
        position = np.full(len(judgements), -1)
        position[wanted] = np.arange(len(wanted))
        for system, members in judgements.rows_by_system().items():
            mine = position[members][position[members] >= 0]
            if len(mine):
                total = metric.system_score(rows[mine].sum(axis=0)[None], np.array([len(mine)]))
                systems[system] = direction * float(total[0])
    return Scores(name, ready.signature, segments, systems, dict(metric.notes))


def refuse_nothing_served(scored: Iterable[Sequence[Scores]]) -> None:
    """A run in which no metric can serve any language pair is an error."""
    each = [one for scores in scored for one in scores]
    if each and all(one.unserved is not None for one in each):
        raise LanguageError(str(each[0].unserved))


def external(
    judgements: Judgements, level: Level = "segment", lower: Collection[str] = ()
) -> list[Scores]:
    """Scores that came with the judgements; those named in `lower` are distances.

    A metric that scored nothing of this language pair did not take part in it and is left out.
    """
    names = dict.fromkeys([*judgements.scores, *judgements.system_scores])
    found = []
    for name in names:
        direction, higher = (-1.0, "no") if name in lower else (1.0, "yes")
        segments = judgements.scores.get(name)
        systems = judgements.system_scores.get(name, {})
        if segments is not None and not systems:  # the shared tasks' way from segments to systems
            systems = judgements.system_means(segments)
        if not systems if level == "system" else segments is None or np.isnan(segments).all():
            continue
        found.append(
            Scores(
                name,
                Signature(name, facts={"from": "file", "higher_is_better": higher}),
                np.full(len(judgements), np.nan) if segments is None else direction * segments,
                {system: direction * value for system, value in systems.items()},
            )
        )
    return found


def _wanted(judgements: Judgements, level: Level) -> IntArray:
    """Rows to score: all judged ones, or all of the judged systems."""
    if level == "system" and judgements.system_human:
        mask = np.array([system in judgements.system_human for system in judgements.systems])
    else:
        mask = ~np.isnan(judgements.human)
        if judgements.pairs is not None:
            mask[judgements.pairs.ravel()] = True
    if not mask.any():
        raise InputError(
            f"{judgements.data} {judgements.lp}: nothing here is judged at {level} level",
            remedy="Give system-level human scores with --human FILE --level system."
            if level == "segment"
            else "Give human scores with --human FILE (columns lp, human, system).",
        )
    return np.flatnonzero(mask)


def _spread(rows: IntArray, sids: Sequence[str], limit: int) -> IntArray:
    """The rows of `limit` of their source segments, evenly spread over the set.

    >>> _spread(np.arange(6), ["a", "a", "b", "b", "c", "c"], 2).tolist()
    [0, 1, 4, 5]
    """
    there = list(dict.fromkeys(sids[row] for row in rows))
    places = np.linspace(0, len(there) - 1, min(limit, len(there))).round().astype(int)
    chosen = {there[place] for place in places}
    return np.array([row for row in rows if sids[row] in chosen], dtype=np.int64)


def _references(sids: Sequence[str], references: Sequence[tuple[str, ...]]) -> list[str]:
    """Every reference of the set once per segment, to fit a metric on."""
    seen: set[str] = set()
    found: list[str] = []
    for sid, row in zip(sids, references, strict=True):
        if sid not in seen:
            seen.add(sid)
            found += row
    return found
