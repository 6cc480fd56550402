"""Names that the knowledge base lacks, met by spelling and sound: Путин, Putina, Putin.

News is about people, and no open source with ids names them all. So a capitalised word that is
neither an ordinary word nor a known entity is a provisional entity, and it counts as kept if the
translation has a capitalised word that is spelt or sounds like it:

    sound_alike("Меркель", "Merkel")       # True: the same letters once romanised
    sound_alike("Merkelové", "Merkel")     # True: the same beginning, an ending more
    sound_alike("Džeimss", "James")        # True: the same consonants, j m s
    sound_alike("Берлин", "Dublin")        # False

Known limits: names are not found where writing has no capitals (Chinese and Gujarati keep only
words in Latin letters); a name that is also an ordinary word ("Bush") is not found; translated
names (Köln, Cologne) are not met by sound unless the knowledge base has them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache

from rapidfuzz.distance import Levenshtein

from mtgauge.knowledge.base.keys import WORD, fold
from mtgauge.knowledge.link.mention import Mention
from mtgauge.knowledge.link.morphology import Morphology, morphology
from mtgauge.knowledge.link.spans import Spans

SENTENCE_OPENERS = '.!?:…»«"„“”‘‚(–—•|/'
# the hundred commonest, less those that are words before they are names (于 和 时 ...)
CHINESE_SURNAMES = frozenset(
    "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾"
    "丁魏薛叶阎余潘杜戴夏钟汪田任姜范方石姚谭廖邹熊金陆郝孔白崔康毛邱秦江史顾侯邵孟龙万段雷钱"
    "汤尹黎易常武乔贺赖龚习栗汪俞"
)
# characters that transcribe foreign names, less those that are common words
TRANSCRIBING = frozenset(
    "斯尔特拉克德里尼阿卡格利亚罗马纳维布科奥雷夫塔诺蒂伊莱基埃洛萨瓦米巴奇迪托姆达塞贝普曼弗森兰哈"
    "鲁勒帕莫梅伯赫娜吉恩索库林兹伦耶沃佩波菲韦茨霍戈乌扎杰卢泰丽玛艾泽费杜坦凯施穆蒙贾劳顿乔娃佐默"
    "娅莉瑟桑坎妮雅辛迈瑞尤涅琳滕赖肯厄莎舍奈爾丝赛芬扬鲍奎珀廷舒詹翁柯逊翰芙钦卜"
)
_OPENING_U = re.compile("^u(?=[aeio])")
_ADJECTIVE = re.compile("(?<=...)sk(iy|aya|oe|ie|ogo|oy|omu|uyu|im|om|ikh|imi)$")
_VOWELS = re.compile("[aeiou]+")
_LETTERS = re.compile("[^a-z]+")
_DOUBLE = re.compile(r"(.)\1+")
# Sounds that languages write differently, as one letter each; longer spellings first.
_SOFT_C, _SOFT_G = re.compile("c(?=[ei])"), re.compile("(?<!g)g(?=[ei])")
_SOUNDS = (
    ("shch", "s"), ("tsch", "k"), ("dsch", "j"), ("sch", "s"), ("dzh", "j"), ("tch", "k"),
    ("ch", "k"), ("cz", "k"), ("sh", "s"), ("sz", "s"), ("zh", "s"), ("kh", "h"), ("ph", "f"),
    ("th", "t"), ("ck", "k"), ("ts", "k"), ("tz", "k"), ("dj", "j"), ("dz", "j"), ("q", "k"),
    ("x", "ks"), ("w", "v"), ("z", "s"), ("c", "k"), ("y", "i"),
)  # fmt: skip
# words that do not begin with a to z: leaves the small words of English out early
_NOT_SMALL = re.compile(rf"(?<![^\W_])(?![a-z\d])(?:{WORD.pattern})")
_HALF_WORD = re.compile(r"[-‑](?![^\W\d_])")  # "Kindersterblichkeits- und"
_LONGEST_ENDING = 4
_SHORTEST = 3


class NameFinder:
    """Finds provisional names in texts of one language."""

    def __init__(self, lang: str, morphology: Morphology) -> None:
        self._lang = lang
        self._morphology = morphology
        self._is_name = lru_cache(maxsize=1 << 16)(self._looks_like_a_name)

    def find(self, text: str, known: Sequence[Mention]) -> list[Mention]:
        """Capitalised words that are no ordinary words and no part of a known mention."""
        if text.islower() or text.isupper():
            return []
        # a weak town may be somebody's name; a people ("American") is not
        covered = Spans(
            (m.begin, m.end) for m in known if not (m.weak and all(map(_is_town, m.ids)))
        )
        found = []
        for token in _NOT_SMALL.finditer(text):
            word, begin, end = token.group(), token.start(), token.end()
            if len(word) < _SHORTEST or not word[0].isupper():
                continue
            if covered.meets(begin, end) or not self._is_name(word):
                continue
            if opens_sentence(text, begin) or _HALF_WORD.match(text, end):
                continue
            found.append(Mention(begin, end, word, (f"name:{romanise(word)}",), "name"))
        return found

    def _looks_like_a_name(self, word: str) -> bool:
        if word.isupper() or any(char.isdigit() for char in word):
            return False
        words = self._morphology
        if not words.has_dictionary:
            return True
        if self._lang != "en" and morphology("en").is_common(word):
            return False  # "Venture Capital" may be translated
        if self._lang == "de":
            # every noun has a capital: only what the dictionary cannot account for is a name
            known = words.is_known(word) or words.is_known(word.removesuffix("s"))
            return not known and not words.is_compound(word)
        return not words.is_common(word)


def _is_town(id: str) -> bool:
    return id.startswith(("geonames:", "cldr:subdivision/"))


def opens_sentence(text: str, begin: int) -> bool:
    """Whether the word at `begin` has a capital for its place alone."""
    at = begin - 1
    while at >= 0 and text[at].isspace():
        at -= 1
    return at < 0 or text[at] in SENTENCE_OPENERS


def meet(names: Sequence[Mention], text: str, taken: Sequence[Mention]) -> dict[Mention, Mention]:
    """For each name the word of `text` that sounds like it, if any; a word serves one name."""
    spans = Spans((m.begin, m.end) for m in taken)
    free = [
        token
        for token in WORD.finditer(text)
        if len(token.group()) >= _SHORTEST and not spans.meets(token.start(), token.end())
    ]
    if not text.islower():
        free = [
            token for token in free if token.group()[0].isupper() or not token.group()[0].islower()
        ]
    met: dict[Mention, Mention] = {}
    for name in names:
        # a Chinese full name is one word; in other languages the given name stands alone
        own = name.text[1:] if name.text[0] in CHINESE_SURNAMES else name.text
        for token in free:
            if sound_alike(own, token.group()) or sound_alike(name.text, token.group()):
                met[name] = Mention(
                    token.start(), token.end(), token.group(), name.ids, name.category
                )
                free.remove(token)
                break
    return met


def meet_derived(
    lost: Mention, names: Sequence[str], text: str, taken: Sequence[Mention]
) -> Mention | None:
    """The word of `text` derived from one of the lost entity's names: Londýn -> "londýnská"."""
    spans = Spans((m.begin, m.end) for m in taken)
    for token in WORD.finditer(text):
        word = fold(token.group())
        if any(_same_beginning(name, word) for name in names) and not spans.meets(*token.span()):
            return Mention(token.start(), token.end(), token.group(), lost.ids, lost.category)
    return None


