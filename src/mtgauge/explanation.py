"""What a score was made of: what `explain` of a metric returns, and reports draw.

    Explanation("ter", 40.0, links=(...), findings=(Finding("missing", other="not", cost=1.0),))

Words of both sides, links between them, what the score lost by, and remarks for people.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Link:
    """`left[i]` sent `weight` to `right[j]`; `cost` is the distance, or 1 - similarity."""

    i: int
    j: int
    weight: float
    cost: float


@dataclass(frozen=True)
class Finding:
    """One thing that a score lost by, or that a reader should know.

    `what` names it ("replaced", "missing", "lost"); `text` stands in the translation, `other` on
    the side that it was compared with; `cost` is in the explanation's `unit`; `at` and `other_at`
    are their characters in those texts, where they are known.
    """

    what: str
    text: str = ""
    other: str = ""
    cost: float = 0.0
    at: tuple[int, int] | None = None
    other_at: tuple[int, int] | None = None

    def to_dict(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if value not in ("", None)}


@dataclass(frozen=True)
class Explanation:
    """What one segment's score was made of; reports draw it, `to_dict` is its JSON.

    `left` and `right` are the words compared (or n-grams, entities), with the pieces that a
    tokeniser cut them into; `links` say how they met, `matrix` how far apart all of them are,
    `findings` what cost most, the costliest first, `facts` named numbers and lists, `remarks` the
    same for people. The parts of a combined metric are explanations themselves. `sentences` and
    `meaning` are filled in by `mtgauge.explain`.
    """

    metric: str
    score: float
    left: tuple[str, ...] = ()
    right: tuple[str, ...] = ()
    left_side: str = "reference"
    right_side: str = "hypothesis"
    links: tuple[Link, ...] = ()
    matrix: NDArray[np.float64] | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    unit: str = ""  # of the findings' costs: edits, n-grams, nats; empty: they have none
    remarks: tuple[str, ...] = ()
    left_pieces: tuple[tuple[str, ...], ...] = ()
    right_pieces: tuple[tuple[str, ...], ...] = ()
    parts: tuple[Explanation, ...] = ()
    sentences: dict[str, str] = field(default_factory=dict)
    meaning: str = ""

    def __str__(self) -> str:
        """The text of `mtgauge explain`, which is made in report/."""
        import mtgauge

        return str(mtgauge.public("show")(self, "terminal"))

    def __repr__(self) -> str:
        return f"<Explanation: {self.metric} {self.score:.4f}; print() shows it>"

    def to_dict(self) -> dict[str, Any]:
        return {
            "metric": self.metric,
            "score": self.score,
            "meaning": self.meaning,
            "sentences": self.sentences,
            "unit": self.unit,
            "findings": [finding.to_dict() for finding in self.findings],
            "remarks": list(self.remarks),
            self.left_side: _words(self.left, self.left_pieces),
            self.right_side: _words(self.right, self.right_pieces),
            "links": [[x.i, x.j, x.weight, x.cost] for x in self.links],
            "matrix": None if self.matrix is None else self.matrix.tolist(),
            "facts": self.facts,
            "parts": [part.to_dict() for part in self.parts],
        }


def _words(words: tuple[str, ...], pieces: tuple[tuple[str, ...], ...]) -> list[Any]:
    """Words for JSON; where a tokeniser cut them, each with its pieces."""
    if not pieces:
        return list(words)
    return [{"word": w, "pieces": list(p)} for w, p in zip(words, pieces, strict=True)]
