"""Warnings of single segments: what a person should look at first, and a gate may refuse.

    finder = Finder("de-en")
    finder.look(sources, hypotheses)            # one tuple of flags per segment, mostly empty
    finder.look_at(chunk)["online-B"]           # the same of every system
    find(corpus, "de-en")["online-B"][2]        # (Flag("lost-numbers", "1998 is missing", ...),)

Kinds, and what each is seen by:

- `empty`: nothing to read; such a segment has no other flag;
- `copy`: words left as they stand in the source (text/untranslated.py); needs the source, and
  without a language pair only whole copies are seen;
- `wrong-language`: in another language or script than the target's; needs the language pair;
- `lost-numbers`, `invented-number`: a number of the one side that the other has nowhere, in
  whatever format (1.234,5 and 1,234.5; "3 million"; "drei"); needs source and language pair;
- `lost-entity`: a name that the knowledge base knows in both languages and the translation lacks;
  only if asked for, because a name in a spelling that is not known is called lost too.

`severity` is the share of the text, or of its numbers or names, that is concerned.

Known limits: number words are read in full in English and Chinese and to twelve in fourteen more
languages, so a round number is not called lost where it may be a word that is not read, and 1
never is. A number that stands twice in the source and once in the translation is not lost.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, Literal, get_args

from mtgauge import registry
from mtgauge.data import checks
from mtgauge.data.codes import LanguagePair
from mtgauge.data.corpus import Chunk, Corpus
from mtgauge.data.segments import Segments
from mtgauge.engine.places import SHARD
from mtgauge.errors import UsageError
from mtgauge.knowledge.base.store import KnowledgeBase
from mtgauge.knowledge.link.linker import scales_of
from mtgauge.knowledge.link.mention import Mention
from mtgauge.knowledge.link.numbers import NumberFinder
from mtgauge.knowledge.link.spelt import reads_words
from mtgauge.metric import Task
from mtgauge.metrics.kobe import Kobe
from mtgauge.text import guard, untranslated

Kind = Literal[
    "empty", "copy", "wrong-language", "lost-numbers", "invented-number", "lost-entity"
]  # fmt: skip
KINDS: tuple[Kind, ...] = get_args(Kind)
USUAL: tuple[Kind, ...] = KINDS[:-1]  # all but lost-entity
NEEDS_PAIR = frozenset({"wrong-language", "lost-numbers", "invented-number", "lost-entity"})
NEEDS_SOURCE = frozenset({"copy", "lost-numbers", "invented-number", "lost-entity"})
_NAMES = frozenset({"place", "person", "organisation", "language", "address"})
_LATIN = re.compile("[A-Za-z]")
_DIGIT = re.compile("[0-9]")
_REMEMBERED = 1 << 14  # texts
FindFigures = Callable[[str], list[Mention]]
Places = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Flag:
    """One warning of one segment; `places` are (first, last + 1) characters of `side`."""

    kind: Kind
    detail: str
    severity: float = 1.0
    side: Literal["source", "hypothesis"] = "hypothesis"
    places: Places = ()

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"places": [list(place) for place in self.places]}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Flag:
        return cls(**{**given, "places": tuple((a, b) for a, b in given["places"])})


Flags = tuple[Flag, ...]


def find(
    corpus: Corpus,
    lang: str | None = None,
    kinds: Collection[str] = USUAL,
    *,
    unescape: bool = False,
) -> dict[str, list[Flags]]:
    """{system: the flags of each segment}; kinds that the corpus has no sides for are left out."""
    chunks = corpus.chunks(SHARD)
    return Finder(lang, kinds).look_at_all(c.unescaped() if unescape else c for c in chunks)


class Finder:
    """Finds the flags of chunks of one run; texts that systems share are read once."""

    def __init__(self, lang: str | None = None, kinds: Collection[str] = USUAL) -> None:
        if unknown := sorted(set(kinds) - set(KINDS)):
            raise UsageError(
                f"There is no warning {', '.join(unknown)}: there are {', '.join(KINDS)}."
            )
        self._pair = None if lang is None else LanguagePair.parse(lang)
        self._kinds = frozenset(kinds) - (NEEDS_PAIR if lang is None else frozenset())
        self._kobe = self._linker()
        self._finders: dict[str, FindFigures] = {}

    def look(self, sources: Sequence[str] | None, hypotheses: Sequence[str]) -> list[Flags]:
        """The flags of each segment, in the order of `KINDS`."""
        found: list[list[Flag]] = [[] for _ in hypotheses]
        rows = [i for i, text in enumerate(hypotheses) if not checks.is_blank(text)]
        texts = [hypotheses[i] for i in rows]
        given = None if sources is None else [sources[i] for i in rows]
        for i in set(range(len(found))) - set(rows) if "empty" in self._kinds else ():
            found[i].append(Flag("empty", "there is no translation"))
        for k, flag in self._all(given, texts):
            found[rows[k]].append(flag)
        return [tuple(sorted(each, key=lambda f: KINDS.index(f.kind))) for each in found]

    def look_at(self, chunk: Chunk) -> dict[str, list[Flags]]:
        """The flags of each segment by system; all systems are read in one go, which is faster."""
        texts = [text for lines in chunk.systems.values() for text in lines]
        sources = None if chunk.sources is None else chunk.sources * len(chunk.systems)
        flags = iter(self.look(sources, texts))
        return {name: list(islice(flags, len(lines))) for name, lines in chunk.systems.items()}

    def look_at_all(self, chunks: Iterable[Chunk]) -> dict[str, list[Flags]]:
        """The flags of consecutive chunks."""
        found: dict[str, list[Flags]] = {}
        for chunk in chunks:
            for name, flags in self.look_at(chunk).items():
                found.setdefault(name, []).extend(flags)
        return found

    def _all(
        self, sources: Sequence[str] | None, texts: Sequence[str]
    ) -> Iterator[tuple[int, Flag]]:
        """(row, flag) of what can be seen with the sides there are."""
        yield from self._untranslated(sources, texts)
        if sources is None or self._pair is None:
            return
        if self._kinds & {"lost-numbers", "invented-number"}:
            yield from self._numbers(sources, texts, self._pair)
        if "lost-entity" in self._kinds and self._kobe is not None:
            batch = Segments(texts, sources, lang=str(self._pair))
            for row, agreement in enumerate(self._kobe.agreements(batch)):
                lost = [m for m in agreement.lost if m.category in _NAMES]
                if lost:
                    every = len(lost) + sum(s.category in _NAMES for s, _ in agreement.matched)
                    yield row, _flag("lost-entity", lost, every)

    def _untranslated(
        self, sources: Sequence[str] | None, texts: Sequence[str]
    ) -> Iterator[tuple[int, Flag]]:
        if not self._kinds & {"copy", "wrong-language"}:
            return
        if sources is not None:
            lang = None if self._pair is None else str(self._pair)
            shares = guard.shares(sources, texts, lang)
        elif self._pair is not None:
            shares = untranslated.untranslated_share(None, texts, self._pair)
        else:
            return
        rows = [int(i) for i in shares.nonzero()[0]]
        some = [texts[i] for i in rows]
        copied = shares[rows]  # without a pair only copies are seen
        if self._pair is not None:
            copied = 0 * copied
            if sources is not None:
                copied = untranslated.copied_share([sources[i] for i in rows], some, self._pair)
        for row, text, share, copy in zip(rows, some, shares[rows], copied, strict=True):
            if copy >= share:
                flag = Flag("copy", f"{share:.0%} of it is copied from the source", float(share))
            else:
                flag = Flag("wrong-language", self._language(text, share), float(share))
            if flag.kind in self._kinds:
                yield row, flag

    def _language(self, text: str, share: float) -> str:
        assert self._pair is not None
        target = self._pair.target
        if share < 1:
            return f"{share:.0%} of its words are in a script that is not that of {target}"
        (seen,) = untranslated.strangers([text], target)
        return f"it is not in {target}" + (f", but in {seen}" if seen else "")

    def _numbers(
        self, sources: Sequence[str], texts: Sequence[str], pair: LanguagePair
    ) -> Iterator[tuple[int, Flag]]:
        langs = pair.source.base, pair.target.base
        # only figures are called lost or invented: in most segments there are none, or all are met
        # by figures of the other side; else that side is read for numbers in words
        find = self._figures(langs[0]), self._figures(langs[1])
        rows: list[int] = []
        read: tuple[set[str], set[str]] = set(), set()
        for k, both in enumerate(zip(sources, texts, strict=True)):
            if any(map(_has_figure, both)):
                left, right = find[0](both[0]), find[1](both[1])
                wanted = _unsure(left, right, both)
                if any(wanted):
                    rows.append(k)
                    for side, text, is_wanted in zip(read, both, wanted, strict=True):
                        side |= {text} if is_wanted else set()
        linked = [self._mentions(each, lang) for each, lang in zip(read, langs, strict=True)]
        for row in rows:
            both = sources[row], texts[row]
            left, right = (
                _without_codes(words.get(text) or figures(text), text)
                for words, figures, text in zip(linked, find, both, strict=True)
            )
            lost, more = _unmet(left, right, langs[1]), _unmet(right, left, langs[0])
            if lost and "lost-numbers" in self._kinds:
                yield row, _flag("lost-numbers", lost, len(_counted(left)))
            if more and "invented-number" in self._kinds:
                yield row, _flag("invented-number", more, len(_counted(right)))

    def _mentions(self, texts: Collection[str], lang: str) -> dict[str, list[Mention]]:
        """Figures and words of each text; nothing where there is no linker."""
        if self._kobe is None:
            return {}
        ordered = list(texts)
        return dict(zip(ordered, self._kobe.mentions(ordered, lang), strict=True))

    def _figures(self, lang: str) -> FindFigures:
        """What finds the figures of a text; systems share their sources, so some are remembered."""
        if lang not in self._finders:
            scales = {} if self._kobe is None else scales_of(KnowledgeBase.open(), lang)
            finder = NumberFinder(lang, scales)
            self._finders[lang] = lru_cache(maxsize=_REMEMBERED)(finder.find)
        return self._finders[lang]

    def _linker(self) -> Kobe | None:
        """The linker of kobe; None where it is not needed, or lacks one of the languages."""
        if self._pair is None or not self._kinds & (NEEDS_PAIR - {"wrong-language"}):
            return None
        kobe = registry.load("kobe:names=on")  # so that "Serbian" keeps Serbia
        assert isinstance(kobe, Kobe)
        if not {self._pair.source.base, self._pair.target.base} <= (kobe.languages or set()):
            return None
        return kobe.resolve(Task(frozenset({"source"}), str(self._pair)))


def _has_figure(text: str) -> bool:
    """Whether a text has a figure in any script, such as 7 or 七."""
    if text.isascii():
        return _DIGIT.search(text) is not None
    return any(map(str.isnumeric, text))


def _unsure(
    left: Sequence[Mention], right: Sequence[Mention], texts: tuple[str, str]
) -> tuple[bool, bool]:
    """For each side whether it must be read for words too, to say what is lost or invented.

    Not where each figure of the other side has its value among its figures: words only add to what
    may be met. Where something is missed, figures behind a letter are read again: words tell
    whether the letters are a currency.
    """
    sure = _without_codes(left, texts[0]), _without_codes(right, texts[1])
    more, lost = bool(_missed(right, sure[0])), bool(_missed(left, sure[1]))
    if not (more or lost):
        return False, False
    return more or len(sure[0]) < len(left), lost or len(sure[1]) < len(right)


def _counted(mentions: Sequence[Mention]) -> list[Mention]:
    return [m for m in mentions if m.category == "number" and not m.weak]


def _without_codes(mentions: Sequence[Mention], text: str) -> list[Mention]:
    """Without figures behind a letter: CO2 and A6 are words that may be translated, RMB6 is not."""
    coded = {m.end for m in mentions if m.category == "currency"}
    return [
        m for m in mentions if m.begin in coded or not _LATIN.match(text[m.begin - 1 : m.begin])
    ]


def _unmet(mine: Sequence[Mention], theirs: Sequence[Mention], lang: str) -> list[Mention]:
    """Figures of one side without a number of that value, in figures or words, on the other."""
    missed = _missed(mine, theirs)
    return [m for m in missed if not any(_may_be_a_word(id, lang) for id in m.ids)]


def _missed(mine: Sequence[Mention], theirs: Sequence[Mention]) -> list[Mention]:
    met = {id for mention in theirs for id in mention.ids}
    return [m for m in _counted(mine) if met.isdisjoint(m.ids)]


def _may_be_a_word(id: str, lang: str) -> bool:
    """Whether a number may stand there in a word that is not read: 1 is "an hour" everywhere."""
    value = id.removeprefix("num:")
    if not value.isdigit():
        return False
    number = int(value)
    if number == 1:
        return True
    is_round = number <= 20 or number in (*range(30, 100, 10), 100, 1000)
    return is_round and number > reads_words(lang)


def _flag(kind: Kind, mentions: Sequence[Mention], every: int) -> Flag:
    lost = kind != "invented-number"
    listed = ", ".join(dict.fromkeys(m.text for m in mentions))
    verb = "is" if len({m.text for m in mentions}) == 1 else "are"
    detail = f"{listed} {verb} missing" if lost else f"{listed} {verb} not in the source"
    places = tuple((m.begin, m.end) for m in mentions)
    share = len(mentions) / max(every, 1)
    return Flag(kind, detail, share, "source" if lost else "hypothesis", places)
