"""BERTr: how much of the reference is found in the translation, token by token, in context.

    BERTr(t, r) = 1/|r| sum_j max_i cos(t_i, r_j)        Mathur, Baldwin and Cohn, ACL 2019

t_i and r_j are contextual vectors of the word pieces of translation and reference; special tokens
([CLS], [SEP]) take no part on either side. Higher is better, 1 for a translation equal to the
reference. The system score is the mean of the segment scores.

    mtgauge.load("bertr")                                     # the embedded encoder
    mtgauge.load("bertr:encoder=bert-base-uncased,preset=paper2019")

Presets: `default` takes the layer that the encoder's card advises; `paper2019` the top layer and
the texts as they are. Limits: recall only, so an over-long translation is not punished; vectors of
an encoder are narrow, so scores of unrelated sentences are far above 0.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from mtgauge.data.segments import Segments
from mtgauge.encode.ragged import IntArray
from mtgauge.encode.tokens import units as make
from mtgauge.encode.tokens.encoder import TokenVectors
from mtgauge.encode.tokens.units import Units
from mtgauge.explanation import Explanation
from mtgauge.metric import FloatArray
from mtgauge.metrics._contextual import ContextualMetric, EncoderName, Layer
from mtgauge.metrics._matching import explain_pair, greedy
from mtgauge.metrics._presets import PRESET, Case, Unescape
from mtgauge.metrics._references import MultiReference
from mtgauge.registry import metric


@metric("bertr")
class BERTr(ContextualMetric):
    summary = "Recall of the reference's word pieces by the most similar ones of the translation."
    meaning = "Mean best cosine of reference tokens: 1 is a perfect match; compare systems only."
    paper = "Mathur, Baldwin and Cohn 2019, Putting Evaluation in Context"
    bounds = (-1.0, 1.0)
    worst = 0.0  # nothing is found of the reference: below what unrelated texts reach
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "default": {"unescape": True, "lowercase": "auto"},
        "paper2019": {"layer": -1, "unescape": False, "lowercase": "off"},
    }

    preset: Annotated[Literal["default", "paper2019"], PRESET] = "default"
    encoder: EncoderName = "embedded"
    layer: Layer | None = None
    multi_ref: MultiReference = "best"
    unescape: Unescape | None = None
    lowercase: Case | None = None

    def units(self, tokens: TokenVectors, side: str, lang: str | None) -> Units:
        kept = make.keep(tokens, self.model.punctuation)
        return make.build(tokens, kept, np.ones(len(kept)), ngram=1)

    def compare(self, left: Units, lefts: IntArray, right: Units, rights: IntArray) -> FloatArray:
        return greedy(left, lefts, right, rights)[:, 1:2]

    def explain(self, segment: Segments) -> Explanation:
        return explain_pair(self, segment, "recall")
