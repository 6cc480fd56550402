"""BLEU (Papineni et al. 2002), number for number sacrebleu's.

    BLEU = 100 * BP * exp(mean over n <= 4 of log p_n),   p_n = matches_n / n-grams_n,
    BP = exp(1 - r/c) if the output's length c is below the references' length r, else 1

    mtgauge score -t out.txt -r ref.txt -l de-en -m bleu bleu:tokenize=intl,lowercase=on
    bleu = mtgauge.load("bleu")
    rows = bleu.statistics(batch); bleu.segment_score(rows); bleu.system_score(sums, n)

The row is (sys_len, ref_len, matches of order 1.., n-grams of order 1..). A system score is
sacrebleu's `corpus_score`; a segment score is its `sentence_score` with the effective order on,
as sacrebleu advises. Limits: a segment score is noisy (see `sentbleu`), and scores are comparable
only with the same tokeniser: the signature names it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np

from mtgauge.compare.overlap import overlap
from mtgauge.data.segments import Segments
from mtgauge.metric import FloatArray
from mtgauge.metrics._faults import Faults, found_remark, ngram_faults
from mtgauge.metrics._references import Ints, distinct
from mtgauge.metrics._words import (
    Lowercase,
    MaxOrder,
    Tokenizer,
    WordMetric,
    Words,
    sacrebleu_version,
)
from mtgauge.options import Range, When
from mtgauge.registry import metric

_DEFAULT_VALUE = {"floor": 0.1, "add-k": 1.0}  # sacrebleu's, after Chen and Cherry (2014)


@metric("bleu")
class Bleu(WordMetric):
    summary = "Share of the translation's n-grams (1 to 4 words) found in the references."
    meaning = (
        "0 to 100, higher is better; 100 is a copy of a reference. Strong systems of WMT18 "
        "reach 27 to 48 on English news with one reference, but the value depends on language, "
        "domain and number of references: compare only scores of the same test set and "
        "signature. Rewards exact words, so a good paraphrase scores low; below about 100 "
        "segments it is unsteady."
    )
    bounds = (0.0, 100.0)
    paper = "Papineni et al. 2002, BLEU: a Method for Automatic Evaluation of Machine Translation"

    tokenize: Tokenizer = "auto"
    lowercase: Lowercase = False
    smooth: Annotated[
        Literal["exp", "floor", "add-k", "none"],
        "what an order without a match counts, as sacrebleu",
    ] = "exp"
    smooth_value: Annotated[
        float | None,
        "the number for it; none: 0.1 for floor, 1 for add-k",
        Range(0),
        When("smooth", "floor", "add-k"),
    ] = None
    max_order: MaxOrder = 4
    effective_order: Annotated[bool, "leave out orders that the text is too short for"] = False

    @property
    def columns(self) -> tuple[str, ...]:
        orders = range(1, self.max_order + 1)
        names = [f"{kind}{n}" for kind in ("matches", "total") for n in orders]
        return ("sys_len", "ref_len", *names)

    def versions(self) -> dict[str, str]:
        return {"sacrebleu": sacrebleu_version()}

    def statistics(self, batch: Segments) -> FloatArray:
        work = distinct(batch)
        left, right = work.prepare(self.splitter(batch.target_lang))
        sizes = np.array([len(words) for words in left], dtype=np.int64)
        orders = np.arange(1, self.max_order + 1)
        rows = np.column_stack(
            [
                sizes,
                closest_lengths(sizes, [[len(r) for r in refs] for refs in right], work.of),
                overlap(left, right, work.of, self.max_order),
                np.maximum(sizes[:, None] - orders + 1, 0),
            ]
        )
        return np.asarray(rows[work.rows], dtype=np.float64)

    def segment_score(self, rows: FloatArray) -> FloatArray:
        return self._score(rows, effective_order=True)

    def system_score(self, totals: FloatArray, n: FloatArray) -> FloatArray:
        return self._score(totals, self.effective_order)

    def count(self, totals: FloatArray) -> None:
        short = (totals[:, 0] > 0) & (totals[:, -1] == 0)
        if short.any() and not self.effective_order:
            self.notes["short"] = int(short.sum())

    def _score(self, rows: FloatArray, effective_order: bool) -> FloatArray:
        """sacrebleu's `compute_bleu`, for many rows of sums at once."""
        sys_len, ref_len = rows[:, 0], rows[:, 1]
        matches = rows[:, 2 : 2 + self.max_order]
        total = rows[:, 2 + self.max_order :]
        value = self.smooth_value
        if value is None:
            value = _DEFAULT_VALUE.get(self.smooth, 0.0)
        log_sum = np.zeros(len(rows))
        orders = np.zeros(len(rows))  # how many orders the hypothesis is long enough for
        halvings = np.zeros(len(rows))  # `exp`: the k-th order without a match counts 1 / 2^k
        with np.errstate(divide="ignore", invalid="ignore"):
            for n in range(self.max_order):
                added = value if self.smooth == "add-k" and n > 0 else 0.0
                right, seen = matches[:, n] + added, total[:, n] + added
                if self.smooth == "exp":
                    halvings += (right == 0) & (seen > 0)
                    right = np.where(right == 0, 0.5**halvings, right)
                elif self.smooth == "floor":
                    right = np.where(right == 0, value, right)
                present = (seen > 0) & (orders == n)
                log_sum += np.where(present, np.log(100.0 * right / seen), 0.0)
                orders += present
            brevity = np.where(sys_len < ref_len, np.exp(1.0 - ref_len / sys_len), 1.0)
            score = brevity * np.exp(log_sum / np.maximum(orders, 1))
        usable = matches.any(axis=1) & (effective_order | (orders == self.max_order))
        return np.where(usable, score, 0.0)

    def faults(self, hypothesis: Words, references: list[Words], nearest: int) -> Faults:
        return precision_faults(hypothesis, references, nearest, self.max_order)


def precision_faults(
    hypothesis: Words, references: list[Words], nearest: int, orders: int
) -> Faults:
    """What BLEU and its kin count: n-grams of the translation, and its length."""
    of = np.zeros(1, dtype=np.int64)
    matches = overlap([hypothesis], [tuple(references)], of, orders)[0]
    totals = [max(len(hypothesis) - n, 0) for n in range(orders)]
    remarks = [found_remark(matches.tolist(), totals)]
    length = int(closest_lengths(np.array([len(hypothesis)]), [[*map(len, references)]], of)[0])
    if 0 < len(hypothesis) < length:
        penalty = np.exp(1 - length / len(hypothesis))
        remarks.append(
            f"Shorter than the reference ({len(hypothesis)} words for {length}): the score is "
            f"multiplied by {penalty:.2f}. Nothing else is charged for missing words."
        )
    return Faults(ngram_faults(hypothesis, references, nearest, orders), "n-grams", remarks)


def closest_lengths(sizes: Ints, lengths: Sequence[Sequence[int]], of: Ints) -> Ints:
    """The reference length nearest to the hypothesis's, the shorter of two equally near."""
    if all(len(refs) == 1 for refs in lengths):
        only: Ints = np.array([refs[0] for refs in lengths], dtype=np.int64)
        return only[of]
    nearest = [
        min(lengths[group], key=lambda length: (abs(length - size), length))
        for size, group in zip(sizes.tolist(), of.tolist(), strict=True)
    ]
    return np.array(nearest, dtype=np.int64)
