"""`mtgauge meta`: how far may a metric be trusted? Its agreement with human judgements."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from mtgauge import registry
from mtgauge.commands.shared import add_encoder_options, progress_bar, use_encoder_options, write
from mtgauge.data import mtme
from mtgauge.data.checks import language_pair
from mtgauge.data.judgements import Judgements, read, read_system_human
from mtgauge.data.scores import read_scores
from mtgauge.engine.cache import RowCache, default_folder
from mtgauge.engine.ready import check_device
from mtgauge.errors import ResourceError, UsageError
from mtgauge.meta import render, slices, tables
from mtgauge.meta.evaluate import evaluate
from mtgauge.meta.rows import Comparison, Row, average
from mtgauge.meta.scoring import Level, Scores, external, refuse_nothing_served, score
from mtgauge.metric import Metric
from mtgauge.stats.bootstrap import RESAMPLES, SEED

_EXAMPLES = """
examples:
  mtgauge meta judged.tsv.gz -m bleu chrf
  mtgauge meta judged.tsv.gz -m chrf -l de-en ru-en --by length
  mtgauge meta wmt17/ --human sys17.tsv --level system -m bleu chrf --paper
  mtgauge meta judged.tsv.gz --scores my_scores.tsv
  mtgauge meta --scores sys-level_scores_metrics.csv --level system --paper
  mtgauge meta da17.tsv.gz --experiment 000.1

DATA is a TSV of judged segments (lp system sid source reference hypothesis human, optionally raw),
a test set LP.tsv or a folder of them (sid source reference SYSTEM ...; human scores with --human),
an official WMT folder (DA-seglevel.csv ...), or an mt-metrics-eval folder. Correlations are
signed: a metric that is lower for better texts says so itself and is negated for it.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLES
    add = parser.add_argument
    add("data", nargs="*", metavar="DATA", type=Path, help="human judgements, see below")
    add("-m", "--metrics", nargs="+", default=[], metavar="METRIC")
    add("-l", "--lang", nargs="+", metavar="LP", help="only these language pairs")
    add("--level", choices=["segment", "system"], help="default: what was judged")
    add("--human", metavar="FILE", type=Path, help="system-level scores: lp, human, system")
    add(
        "--scores",
        action="append",
        default=[],
        metavar="FILE",
        type=Path,
        help="scores of any other metric; may be given several times",
    )
    add("--lower", nargs="+", default=[], metavar="NAME", help="of these, lower is better")
    add("--paper", action="store_true", help="printed values of the papers beside ours")
    add("--experiment", metavar="PAPER.TABLE", help="a printed table, row by row; e.g. 000.1")
    add("--surface", action="store_true", help="of an experiment, only what needs no model")
    add("--by", choices=["length", "quality", "system"], help="also by slices")
    add("--pool", action="store_true", help="also all language pairs as one")
    add(
        "--test",
        choices=["williams", "bootstrap", "permutation"],
        default="williams",
        help="whether one metric is better than another (%(default)s)",
    )
    add("--matrix", action="store_true", help="show the p-values of all comparisons")
    add("--format", choices=render.FORMATS, default="table")
    add("--json", metavar="FILE", type=Path, help="write everything as JSON too")
    add("--plot", metavar="DIR", type=Path, help="write scatter and histogram plots here")
    add("--export", metavar="DIR", type=Path, help="write data and scores for mt-metrics-eval")
    add("--dataset", metavar="NAME", help="which WMT this is, such as WMT17, if no name tells")
    add("--unescape", action="store_true", help="undo HTML escapes such as &quot; in all texts")
    add("--no-cache", action="store_true", help="neither keep nor use scores of earlier runs")
    add("--no-ci", action="store_true", help="no confidence intervals")
    add("--seed", type=int, default=SEED, help="of the resampling (%(default)s)")
    add("--quiet", action="store_true")
    add("--verbose", action="store_true", help="signatures in full, on standard error")
    add_encoder_options(parser)


@dataclass
class Findings:
    rows: list[Row] = field(default_factory=list)
    comparisons: list[Comparison] = field(default_factory=list)
    scored: list[tuple[Judgements, list[Scores]]] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)  # spec -> why it could not run


