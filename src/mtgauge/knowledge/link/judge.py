"""What a match is worth: a mention, a weak one (it supports a match, but is not counted), or none.

    Judge(kb, "en", inflected=True).mention(text, begin, end, codes)

Rules of case: an alias with a capital is matched only by a word with one, unless the text has no
capitals at all. A capital proves nothing at the start of a sentence, in German, or in a text
without capitals: there a name that is also an ordinary word ("Reading") is a weak mention.
"""

from __future__ import annotations

from itertools import pairwise

from mtgauge.knowledge.base.index import IS_ACRONYM, IS_CASED, IS_SURE, IS_WEAK, Codes
from mtgauge.knowledge.base.store import KnowledgeBase
from mtgauge.knowledge.link.mention import Mention
from mtgauge.knowledge.link.morphology import morphology
from mtgauge.knowledge.link.names import CHINESE_SURNAMES, TRANSCRIBING, opens_sentence

_NOUNS_ARE_CAPITALISED = frozenset({"de", "lb"})
_UNCOUNTED = frozenset({"scale"})
_SHORT_BRAND = 3
_SHORT_NAME = 3
_BESIDE = 14  # letters between an amount and its currency: "5 Millionen Schweizer Franken"
_CACHE_LIMIT = 500_000


class Judge:
    """The rules for one language."""

    def __init__(self, kb: KnowledgeBase, lang: str, inflected: bool) -> None:
        self._kb, self._lang, self._inflected = kb, lang, inflected
        self._judged: dict[
            tuple[str, Codes | None, bool, bool], tuple[tuple[str, ...], str, bool] | None
        ] = {}

    def mention(self, text: str, begin: int, end: int, codes: Codes | None) -> Mention | None:
        """The mention that a match makes, or None where the rules of case refuse it."""
        surface = text[begin:end]
        capital = surface[0].isupper() or surface[0].isdigit()
        caseless = not capital and text.islower()
        key = (surface, codes, caseless, opens_sentence(text, begin))
        if key not in self._judged:
            if len(self._judged) > _CACHE_LIMIT:
                self._judged.clear()
            self._judged[key] = self._judge(*key)
        judged = self._judged[key]
        return None if judged is None else Mention(begin, end, surface, *judged)

    def _judge(
        self, surface: str, codes: Codes | None, caseless: bool, opens: bool
    ) -> tuple[tuple[str, ...], str, bool] | None:
        """(ids, category, weak) of what was matched; None where the rules of case refuse it."""
        several = codes if isinstance(codes, tuple) else (codes,) if codes is not None else ()
        capital = surface[0].isupper() or surface[0].isdigit()
        acronym = surface.isupper() or caseless
        fitting = [
            code
            for code in several
            if (capital or caseless or not code & IS_CASED) and (acronym or not code & IS_ACRONYM)
        ]
        fitting.sort(key=lambda code: code & IS_WEAK)
        entities = [self._kb.entity(code) for code in fitting]
        # NATO is not somebody called Nato, and "French" is not somebody either
        if (surface.isupper() and len(surface) > 1) or any(
            entity.category == "language" for entity in entities
        ):
            kept = [i for i, entity in enumerate(entities) if entity.category != "person"]
            fitting, entities = [fitting[i] for i in kept], [entities[i] for i in kept]
        if not entities or entities[0].category in _UNCOUNTED:
            return None
        category = entities[0].category
        weak = all(code & IS_WEAK for code in fitting) or (
            self._inflected
            and not (any(code & IS_SURE for code in fitting) and not caseless)
            and self._is_ordinary(surface, opens, category)
        )
        return tuple(dict.fromkeys(entity.id for entity in entities)), category, weak

    def _is_ordinary(self, surface: str, opens: bool, category: str) -> bool:
        """Whether what was matched may be ordinary words, a capital due to something else."""
        if category == "organisation":
            return self._is_no_brand(surface)
        words = morphology(self._lang)
        if category == "person":
            is_noun = self._lang in _NOUNS_ARE_CAPITALISED and words.is_known(surface)
            return is_noun or words.is_common(surface)
        if category != "place" or " " in surface or not surface[0].isalpha() or surface.isupper():
            return False
        proves = surface[0].isupper() and self._lang not in _NOUNS_ARE_CAPITALISED and not opens
        return not proves and words.is_common(surface)

    def _is_no_brand(self, surface: str) -> bool:
        """Brands borrow ordinary words, first names, and every acronym of three letters."""
        if len(surface) <= _SHORT_BRAND:
            return True
        words = morphology(self._lang)
        parts = [part for part in surface.split() if part[0].isalpha()]
        if len(parts) > 1:
            return any(part[0].islower() for part in parts) or all(map(words.is_common, parts))
        return not surface.isupper() and words.is_known(surface)

    def join_full_names(self, found: list[Mention], text: str) -> None:
        """Two names of people side by side vouch for each other: "Theresa May", "Anna Schmidt"."""
        for i, (one, other) in enumerate(pairwise(found)):
            if (
                one.category == other.category == "person"
                and text[one.end : other.begin] == " "
                and not (one.weak and opens_sentence(text, one.begin))
                and (one.weak != other.weak or (one.weak and self._are_german_names(one, other)))
            ):
                found[i], found[i + 1] = one._replace(weak=False), other._replace(weak=False)

    def _are_german_names(self, *mentions: Mention) -> bool:
        """Where every noun has a capital, names are weak if the dictionary has them as nouns."""
        words = morphology(self._lang)
        return self._lang in _NOUNS_ARE_CAPITALISED and not any(
            len(m.text) <= _SHORT_NAME or words.is_common(m.text) for m in mentions
        )


def judge_chinese_person(mention: Mention, text: str) -> Mention:
    """A surname makes two characters a given name; a longer transcription makes three no name."""
    before, after = text[: mention.begin][-1:], text[mention.end :][:1]
    if len(mention.text) == 2 and before in CHINESE_SURNAMES:
        begin = mention.begin - 1
        return mention._replace(begin=begin, text=text[begin : mention.end], weak=False)
    if before in TRANSCRIBING or after in TRANSCRIBING:
        return mention._replace(weak=True)
    return mention


def weaken_without_amount(
    mention: Mention, figures: list[Mention], spelt: list[Mention]
) -> Mention:
    """A currency's name beside no amount is weak: "pound", "crown" and "pes" mean other things."""
    if mention.weak or not mention.text.islower():
        return mention
    beside = any(
        -1 <= mention.begin - m.end <= _BESIDE or -1 <= m.begin - mention.end <= _BESIDE
        for m in (*figures, *spelt)
        if m.category == "number"
    )
    return mention if beside else mention._replace(weak=True)
