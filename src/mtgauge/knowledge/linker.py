"""The linker: all mentions of known entities in a text, by longest match over the aliases.

    linker = KnowledgeLinker(KnowledgeBase.open())
    linker.link(["Včera byl v Praze."], "cs")
    # [[Mention(12, 17, "Praze", ("geonames:3067696",), "place")]]

How a text is read. It is divided into words (single characters where a script has no spaces). Each
distinct word is looked up once: as it stands, by its dictionary form and by its cut endings, and
what the aliases of the language contain is kept; nearly all words keep nothing, so a text costs
one dictionary access a word. From every word that begins an alias the longest match is taken.

Rules of case: an alias with a capital is matched only by a word with one, unless the text has no
capitals at all. A capital proves nothing at the start of a sentence, in German, or in a text
without capitals: there a name that is also an ordinary word ("Reading") is a weak mention.

Mentions inside longer ones are kept if they are concepts ("organisations" in "non-governmental
organisations"), as in the paper; "York" in "New York" is not.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence

from mtgauge.knowledge.keys import WORD, fold, plain
from mtgauge.knowledge.mention import Mention
from mtgauge.knowledge.morphology import morphology
from mtgauge.knowledge.names import opens_sentence
from mtgauge.knowledge.numbers import NumberFinder
from mtgauge.knowledge.spelt import SpeltNumbers
from mtgauge.knowledge.store import IS_ACRONYM, IS_CASED, IS_SURE, IS_WEAK, KnowledgeBase

_NOUNS_ARE_CAPITALISED = frozenset({"de", "lb"})
_GLUE = frozenset(" \u00a0-‑'’.·&")  # what may stand between the words of one name
_UNCOUNTED = frozenset({"scale"})
_CACHE_LIMIT = 500_000
_GROUP = operator.methodcaller("group")


class KnowledgeLinker:
    """Links against a knowledge base; `numbers` adds figures, dates, currencies and addresses."""

    def __init__(self, kb: KnowledgeBase, numbers: bool = True, inflected: bool = True) -> None:
        self.kb = kb
        self.numbers = numbers
        self.inflected = inflected
        self._matchers: dict[str, _Matcher] = {}

    def link(self, texts: Sequence[str], lang: str) -> list[list[Mention]]:
        matcher = self._matchers.get(lang)
        if matcher is None:
            matcher = self._matchers[lang] = _Matcher(self.kb, lang, self.numbers, self.inflected)
        return [matcher.mentions(text) for text in texts]


class _Matcher:
    """The linker for one language."""

    def __init__(self, kb: KnowledgeBase, lang: str, numbers: bool, inflected: bool) -> None:
        self._kb = kb
        self._lang = lang
        index = kb.index(lang)
        self._phrases, self._words, self._small = index.phrases, index.words, index.small
        self._inflected = inflected
        self._forms: dict[str, tuple[tuple[str, ...], bool]] = {}
        self._finder: NumberFinder | None = None
        self._spelt: SpeltNumbers | None = None
        if numbers:
            scales = {
                fold(name): int(id.rpartition("/")[2]) for name, id in kb.aliases(lang, "scale")
            }
            self._finder = NumberFinder(lang, scales)
            self._spelt = SpeltNumbers(lang)

    def mentions(self, text: str) -> list[Mention]:
        """All mentions in one text."""
        found = self._names(text)
        if self._finder is not None and self._spelt is not None:
            figures = self._finder.find(text)
            if figures:
                found = [m for m in found if not _inside(m, figures)] + figures
            found += [m for m in self._spelt.find(text) if not _inside(m, found)]
        found.sort(key=lambda m: (m.begin, -m.end))
        return found

    def _names(self, text: str) -> list[Mention]:
        tokens = list(WORD.finditer(text))
        held = self._forms
        entries = [held.get(word) or self._remember(word) for word in map(_GROUP, tokens)]
        forms = [entry[0] for entry in entries]
        caseless = text.islower()
        found: list[Mention] = []
        covered = -1  # the token up to which a longer mention already reaches
        for i, (options, may_begin) in enumerate(entries):
            if not options or not (may_begin or caseless):
                continue
            length, codes = self._longest(text, tokens, forms, i)
            if not length:
                continue
            mention = self._mention(text, tokens[i].start(), tokens[i + length - 1].end(), codes)
            if mention is None or (i + length - 1 <= covered and mention.category != "concept"):
                continue
            covered = max(covered, i + length - 1)
            found.append(mention)
        return found

    def _longest(
        self, text: str, tokens: list[re.Match[str]], forms: list[tuple[str, ...]], i: int
    ) -> tuple[int, int | tuple[int, ...] | None]:
        """(number of words, codes) of the longest alias that begins at word i; (0, None): none."""
        best: tuple[int, int | tuple[int, ...] | None] = (0, None)
        for form in forms[i]:
            reach = self._words.get(form, 0)
            if reach == 0:
                continue
            if best[0] == 0:
                codes = self._phrases.get(form)
                if codes is not None:
                    best = (1, codes)
            keys = [form]
            for n in range(2, min(reach, len(forms) - i) + 1):
                gap = text[tokens[i + n - 2].end() : tokens[i + n - 1].start()]
                if len(gap) > 2 or not _GLUE.issuperset(gap):
                    break
                keys = [f"{key} {word}" for key in keys for word in forms[i + n - 1]]
                if not keys:
                    break
                if n > best[0]:
                    for key in keys:
                        codes = self._phrases.get(key)
                        if codes is not None:
                            best = (n, codes)
                            break
        return best

    def _remember(self, word: str) -> tuple[tuple[str, ...], bool]:
        """What `_look_up` finds, and whether it may begin an alias in a text with capitals."""
        if len(self._forms) > _CACHE_LIMIT:
            self._forms.clear()
        forms = self._look_up(word)
        begins = [form for form in forms if self._words.get(form)]
        may_begin = any(not word[0].islower() or form in self._small for form in begins)
        self._forms[word] = (forms, may_begin)
        return forms, may_begin

    def _look_up(self, word: str) -> tuple[str, ...]:
        folded = fold(word)
        known = self._words
        found = dict.fromkeys(form for form in (folded, plain(folded)) if form in known)
        if not self._inflected or len(word) < 3 or word.isdigit():
            return tuple(found)
        forms = morphology(self._lang)
        found.update((form, None) for form in forms.lemmas(word) if form in known)
        if not found and not word[0].islower():
            guesses = (form for form in forms.guesses(word) if known.get(form))
            found.update((form, None) for form in list(guesses)[:3])
        return tuple(found)

    def _mention(
        self, text: str, begin: int, end: int, codes: int | tuple[int, ...] | None
    ) -> Mention | None:
        """The mention that a match makes, or None where the rules of case refuse it."""
        several = codes if isinstance(codes, tuple) else (codes,) if codes is not None else ()
        surface = text[begin:end]
        capital = surface[0].isupper() or surface[0].isdigit()
        caseless = not capital and text.islower()
        acronym = surface.isupper() or caseless
        fitting = [
            code
            for code in several
            if (capital or caseless or not code & IS_CASED) and (acronym or not code & IS_ACRONYM)
        ]
        if not fitting:
            return None
        entities = [self._kb.entity(code) for code in fitting]
        if entities[0].category in _UNCOUNTED:
            return None
        weak = all(code & IS_WEAK for code in fitting) or (
            self._inflected
            and not (any(code & IS_SURE for code in fitting) and not caseless)
            and self._is_ordinary(text, begin, end, entities[0].category)
        )
        ids = tuple(dict.fromkeys(entity.id for entity in entities))
        return Mention(begin, end, surface, ids, entities[0].category, weak)

    def _is_ordinary(self, text: str, begin: int, end: int, category: str) -> bool:
        """Whether what was matched may be an ordinary word, its capital due to something else."""
        surface = text[begin:end]
        if " " in surface or not surface[0].isalpha() or surface.isupper():
            return False
        words = morphology(self._lang)
        if category == "organisation":
            return words.is_known(surface)  # brands borrow ordinary words and first names
        proves = (
            surface[0].isupper()
            and self._lang not in _NOUNS_ARE_CAPITALISED
            and not opens_sentence(text, begin)
        )
        return not proves and category == "place" and words.is_common(surface)


def _inside(mention: Mention, figures: list[Mention]) -> bool:
    return any(f.begin < mention.end and mention.begin < f.end for f in figures)
