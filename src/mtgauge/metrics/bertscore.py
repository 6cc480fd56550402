"""BERTScore: precision, recall and F of word pieces, each matched to its most similar one.

    P = sum_i w_i max_j cos(t_i, r_j),  R = sum_j w_j max_i cos(t_i, r_j),  F = 2 P R / (P + R)

with w uniform, or inverse document frequency log((M + 1) / (df + 1)) over M references, and summing
to 1 in each text (Zhang et al., ICLR 2020). BERTr is its recall. Higher is better.

    mtgauge.load("bertscore")
    mtgauge.load("bertscore:score=recall,idf=references")
    mtgauge.load("bertscore:encoder=roberta-large,layer=17,preset=bert_score")

Preset `bert_score` gives what the package of that name gives with the same model: special tokens
have no weight but may be matched; by default they take no part. Scores are not rescaled.
`idf=references` takes document frequencies from the references of the run, so that a segment's
score depends on the test set; `idf=FILE` from a file of your own, one text per line.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from mtgauge.data.segments import Segments
from mtgauge.encode.ragged import IntArray
from mtgauge.encode.tokens import units as make
from mtgauge.encode.tokens.encoder import TokenVectors
from mtgauge.encode.tokens.units import Units
from mtgauge.explanation import Explanation
from mtgauge.metric import FloatArray
from mtgauge.metrics._contextual import ContextualMetric, EncoderName, Layer
from mtgauge.metrics._idf import Idf, IdfMixin
from mtgauge.metrics._matching import GREEDY, explain_pair, greedy
from mtgauge.metrics._presets import PRESET, Case, Unescape
from mtgauge.metrics._references import MultiReference
from mtgauge.registry import metric


@metric("bertscore")
class BERTScore(IdfMixin, ContextualMetric):
    summary = "Precision, recall and F of word pieces matched by contextual similarity."
    meaning = "Mean best cosine: 1 is a perfect match; compare systems only."
    paper = "Zhang et al. 2020, BERTScore"
    columns = ("precision", "recall", "f")
    worst = 0.0  # nothing is found: below what unrelated texts reach, as bert_score has it
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "default": {"special": "drop", "unescape": True, "lowercase": "auto"},
        "bert_score": {"special": "match", "unescape": False, "lowercase": "off"},
    }

    preset: Annotated[Literal["default", "bert_score"], PRESET] = "default"
    encoder: EncoderName = "embedded"
    layer: Layer | None = None
    score: Annotated[Literal["f", "precision", "recall"], "which of the three the score is"] = "f"
    idf: Idf = "off"
    special: Annotated[
        Literal["drop", "match"] | None, "special tokens: left out, or words may match them"
    ] = None
    multi_ref: MultiReference = "best"
    unescape: Unescape | None = None
    lowercase: Case | None = None

    @property
    def bounds(self) -> tuple[float, float]:
        return (-1.0, 1.0) if self.score != "f" else (0.0, 1.0)

    @property
    def shown(self) -> int:
        return GREEDY[self.score]

    @property
    def worst_row(self) -> FloatArray | None:
        return self.empty_pair

    def units(self, tokens: TokenVectors, side: str, lang: str | None) -> Units:
        kept = make.keep(tokens, self.model.punctuation, special=self.options.special == "match")
        return make.build(tokens, kept, self.token_weights(tokens, self.options.idf), ngram=1)

    def compare(self, left: Units, lefts: IntArray, right: Units, rights: IntArray) -> FloatArray:
        return greedy(left, lefts, right, rights)

    def explain(self, segment: Segments) -> Explanation:
        return explain_pair(self, segment, self.score)
