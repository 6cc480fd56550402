"""XMoverScore: does the translation say what the source says? No reference is needed.

    m(x, y) = 1 - min_F sum_ij C_ij F_ij,   F 1 = f_x, F^T 1 = f_y      (word mover's distance)
    score   = m(x, y) + 0.1 LM(y)                                       Zhao et al., ACL 2020

x_i and y_j are n-grams of word pieces of source and translation, as vectors of a multilingual
encoder; C_ij is their distance. `remap` moves source vectors towards the target language (CLP, UMD;
see `mtgauge remap`), and LM is the mean log-probability of the translation. Higher is better.

    mtgauge.load("xmoverscore")
    mtgauge.load("xmoverscore:preset=paper2020,encoder=bert-base-multilingual-cased,lm=gpt2")
    mtgauge.load("xmoverscore:matching=transport,ngram=2,remap=de-en.remap")

Published versions disagree; each has a preset that pins its switches (encoder, remap file and
language model stay yours to name):

                 paper2020            repo2021             repo2022
    layer        last                 8                    8
    pieces       first of a word      all                  all
    punctuation  dropped              kept                 kept
    distance     squared Euclidean    Euclidean            Euclidean
    dropout      none                 0.3                  0.3
    form         1 - cost             1 - cost             1 / (1 + cost)
    LM           mean log p           mean log p           exp(mean log p)^(1/n)

`matching` says how units meet: `transport` (the papers' way), or the best match of each unit of the
translation (`precision`), of the source (`recall`), or their harmonic mean (`f`); these three give
a mean cosine, so `distance`, `dropout` and `form` do not apply. `copy_penalty` times the share of
words that were copied untranslated is subtracted. The defaults were chosen on WMT15 and WMT16:
matching, prior and copy penalty by the mean Pearson correlation with human judgements of segments
over the to-English pairs, the language-model weight also by how few word-by-word translations are
preferred: precision, a weight of 0.05 for the embedded language model given the source, no prior, a
copy penalty of 0.5 (docs/xmoverscore.md).

Limits: an encoder knows some languages only; a copy of the source is near its own vectors (see
`copy_penalty`); scores of different language pairs do not compare.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from mtgauge.data.segments import Segments
from mtgauge.encode.ragged import IntArray
from mtgauge.encode.remap.maps import Remap, find_remap
from mtgauge.encode.tokens import units as make
from mtgauge.encode.tokens.encoder import TokenVectors
from mtgauge.encode.tokens.units import Units
from mtgauge.metric import Explanation, FloatArray
from mtgauge.metrics._contextual import Case, ContextualMetric
from mtgauge.metrics._copied import copied_share
from mtgauge.metrics._matching import (
    GREEDY,
    Matching,
    explain_pair,
    greedy,
    score_form,
    similarity_bounds,
    travel,
)
from mtgauge.metrics.fluency import LM_PRESETS, FluencyTerm
from mtgauge.registry import metric

_PAPER: dict[str, Any] = {
    "ngram": 2,
    "special": True,
    "matching": "transport",
    "remap_side": "source",
    "remap_form": "dot",
    "lm_weight": 0.1,
    "copy_penalty": 0.0,
}
_REPO = _PAPER | {
    "layer": 8,
    "pieces": "all",
    "punctuation": True,
    "distance": "euclidean",
    "dropout": 0.3,
}


@metric("xmoverscore")
class XMoverScore(ContextualMetric):
    summary = "Cross-lingual mover's score of source and translation plus fluency; no reference."
    meaning = "Higher is better; the range depends on the preset; compare systems of one pair only."
    paper = "Zhao et al. 2020, On the Limitations of Cross-lingual Encoders"
    side = "source"
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "default": LM_PRESETS["default"]
        | {
            "ngram": 1,
            "special": False,
            "pieces": "all",
            "punctuation": True,
            "matching": "precision",
            "distance": "euclidean",
            "dropout": 0.0,
            "form": "one_minus",
            "remap_side": "source",
            "remap_form": "dot",
            "lm_weight": 0.05,
            "copy_penalty": 0.5,
        },
        "paper2020": LM_PRESETS["paper2020"]
        | _PAPER
        | {
            "layer": -1,
            "pieces": "first",
            "punctuation": False,
            "distance": "squared",
            "dropout": 0.0,
            "form": "one_minus",
        },
        "repo2021": LM_PRESETS["repo2021"] | _REPO | {"form": "one_minus"},
        "repo2022": LM_PRESETS["repo2022"] | _REPO | {"form": "inverse"},
    }

    def __init__(
        self,
        preset: Literal["default", "paper2020", "repo2021", "repo2022"] = "default",
        encoder: str = "embedded",
        layer: int | None = None,
        ngram: int | None = None,
        special: bool | None = None,
        pieces: Literal["all", "first", "mean"] | None = None,
        punctuation: bool | None = None,
        matching: Matching | None = None,
        distance: Literal["euclidean", "squared"] | None = None,
        dropout: float | None = None,
        form: Literal["one_minus", "inverse"] | None = None,
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
        copy_penalty: float | None = None,
        unescape: bool | None = None,
        lowercase: Case | None = None,
    ) -> None:
        self.preset, self.encoder, self.layer = preset, encoder, layer
        self.ngram, self.special, self.pieces = ngram, special, pieces
        self.punctuation, self.matching, self.distance = punctuation, matching, distance
        self.dropout, self.form = dropout, form
        self.remap, self.remap_side, self.remap_form = remap, remap_side, remap_form
        self.lm, self.lm_weight, self.lm_form = lm, lm_weight, lm_form
        self.lm_bos, self.lm_short = lm_bos, lm_short
        self.lm_given, self.lm_prior = lm_given, lm_prior
        self.copy_penalty = copy_penalty
        self.unescape, self.lowercase = unescape, lowercase

    @property
    def bounds(self) -> tuple[float, float]:
        o = self.options
        low, high = similarity_bounds(o.matching, o.distance, o.form)
        if self.has_lm:
            bounds = FluencyTerm(o).bounds
            low, high = low + o.lm_weight * bounds[0], high + o.lm_weight * bounds[1]
        return (low - o.copy_penalty, high)

    @property
    def has_lm(self) -> bool:
        return self.lm not in ("off", "none") and self.options.lm_weight != 0

    def statistics(self, batch: Segments) -> FloatArray:
        o = self.options
        self._remap = self.load_remap(batch)
        rows = super().statistics(batch)
        if self.has_lm:
            rows[:, 0] += o.lm_weight * FluencyTerm(o).scores(batch.hypotheses, batch.sources)
        if o.copy_penalty and batch.sources is not None:
            rows[:, 0] -= o.copy_penalty * copied_share(batch.sources, batch.hypotheses)
        return rows

    @property
    def empty_pair(self) -> FloatArray:
        o = self.options
        return np.array([similarity_bounds(o.matching, o.distance, o.form)[0]])

    def load_remap(self, batch: Segments) -> Remap | None:
        if self.remap == "none":
            return None
        remap = find_remap(self.remap, batch.lang)
        remap.check(self.model.fingerprint, self.model.resolve(self.layers())[0], batch.lang)
        return remap

    def units(self, tokens: TokenVectors, side: str) -> Units:
        o = self.options
        if self._remap is not None:
            tokens = self._remap.apply(tokens, side, o.remap_side, o.remap_form)
        kept = make.keep(tokens, self.model.punctuation, o.special, o.pieces, o.punctuation)
        return make.build(tokens, kept, np.ones(len(kept)), o.ngram, o.pieces)

    def compare(self, left: Units, lefts: IntArray, right: Units, rights: IntArray) -> FloatArray:
        o = self.options
        if o.matching != "transport":
            return greedy(left, lefts, right, rights)[:, GREEDY[o.matching], None]
        cost = travel(left, lefts, right, rights, o.distance, o.dropout)
        return score_form(cost, o.form)[:, None]

    def explain(self, segment: Segments) -> Explanation:
        o = self.options
        self._remap = self.load_remap(segment)
        facts: dict[str, Any] = {}
        if self.has_lm:
            facts["fluency"] = float(
                FluencyTerm(o).scores(segment.hypotheses[:1], (segment.sources or [])[:1])[0]
            )
            facts["fluency_weight"] = o.lm_weight
        if segment.sources is not None:
            facts["copied"] = float(copied_share(segment.sources[:1], segment.hypotheses[:1])[0])
        return explain_pair(self, segment, o.matching, o.distance, o.dropout, facts)

    def versions(self) -> dict[str, str]:
        return super().versions() | (FluencyTerm(self.options).versions() if self.has_lm else {})
