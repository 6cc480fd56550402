"""`mtgauge meta`: how far may a metric be trusted? Its agreement with human judgements."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

from mtgauge.commands.parser import positive
from mtgauge.commands.shared import (
    add_place_options,
    add_result_options,
    open_cache,
    running,
    tell,
    use_encoder_options,
)
from mtgauge.data.output import write
from mtgauge.engine.cache import RowCache
from mtgauge.notes import sentence
from mtgauge.report import disagree
from mtgauge.report.api import Agreement, meta
from mtgauge.report.writers import visible

_EXAMPLES = """
examples:
  mtgauge meta judged.tsv.gz -m bleu chrf
  mtgauge meta judged.tsv.gz -m chrf -l de-en ru-en --by length
  mtgauge meta wmt17/ --human sys17.tsv --level system -m bleu chrf --paper
  mtgauge meta judged.tsv.gz --scores my_scores.tsv
  mtgauge meta --scores sys-level_scores_metrics.csv --level system --paper
  mtgauge meta da17.tsv.gz --experiment 000.1

DATA is a TSV of judged segments (lp system sid source reference hypothesis human, optionally raw;
system and sid may be left out),
a test set LP.tsv or a folder of them (sid source reference SYSTEM ...; human scores with --human),
an official WMT folder (DA-seglevel.csv ...), or an mt-metrics-eval folder. Correlations are
signed: a metric that is lower for better texts says so itself and is negated for it.
"""

# flags that are arguments of `mtgauge.meta` as they are
_SAME = (
    "metrics", "level", "human", "scores", "lower", "by", "pool", "test", "paper", "experiment",
    "surface", "limit", "dataset", "unescape", "seed",
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLES
    add = parser.add_argument
    add("data", nargs="*", metavar="DATA", type=Path, help="human judgements, see below")
    add(
        "-m", "--metrics", nargs="+", default=[], metavar="METRIC",
        help="name or name:key=value,key=value; see mtgauge metrics",
    )  # fmt: skip
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
    add(
        "--limit",
        metavar="N",
        type=int,
        help="metrics with a model score N source segments per language pair, evenly spread",
    )
    add("--by", choices=["length", "quality", "system"], help="also by slices")
    add("--pool", action="store_true", help="also all language pairs as one")
    add(
        "--test",
        choices=["williams", "bootstrap", "permutation"],
        default="williams",
        help="whether one metric is better than another (%(default)s)",
    )
    add("--matrix", action="store_true", help="show the p-values of all comparisons")
    add("--disagree", metavar="N", type=positive, help="also N segments rated too high or low")
    add("--plot", metavar="DIR", type=Path, help="write plots here; of an experiment, its figure")
    add("--export", metavar="DIR", type=Path, help="write data and scores for mt-metrics-eval")
    add("--dataset", metavar="NAME", help="which WMT this is, such as WMT17, if no name tells")
    add("--no-ci", action="store_true", help="no confidence intervals")
    add_result_options(parser, seed="resampling")
    add_place_options(parser)
    add("--verbose", action="store_true", help="signatures in full, on standard error")


def run(args: argparse.Namespace) -> int:
    use_encoder_options(args)
    started = time.monotonic()
    cache = open_cache(args)
    # -l takes several pairs and so swallows a DATA that follows it
    langs = [word for word in args.lang or () if not Path(word).exists()]
    data = [*args.data, *(Path(word) for word in args.lang or () if Path(word).exists())]
    same = {name: getattr(args, name) for name in _SAME}
    with running(args, "segments") as (place, progress):
        found = meta(
            data, lang=langs, ci=not args.no_ci, cache=cache, place=place, progress=progress, **same
        )
    sys.stdout.write(found.render(args.format, matrix=args.matrix))
    if args.disagree is not None:
        sys.stdout.write("\n" + disagree.render(found, args.disagree, args.format))
    if args.json:
        write(args.json, found.render("json"))
    if args.export:
        found.export(args.export)
    if args.plot:
        found.plot(args.plot)
    for warning in found.warnings:
        tell("warning", visible(warning))
    _warn_of_unserved(found)
    if not args.quiet:
        _say_what_did_nothing(args, found)
        _say_more(found, cache, time.monotonic() - started, verbose=args.verbose)
        if place.remark():
            print(place.remark() + ".", file=sys.stderr)
    return 0


def _warn_of_unserved(found: Agreement) -> None:
    """What could not be served, and why: said even where notes are not."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for item, scores in found.scored:
        for one in scores:
            if one.unserved is not None:
                reasons.setdefault((one.metric, one.unserved), []).append(item.lp)
    for (metric, reason), lps in reasons.items():
        tell("warning", visible(f"{metric} has no scores for {', '.join(lps)}: {reason}"))


def _say_what_did_nothing(args: argparse.Namespace, found: Agreement) -> None:
    """Options for which this data had no use."""
    if args.paper and not any(row.paper for row in found.rows):
        print(
            "--paper: no paper is known to print values for these metrics and this data; if it is "
            "of WMT, say which: --dataset WMT17.",
            file=sys.stderr,
        )
    if args.pool and len(found.scored) < 2:
        print("--pool: there is one language pair only.", file=sys.stderr)


def _say_more(
    found: Agreement, cache: RowCache | None, seconds: float, *, verbose: bool = False
) -> None:
    if verbose:
        for text in dict.fromkeys(row.signature.full for row in found.rows):
            print(visible(f"signature  {text}"), file=sys.stderr)
    counted: dict[str, Counter[str]] = {}
    for _, scores in found.scored:
        for one in scores:
            counted.setdefault(one.metric, Counter()).update(one.notes)
    for metric, notes in counted.items():
        said = " ".join(sentence(what, n) for what, n in notes.items() if n)
        if said:
            print(visible(f"{metric}, of the texts scored now: {said}"), file=sys.stderr)
    if cache is not None:
        print(
            f"{cache.misses:,} texts scored, {cache.hits:,} read from {cache.path}; "
            + (f"{cache.damaged:,} damaged rows there were replaced; " if cache.damaged else "")
            + f"{seconds:.1f} s in all.",
            file=sys.stderr,
        )
