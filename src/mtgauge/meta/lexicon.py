"""Word lists for word-by-word translation: found by lemma, or learned from parallel text.

    words = WithLemmas(read_dictionary("cs-en.txt.gz"), "cs")
    words["psa"]                                  # as "pes": ["dog"]
    words = learn(foreign_lines, english_lines)   # {"pes": ["dog", "hound"], ...}, likeliest first

A dictionary lists few inflected forms: MUSE's knows 43 % of the words of Czech news. A word that it
lacks is looked up by the base forms it may have (knowledge/link/morphology.py). `learn` counts the
links of fast_align (extra `align`) in both directions; a translation counts that has two links or
more, or is the only one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from mtgauge.encode.remap.align import linked
from mtgauge.knowledge.base.keys import fold
from mtgauge.knowledge.link.morphology import morphology
from mtgauge.text.words import unicode_words

Dictionary = Mapping[str, list[str]]
LEAST = 2  # links of a word pair that is no accident


class WithLemmas(Mapping[str, list[str]]):
    """A dictionary in which an inflected form is found under its base form."""

    def __init__(self, words: Dictionary, lang: str) -> None:
        self.words, self.morphology = words, morphology(lang)
        self._by_fold = {fold(word): word for word in words}

    def __getitem__(self, word: str) -> list[str]:
        if word in self.words:
            return self.words[word]
        for base in (*self.morphology.lemmas(word), *self.morphology.guesses(word)):
            if base in self._by_fold:
                return self.words[self._by_fold[base]]
        raise KeyError(word)

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self.get(word) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __len__(self) -> int:
        return len(self.words)


def learn(sources: Sequence[str], targets: Sequence[str]) -> dict[str, list[str]]:
    """Translations of every source word, by how often fast_align links them."""
    pairs = [
        (_words(source), _words(target)) for source, target in zip(sources, targets, strict=True)
    ]
    pairs = [(x, z) for x, z in pairs if x and z]
    counts: dict[str, Counter[str]] = {}
    for (x, z), (rows, columns) in zip(pairs, linked(pairs), strict=True):
        for i, j in zip(rows.tolist(), columns.tolist(), strict=True):
            counts.setdefault(x[i], Counter())[z[j]] += 1
    found = {}
    for word, translations in counts.items():
        common = [t for t, n in translations.most_common() if n >= LEAST]
        if common or len(translations) == 1:
            found[word] = common or list(translations)
    return found


def joined(first: Dictionary, second: Dictionary) -> dict[str, list[str]]:
    """Both; where both have a word, the first one's translations count."""
    return {**second, **first}


def _words(text: str) -> list[str]:
    return [word.lower() for word in unicode_words(text) if any(map(str.isalpha, word))]
