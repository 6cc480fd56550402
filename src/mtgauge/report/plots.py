"""Scatter and histogram plots of metric scores against human ones (extra `plot`).

plot(folder, scored, level)      DATA.LP.METRIC.png: left the scatter, right the scores of the
                                 better and the worse half of the translations
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from mtgauge.data.judgements import Judgements
from mtgauge.data.output import file_name, make_folder, write_with
from mtgauge.errors import ResourceError
from mtgauge.meta.scoring import Level, Scores
from mtgauge.stats.correlation import FloatArray, pearson


def plot(
    folder: Path, scored: Sequence[tuple[Judgements, Sequence[Scores]]], level: Level
) -> list[Path]:
    """One picture per metric and language pair; returns the files written."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ResourceError("Plots need matplotlib: pip install 'mtgauge[plot]'.") from None
    make_folder(folder)
    written = []
    for judgements, scores in scored:
        for one in scores:
            human, values = points(judgements, one, level)
            if not len(values):
                continue
            figure = Figure(figsize=(9, 4), layout="constrained")
            left, right = figure.subplots(1, 2)
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
            write_with(path, partial(figure.savefig, dpi=120))
            written.append(path)
    return written


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
