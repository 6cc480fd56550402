"""Which language a text is written in, out of a few that it may be.

    identify(["Guten Morgen, Herr Meier."], ["de", "en"])     # ["de"]

The model is py3langid's (naive Bayes over byte n-grams, 97 languages), restricted to the languages
in question: "source or target?" is a far easier question than "which of 97?". It loads on first
use. Texts without letters, and empty ones, belong to no language and get "".

Known limits: very short texts and near relations (Czech and Slovak) are guesses; a text of names
and numbers alone has no language to speak of.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from mtgauge.errors import UsageError


def known() -> frozenset[str]:
    """Codes of the languages that can be told apart."""
    return frozenset(_model().labels)


def identify(texts: Sequence[str], candidates: Sequence[str]) -> list[str]:
    """For each text the likeliest of `candidates` (ISO 639-1 codes); "" where it has no letters."""
    identifier = _restricted(tuple(sorted(set(candidates))))
    found: dict[str, str] = {}
    for text in texts:
        if text not in found:
            letters = any(char.isalpha() for char in text)
            found[text] = str(identifier.classify(text)[0]) if letters else ""
    return [found[text] for text in texts]


@lru_cache(maxsize=1)
def _model() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE)


@lru_cache(maxsize=16)
def _restricted(candidates: tuple[str, ...]) -> Any:
    unknown = [code for code in candidates if code not in known()]
    if unknown or not candidates:
        raise UsageError(
            f"Language identification does not know {', '.join(unknown) or 'an empty list'}. "
            f"It knows: {' '.join(sorted(known()))}."
        )
    # set_languages narrows in place; the arrays it narrows from are shared, not copied
    identifier = copy.copy(_model())
    identifier.set_languages(list(candidates))
    return identifier
