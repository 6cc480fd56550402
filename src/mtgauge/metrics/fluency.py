"""Fluency alone: mean log-probability of the translation under a language model.

    fluency(t) = 1/n sum_i log p(t_i | t_1 ... t_{i-1})

It looks at neither source nor reference, so it says nothing about meaning: it is the second term
of XMoverScore and COSINE, and a probe of its own. In nats per token, 0 at best. The embedded model
has seen translations with their sources and can also score a text given its source, which does
judge meaning; XMoverScore and COSINE use that by default (lm_given=auto). `lm_prior` times the
score of the text alone can be taken off again: what is left is what the source explains.

    mtgauge.load("fluency")                          # the embedded model
    mtgauge.load("fluency:lm=gpt2,preset=paper2020")
    mtgauge.load("fluency:lm_given=source")          # log p(translation | source)
    mtgauge.load("fluency:lm=ngrams")                # piece pairs of the target language

Presets: `default` scores every token (a begin-of-text token leads); `paper2020` and `repo2021` are
what XMoverScore's authors ran: no begin-of-text token, so the first token is not scored, and a text
of one token or none gets 0, the best value there is; `repo2022` is exp(mean)^(1/n), mostly a
function of length. An empty text has the worst value by default, -20 or with piece pairs -2 (0 in
the published versions).
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np

from mtgauge.data.segments import Segments
from mtgauge.errors import UsageError
from mtgauge.explanation import Explanation, Finding
from mtgauge.metric import FloatArray, Task, Untranslated
from mtgauge.metrics._language_model import (
    LM_PRESETS,
    OFF,
    LanguageModelOptions,
    LanguageModelTerm,
)
from mtgauge.metrics._presets import PRESET, Case, PresetMetric, Unescape, settled_case
from mtgauge.metrics._unrelated import ReferenceFree
from mtgauge.options import When
from mtgauge.registry import metric


@metric("fluency")
class Fluency(LanguageModelOptions, ReferenceFree, PresetMetric):
    summary = "How probable the translation is as a text, under a language model; reads no source."
    meaning = (
        "Mean log-probability in nats per token: 0 is certain, -10 is noise; compares texts of one "
        "language only. A fluent text about anything else scores as well: this is no metric of "
        "translation, but a part of others. With lm_given=source it reads the source too. With "
        "lm=ngrams it says how well neighbours fit each other, from -2 to 4."
    )
    paper = "the language-model term of Zhao et al. 2020"
    cost = "encoder"

    @property
    def uses_device(self) -> bool:
        return bool(self.options.lm != "ngrams")

    tolerance = 1e-5
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        name: preset | {"lm": "embedded", "lm_given": "nothing"}
        for name, preset in LM_PRESETS.items()
    }

    preset: Annotated[Literal["default", "paper2020", "repo2021", "repo2022"], PRESET] = "default"
    unescape: Unescape | None = None
    lowercase: Case | None = None
    untranslated: Annotated[Untranslated | None, When("lm_given", "source", "auto")] = None

    def check(self) -> None:
        super().check()
        if self.options.lm in OFF:
            raise UsageError("fluency is the score of a language model: lm names one.")

    @property
    def needs(self) -> frozenset[str]:
        return frozenset({"source"} if self.options.lm_given == "source" else ())

    def reads_source(self, sides: frozenset[str]) -> bool:
        return self.term().given(sides) == "source"

    @property
    def bounds(self) -> tuple[float, float]:
        return self.term().bounds

    def term(self, lang: str | None = None) -> LanguageModelTerm:
        """The language model's part, for a language pair."""
        return LanguageModelTerm(self, lang or self.__dict__.get("_lang"))

    def resolve(self, task: Task) -> Self:
        term = self.term(task.lang)
        case = settled_case(self.options.lowercase, term.model.lowercase)
        settled = super().resolve(task).settled(lowercase=case, **term.resolve(task))
        settled.__dict__["_lang"] = task.lang
        return settled

    def statistics(self, batch: Segments) -> FloatArray:
        term = self.term(batch.lang)
        if term.read_sources(batch.sources) is None:
            self.notes["read alone"] += len(batch)
        return term.scores(batch.hypotheses, batch.sources)[:, None]

    def versions(self) -> dict[str, str]:
        return self.term().versions()

    def explain(self, segment: Segments) -> Explanation:
        """Words with their log-probabilities, the most improbable first."""
        alone = segment.take([0])
        source = None if alone.sources is None else alone.sources[0]
        term = self.term(alone.lang)
        given = term.read_sources(alone.sources)
        logprobs, _ = term.logprobs(alone.hypotheses, given)
        words = term.words(alone.hypotheses[0], source)
        found = [Finding("", word.text, "", -value, word.at) for word, value in words]
        if term.options.lm_form == "odds":
            unit, says = (
                "-odds",
                (
                    f"-odds says how much less {term.model.name} expected the word after its "
                    "neighbour than by itself: below 0 it expected it more."
                ),
            )
        else:
            known = "the words before it and the source" if given else "the words before it"
            unit, says = (
                "-log p",
                (
                    f"-log p says how little {term.model.name} expected the word after {known}: "
                    "0 is certain, 2.3 one chance in ten, 6.9 one in a thousand."
                ),
            )
        return Explanation(
            self.name,
            float(self.statistics(alone)[0, 0]),
            right=tuple(word.text for word, _ in words),
            right_pieces=tuple(word.pieces for word, _ in words),
            left_side="language_model",
            facts={
                "logprobs": np.round(logprobs, 4).tolist(),
                "words": [[word.text, round(value, 4)] for word, value in words],
            },
            findings=tuple(sorted(found, key=lambda finding: -finding.cost)),
            unit=unit,
            remarks=(says,),
        )
