"""The language-model term that `fluency`, XMoverScore and COSINE share, and its options.

    LM(t) = 1/n sum_i log p(t_i | t_1 ... t_{i-1})            lm_form=mean
    LM(t) = exp(mean log p)^(1/n)                             lm_form=root
    LM(t) = 1/n sum_i log p(t_i | t_{i-1}) - log f(t_i)       lm_form=odds, of lm=ngrams

`LanguageModelOptions` declares the options once; a metric that has it for a base takes them all,
after its own:

    class Fluency(LanguageModelOptions, PresetMetric): ...

`lm=own` is what the package has for the target language: `embedded`, a transformer, into English,
which is what it knows; `ngrams`, piece pairs (encode/ngrams.py), into the other languages that they
have. Piece pairs have a form and a weight of their own where none is given. `lm_given=auto` scores
a text given its source where the run has sources and the model can do it; `resolve` settles it.
Limits: a text of one token is not scored without a begin-of-text token.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from functools import cache
from types import SimpleNamespace
from typing import Annotated, Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from mtgauge.data.checks import is_blank
from mtgauge.data.codes import bases
from mtgauge.encode import load_language_model
from mtgauge.encode.card import read_card
from mtgauge.encode.lm import FLOOR, ODDS, LanguageModel, mean_scores
from mtgauge.encode.ragged import IntArray
from mtgauge.encode.tokens.joining import Word
from mtgauge.errors import UsageError
from mtgauge.metric import FloatArray, Task, model_label
from mtgauge.metrics._presets import cleaner
from mtgauge.models import shipped
from mtgauge.options import Range, Unless
from mtgauge.registry import options

OFF = ("off", "none")
HAS_MODEL = Unless("lm", *OFF)
HAS_WEIGHT = Unless("lm_weight", 0.0)
OF_NGRAMS = {"lm_form": "odds", "lm_weight": 0.125}
FORMS = {"mean": (FLOOR, 0.0), "root": (0.0, 1.0), "odds": ODDS}  # bounds


@options
class LanguageModelOptions:
    _: KW_ONLY
    lm: Annotated[
        str | None,
        "language model: embedded, ngrams, a folder, a hub id or off; own: embedded into English, "
        "ngrams into other languages",
    ] = None
    lm_form: Annotated[
        Literal["mean", "root", "odds"] | None,
        "mean log-probability of a token, the n-th root of its exponential, or the mean less what "
        "mere frequency gives (ngrams)",
        HAS_MODEL,
        HAS_WEIGHT,
    ] = None
    lm_bos: Annotated[
        bool | None, "a begin-of-text token leads, so the first is scored", HAS_MODEL, HAS_WEIGHT
    ] = None
    lm_short: Annotated[
        Literal["floor", "zero"] | None,
        "a text without a token to score: the lowest value, or 0",
        HAS_MODEL,
        HAS_WEIGHT,
    ] = None
    lm_given: Annotated[
        Literal["auto", "source", "nothing"] | None,
        "what it reads before the translation; auto: the source, if the model can",
        HAS_MODEL,
        HAS_WEIGHT,
    ] = None
    lm_prior: Annotated[
        float | None,
        "how much of the score without the source is taken off",
        Range(),
        HAS_MODEL,
        HAS_WEIGHT,
        Unless("lm_given", "nothing"),
    ] = None


_PAPER = {
    "lm": "embedded",
    "lm_form": "mean",
    "lm_bos": False,
    "lm_short": "zero",
    "lm_given": "nothing",
    "lm_prior": 0.0,
    "unescape": False,
    "lowercase": "off",
    "untranslated": "keep",
}
LM_PRESETS: dict[str, dict[str, Any]] = {
    "default": {
        "lm": "own",
        "lm_form": "mean",
        "lm_bos": True,
        "lm_short": "floor",
        "lm_given": "auto",
        "lm_prior": 0.0,
        "unescape": True,
        "lowercase": "auto",
        "untranslated": "worst",
    },
    "paper2020": _PAPER,
    "repo2021": _PAPER,
    "repo2022": _PAPER | {"lm_form": "root"},
}


class HasLanguageModel(Protocol):
    """A metric with these options and presets."""

    @property
    def preset(self) -> str: ...

    @property
    def options(self) -> SimpleNamespace: ...


class LanguageModelTerm:
    """Fluency of translations, from the options of a metric and the target language."""

    def __init__(self, metric: HasLanguageModel, lang: str | None) -> None:
        self.options = metric.options
        self.target = bases(lang)[1]
        if self.options.lm == "own":
            self.options.lm = "ngrams" if self.target in _into_foreign() else "embedded"
        self.own = dict[str, Any]()  # what piece pairs have of their own
        if self.options.lm == "ngrams" and metric.preset == "default":
            for name, value in OF_NGRAMS.items():
                if getattr(metric, name, value) is None:
                    self.own[name] = value
                    setattr(self.options, name, value)

    @property
    def model(self) -> LanguageModel:
        lm = self.options.lm
        if lm == "ngrams":
            return load_language_model(lm, self.target)
        return load_language_model(lm)  # as everyone asks for it: it is opened once

    @property
    def bounds(self) -> tuple[float, float]:
        low, high = FORMS[self.options.lm_form]
        if self.options.lm_given == "nothing" or not self.options.lm_prior:
            return (low, high)
        return (low - self.options.lm_prior * high, high - self.options.lm_prior * low)

    def given(self, sides: frozenset[str]) -> str:
        """The value of `lm_given` for a run with these sides."""
        given: str = self.options.lm_given
        if given == "auto" and self.options.lm == "ngrams":
            return "nothing"
        if given == "auto":
            return "source" if "source" in sides and self.model.conditional else "nothing"
        if given == "source" and not self.model.conditional:
            raise UsageError(
                f"The language model {self.model.name} cannot score a text given its source: "
                "say lm_given=nothing."
            )
        return given

    def resolve(self, task: Task) -> dict[str, Any]:
        """The options that a run settles."""
        if self.options.lm_form == "odds":
            self.model.odds([])  # refused by a model that has none
        given = self.given(task.sides)
        if given == "nothing" and self.options.lm_prior:
            raise UsageError(
                f"lm_prior takes off from a score given the source, and {self.model.name} is given "
                "none here: leave lm_prior out, or say lm=embedded with sources."
            )
        return {"lm_given": given} | self.own

    def logprobs(
        self, texts: Sequence[str], sources: Sequence[str] | None
    ) -> tuple[FloatArray, IntArray]:
        clean = cleaner(self.options, self.model.lowercase)
        cleaned = [clean(text) for text in texts]
        if self.options.lm_form == "odds":
            return self.model.odds(cleaned, self.options.lm_bos)
        given = None if sources is None else [clean(source) for source in sources]
        return self.model.logprobs(cleaned, self.options.lm_bos, given)

    def words(self, text: str, source: str | None) -> list[tuple[Word, float]]:
        """The words of one text with their log-probabilities, given its source if that is read."""
        given = self.read_sources(None if source is None else [source])
        logprobs, _ = self.logprobs([text], given)
        return self.model.words(cleaner(self.options, self.model.lowercase)(text), logprobs)

    def read_sources(self, sources: Sequence[str] | None) -> Sequence[str] | None:
        """The sources, if texts are scored given them."""
        sides = frozenset({"source"} if sources is not None else ())
        if self.given(sides) == "nothing":
            return None
        if sources is None:
            raise UsageError("lm_given=source needs the source texts: give them with -s.")
        return sources

    def scores(self, texts: Sequence[str], sources: Sequence[str] | None = None) -> FloatArray:
        """One score per text; given its source, `lm_prior` times its score alone is taken off."""
        options, given = self.options, self.read_sources(sources)
        scores, known = self._scores(texts, given)
        if options.lm_prior and given is not None:
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
        form = self.options.lm_form
        means = mean_scores(logprobs, offsets, *FORMS["odds" if form == "odds" else "mean"])
        filled = np.array([not is_blank(text) for text in texts], dtype=bool)
        return published(means, tokens, form), (scored > 0) & filled

    def versions(self) -> dict[str, str]:
        named = {"language_model": model_label(self.model.name, self.model.fingerprint)}
        return named | ({"lm_dtype": self.model.dtype} if self.model.dtype else {})


def published(means: FloatArray, tokens: IntArray, form: str) -> FloatArray:
    """The mean itself, or for "root" exp(mean)^(1/n).

    >>> published(np.array([-4.0]), np.array([20]), "root").round(6)
    array([0.818731])
    """
    return np.exp(means / np.maximum(tokens, 1)) if form == "root" else means


@cache
def _into_foreign() -> frozenset[str]:
    """Target languages for which the piece pairs are chosen."""
    card = read_card(shipped("ngrams") / "card.json", "ngrams")
    return frozenset(card["languages"]) - {"en"}
