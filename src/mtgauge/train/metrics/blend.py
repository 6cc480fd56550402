"""Fitting a blend of metrics to judged segments: `mtgauge train blend`.

    fitted = blend(["da15.tsv.gz", "da16.tsv.gz"], ["chrf", "kobe"], test=["da17.tsv.gz"])
    fitted.spec                     # for `-m` and for `mtgauge.load`
    fitted.tested                   # Pearson's r with the test files, per language pair

Centres and scales are each component's mean and deviation over all segments; weights are the
non-negative ones that come nearest to the human scores (`equal`: all the same). Human scores should
be z-scores: the language pairs are taken together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mtgauge import registry
from mtgauge.data import judgements
from mtgauge.data.judgements import Judgements
from mtgauge.errors import UsageError
from mtgauge.metric import Metric
from mtgauge.metrics.blend import Blend
from mtgauge.stats.correlation import pearson


@dataclass(frozen=True)
class Agreement:
    """Pearson's r of the blend and of each component with one language pair."""

    lp: str
    segments: int
    pearson: dict[str, float]


@dataclass(frozen=True)
class FittedBlend:
    metric: Blend
    tested: tuple[Agreement, ...] = ()

    @property
    def spec(self) -> str:
        return registry.spec_of(self.metric)


def blend(
    train: Sequence[str | Path],
    components: Sequence[str] = ("chrf", "kobe"),
    *,
    test: Sequence[str | Path] = (),
    pairs: Sequence[str] = (),
    equal: bool = False,
) -> FittedBlend:
    """The blend that fits `train` best, and how it agrees with `test`."""
    judged = [(table.segments(unescape=True), table.human) for table in _read(train, pairs)]
    fitted = Blend.fitted(components, judged, equal=equal)
    parts: dict[str, Metric] = {"blend": fitted}
    tables = _read(test, pairs) if test else []
    parts |= {spec: registry.load(spec) for spec in fitted.components} if test else {}
    tested = tuple(
        Agreement(t.lp, len(t), {name: _agreement(part, t) for name, part in parts.items()})
        for t in tables
    )
    return FittedBlend(fitted, tested)


def _read(files: Sequence[str | Path], pairs: Sequence[str]) -> list[Judgements]:
    """The judged segments of every language pair."""
    found: list[Judgements] = []
    for path in files:
        for table in judgements.read_judged(path):
            if not pairs or table.lp in pairs:
                found.append(table.take(np.flatnonzero(~np.isnan(table.human))))
    if not found:
        wanted = " ".join(pairs) or "any language pair"
        raise UsageError(
            f"There are no judged segments of {wanted} in {' '.join(map(str, files))}."
        )
    return found


def _agreement(metric: Metric, table: Judgements) -> float:
    """Pearson's r over the segments that have a score, higher meaning better."""
    scores = metric.segment_score(metric.statistics(table.segments(unescape=True)))
    has = ~np.isnan(scores)
    sign = 1.0 if metric.higher_is_better else -1.0
    return sign * float(pearson(scores[has], table.human[has]))
