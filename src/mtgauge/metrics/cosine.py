"""COSINE: one vector for the source, one for the translation, and their cosine.

    score = cos(E(x), E(y)) + 0.1 LM(y)                                  Zhao et al., ACL 2020

E is a sentence encoder: the mean of the embedded encoder's token vectors, or LASER, multilingual
USE, or a sentence-transformers model (see docs/encoders.md). `remap` moves source vectors (CLP, UMD
fitted on sentences); `against=reference` compares with the reference instead. (The paper prints
1 - cos, a distance, and uses a similarity.) Higher is better.

    mtgauge.load("cosine")
    mtgauge.load("cosine:encoder=laser:models/laser,lm=off")

Limits: a sentence vector does not see small faults; word order hardly moves a mean.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np

from mtgauge.data.segments import Segments
from mtgauge.encode.ragged import distinct
from mtgauge.encode.remap.maps import Remap, find_remap
from mtgauge.encode.sentence.encoders import SentenceEncoder, load_sentence_encoder
from mtgauge.metric import Explanation, FloatArray
from mtgauge.metrics._contextual import (
    Case,
    MultiReference,
    cleaner,
    reduce_pairs,
    text_pairs,
    warn_of_language,
)
from mtgauge.metrics._presets import PresetMetric
from mtgauge.metrics.fluency import LM_PRESETS, FluencyTerm
from mtgauge.registry import metric

_SWITCHES = {"remap_side": "source", "remap_form": "dot"}
WINDOW = 4096  # texts


@metric("cosine")
class Cosine(PresetMetric):
    summary = "Cosine of sentence vectors of source and translation, plus fluency; no reference."
    meaning = "1 plus the weighted fluency at best; compare systems of one pair only."
    paper = "Zhao et al. 2020, On the Limitations of Cross-lingual Encoders"
    cost = "encoder"
    tolerance = 1e-5
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "default": LM_PRESETS["default"] | _SWITCHES | {"lm_weight": 0.125},
        "paper2020": LM_PRESETS["paper2020"] | _SWITCHES | {"lm_weight": 0.1},
    }

    def __init__(
        self,
        preset: Literal["default", "paper2020"] = "default",
        encoder: str = "embedded",
        layer: int | None = None,
        against: Literal["source", "reference"] = "source",
        multi_ref: MultiReference = "best",
        remap: str = "none",
        remap_side: Literal["source", "both"] | None = None,
        remap_form: Literal["dot", "cosine"] | None = None,
        lm: str = "embedded",
        lm_weight: float | None = None,
        lm_form: Literal["mean", "root"] | None = None,
        lm_bos: bool | None = None,
        lm_short: Literal["floor", "zero"] | None = None,
        lm_given: Literal["auto", "source", "nothing"] | None = None,
        lm_prior: float | None = None,
        unescape: bool | None = None,
        lowercase: Case | None = None,
    ) -> None:
        self.preset, self.encoder, self.layer = preset, encoder, layer
        self.against, self.multi_ref = against, multi_ref
        self.remap, self.remap_side, self.remap_form = remap, remap_side, remap_form
        self.lm, self.lm_weight, self.lm_form = lm, lm_weight, lm_form
        self.lm_bos, self.lm_short = lm_bos, lm_short
        self.lm_given, self.lm_prior = lm_given, lm_prior
        self.unescape, self.lowercase = unescape, lowercase

    @property
    def needs(self) -> frozenset[str]:
        return frozenset({self.against})

    def resolve(self, have: frozenset[str]) -> Self:
        """Without sources the language model is given nothing, and the signature says so."""
        if self.options.lm_given != "auto" or "source" in have:
            return self
        return type(self)(**self.params() | {"lm_given": "nothing"})

    @property
    def has_lm(self) -> bool:
        return self.lm not in ("off", "none") and self.options.lm_weight != 0

    @property
    def bounds(self) -> tuple[float, float]:
        if not self.has_lm:
            return (-1.0, 1.0)
        weight, (low, high) = self.options.lm_weight, FluencyTerm(self.options).bounds
        return (-1.0 + weight * low, 1.0 + weight * high)

    @property
    def model(self) -> SentenceEncoder:
        return load_sentence_encoder(self.encoder, self.layer, self.against)

    def statistics(self, batch: Segments) -> FloatArray:
        o = self.options
        warn_of_language(self, self.model, batch, self.against)
        pairs, rows = text_pairs(self.name, batch, self.against, cleaner(o, self.model.lowercase))
        left_lang = batch.source_lang if self.against == "source" else batch.target_lang
        remap = self._load_remap(batch)
        scores = np.empty(len(pairs))
        for start in range(0, len(pairs), WINDOW):
            window = pairs[start : start + WINDOW]
            left = self._vectors([x for x, _ in window], self.against, left_lang, remap)
            right = self._vectors([y for _, y in window], "hypothesis", batch.target_lang, remap)
            scores[start : start + WINDOW] = np.einsum("nd,nd->n", left, right)
        table = reduce_pairs(self, scores[:, None], rows, len(batch), self.multi_ref)
        if self.has_lm:
            table[:, 0] += o.lm_weight * FluencyTerm(o).scores(batch.hypotheses, batch.sources)
        return table

    def _load_remap(self, batch: Segments) -> Remap | None:
        if self.remap == "none":
            return None
        remap = find_remap(self.remap, batch.lang)
        remap.check(self.model.fingerprint, self.model.layer, batch.lang, "sentence")
        return remap

    def _vectors(
        self, texts: list[str], side: str, lang: str | None, remap: Remap | None
    ) -> FloatArray:
        """Sentence vectors of length 1; a text without tokens has the zero vector, cosine 0."""
        o = self.options
        unique, index = distinct(texts)
        vectors, cut = self.model.encode(unique, lang)
        if cut:
            self.notes["truncated"] += cut
        if remap is not None:
            vectors = remap.move(vectors, side, o.remap_side == "both", o.remap_form)
        wide = vectors.astype(np.float64)
        norms = np.maximum(np.linalg.norm(wide, axis=1, keepdims=True), 1e-30)
        return np.asarray((wide / norms)[index])

    def explain(self, segment: Segments) -> Explanation:
        alone = segment.take([0])
        facts: dict[str, Any] = {}
        if self.has_lm:
            facts["fluency"] = float(
                FluencyTerm(self.options).scores(alone.hypotheses, alone.sources)[0]
            )
            facts["fluency_weight"] = self.options.lm_weight
        score = float(self.statistics(alone)[0, 0])
        if self.has_lm:
            facts["cosine"] = score - facts["fluency"] * facts["fluency_weight"]
        left = alone.sources if self.against == "source" else (alone.references or [()])[0]
        return Explanation(
            self.name,
            score,
            tuple(left or ()),
            tuple(alone.hypotheses),
            left_side=self.against,
            facts=facts,
        )

    def versions(self) -> dict[str, str]:
        own = {"model": f"{self.model.name}@{self.model.fingerprint[:8]}/{self.model.layer}"}
        return own | (FluencyTerm(self.options).versions() if self.has_lm else {})
