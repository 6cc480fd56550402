"""Which script a text is written in.

    script("Привет, мир")          # "Cyrl"
    script("2026")                 # "": no letters

The script of most letters counts, the first one of equals, by its ISO 15924 code; Han characters
are "Hani", whether simplified or traditional. Unicode's own assignment of letters is the package
regex's; which scripts there are is known from the package langcodes (CLDR).
"""

from __future__ import annotations

from collections import Counter
from functools import cache, lru_cache
from typing import Any

_MIXTURES = {"Hans", "Hant", "Jpan", "Kore"}  # CLDR's names; Unicode has these instead:
_FIRST = ("Latn", "Cyrl", "Arab", "Hani", "Hira", "Kana", "Hang", "Deva", "Grek", "Hebr", "Thai")


def script(text: str) -> str:
    """The ISO 15924 code of the script of most letters; "" where there are none.

    >>> script("Tokio heißt 東京"), script("東京"), script("12 %")
    ('Latn', 'Hani', '')
    """
    if text.isascii():
        return "Latn" if any(map(str.isalpha, text)) else ""
    counts = Counter(code for char in text if char.isalpha() and (code := _of(char)))
    return counts.most_common(1)[0][0] if counts else ""


@lru_cache(maxsize=1 << 16)
def _of(char: str) -> str:
    return next((code for code, pattern in _patterns().items() if pattern.match(char)), "")


@cache
def _patterns() -> dict[str, Any]:
    """Scripts that both packages know, the commonest first."""
    import regex
    from langcodes.data_dicts import LIKELY_SUBTAGS

    codes = {part for tag in LIKELY_SUBTAGS.values() for part in tag.split("-") if len(part) == 4}
    found = {}
    for code in (*_FIRST, *sorted(codes - _MIXTURES - set(_FIRST))):
        try:
            found[code] = regex.compile(rf"\p{{Script={code}}}")
        except regex.error:  # newer than regex's Unicode
            continue
    return found
