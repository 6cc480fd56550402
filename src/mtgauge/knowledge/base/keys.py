"""Words as the knowledge base sees them: where a text divides, and how a word is folded.

    [m.group() for m in WORD.finditer("Ankara'da 3 gün")]      # ["Ankara", "da", "3", "gün"]
    key_of("São Paulo")                                        # "são paulo"

An alias and a text pass through the same two functions, so they meet in the same form. Scripts
that write no spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese) divide into single characters:
there any character may begin a name.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

# Combining marks are not \w for Python, yet Indic and Thai vowels are such marks.
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc"
    "\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963\u0981-\u0983\u09bc-\u09cd"
    "\u0a01-\u0a03\u0a3c-\u0a4d\u0a70\u0a71\u0a81-\u0a83\u0abc-\u0acd\u0ae2\u0ae3"
    "\u0b01-\u0b03\u0b3c-\u0b57\u0b82\u0bbe-\u0bd7\u0c00-\u0c04\u0c3e-\u0c56\u0c81-\u0c83"
    "\u0cbc-\u0cd6\u0d00-\u0d03\u0d3e-\u0d57\u0d81-\u0d83\u0dca-\u0ddf"
)
_SINGLE = (
    "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ecd\u1000-\u103f\u1780-\u17d3"
)
WORD = re.compile(rf"[{_SINGLE}]|[^\W_{_SINGLE}](?:[^\W_{_SINGLE}]|[{_MARKS}])*")


@lru_cache(maxsize=1 << 16)
def fold(word: str) -> str:
    """One form for one word: compatibility forms unified, case folded, Turkish dotted I as i."""
    if word.isascii():
        return word.lower()
    return unicodedata.normalize("NFKC", word).casefold().replace("\u0307", "")


@lru_cache(maxsize=1 << 16)
def plain(word: str) -> str:
    """A folded word without its diacritics: "são" -> "sao", "łódź" -> "lodz"."""
    if word.isascii():
        return word
    decomposed = unicodedata.normalize("NFD", word)
    bare = "".join(char for char in decomposed if not unicodedata.combining(char))
    return bare.translate(_STROKES)


_STROKES = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe"})


def key_of(text: str) -> str:
    """The form under which an alias is stored: its folded words, one space between."""
    return " ".join(fold(word) for word in WORD.findall(text))
