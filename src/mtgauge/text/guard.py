"""The untranslated share of translations, with what is known of their languages, remembered.

    shares(["Das Haus ist leer."], ["Das Haus ist leer."], "de-en")      # [1.]
    shares(["Das Haus ist leer."], ["Das Haus ist leer."], None)         # [1.]: a whole copy

With a language pair it is `untranslated_share`. Without one, or with a code that is no language,
only a text that is its own source counts, word for word, with three words or more that have
letters: of anything else nobody can say in which language it should be.

The metrics of a run see the same texts one after the other, so shares are remembered by text.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from mtgauge.data.codes import LanguagePair
from mtgauge.errors import UsageError
from mtgauge.text.language import FloatArray
from mtgauge.text.telling import read
from mtgauge.text.untranslated import SHORTEST, untranslated_share

_REMEMBERED = 100_000  # texts with their sources, of a language pair
_memory: dict[LanguagePair | None, dict[tuple[str, str], float]] = {}  # by language pair


def shares(sources: Sequence[str], hypotheses: Sequence[str], lang: str | None) -> FloatArray:
    """One share in [0, 1] for every segment."""
    pair = None if lang is None else known_pair(str(lang))
    memory = _memory.setdefault(pair, {})
    keys = list(zip(sources, hypotheses, strict=True))
    held = {key: memory[key] for key in keys if key in memory}
    new = [key for key in dict.fromkeys(keys) if key not in held]
    if new:
        givens, texts = [key[0] for key in new], [key[1] for key in new]
        if pair is not None:
            found = untranslated_share(givens, texts, pair).tolist()
        else:
            found = list(map(float, map(_is_copy, givens, texts)))
        fresh = dict(zip(new, found, strict=True))
        if len(memory) + len(fresh) > _REMEMBERED:
            memory.clear()
        memory.update(fresh)
        held |= fresh
    return np.array([held[key] for key in keys], dtype=np.float64)


@lru_cache(maxsize=256)
def known_pair(lang: str) -> LanguagePair | None:
    """None for a code that is no pair: metrics may be used with names of languages of their own."""
    try:
        return LanguagePair.parse(lang)
    except UsageError:
        return None


def _is_copy(source: str, text: str) -> bool:
    """Whether a text is its source, but for spaces, marks and case."""
    if not any(map(str.isalpha, text)):
        return False
    mine = read(text)
    return sum(mine.weights) >= SHORTEST and mine.folded == read(source).folded
