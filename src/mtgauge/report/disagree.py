"""Segments on which a metric and people disagree most: the examples of a paper, by a command.

    mtgauge meta da17.tsv.gz -l de-en -m esim sentbleu --disagree 5

Scores of a language pair become percentiles (0 the worst, 100 the best translation, ties in the
middle), people's and the metric's; the difference of the two is the disagreement. A list has the
segments that the metric rates highest above people, then those it rates lowest below them. Tables 6
and 7 of Mathur et al. 2019 are such lists.
"""

from __future__ import annotations

import numpy as np

from mtgauge.errors import UsageError
from mtgauge.meta.study import Findings
from mtgauge.report.writers import draw, escape
from mtgauge.stats.correlation import FloatArray, mean_ranks


def percentiles(values: FloatArray) -> FloatArray:
    """From the values to 0 ... 100 by rank; equal values share the middle of their ranks.

    >>> percentiles(np.array([3.0, 1.0, 1.0, 9.0])).round().tolist()
    [67.0, 17.0, 17.0, 100.0]
    """
    if len(values) < 2:
        return np.full(len(values), 50.0)
    return np.asarray(100 * (mean_ranks(values) - 1) / (len(values) - 1))


def render(found: Findings, many: int, format: str) -> str:
    """A table per metric and language pair, `many` segments either way."""
    if found.level != "segment":
        raise UsageError("--disagree lists segments: it has no meaning at system level.")
    if many < 1:
        raise UsageError("--disagree must be positive.")
    blocks = []
    for judged, scores in found.scored:
        for one in scores:
            known = np.flatnonzero(~(np.isnan(judged.human) | np.isnan(one.segments)))
            if not len(known):
                continue
            people = percentiles(judged.human[known])
            metric = percentiles(one.segments[known])
            order = np.argsort(people - metric, kind="stable")
            count = min(many, len(known) // 2)
            chosen = [*order[:count], *order[len(order) - count :][::-1]]
            grid = [["segment", "system", "people", "metric", "reference", "translation"]]
            for k in chosen:
                i = int(known[k])
                reference = (judged.references or [("",)] * len(judged))[i][0]
                text = (judged.hypotheses or [""] * len(judged))[i]
                place = [judged.sids[i], judged.systems[i]]
                grid.append([*place, f"{people[k]:.0f}", f"{metric[k]:.0f}", reference, text])
            title = f"{one.metric}, {judged.data} {judged.lp}: rated too high, then too low"
            blocks += [escape(title, format), draw(grid, format, numbers=False)]
    return "\n\n".join(blocks) + "\n"
