"""Languages and language pairs, however their codes are written.

    Language.parse("zho_Hans")              # Language(base='zh', script='Hans', region=None)
    LanguagePair.parse("eng-zho_Hant")      # str: 'en-zh-Hant'
    LanguagePair.parse("en-zh-CN").target.base      # 'zh'

BCP-47 tags (`pt-BR`, `sr-Latn`), ISO 639-1 to 639-3 (`pt`, `por`), FLORES codes (`por_Latn`) and
POSIX names (`pt_BR`, `sr@latin`) mean the same language. Old and single-member codes become the
usual one (iw, he; cmn, zh; arb, ar; no, nb). A script is kept where the language is written in
several (zh-Hant, sr-Latn) and dropped where it says nothing (eng_Latn); a region is kept. The
knowledge of codes is that of the package langcodes (the IANA registry and CLDR).

A pair is two codes with a hyphen. Where the codes themselves hold hyphens, the one reading counts
in which both sides are known languages; among several, the one written as the standard asks
(languages small, regions in capitals: `en-pt-BR`). If two are left (`en-pt-br`: Portuguese of
Brazil, or Breton?), the pair is refused; an underscore inside a code always settles it
(`en-pt_br`).

Limits: variants and extensions (`de-1996`, `ca-valencia`) are accepted and forgotten.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from mtgauge.errors import UsageError

_MODIFIERS = {"latin": "Latn", "latn": "Latn", "cyrillic": "Cyrl", "cyrl": "Cyrl"}
# CLDR's names of mixtures of scripts, and those of Han characters, as Unicode's own scripts.
_UNICODE_SCRIPTS = {
    "Hans": ("Han",),
    "Hant": ("Han",),
    "Jpan": ("Han", "Hiragana", "Katakana"),
    "Kore": ("Hangul", "Han"),
}
# Written in both scripts where they are spoken: neither the code nor the region tells which.
_BOTH = ("Cyrl", "Latn")
_IN_BOTH_SCRIPTS = frozenset({"az", "bs", "kk", "ku", "sr", "tg", "tk", "tt", "uz"})
_SHAPE = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]+)*")


@dataclass(frozen=True, order=True)
class Language:
    """A language; `base` is what models and dictionaries are asked for.

    >>> str(Language.parse("eng_Latn")), str(Language.parse("zh_TW")), str(Language.parse("no"))
    ('en', 'zh-TW', 'nb')
    """

    base: str
    script: str | None = None
    region: str | None = None

    @classmethod
    def parse(cls, text: str) -> Language:
        """The language of a code, or a `UsageError` that names codes near to it."""
        found = _language(text)
        if found is None:
            raise UsageError(_unknown(text))
        return found

    def __str__(self) -> str:
        script = self.script if self.script != _script_of(self.base, self.region) else None
        return "-".join(part for part in (self.base, script, self.region) if part)

    @cached_property
    def scripts(self) -> frozenset[str]:
        """Unicode's names of the scripts it is written in; empty where that is not known."""
        if self.script is None and self.base in _IN_BOTH_SCRIPTS:
            return frozenset(_BOTH)
        script = self.script or _likely(self.base, self.region)
        return frozenset(_UNICODE_SCRIPTS.get(script, (script,)) if script else ())


@dataclass(frozen=True, order=True)
class LanguagePair:
    """From one language into another.

    >>> pair = LanguagePair.parse("eng-zho_Hans")
    >>> str(pair), pair.source.base, pair.target.script
    ('en-zh-Hans', 'en', 'Hans')
    """

    source: Language
    target: Language

    @classmethod
    def parse(cls, text: str) -> LanguagePair:
        if not isinstance(text, str):
            raise UsageError(_no_pair(text, []))
        return _pair(text)

    def __str__(self) -> str:
        return f"{self.source}-{self.target}"

    @property
    def bases(self) -> tuple[str, str]:
        """Both languages without script and region, as models and dictionaries name them."""
        return self.source.base, self.target.base


@lru_cache(maxsize=4096)
def _pair(text: str) -> LanguagePair:
    parts = text.strip().split("-")
    cuts = [("-".join(parts[:at]), "-".join(parts[at:])) for at in range(1, len(parts))]
    readings = [cut for cut in cuts if all(_language(code) for code in cut)]
    if len(readings) > 1:
        readings = [cut for cut in readings if all(map(_is_standard, cut))] or readings
    if not readings:
        raise UsageError(_no_pair(text, cuts))
    if len(readings) > 1:
        ways = " or ".join(_unmistakable(cut) for cut in readings)
        raise UsageError(f"{text!r} can be read as two language pairs. Write {ways}.")
    source, target = readings[0]
    return LanguagePair(Language.parse(source), Language.parse(target))


def usual(text: str) -> str:
    """The usual form of a language pair; any other text as it is.

    >>> usual("en-zh_CN"), usual("pooled")
    ('en-zh-CN', 'pooled')
    """
    return str(LanguagePair.parse(text)) if is_pair(text) else text


@lru_cache(maxsize=4096)
def is_pair(text: str) -> bool:
    """Whether a text is a language pair, however it is written.

    >>> is_pair("de-en"), is_pair("en-zh_CN"), is_pair("scores")
    (True, True, False)
    """
    try:
        LanguagePair.parse(text)
    except UsageError:
        return False
    return True


