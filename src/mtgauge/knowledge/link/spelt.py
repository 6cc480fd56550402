"""Numbers written in words: "sixty-six million", "四百一十二点五", "drei".

    SpeltNumbers("en", {}).find("Sixty-six million years", [])   # one weak mention of num:66000000

All are weak mentions: a translation may write out a figure of the source and keep it, but a number
in words ("one of them") is too often no number to be counted by itself. English and Chinese are
read in full, other languages up to twelve, in any form that the dictionary knows ("dvou", "viiden")
and with a scale behind it ("deset miliard"); Czech up to ninety-nine also where a word begins with
the number ("devětadvacetiletý"). Roman numerals are read in all languages ("XVIII века").
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

from mtgauge.knowledge.base.keys import fold
from mtgauge.knowledge.link.mention import Mention

_TO_TWELVE: dict[str, str] = {
    "en": "one two three four five six seven eight nine ten eleven twelve",
    "de": "eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
    "cs": "jeden dva tři čtyři pět šest sedm osm devět deset jedenáct dvanáct",
    "ru": "один два три четыре пять шесть семь восемь девять десять одиннадцать двенадцать",
    "fi": "yksi kaksi kolme neljä viisi kuusi seitsemän kahdeksan yhdeksän kymmenen "
    "yksitoista kaksitoista",
    "et": "üks kaks kolm neli viis kuus seitse kaheksa üheksa kümme üksteist kaksteist",
    "lv": "viens divi trīs četri pieci seši septiņi astoņi deviņi desmit vienpadsmit divpadsmit",
    "lt": "vienas du trys keturi penki šeši septyni aštuoni devyni dešimt vienuolika dvylika",
    "tr": "bir iki üç dört beş altı yedi sekiz dokuz on",
    "ro": "unu doi trei patru cinci șase șapte opt nouă zece unsprezece doisprezece",
    "kk": "бір екі үш төрт бес алты жеті сегіз тоғыз он",
    "gu": "એક બે ત્રણ ચાર પાંચ છ સાત આઠ નવ દસ અગિયાર બાર",
    "fr": "un deux trois quatre cinq six sept huit neuf dix onze douze",
    "es": "uno dos tres cuatro cinco seis siete ocho nueve diez once doce",
    "it": "uno due tre quattro cinque sei sette otto nove dieci undici dodici",
}
_TEENS = "thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
    "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
).split()
_ENGLISH_SCALES = {"hundred": 2, "thousand": 3, "million": 6, "billion": 9, "trillion": 12}
_CHINESE_DIGITS = {char: i for i, char in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_CHINESE_UNITS = {"十": 1, "百": 2, "千": 3}
_CHINESE_SCALES = {"万": 4, "亿": 8}
_CZECH_UNITS = (
    "jed(?:en|na|no) dv(?:a|ě|ou) tř[ií] čtyř[i]? pět[i]? šest[i]? sedm[i]? osm[i]? dev[ěí]ti?"
)
_CZECH_TEENS = "deset jedenáct dvanáct třináct čtrnáct patnáct šestnáct sedmnáct osmnáct devatenáct"
_CZECH_TENS = "dvacet třicet čtyřicet padesát šedesát sedmdesát osmdesát devadesát"
_CZECH = re.compile(
    "|".join(
        (
            f"(?:(?P<unit>{'|'.join(_CZECH_UNITS.split())})a)?(?P<tens>{'|'.join(_CZECH_TENS.split())})",
            f"(?P<teen>{'|'.join(_CZECH_TEENS.split())})",
            f"(?P<small>{'|'.join(_CZECH_UNITS.split())})(?=let|procent|hodin|člen|denn|krát)",
        )
    )
)
_ROMAN = re.compile(r"(?=[IVX]{2})X{0,3}(?:IX|IV|V?I{0,3})$")
_CHINESE = re.compile("[零〇一二两三四五六七八九十百千万亿]+(?:点[零〇一二三四五六七八九]+)?")


def reads_words(lang: str) -> float:
    """Up to which number the words of a language are read: 0, 12 or all.

    >>> reads_words("en"), reads_words("de"), reads_words("pl")
    (inf, 12, 0)
    """
    return math.inf if lang in ("en", "zh") else len(_TO_TWELVE.get(lang, "").split())


class SpeltNumbers:
    """Finds numbers in words in texts of one language; `scales` maps folded words to powers."""

    def __init__(self, lang: str, scales: Mapping[str, int]) -> None:
        self._values = {
            fold(word): i for i, word in enumerate(_TO_TWELVE.get(lang, "").split(), start=1)
        }
        self._scales = dict(scales)
        self._pattern: re.Pattern[str] | None = None
        self._read = _chinese
        self._begins = _czech if lang == "cs" else None
        self.words: frozenset[str] = frozenset(
            (*_CHINESE_DIGITS, *_CHINESE_UNITS, *_CHINESE_SCALES)
        )
        if lang == "zh":
            self._pattern = _CHINESE
        elif lang == "en":
            self._values |= {word: i for i, word in enumerate(_TEENS, start=13)}
            self._values |= {word: 10 * i for i, word in enumerate(_TENS, start=2)}
            self._values |= {word: i for i, word in enumerate(_ORDINALS, start=1)}
            self._values["dozen"] = 12
            self._scales = _ENGLISH_SCALES
            self.words = frozenset((*self._values, *self._scales))
            words = "|".join(sorted(self.words, key=len, reverse=True))
            self._pattern = re.compile(
                rf"\b(?:{words})s?(?:[ -](?:and )?(?:{words})s?)*\b", re.IGNORECASE
            )
            self._read = self._words
        else:
            self.words = frozenset(self._values)

    def counts(self, word: str, forms: Sequence[str]) -> bool:
        """Whether a word may be part of a number: a text without any such word has none."""
        return (
            any(form in self.words or form.removesuffix("s") in self.words for form in forms)
            or _ROMAN.match(word) is not None
            or (self._begins is not None and self._begins(forms[0]) is not None)
        )

    def find(
        self, text: str, words: Sequence[tuple[re.Match[str], Sequence[str]]]
    ) -> list[Mention]:
        """Numbers in words; `words` are the words of the text with the forms they may have."""
        found = list(_roman(words))
        if self._pattern is None:
            return found + list(self._small(text, words))
        for match in self._pattern.finditer(text):
            id = f"num:{self._read(match.group()).normalize():f}"
            found.append(Mention(*match.span(), match.group(), (id,), "number", weak=True))
        return found

    def _small(
        self, text: str, words: Sequence[tuple[re.Match[str], Sequence[str]]]
    ) -> Iterator[Mention]:
        for i, (token, forms) in enumerate(words):
            value = next((self._values[form] for form in forms if form in self._values), None)
            if value is None and self._begins is not None:
                value = self._begins(forms[0])
            if value is None:
                continue
            number, end = Decimal(value), token.end()
            if i + 1 < len(words):
                following, later = words[i + 1]
                power = next((self._scales[form] for form in later if form in self._scales), None)
                if power is not None:
                    number, end = number.scaleb(power), following.end()
            span = text[token.start() : end]
            yield Mention(
                token.start(), end, span, (f"num:{number.normalize():f}",), "number", weak=True
            )

    def _words(self, text: str) -> Decimal:
        """Hundreds multiply what stands before them, larger scales close a group."""
        total, group = 0, 0
        for word in re.findall(r"\w+", fold(text)):
            value = self._values.get(word, self._values.get(word.removesuffix("s")))
            power = self._scales.get(word, self._scales.get(word.removesuffix("s")))
            if value is not None:
                group += value
            elif power == 2:
                group = max(group, 1) * 100
            elif power is not None:
                total += max(group, 1) * 10**power
                group = 0
        return Decimal(total + group)


def _czech(word: str) -> int | None:
    """The number that a folded Czech word is or begins with."""
    match = _CZECH.match(word)
    if match is None:
        return None
    if match["teen"]:
        return 10 + _CZECH_TEENS.split().index(match["teen"])
    tens = 20 + 10 * _CZECH_TENS.split().index(match["tens"]) if match["tens"] else 0
    unit = match["unit"] or match["small"]
    patterns = enumerate(_CZECH_UNITS.split(), start=1)
    return tens + (next(i for i, p in patterns if re.fullmatch(p, unit)) if unit else 0)


def _roman(words: Sequence[tuple[re.Match[str], Sequence[str]]]) -> Iterator[Mention]:
    """Roman numerals of two letters or more: centuries, congresses, kings."""
    for token, _ in words:
        text = token.group()
        if _ROMAN.match(text):
            values = [{"I": 1, "V": 5, "X": 10}[char] for char in text]
            value = sum(-a if a < b else a for a, b in zip(values, [*values[1:], 0], strict=True))
            yield Mention(*token.span(), text, (f"num:{value}",), "number", weak=True)


def _chinese(text: str) -> Decimal:
    """四百一十二点五 is 412.5; 二零一八, digit by digit, is 2018."""
    whole, _, fraction = text.partition("点")
    if not any(char in _CHINESE_UNITS or char in _CHINESE_SCALES for char in whole):
        number = Decimal("".join(str(_CHINESE_DIGITS[char]) for char in whole))
    else:
        total = section = digit = 0
        for char in whole:
            if char in _CHINESE_DIGITS:
                digit = _CHINESE_DIGITS[char]
            elif char in _CHINESE_UNITS:
                section += max(digit, 1) * 10 ** _CHINESE_UNITS[char]
                digit = 0
            else:
                total = (total + section + digit) * 10 ** _CHINESE_SCALES[char]
                section = digit = 0
        number = Decimal(total + section + digit)
    if fraction:
        number += Decimal("0." + "".join(str(_CHINESE_DIGITS[char]) for char in fraction))
    return number
