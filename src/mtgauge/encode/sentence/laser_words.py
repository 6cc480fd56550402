"""Words as the LASER of 2019 reads them: Moses, Chinese by jieba, Greek in Latin letters.

    laser_words("Herr Müller fragt: „Wann?“", "de")
    # ["herr", "müller", "fragt", ":", '"', "wann", "?", '"']

What LASER's embed.py does with `--token-lang`: characters that are not printed become spaces,
quotes and dashes are unified, the text is split by the rules of its language and lower-cased. A
language without rules has those of English. Needs sacremoses; Chinese rjieba, Greek transliterate,
Japanese mecab-python3 with ipadic.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from typing import Any

import regex

from mtgauge.data.codes import Language
from mtgauge.errors import ResourceError

_NOT_PRINTED = regex.compile(r"\p{C}")


def laser_words(text: str, lang: str | None = None) -> list[str]:
    """Lower-cased words; without a language those of English."""
    code = Language.parse(lang).base if lang else "en"
    normalise, split = _moses(code)
    joined = " ".join(split(normalise(_NOT_PRINTED.sub(" ", text)), escape=False))
    return _finish(code)(joined).lower().split() if joined else []


@lru_cache(maxsize=64)
def _moses(code: str) -> tuple[Callable[[str], str], Callable[..., list[str]]]:
    moses = _package("sacremoses", "sacremoses")
    normaliser = moses.MosesPunctNormalizer(code, perl_parity=True)
    return normaliser.normalize, moses.MosesTokenizer(code).tokenize


@lru_cache(maxsize=64)
def _finish(code: str) -> Callable[[str], str]:
    """What is done to the tokenised text of some languages."""
    if code == "zh":
        cut = _package("rjieba", "rjieba").cut
        return lambda text: " ".join(cut(text))
    if code == "el":
        convert = _package("transliterate", "transliterate").translit
        return lambda text: str(convert(text, "el", reversed=True))
    if code == "ja":
        dictionary = _package("ipadic", "mecab-python3 ipadic").MECAB_ARGS
        tagger = _package("MeCab", "mecab-python3 ipadic").Tagger
        parse = tagger(f"{dictionary} -Owakati -b 50000").parse
        return lambda text: str(parse(text))
    return str


def _package(name: str, install: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise ResourceError(
            f"The LASER of 2019 needs a package to split this language: pip install {install}."
        ) from None
