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

`printed2020` is paper2020 with UMD as the paper prints it: e - cos(e, v) v, on both sides (the code
removes the whole direction, from the source only). `idf` and `hyp_idf` are files of texts, of the
source and of the target language, from which units get their weight, as the paper says and no
version of the code does; `off` (the default) weighs all alike.

`matching` says how units meet: `transport` (the papers' way), or the best match of each unit of the
translation (`precision`), of the source (`recall`), or their harmonic mean (`f`); these three give
a mean cosine, so `distance`, `dropout` and `form` do not apply. `copy_penalty` times the share of
words that were copied untranslated is subtracted. The defaults were chosen on WMT15 and WMT16:
matching, prior and copy penalty by the mean Pearson correlation with human judgements of segments
over the to-English pairs, the language-model weight also by how few word-by-word translations are
preferred: precision, a weight of 0.05 for the embedded language model given the source, no prior, a
copy penalty of 0.5 (docs/xmoverscore.md). Into other languages than English piece pairs stand in
for the language model (docs/fluency.md).

Limits: an encoder knows some languages only; a copy of the source is near its own vectors (see
`copy_penalty`); scores of different language pairs do not compare.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from mtgauge.data.segments import Segments
from mtgauge.encode.ragged import IntArray
from mtgauge.encode.remap.maps import Remap, own_remap
from mtgauge.encode.tokens import units as make
from mtgauge.encode.tokens.encoder import TokenVectors
from mtgauge.encode.tokens.units import Units
from mtgauge.explanation import Explanation
from mtgauge.metric import FloatArray
from mtgauge.metrics._contextual import EncoderName, Layer
from mtgauge.metrics._copied import copied_share
from mtgauge.metrics._crosslingual import REMAP_PRESET, CrossLingualMetric
from mtgauge.metrics._idf import HypIdf, IdfMixin, SourceIdf
from mtgauge.metrics._language_model import LM_PRESETS
from mtgauge.metrics._matching import (
    GREEDY,
    Distance,
    Form,
    Matching,
    Ngram,
    Pieces,
    Punctuation,
    explain_pair,
    greedy,
    score_form,
    similarity_bounds,
    travel,
)
from mtgauge.metrics._presets import PRESET, Case, Unescape
from mtgauge.options import Range, When
from mtgauge.registry import metric

_TRANSPORT = When("matching", "transport")
_PAPER: dict[str, Any] = REMAP_PRESET | {
    "ngram": 2,
    "special": True,
    "matching": "transport",
    "lm_weight": 0.1,
    "copy_penalty": 0.0,
}
_PAPER_2020 = (
    LM_PRESETS["paper2020"]
    | _PAPER
    | {
        "layer": -1,
        "pieces": "first",
        "punctuation": False,
        "distance": "squared",
        "dropout": 0.0,
        "form": "one_minus",
    }
)
_REPO = _PAPER | {
    "layer": 8,
    "pieces": "all",
    "punctuation": True,
    "distance": "euclidean",
    "dropout": 0.3,
}


@metric("xmoverscore")
class XMoverScore(CrossLingualMetric, IdfMixin):
    summary = "Cross-lingual mover's score of source and translation plus fluency; no reference."
    meaning = "Higher is better; the range depends on the preset; compare systems of one pair only."
    paper = "Zhao et al. 2020, On the Limitations of Cross-lingual Encoders"
    side = "source"
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "default": LM_PRESETS["default"]
        | REMAP_PRESET
        | {
            "remap": "own",
            "ngram": 1,
            "special": False,
            "pieces": "all",
            "punctuation": True,
            "matching": "precision",
            "distance": "euclidean",
            "dropout": 0.0,
            "form": "one_minus",
            "lm_weight": 0.05,
            "copy_penalty": 0.5,
        },
        "paper2020": _PAPER_2020,
        "printed2020": _PAPER_2020 | {"remap_side": "both", "remap_form": "cosine"},
        "repo2021": LM_PRESETS["repo2021"] | _REPO | {"form": "one_minus"},
        "repo2022": LM_PRESETS["repo2022"] | _REPO | {"form": "inverse"},
    }

    preset: Annotated[
        Literal["default", "paper2020", "printed2020", "repo2021", "repo2022"], PRESET
    ] = "default"
    encoder: EncoderName = "embedded"
    layer: Layer | None = None
    ngram: Ngram | None = None
    special: Annotated[bool | None, "compare the special tokens of the model too"] = None
    pieces: Pieces | None = None
    punctuation: Punctuation | None = None
    matching: Matching | None = None
    distance: Annotated[Distance | None, _TRANSPORT] = None
    dropout: Annotated[
        float | None, "share of the moves, the smallest, that cost nothing", Range(0, 1), _TRANSPORT
    ] = None
    form: Annotated[Form | None, _TRANSPORT] = None
    copy_penalty: Annotated[
        float | None, "taken off times the share of words copied from the source", Range(0)
    ] = None
    idf: SourceIdf = "off"
    hyp_idf: HypIdf = "off"
    unescape: Unescape | None = None
    lowercase: Case | None = None

    @property
    def idf_sources(self) -> list[str]:
        return [self.options.idf, self.options.hyp_idf]

    @property
    def bounds(self) -> tuple[float, float]:
        o = self.options
        low, high = self.with_fluency(*similarity_bounds(o.matching, o.distance, o.form))
        return (low - o.copy_penalty, high)

    def statistics(self, batch: Segments) -> FloatArray:
        rows = self.add_fluency(super().statistics(batch), batch)
        penalty = self.options.copy_penalty
        if penalty and batch.sources is not None:
            rows[:, 0] -= penalty * _copied(batch)
        return rows

    @property
    def worst(self) -> float:
        return super().worst if self.options.matching != "transport" else self.bounds[0]

    @property
    def empty_pair(self) -> FloatArray:
        o = self.options
        lowest = similarity_bounds(o.matching, o.distance, o.form)[0]
        return np.array([lowest if o.matching == "transport" else 0.0])

    def case_advice(self, lang: str | None) -> tuple[bool, ...]:
        models = (self.model, self.lm_term(lang).model) if self.has_lm else (self.model,)
        return tuple(model.lowercase for model in models)

    def check_remap(self, remap: Remap, lang: str | None) -> None:
        remap.check(self.model.fingerprint, self.model.resolve(self.last_layer)[0], lang)

    def own_remap(self, lang: str | None) -> Remap | None:
        folder = self.model.remaps
        layer = self.model.resolve(self.last_layer)[0]
        return own_remap(folder and folder / "word", lang, layer)

    def units(self, tokens: TokenVectors, side: str, lang: str | None) -> Units:
        o, remap = self.options, self.remap_for(lang)
        if remap is not None:
            tokens = remap.apply(tokens, side, o.remap_side, o.remap_form)
        kept = make.keep(tokens, self.model.punctuation, o.special, o.pieces, o.punctuation)
        source = self.idf_sources[0 if side == "source" else 1]
        even = np.ones(len(kept))  # special tokens count too, where they are kept
        weights = even if source == "off" else self.token_weights(tokens, source)
        return make.build(tokens, kept, weights, o.ngram, o.pieces)

    def compare(self, left: Units, lefts: IntArray, right: Units, rights: IntArray) -> FloatArray:
        o = self.options
        if o.matching != "transport":
            return greedy(left, lefts, right, rights)[:, GREEDY[o.matching], None]
        cost = travel(left, lefts, right, rights, o.distance, o.dropout)
        return score_form(cost, o.form)[:, None]

    def explain(self, segment: Segments) -> Explanation:
        o, alone = self.options, segment.take([0])
        facts = self.fluency_facts(alone)
        remarks = self.fluency_remarks(facts)
        if alone.sources is not None:
            copied = facts["copied"] = float(_copied(alone)[0])
            if copied and o.copy_penalty:
                taken = f"{o.copy_penalty * copied:.3f}"
                # beside the guard's share, which is of all words, this one would contradict it
                told = self.untranslated_shares(alone)[0] > 0
                remarks.append(
                    f"Words copied from the source take off {taken}."
                    if told
                    else f"{copied:.0%} of the words were copied from the source: that takes off "
                    f"{taken}."
                )
        return explain_pair(self, alone, o.matching, o.distance, o.dropout, facts, remarks)


def _copied(batch: Segments) -> FloatArray:
    from mtgauge.text.guard import known_pair

    assert batch.sources is not None
    pair = known_pair(batch.lang) if batch.lang else None
    return copied_share(batch.sources, batch.hypotheses, None if pair is None else pair.target)
