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
from collections.abc import Sequence
from typing import NamedTuple

from mtgauge.knowledge.mention import Mention


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
        best = min(options, key=lambda j: (candidate[j].weak, candidate[j].ids[0] not in mention.ids, j))
        used.add(best)
        matched.append((mention, candidate[best]))
    invented = [m for j, m in enumerate(candidate) if j not in used and not m.weak]
    return Agreement(matched, lost, invented)
