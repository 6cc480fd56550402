"""YiSi-1 and YiSi-2: weighted precision and recall of word pieces by contextual similarity.

    P = sum_j w(t_j) max_i cos(r_i, t_j) / sum_j w(t_j)      R the other way round
    YiSi = P R / (alpha P + (1 - alpha) R)                   w(u) = log(1 + (M + 1) / (df(u) + 1))

Lo, WMT 2019, without semantic roles. r is the reference (YiSi-1) or the source (YiSi-2), w the
inverse document frequency of a piece among M texts. Both formulas are those of the author's program
(github.com/chikiulo/yisi: yisiscorer.h, and lexweight.cpp with a logarithm of base 2, which a
weighted mean does not notice). Its alpha is 0.5 unless told, and 0.8 in its examples; 0.7, recall
counting more, is our default between them, and `alpha=` sets another. Higher is better; the system
score is the mean of the segments. Preset `lo2019` is the paper's: idf, of the
references of the run, and texts as they are; by default all pieces weigh the same, so that a score
does not depend on the test set.

    mtgauge.load("yisi-1")                                        # all pieces weigh the same
    mtgauge.load("yisi-1:preset=lo2019")                          # idf of the run's references
    mtgauge.load("yisi-2:idf=news.de,hyp_idf=news.en")            # idf of files, one text per line

Limits: the published scores are of BERT's (YiSi-1) and multilingual BERT's vectors (YiSi-2), which
are yours to name (`encoder=`), and of variants with semantic roles that are not offered here.
`yisi-2` sees no references, so that its weights are equal unless files are named.
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
from mtgauge.metric import FloatArray, Untranslated
from mtgauge.metrics._contextual import EncoderName, Layer
from mtgauge.metrics._idf import HypIdf, Idf, IdfMixin, SourceIdf
from mtgauge.metrics._matching import explain_pair, greedy
from mtgauge.metrics._presets import PRESET, Case, Unescape
from mtgauge.metrics._references import MultiReference
from mtgauge.metrics._unrelated import ReferenceFree
from mtgauge.options import Range
from mtgauge.registry import metric

Preset = Literal["default", "lo2019"]
Alpha = Annotated[float, "how much recall counts; 0: precision alone, 1: recall", Range(0, 1)]


class _YiSi(IdfMixin):
    paper = "Lo 2019, YiSi: a unified semantic MT quality evaluation and estimation metric"
    meaning = "A weighted mean of best cosines: 1 is a perfect match; compare systems only."
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "default": {"idf": "off", "unescape": True, "lowercase": "auto"},
        "lo2019": {"idf": "references", "unescape": False, "lowercase": "off"},
    }
    alpha: float
    columns = ("precision", "recall", "yisi")
    shown = 2

    @property
    def worst_row(self) -> FloatArray | None:
        return self.empty_pair

    @property
    def empty_pair(self) -> FloatArray:
        return np.zeros(3)

    def idf_formula(self, counts: FloatArray, texts: int) -> FloatArray:
        return np.asarray(np.log(1 + (texts + 1) / (counts + 1)))

    def units(self, tokens: TokenVectors, side: str, lang: str | None) -> Units:
        kept = make.keep(tokens, self.model.punctuation, special=False)
        source = self.idf_sources[-1 if side == "hypothesis" else 0]
        return make.build(tokens, kept, self.token_weights(tokens, source), ngram=1)

    def compare(self, left: Units, lefts: IntArray, right: Units, rights: IntArray) -> FloatArray:
        scores = greedy(left, lefts, right, rights)
        p, r = scores[:, 0], scores[:, 1]
        both = (p > 0) & (r > 0)  # a mean of signs that differ means nothing
        share = self.alpha * p + (1 - self.alpha) * r
        scores[:, 2] = np.where(both, p * r / np.where(both, share, 1.0), 0.0)
        return scores

    def explain(self, segment: Segments) -> Explanation:
        return explain_pair(self, segment, "recall" if self.alpha > 0.5 else "precision")


@metric("yisi-1")
class YiSi1(_YiSi):
    summary = "Weighted precision and recall of the reference's word pieces in context."

    preset: Annotated[Preset, PRESET] = "default"
    encoder: EncoderName = "embedded"
    layer: Layer | None = None
    alpha: Alpha = 0.7
    idf: Idf | None = None
    multi_ref: MultiReference = "best"
    unescape: Unescape | None = None
    lowercase: Case | None = None


@metric("yisi-2")
class YiSi2(ReferenceFree, _YiSi):
    summary = "Weighted precision and recall of the source's word pieces in context; no reference."
    meaning = "A weighted mean of best cosines; compare systems of one language pair only."
    side = "source"
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "default": {**_YiSi.presets["default"], "untranslated": "worst"},
        "lo2019": {**_YiSi.presets["lo2019"], "idf": "off", "untranslated": "keep"},
    }

    preset: Annotated[Preset, PRESET] = "default"
    encoder: EncoderName = "embedded"
    layer: Layer | None = None
    alpha: Alpha = 0.7
    idf: SourceIdf | None = None
    hyp_idf: HypIdf = "off"
    unescape: Unescape | None = None
    lowercase: Case | None = None
    untranslated: Untranslated | None = None

    @property
    def idf_sources(self) -> list[str]:
        return [self.options.idf, self.options.hyp_idf]
