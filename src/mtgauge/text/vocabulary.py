"""Common words of a language: which ones does a source use that its target does not?

    tells("eilen", "fi", "en")      # True: a common word of Finnish, unknown in English
    tells("taxi", "fi", "en")       # False: English has it too

The words are those of the package's word vectors: the most frequent ones of its free text, lower
case. A language without a list tells nothing.

Limits: lists of 4,000 words (English 16,000); a word that is missing says nothing.
"""

from __future__ import annotations

from functools import cache

from mtgauge.models import shipped


def tells(text: str, source: str, target: str) -> bool:
    """Whether a word of the text is common in the source's language and not known in the target's.

    >>> tells("gestern Abend", "de", "en"), tells("Restaurant", "de", "en")
    (True, False)
    """
    theirs, ours = common_words(source), common_words(target)
    words = text.casefold().split()
    return bool(ours) and any(word in theirs and word not in ours for word in words)


@cache
def common_words(language: str) -> frozenset[str]:
    """Empty for a language without a list."""
    file = shipped(f"vectors/{language}") / "words.txt"
    return frozenset(file.read_text("utf-8").split("\n")) if file.is_file() else frozenset()
