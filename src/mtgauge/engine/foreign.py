"""Scores of other tools in the same table: same intervals, same tests.

    comet, *_ = foreign.read("comet.json", {"a": "a.txt", "b": "b.txt"})
    table = rows(comet, ["a", "b"], segments=100)     shape (systems, segments, 2)
    ready = as_ready(comet.name, lower=False, lang="de-en")

The row is (score, whether there is one), a system's score the mean of its segments that have one.
A segment that some system has no score for counts for none: means over different segments compare
nothing, and a tool that fails on the hard ones would make its system the better. The signature
says `from:file`: how the numbers were made is known to the tool that made them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from mtgauge.data.foreign import Foreign
from mtgauge.engine.ready import Ready
from mtgauge.errors import UsageError
from mtgauge.metric import FloatArray, Metric
from mtgauge.signature import Signature


class ForeignMetric(Metric):
    """What reads the rows; a subclass has the metric's name and direction."""

    columns = ("score", "scored")
    needs = frozenset[str]()

    def segment_score(self, rows: FloatArray) -> FloatArray:
        return self.system_score(rows, rows[:, 1])

    def system_score(self, totals: FloatArray, n: FloatArray) -> FloatArray:
        found = np.full(len(totals), np.nan)
        np.divide(totals[:, 0], totals[:, 1], out=found, where=totals[:, 1] > 0)
        return found


def as_ready(name: str, *, lower: bool, lang: str | None) -> Ready:
    facts = {"from": "file", "higher_is_better": "no" if lower else "yes", "lang": lang or "none"}
    kind = type("ForeignMetric", (ForeignMetric,), {"name": name, "higher_is_better": not lower})
    return Ready(name, kind(), Signature(name, facts=facts))


def rows(foreign: Foreign, systems: Sequence[str], segments: int) -> FloatArray:
    """Statistics of every system and segment; wrong systems and lengths are refused."""
    foreign.check(systems, segments)
    table = np.stack([foreign.scores[name] for name in systems])
    scored = np.broadcast_to(~np.isnan(table).any(axis=0), table.shape)
    return np.stack([np.where(scored, table, 0.0), scored.astype(np.float64)], axis=2)


def partly_scored(foreign: Foreign) -> int:
    """Segments that some systems have a score for and others not."""
    unknown = np.isnan(np.stack(list(foreign.scores.values())))
    return int((unknown.any(axis=0) & ~unknown.all(axis=0)).sum())


def refuse_names(found: Sequence[Foreign], specs: Sequence[str], lower: Collection[str]) -> None:
    """Two columns of one name, or a direction of a metric that was not brought."""
    names = [one.name for one in found]
    for one in found:
        if names.count(one.name) > 1 or one.name in specs:
            raise UsageError(
                f"Two metrics are called {one.name!r}: rename the column or the file {one.label}."
            )
    if unknown := sorted(set(lower) - set(names)):
        have = ", ".join(names) or "none were given"
        raise UsageError(f"--lower names scores of other tools: {', '.join(unknown)} is not one "
                         f"(there are: {have}).")  # fmt: skip
