"""Matching the mentions of two sides of a sentence pair.

    matched, lost, invented = agree(source_mentions, candidate_mentions)

Every mention of the source is given at most one mention of the candidate with an entity in common:
this is the paper's clipped count, sum over ids of min(count in source, count in candidate), where
every mention has one id. A mention with several possible ids takes the one that the other side
supports; mentions with the fewest choices are served first. Weak mentions of the candidate support
a match but are not counted otherwise; weak mentions of the source are left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from mtgauge.knowledge.base.store import SPACELESS_SCRIPTS, script_of
from mtgauge.knowledge.link.mention import Mention
from mtgauge.knowledge.link.morphology import morphology
from mtgauge.knowledge.link.names import NameFinder, meet, meet_derived


class Agreement(NamedTuple):
    """Pairs (source mention, candidate mention), and what is on one side only."""

    matched: list[tuple[Mention, Mention]]
    lost: list[Mention]
    invented: list[Mention]


def agree(source: Sequence[Mention], candidate: Sequence[Mention]) -> Agreement:
    """Match the counted mentions of the source with mentions of the candidate."""
    by_id: dict[str, list[int]] = defaultdict(list)
    for j, mention in enumerate(candidate):
        for id in mention.ids:
            by_id[id].append(j)
    used: set[int] = set()
    matched: list[tuple[Mention, Mention]] = []
    lost: list[Mention] = []
    for mention in sorted(source, key=lambda m: len(m.ids)):
        if mention.weak:
            continue
        options = [j for id in mention.ids for j in by_id.get(id, ()) if j not in used]
        if not options:
            lost.append(mention)
            continue
        # a counted mention before a weak one, the candidate's first choice of id before others
        best = min(
            options, key=lambda j: (candidate[j].weak, candidate[j].ids[0] not in mention.ids, j)
        )
        used.add(best)
        matched.append((mention, candidate[best]))
    invented = [m for j, m in enumerate(candidate) if j not in used and not m.weak]
    return Agreement(matched, lost, invented)


def agree_on_names(
    found: Agreement,
    text: str,
    candidate: Sequence[Mention],
    names: tuple[Sequence[Mention], Sequence[Mention]],
    names_of: Callable[[str], Sequence[str]],
) -> Agreement:
    """The agreement with provisional names (of both sides) added, and second chances for lost ones.

    A known name may be kept in `text` as a word derived from one of its names in the target
    language (`names_of`). It is not met by its sound: a system that transcribes what has an
    established name has lost it. Chinese characters are, since their sound is exact.
    """
    spelt = [m for m in found.lost if m.category in _SPELT]
    dates = [m for m in found.lost if m.category == "date"]
    met: dict[Mention, Mention] = {}
    if spelt or dates or names[0]:
        taken = [t for _, t in found.matched] + [m for m in candidate if m.category not in _SPELT]
        for mention in (*spelt, *dates):
            forms = [name for id in mention.ids[:2] for name in names_of(id)]
            derived = meet_derived(mention, forms, text, [*taken, *met.values()]) if forms else None
            if derived is not None:
                met[mention] = derived
        open_names = [*names[0], *(m for m in spelt if m not in met and ord(m.text[0]) in _CHINESE)]
        met |= meet(open_names, text, [*taken, *met.values()])
    lost = [m for m in [*found.lost, *names[0]] if m not in met]
    begins = {m.begin for m in met.values()}
    invented = [m for m in [*found.invented, *names[1]] if m.begin not in begins]
    return Agreement(found.matched + list(met.items()), lost, invented)


def matches_by_sound(target: str) -> bool:
    """Whether a name can be told by its sound in a language: not in Chinese."""
    return script_of(target) not in SPACELESS_SCRIPTS


def find_names(
    texts: Sequence[str], known: Sequence[Sequence[Mention]], lang: str
) -> list[list[Mention]]:
    """The provisional names of each text, beside the mentions it already has."""
    finder = _finder(lang)
    return [finder.find(text, mentions) for text, mentions in zip(texts, known, strict=True)]


_CHINESE = range(0x4E00, 0xA000)
_SPELT = frozenset({"place", "organisation", "person", "name"})


@lru_cache(maxsize=16)
def _finder(lang: str) -> NameFinder:
    return NameFinder(lang, morphology(lang))
