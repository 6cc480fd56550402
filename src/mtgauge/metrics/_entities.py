"""KoBE's explanation: the entities that were lost, invented and kept, in words, with their places.

A place is (first, last + 1) character of the source (or reference) or of the translation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mtgauge.explanation import Explanation, Finding, Link
from mtgauge.knowledge.link.agreement import Agreement
from mtgauge.knowledge.link.mention import Mention


def explain_entities(
    name: str,
    score: float,
    side: str,
    found: Agreement,
    langs: tuple[str, str],
    describe: Callable[[Mention, str], dict[str, Any]],
) -> Explanation:
    """`describe` says in a language what a mention is: its id, category and name."""
    pairs, lost, invented = found
    left_lang, right_lang = langs
    findings = [
        *(Finding(f"lost {m.category}", "", m.text, 1.0, None, _place(m)) for m in lost),
        *(Finding(f"invented {m.category}", m.text, "", 0.0, _place(m)) for m in invented),
        *(
            Finding(f"kept {s.category}", t.text, s.text, 0.0, _place(t), _place(s))
            for s, t in pairs
        ),
    ]
    facts = {
        "matched": [
            {"source": s.text, "target": t.text, "source_at": _place(s), "target_at": _place(t)}
            | describe(s, right_lang)
            for s, t in pairs
        ],
        "lost": [
            {"source": m.text, "source_at": _place(m)} | describe(m, right_lang) for m in lost
        ],
        "invented": [
            {"target": m.text, "target_at": _place(m)} | describe(m, left_lang) for m in invented
        ],
    }
    return Explanation(
        name,
        score,
        tuple(m.text for m in [*(s for s, _ in pairs), *lost]),
        tuple(m.text for m in [*(t for _, t in pairs), *invented]),
        left_side=side,
        links=tuple(Link(i, i, 1.0, 0.0) for i in range(len(pairs))),
        facts=facts,
        findings=tuple(findings),
        unit="entities" if findings else "",
        remarks=(_tally(side, len(pairs), len(lost), len(invented)),),
    )


def _place(mention: Mention) -> tuple[int, int]:
    return mention.begin, mention.end


def _tally(side: str, kept: int, lost: int, invented: int) -> str:
    if not kept + lost:
        return f"The {side} names nothing that is known here: there is nothing to keep."
    return (
        f"Of {kept + lost} entities in the {side} {kept} are kept and {lost} lost; the "
        f"translation invents {invented}. In brackets: first and last character."
    )
