"""Common words of a language: which ones does a source use that its target does not?

    tells("eilen", "fi", "en")      # True: a common word of Finnish, unknown in English
    tells("taxi", "fi", "en")       # False: English has it too

The words are those of the package's word vectors: the most frequent ones of its free text, lower
case. A language without a list tells nothing.

Limits: lists of 4,000 words (English 16,000); a word that is missing says nothing.
"""

from __future__ import annotations

from functools import cache

from mtgauge.data.codes import Language, own_letter
from mtgauge.models import shipped


def tells(text: str, source: str, target: str) -> bool:
    """Whether a word of the text is common in the source's language and not known in the target's.

    >>> tells("gestern Abend", "de", "en"), tells("Restaurant", "de", "en")
    (True, False)
    """
    theirs, ours = common_words(source), common_words(target)
    words = text.casefold().split()
    return bool(ours) and any(word in theirs and word not in ours for word in words)


def tells_alone(word: str, source: str, target: str) -> bool:
    """Whether a word, with nothing around it, is of the source's language and not the target's.

    Lists of different length miss different words, so it must be among as many of the source's
    most frequent words as a quarter of the target's list.

    >>> tells_alone("danke", "de", "en"), tells_alone("windows", "en", "de")
    (True, False)
    """
    ours = common_words(target)
    return word not in ours and word in _first_words(source, len(ours) // 4)


@cache
def usual_words(language: Language) -> frozenset[str]:
    """The list of a language without words in scripts that it is not written in.

    Free text has them, in names of software: "microsoft" is in most lists.

    >>> "will" in usual_words(Language("en")), "microsoft" in usual_words(Language("ru"))
    (True, False)
    """
    words = common_words(language.base)
    if not language.scripts:
        return words
    own = own_letter(language.scripts)
    return frozenset(word for word in words if own.match(word))


@cache
def _first_words(language: str, n: int) -> frozenset[str]:
    """The n most frequent words."""
    return frozenset(_words(language)[:n])


@cache
def common_words(language: str) -> frozenset[str]:
    """Empty for a language without a list."""
    return frozenset(_words(language))


def _words(language: str) -> list[str]:
    """The list of a language, the most frequent first."""
    file = shipped(f"vectors/{language}") / "words.txt"
    return file.read_text("utf-8").split("\n") if file.is_file() else []
