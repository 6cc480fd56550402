"""Segments: what a metric is given, as columns of equal length.

Row i is one translation: `hypotheses[i]`, its source `sources[i]` and its references
`references[i]` (a tuple, since a segment may have several). Systems of one run are stacked below
each other, so sources and references repeat: a metric that encodes texts encodes distinct ones.

`lang` is the pair in its usual form (`en-zh-CN`, however it was written); `source_lang` and
`target_lang` are what models and dictionaries are asked for, without script and region (`zh`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mtgauge.data.checks import language_pair
from mtgauge.data.codes import bases
from mtgauge.errors import UsageError


@dataclass(frozen=True, slots=True)
class Segments:
    """
    >>> batch = Segments(["A cat."], references=[("The cat.",)], lang="de-en")
    >>> len(batch), batch.target_lang
    (1, 'en')
    """

    hypotheses: Sequence[str]
    sources: Sequence[str] | None = None
    references: Sequence[tuple[str, ...]] | None = None
    lang: str | None = None

    def __post_init__(self) -> None:
        if self.lang is not None:
            object.__setattr__(self, "lang", language_pair(self.lang))
        for name in ("hypotheses", "sources", "references"):
            column = getattr(self, name)
            if column is None:
                continue
            if isinstance(column, str | bytes) or not hasattr(column, "__len__"):
                kind = type(column).__name__
                raise UsageError(f"Segments.{name} is a {kind}; a list has one entry per segment.")
            if len(column) != len(self.hypotheses):
                raise UsageError(
                    f"{len(self.hypotheses)} hypotheses but {len(column)} {name}: "
                    "every hypothesis needs its own."
                )
        if self.references is not None:
            for row in self.references:
                if not isinstance(row, tuple):
                    raise UsageError("Segments.references holds one tuple of texts per hypothesis.")

    def __len__(self) -> int:
        return len(self.hypotheses)

    @property
    def source_lang(self) -> str | None:
        return bases(self.lang)[0]

    @property
    def target_lang(self) -> str | None:
        return bases(self.lang)[1]

    def cut(self, longest: int) -> tuple[Segments, int]:
        """The same with every text cut to so many characters, and how many rows had a longer one.

        >>> Segments(["one two three"], references=[("one",)]).cut(9)[0].hypotheses
        ['one two']
        """
        references = self.references or [()] * len(self)
        sources = self.sources or [""] * len(self)
        rows = zip(self.hypotheses, sources, references, strict=True)
        over = sum(max(map(len, (h, s, *refs))) > longest for h, s, refs in rows)
        if not over:
            return self, 0
        return self.mapped(lambda text: _cut(text, longest)), over

    def mapped(self, change: Callable[[str], str]) -> Segments:
        """The same with every text changed."""
        references = self.references
        return Segments(
            [change(text) for text in self.hypotheses],
            None if self.sources is None else [change(text) for text in self.sources],
            None if references is None else [tuple(map(change, row)) for row in references],
            self.lang,
        )

    def take(self, rows: Sequence[int]) -> Segments:
        """The given rows, in the given order."""
        return Segments(
            [self.hypotheses[i] for i in rows],
            None if self.sources is None else [self.sources[i] for i in rows],
            None if self.references is None else [self.references[i] for i in rows],
            self.lang,
        )


def _cut(text: str, longest: int) -> str:
    """The beginning of a text, up to the end of a word where it has words."""
    if len(text) <= longest:
        return text
    head = text[:longest]
    if text[longest].isspace() or len(words := head.rsplit(None, 1)) < 2:
        return head
    return words[0]
