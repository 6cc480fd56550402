"""A combination of metrics: the weighted mean of their normalised scores.

    z_i = (score_i - centre_i) / scale_i        negated where lower is better
    blend = sum_i w_i z_i / sum_i w_i

The paper on KoBE leaves this for future work: a metric of names beside a metric of wording. Centre,
scale and weight of every component are parameters, so a segment's score depends on that segment
alone and the signature says all. A component without a score (KoBE where the source names nothing)
is left out of the mean of that segment.

    load("blend")                                              # chrF and KoBE
    load("blend:components='kobe;xmoverscore',centres=0.85;0.3,scales=0.3;0.1,weights=1;2")
    Blend.fitted(("chrf", "kobe"), [(batch, human)])           # all three from judged segments

The default's figures are those of WMT15 and WMT16: `mtgauge train blend --train da15.tsv.gz
da16.tsv.gz` prints them, and the same with `--components kobe xmoverscore` or any others gives the
specification of another blend. Known limits: what a component needs, the blend needs; means of
z-scores have no natural unit, so compare them only under one signature.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from mtgauge import registry
from mtgauge.data.segments import Segments
from mtgauge.errors import ResourceError, UsageError
from mtgauge.metric import FloatArray, Metric
from mtgauge.registry import metric

Judged = tuple[Segments, Sequence[float] | FloatArray]


@metric("blend")
class Blend(Metric):
    summary = "Weighted mean of the normalised scores of several metrics (default: chrF and KoBE)."
    meaning = "0 is the centre that the options state for every component; 1 is one scale better."
    paper = "Gekhman et al. 2020 name it as future work"

    def __init__(
        self,
        components: tuple[str, ...] = ("chrf", "kobe"),
        centres: tuple[float, ...] = (52.1679, 0.8873),
        scales: tuple[float, ...] = (16.2665, 0.2526),
        weights: tuple[float, ...] = (0.5684, 0.0587),
    ) -> None:
        self.components = components
        self.centres = centres
        self.scales = scales
        self.weights = weights

    @property
    def needs(self) -> frozenset[str]:
        return frozenset().union(*(part.needs for part in self._parts()))

    @property
    def bounds(self) -> tuple[float, float]:
        return (-np.inf, np.inf)

    @property
    def worst(self) -> float:
        scores = np.array([[part.worst] for part in self._parts()])
        return float(self._mean(scores)[0])

    @property
    def worst_row(self) -> FloatArray | None:
        return None

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(f"{part.name}.{column}" for part in self._parts() for column in part.columns)

    @property
    def cost(self) -> str:  # type: ignore[override]
        order = ("surface", "vectors", "encoder")
        return max((part.cost for part in self._parts()), key=order.index)

    @property
    def tolerance(self) -> float:  # type: ignore[override]
        pairs = zip(self._parts(), self.scales, strict=True)
        return max(part.tolerance / scale for part, scale in pairs)

    @property
    def needs_corpus(self) -> bool:
        return any(part.needs_corpus for part in self._parts())

    def fit(self, references: Iterable[str]) -> None:
        texts = list(references)
        for part in self._parts():
            if part.needs_corpus:
                part.fit(texts)

    def versions(self) -> dict[str, str]:
        return {k: v for part in self._parts() for k, v in part.versions().items()}

    def statistics(self, batch: Segments) -> FloatArray:
        blocks = []
        for part in self._parts():
            rows = part.statistics(batch)
            if part.worst_row is not None:
                empty = [not text.strip() for text in batch.hypotheses]
                rows[np.array(empty, dtype=bool)] = part.worst_row
            blocks.append(rows)
            self.notes.update(part.notes)
            part.notes.clear()
        return np.concatenate(blocks, axis=1)

    def segment_score(self, rows: FloatArray) -> FloatArray:
        split = self._split(rows)
        return self._mean(
            np.array([p.segment_score(r) for p, r in zip(self._parts(), split, strict=True)])
        )

    def system_score(self, totals: FloatArray, n: FloatArray) -> FloatArray:
        split = self._split(totals)
        return self._mean(
            np.array([p.system_score(r, n) for p, r in zip(self._parts(), split, strict=True)])
        )

    @classmethod
    def fitted(
        cls, components: Sequence[str], judged: Sequence[Judged], equal: bool = False
    ) -> Blend:
        """Centres and scales of this data, and the non-negative weights nearest to the humans."""
        plain = cls(tuple(components), *((1.0,) * len(components),) * 3)
        if any(len(human) != len(batch) for batch, human in judged):
            raise UsageError("Fitting a blend needs one judgement a segment.")
        scores = np.concatenate([plain._scores(batch) for batch, _ in judged], axis=1)
        human = np.concatenate([np.asarray(row, dtype=np.float64) for _, row in judged])
        centres, scales = np.nanmean(scores, axis=1), np.nanstd(scores, axis=1)
        if not (scales > 0).all():
            raise UsageError("Fitting a blend needs components whose scores vary.")
        signs = np.array([1.0 if p.higher_is_better else -1.0 for p in plain._parts()])
        z = signs[:, None] * (scores - centres[:, None]) / scales[:, None]
        weights = np.ones(len(components))
        if not equal:
            # a missing score is the average one: it says nothing for or against the segment
            weights = _nearest(np.nan_to_num(z).T, (human - human.mean()) / human.std())
        if not weights.sum() > 0:
            raise UsageError("None of the components agrees with these judgements: no weights.")
        values = [tuple(round(float(x), 4) for x in row) for row in (centres, scales, weights)]
        return cls(tuple(components), *values)

    def _scores(self, batch: Segments) -> FloatArray:
        """(components, n): the segments' scores by each component."""
        rows = self._split(self.statistics(batch))
        return np.array([p.segment_score(r) for p, r in zip(self._parts(), rows, strict=True)])

    def _mean(self, scores: FloatArray) -> FloatArray:
        """(components, n) scores to n weighted means of z-scores; missing scores are left out."""
        signs = np.array([1.0 if p.higher_is_better else -1.0 for p in self._parts()])
        centres, scales = np.array(self.centres)[:, None], np.array(self.scales)[:, None]
        z = signs[:, None] * (scores - centres) / scales
        weights = np.where(np.isnan(z), 0.0, np.array(self.weights)[:, None])
        with np.errstate(invalid="ignore", divide="ignore"):
            total = np.asarray((np.nan_to_num(z) * weights).sum(axis=0) / weights.sum(axis=0))
        return total.astype(np.float64)

    def _split(self, rows: FloatArray) -> list[FloatArray]:
        ends = np.cumsum([len(part.columns) for part in self._parts()])[:-1]
        return np.split(rows, ends, axis=1)

    def _parts(self) -> list[Metric]:
        """The components, loaded once; the parameters are checked here."""
        if "_loaded" not in self.__dict__:
            sizes = {len(x) for x in (self.components, self.centres, self.scales, self.weights)}
            if sizes != {len(self.components)} or not self.components:
                raise UsageError(
                    "blend: components, centres, scales and weights must have the same length."
                )
            if any(s <= 0 for s in self.scales) or any(w < 0 for w in self.weights):
                raise UsageError("blend: scales are above 0 and weights are not negative.")
            if any(registry.split_spec(spec)[0] == self.name for spec in self.components):
                raise UsageError("blend: a blend cannot be a component of a blend.")
            self.__dict__["_loaded"] = [registry.load(spec) for spec in self.components]
        parts: list[Metric] = self.__dict__["_loaded"]
        return parts


def _nearest(columns: FloatArray, target: FloatArray) -> FloatArray:
    """The weights >= 0 whose sum of columns comes nearest to `target`."""
    try:
        from scipy.optimize import nnls
    except ImportError:
        raise ResourceError("Fitting weights needs scipy: pip install 'mtgauge[train]'.") from None
    return np.asarray(nnls(columns, target)[0], dtype=np.float64)