def run(args: argparse.Namespace) -> int:
    use_encoder_options(args)
    specs = list(args.metrics)
    printed: list[tables.Printed] = []
    if args.experiment:
        from mtgauge.meta import experiment

        printed = experiment.table(args.experiment)
        specs += [s for s in experiment.specs(printed) if s not in specs]
        args.level = args.level or printed[0].level
        args.paper = True
        if printed[0].statistic == experiment.BANDS:
            args.pool, args.by = True, "quality"
    started = time.monotonic()
    judgements = _judgements(args)
    if not specs and not any(item.scores or item.system_scores for item in judgements):
        raise UsageError("Which metric? Give -m bleu chrf, or --scores FILE.")
    args.level = args.level or ("system" if args.human else _level(judgements))
    _refuse_unused(args, judgements)
    cache = None if args.no_cache else RowCache(args.cache or default_folder())
    found = study(judgements, specs, args, cache, lenient=bool(args.experiment))
    if args.paper:
        found.rows = [tables.beside(row) for row in found.rows]
    if printed and args.format in ("table", "markdown"):
        sys.stdout.write(experiment.render(printed, found.rows, found.missing, args.format))
    else:
        text = render.render(found.rows, found.comparisons, args.format, matrix=args.matrix)
        sys.stdout.write(text)
    if args.json:
        content = render.to_dict(found.rows, found.comparisons)
        write(args.json, json.dumps(content, ensure_ascii=False, indent=1) + "\n")
    if args.export:
        _export(args.export, found.scored)
    if args.plot:
        from mtgauge.meta.plots import plot

        plot(args.plot, found.scored, args.level)
    _warn_of_unserved(found)
    if not args.quiet:
        _say_more(found, cache, time.monotonic() - started, verbose=args.verbose)
    return 0


def study(
    judgements: Sequence[Judgements],
    specs: Sequence[str],
    args: argparse.Namespace,
    cache: RowCache | None,
    *,
    lenient: bool = False,
) -> Findings:
    """Score, correlate, slice and average; `lenient` notes what cannot run and goes on."""
    found = Findings()
    metrics: dict[str, Metric] = {}
    for spec in dict.fromkeys(specs):
        try:
            metrics[spec] = registry.load(spec)
        except (ResourceError, UsageError) as error:
            if not lenient:
                raise
            found.missing[spec] = str(error)
            continue
        if lenient and args.surface and metrics[spec].cost != "surface":
            found.missing[spec] = "left out here (--surface)."
            del metrics[spec]
    check_device(metrics.values())
    with progress_bar("segments", quiet=args.quiet) as progress:
        for item in judgements:
            scores = external(item, args.level, args.lower)
            scores += _score_all(item, metrics, args, cache, progress, found, lenient)
            found.scored.append((item, scores))
    refuse_nothing_served(scores for _, scores in found.scored)
    resamples = 0 if args.no_ci else RESAMPLES
    for item, scores in found.scored:
        parts = [(item, scores)]
        if args.by and args.level == "segment":
            parts += slices.sliced(item, scores, args.by)
        for part, its_scores in parts:
            _add(found, part, its_scores, args, resamples)
    if args.pool and args.level == "segment" and len(found.scored) > 1:
        whole, scores = slices.pooled([j for j, _ in found.scored], [s for _, s in found.scored])
        parts = [(whole, scores)]
        if args.by in ("quality", "system"):
            parts += slices.sliced(whole, scores, args.by)
        for part, its_scores in parts:
            _add(found, part, its_scores, args, resamples)
    found.rows += average([row for row in found.rows if row.lp != "pooled"])
    return found


def _add(
    found: Findings,
    judgements: Judgements,
    scores: list[Scores],
    args: argparse.Namespace,
    resamples: int,
) -> None:
    if scores:
        rows, comparisons = evaluate(
            judgements, scores, args.level, test=args.test, resamples=resamples, seed=args.seed
        )
        found.rows += rows
        found.comparisons += comparisons


