"""Words copied from the source: a fault that cross-lingual vectors cannot see.

The share of the translation's words that stand in the source as well. Numbers and names may be
copied rightly, and short words of two languages may coincide (German and English "in"), so a word
counts only if it has four letters or more and the source has it with a small first letter; in
a script without case it counts if the source contains it. In German every noun begins with
a capital: copied nouns are not counted there. Nor are usual words of the target language
(text/vocabulary.py), where that is known: "will" is English too.

    >>> copied_share(["Die Katze schläft auf dem Sofa in Paris."], ["The cat schläft in Paris."])
    array([0.2])
    >>> copied_share(["Er will nach Paris."], ["He will go to Paris."], Language("en"))
    array([0.])
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from mtgauge.data.codes import Language
from mtgauge.metric import FloatArray
from mtgauge.text.vocabulary import usual_words

_WORD = re.compile(r"[^\W\d_]+")
_ASCII_WORD = re.compile(r"[a-z]+")  # of a text in lower case
SHORTEST = 4  # letters


def copied_share(
    sources: Sequence[str], hypotheses: Sequence[str], target: Language | None = None
) -> FloatArray:
    """One share in [0, 1] for every segment; 0 for a translation without words."""
    usual = usual_words(target) if target is not None else frozenset()
    known: dict[str, set[str]] = {}
    shares = np.zeros(len(hypotheses))
    for i, (source, hypothesis) in enumerate(zip(sources, hypotheses, strict=True)):
        if source not in known:
            found = _WORD.findall(source)
            known[source] = {w for w in found if len(w) >= SHORTEST and w[0].islower()} - usual
        if hypothesis.isascii():  # every letter has a case: the quick way is right, and usual
            words = _ASCII_WORD.findall(hypothesis.lower())
            copied = sum(map(known[source].__contains__, words))
        else:
            words = _WORD.findall(hypothesis)
            copied = sum(
                w.lower() in known[source] or (_caseless(w) and w in source and w not in usual)
                for w in words
            )
        if words:
            shares[i] = copied / len(words)
    return shares


def _caseless(word: str) -> bool:
    return word.lower() == word.upper()
