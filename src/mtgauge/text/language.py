"""Which language a text is written in, and how surely it is not in the language it should be in.

    identify(["Guten Morgen, Herr Meier."], ["de", "en"])     # ["de"]
    margins(["Guten Morgen, Herr Meier."], "en")              # [4.6]: not English

The model is py3langid's (naive Bayes over byte n-grams, about 100 languages). It loads on first
use. Of the identifiers that install without a download it was the most accurate on short
sentences (bench/untranslated.py, docs/untranslated.md), and "source or target?" is a far easier
question than "which of 100?". A *margin* is the log-likelihood of the likeliest rival less that of
the expected language, over the square root of the number of bytes: naive Bayes counts n-grams that
overlap as if they were independent, so its confidence grows too fast with length. It is 0 where no
rival is likelier; how far above 0 it must be is calibrated where it is used (text/untranslated.py).
A near relation (`kin`) may be given a handicap, since good texts of the two overlap.

Texts without letters, and empty ones, belong to no language: "" and a margin of 0.

Known limits: very short texts and near relations (Czech and Slovak) are guesses; a text of names
and numbers alone has no language to speak of. Simplified and traditional Chinese are one language.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from mtgauge.errors import UsageError
from mtgauge.text.likelihoods import Likelihoods, model

FloatArray = NDArray[np.float64]
_ALIASES = {"nb": "no", "fil": "tl"}  # the model's names of some languages
# Languages that are easily taken for each other, a text of one being half a text of the other.
_KIN = [
    set(group.split())
    for group in (
        "cs sk",
        "hr bs sr sl",
        "mk bg sr",
        "ru uk be bg mk sr",
        "no nn da sv",
        "es pt gl ca an oc",
        "it ca oc es ro",
        "fr oc ca wa",
        "id ms jv",
        "hi mr ne sa",
        "nl af fy",
        "de lb",
        "en pcm",
        "tr az tk crh",
        "kk ky tt ba",
        "fi et",
        "lt lv ltg",
        "ar fa ur ps ug ku arz ary",
        "zh yue wuu ja",
        "xh zu",
    )
]


@cache
def known() -> frozenset[str]:
    """Codes of the languages that can be told apart."""
    return frozenset(model().labels) | frozenset(_ALIASES)


@lru_cache(maxsize=256)
def kin(language: str) -> frozenset[str]:
    """Languages so near to this one that a text may be taken for theirs, by the model's names."""
    name = _ALIASES.get(language, language)
    return frozenset().union(*(group for group in _KIN if name in group)) - {name}


def identify(texts: Sequence[str], candidates: Sequence[str]) -> list[str]:
    """For each text the likeliest of `candidates` (ISO 639-1 codes); "" where it has no letters."""
    named = {_ALIASES.get(code, code): code for code in candidates}
    table = _restricted(tuple(sorted(named)))
    found = dict.fromkeys(texts, "")
    asked = list(filter(_has_letters, found))
    best = table.of(asked).argmax(axis=1).tolist()
    found |= {text: named[table.names[k]] for text, k in zip(asked, best, strict=True)}
    return [found[text] for text in texts]


def margins(
    texts: Sequence[str],
    language: str,
    rivals: Collection[str] | None = None,
    handicap: float = 0.0,
) -> FloatArray:
    """By how much each text looks more like a rival than like `language`; see the module.

    `rivals` are codes; all other languages with a two-letter code if None. The margins of near
    relations are smaller by `handicap`.

    >>> margins(["Das ist ein kleines Haus.", "This is a small house.", "12"], "de") > 1
    array([False,  True, False])
    """
    expected = _ALIASES.get(language, language)
    if rivals is None:
        others = {name for name in model().labels if len(name) == 2}
    else:
        others = {_ALIASES.get(code, code) for code in rivals}
    table = _restricted(tuple(sorted(others | {expected})))
    found = dict.fromkeys(texts, 0.0)
    asked = list(filter(_has_letters, found))
    likelihoods = table.of(asked).astype(np.float64)
    sizes = [len(text.encode("utf-8", "surrogatepass")) for text in asked]
    ahead = likelihoods - likelihoods[:, [table.names.index(expected)]]
    ahead /= np.sqrt(sizes)[:, None]
    ahead -= [handicap if name in kin(expected) else 0.0 for name in table.names]
    found |= zip(asked, ahead.max(axis=1, initial=0.0).tolist(), strict=True)
    return np.array([found[text] for text in texts], dtype=np.float64)


def _has_letters(text: str) -> bool:
    return any(map(str.isalpha, text))


@lru_cache(maxsize=64)
def _restricted(candidates: tuple[str, ...]) -> Likelihoods:
    unknown = [code for code in candidates if code not in known()]
    if unknown or not candidates:
        raise UsageError(
            f"Language identification does not know {', '.join(unknown) or 'an empty list'}. "
            f"It knows: {' '.join(sorted(known()))}."
        )
    return Likelihoods(candidates)
