"""NIST (Doddington 2002): n-gram precision in which rare n-grams weigh more, as mteval has it.

    NIST = penalty * sum over n <= 5 of  (information of the matched n-grams) / (n-grams)
    information(w1..wn) = log2(count(w1..wn-1) / count(w1..wn))   in the corpus; n = 1: all words
    penalty = exp(-b log(min(1, |hypothesis| / |reference|))^2), 0.5 at two thirds of the length

    mtgauge score -t out.txt -r ref.txt -l de-en -m nist
    nist = mtgauge.load("nist"); nist.fit(all_references); nist.statistics(batch)

The weights depend on the corpus: the references of the test set (`corpus=references`, through
`fit`), or a file of references, whose digest stands in the signature; an n-gram that such a file
lacks counts as seen once. The row is (words, reference words, information and n-grams of every
order). Several references: counts are clipped by the largest of any reference, lengths are
averaged. mteval folds case unless told not to (-c): that is `lowercase=on` here. Limits: a score
from another test set, or from a part of this one, has other weights and cannot be compared.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable
from functools import reduce
from operator import or_
from typing import Annotated

import numpy as np

from mtgauge.data.columns import texts_of
from mtgauge.data.segments import Segments
from mtgauge.errors import UsageError
from mtgauge.metric import FloatArray
from mtgauge.metrics._faults import Faults, ngram_faults
from mtgauge.metrics._references import distinct
from mtgauge.metrics._words import Lowercase, MaxOrder, Tokenizer, WordMetric, Words
from mtgauge.registry import metric
from mtgauge.text.ngrams import counts

NgramCounts = Counter[tuple[str, ...]]
_STEEPNESS = math.log(0.5) / math.log(1.5) ** 2


@metric("nist")
class Nist(WordMetric):
    summary = "N-gram precision (1 to 5 words) that rewards rare, informative n-grams."
    meaning = (
        "0 and up, higher is better; there is no fixed top: a copy of the references scores "
        "about log2 of the number of their words (15.8 in WMT18), strong systems of WMT18 7 to "
        "10, unrelated sentences 1. The weights come from the references, so compare only "
        "scores of one test set; a segment's score depends on the other segments' references."
    )
    bounds = (0.0, float("inf"))
    paper = "Doddington 2002, Automatic Evaluation of MT Quality Using N-gram Co-occurrence"

    max_order: MaxOrder = 5
    tokenize: Tokenizer = "auto"
    lowercase: Lowercase = False
    corpus: Annotated[str, "texts that say what is rare: references, or a FILE of them"] = (
        "references"
    )

    @property
    def columns(self) -> tuple[str, ...]:
        orders = range(1, self.max_order + 1)
        names = [f"{kind}{n}" for kind in ("information", "total") for n in orders]
        return ("sys_len", "ref_len", *names)

    @property
    def needs_corpus(self) -> bool:
        return self.corpus == "references"

    def versions(self) -> dict[str, str]:
        if self.needs_corpus:
            return {}
        digest = hashlib.sha256("\n".join(texts_of(self.corpus)).encode()).hexdigest()
        return {"corpus_sha256": digest[:12]}

    def fit(self, references: Iterable[str]) -> None:
        self._corpus = _Corpus(list(references), self.max_order)

    def statistics(self, batch: Segments) -> FloatArray:
        split = self.splitter(batch.target_lang)
        corpus = self._learnt().counts(self.tokenizer_name(batch.target_lang), split)
        work = distinct(batch)
        left, right = work.prepare(split)
        clip = [reduce(or_, (counts(r, self.max_order) for r in refs)) for refs in right]
        length = [sum(map(len, refs)) / len(refs) for refs in right]
        rows = np.zeros((len(left), 2 + 2 * self.max_order))
        for row, words, k in zip(rows, left, work.of.tolist(), strict=True):
            row[:2] = len(words), length[k]
            row[2 + self.max_order :] = np.maximum(len(words) - np.arange(self.max_order), 0)
            matched = counts(words, self.max_order) & clip[k]
            # fixed order of summing, so that the last digit does not depend on the batch
            for gram, number in sorted(matched.items()):
                row[1 + len(gram)] += number * _information(gram, corpus)
        return rows[work.rows]

    def segment_score(self, rows: FloatArray) -> FloatArray:
        information = rows[:, 2 : 2 + self.max_order]
        total = rows[:, 2 + self.max_order :]
        precision = (information / np.maximum(total, 1)).sum(axis=1)
        ratio = np.divide(rows[:, 0], rows[:, 1], out=np.ones(len(rows)), where=rows[:, 1] > 0)
        with np.errstate(divide="ignore"):
            penalty = np.exp(_STEEPNESS * np.log(np.minimum(ratio, 1.0)) ** 2)
        return np.asarray(precision * penalty)

    def system_score(self, totals: FloatArray, n: FloatArray) -> FloatArray:
        return self.segment_score(totals)

    def faults(self, hypothesis: Words, references: list[Words], nearest: int) -> Faults:
        corpus = self._learnt().latest  # of the tokeniser that `statistics` used
        found = ngram_faults(
            hypothesis, references, nearest, self.max_order, lambda g: _information(g, corpus)
        )
        return Faults(found, "bits", ("Rare words and rare runs of words weigh more.",))

    def _learnt(self) -> _Corpus:
        if "_corpus" not in self.__dict__:
            if self.needs_corpus:
                raise UsageError("nist weighs n-grams by all references: call fit with them first.")
            self.fit(texts_of(self.corpus))
        return self._corpus


class _Corpus:
    """Texts whose n-grams are counted once per tokeniser."""

    def __init__(self, texts: list[str], max_order: int) -> None:
        self._texts, self._max_order = texts, max_order
        self._counted: dict[str, NgramCounts] = {}
        self.latest: NgramCounts = Counter()  # what `counts` returned last

    def counts(self, tokenize: str, split: Callable[[str], Words]) -> NgramCounts:
        """N-grams of the corpus; how many words it has stands under the empty n-gram."""
        if tokenize not in self._counted:
            found: NgramCounts = Counter()
            for text in self._texts:
                words = split(text)
                found.update(counts(words, self._max_order))
                found[()] += len(words)
            self._counted[tokenize] = found
        self.latest = self._counted[tokenize]
        return self.latest


def _information(gram: tuple[str, ...], corpus: NgramCounts) -> float:
    return math.log2(max(corpus[gram[:-1]], 1) / max(corpus[gram], 1))
