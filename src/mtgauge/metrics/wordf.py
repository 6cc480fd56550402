"""wordf: F-score of word n-grams, chrF's counterpart on words (after Popović 2011, 2016).

    wordF = 100 * (1 + b^2) P R / (b^2 P + R)

P and R are precision and recall of word n-grams, averaged over the orders 1 to `max_order` that
both texts are long enough for. `beta` weighs recall: WordF1, WordF2 (the default), WordF3. On
words that carry no marks it is sacrebleu's CHRF(char_order=0, word_order=4). `eps_smoothing` takes
the mean of the orders' F instead, an order that a text is too short for counting as 0, as chrF++.py
does; with Moses' tokens (`tokenize=moses`) that is the WordF published for WMT16.

    mtgauge score -t out.txt -r ref.txt -l de-en -m wordf wordf:beta=1 wordf:beta=3
    mtgauge meta da16.tsv.gz -m wordf:tokenize=moses,eps_smoothing=on,beta=1

The row is (hypothesis, reference, shared) counts of every order. Of several references the best
is taken segment by segment, or counts are averaged (`multi_ref=mean`). Unlike BLEU it rewards
recall, needs no brevity penalty and stays above 0 without four-grams in common.
"""

from __future__ import annotations

from typing import Annotated, Literal

from mtgauge.data.segments import Segments
from mtgauge.metric import FloatArray
from mtgauge.metrics._faults import Faults, ngram_faults
from mtgauge.metrics._references import MultiReference, distinct
from mtgauge.metrics._words import (
    TOKENIZE,
    Beta,
    EpsSmoothing,
    Lowercase,
    MaxOrder,
    Tokenize,
    WordMetric,
    Words,
)
from mtgauge.metrics.chrf import f_score, order_counts
from mtgauge.registry import metric


@metric("wordf")
class WordF(WordMetric):
    summary = "F-score of word n-grams (1 to 4) against the reference."
    meaning = (
        "0 to 100, higher is better; 100 is a copy of the reference. Strong systems of WMT18 "
        "reach 32 to 51 on English news. Counts recall as well as precision (beta times as "
        "much), so leaving things out costs more than in BLEU; exact words only, as in BLEU."
    )
    bounds = (0.0, 100.0)
    paper = "Popović 2016, chrF deconstructed: beta parameters and n-gram weights"

    beta: Beta = 2
    max_order: MaxOrder = 4
    tokenize: Annotated[Literal[Tokenize, "moses"], TOKENIZE] = "auto"
    lowercase: Lowercase = False
    eps_smoothing: EpsSmoothing = False
    multi_ref: MultiReference = "best"

    @property
    def columns(self) -> tuple[str, ...]:
        orders = range(1, self.max_order + 1)
        return tuple(f"{kind}{n}" for n in orders for kind in ("hyp", "ref", "match"))

    def statistics(self, batch: Segments) -> FloatArray:
        work = distinct(batch).each_reference()
        rows = order_counts(work, self.splitter(batch.target_lang), self.max_order)
        return work.combine(rows, self.segment_score(rows), self.multi_ref)

    def segment_score(self, rows: FloatArray) -> FloatArray:
        counts = rows[:, 0::3], rows[:, 1::3], rows[:, 2::3]
        return f_score(*counts, self.beta, self.eps_smoothing)

    def system_score(self, totals: FloatArray, n: FloatArray) -> FloatArray:
        return self.segment_score(totals)

    def faults(self, hypothesis: Words, references: list[Words], nearest: int) -> Faults:
        found = ngram_faults(hypothesis, references, nearest, self.max_order, recall=True)
        return Faults(found, "n-grams")
