"""A combination of metrics: the weighted mean of their normalised scores.

    z_i = (score_i - centre_i) / scale_i        negated where lower is better
    blend = sum_i w_i z_i / sum_i w_i

The paper on KoBE leaves this for future work: a metric of names beside a metric of wording. Centre,
scale and weight of every component are parameters, so a segment's score depends on that segment
alone and the signature says all. A component without a score (KoBE where the source names nothing)
is left out of the mean of that segment.

    load("blend")                                              # chrF and KoBE
    load("blend:components='kobe;xmoverscore',centres=0.85;0.3,scales=0.3;0.1,weights=1;2")
    fit_blend(("chrf", "kobe"), [(batch, human)])              # all three from judged segments

The default's figures are those of WMT15 and WMT16: `mtgauge train blend --train da15.tsv.gz
da16.tsv.gz` prints them, and the same with `--components kobe xmoverscore` or any others gives the
specification of another blend. If one component reads the source, an untranslated hypothesis gets
the worst of all components (`untranslated=worst`), whatever their presets say. Known limits: what
a component needs, the blend needs; means of z-scores have no natural unit, so compare them only
under one signature.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Self

import numpy as np

from mtgauge import registry
from mtgauge.data.segments import Segments
from mtgauge.errors import UsageError
from mtgauge.explanation import Explanation, Finding
from mtgauge.metric import FloatArray, Metric, Task, Untranslated
from mtgauge.metrics._unrelated import ReferenceFree
from mtgauge.options import Range
from mtgauge.registry import metric


@metric("blend")
class Blend(ReferenceFree):
    summary = "Weighted mean of the normalised scores of several metrics (default: chrF and KoBE)."
    meaning = "0 is the centre that the options state for every component; 1 is one scale better."
    paper = "Gekhman et al. 2020 name it as future work"
    bounds = (-np.inf, np.inf)

    components: Annotated[tuple[str, ...], "metrics that are combined"] = ("chrf", "kobe")
    centres: Annotated[tuple[float, ...], "the score of each that counts 0", Range()] = (
        52.1679,
        0.8614,
    )
    scales: Annotated[tuple[float, ...], "the difference of each that counts 1", Range(above=0)] = (
        16.2665,
        0.2881,
    )
    weights: Annotated[tuple[float, ...], "how much each counts", Range(0)] = (0.5699, 0.0527)
    untranslated: Untranslated = "worst"

    def check(self) -> None:
        super().check()
        sizes = {len(x) for x in (self.components, self.centres, self.scales, self.weights)}
        if sizes != {len(self.components)} or not self.components:
            raise UsageError(
                "blend: components, centres, scales and weights must have the same length."
            )
        if not any(self.weights):
            raise UsageError("blend: weights are not all 0.")
        if any(registry.split_spec(spec)[0] == self.name for spec in self.components):
            raise UsageError("blend: a blend cannot be a component of a blend.")
        if any("untranslated" in registry.split_spec(spec)[1] for spec in self.components):
            raise UsageError("blend: untranslated is for all components alike: blend:untranslated.")
        self._parts()

    def resolve(self, task: Task) -> Self:
        """The components, settled; their specs say how."""
        parts = [part.resolve(task) for part in self._parts()]
        components = tuple(registry.spec_of(part) for part in parts)
        return super().resolve(task).settled(components=components, _loaded=parts)

    @property
    def languages(self) -> frozenset[str] | None:
        known = [part.languages for part in self._parts()]
        each = [languages for languages in known if languages is not None]
        return frozenset.intersection(*each) if each else None

    @property
    def uses_device(self) -> bool:
        return any(part.uses_device for part in self._parts())

    @property
    def needs(self) -> frozenset[str]:
        return frozenset().union(*(part.needs for part in self._parts()))

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
        """Those of the components; where two disagree on a key, each under its own name."""
        each = [(part.name, part.versions()) for part in self._parts()]
        values: dict[str, set[str]] = {}
        for _, versions in each:
            for key, value in versions.items():
                values.setdefault(key, set()).add(value)
        return {
            key if len(values[key]) == 1 else f"{name}.{key}": value
            for name, versions in each
            for key, value in versions.items()
        }

    def statistics(self, batch: Segments) -> FloatArray:
        blocks, unknown = [], np.zeros(len(batch), dtype=bool)
        for part in self._parts():
            blocks.append(part.filled_rows(batch))
            part.notes.pop("no_entities", None)  # no score of kobe, and yet one of the blend
            unknown |= np.isnan(part.segment_score(blocks[-1]))
            self.notes.update(part.notes)
            part.notes.clear()
        self.notes["without a component"] += int(unknown.sum())
        return np.concatenate(blocks, axis=1)

    def reads_source(self, sides: frozenset[str]) -> bool:
        return any(part.reads_source(sides) for part in self._parts())

    def reads_source_alone(self, sides: frozenset[str]) -> bool:
        parts = (part for part in self._parts() if isinstance(part, ReferenceFree))
        alone = any(part.reads_source_alone(sides) for part in parts)
        return alone and "reference" not in self.needs

    def lowered(self, rows: FloatArray, shares: FloatArray, batch: Segments) -> FloatArray:
        """Every component is lowered, those that do not read the source too."""
        split = zip(self._parts(), self._split(rows), strict=True)
        return np.concatenate([p.lowered(r, shares, batch) for p, r in split], axis=1)

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

    def explain(self, segment: Segments) -> Explanation:
        """What each component gave, and its own explanation where it has one."""
        alone = segment.take([0])
        rows = self.rows(alone)
        pairs = zip(self._parts(), self._split(rows), strict=True)
        scores = np.array([part.segment_score(block) for part, block in pairs])
        z, weights = self._normalised(scores)
        shares = (np.nan_to_num(z) * weights / max(weights.sum(), 1e-30))[:, 0]
        facts, findings = [], []
        for spec, score, share, w in zip(
            self.components, scores[:, 0], shares, weights[:, 0], strict=True
        ):
            facts.append({"component": spec, "score": float(score), "weight": float(w),
                          "contribution": float(share)})  # fmt: skip
            value = f"{score:.4f}" if w else "no score: left out"
            findings.append(Finding(registry.split_spec(spec)[0], value, f"{w:g}", -float(share)))
        return Explanation(
            self.name,
            float(self.segment_score(rows)[0]),
            left_side="weight",
            right_side="score",
            facts={"components": facts},
            findings=tuple(sorted(findings, key=lambda finding: -finding.cost)),
            unit="taken off",
            remarks=("A component that takes off less than 0 adds so much to the score.",),
            parts=tuple(part.explained(alone) for part in self._parts() if _explains(part)),
        )

    def _mean(self, scores: FloatArray) -> FloatArray:
        """(components, n) scores to n weighted means of z-scores; missing scores are left out."""
        z, weights = self._normalised(scores)
        with np.errstate(invalid="ignore", divide="ignore"):
            total = np.asarray((np.nan_to_num(z) * weights).sum(axis=0) / weights.sum(axis=0))
        return total.astype(np.float64)

    def _normalised(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """z-scores, higher better, and their weights: 0 where there is no score."""
        signs = np.array([1.0 if p.higher_is_better else -1.0 for p in self._parts()])
        centres, scales = np.array(self.centres)[:, None], np.array(self.scales)[:, None]
        z = signs[:, None] * (scores - centres) / scales
        return z, np.where(np.isnan(z), 0.0, np.array(self.weights)[:, None])

    def _split(self, rows: FloatArray) -> list[FloatArray]:
        ends = np.cumsum([len(part.columns) for part in self._parts()])[:-1]
        return np.split(rows, ends, axis=1)

    def _parts(self) -> list[Metric]:
        """The components, loaded once."""
        if "_loaded" not in self.__dict__:
            self.__dict__["_loaded"] = [registry.load(spec) for spec in self.components]
        parts: list[Metric] = self.__dict__["_loaded"]
        return parts


def _explains(part: Metric) -> bool:
    return type(part).explain is not Metric.explain
