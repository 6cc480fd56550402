"""What texts mention, for KoBE: by a knowledge base, by annotations, or by a linker of the user's.

    reader = MentionReader("embedded", numbers=True)
    reader.read(["Ein Tag in Prag."], "de", "source")     # {text: Mentioned(mentions, names)}
    left_in_source([(source, text)], ("de", "en"))        # pairs that are no translations

Everything is opened on first use. What was read of a text is kept: systems share their sources.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from mtgauge.knowledge.link.agreement import find_names
from mtgauge.knowledge.link.annotations import AnnotationFolder, Side
from mtgauge.knowledge.link.mention import Linker, Mention
from mtgauge.text.words import UNSPACED

if TYPE_CHECKING:
    from mtgauge.knowledge.base.store import KnowledgeBase

Pair = tuple[str, str]
_KEPT_TEXTS = 100_000
_TELLING_WORDS = 5  # the language of a shorter text is a guess
_WORD = re.compile(rf"[{UNSPACED}]|(?:(?![{UNSPACED}])\S)+")
_UNSPACED_WORD = 0.5  # words in a character of a script without spaces
_REPEATED = 0.5  # share of words that a text left in the source language has from its source


class Mentioned(NamedTuple):
    """What a text mentions: known entities, and names outside the knowledge base if wanted."""

    mentions: list[Mention]
    names: list[Mention] | None

    @property
    def known(self) -> list[Mention]:
        """All of them."""
        return [*self.mentions, *(self.names or ())]


NOTHING = Mentioned([], [])  # of a text that was left in the source language


class MentionReader:
    def __init__(
        self,
        kb: str = "embedded",
        annotations: str | None = None,
        *,
        numbers: bool = False,
        names: bool = False,
        own: Linker | None = None,
    ) -> None:
        self.kb, self.annotations, self.numbers, self.names = kb, annotations, numbers, names
        self.own = own
        self._read: dict[tuple[str, str], dict[str, Mentioned]] = {}

    @property
    def has_base(self) -> bool:
        """Whether mentions come from a knowledge base, not from annotations or a user's linker."""
        return self.annotations is None and self.own is None

    @property
    def languages(self) -> frozenset[str]:
        """Languages of the knowledge base."""
        if self.kb != "embedded":
            return frozenset(self.base.languages())
        from mtgauge.knowledge.base.store import embedded_card, usual_codes

        return usual_codes(map(str, embedded_card()["languages"]))  # type: ignore[call-overload]

    @property
    def version(self) -> str:
        """Fingerprint of the knowledge base."""
        if self.kb != "embedded":
            return str(self.base.fingerprint())
        from mtgauge.knowledge.base.store import embedded_card

        return str(embedded_card()["fingerprint"])

    @cached_property
    def base(self) -> KnowledgeBase:
        from mtgauge.knowledge.base.store import KnowledgeBase

        return KnowledgeBase.open(self.kb)

    def linker(self, side: Side) -> Linker:
        """What finds mentions on a side."""
        if self.own is not None:
            return self.own
        return self._linker if self.annotations is None else self._folder.linker(side)

    @cached_property
    def _folder(self) -> AnnotationFolder:
        assert self.annotations is not None
        return AnnotationFolder.read(self.annotations)

    @cached_property
    def _linker(self) -> Linker:
        from mtgauge.knowledge.link.linker import KnowledgeLinker

        return KnowledgeLinker(self.base, numbers=self.numbers)

    def read(self, texts: Sequence[str], lang: str, side: Side) -> dict[str, Mentioned]:
        """What each distinct text mentions."""
        own = side if self.annotations is not None else ""  # a linker reads both sides alike
        held = self._read.setdefault((lang, own), {})
        if len(held) > _KEPT_TEXTS:
            held.clear()
        fresh = [text for text in dict.fromkeys(texts) if text not in held]
        linked = self.linker(side).link(fresh, lang)
        named = self.names and self.has_base
        names = find_names(fresh, linked, lang) if named else [None] * len(fresh)
        rows = zip(fresh, linked, names, strict=True)
        held.update((text, Mentioned(known, found)) for text, known, found in rows)
        return held


def left_in_source(pairs: Sequence[Pair], lang: Pair) -> set[Pair]:
    """Pairs whose translation was left in the source language.

    Such a translation repeats words of its source; only those that do are identified.
    """
    copies = [pair for pair in pairs if lang[0] != lang[1] and _repeats(*pair)]
    if not copies:
        return set()
    from mtgauge.text.language import identify, known

    if not set(lang) <= known():
        return set()
    languages = identify([text for _, text in copies], lang)
    return {pair for pair, is_in in zip(copies, languages, strict=True) if is_in == lang[0]}


def _repeats(source: str, text: str) -> bool:
    """Whether enough of a text stands in its source to ask for its language."""
    words = _WORD.findall(text)
    length = sum(_UNSPACED_WORD if re.match(f"[{UNSPACED}]", word) else 1.0 for word in words)
    units = set(words)
    return length >= _TELLING_WORDS and (
        len(units.intersection(_WORD.findall(source))) >= _REPEATED * len(units)
    )
