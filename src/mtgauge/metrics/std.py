"""STD, Semantic Travel Distance: how far a translation's n-grams travel to the reference's.

    STD_n(r, t) = min_F sum_ij F_ij D_ij,   F from nSIM(r) to nSIM(t),   D = 0.6 S + 0.4 O
    segment = 0.5 STD_1 + 0.5 STD_2         system = 0.3 mean STD_1 + 0.7 mean STD_2

Li et al. 2019. nSIM spreads each text's mass over the n-grams of both by similarity, S is the
distance of meaning (word vectors) and O of relative position (see compare/semantic.py for the
formulas). Lower is better: 0 for a copy of the reference, 1 at worst.

    mtgauge.load("std")                                   # embedded vectors of the target language
    mtgauge.load("std:vectors=crawl-300d-2M.vec.gz")      # a file: converted once, into the cache
    mtgauge.load("std:vectors=crawl.vectors,preset=lp")   # a store made by mtgauge vectors convert
    mtgauge.load("std:vectors=encoder")                   # in context, from the embedded encoder

Presets: `lp` solves the paper's equation exactly, so that words in another place cost something;
`pyemd` does what the authors' solver does: mass that both texts put on an n-gram is cancelled at
no cost first, and any permutation of the reference has STD_1 = 0. The default is `pyemd`, which
agrees better with people on WMT15 and WMT16 (docs/std.md has the table). For the same reason a
word without a vector gets one made of its spelling (`oov=spelling`), so that names still match and
forms of one word are near; `oov=paper` leaves it out, or makes it `unk`, as the authors do.
`paper` is the authors' metric and nothing else: `pyemd` with `oov=paper` and the weights above.

`weights` is the mass that a text puts on n-grams: `nsim`, or as in the paper's Table I `nbow` (how
often it has them) and `tfidf` (that, times the mean idf of their words in the references).

Limits: the score is only as good as the vectors; those embedded are small. Words of Chinese and
Japanese are the longest ones that the vectors know. Several references: the nearest counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from mtgauge.data.segments import Segments
from mtgauge.encode import load_encoder
from mtgauge.encode.tokens.encoder import Encoder
from mtgauge.encode.tokens.joining import Word
from mtgauge.errors import UsageError
from mtgauge.explanation import Explanation, Link
from mtgauge.metric import FloatArray, Task, model_label
from mtgauge.metrics._matching import link_findings
from mtgauge.metrics._presets import PresetMetric
from mtgauge.metrics._references import distinct
from mtgauge.metrics._std_context import in_context
from mtgauge.options import Range, When
from mtgauge.registry import metric
from mtgauge.text.words import (
    UNSPACED_LANGUAGES,
    Tokenizer,
    is_punctuation,
    longest_match,
    name_for_language,
)
from mtgauge.text.words import tokenizer as word_tokenizer

if TYPE_CHECKING:
    from mtgauge.compare.semantic import Problem, TravelSettings
    from mtgauge.encode.words.lookup import Lookup, NumberedTexts

Int = NDArray[np.int64]
_CHUNK = 8192  # pairs whose word vectors are in memory at once
_IN_CONTEXT = 512  # the same, where every pair has its own
LONGEST = "longest"  # the longest words that the vectors know
CONTEXT = "encoder"  # in place of a file of word vectors: the embedded encoder
AS_WORST = "as_worst"
BY_SPELLING = "by_spelling"
_HOW = (
    "Either text puts weight on its words and on similar words of the other; what the two do not "
    "share is moved. A cost is the weight moved times the distance in meaning and place."
)
_ORDER_NAMES = {1: "unigram", 2: "bigram", 3: "trigram"}


@metric("std")
class STD(PresetMetric):
    summary = "Semantic Travel Distance: transport between n-grams by meaning and position."
    meaning = (
        "0 to 1, lower is better; 0 is a copy of the reference. Typical news translations lie "
        "between 0.03 and 0.15: small numbers, since most mass travels to similar words nearby."
    )
    paper = "Li et al. 2019, STD: An Automatic Evaluation Metric for MT Based on Word Embeddings"
    cost = "vectors"
    higher_is_better = False
    longest = 10_000
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "lp": {"oov": "spelling"},
        "pyemd": {"oov": "spelling"},
        "paper": {"oov": "paper"},
    }

    preset: Annotated[
        Literal["lp", "pyemd", "paper"],
        "the equation of the paper, the solver of its authors, or all as the authors have it",
    ] = "pyemd"
    vectors: Annotated[str, "word vectors: embedded, a file, or encoder for those in context"] = (
        "embedded"
    )
    semantic: Annotated[float, "weight of the distance in meaning", Range(0)] = 0.6
    order: Annotated[float, "weight of the distance in place", Range(0)] = 0.4
    ngrams: Annotated[tuple[int, ...], "lengths of the n-grams, in words", Range(1, 6)] = (1, 2)
    segment_weights: Annotated[
        tuple[float, ...], "weight of each length in a segment", Range(0)
    ] = (0.5, 0.5)
    system_weights: Annotated[tuple[float, ...], "weight of each length in a system", Range(0)] = (
        0.3,
        0.7,
    )
    oov: Annotated[
        Literal["spelling", "paper", "drop"] | None,
        "a word without a vector: one of its spelling, as the authors, or left out",
    ] = None
    weights: Annotated[
        Literal["nsim", "nbow", "tfidf"], "mass of n-grams: by likeness, count, or count times idf"
    ] = "nsim"
    centroid: Annotated[
        Literal["list", "set"],
        "a repeated n-gram counts each time, or once",
        When("weights", "nsim"),
    ] = "list"
    tokenize: Annotated[str, "how text is split into words; auto: by the target language"] = "auto"
    punctuation: Annotated[Literal["keep", "drop"], "punctuation marks as words, or left out"] = (
        "keep"
    )

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(_ORDER_NAMES.get(n, f"{n}-gram") for n in self.ngrams)

    @property
    def bounds(self) -> tuple[float, float]:
        return (0.0, self.semantic + self.order)

    @property
    def worst_row(self) -> FloatArray:
        return np.full(len(self.ngrams), self.worst)

    def check(self) -> None:
        super().check()
        for name in ("segment_weights", "system_weights"):
            if len(getattr(self, name)) != len(self.ngrams):
                raise UsageError(
                    f"std: {name} has {len(getattr(self, name))} numbers for {len(self.ngrams)} "
                    "n-gram orders; give one each, separated by semicolons."
                )
        if not self.ngrams:
            raise UsageError("std: ngrams are whole numbers from 1 to 6, such as 1;2.")
        if self.semantic + self.order <= 0:
            raise UsageError("std: semantic and order are weights, not both 0.")

    def resolve(self, task: Task) -> Self:
        settled = super().resolve(task)
        lang = task.target_lang or "en"
        settled.__dict__["_lookups"] = {lang: self._lookup(lang)}
        settled.__dict__["_lang"] = lang  # whose words `fit` counts
        if self.tokenize == "auto":
            settled.tokenize = LONGEST if lang in UNSPACED_LANGUAGES else name_for_language(lang)
        if settled.tokenize != LONGEST:
            word_tokenizer(settled.tokenize)  # one that is not there is refused now
        return settled

    def versions(self) -> dict[str, str]:
        from mtgauge.encode.words.lookup import version

        if self.vectors == CONTEXT:
            return {"model": model_label(self._encoder.name, self._encoder.fingerprint)}
        return {"word-vectors": version(self.vectors)}

    @property
    def _encoder(self) -> Encoder:
        return load_encoder("embedded")

    def statistics(self, batch: Segments) -> FloatArray:
        if batch.target_lang is None:
            self.notes["language_assumed"] += len(batch)
        work = distinct(batch).each_reference()
        hypotheses, references = work.prepare(self._tokens(batch.target_lang or "en"))
        lookup = self._lookup(batch.target_lang or "en")
        many = _IN_CONTEXT if self.vectors == CONTEXT else _CHUNK
        rows = np.concatenate([np.empty((0, len(self.ngrams)))] + [
            self._rows([references[i][0] for i in work.of[at : at + many]],
                       hypotheses[at : at + many], lookup, batch.target_lang or "en")
            for at in range(0, len(hypotheses), many)
        ])  # fmt: skip
        return work.combine(rows, -self.segment_score(rows))

    def segment_score(self, rows: FloatArray) -> FloatArray:
        return np.asarray(rows @ np.array(self.segment_weights), dtype=np.float64)

    def system_score(self, totals: FloatArray, n: FloatArray) -> FloatArray:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(totals @ np.array(self.system_weights) / n, dtype=np.float64)

    def explain(self, segment: Segments) -> Explanation:
        """The flow between words and their ground distances; further orders under `facts`.

        Both sides list the n-grams of both texts, since either puts mass on all of them. What
        `pyemd` cancels at no cost is not part of the flow.
        """
        from mtgauge.compare.semantic import problems

        alone = segment.take([0])
        rows = self.statistics(alone)
        lookup = self._lookup(alone.target_lang or "en")
        pair = self._nearest(alone)
        known, _, _, _ = self._numbered(pair[:1], pair[1:], lookup, alone.target_lang or "en")
        left, right = known.texts
        if not (len(left) and len(right)):
            raise UsageError("std: a side of this segment has no word with a vector.")
        texts = pair if self.vectors == CONTEXT else [lookup.kept(words) for words in pair]
        facts: dict[str, Any] = dict(zip(self.columns, rows[0].tolist(), strict=True))
        weights = self._word_weights(pair, known, lookup)
        made = problems(known.table, left, right, self._settings(), weights)
        for n, column, problem in reversed(list(zip(self.ngrams, self.columns, made, strict=True))):
            names, links = _union(texts, n), _links(problem)
            facts[f"{column} flow"] = [
                f"{names[x.i]} -> {names[x.j]} {x.weight:.3f}" for x in links
            ]
        facts.pop(f"{self.columns[0]} flow")  # the first order is shown in full
        masses = zip(names, made[0].left, made[0].right, strict=True)
        facts["weights"] = [f"{name} {x:.4f} {z:.4f}" for name, x, z in masses]  # Table I
        score = float(self.segment_score(rows)[0])
        matrix = made[0].distance
        words = [Word(name, (), None) for name in names]
        return Explanation(
            self.name,
            score,
            names,
            names,
            links=links,
            matrix=matrix,
            facts=facts,
            findings=link_findings(words, words, links),
            unit="cost",
            remarks=(f"The list is of single words, which cost {rows[0, 0]:.4f}.", _HOW),
        )

    def _settings(self) -> TravelSettings:
        from mtgauge.compare.semantic import TravelSettings

        of_set, cancel = self.centroid == "set", self.preset != "lp"
        return TravelSettings(self.ngrams, self.semantic, self.order, of_set, cancel)

    def _lookup(self, lang: str) -> Lookup:
        from mtgauge.encode.words.lookup import Lookup

        opened: dict[str, Lookup] = self.__dict__.setdefault("_lookups", {})
        if lang not in opened:
            where = "embedded" if self.vectors == CONTEXT else self.vectors
            opened[lang] = Lookup.open(where, lang, self.options.oov)
        return opened[lang]

    def _tokens(self, lang: str) -> Tokenizer:
        name = self.tokenize
        if name == LONGEST or (name == "auto" and lang in UNSPACED_LANGUAGES):
            cut = self._lookup(lang).remember("cut", longest_match)
        else:
            cut = word_tokenizer(name_for_language(lang) if name == "auto" else name)
        if self.punctuation == "keep":
            return lambda text: cut(text.lower())
        return lambda text: [w for w in cut(text.lower()) if not is_punctuation(w)]

    def _numbered(
        self,
        references: Sequence[list[str]],
        hypotheses: Sequence[list[str]],
        lookup: Lookup,
        lang: str,
    ) -> tuple[NumberedTexts, list[list[str]], Int, Int]:
        """Words as rows of a table, their texts, and which texts each pair compares."""
        if self.vectors == CONTEXT:
            both = [text for pair in zip(references, hypotheses, strict=True) for text in pair]
            words, lefts, rights = in_context(references, hypotheses, self._encoder, lang)
            return words, both, lefts, rights
        texts = {id(t): t for t in (*references, *hypotheses)}
        number = {key: i for i, key in enumerate(texts)}
        lefts = np.array([number[id(t)] for t in references], dtype=np.int64)
        rights = np.array([number[id(t)] for t in hypotheses], dtype=np.int64)
        return lookup.words(list(texts.values())), list(texts.values()), lefts, rights

    def _rows(
        self,
        references: Sequence[list[str]],
        hypotheses: Sequence[list[str]],
        lookup: Lookup,
        lang: str,
    ) -> FloatArray:
        """STD of a chunk of pairs; where a side has no known word, and shares none, the worst."""
        from mtgauge.compare.semantic import travel
        from mtgauge.encode.ragged import offsets_of

        words, texts, lefts, rights = self._numbered(references, hypotheses, lookup, lang)
        if words.missing:
            self.notes["no_vector"] += words.missing
        full = (words.known[lefts] > 0) & (words.known[rights] > 0)
        for p in np.flatnonzero(~full):  # spelling tells something where a word is shared
            full[p] = _share_a_word(words, lefts[p], rights[p])
            self.notes[BY_SPELLING if full[p] else AS_WORST] += 1
        rows = np.tile(self.worst_row, (len(references), 1))
        if full.any():
            offsets = offsets_of([len(text) for text in words.texts])
            flat, settings = np.concatenate(words.texts), self._settings()
            rows[full] = travel(
                words.table,
                flat,
                offsets,
                lefts[full],
                rights[full],
                settings,
                self._word_weights(texts, words, lookup),
            )
        return rows

    @property
    def needs_corpus(self) -> bool:
        return self.weights == "tfidf"

    def fit(self, references: Iterable[str]) -> None:
        """Document frequencies of the references' words."""
        texts = list(references)
        counts: Counter[str] = Counter()
        make = self._tokens(self.__dict__.get("_lang") or "en")
        for text in texts:
            counts.update(set(make(text)))
        self.__dict__["_frequency"] = (counts, len(texts))

    def _word_weights(
        self, texts: list[list[str]], words: NumberedTexts, lookup: Lookup
    ) -> FloatArray | None:
        """One weight per word type; None: nSIM, which comes from vectors."""
        if self.weights == "nsim":
            return None
        weights = np.ones(len(words.table))
        if self.weights == "tfidf":
            if "_frequency" not in self.__dict__:
                raise UsageError("std:weights=tfidf must see the references first: call fit.")
            counts, total = self.__dict__["_frequency"]
            for numbers, text in zip(words.texts, texts, strict=True):
                kept = text if self.vectors == CONTEXT else lookup.kept(text)
                for number, word in zip(numbers.tolist(), kept, strict=True):
                    weights[number] = np.log((total + 1) / (counts[word] + 1))
        return weights

    def _nearest(self, alone: Segments) -> list[list[str]]:
        """Words of the reference that counted, and of the hypothesis."""
        lang = alone.target_lang or "en"
        make = self._tokens(lang)
        hypothesis = make(alone.hypotheses[0])
        references = [make(text) for row in alone.references or () for text in row]
        rows = self._rows(references, [hypothesis] * len(references), self._lookup(lang), lang)
        return [references[int(np.argmin(self.segment_score(rows)))], hypothesis]


def _share_a_word(words: NumberedTexts, left: int, right: int) -> bool:
    """Does a word occur on both sides? Punctuation counts where neither has anything else."""
    sides = [words.texts[left], words.texts[right]]
    telling = [side[~words.marks[side]] for side in sides]
    if any(map(len, telling)):
        sides = telling
    return bool(np.isin(sides[0], sides[1]).any())


def _links(problem: Problem) -> tuple[Link, ...]:
    from mtgauge.compare.transport import transport

    if not problem.left.any():  # all mass was cancelled
        return ()
    masses = [(problem.left, problem.right)]
    (flow,) = transport([problem.distance], masses, flow=True).flow or []
    return tuple(
        Link(i, j, float(flow[i, j]), float(problem.distance[i, j]))
        for i, j in np.argwhere(flow > 0).tolist()
    )


def _union(texts: Sequence[list[str]], n: int) -> tuple[str, ...]:
    """The n-grams of both texts, in the order in which compare/semantic.py numbers them."""
    names: dict[tuple[str, ...], None] = {}
    for words in texts:
        for k in range(max(len(words) - n + 1, 1)):
            names[tuple(words[min(k + t, len(words) - 1)] for t in range(n))] = None
    return tuple(" ".join(gram) for gram in names)
