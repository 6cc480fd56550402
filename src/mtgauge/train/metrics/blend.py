"""Fitting a blend of metrics to judged segments: `mtgauge train blend`.

    fitted = blend(["da15.tsv.gz", "da16.tsv.gz"], ["chrf", "kobe"], test=["da17.tsv.gz"])
    fitted.spec                     # for `-m` and for `mtgauge.load`
    fitted.tested                   # Pearson's r with the test files, per language pair

Centres and scales are each component's mean and deviation over all segments; weights are the
non-negative ones that come nearest to the human scores (`equal`: all the same). Human scores should
be z-scores: the language pairs are taken together. Components are made ready per language pair, and
those that learn from references are fitted on the references of the pair.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mtgauge import registry
from mtgauge.arguments import FILES, refuse_no_list
from mtgauge.data import judged_files
from mtgauge.data.judgements import Judgements
from mtgauge.data.segments import Segments
from mtgauge.data.watch import judged_in_other_languages
from mtgauge.engine.ready import make_ready
from mtgauge.errors import ResourceError, UsageError
from mtgauge.metric import FloatArray, Metric, Task
from mtgauge.metrics.blend import Blend
from mtgauge.stats.correlation import pearson
from mtgauge.text.untranslated import ask_strangers
from mtgauge.train.progress import warn

Judged = tuple[Segments, Sequence[float] | FloatArray]


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
    refuse_no_list(train, "train", FILES)
    refuse_no_list(test, "test", FILES)
    if not equal:
        _solver()  # before hours of scoring
    judged = [(table.segments(unescape=True), table.human) for table in _read(train, pairs)]
    fitted = fit_blend(components, judged, equal=equal)
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
        for table in judged_files.read(path):
            if not pairs or table.lp in pairs:
                for warning in judged_in_other_languages(table, ask_strangers):
                    warn(warning)
                found.append(table.take(np.flatnonzero(~np.isnan(table.human))))
    if not found:
        wanted = " ".join(pairs) or "any language pair"
        raise UsageError(
            f"There are no judged segments of {wanted} in {' '.join(map(str, files))}."
        )
    return found


def _agreement(metric: Metric, table: Judgements) -> float:
    """Pearson's r over the segments that have a score, higher meaning better."""
    scores = segment_scores(metric, table.segments(unescape=True))
    has = ~np.isnan(scores)
    sign = 1.0 if metric.higher_is_better else -1.0
    return sign * float(pearson(scores[has], table.human[has]))


def segment_scores(spec: str | Metric, batch: Segments) -> FloatArray:
    """Scores of segments by a metric that is made ready for them alone."""
    texts = dict.fromkeys(text for row in batch.references or () for text in row)
    metric = make_ready(spec, Task.of(batch), references=lambda: texts).metric
    return metric.segment_score(metric.rows(batch))


def fit_blend(components: Sequence[str], judged: Sequence[Judged], equal: bool = False) -> Blend:
    """A blend whose centres and scales are those of this data; weights may be `equal`."""
    if any(len(human) != len(batch) for batch, human in judged):
        raise UsageError("Fitting a blend needs one judgement per segment.")
    Blend(tuple(components), *((1.0,) * len(components),) * 3).check()
    scores = np.concatenate(
        [np.array([segment_scores(spec, batch) for spec in components]) for batch, _ in judged],
        axis=1,
    )
    human = np.concatenate([np.asarray(row, dtype=np.float64) for _, row in judged])
    centres, scales = np.nanmean(scores, axis=1), np.nanstd(scores, axis=1)
    if not (scales > 0).all():
        raise UsageError("Fitting a blend needs components whose scores vary.")
    if not (equal or human.std() > 0):
        raise UsageError("Fitting weights needs judgements that vary: here all are equal.")
    better = [registry.load(spec).higher_is_better for spec in components]
    z = np.where(better, 1.0, -1.0)[:, None] * (scores - centres[:, None]) / scales[:, None]
    weights = np.ones(len(components))
    if not equal:
        # a missing score is the average one: it says nothing for or against the segment
        weights = _nearest(np.nan_to_num(z).T, (human - human.mean()) / human.std())
    if not weights.sum() > 0:
        raise UsageError("None of the components agrees with these judgements: no weights.")
    centre, scale, weight = (
        tuple(round(float(x), 4) for x in row) for row in (centres, scales, weights)
    )
    return Blend(tuple(components), centre, scale, weight)


def _nearest(columns: FloatArray, target: FloatArray) -> FloatArray:
    """The weights >= 0 whose sum of columns comes nearest to `target`."""
    return np.asarray(_solver()(columns, target)[0], dtype=np.float64)


def _solver() -> Callable[..., Any]:
    try:
        from scipy.optimize import nnls
    except ImportError:
        raise ResourceError("Fitting weights needs scipy: pip install 'mtgauge[train]'.") from None
    solver: Callable[..., Any] = nnls
    return solver
