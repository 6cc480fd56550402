"""Centres, scales and weights of a blend, from judged segments.

    blend = fit_blend(("chrf", "kobe"), [(batch, human), ...])       # one batch per language pair
    registry.spec_of(blend)                                          # for -m and for mtgauge.load

Centres and scales are each component's mean and deviation over all segments; weights are the
non-negative ones whose weighted sum comes nearest to the human scores. Components are made ready
per batch, and those that learn from references are fitted on the references of the batch.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mtgauge import registry
from mtgauge.data.segments import Segments
from mtgauge.engine.ready import make_ready
from mtgauge.errors import ResourceError, UsageError
from mtgauge.metric import FloatArray, Metric, Task
from mtgauge.metrics.blend import Blend

Judged = tuple[Segments, Sequence[float] | FloatArray]


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
    better = [registry.load(spec).higher_is_better for spec in components]
    z = np.where(better, 1.0, -1.0)[:, None] * (scores - centres[:, None]) / scales[:, None]
    weights = np.ones(len(components))
    if not equal:
        # a missing score is the average one: it says nothing for or against the segment
        weights = _nearest(np.nan_to_num(z).T, (human - human.mean()) / human.std())
    if not weights.sum() > 0:
        raise UsageError("None of the components agrees with these judgements: no weights.")
    values = [tuple(round(float(x), 4) for x in row) for row in (centres, scales, weights)]
    return Blend(tuple(components), *values)


def _nearest(columns: FloatArray, target: FloatArray) -> FloatArray:
    """The weights >= 0 whose sum of columns comes nearest to `target`."""
    try:
        from scipy.optimize import nnls
    except ImportError:
        raise ResourceError("Fitting weights needs scipy: pip install 'mtgauge[train]'.") from None
    return np.asarray(nnls(columns, target)[0], dtype=np.float64)
