"""Fluency alone: mean log-probability of the translation under a language model.

    fluency(t) = 1/n sum_i log p(t_i | t_1 ... t_{i-1})

It looks at neither source nor reference, so it says nothing about meaning: it is the second term
of XMoverScore and COSINE, and a probe of its own. In nats a token, 0 at best. The embedded model
has seen translations with their sources and can also score a text given its source, which does
judge meaning; XMoverScore and COSINE use that by default (lm_given=auto). `lm_prior` times the
score of the text alone can be taken off again: what is left is what the source explains.

    mtgauge.load("fluency")                          # the embedded model
    mtgauge.load("fluency:lm=gpt2,preset=paper2020")
    mtgauge.load("fluency:lm_given=source")          # log p(translation | source)

Presets: `default` scores every token (a begin-of-text token leads); `paper2020` and `repo2021` are
what XMoverScore's authors ran: no begin-of-text token, so the first token is not scored, and a text
of one token or none gets 0, the best value there is; `repo2022` is exp(mean)^(1/n), mostly a
function of length. An empty text has the value -20 by default (0 in the published versions).
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from mtgauge.data.segments import Segments
from mtgauge.encode import load_language_model
from mtgauge.encode.lm import FLOOR, LanguageModel, mean_scores
from mtgauge.encode.ragged import IntArray
from mtgauge.errors import UsageError
from mtgauge.metric import Explanation, FloatArray
from mtgauge.metrics._contextual import Case, cleaner
from mtgauge.metrics._presets import PresetMetric
from mtgauge.registry import metric

_PAPER = {
    "lm_form": "mean",
    "lm_bos": False,
    "lm_short": "zero",
    "lm_given": "nothing",
    "lm_prior": 0.0,
}
_PLAIN = {"unescape": False, "lowercase": "off"}
LM_PRESETS: dict[str, dict[str, Any]] = {
    "default": {
        "lm_form": "mean",
        "lm_bos": True,
        "lm_short": "floor",
        "lm_given": "auto",
        "lm_prior": 0.0,
        "unescape": True,
        "lowercase": "auto",
    },
    "paper2020": _PAPER | _PLAIN,
    "repo2021": _PAPER | _PLAIN,
    "repo2022": _PAPER | _PLAIN | {"lm_form": "root"},
}


class FluencyTerm:
    """The language-model term that `fluency`, XMoverScore and COSINE share, from their options."""

    def __init__(self, options: SimpleNamespace) -> None:
        self.options = options

    @property
    def model(self) -> LanguageModel:
        return load_language_model(self.options.lm)

    @property
    def bounds(self) -> tuple[float, float]:
        low, high = (FLOOR, 0.0) if self.options.lm_form == "mean" else (0.0, 1.0)
        if self.options.lm_given == "nothing" or not self.options.lm_prior:
            return (low, high)
        return (low - self.options.lm_prior * high, high - self.options.lm_prior * low)

    @property
    def conditional(self) -> bool:
        """Whether a text is scored given its source."""
        given = self.options.lm_given
        return self.model.conditional if given == "auto" else bool(given == "source")

    def logprobs(
        self, texts: Sequence[str], sources: Sequence[str] | None
    ) -> tuple[FloatArray, IntArray]:
        clean = cleaner(self.options, self.model.lowercase)
        given = None
        if self.conditional and sources is not None:
            given = [clean(source) for source in sources]
        return self.model.logprobs([clean(text) for text in texts], self.options.lm_bos, given)

    def scores(self, texts: Sequence[str], sources: Sequence[str] | None = None) -> FloatArray:
        """One score a text; given its source, `lm_prior` times its score alone is taken off."""
        options = self.options
        scores, known = self._scores(texts, sources)
        if options.lm_prior and self.conditional and sources is not None:
            scores = scores - options.lm_prior * self._scores(texts, None)[0]
        return np.where(known, scores, self.bounds[0] if options.lm_short == "floor" else 0.0)

    def _scores(
        self, texts: Sequence[str], sources: Sequence[str] | None
    ) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Scores, and for which texts there was something to score."""
        logprobs, offsets = self.logprobs(texts, sources)
        scored = np.diff(offsets)
        # Without a begin-of-text token the first token counts as a token but is not scored.
        tokens = scored + (not self.options.lm_bos)
        means = mean_scores(logprobs, offsets)
        filled = np.array([bool(text.strip()) for text in texts], dtype=bool)
        return published(means, tokens, self.options.lm_form), (scored > 0) & filled

    def versions(self) -> dict[str, str]:
        given = "source" if self.conditional else "nothing"
        return {"language_model": f"{self.model.name}@{self.model.fingerprint[:8]}/{given}"}


def published(means: FloatArray, tokens: IntArray, form: str) -> FloatArray:
    """The mean itself, or exp(mean)^(1/n).

    >>> published(np.array([-4.0]), np.array([20]), "root").round(6)
    array([0.818731])
    """
    return means if form == "mean" else np.exp(means / np.maximum(tokens, 1))


@metric("fluency")
class Fluency(PresetMetric):
    summary = "Mean log-probability of the translation under a target-side language model."
    meaning = "Nats a token: 0 is certain, -10 is noise; compares texts of one language only."
    paper = "the language-model term of Zhao et al. 2020"
    cost = "encoder"
    tolerance = 1e-5
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        name: preset | {"lm_given": "nothing", "lm_prior": 0.0}
        for name, preset in LM_PRESETS.items()
    }

    def __init__(
        self,
        preset: Literal["default", "paper2020", "repo2021", "repo2022"] = "default",
        lm: str = "embedded",
        lm_form: Literal["mean", "root"] | None = None,
        lm_bos: bool | None = None,
        lm_short: Literal["floor", "zero"] | None = None,
        lm_given: Literal["auto", "source", "nothing"] | None = None,
        lm_prior: float | None = None,
        unescape: bool | None = None,
        lowercase: Case | None = None,
    ) -> None:
        self.preset, self.lm, self.lm_form = preset, lm, lm_form
        self.lm_bos, self.lm_short = lm_bos, lm_short
        self.lm_given, self.lm_prior = lm_given, lm_prior
        self.unescape, self.lowercase = unescape, lowercase

    @property
    def needs(self) -> frozenset[str]:
        return frozenset({"source"} if FluencyTerm(self.options).conditional else ())

    @property
    def bounds(self) -> tuple[float, float]:
        return FluencyTerm(self.options).bounds

    def statistics(self, batch: Segments) -> FloatArray:
        if "source" in self.needs and batch.sources is None:
            raise UsageError("fluency:lm_given=source needs the source texts: give them with -s.")
        return FluencyTerm(self.options).scores(batch.hypotheses, batch.sources)[:, None]

    def versions(self) -> dict[str, str]:
        return FluencyTerm(self.options).versions()

    def explain(self, segment: Segments) -> Explanation:
        term = FluencyTerm(self.options)
        alone = segment.take([0])
        logprobs, _ = term.logprobs(alone.hypotheses, alone.sources)
        return Explanation(
            self.name,
            float(self.statistics(alone)[0, 0]),
            right=tuple(alone.hypotheses),
            left_side="language_model",
            facts={"logprobs": np.round(logprobs, 4).tolist()},
        )
