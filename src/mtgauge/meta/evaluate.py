"""From judgements and metrics to rows: how well does each metric agree with people?

    scores = scoring.score(judgements, "chrf")
    rows, comparisons = evaluate(judgements, [scores], level="segment")
    rows += average(rows)

Correlations keep their sign. Every odd case has a name in `Row.outcomes`, and its number is NaN,
never 0: constant scores, fewer than three systems, undefined scores, translations that nobody
judged, judged translations that were not scored. Below six points a resample holds the same two or
three again and again and lies on a line: there is no interval.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from mtgauge.data.judgements import Judgements
from mtgauge.meta import accuracy, significance
from mtgauge.meta.rows import Comparison, Row, intervals
from mtgauge.meta.scoring import Level, Scores
from mtgauge.stats import correlation, correlation_bootstrap
from mtgauge.stats.bootstrap import RESAMPLES, SEED
from mtgauge.stats.correlation import FloatArray, IntArray
from mtgauge.stats.paired import FEWEST, too_few


def evaluate(
    judgements: Judgements,
    scores: Sequence[Scores],
    level: Level = "segment",
    *,
    test: significance.Test = "williams",
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> tuple[list[Row], list[Comparison]]:
    """A row for each metric, and which metric is better than which.

    A metric that cannot serve the language pair has a row without numbers, and takes no part in
    the comparison.
    """
    served = [item for item in scores if item.unserved is None]
    rows, comparisons = _served(judgements, served, level, test, resamples, seed)
    left = iter(rows)
    every = [next(left) if s.unserved is None else _unserved(judgements, s, level) for s in scores]
    return every, comparisons


def _unserved(judgements: Judgements, item: Scores, level: Level) -> Row:
    reason = str(item.unserved)
    return _row(judgements, item, level, n=0, values={}, outcomes=(reason,), unserved=reason)


def _row(judgements: Judgements, item: Scores, level: Level, **found: Any) -> Row:
    return Row(
        metric=item.metric,
        signature=item.signature,
        data=judgements.data,
        lp=judgements.lp,
        level=level,
        dataset=judgements.dataset,
        **found,
    )


def _served(
    judgements: Judgements,
    scores: Sequence[Scores],
    level: Level,
    test: significance.Test,
    resamples: int,
    seed: int,
) -> tuple[list[Row], list[Comparison]]:
    if not scores:
        return [], []
    if level == "system":
        human, tables, outcomes = _system_points(judgements, scores)
    else:
        human, tables = judgements.human, np.array([s.segments for s in scores])
        unjudged = int(np.isnan(human).sum())
        outcomes = [f"{_number(unjudged, 'translation')} not judged, left out"] if unjudged else []
    judged = ~np.isnan(human)
    drawn = _Draws(human, tables, judged, level, resamples, seed)
    pairs = _better_worse(judgements) if level == "segment" else np.empty((0, 2), dtype=np.int64)
    rows = []
    for j, item in enumerate(scores):
        column = tables[j]
        mask = judged & ~np.isnan(column)
        named = [*outcomes, *_outcomes(column, human, judged, mask, level)]
        if not judged.any() and len(pairs):
            named = ["only better/worse pairs were judged: no correlation with scores"]
        values, samples = drawn.of(j)
        n = int(mask.sum())
        if resamples and 3 <= n < FEWEST:
            named = [*named, f"{too_few(n, 'point')} for an interval"]
        agreed = _accuracies(judgements, item, column, human, level)
        sizes = {name: found.pairs for name, found in agreed.items()}
        values |= {name: found.value for name, found in agreed.items()}
        known = pairs[~np.isnan(column[pairs]).any(axis=1)]
        if len(known):
            sizes["tau_wmt"] = len(known)
            values["tau_wmt"] = float(correlation.tau_wmt(column, known))
            draws = correlation_bootstrap.resampled_tau_wmt(column, known, resamples, seed)
            samples["tau_wmt"] = draws[:, 0]
        firm = {name: s for name, s in samples.items() if n >= FEWEST or name == "tau_wmt"}
        rows.append(
            _row(
                judgements,
                item,
                level,
                n=n,
                values=values,
                intervals=intervals(firm),
                chance={name: found.chance for name, found in agreed.items()},
                pairs=sizes,
                outcomes=tuple(named),
                draws=samples,
            )
        )
    return rows, _compare(judgements, scores, rows, tables, human, pairs, level, test, seed)


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
                if resamples and (name == "pearson" or len(h) <= correlation_bootstrap.RANK_LIMIT):
                    draws = correlation_bootstrap.resampled_correlations(
                        x, h, name, resamples, seed
                    )
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


def _system_points(
    judgements: Judgements, scores: Sequence[Scores]
) -> tuple[FloatArray, FloatArray, list[str]]:
    human = dict(judgements.system_human) or judgements.system_means(judgements.human)
    outcomes = []
    if not judgements.system_human:
        outcomes.append("human score of a system: the mean of its judged segments")
    unjudged = {s for item in scores for s in item.systems} - set(human)
    if unjudged:
        outcomes.append(f"{_number(len(unjudged), 'system')} not judged, left out")
    names = list(human)
    tables = [[item.systems.get(system, np.nan) for system in names] for item in scores]
    return np.array(list(human.values())), np.array(tables, dtype=np.float64), outcomes


def _number(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _outcomes(
    column: FloatArray, human: FloatArray, judged: np.ndarray, mask: np.ndarray, level: Level
) -> list[str]:
    what = "system" if level == "system" else "translation"
    found = []
    unscored = int((judged & np.isnan(column)).sum())
    if unscored:
        verb = "has" if unscored == 1 else "have"
        found.append(f"{_number(unscored, f'judged {what}')} {verb} no score, left out")
    n = int(mask.sum())
    if n < 3:
        found.append(
            f"{_number(n, what)}: a correlation needs three (two points always lie on a line)"
        )
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
    scores: Sequence[Scores],
    rows: Sequence[Row],
    tables: FloatArray,
    human: FloatArray,
    pairs: IntArray,
    level: Level,
    test: significance.Test,
    seed: int,
) -> list[Comparison]:
    """Tests and order on the points that every metric has scored.

    A metric that scored the easy ones alone has a better correlation in its row, and no better
    place here.
    """
    if len(rows) < 2:
        return []
    names = tuple(row.metric for row in rows)
    about = (judgements.data, judgements.lp, level)
    found = []
    common = ~np.isnan(human) & ~np.isnan(tables).any(axis=0)
    if common.sum() >= 4:
        points = tables[:, common]
        cells = _cells(judgements, scores, points) if common.all() and level == "system" else None
        p = significance.matrix(points, human[common], test, seed, cells)
        ranks = significance.clusters(correlation.pearson(points, human[common]).tolist(), p)
        found.append(Comparison(*about, "pearson", test, names, p, ranks))
    known = pairs[~np.isnan(tables[:, pairs]).any(axis=(0, 2))] if len(pairs) else pairs
    if len(known):
        p = significance.tau_matrix(tables, known, seed)
        ranks = significance.clusters(correlation.tau_wmt(tables, known).tolist(), p)
        found.append(Comparison(*about, "tau_wmt", "bootstrap", names, p, ranks))
    return found


def _cells(
    judgements: Judgements, scores: Sequence[Scores], points: FloatArray
) -> FloatArray | None:
    """(metrics, systems, segments) for PERM-BOTH, where every system score is a mean of segments.

    None where it is not (BLEU's is a ratio of sums) or where segments are missing: then whole
    systems are swapped.
    """
    names = dict.fromkeys(judgements.systems)
    judged = [name in judgements.system_human or not judgements.system_human for name in names]
    if not len(judgements) or sum(judged) != points.shape[1]:
        return None
    grids = np.array([_grid(judgements, item.segments)[judged] for item in scores])
    means = grids.mean(axis=2)
    order = [[item.systems[n] for n, j in zip(names, judged, strict=True) if j] for item in scores]
    if np.isnan(means).any() or not np.allclose(means, order, rtol=1e-9, atol=1e-12):
        return None
    if judgements.system_human:  # points follow the human scores, the grid follows the rows
        at = [name for name, j in zip(names, judged, strict=True) if j]
        grids = grids[:, [at.index(name) for name in judgements.system_human]]
    return grids
