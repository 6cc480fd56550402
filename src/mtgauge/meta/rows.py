"""What meta-evaluation returns: a row for each metric, data set, language pair and level.

row.values["pearson"], row.intervals["pearson"], row.outcomes
row.to_dict()                 the JSON of DESIGN section 4
rows += average(rows)         means over language pairs, with their intervals
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mtgauge.engine.result import number
from mtgauge.engine.trust import direction
from mtgauge.signature import Signature, over
from mtgauge.stats.bootstrap import interval
from mtgauge.stats.correlation import FloatArray

STATISTICS = ("pearson", "spearman", "kendall", "tau_wmt")
ACCURACIES = ("acc_eq", "pairwise_accuracy", "spa")


@dataclass(frozen=True)
class Row:
    """One metric, data set, language pair and level."""

    metric: str
    signature: Signature
    data: str
    lp: str
    level: str
    n: int
    values: dict[str, float]
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)
    chance: dict[str, float] = field(default_factory=dict)
    pairs: dict[str, int] = field(default_factory=dict)
    outcomes: tuple[str, ...] = ()
    dataset: str | None = None
    over: tuple[str, ...] = ()  # the pairs an average is made of
    paper: list[dict[str, Any]] | None = None
    unserved: str | None = None  # why the metric has no scores for this language pair
    draws: dict[str, FloatArray] = field(default_factory=dict, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """The JSON of DESIGN section 4."""
        numbers = {name: number(self.values.get(name, np.nan)) for name in STATISTICS}
        low_high = self.intervals.get("pearson")
        return {
            "metric": self.metric,
            "signature": self.signature.short,
            "signature_full": self.signature.full,
            "data": self.data,
            "lp": self.lp,
            "level": self.level,
            "n": self.n,
            "pearson": numbers.pop("pearson"),
            "pearson_ci": None if low_high is None else [number(x) for x in low_high],
            **numbers,
            "paper": self.paper,
            **({} if self.unserved is None else {"reason": self.unserved}),
        }


@dataclass(frozen=True)
class Comparison:
    """p[i][j]: that metric i agrees better than metric j by chance."""

    data: str
    lp: str
    level: str
    statistic: str
    test: str
    metrics: tuple[str, ...]
    p: FloatArray
    clusters: list[int | None]

    def to_dict(self) -> dict[str, Any]:
        about = {k: getattr(self, k) for k in ("data", "lp", "level", "statistic", "test")}
        p = [[number(x) for x in row] for row in self.p.tolist()]
        return {**about, "metrics": list(self.metrics), "p": p, "clusters": self.clusters}


def average(rows: Sequence[Row]) -> list[Row]:
    """Means over language pairs, for each metric and data set that has two or more.

    Where pairs into and out of English are mixed, the two directions are averaged apart, as the
    shared tasks do. The interval of a mean comes from the means of the pairs' resamples.
    """
    groups: dict[tuple[str, str, str, str], list[Row]] = {}
    for row in rows:
        members = [r for r in rows if (r.metric, r.data) == (row.metric, row.data)]
        mixed = len({direction(r.lp) for r in members}) > 1
        name = f"average {direction(row.lp)}" if mixed else "average"
        groups.setdefault((row.metric, row.data, row.level, name), []).append(row)
    found = []
    for (metric, data, level, name), members in groups.items():
        served = [row for row in members if row.unserved is None]
        if len(members) < 2 or not served:
            continue
        values, draws, chance, outcomes = {}, {}, {}, []
        for statistic in dict.fromkeys(s for row in members for s in row.values):
            known = [r for r in members if not np.isnan(r.values.get(statistic, np.nan))]
            if not known:
                continue
            values[statistic] = float(np.mean([r.values[statistic] for r in known]))
            if len(known) < len(members):
                outcomes.append(f"{statistic}: mean over {len(known)} of {len(members)} pairs")
            if all(statistic in r.draws for r in known):
                draws[statistic] = np.mean([r.draws[statistic] for r in known], axis=0)
            if all(statistic in r.chance for r in known):
                chance[statistic] = float(np.mean([r.chance[statistic] for r in known]))
        found.append(
            Row(
                metric=metric,
                signature=over([row.signature for row in served], name),
                data=data,
                lp=name,
                level=level,
                n=sum(r.n for r in members),
                values=values,
                intervals=intervals(draws),
                chance=chance,
                pairs={s: sum(r.pairs.get(s, 0) for r in served) for s in served[0].pairs},
                outcomes=tuple(outcomes),
                dataset=members[0].dataset,
                over=tuple(r.lp for r in members),
            )
        )
    return found


def intervals(samples: dict[str, FloatArray]) -> dict[str, tuple[float, float]]:
    """95 % percentile intervals; none where more than half of the resamples are undefined."""
    found = {}
    for name, draws in samples.items():
        known = draws[~np.isnan(draws)]
        if len(known) and 2 * len(known) >= len(draws):
            low, high = interval(known[:, None])[0]
            found[name] = (float(low), float(high))
    return found