def _same_beginning(name: str, word: str) -> bool:
    """Whether `word` keeps at least four letters and three fifths of a name, with an ending."""
    shared = max(4, math.ceil(0.6 * len(name)))
    return word[:shared] == name[:shared] and len(name) >= 4 and len(word) - shared <= 9


@lru_cache(maxsize=1 << 16)
def romanise(word: str) -> str:
    """The word in the letters a to z."""
    from anyascii import anyascii

    return _LETTERS.sub("", anyascii(word).lower())


@lru_cache(maxsize=1 << 16)
def sounds(word: str) -> str:
    """The word by its sound: one letter a sound, however its language writes it."""
    text = romanise(word)
    if "\u0400" <= word[0] <= "\u04ff":
        text = _OPENING_U.sub("v", _ADJECTIVE.sub("", text))  # Уильям, Вашингтонского
    # c and g are soft before e and i where Latin letters are written, never in a romanisation
    if word[0] < "\u0250":
        text = _SOFT_G.sub("j", _SOFT_C.sub("s", text))
    for spelling, sound in _SOUNDS:
        text = text.replace(spelling, sound)
    text = text[:1] + text[1:].replace("h", "")
    return _DOUBLE.sub(r"\1", text)


def consonants(sound: str) -> str:
    """The skeleton of a word given by its sound; an opening vowel is kept as "a"."""
    opening = "a" if sound[:1] in "aeiou" else sound[:1]
    return _DOUBLE.sub(r"\1", opening + _VOWELS.sub("", sound[1:]))


@lru_cache(maxsize=1 << 18)
def sound_alike(one: str, other: str) -> bool:
    """Whether two words, of any two languages and scripts, may be forms of one name."""
    a, b = romanise(one), romanise(other)
    if a == b:
        return bool(a)
    if min(len(a), len(b)) < _SHORTEST or max(len(a), len(b)) > 2 * min(len(a), len(b)) + 1:
        return False
    if _same_but_for_the_ending(a, b):
        return True
    a, b = sounds(one), sounds(other)
    return a == b or _same_but_for_the_ending(a, b) or _same_skeleton(a, b)


def _same_but_for_the_ending(a: str, b: str) -> bool:
    shared = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        shared += 1
    longest, shortest = max(len(a), len(b)), min(len(a), len(b))
    enough = max(_SHORTEST, round(0.75 * shortest))
    return shared >= enough and longest - shared <= _LONGEST_ENDING


def _same_skeleton(a: str, b: str) -> bool:
    """Equal consonants; or, in long names, equal but for the last one or for one inside."""
    one, other = consonants(a), consonants(b)
    if one == other:
        return len(one) >= 3 or Levenshtein.distance(a, b) <= 1 + (max(len(a), len(b)) > 4)
    if abs(len(one) - len(other)) <= 1 and min(len(one), len(other)) >= 3:
        longer, shorter = (one, other) if len(one) > len(other) else (other, one)
        if longer[:-1] == shorter:
            return True
    return (
        one[:1] == other[:1]
        and min(len(a), len(b)) >= 5
        and Levenshtein.distance(a, b) <= max(len(a), len(b)) // 4
    )
