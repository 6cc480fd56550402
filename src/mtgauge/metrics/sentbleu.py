"""sentBLEU: the smoothed sentence BLEU of Moses, the baseline of the WMT metrics tasks.

    sentBLEU = BP * exp(mean over n <= 4 of log((matches_n + 1) / (n-grams_n + 1)))
    BP = exp(1 - r/c) if the translation's length c is below the reference's r, else 1

This is what Moses' `sentence-bleu` program computes: one is added at every order, the first
included, and to the counts only, not to the lengths. Several references: counts are clipped by
the largest of any reference, r is the length nearest to c.

    mtgauge score -t out.tok -r ref.tok -m sentbleu --segments
    mtgauge score -t out.txt -r ref.txt -m sentbleu:tokenize=13a --segments

Like that program it splits at white space and expects tokenised text, which is what reproduces
the published WMT17 correlations (docs/lexical.md); for raw text give `tokenize=13a`. Languages
written without spaces are cut into characters. Segments that do not look tokenised are counted in
the notes. A system's score is the mean of its segments.
"""

from __future__ import annotations

import re

import numpy as np

from mtgauge.compare.overlap import overlap
from mtgauge.data.segments import Segments
from mtgauge.metric import FloatArray
from mtgauge.metrics._faults import Faults
from mtgauge.metrics._references import distinct
from mtgauge.metrics._words import Lowercase, Tokenizer, WordMetric, Words
from mtgauge.metrics.bleu import closest_lengths, precision_faults
from mtgauge.registry import metric

_ORDERS = 4
_ATTACHED = re.compile(r"\w[.,;:!?]$")  # a mark that a tokeniser would have split off


@metric("sentbleu")
class SentBleu(WordMetric):
    summary = "Sentence BLEU with add-one smoothing, as Moses computes it."
    meaning = (
        "0 to 1, higher is better; 1 is a copy of the reference. Smoothing lifts short "
        "sentences: five words without one in common still get 0.2. Strong systems of WMT18 "
        "have a mean of 0.3 to 0.49 on English news. Text must be tokenised or tokenize= given. "
        "Made for single sentences; for systems prefer bleu."
    )
    paper = "Koehn et al. 2007, Moses; Lin and Och 2004, ORANGE (the smoothing)"
    spaced = "none"

    tokenize: Tokenizer = "auto"
    lowercase: Lowercase = False

    def statistics(self, batch: Segments) -> FloatArray:
        split = self.splitter(batch.target_lang)
        if self.tokenizer_name(batch.target_lang) == "none":
            loose = sum(bool(_ATTACHED.search(text)) for text in batch.hypotheses)
            self.notes["untokenised"] += loose
        work = distinct(batch)
        left, right = work.prepare(split)
        sizes = np.array([len(words) for words in left], dtype=np.int64)
        reference = closest_lengths(sizes, [[len(r) for r in refs] for refs in right], work.of)
        matches = overlap(left, right, work.of, _ORDERS)
        totals = np.maximum(sizes[:, None] - np.arange(_ORDERS), 0)
        # an empty translation has an infinite penalty; the maximum avoids 0 / 0
        penalty = np.minimum(1.0 - reference / np.maximum(sizes, 1), 0.0)
        score = np.exp(np.log((matches + 1) / (totals + 1)).mean(axis=1) + penalty)
        return np.where(sizes > 0, score, 0.0)[work.rows, None]

    def faults(self, hypothesis: Words, references: list[Words], nearest: int) -> Faults:
        return precision_faults(hypothesis, references, nearest, _ORDERS)
