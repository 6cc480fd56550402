"""MoverScore: what it costs to move the reference's words to the translation's.

    score = 1 - min_F sum_ij C_ij F_ij,   C_ij = ||x_i - y_j||^2 of unit vectors, F's marginals idf

Vectors are power means (minimum, mean and maximum, side by side) over the last layers of an
encoder; special tokens, later pieces of a word and punctuation are filtered (Zhao et al., EMNLP
2019). Higher is better, 1 for equal texts.

    mtgauge.load("moverscore")
    mtgauge.load("moverscore:preset=emnlp2019,encoder=MODEL_FOLDER")

Presets: `emnlp2019` is the paper's metric (last 5 layers, unigrams, idf); `v2` the authors' later
script (one layer, Euclidean distance, 1 / (1 + cost)); `default` has uniform weights, since idf
from the references makes a segment's score depend on the others. Translations are weighted by the
references' idf too, so that systems compare; the authors took it from the translations of the one
system they scored, which is `hyp_idf=FILE` with its translations in FILE, one per line. Where the
authors kept [CLS] and [SEP] they had idf 0 and so no mass; here they are dropped.
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
from mtgauge.metrics._contextual import EncoderName, Layer
from mtgauge.metrics._idf import HypIdf, Idf, IdfMixin
from mtgauge.metrics._matching import (
    Distance,
    Form,
    Ngram,
    Pieces,
    Punctuation,
    explain_pair,
    score_form,
    similarity_bounds,
    travel,
)
from mtgauge.metrics._presets import PRESET, Case, Unescape
from mtgauge.metrics._references import MultiReference
from mtgauge.options import Range
from mtgauge.registry import metric


@metric("moverscore")
class MoverScore(IdfMixin):
    summary = "Mover's score of reference and translation on contextual vectors."
    meaning = "1 is equal; the lowest value depends on the distance; compare systems only."
    paper = "Zhao et al. 2019, MoverScore"
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "default": {
            "depth": 1,
            "ngram": 1,
            "pieces": "all",
            "punctuation": True,
            "distance": "squared",
            "form": "one_minus",
            "idf": "off",
            "unescape": True,
            "lowercase": "auto",
        },
        "emnlp2019": {
            "depth": 5,
            "layer": -1,
            "ngram": 1,
            "pieces": "first",
            "punctuation": False,
            "distance": "squared",
            "form": "one_minus",
            "idf": "references",
            "unescape": False,
            "lowercase": "off",
        },
        "v2": {
            "depth": 1,
            "layer": -1,
            "ngram": 1,
            "pieces": "first",
            "punctuation": False,
            "distance": "euclidean",
            "form": "inverse",
            "idf": "references",
            "unescape": False,
            "lowercase": "off",
        },
    }

    preset: Annotated[Literal["default", "emnlp2019", "v2"], PRESET] = "default"
    encoder: EncoderName = "embedded"
    layer: Layer | None = None
    depth: Annotated[
        int | None, "layers whose vectors are joined, the last of them `layer`", Range(1)
    ] = None
    ngram: Ngram | None = None
    pieces: Pieces | None = None
    punctuation: Punctuation | None = None
    distance: Distance | None = None
    form: Form | None = None
    idf: Idf | None = None
    hyp_idf: Annotated[
        HypIdf, "the same for the translation: off, references or a FILE; same: as idf"
    ] = "same"
    multi_ref: MultiReference = "best"
    unescape: Unescape | None = None
    lowercase: Case | None = None

    @property
    def bounds(self) -> tuple[float, float]:
        return similarity_bounds("transport", self.options.distance, self.options.form)

    @property
    def idf_sources(self) -> list[str]:
        own = self.options.hyp_idf
        return [self.options.idf, self.options.idf if own == "same" else own]

    def layers(self) -> tuple[int, ...]:
        """`depth` layers that end at `layer`; more than the encoder has are not invented."""
        (last,) = self.model.resolve(self.last_layer)
        return tuple(range(max(last - self.options.depth + 1, 0), last + 1))

    def units(self, tokens: TokenVectors, side: str, lang: str | None) -> Units:
        o = self.options
        kept = make.keep(tokens, self.model.punctuation, False, o.pieces, o.punctuation)
        source = self.idf_sources[0 if side == "reference" else -1]
        return make.build(tokens, kept, self.token_weights(tokens, source), o.ngram, o.pieces)

    def compare(self, left: Units, lefts: IntArray, right: Units, rights: IntArray) -> FloatArray:
        o = self.options
        return score_form(travel(left, lefts, right, rights, o.distance), o.form)[:, None]

    def explain(self, segment: Segments) -> Explanation:
        o = self.options
        return explain_pair(self, segment, "transport", o.distance)
