"""The linker: all mentions of known entities in a text, by longest match over the aliases.

    linker = KnowledgeLinker(KnowledgeBase.open())
    linker.link(["Včera byl v Praze."], "cs")
    # [[Mention(12, 17, "Praze", ("geonames:3067696",), "place")]]

How a text is read. It is divided into words (single characters where a script has no spaces). Each
distinct word is looked up once: as it stands, by its dictionary form and by its cut endings, and
what the aliases of the language contain is kept; nearly all words keep nothing, so a text costs
one dictionary access per word. From every word that begins an alias the longest match is taken.

What a match is worth, by case, place in the sentence and neighbours, is in `judge.py`.

Mentions inside longer ones are kept if they are concepts ("organisations" in "non-governmental
organisations"), as in the paper; "York" in "New York" is not.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from itertools import chain, islice
from typing import NamedTuple

from mtgauge.knowledge.base.index import IS_SURE, Branch, Codes
from mtgauge.knowledge.base.keys import WORD, fold, plain
from mtgauge.knowledge.base.store import SPACELESS_SCRIPTS, KnowledgeBase, script_of
from mtgauge.knowledge.link.judge import Judge, judge_chinese_person, weaken_without_amount
from mtgauge.knowledge.link.mention import Mention
from mtgauge.knowledge.link.morphology import morphology
from mtgauge.knowledge.link.numbers import NumberFinder
from mtgauge.knowledge.link.spans import Spans
from mtgauge.knowledge.link.spelt import SpeltNumbers

_HARDLY_INFLECTED = frozenset({"en", "de"})
_GLUE = frozenset(" \u00a0-‑'’.·&")  # what may stand between the words of one name
_GUESSES = 3
_CACHE_LIMIT = 500_000
_GROUP = operator.methodcaller("group")
_COUNTS = operator.itemgetter(3)  # of an entry


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


class _Entry(NamedTuple):
    """What is known of a word of a text."""

    branches: tuple[Branch, ...]
    may_begin: bool
    forms: tuple[str, ...]
    counts: bool  # whether it may be part of a number in words


class _Matcher:
    """The linker for one language."""

    def __init__(self, kb: KnowledgeBase, lang: str, numbers: bool, inflected: bool) -> None:
        self._kb = kb
        self._lang = lang
        self._index = kb.index(lang)
        self._inflected = inflected
        self._spaceless = script_of(lang) in SPACELESS_SCRIPTS
        self._entries: dict[str, _Entry] = {}
        self._judge = Judge(kb, lang, inflected)
        self._finder: NumberFinder | None = None
        self._spelt: SpeltNumbers | None = None
        if numbers:
            scales = scales_of(kb, lang)
            self._finder = NumberFinder(lang, scales)
            self._spelt = SpeltNumbers(lang, scales)

    def mentions(self, text: str) -> list[Mention]:
        """All mentions in one text."""
        tokens = list(WORD.finditer(text))
        words = list(map(_GROUP, tokens))
        held = self._entries
        entries = [held.get(word) or self._remember(word) for word in words]
        found = self._names(text, tokens, words, entries)
        if self._finder is not None and self._spelt is not None:
            figures = self._finder.find(text)
            spelt: list[Mention] = []
            if any(map(_COUNTS, entries)):
                forms = [entry.forms for entry in entries]
                spelt = self._spelt.find(text, list(zip(tokens, forms, strict=True)))
            if figures:
                taken = Spans((m.begin, m.end) for m in figures)
                found = [m for m in found if not taken.meets(m.begin, m.end)] + figures
            found = [
                weaken_without_amount(m, figures, spelt) if m.category == "currency" else m
                for m in found
            ]
            taken = Spans((m.begin, m.end) for m in found)
            found += [m for m in spelt if not taken.meets(m.begin, m.end)]
        found.sort(key=lambda m: (m.begin, -m.end))
        return found

    def _names(
        self, text: str, tokens: list[re.Match[str]], words: list[str], entries: list[_Entry]
    ) -> list[Mention]:
        caseless: bool | None = None
        found: list[Mention] = []
        covered = -1  # the token up to which a longer mention already reaches
        for i, entry in enumerate(entries):
            if not entry[0]:
                continue
            if not entry.may_begin:
                if caseless is None:
                    caseless = text.islower()
                if not caseless:
                    continue
            length, codes = self._longest(text, tokens, words, i, entry.branches)
            if not length:
                continue
            mention = self._judge.mention(
                text, tokens[i].start(), tokens[i + length - 1].end(), codes
            )
            if self._spaceless and mention is not None and mention.category == "person":
                mention = judge_chinese_person(mention, text)
            if mention is None or (i + length - 1 <= covered and mention.category != "concept"):
                continue
            covered = max(covered, i + length - 1)
            found.append(mention)
        self._judge.join_full_names(found, text)
        return found

    def _longest(
        self,
        text: str,
        tokens: list[re.Match[str]],
        words: list[str],
        i: int,
        branches: tuple[Branch, ...],
    ) -> tuple[int, Codes | None]:
        """(number of words, codes) of the longest alias that begins at word i; (0, None): none."""
        best: tuple[int, Codes | None] = (0, None)
        alone = [branch.codes for branch in branches if branch.codes is not None]
        if alone:  # the word as it stands and its dictionary form may both be names
            several = (c if isinstance(c, tuple) else (c,) for c in alone)
            best = (1, alone[0] if len(alone) == 1 else tuple(dict.fromkeys(chain(*several))))
        for branch in branches:
            keys = [branch.first]
            for n in range(2, min(branch.reach, len(words) - i) + 1):
                gap = text[tokens[i + n - 2].end() : tokens[i + n - 1].start()]
                if len(gap) > 2 or not _GLUE.issuperset(gap) or (gap == "·" and self._spaceless):
                    break
                forms = self._later(words[i + n - 1], branch.later)
                keys = [f"{key} {form}" for key in keys for form in forms]
                if not keys:
                    break
                if n > best[0]:
                    key = next((key for key in keys if key in branch.longer), None)
                    best = best if key is None else (n, branch.longer[key])
        return best

    def _remember(self, word: str) -> _Entry:
        """The names that a word may begin; whether it may in a text with capitals."""
        if len(self._entries) > _CACHE_LIMIT:
            self._entries.clear()
        forms = self._direct(word)
        # "Ruska" is a case of "Rusko" rather than somebody's name: what is sure goes first
        branches = tuple(sorted(filter(None, map(self._index.branch, forms)), key=_is_unsure))
        if self._may_be_cut(word):
            guessed = map(self._index.branch, morphology(self._lang).guesses(word))
            taken = tuple(islice(filter(None, guessed), _GUESSES))
            unsure = self._lang not in _HARDLY_INFLECTED and all(map(_is_unsure, branches))
            if (branches and not unsure) or morphology(self._lang).is_common(word):
                # the word is accounted for: only as part of a longer name ("Латинской Америке")
                taken = tuple(branch.longer_names() for branch in taken if branch.longer)
            branches += taken
        may_begin = any(not word[0].islower() or branch.small for branch in branches)
        counts = self._spelt is not None and self._spelt.counts(word, forms)
        self._entries[word] = entry = _Entry(branches, may_begin, forms, counts)
        return entry

    def _later(self, word: str, wanted: set[str]) -> list[str]:
        """The forms of a word that occur inside the names in question."""
        entry = self._entries.get(word) or self._remember(word)
        found = [form for form in entry.forms if form in wanted]
        if not found and self._may_be_cut(word):
            guesses = morphology(self._lang).guesses(word)
            found = [form for form in guesses if form in wanted][:_GUESSES]
        return found

    def _direct(self, word: str) -> tuple[str, ...]:
        """The word as names are listed: folded, without its accents, by its dictionary form."""
        folded = fold(word)
        forms = {folded: None, plain(folded): None}
        if self._inflected and len(word) >= 3 and not word.isdigit():
            forms |= dict.fromkeys(morphology(self._lang).lemmas(word))
        return tuple(forms)

    def _may_be_cut(self, word: str) -> bool:
        """Whether cut endings are worth a try: for capitalised words of some length."""
        return self._inflected and len(word) >= 3 and not word[0].islower() and not word.isdigit()


def scales_of(kb: KnowledgeBase, lang: str) -> dict[str, int]:
    """Powers of ten by their words, such as million, for a `NumberFinder`."""
    return {fold(name): int(id.rpartition("/")[2]) for name, id in kb.aliases(lang, "scale")}


def _is_unsure(branch: Branch) -> bool:
    codes = branch.codes if isinstance(branch.codes, tuple) else (branch.codes or 0,)
    return not any(code & IS_SURE for code in codes)
