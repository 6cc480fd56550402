"""From statistics rows to what a run reports: scores, intervals, tests of all pairs, ranks.

    summarise(metrics, tables, names, settings)     one `MetricResult` per metric

`tables[spec]` has shape (systems, segments, k). With documents, resampling draws documents instead
of segments: sentences of one text are not independent, and intervals that ignore it are too narrow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mtgauge.arguments import whole_number
from mtgauge.engine.ready import Ready
from mtgauge.engine.result import MetricResult, SystemScore, Versus
from mtgauge.errors import UsageError
from mtgauge.metric import FloatArray
from mtgauge.stats import bootstrap, paired


@dataclass(frozen=True)
class Comparing:
    """How systems are compared."""

    ci: bool = True  # intervals and tests
    seed: int = bootstrap.SEED
    baseline: str | None = None  # the system that others are tested against; None: the first

    def __post_init__(self) -> None:
        object.__setattr__(self, "seed", whole_number("seed", self.seed, 0))

    def base_of(self, names: Sequence[str]) -> str:
        if self.baseline is None:
            return names[0]
        if self.baseline not in names:
            raise UsageError(f"There is no system {self.baseline!r}: it is {', '.join(names)}.")
        return self.baseline


def summarise(
    metrics: Mapping[str, Ready],
    tables: Mapping[str, FloatArray],
    names: Sequence[str],
    how: Comparing,
    *,
    skipped: NDArray[np.bool_],
    documents: Sequence[str] | None = None,
) -> dict[str, MetricResult]:
    """Results by spec; `skipped` marks segments that no score counts."""
    objects = [ready.metric for ready in metrics.values()]
    kept = [tables[spec][:, ~skipped] for spec in metrics]
    segments = kept[0].shape[1]
    sizes: FloatArray | None = None
    if documents is not None:
        mine = [name for name, out in zip(documents, skipped, strict=True) if not out]
        grouped = [bootstrap.by_document(rows, mine) for rows in kept]
        kept, sizes = [rows for rows, _ in grouped], grouped[0][1]
    resampled = tests = None
    # one segment is drawn again and again, of a few documents the same: no interval
    if how.ci and kept[0].shape[1] > (1 if documents is None else paired.FEWEST - 1):
        resampled = bootstrap.resampled_scores(objects, kept, seed=how.seed, sizes=sizes)
        if len(names) > 1:
            tests = paired.compare_all(objects, kept, resampled, how.seed, sizes)
    found = {}
    for j, (spec, ready) in enumerate(metrics.items()):
        metric, table = ready.metric, tables[spec]
        totals = kept[j].sum(axis=1)
        metric.count(totals)
        real = metric.system_score(totals, np.full(len(names), float(segments)))
        by_segment = np.array([metric.segment_score(rows) for rows in table])
        by_segment[:, skipped] = np.nan
        result = MetricResult(
            metric.name,
            spec,
            ready.signature,
            metric.higher_is_better,
            _systems(
                real,
                by_segment,
                names,
                how.base_of(names),
                None if resampled is None else resampled[j],
                None if tests is None else tests[j],
                metric.higher_is_better,
            ),
            dict(metric.notes),
            tests=None if tests is None else tests[j],
        )
        if resampled is not None:
            lost = int(np.isnan(resampled[j]).any(axis=1).sum())
            if 0 < lost < len(resampled[j]):
                result.notes["undefined resamples"] = lost
        found[spec] = result
    return found


def _systems(
    real: FloatArray,
    by_segment: FloatArray,
    names: Sequence[str],
    baseline: str,
    resampled: FloatArray | None,
    tests: paired.Pairwise | None,
    higher_is_better: bool,
) -> dict[str, SystemScore]:
    intervals = None if resampled is None else bootstrap.interval(resampled)
    if intervals is not None:  # one segment with a score is drawn again and again: no interval
        intervals[(~np.isnan(by_segment)).sum(axis=1) < 2] = np.nan
    several = tests is not None and len(names) > 2
    ranks = tests.ranks(real, higher_is_better) if tests is not None and several else None
    base = list(names).index(baseline)
    found = {}
    for i, name in enumerate(names):
        versus = None
        if tests is not None and i != base:
            p = (tests.bootstrap[i, base], tests.randomisation[i, base], tests.adjusted[i, base])
            versus = Versus(baseline, *map(float, p))
        found[name] = SystemScore(
            float(real[i]),
            by_segment[i],
            None if intervals is None else (float(intervals[i, 0]), float(intervals[i, 1])),
            versus,
            None if ranks is None else ranks[i],
        )
    return found
