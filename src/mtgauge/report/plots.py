"""Pictures (extra `plot`): scores against people's, probes, the figures of the papers.

plot(folder, scored, level)      DATA.LP.METRIC.png: left the scatter, right the scores of the
                                 better and the worse half of the translations
plot_experiment(folder, found)   PAPER.TABLE.png: printed and ours, a bar per row
plot_probes(folder, probes)      PROBE.LP.METRIC.png: how d is spread (Figure 3 of paper 000)
plot_curve(path, points)         a curve per way to measure, by number of sentence pairs (Figure 4)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from mtgauge.data.judgements import Judgements
from mtgauge.data.output import file_name
from mtgauge.meta import experiments, tables
from mtgauge.meta.probes import Probe
from mtgauge.meta.scoring import Level, Scores
from mtgauge.meta.study import Findings
from mtgauge.report.pictures import figure, save
from mtgauge.stats.correlation import FloatArray, pearson


def plot(
    folder: Path, scored: Sequence[tuple[Judgements, Sequence[Scores]]], level: Level
) -> list[Path]:
    """One picture per metric and language pair; returns the files written."""
    written = []
    for judgements, scores in scored:
        for one in scores:
            human, values = points(judgements, one, level)
            if not len(values):
                continue
            made = figure(9, 4)
            left, right = made.subplots(1, 2)
            left.scatter(human, values, s=8 if level == "segment" else 30, alpha=0.5)
            r = float(pearson(values, human))
            left.set_title(f"{judgements.data} {judgements.lp}: r = {r:.3f}, n = {len(values)}")
            left.set_xlabel("human score")
            left.set_ylabel(one.metric)
            better = human >= np.median(human)
            for mask, label in ((better, "better half"), (~better, "worse half")):
                right.hist(values[mask], bins=30, alpha=0.5, label=label)
            right.set_xlabel(one.metric)
            right.legend()
            names = (judgements.data, judgements.lp, one.metric)
            path = folder / (".".join(map(file_name, names)) + ".png")
            written.append(save(made, path))
    return written


def plot_experiment(folder: Path, found: Findings) -> list[Path]:
    """The printed table as a picture: per row the mean of its cells, printed and ours.

    Both means are over the cells that have a number of ours, where any has; a row that has not all
    of the table's pairs says so. Paper 004's Figure 3 is a scatter of all pairs pooled: it comes
    beside Table 5, of which only the correlation over all translations is drawn.
    """
    printed = found.printed[0]
    bands = printed.statistic == tables.BANDS
    columns = ["All"] if bands else [column for column in printed.cells if column != "Average"]
    rows: dict[str, list[experiments.CellPair]] = {row.metric: [] for row in found.printed}
    for pair in experiments.cells(found):
        if pair.column in columns:
            rows[pair.row].append(pair)
    names, means = [], []
    for row, mine in rows.items():
        both = [pair for pair in mine if pair.ours is not None] or mine
        of = f" ({len(both)} of {len(columns)} pairs)" if len(both) < len(columns) else ""
        names.append(row + of)
        means.append((_mean([p.printed for p in both]), _mean([p.ours for p in both])))
    made = figure(8, 1.5 + 0.4 * len(names))
    axes = made.subplots()
    for k, label in enumerate(("printed", "ours, by the paper's method")):
        places = [i + 0.4 * k - 0.2 for i in range(len(names))]
        axes.barh(places, [pair[k] for pair in means], height=0.38, label=label)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    what = "pearson, all pairs pooled" if bands else f"{printed.statistic}, mean over pairs"
    axes.set_xlabel(f"{what}, {printed.dataset}")
    axes.set_title(f"Paper {printed.paper}, Table {printed.table}")
    made.legend(loc="outside lower center", ncols=2)  # beside the bars, not over them
    written = [save(made, folder / f"{printed.paper}.{printed.table}.png")]
    if bands:
        written += _plot_pooled(folder, found)
    return written


def _plot_pooled(folder: Path, found: Findings) -> list[Path]:
    """Each metric against people, all language pairs in one picture, a colour per pair."""
    written = []
    names = dict.fromkeys(one.metric for _, scores in found.scored for one in scores)
    for metric in names:
        made = figure(6, 5)
        axes = made.subplots()
        for judgements, scores in found.scored:
            for one in (one for one in scores if one.metric == metric):
                human, values = points(judgements, one, found.level)
                axes.scatter(human, values, s=8, alpha=0.5, label=judgements.lp)
        axes.set_xlabel("human score")
        axes.set_ylabel(metric)
        axes.legend()
        path = folder / f"pooled.{file_name(metric)}.png"
        written.append(save(made, path))
    return written


def plot_probes(folder: Path, probes: Sequence[Probe]) -> list[Path]:
    """How d = m(worse) - m(human) is spread; what lies right of 0 prefers the worse text."""
    written = []
    for one in probes:
        counts, edges = one.histogram()
        made = figure(6, 4)
        axes = made.subplots()
        colours = ["tab:red" if low >= 0 else "tab:blue" for low in edges[:-1]]
        width = edges[1] - edges[0]
        axes.bar(edges[:-1], counts, width=width, align="edge", color=colours, edgecolor="white")
        axes.axvline(0, color="black", linewidth=0.8)
        axes.set_xlabel("d = m(worse) - m(human)")
        axes.set_ylabel("segments")
        axes.set_title(f"{one.metric}\n{one.probe}, {one.lp or '-'}: {one.share:.1%} preferred")
        names = (one.probe, one.lp or "-", one.metric)
        path = folder / (".".join(map(file_name, names)) + ".png")
        written.append(save(made, path))
    return written


def plot_curve(
    path: Path,
    curves: Mapping[str, Mapping[int, float]],
    title: str,
    counted: str = "sentence pairs",
) -> Path:
    """A line per way to measure what was fitted on so many sentence pairs, or segments."""
    made = figure(6, 4)
    axes = made.subplots()
    for name, values in curves.items():
        axes.plot(list(values), list(values.values()), marker="o", label=name)
    axes.set_xscale("log")
    axes.set_xlabel(counted)
    axes.set_title(title)
    axes.legend()
    return save(made, path)


def _mean(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else float("nan")


def points(judgements: Judgements, scores: Scores, level: Level) -> tuple[FloatArray, FloatArray]:
    """Human and metric scores of what has both."""
    if level == "system":
        names = [name for name in judgements.system_human if name in scores.systems]
        human = np.array([judgements.system_human[name] for name in names])
        values = np.array([scores.systems[name] for name in names])
    else:
        human, values = judgements.human, scores.segments
    known = ~(np.isnan(human) | np.isnan(values))
    return human[known], values[known]
