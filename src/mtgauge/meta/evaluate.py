"""From judgements and metrics to rows: how well does each metric agree with people?

    scores = scoring.score(judgements, "chrf")
    rows, comparisons = evaluate(judgements, [scores], level="segment")
    rows += average(rows)

Correlations keep their sign. Every odd case has a name in `Row.outcomes`, and its number is NaN,
never 0: constant scores, fewer than three systems, undefined scores, translations that nobody
judged, judged translations that were not scored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mtgauge.data.judgements import Judgements
from mtgauge.engine.result import number
from mtgauge.meta import accuracy, correlation, resample, significance
from mtgauge.meta.correlation import FloatArray, IntArray
from mtgauge.meta.scoring import Level, Scores
from mtgauge.stats.bootstrap import RESAMPLES, SEED, interval

STATISTICS = ("pearson", "spearman", "kendall", "tau_wmt")
ACCURACIES = ("acc_eq", "pairwise_accuracy", "spa")


@dataclass(frozen=True)
class Row:
    """One metric, data set, language pair and level."""

    metric: str
    signature: str
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
    draws: dict[str, FloatArray] = field(default_factory=dict, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """The JSON of DESIGN section 4."""
        numbers = {name: number(self.values.get(name, np.nan)) for name in STATISTICS}
        low_high = self.intervals.get("pearson")
        return {
            "metric": self.metric,
            "signature": self.signature,
            "data": self.data,
            "lp": self.lp,
            "level": self.level,
            "n": self.n,
            "pearson": numbers["pearson"],
            "pearson_ci": None if low_high is None else [number(x) for x in low_high],
            "spearman": numbers["spearman"],
            "kendall": numbers["kendall"],
            "tau_wmt": numbers["tau_wmt"],
            "paper": self.paper,
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


def evaluate(
    judgements: Judgements,
    scores: Sequence[Scores],
    level: Level = "segment",
    *,
    test: significance.Test = "williams",
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> tuple[list[Row], list[Comparison]]:
    """A row for each metric, and which metric is better than which."""
    if level == "system":
        human, tables, outcomes = _system_points(judgements, scores)
    else:
        human, tables = judgements.human, np.array([s.segments for s in scores])
        unjudged = int(np.isnan(human).sum())
        outcomes = [f"{unjudged} translations not judged, left out"] if unjudged else []
    judged = ~np.isnan(human)
    drawn = _Draws(human, tables, judged, level, resamples, seed)
    pairs = _better_worse(judgements) if level == "segment" else np.empty((0, 2), dtype=np.int64)
    rows = []
    for j, item in enumerate(scores):
        mask = judged & ~np.isnan(tables[j])
        named = [*outcomes, *_outcomes(tables[j], human, judged, mask, level)]
        values, samples = drawn.of(j)
        chance: dict[str, float] = {}
        sizes: dict[str, int] = {}
        if level == "segment":
            known = pairs[~np.isnan(tables[j][pairs]).any(axis=1)]
            if len(known):
                values["tau_wmt"] = float(correlation.tau_wmt(tables[j], known))
                sizes["tau_wmt"] = len(known)
                samples["tau_wmt"] = resample.bootstrap_tau_wmt(tables[j], known, resamples, seed)[
                    :, 0
                ]
        for name, found in _accuracies(judgements, item, tables[j], human, level).items():
            values[name], chance[name], sizes[name] = found.value, found.chance, found.pairs
        rows.append(
            Row(
                metric=item.metric,
                signature=item.signature,
                data=judgements.data,
                lp=judgements.lp,
                level=level,
                n=int(mask.sum()),
                values=values,
                intervals=_intervals(samples),
                chance=chance,
                pairs=sizes,
                outcomes=tuple(named),
                dataset=judgements.dataset,
                draws=samples,
            )
        )
    return rows, _compare(judgements, rows, tables, human, pairs, level, test, seed)


def average(rows: Sequence[Row]) -> list[Row]:
    """Means over language pairs, for each metric and data set that has two or more.

    Where pairs into and out of English are mixed, the two directions are averaged apart, as the
    shared tasks do. The interval of a mean comes from the means of the pairs' resamples.
    """
    groups: dict[tuple[str, str, str, str], list[Row]] = {}
    for row in rows:
        members = [r for r in rows if (r.metric, r.data) == (row.metric, row.data)]
        mixed = len({r.lp.endswith("-en") for r in members}) > 1
        side = (" X-en" if row.lp.endswith("-en") else " en-X") if mixed else ""
        groups.setdefault((row.metric, row.data, row.level, "average" + side), []).append(row)
    found = []
    for (metric, data, level, name), members in groups.items():
        if len(members) < 2:
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
                signature=members[0].signature,
                data=data,
                lp=name,
                level=level,
                n=sum(r.n for r in members),
                values=values,
                intervals=_intervals(draws),
                chance=chance,
                pairs={s: sum(r.pairs.get(s, 0) for r in members) for s in members[0].pairs},
                outcomes=tuple(outcomes),
                dataset=members[0].dataset,
                over=tuple(r.lp for r in members),
            )
        )
    return found


class _Draws:
    """Correlations and their resamples, made together for metrics that miss nothing."""

    def __init__(
        self,
        human: FloatArray,
        tables: FloatArray,
        judged: np.ndarray,
        level: Level,
        resamples: int,
        seed: int,
    ) -> None:
        self._found: list[tuple[dict[str, float], dict[str, FloatArray]]] = [
            ({}, {}) for _ in tables
        ]
        groups: dict[bytes, list[int]] = {}
        for j, column in enumerate(tables):
            groups.setdefault((judged & ~np.isnan(column)).tobytes(), []).append(j)
        for members in groups.values():
            mask = judged & ~np.isnan(tables[members[0]])
            x, h = tables[members][:, mask], human[mask]
            for name in ("pearson", "spearman", "kendall"):
                points = getattr(correlation, name)(x, h)
                draws = None
                if resamples and (name != "kendall" or len(h) <= resample.KENDALL_LIMIT):
                    draws = resample.bootstrap(x, h, name, resamples, seed)
                for k, j in enumerate(members):
                    self._found[j][0][name] = float(points[k])
                    if draws is not None:
                        self._found[j][1][name] = draws[:, k]
            if level == "system":
                robust = correlation.robust_pearson(x, h)
                for k, j in enumerate(members):
                    self._found[j][0]["robust_pearson"] = float(robust[k])

    def of(self, j: int) -> tuple[dict[str, float], dict[str, FloatArray]]:
        return self._found[j]


def _intervals(samples: dict[str, FloatArray]) -> dict[str, tuple[float, float]]:
    """95 % percentile intervals; none where more than half of the resamples are undefined."""
    found = {}
    for name, draws in samples.items():
        known = draws[~np.isnan(draws)]
        if len(known) and 2 * len(known) >= len(draws):
            low, high = interval(known[:, None])[0]
            found[name] = (float(low), float(high))
    return found


def _system_points(
    judgements: Judgements, scores: Sequence[Scores]
) -> tuple[FloatArray, FloatArray, list[str]]:
    human = dict(judgements.system_human) or {
        system: float(np.nanmean(judgements.human[rows]))
        for system, rows in judgements.rows_by_system().items()
        if not np.isnan(judgements.human[rows]).all()
    }
    outcomes = []
    if not judgements.system_human:
        outcomes.append("human score of a system: the mean of its judged segments")
    unjudged = {s for item in scores for s in item.systems} - set(human)
    if unjudged:
        outcomes.append(f"{len(unjudged)} systems not judged, left out")
    names = list(human)
    tables = [[item.systems.get(system, np.nan) for system in names] for item in scores]
    return np.array(list(human.values())), np.array(tables, dtype=np.float64), outcomes


def _outcomes(
    column: FloatArray, human: FloatArray, judged: np.ndarray, mask: np.ndarray, level: Level
) -> list[str]:
    what = "systems" if level == "system" else "translations"
    found = []
    unscored = int((judged & np.isnan(column)).sum())
    if unscored:
        found.append(f"{unscored} judged {what} have no score, left out")
    n = int(mask.sum())
    if n < 3:
        found.append(f"{n} {what}: a correlation needs three (two points always lie on a line)")
    elif correlation.is_constant(column[mask]):
        found.append("constant scores: no correlation")
    elif correlation.is_constant(human[mask]):
        found.append("constant human scores: no correlation")
    return found


def _better_worse(judgements: Judgements) -> IntArray:
    """Better/worse pairs: as distributed, or rebuilt from raw judgements."""
    if judgements.pairs is not None:
        return judgements.pairs
    if judgements.raw is None:
        return np.empty((0, 2), dtype=np.int64)
    return correlation.darr_pairs(judgements.sids, judgements.raw)


def _accuracies(
    judgements: Judgements, item: Scores, column: FloatArray, human: FloatArray, level: Level
) -> dict[str, accuracy.Accuracy]:
    found = {}
    if level == "segment":
        if _side_by_side(judgements):
            found["acc_eq"] = accuracy.acc_eq(column, human, judgements.sids)
    else:
        known = ~np.isnan(column)
        found["pairwise_accuracy"] = accuracy.pairwise_accuracy(column[known], human[known])
        if not np.isnan(judgements.human).all() and not np.isnan(item.segments).all():
            found["spa"] = accuracy.spa(
                _grid(judgements, item.segments), _grid(judgements, judgements.human)
            )
    return {name: value for name, value in found.items() if value.pairs}


def _side_by_side(judgements: Judgements) -> bool:
    """Whether most judged segments were judged for several systems.

    Where each segment was drawn for one system (DAseg), a few meet by accident: 36 pairs of 560
    segments would make an accuracy of nothing but noise.
    """
    judged = [sid for sid, h in zip(judgements.sids, judgements.human, strict=True) if h == h]
    counts = Counter(judged)
    return 2 * sum(counts[sid] > 1 for sid in judged) > len(judged)


def _grid(judgements: Judgements, column: FloatArray) -> FloatArray:
    """(systems, segments) from rows."""
    segment = {sid: i for i, sid in enumerate(dict.fromkeys(judgements.sids))}
    system = {name: i for i, name in enumerate(dict.fromkeys(judgements.systems))}
    grid = np.full((len(system), len(segment)), np.nan)
    at = [system[name] for name in judgements.systems], [segment[sid] for sid in judgements.sids]
    grid[at] = column
    return grid


def _compare(
    judgements: Judgements,
    rows: Sequence[Row],
    tables: FloatArray,
    human: FloatArray,
    pairs: IntArray,
    level: Level,
    test: significance.Test,
    seed: int,
) -> list[Comparison]:
    """Tests on the points that every metric has scored."""
    if len(rows) < 2:
        return []
    names = tuple(row.metric for row in rows)
    about = (judgements.data, judgements.lp, level)
    found = []
    common = ~np.isnan(human) & ~np.isnan(tables).any(axis=0)
    if common.sum() >= 4:
        p = significance.matrix(tables[:, common], human[common], test, seed)
        values = [row.values["pearson"] for row in rows]
        ranks = significance.clusters(values, p)
        found.append(Comparison(*about, "pearson", test, names, p, ranks))
    known = pairs[~np.isnan(tables[:, pairs]).any(axis=(0, 2))] if len(pairs) else pairs
    if len(known):
        p = significance.tau_matrix(tables, known, seed)
        ranks = significance.clusters([row.values["tau_wmt"] for row in rows], p)
        found.append(Comparison(*about, "tau_wmt", "bootstrap", names, p, ranks))
    return found
