"""chrF and chrF++ (Popović 2015, 2017), number for number sacrebleu's.

    chrF = 100 * (1 + b^2) P R / (b^2 P + R)

P and R are precision and recall of character n-grams (white space left out), averaged over the
orders 1 to `char_order`; `word_order=2` adds word uni- and bigrams, which is chrF++. `beta` says
how many times recall counts as much as precision: chrF1, chrF2 (the default), chrF3.

    mtgauge score -t out.txt -r ref.txt -m chrf chrf:word_order=2 chrf:beta=3
    chrf = mtgauge.load("chrf:word_order=2")

The row is (hypothesis, reference, shared) counts of every order. Of several references the one
with the best F is taken, segment by segment. Limits: characters of a wrong word that happens to
be spelt alike earn credit; Chinese and Japanese have few characters per sentence, so scores there
are low and coarse.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated

import numpy as np

from mtgauge.compare.overlap import overlap
from mtgauge.data.segments import Segments
from mtgauge.errors import UsageError
from mtgauge.metric import FloatArray
from mtgauge.metrics._faults import Faults, character_faults, ngram_faults
from mtgauge.metrics._references import Pairs, distinct
from mtgauge.metrics._words import (
    Beta,
    EpsSmoothing,
    Lowercase,
    WordMetric,
    Words,
    sacrebleu_version,
)
from mtgauge.options import Range
from mtgauge.registry import metric

_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_EPSILON = 1e-16  # sacrebleu's


@metric("chrf")
class Chrf(WordMetric):
    summary = "F-score of character n-grams (1 to 6) against the reference."
    meaning = (
        "0 to 100, higher is better; 100 is a copy of the reference. Strong systems of WMT18 "
        "reach 55 to 70 on English news, unrelated sentences still 19 or 20. Needs no tokeniser "
        "and forgives inflection, so it suits languages with rich endings better than BLEU."
    )
    bounds = (0.0, 100.0)
    paper = "Popović 2015, chrF: character n-gram F-score for automatic MT evaluation"

    char_order: Annotated[int, "longest n-grams, in characters", Range(0, 20)] = 6
    word_order: Annotated[
        int, "longest n-grams of words beside them; 2 is chrF++", Range(0, 20)
    ] = 0
    beta: Beta = 2
    lowercase: Lowercase = False
    whitespace: Annotated[bool, "count spaces as characters"] = False
    eps_smoothing: EpsSmoothing = False

    def check(self) -> None:
        super().check()
        if not (self.char_order or self.word_order):
            raise UsageError("chrf: char_order and word_order are not both 0.")

    @property
    def columns(self) -> tuple[str, ...]:
        chars = [f"char{n}" for n in range(1, self.char_order + 1)]
        words = [f"word{n}" for n in range(1, self.word_order + 1)]
        return tuple(f"{k}_{unit}" for unit in chars + words for k in ("hyp", "ref", "match"))

    def versions(self) -> dict[str, str]:
        return {"sacrebleu": sacrebleu_version()}

    def statistics(self, batch: Segments) -> FloatArray:
        work = distinct(batch).each_reference()
        rows = np.concatenate(
            [
                order_counts(work, self._characters, self.char_order),
                order_counts(work, self._words, self.word_order),
            ],
            axis=1,
        )
        return work.combine(rows, self._score(rows))

    def segment_score(self, rows: FloatArray) -> FloatArray:
        return self._score(rows)

    def system_score(self, totals: FloatArray, n: FloatArray) -> FloatArray:
        return self._score(totals)

    def _score(self, rows: FloatArray) -> FloatArray:
        hyp, ref, match = rows[:, 0::3], rows[:, 1::3], rows[:, 2::3]
        return f_score(hyp, ref, match, self.beta, self.eps_smoothing)

    def faults(self, hypothesis: Words, references: list[Words], nearest: int) -> Faults:
        if not self.char_order:
            found = ngram_faults(hypothesis, references, nearest, self.word_order, recall=True)
            return Faults(found, "n-grams")
        texts = (" ".join(hypothesis), " ".join(references[nearest]))
        found = character_faults(*texts, self.char_order, spaces=self.whitespace)
        remark = "Costs are character n-grams of the word that the other text does not have."
        return Faults(found, "n-grams", (remark,))

    def splitter(self, target_lang: str | None) -> Callable[[str], list[str]]:
        return self._words

    def _characters(self, text: str) -> str:
        text = text.lower() if self.lowercase else text
        return text if self.whitespace else "".join(text.split())

    def _words(self, text: str) -> list[str]:
        """Words with one mark split off, at the end or else at the front, as chrF++ does it."""
        words: list[str] = []
        for word in (text.lower() if self.lowercase else text).split():
            if len(word) > 1 and word[-1] in _PUNCTUATION:
                words += [word[:-1], word[-1]]
            elif len(word) > 1 and word[0] in _PUNCTUATION:
                words += [word[0], word[1:]]
            else:
                words.append(word)
        return words


def order_counts(work: Pairs, split: Callable[[str], Sequence[str]], orders: int) -> FloatArray:
    """(hypothesis, reference, shared) n-grams of every order, for pairs with one reference."""
    if not orders:
        return np.zeros((len(work.of), 0))
    left, right = work.prepare(split)
    hyp_size = np.array([len(text) for text in left], dtype=np.int64)
    ref_size = np.array([len(refs[0]) for refs in right], dtype=np.int64)[work.of]
    order = np.arange(orders)
    hyp = np.maximum(hyp_size[:, None] - order, 0)
    ref = np.maximum(ref_size[:, None] - order, 0)
    hyp[ref == 0] = 0  # an order that the reference is too short for does not count
    counts = np.stack([hyp, ref, overlap(left, right, work.of, orders)], axis=2)
    return np.asarray(counts.reshape(len(left), 3 * orders), dtype=np.float64)


def f_score(
    hyp: FloatArray, ref: FloatArray, match: FloatArray, beta: float, eps_smoothing: bool = False
) -> FloatArray:
    """100 * F from (rows, orders) counts.

    Either the F of the mean precision and mean recall over the orders that both texts have, or
    (`eps_smoothing`) the mean of the orders' F, an order without n-grams counting as almost 0.
    """
    weight = beta**2
    precision = np.divide(match, hyp, out=np.full_like(match, _EPSILON), where=hyp > 0)
    recall = np.divide(match, ref, out=np.full_like(match, _EPSILON), where=ref > 0)
    if not eps_smoothing:
        both = (hyp > 0) & (ref > 0)
        orders = np.maximum(both.sum(axis=1), 1)
        precision = np.where(both, precision, 0.0).sum(axis=1, keepdims=True) / orders[:, None]
        recall = np.where(both, recall, 0.0).sum(axis=1, keepdims=True) / orders[:, None]
    below = weight * precision + recall
    above = (1 + weight) * precision * recall
    empty = _EPSILON if eps_smoothing else 0.0
    score = np.divide(above, below, out=np.full_like(below, empty), where=below > 0)
    return np.asarray(100.0 * score.mean(axis=1))
