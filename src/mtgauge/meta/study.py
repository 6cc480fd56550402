"""One study of metrics: gather judged data, score it, correlate, slice, average.

    judged = gather(["da17.tsv.gz"], lang="de-en")
    found = study(judged, Plan(metrics=("bleu", "chrf"), by="length"))
    found.rows, found.comparisons, found.to_dict()

`mtgauge.meta` is these two calls, and `mtgauge meta` is its command line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np

from mtgauge import registry
from mtgauge._version import __version__
from mtgauge.arguments import (
    FILES,
    SPECS,
    refuse_no_choice,
    refuse_no_list,
    whole_number,
)
from mtgauge.data import checks, columns, judged_files, mtme, scores
from mtgauge.data.codes import usual
from mtgauge.data.judged_tables import read_system_human
from mtgauge.data.judgements import Judgements
from mtgauge.data.watch import judged_in_other_languages
from mtgauge.engine.cache import RowCache
from mtgauge.engine.places import Place
from mtgauge.engine.ready import check_device
from mtgauge.engine.result import data_frame, number
from mtgauge.errors import ResourceError, UsageError
from mtgauge.meta import experiments, slices, tables
from mtgauge.meta.evaluate import evaluate
from mtgauge.meta.rows import Comparison, Row, average
from mtgauge.meta.scoring import Level, Scores, external, refuse_nothing_served, score
from mtgauge.meta.significance import Test
from mtgauge.metric import Metric
from mtgauge.metrics._trained import TrainedMetric
from mtgauge.stats.bootstrap import RESAMPLES, SEED
from mtgauge.text.untranslated import ask_strangers

Data = str | Path | Judgements
Progress = Callable[[int], object]


@dataclass(frozen=True)
class Plan:
    """What to compute; each field is an option of `mtgauge meta`."""

    metrics: Sequence[str] = ()
    level: Level | None = None  # None: what was judged
    lower: Sequence[str] = ()  # scores from files that are lower for better translations
    by: slices.By | None = None
    pool: bool = False
    test: Test = "williams"
    ci: bool = True
    paper: bool = False
    experiment: str | None = None  # a printed table, such as 000.1
    surface: bool = False  # of an experiment, only what needs no model
    limit: int | None = None  # source segments per language pair that metrics with a model score
    unescape: bool = False
    seed: int = SEED

    def __post_init__(self) -> None:
        refuse_no_list(self.metrics or (), "metrics", SPECS)
        for name, allowed in (("level", Level), ("by", slices.By), ("test", Test)):
            value = getattr(self, name)
            if value is not None:
                refuse_no_choice(name, value, get_args(allowed))
        object.__setattr__(self, "seed", whole_number("seed", self.seed, 0))
        if self.surface and not self.experiment:
            raise UsageError("--surface selects from the metrics of an --experiment.")
        if self.limit is not None:
            object.__setattr__(self, "limit", whole_number("limit", self.limit, 1))


@dataclass
class Findings:
    """What a study found; `scored` keeps the scores themselves, for plots and export."""

    level: Level
    rows: list[Row] = field(default_factory=list)
    comparisons: list[Comparison] = field(default_factory=list)
    scored: list[tuple[Judgements, list[Scores]]] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)  # spec -> why it could not run
    printed: list[tables.Printed] = field(default_factory=list)  # the table of an experiment
    sampled: dict[str, int] = field(default_factory=dict)  # spec -> segments per pair it scored
    taught: dict[str, str] = field(default_factory=dict)  # spec -> on how much it was trained
    warnings: list[str] = field(default_factory=list)  # texts in another language than was said

    def to_dict(self) -> dict[str, Any]:
        """`rows` as DESIGN section 4 promises; what else was found stands beside it."""
        about = ("metric", "data", "lp", "level")
        measures = [
            {
                **{key: getattr(row, key) for key in about},
                "name": name,
                "value": number(value),
                "ci": [number(x) for x in row.intervals[name]] if name in row.intervals else None,
                "chance": number(row.chance[name]) if name in row.chance else None,
                "pairs": row.pairs.get(name),
            }
            for row in self.rows
            for name, value in row.values.items()
        ]
        outcomes = [
            {**{key: getattr(row, key) for key in about}, "outcome": outcome}
            for row in self.rows
            for outcome in row.outcomes
        ]
        return {
            "mtgauge": __version__,
            "rows": [row.to_dict() for row in self.rows],
            "measures": measures,
            "outcomes": outcomes,
            "comparisons": [c.to_dict() for c in self.comparisons],
            **({"warnings": self.warnings} if self.warnings else {}),
            **({"cells": [vars(pair) for pair in experiments.cells(self)]} if self.printed else {}),
        }

    def to_pandas(self) -> Any:
        """A data frame with one row per metric, data set and language pair."""
        return data_frame(
            {
                **{key: getattr(row, key) for key in ("metric", "data", "lp", "level", "n")},
                **row.values,
                "signature": row.signature.short,
            }
            for row in self.rows
        )

    def export(self, folder: str | Path) -> None:
        """Data and scores in the layout of mt-metrics-eval.

        Metric names lose characters that the layout gives a meaning to.
        """
        for item, its_scores in self.scored:
            columns, systems = {}, {}
            side = "src" if item.references is None else "refA"
            for one in its_scores:
                plain = "".join(c if c.isalnum() or c in "+_=" else "_" for c in one.metric)
                name, times = f"{plain}-{side}", 1
                while name in columns:
                    times += 1
                    name = f"{plain}_{times}-{side}"
                columns[name] = one.segments
                if one.systems:
                    systems[name] = one.systems
            mtme.write_folder(folder, replace(item, scores=columns, system_scores=systems))


# Judged data


def listed(data: Data | Sequence[Data]) -> list[Data]:
    """One or several of what judged data may be; a data frame is none."""
    if isinstance(data, str | Path | Judgements):
        return [data]
    items = columns.checked_list(data, "data")
    for item in items:
        if not isinstance(item, str | Path | Judgements):
            raise UsageError(f"data: {type(item).__name__} is no file, folder or Judgements.")
    return items


def gather(
    data: Data | Sequence[Data] = (),
    *,
    lang: str | Sequence[str] | None = None,
    human: str | Path | Mapping[str, Mapping[str, float]] | None = None,
    score_files: Sequence[str | Path] = (),
    dataset: str | None = None,
    level: Level | None = None,
) -> list[Judgements]:
    """Everything that is to be studied at a level, with scores from elsewhere beside it.

    `human` is a file of system-level scores, or {language pair: {system: score}}.
    """
    items = listed(data)
    refuse_no_list(score_files, "scores", FILES)
    if not isinstance(human, str | Path | Mapping | None):
        raise UsageError("human is a file, or {language pair: {system: score}}.")
    pairs = [lang] if isinstance(lang, str) else list(lang or ())
    wanted = [checks.language_pair(pair) for pair in pairs]
    people = read_system_human(human) if isinstance(human, str | Path) else human
    table = (
        None if people is None else {usual(pair): dict(systems) for pair, systems in people.items()}
    )
    found: list[Judgements] = []
    for item in items:
        if isinstance(item, Judgements):
            item.check()
            found += [item] if not wanted or item.lp in wanted else []
        else:
            chosen: list[str | None] = [*wanted] or [None]
            for pair in chosen:
                found += judged_files.read(item, pair, table)
    for path in score_files:
        brought = scores.read_scores(path, wanted[0] if len(wanted) == 1 else None)
        if items:
            if (level or judged_level(found)) == "segment" and not any(map(len, brought)):
                raise UsageError(
                    f"{path} has no column sid, so its scores are of systems: add --level system."
                )
            found = scores.attach(found, brought)
        elif not any(map(scores.is_judged, brought)):
            raise UsageError(f"{path} has no column human or DA: give the judged data too.")
        else:
            found += [one for one in brought if not wanted or one.lp in wanted]
    if dataset:
        found = [replace(item, dataset=dataset) for item in found]
    if not found:
        raise UsageError("No judgements: give DATA, or --scores FILE with a column human.")
    return found


def judged_level(data: Iterable[Judgements]) -> Level:
    """Segments where any are judged, else systems."""
    segments = any(not np.isnan(j.human).all() or j.pairs is not None for j in data if len(j))
    return "segment" if segments else "system"


# The study


def study(
    data: Sequence[Judgements],
    plan: Plan,
    *,
    cache: RowCache | None = None,
    place: Place | None = None,
    progress: Progress | None = None,
) -> Findings:
    """Score, correlate, slice and average."""
    plan, printed = _with_experiment(plan)
    level = plan.level or judged_level(data)
    found = Findings(level, printed=printed)
    _refuse_unused(plan, level, data)
    metrics = _load(plan, found)
    _score(data, plan, metrics, found, cache, place, progress)
    for part, its_scores in _parts(found, plan):
        if its_scores:
            rows, comparisons = evaluate(
                part,
                its_scores,
                level,
                test=plan.test,
                resamples=RESAMPLES if plan.ci else 0,
                seed=plan.seed,
            )
            found.rows += rows
            found.comparisons += comparisons
    found.rows += average([row for row in found.rows if row.lp != "pooled"])
    if plan.paper:
        found.rows = [tables.beside(row) for row in found.rows]
    return found


def _with_experiment(plan: Plan) -> tuple[Plan, list[tables.Printed]]:
    """The plan with what a printed table asks for, and the rows of that table."""
    if plan.experiment is None:
        return plan, []
    printed = tables.experiment(plan.experiment)
    offered = tables.DEFAULTS[printed[0].paper]
    metrics = dict.fromkeys([*plan.metrics, *tables.specs(printed), *offered])
    level = plan.level or printed[0].level
    plan = replace(plan, metrics=tuple(metrics), level=level, paper=True)
    if printed[0].statistic == tables.BANDS:
        plan = replace(plan, pool=True, by="quality")
    return plan, printed


def _refuse_unused(plan: Plan, level: Level, data: Sequence[Judgements]) -> None:
    """No option is ignored in silence."""
    if level == "system":
        for option, given in (("--by", plan.by), ("--pool", plan.pool)):
            if given:
                raise UsageError(f"{option} has no meaning at system level.")
    known = {name for item in data for name in (*item.scores, *item.system_scores)}
    if not plan.metrics and not known:
        raise UsageError("Which metric? Give -m bleu chrf, or --scores FILE.")
    if strange := sorted(set(plan.lower) - known):
        have = ", ".join(sorted(known)) or "none"
        raise UsageError(
            f"--lower {strange[0]}: no such scores came from a file. There are: {have}."
        )


def _load(plan: Plan, found: Findings) -> dict[str, Metric]:
    """The metrics; of an experiment, what cannot run is noted and left out."""
    metrics: dict[str, Metric] = {}
    for spec in dict.fromkeys(plan.metrics):
        try:
            metric = registry.load(spec)
        except (ResourceError, UsageError) as error:
            if plan.experiment is None:
                raise
            found.missing[spec] = str(error)
            continue
        if plan.surface and metric.cost != "surface":
            found.missing[spec] = "left out here (--surface)."
        else:
            metrics[spec] = metric
    check_device(metrics.values())
    return metrics


def _score(
    data: Sequence[Judgements],
    plan: Plan,
    metrics: dict[str, Metric],
    found: Findings,
    cache: RowCache | None,
    place: Place | None,
    progress: Progress | None,
) -> None:
    """Scores of every metric on every language pair, into `found.scored`."""
    for item in data:
        its_scores = external(item, found.level, plan.lower)
        for spec, metric in metrics.items():
            if spec in found.missing:
                continue
            limit = None if metric.cost == "surface" else plan.limit
            try:
                one = score(
                    item,
                    metric,
                    found.level,
                    cache=cache,
                    place=place,
                    unescape=plan.unescape,
                    limit=limit,
                    progress=progress,
                )
            except (ResourceError, UsageError) as error:
                if plan.experiment is None:
                    raise
                found.missing[spec] = str(error)
                continue
            its_scores.append(replace(one, metric=spec))
            if limit is not None:
                found.sampled[spec] = limit
            if isinstance(metric, TrainedMetric) and metric.training:
                found.taught[spec] = metric.training
        found.scored.append((item, its_scores))
        if metrics:
            found.warnings += judged_in_other_languages(item, ask_strangers)
    refuse_nothing_served(scores for _, scores in found.scored)


def _parts(found: Findings, plan: Plan) -> Iterator[tuple[Judgements, list[Scores]]]:
    """Each language pair, its slices, and all pairs as one."""
    for item, its_scores in found.scored:
        yield item, its_scores
        if plan.by:
            yield from slices.sliced(item, its_scores, plan.by)
    if plan.pool and len(found.scored) > 1:
        whole, its_scores = slices.pooled(
            [item for item, _ in found.scored], [s for _, s in found.scored]
        )
        yield whole, its_scores
        if plan.by in ("quality", "system"):
            yield from slices.sliced(whole, its_scores, plan.by)