def _score_all(
    item: Judgements,
    metrics: dict[str, Metric],
    args: argparse.Namespace,
    cache: RowCache | None,
    progress: Callable[[int], object],
    found: Findings,
    lenient: bool,
) -> list[Scores]:
    scores = []
    for spec, metric in metrics.items():
        if spec in found.missing:
            continue
        try:
            one = score(
                item, metric, args.level, cache=cache, unescape=args.unescape, progress=progress
            )
        except (ResourceError, UsageError) as error:
            if not lenient:
                raise
            found.missing[spec] = str(error)
            continue
        scores.append(replace(one, metric=spec))
    return scores


def _judgements(args: argparse.Namespace) -> list[Judgements]:
    """Everything that was asked for, scores from elsewhere attached."""
    # -l takes several pairs and so swallows a DATA that follows it
    args.data += [Path(word) for word in args.lang or [] if Path(word).exists()]
    langs = [language_pair(word) for word in args.lang or [] if not Path(word).exists()]
    human = None if args.human is None else read_system_human(args.human)
    found: list[Judgements] = []
    wanted: list[str | None] = [*langs] or [None]
    for path in args.data:
        for lang in wanted:
            found += read(path, lang, human)
    for path in args.scores:
        table = read_scores(path, langs[0] if len(langs) == 1 else None)
        if args.data:
            found = table.attach(found)
        else:
            found += [j for j in table.judgements() if not langs or j.lp in langs]
    if args.dataset:
        found = [replace(item, dataset=args.dataset) for item in found]
    if not found:
        raise UsageError("No judgements: give DATA, or --scores FILE with a column human.")
    return found


def _refuse_unused(args: argparse.Namespace, judgements: Sequence[Judgements]) -> None:
    """No option is ignored in silence."""
    unused = {
        "--by": args.by and args.level == "system",
        "--pool": args.pool and args.level == "system",
        "--human": args.human and args.level == "segment",
    }
    for option, idle in unused.items():
        if idle:
            raise UsageError(f"{option} has no meaning at {args.level} level.")
    if args.surface and not args.experiment:
        raise UsageError("--surface selects from the metrics of an --experiment.")
    known = {name for item in judgements for name in (*item.scores, *item.system_scores)}
    if strange := sorted(set(args.lower) - known):
        have = ", ".join(sorted(known)) or "none"
        raise UsageError(
            f"--lower {strange[0]}: no such scores came from a file. There are: {have}."
        )


def _level(judgements: Sequence[Judgements]) -> Level:
    """Segments where any are judged, else systems."""
    segments = any(not np.isnan(j.human).all() or j.pairs is not None for j in judgements if len(j))
    return "segment" if segments else "system"


def _export(folder: Path, scored: Sequence[tuple[Judgements, list[Scores]]]) -> None:
    """The mt-metrics-eval layout; metric names lose characters that file names cannot have."""
    for item, scores in scored:
        columns, systems = {}, {}
        for one in scores:
            name = "".join(c if c.isalnum() or c in "+_=" else "_" for c in one.metric)
            side = "src" if item.references is None else "refA"
            columns[f"{name}-{side}"] = one.segments
            if one.systems:
                systems[f"{name}-{side}"] = one.systems
        mtme.write_folder(folder, replace(item, scores=columns, system_scores=systems))


def _warn_of_unserved(found: Findings) -> None:
    """What could not be served, and why: said even where notes are not."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for item, scores in found.scored:
        for one in scores:
            if one.unserved is not None:
                reasons.setdefault((one.metric, one.unserved), []).append(item.lp)
    for (metric, reason), lps in reasons.items():
        print(f"warning: {metric} has no scores for {', '.join(lps)}: {reason}", file=sys.stderr)


def _say_more(
    found: Findings, cache: RowCache | None, seconds: float, *, verbose: bool = False
) -> None:
    if verbose:
        for text in dict.fromkeys(row.signature.full for row in found.rows):
            print(f"signature  {text}", file=sys.stderr)
    counted = {one.metric: one.notes for _, scores in found.scored for one in scores if one.notes}
    for metric, notes in counted.items():
        listing = ", ".join(f"{n:,} {what}" for what, n in notes.items() if n)
        if listing:
            print(f"{metric}: {listing} (of the texts scored now)", file=sys.stderr)
    if cache is not None:
        print(
            f"{cache.misses:,} texts scored, {cache.hits:,} read from {cache.path}; "
            f"{seconds:.1f} s in all.",
            file=sys.stderr,
        )
