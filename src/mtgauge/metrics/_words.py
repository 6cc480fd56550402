"""What metrics on words have in common: their tokeniser, and how a score is explained.

A subclass has the options `tokenize` and `lowercase` (or overrides `splitter`) and asks
`self.splitter(batch.target_lang)` for the function from text to words. Tokenisers have sacrebleu's
names. `tokenize=auto` is its choice for the target language, and characters for languages that
sacrebleu has no choice for and that write no spaces (Thai, Lao, Khmer, Burmese): split at white
space, a sentence would be one word. `resolve` settles it, and the signature names it.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Sequence
from typing import Annotated, ClassVar, Literal, Self

import numpy as np

from mtgauge.data.segments import Segments
from mtgauge.errors import ResourceError
from mtgauge.explanation import Explanation, Link
from mtgauge.metric import Metric, Task
from mtgauge.metrics._faults import Faults
from mtgauge.metrics._references import MultiReference, distinct
from mtgauge.options import Range
from mtgauge.registry import options
from mtgauge.text.words import UNSPACED_LANGUAGES, Sacrebleu, tokenizer

Words = list[str]
Tokenize = Literal["auto", Sacrebleu]
TOKENIZE = "how text is split into words, by sacrebleu's names; auto: by the target language"
Tokenizer = Annotated[Tokenize, TOKENIZE]
Lowercase = Annotated[bool, "ignore upper and lower case"]
MaxOrder = Annotated[int, "longest n-grams, in words", Range(1, 20)]
Beta = Annotated[float, "how many times recall counts as much as precision", Range(0, 1000)]
EpsSmoothing = Annotated[bool, "mean F of all orders, as chrF++.py has it; off: F of the means"]

# sacrebleu's choice by target language, and what stands in where its extra is not installed
_BY_LANGUAGE = {
    **dict.fromkeys(UNSPACED_LANGUAGES, ("char",)),
    **dict.fromkeys(("zh", "yue"), ("zh",)),
    "ja": ("ja-mecab", "char"),
    "ko": ("ko-mecab",),
}


class WordMetric(Metric):
    tokenize: Literal[Tokenize, "moses"]  # the latter where a metric offers it
    lowercase: bool
    spaced: ClassVar[Sacrebleu] = "13a"  # `tokenize=auto` where words have spaces between them

    def splitter(self, target_lang: str | None) -> Callable[[str], Words]:
        """Text to words, as sacrebleu prepares a segment: lower-case, strip the end, tokenise."""
        split = tokenizer(self.tokenizer_name(target_lang))
        if self.lowercase:
            return lambda text: split(text.lower().rstrip())
        return lambda text: split(text.rstrip())

    def resolve(self, task: Task) -> Self:
        settled = super().resolve(task)
        if "tokenize" in self.defaults():
            name = self.tokenizer_name(task.target_lang)
            tokenizer(name)  # one that is not there is refused now
            settled.__dict__["tokenize"] = name
        return settled

    def tokenizer_name(self, target_lang: str | None) -> str:
        """The tokeniser that is used, by the name that the signature has."""
        if self.tokenize != "auto":
            return "flores101" if self.tokenize == "spm" else self.tokenize
        for name in _BY_LANGUAGE.get(target_lang or "", ()):
            try:
                tokenizer(name)
            except ResourceError:
                continue
            return name
        return self.spaced

    def explain(self, segment: Segments) -> Explanation:
        """The statistics by name, what is wrong, and which words were found where."""
        alone = segment.take([0])
        (texts,) = distinct(alone).references
        row = self.statistics(alone)
        split = self.splitter(alone.target_lang)
        hypothesis = split(alone.hypotheses[0])
        references = [self.reference_words(split, text) for text in texts]
        nearest = self._nearest(alone, texts)
        faults = self.faults(hypothesis, references, nearest)
        facts = dict(zip(self.columns, row[0].tolist(), strict=True))
        return Explanation(
            self.name,
            float(self.segment_score(row)[0]),
            tuple(references[nearest]),
            tuple(hypothesis),
            links=word_links(references[nearest], hypothesis),
            facts=facts | {"reference": nearest + 1},
            findings=tuple(faults.findings),
            unit=faults.unit,
            remarks=tuple(faults.remarks),
        )

    def faults(self, hypothesis: Words, references: list[Words], nearest: int) -> Faults:
        """What is wrong with the hypothesis; `nearest` is the reference that scores best."""
        raise NotImplementedError

    def reference_words(self, split: Callable[[str], Words], text: str) -> Words:
        return split(text)

    def _nearest(self, alone: Segments, references: Sequence[str]) -> int:
        """Of several references the one with the best score, the first of equals."""
        if len(references) == 1:
            return 0
        each = Segments(
            [alone.hypotheses[0]] * len(references),
            references=[(text,) for text in references],
            lang=alone.lang,
        )
        scores = self.segment_score(self.statistics(each))
        return int(np.argmax(scores if self.higher_is_better else -scores))


@options
class ReferenceWords(WordMetric):
    """A word metric that compares with one reference at a time."""

    tokenize: Tokenizer = "auto"
    lowercase: Lowercase = False
    multi_ref: MultiReference = "best"


def word_links(reference: Words, hypothesis: Words) -> tuple[Link, ...]:
    """Equal words joined one to one: first those in the same order, then those that moved.

    >>> [(link.i, link.j) for link in word_links(["a", "b", "c"], ["c", "a", "b"])]
    [(0, 1), (1, 2), (2, 0)]
    """
    from rapidfuzz.distance import Indel

    found = {
        block.a + k: block.b + k
        for block in Indel.opcodes(reference, hypothesis).as_matching_blocks()
        for k in range(block.size)
    }
    free: dict[str, list[int]] = {}
    for j in sorted(set(range(len(hypothesis))) - set(found.values()), reverse=True):
        free.setdefault(hypothesis[j], []).append(j)
    for i, word in enumerate(reference):
        if i not in found and free.get(word):
            found[i] = free[word].pop()
    return tuple(Link(i, found[i], 1.0, 0.0) for i in sorted(found))


def sacrebleu_version() -> str:
    return importlib.metadata.version("sacrebleu")
