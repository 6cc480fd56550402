"""A mention: a stretch of a text that names an entity; and what finds mentions, the Linker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Mention(NamedTuple):
    """`text[begin:end]` names one of `ids`, the likeliest first.

    A weak mention (an adjective, an ordinary word that happens to be a town) may support a match
    with the other side of a sentence pair, but is not counted by itself.
    """

    begin: int
    end: int
    text: str
    ids: tuple[str, ...]
    category: str
    weak: bool = False


class Linker(Protocol):
    """Anything that finds mentions: the knowledge base, stored annotations, a spaCy pipeline."""

    def link(self, texts: Sequence[str], lang: str) -> list[list[Mention]]:
        """The mentions of each text, in order of their beginning."""
        ...
