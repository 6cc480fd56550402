"""What XMoverScore and COSINE share: remapped source vectors and a weighted language model.

    score = similarity + lm_weight LM(y)                        Zhao et al., ACL 2020

`remap` is a file, or a folder with one per language pair; `own` are those that the encoder
brings, where one fits the pair and the layer. `resolve` loads and checks the one of the run's pair.
`CrossLingualOptions` declares the options of both metrics once.
"""

from __future__ import annotations

import hashlib
from dataclasses import KW_ONLY
from typing import Annotated, Any, Literal, Self

from mtgauge.data.segments import Segments
from mtgauge.encode.remap.maps import Remap, find_remap
from mtgauge.metric import FloatArray, Task, Untranslated
from mtgauge.metrics._language_model import (
    HAS_MODEL,
    OF_NGRAMS,
    OFF,
    LanguageModelOptions,
    LanguageModelTerm,
)
from mtgauge.metrics._presets import PresetMetric
from mtgauge.metrics._unrelated import ReferenceFree
from mtgauge.options import Range, Unless
from mtgauge.registry import options, quote

REMAP_PRESET = {"remap": "none", "remap_side": "source", "remap_form": "dot"}  # of the papers
NO_FILE = ("none", "own")


@options
class CrossLingualOptions(LanguageModelOptions):
    _: KW_ONLY
    lm_weight: Annotated[
        float | None,
        "how much of the language model's score is added "
        f"({OF_NGRAMS['lm_weight']} of ngrams, where none is given)",
        Range(),
        HAS_MODEL,
    ] = None
    untranslated: Untranslated | None = None
    remap: Annotated[
        str | None,
        "file or folder of mtgauge remap that moves source vectors to the target language; own: "
        "the encoder's, if it has one for the pair",
    ] = None
    remap_side: Annotated[
        Literal["source", "both"] | None, "which vectors are moved", Unless("remap", *NO_FILE)
    ] = None
    remap_form: Annotated[
        Literal["dot", "cosine"] | None,
        "how UMD takes a direction out: as its code does, or as the paper prints it",
        Unless("remap", *NO_FILE),
    ] = None


class CrossLingualMetric(CrossLingualOptions, ReferenceFree, PresetMetric):
    """Base of both metrics."""

    def check_remap(self, remap: Remap, lang: str | None) -> None:
        """Refuse a remap that was fitted for other vectors."""
        raise NotImplementedError

    def own_remap(self, lang: str | None) -> Remap | None:
        """The remap that the encoder brings for this pair."""
        raise NotImplementedError

    @property
    def uses_device(self) -> bool:
        return self.has_lm or super().uses_device

    @property
    def has_lm(self) -> bool:
        return self.options.lm not in OFF and self.options.lm_weight != 0

    def lm_term(self, lang: str | None = None) -> LanguageModelTerm:
        """The language model's part, for a language pair (that of the run, once it is settled)."""
        return LanguageModelTerm(self, lang or self.__dict__.get("_lang"))

    def resolve(self, task: Task) -> Self:
        settled = super().resolve(task)
        if self.has_lm:
            settled.__dict__.update(self.lm_term(task.lang).resolve(task))
        settled.__dict__["_lang"] = task.lang
        settled.__dict__["_remaps"] = {task.lang: self.remap_for(task.lang)}
        return settled

    def remap_for(self, lang: str | None) -> Remap | None:
        """The remap of a language pair: loaded when the metric was settled, or now."""
        held: dict[str | None, Remap | None] = self.__dict__.get("_remaps", {})
        if lang in held:
            return held[lang]
        spec = self.options.remap
        if spec == "none":
            return None
        remap = self.own_remap(lang) if spec == "own" else find_remap(spec, lang)
        if remap is not None:
            self.check_remap(remap, lang)
        return remap

    def add_fluency(self, rows: FloatArray, batch: Segments) -> FloatArray:
        """Rows with the weighted language model's score in the first column."""
        if self.has_lm:
            term = self.lm_term(batch.lang)
            fluency = term.scores(batch.hypotheses, batch.sources)
            rows[:, 0] += term.options.lm_weight * fluency
        return rows

    @property
    def worst(self) -> float:
        """No similarity, and half of the language model's floor: below what unrelated texts reach.

        The bound itself lies so far below every text that one empty line would rule a correlation.
        """
        return self.with_fluency(0.0, 0.0)[0] / 2

    def with_fluency(self, low: float, high: float) -> tuple[float, float]:
        """Bounds of a similarity, with the language model's added."""
        if not self.has_lm:
            return (low, high)
        # while no run has named a language, those of both models that it may come to
        undecided = self.options.lm == "own" and "_lang" not in self.__dict__
        langs = ("de-en", "en-de") if undecided else (None,)
        terms = [self.lm_term(lang) for lang in langs]
        ends = [[term.options.lm_weight * end for end in term.bounds] for term in terms]
        return (low + min(least for least, _ in ends), high + max(most for _, most in ends))

    def fluency_facts(self, alone: Segments) -> dict[str, Any]:
        """What an explanation of one segment says of the language model."""
        if not self.has_lm:
            return {}
        term = self.lm_term(alone.lang)
        fluency = float(term.scores(alone.hypotheses, alone.sources)[0])
        return {
            "fluency": fluency,
            "fluency_weight": term.options.lm_weight,
            "fluency_model": term.options.lm,
        }

    def fluency_remarks(self, facts: dict[str, Any]) -> list[str]:
        """The same for people."""
        if "fluency" not in facts:
            return []
        fluency, weight = facts["fluency"], facts["fluency_weight"]
        model, given = facts["fluency_model"], self.options.lm_given == "source"
        asked = [f"lm={quote(model)}"] * (model != "embedded") + ["lm_given=source"] * given
        shown = f"fluency{':' if asked else ''}{','.join(asked)}"
        does = "adds" if fluency * weight > 0 else "takes off"
        return [
            f"The language model {does} {abs(fluency * weight):.3f}: {weight:g} times its "
            f"{abs(fluency):.2f} nats per piece (explain -m {shown} shows the words)."
        ]

    def versions(self) -> dict[str, str]:
        """Language model, and the digest of the remap that a settled metric holds."""
        held: dict[str | None, Remap | None] = self.__dict__.get("_remaps", {})
        digests = [_digest(remap) for remap in held.values() if remap is not None]
        remaps = {"remap_sha256": "+".join(digests)} if digests else {}
        return super().versions() | (self.lm_term().versions() if self.has_lm else {}) | remaps


def _digest(remap: Remap) -> str:
    arrays = [a.tobytes() for a in (remap.projection, remap.direction) if a is not None]
    return hashlib.sha256(remap.facts.method.encode() + b"".join(arrays)).hexdigest()[:8]