def bases(lang: str | None) -> tuple[str | None, str | None]:
    """Source and target of a pair, as models and dictionaries name them; None where unknown.

    >>> bases("en-zh_CN"), bases(None)
    (('en', 'zh'), (None, None))
    """
    return LanguagePair.parse(lang).bases if lang else (None, None)


@lru_cache(maxsize=64)
def foreign_letter(scripts: frozenset[str]) -> Any:
    """A pattern of one letter that belongs to another script than these."""
    return _letter(scripts | {"Common", "Inherited"}, "^")


@lru_cache(maxsize=64)
def own_letter(scripts: frozenset[str]) -> Any:
    """A pattern of one letter that belongs to one of these scripts."""
    return _letter(scripts, "")


def _letter(scripts: frozenset[str], but: str) -> Any:
    import regex

    named = "".join(rf"\p{{Script={script}}}" for script in sorted(scripts))
    return regex.compile(rf"(?=\p{{L}})[{but}{named}]")


@lru_cache(maxsize=4096)
def _language(text: str) -> Language | None:
    """The language of a code; None where it is not one."""
    import langcodes
    from langcodes.tag_parser import LanguageTagError

    code, _, modifier = text.strip().partition("@")
    tag = code.replace("_", "-")
    if modifier:
        if modifier.lower() not in _MODIFIERS:
            return None
        tag += "-" + _MODIFIERS[modifier.lower()]
    if not _SHAPE.fullmatch(tag):
        return None
    try:
        if not langcodes.tag_is_valid(tag):
            return None
        found = langcodes.Language.get(langcodes.standardize_tag(tag, macro=True))
    except LanguageTagError:
        return None
    base = str(found.language)
    base = "nb" if base == "no" else base  # written Norwegian is Bokmål unless it says Nynorsk
    script, region = found.script, found.territory
    if script is None:
        script = _script_of(base, region)
    elif _has_one_script(base, script):
        script = None
    return Language(base, script, region)


def _script_of(base: str, region: str | None) -> str | None:
    """The script that a region implies, in a language whose regions write differently."""
    if region is None or base in _IN_BOTH_SCRIPTS:
        return None
    script = _likely(base, region)
    return None if script is None or _has_one_script(base, script) else script


@lru_cache(maxsize=1024)
def _likely(base: str, region: str | None) -> str | None:
    """The script in which a language is mostly written; None where it is not known."""
    import langcodes
    from langcodes.data_dicts import LIKELY_SUBTAGS

    if base not in LIKELY_SUBTAGS:
        return None
    return langcodes.Language.make(language=base, territory=region).maximize().script


@lru_cache(maxsize=1024)
def _has_one_script(base: str, script: str) -> bool:
    """Whether this script goes without saying."""
    from langcodes.data_dicts import DEFAULT_SCRIPTS, LIKELY_SUBTAGS

    if base in DEFAULT_SCRIPTS:
        return bool(DEFAULT_SCRIPTS[base] == script)
    if base in _IN_BOTH_SCRIPTS or _likely(base, None) != script:
        return False
    return all(
        full.split("-")[1] == script
        for tag, full in LIKELY_SUBTAGS.items()
        if tag.startswith(base + "-")
    )


def _is_standard(code: str) -> bool:
    """Whether a code is cased as the standard asks: language small, Script, REGION."""
    first, *rest = code.replace("_", "-").partition("@")[0].split("-")
    return first.islower() and all(
        part.isupper() if len(part) == 2 else part.istitle() if len(part) == 4 else True
        for part in rest
    )


def _unmistakable(cut: tuple[str, str]) -> str:
    return "-".join(str(Language.parse(code)).replace("-", "_") for code in cut)


def _no_pair(text: object, cuts: list[tuple[str, str]]) -> str:
    how = "Write two language codes with a hyphen: -l de-en, en-zh_CN, eng-zho_Hant."
    if not any(source.strip() and target.strip() for source, target in cuts):
        return f"{text!r} is not a language pair. {how}"
    # the reading with the more known half is what was meant
    source, target = max(cuts, key=lambda cut: sum(_language(code) is not None for code in cut))
    wrong = [code for code in (source, target) if _language(code) is None]
    return f"{text!r} is not a language pair. {' '.join(_unknown(code) for code in wrong)} {how}"


def _unknown(text: str) -> str:
    """What to say of a code that is no language."""
    from langcodes.data_dicts import LANGUAGE_ALPHA3, LIKELY_SUBTAGS

    code = text.strip()
    said = f"There is no language {text!r}."
    country = LIKELY_SUBTAGS.get(f"und-{code.upper()}")
    if country is not None:
        return f"{said} {code.upper()} is a country; did you mean {country.split('-')[0]}?"
    if len(code) > 3 and code.isalpha():  # a name, as German: codes of three letters begin so
        near_code = f" Near codes: {code[:3].lower()}." if _language(code[:3]) is not None else ""
        return f"{said} A code has two or three letters.{near_code}"
    near = difflib.get_close_matches(
        re.split("[-_@]", code.lower())[0], [*LANGUAGE_ALPHA3, *LANGUAGE_ALPHA3.values()], 4, 0.5
    )
    return f"{said} Near codes: {', '.join(near)}." if near else said
