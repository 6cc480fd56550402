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

from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np

from mtgauge.data.segments import Segments
from mtgauge.encode.ragged import distinct
from mtgauge.encode.remap.maps import Remap, own_remap
from mtgauge.encode.sentence.encoders import SentenceEncoder, load_sentence_encoder
from mtgauge.explanation import Explanation
from mtgauge.metric import FloatArray, Task, model_label
from mtgauge.metrics._contextual import TOLERANCE, EncoderName, Layer, warn_of_language
from mtgauge.metrics._crosslingual import REMAP_PRESET, CrossLingualMetric
from mtgauge.metrics._language_model import LM_PRESETS
from mtgauge.metrics._omission import UNIT, omissions
from mtgauge.metrics._presets import PRESET, Case, Unescape, cleaner, settled_case
from mtgauge.metrics._references import MultiReference, compared_with, one_row_each
from mtgauge.options import When
from mtgauge.registry import metric

WINDOW = 4096  # texts


@metric("cosine")
class Cosine(CrossLingualMetric):
    summary = "Cosine of sentence vectors of source and translation, plus fluency; no reference."
    meaning = (
        "1 plus the weighted fluency (0, of piece pairs 4) at best; compare systems of one pair "
        "only."
    )
    paper = "Zhao et al. 2020, On the Limitations of Cross-lingual Encoders"
    cost = "encoder"
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "default": LM_PRESETS["default"] | REMAP_PRESET | {"remap": "own", "lm_weight": 0.125},
        "paper2020": LM_PRESETS["paper2020"] | REMAP_PRESET | {"lm_weight": 0.1},
        "printed2020": LM_PRESETS["paper2020"]
        | {"remap": "none", "remap_side": "both", "remap_form": "cosine", "lm_weight": 0.1},
    }

    preset: Annotated[Literal["default", "paper2020", "printed2020"], PRESET] = "default"
    encoder: EncoderName = "embedded"
    layer: Layer | None = None
    against: Annotated[Literal["source", "reference"], "what the translation is compared with"] = (
        "source"
    )
    multi_ref: Annotated[MultiReference, When("against", "reference")] = "best"
    unescape: Unescape | None = None
    lowercase: Case | None = None

    @property
    def tolerance(self) -> float:  # type: ignore[override]
        return TOLERANCE[self.model.dtype]

    @property
    def needs(self) -> frozenset[str]:
        given = self.has_lm and self.options.lm_given == "source"
        return frozenset({self.against, "source"} if given else {self.against})

    def reads_source(self, sides: frozenset[str]) -> bool:
        if self.against == "source":
            return True
        return self.has_lm and self.lm_term().given(sides) == "source"

    @property
    def uses_device(self) -> bool:
        return super().uses_device or not (
            self.encoder == "use" or self.encoder.startswith("static:")
        )

    def resolve(self, task: Task) -> Self:
        settled = super().resolve(task)
        model = self.model
        warn_of_language(self.name, model, task, self.against)
        settled.layer = model.layer if model.layer >= 0 else None
        lm = [self.lm_term(task.lang).model.lowercase] if self.has_lm else []
        advice = [model.lowercase, *lm]
        settled.lowercase = settled_case(self.options.lowercase, *advice)
        return settled

    @property
    def bounds(self) -> tuple[float, float]:
        return self.with_fluency(-1.0, 1.0)

    @property
    def model(self) -> SentenceEncoder:
        return load_sentence_encoder(self.encoder, self.layer, self.against)

    def statistics(self, batch: Segments) -> FloatArray:
        clean = cleaner(self.options, self.model.lowercase)
        texts, owner = compared_with(self.name, batch, self.against)
        lefts = [clean(text) for text in texts]
        rights = [clean(batch.hypotheses[i]) for i in owner.tolist()]
        left_lang = batch.source_lang if self.against == "source" else batch.target_lang
        remap = self.remap_for(batch.lang)
        scores = np.empty(len(lefts))
        for start in range(0, len(lefts), WINDOW):
            window = slice(start, start + WINDOW)
            left = self._vectors(lefts[window], self.against, left_lang, remap)
            right = self._vectors(rights[window], "hypothesis", batch.target_lang, remap)
            scores[window] = np.einsum("nd,nd->n", left, right)
        rows = one_row_each(scores[:, None], owner, self.multi_ref, scores)
        return self.add_fluency(rows, batch)

    def check_remap(self, remap: Remap, lang: str | None) -> None:
        remap.check(self.model.fingerprint, self.model.layer, lang, "sentence")

    def own_remap(self, lang: str | None) -> Remap | None:
        if self.against != "source":
            return None
        return own_remap(self.model.remaps, lang, self.model.layer)

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
        facts = self.fluency_facts(alone)
        score = float(self.statistics(alone)[0, 0])
        if facts:
            facts["cosine"] = score - facts["fluency"] * facts["fluency_weight"]
        left = alone.sources if self.against == "source" else (alone.references or [()])[0]
        findings, remark = omissions(self, alone)
        return Explanation(
            self.name,
            score,
            tuple(left or ()),
            tuple(alone.hypotheses),
            left_side=self.against,
            facts=facts,
            findings=findings,
            unit=UNIT if findings else "",
            remarks=(*self.fluency_remarks(facts), remark),
        )

    def versions(self) -> dict[str, str]:
        model = self.model
        named = {"model": model_label(model.name, model.fingerprint), "dtype": model.dtype}
        return named | super().versions()
