"""CharacTER: translation edit rate on characters (Wang et al. 2016).

    CharacTER = min(1, (character edits after shifting + cost of the shifts) / |hypothesis|)

Words of the hypothesis are shifted while that lowers the word edit distance to the reference;
the rest is the edit distance of the characters. A shift costs the mean length of the words moved.
Dividing by the hypothesis, not the reference, keeps short translations from gaining.

    mtgauge score -t out.txt -r ref.txt -m character --segments

A system's score is the mean of its segments, as in the authors' script. Words are split at white
space, or into characters in languages without spaces, where no spaces are counted either (the
authors' script has no rule for those). Of several references the best counts, or the mean
(`multi_ref=mean`). Limits: only equal words are shifted, although the paper's text speaks of
similar ones: the authors' script, which the published scores come from, has it so too. Of a pair
of very long texts not every shift is tried (80 million words are compared); they are counted.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from mtgauge.data.segments import Segments
from mtgauge.explanation import Finding
from mtgauge.metric import FloatArray
from mtgauge.metrics._faults import MOVED, Faults, costliest, moved_run, word_edits
from mtgauge.metrics._references import distinct
from mtgauge.metrics._words import ReferenceWords, Words
from mtgauge.registry import metric
from mtgauge.text.words import UNSPACED_LANGUAGES

_FIRST = 0xE000  # of the characters that stand for words, after the surrogates
_MOST_COMPARED = 80_000_000  # words: 100,000 shifts of a text of 800; 100 words have some hundred


@metric("character")
class Character(ReferenceWords):
    summary = "Character edits after shifting words, per character of the translation."
    meaning = (
        "0 to 1, lower is better; 0 is a copy, 1 is nothing in common or an empty translation "
        "(larger values are cut to 1). Strong systems of WMT18 reach 0.31 to 0.48 on English "
        "news, unrelated sentences 0.88. Forgives inflection, as chrf does, and charges a moved "
        "phrase once."
    )
    paper = "Wang et al. 2016, CharacTER: Translation Edit Rate on Character Level"
    higher_is_better = False
    spaced = "none"
    longest = 5_000

    def statistics(self, batch: Segments) -> FloatArray:
        work = distinct(batch).each_reference()
        left, right = work.prepare(self.splitter(batch.target_lang))
        pairs = zip(left, work.of.tolist(), strict=True)
        space = "" if batch.target_lang in UNSPACED_LANGUAGES else " "
        rates = [_rate(h, right[k][0], space) for h, k in pairs]
        short = sum(not complete for _, complete in rates)
        if short:
            self.notes["fewer_shifts"] += short
        score = np.array([rate for rate, _ in rates], dtype=np.float64)
        return work.combine(score[:, None], -score, self.multi_ref)

    def faults(self, hypothesis: Words, references: list[Words], nearest: int) -> Faults:
        from rapidfuzz.distance import Levenshtein

        reference = references[nearest]
        states = [hypothesis, *Shifts(hypothesis, reference)]
        moves = [moved_run(before, after) for before, after in itertools.pairwise(states)]
        each = _cost(hypothesis, states[-1]) / max(len(moves), 1)
        edits = word_edits(states[-1], reference, lambda a, b: float(Levenshtein.distance(a, b)))
        return Faults(
            costliest([*(Finding(MOVED, run, cost=each) for run in moves), *edits]), "characters"
        )


def character(hypothesis: Words, reference: Words, space: str = " ") -> float:
    """The rate of one pair; `space` is what stands between words and counts as a character.

    >>> round(character("to the house he went".split(), "he went to the house".split()), 3)
    0.15
    """
    return _rate(hypothesis, reference, space)[0]


def _rate(hypothesis: Words, reference: Words, space: str) -> tuple[float, bool]:
    """The rate, and whether every shift was tried that might lower it."""
    from rapidfuzz.distance import Levenshtein

    if not hypothesis:
        return 1.0, True
    search = Shifts(hypothesis, reference)
    shifted = [hypothesis, *search][-1]
    text = space.join(shifted)
    edits = Levenshtein.distance(text, space.join(reference)) + _cost(hypothesis, shifted)
    return min(1.0, edits / len(text)), search.compared < _MOST_COMPARED


class Shifts:
    """`words` after each shift that lowers the word edit distance, the best one first.

    Inside, every word is one character, by its place in the sorted vocabulary: texts then compare
    as lists of words do, and their distance is quick. `compared` counts the words of the shifts
    that were tried; after `_MOST_COMPARED` no more are.
    """

    def __init__(self, words: Words, reference: Words) -> None:
        self._vocabulary = sorted({*words, *reference})
        number = {word: chr(_FIRST + i) for i, word in enumerate(self._vocabulary)}
        self._words = "".join(map(number.__getitem__, words))
        self._reference = "".join(map(number.__getitem__, reference))
        self.compared = 0

    def __iter__(self) -> Iterator[Words]:
        from rapidfuzz.distance import Levenshtein

        words, reference = self._words, self._reference
        distance = Levenshtein.distance(words, reference)
        while distance and self.compared < _MOST_COMPARED:
            least, best = distance, words
            for start, target, length in _common_runs(words, reference):
                if distance - 2 * length > least:
                    continue  # taking words out and putting them in again gains twice their number
                self.compared += len(words)
                rest = words[:start] + words[start + length :]
                moved = rest[:target] + words[start : start + length] + rest[target:]
                found = Levenshtein.distance(moved, reference, score_cutoff=least)
                # of shifts that are equally good the authors' script keeps the last in word order
                if found < least or (found == least and moved > best):
                    least, best = found, moved
                if self.compared >= _MOST_COMPARED:
                    break
            if least == distance:
                return
            distance, words = least, best
            yield [self._vocabulary[ord(char) - _FIRST] for char in words]


def _common_runs(words: str, reference: str) -> Iterator[tuple[int, int, int]]:
    """(start in words, start in reference, length) of runs of equal words at different places."""
    places: dict[str, list[int]] = {}
    for j, word in enumerate(reference):
        places.setdefault(word, []).append(j)
    for i, word in enumerate(words):
        for j in places.get(word, ()):
            if i != j:
                length = 1
                while words[i + length : i + length + 1] == reference[j + length : j + length + 1]:
                    if i + length == len(words) or j + length == len(reference):
                        break
                    length += 1
                yield i, j, length


def _run(left: Words, right: Words) -> int:
    """How many words from the first on are equal."""
    pairs = enumerate(zip(left, right, strict=False))
    return next((k for k, (a, b) in pairs if a != b), min(len(left), len(right)))


def _cost(before: Words, after: Words) -> float:
    """Mean word length of each run that was moved to the right, summed."""
    cost, i = 0.0, 0
    while i < len(before):
        length = 1
        if before[i] != after[i] and before[i] in after[i + 1 :]:
            length = _run(before[i:], after[after.index(before[i], i + 1) :])
            cost += sum(map(len, before[i : i + length])) / length
        i += length
    return cost
