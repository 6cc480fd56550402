"""TER, translation edit rate (Snover et al. 2006), number for number sacrebleu's.

    TER = 100 * edits / reference length

Edits are insertions, deletions and substitutions of words, and shifts of a run of words, found
greedily as Tercom does. With several references: the fewest edits to any, over their mean length.

    mtgauge score -t out.txt -r ref.txt -m ter ter:normalized=on
    ter = mtgauge.load("ter:case_sensitive=on")

The row is (edits, reference length). Text is split at white space unless `normalized`. Chinese and
Japanese, where a sentence would then be one word and every score 100, are scored with
`normalized=on,asian_support=on` (Chinese characters one by one) unless `asian_support=off`; the
signature says so. Tercom has no rules for other languages without spaces (Thai, Lao, Khmer,
Burmese): they are refused, unless `asian_support=off` says that the text has been segmented.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal, Self

import numpy as np

from mtgauge.data.segments import Segments
from mtgauge.errors import LanguageError, UsageError
from mtgauge.metric import FloatArray, Task
from mtgauge.metrics._faults import Faults, ter_edits
from mtgauge.metrics._references import Ints, distinct
from mtgauge.metrics._words import WordMetric, Words, sacrebleu_version
from mtgauge.registry import metric
from mtgauge.text.words import UNSPACED_LANGUAGES

_TERCOM_KNOWS = frozenset({"zh", "yue", "ja"})  # unspaced languages with rules in Tercom


@metric("ter")
class Ter(WordMetric):
    summary = "Word edits and shifts that turn the translation into the reference, per word."
    meaning = (
        "0 and up, in percent of the reference's words, lower is better; 0 is a copy, 100 is "
        "also what an empty translation gets, and a translation far longer than the reference "
        "exceeds it. Strong systems of WMT18 reach 38 to 61 on English news. Case is ignored "
        "unless case_sensitive."
    )
    paper = "Snover et al. 2006, A Study of Translation Edit Rate with Targeted Human Annotation"
    higher_is_better = False
    columns = ("edits", "ref_len")
    bounds = (0.0, float("inf"))
    worst = 100.0  # nothing translated: every word of the reference has to be inserted
    longest = 10_000

    normalized: Annotated[bool, "split off punctuation as Tercom does"] = False
    no_punct: Annotated[bool, "leave punctuation out"] = False
    asian_support: Annotated[
        Literal["auto"] | bool, "Chinese characters one by one; auto: by the language"
    ] = "auto"
    case_sensitive: Annotated[bool, "tell upper from lower case"] = False

    def check(self) -> None:
        super().check()
        if self.asian_support is True and not (self.normalized or self.no_punct):
            raise UsageError(
                "ter: asian_support would do nothing here: it needs normalized=on or no_punct=on."
            )

    def versions(self) -> dict[str, str]:
        return {"sacrebleu": sacrebleu_version()}

    def splitter(self, target_lang: str | None) -> Callable[[str], Words]:
        from sacrebleu.tokenizers.tokenizer_ter import TercomTokenizer

        split = TercomTokenizer(**self.params() | self._rules(target_lang))
        return lambda text: split(text.rstrip()).split()

    def resolve(self, task: Task) -> Self:
        return super().resolve(task).settled(**self._rules(task.target_lang))

    def _rules(self, target_lang: str | None) -> dict[str, bool]:
        """Tercom's switches that `asian_support=auto` settles."""
        if self.asian_support != "auto":
            return {}
        if target_lang in _TERCOM_KNOWS:
            return {"normalized": True, "asian_support": True}
        if target_lang in UNSPACED_LANGUAGES:
            raise LanguageError(
                f"ter counts words, and {target_lang} has no spaces between them. Use chrf, or wer "
                "and character, which count characters there; for text that has been segmented, "
                "ter:asian_support=off."
            )
        return {"asian_support": False}

    def statistics(self, batch: Segments) -> FloatArray:
        work = distinct(batch)
        each = work.each_reference()
        split = self.splitter(batch.target_lang)
        left, once = each.prepare(split)
        # sacrebleu applies Tercom's rules to references twice; `normalized` is not idempotent
        right = [split(" ".join(refs[0])) for refs in once]
        size = np.array([len(words) for words in right], dtype=np.float64)[each.of]
        edits = np.full(len(work.hypotheses), np.inf)
        np.minimum.at(edits, each.owner, _edits(left, right, each.of))
        length = np.bincount(each.owner, weights=size) / np.bincount(each.owner)
        return np.column_stack([edits, length])[work.rows]

    def segment_score(self, rows: FloatArray) -> FloatArray:
        edits, length = rows[:, 0], rows[:, 1]
        # no reference words: 100 if there is anything to delete, else 0, as sacrebleu has it
        without = (edits > 0).astype(np.float64)
        return 100.0 * np.divide(edits, length, out=without, where=length > 0)

    def system_score(self, totals: FloatArray, n: FloatArray) -> FloatArray:
        return self.segment_score(totals)

    def reference_words(self, split: Callable[[str], Words], text: str) -> Words:
        return split(" ".join(split(text)))  # as in `statistics`

    def faults(self, hypothesis: Words, references: list[Words], nearest: int) -> Faults:
        return Faults(ter_edits(hypothesis, references[nearest]), "edits")


def _edits(left: list[Words], right: list[Words], of: Ints) -> Ints:
    """Edits that turn left[i] into right[of[i]]."""
    from mtgauge.compare.shifts import all_edits

    texts = [*left, *right]
    number: dict[str, int] = {}
    words = [number.setdefault(word, len(number)) for text in texts for word in text]
    start = np.cumsum([0, *(len(text) for text in texts)], dtype=np.int64)
    numbers = np.array(words, dtype=np.int64)
    return all_edits(numbers, start, np.arange(len(left), dtype=np.int64), of + len(left))
