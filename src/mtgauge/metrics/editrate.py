"""wer and per: word errors with and without regard to order, per word of the reference.

    WER = (insertions + deletions + substitutions) / |reference|
    PER = (max(|hypothesis|, |reference|) - shared words) / |reference|

PER (Tillmann et al. 1997) looks at bags of words: equal to 1 - (shared - surplus) / |reference|,
where surplus is by how much the hypothesis is longer.

    mtgauge score -t out.txt -r ref.txt -l de-en -m wer per per:lowercase=on

The row is (errors, reference words), so a system's rate is total errors over total words. With
several references `multi_ref=best` takes the one with the lowest rate, `mean` the mean of errors
and of words. Distances come from rapidfuzz. Limits: a synonym is an error like any other; WER
counts a moved phrase twice over, see `ter`.
"""

from __future__ import annotations

import numpy as np

from mtgauge.compare.overlap import overlap
from mtgauge.data.segments import Segments
from mtgauge.metric import FloatArray
from mtgauge.metrics._faults import Faults, bag_faults, word_edits
from mtgauge.metrics._references import Ints, distinct
from mtgauge.metrics._words import ReferenceWords, Words
from mtgauge.registry import metric


class _ErrorRate(ReferenceWords):
    """Errors over reference words; a subclass says what an error is."""

    higher_is_better = False
    columns = ("errors", "ref_words")
    bounds = (0.0, float("inf"))
    worst = 1.0  # nothing translated: every word of the reference is missing

    def statistics(self, batch: Segments) -> FloatArray:
        work = distinct(batch).each_reference()
        left, right = work.prepare(self.splitter(batch.target_lang))
        words = np.array([len(refs[0]) for refs in right], dtype=np.int64)[work.of]
        rows = np.column_stack([self._errors(left, right, work.of), words]).astype(np.float64)
        return work.combine(rows, -self.segment_score(rows), self.multi_ref)

    def segment_score(self, rows: FloatArray) -> FloatArray:
        errors, words = rows[:, 0], rows[:, 1]
        # an empty reference: 1 if there is anything to delete, else 0
        without = (errors > 0).astype(np.float64)
        return np.divide(errors, words, out=without, where=words > 0)

    def system_score(self, totals: FloatArray, n: FloatArray) -> FloatArray:
        return self.segment_score(totals)

    def _errors(self, left: list[Words], right: list[tuple[Words, ...]], of: Ints) -> Ints:
        raise NotImplementedError


@metric("wer")
class Wer(_ErrorRate):
    summary = "Word error rate: words to insert, delete or replace, per reference word."
    meaning = (
        "0 and up, lower is better; 0 is a copy, 1 what an empty translation gets, and a "
        "translation longer than the reference can exceed 1. Strong systems of WMT18 reach 0.37 "
        "to 0.60 on English news. Any change of word order is counted as errors, so it is harsh "
        "on free word order."
    )
    paper = "Levenshtein 1966; in translation since Tillmann et al. 1997, Accelerated DP Search"

    def _errors(self, left: list[Words], right: list[tuple[Words, ...]], of: Ints) -> Ints:
        from rapidfuzz.distance import Levenshtein

        pairs = zip(left, of.tolist(), strict=True)
        return np.array([Levenshtein.distance(h, right[k][0]) for h, k in pairs], dtype=np.int64)

    def faults(self, hypothesis: Words, references: list[Words], nearest: int) -> Faults:
        return Faults(word_edits(hypothesis, references[nearest]), "errors")


@metric("per")
class Per(_ErrorRate):
    summary = "Position-independent error rate: wrong, missing and surplus words in any order."
    meaning = (
        "0 and up, lower is better; 0 means the same words in whatever order, 1 is what an "
        "empty translation gets, more than 1 a translation with many surplus words. Strong "
        "systems of WMT18 reach 0.28 to 0.47 on English news. Blind to word order: read it "
        "beside wer or ter."
    )
    paper = "Tillmann et al. 1997, Accelerated DP Based Search for Statistical Translation"

    def _errors(self, left: list[Words], right: list[tuple[Words, ...]], of: Ints) -> Ints:
        longer = np.array([len(h) for h in left], dtype=np.int64)
        words = np.array([len(refs[0]) for refs in right], dtype=np.int64)[of]
        return np.maximum(longer, words) - overlap(left, right, of, 1)[:, 0]

    def faults(self, hypothesis: Words, references: list[Words], nearest: int) -> Faults:
        remark = "Surplus and missing words cancel each other: the larger number of the two counts."
        return Faults(bag_faults(hypothesis, references[nearest]), "words", (remark,))
