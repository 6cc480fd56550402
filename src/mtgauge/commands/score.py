"""`mtgauge score`: systems in, a table of scores out."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from mtgauge.commands.shared import add_encoder_options, progress_bar, use_encoder_options
from mtgauge.data.corpus import Corpus
from mtgauge.data.output import write
from mtgauge.engine.local import score_corpus
from mtgauge.engine.result import Result
from mtgauge.report.table import render
from mtgauge.report.writers import FORMATS
from mtgauge.stats.bootstrap import SEED

_EXAMPLES = """
examples:
  mtgauge score -t sys.txt -r ref.txt -m bleu chrf
  mtgauge score -s src.de -t baseline.txt new.txt -r ref.txt -l de-en -m bleu chrf ter
  mtgauge score -t systems.tsv -m chrf:beta=3 --json scores.json
  cat new.txt | mtgauge score -t - -r ref.txt -m bleu

With several systems the first is the baseline, and every other is tested against it.
A file is plain text (one segment per line) or a table (.tsv, .csv, .jsonl) with named columns:
write data.tsv:COLUMN for one of them. Each may end in .gz; - is standard input.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLES
    parser.add_argument("-t", "--translations", nargs="+", required=True, metavar="HYP")
    parser.add_argument("-s", "--source", metavar="SRC")
    parser.add_argument("-r", "--references", nargs="+", default=[], metavar="REF")
    parser.add_argument("-l", "--lang", metavar="PAIR", help="language pair, such as de-en")
    parser.add_argument(
        "-m",
        "--metrics",
        nargs="+",
        default=["bleu", "chrf"],
        metavar="METRIC",
        help="name or name:key=value,key=value (default: bleu chrf); see mtgauge metrics",
    )
    parser.add_argument("--format", choices=FORMATS, default="table")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write everything as JSON too")
    parser.add_argument("--segments", action="store_true", help="show every segment's score")
    parser.add_argument(
        "--no-ci", action="store_true", help="no confidence intervals and no significance tests"
    )
    parser.add_argument(
        "--empty",
        choices=["worst", "skip", "error"],
        default="worst",
        help="an empty hypothesis gets the worst score (default), is left out, or is refused",
    )
    parser.add_argument(
        "--unescape", action="store_true", help="undo HTML escapes such as &quot; in all texts"
    )
    parser.add_argument("--seed", type=int, default=SEED, help="of the resampling (%(default)s)")
    parser.add_argument("--quiet", action="store_true", help="results only: no notes, no progress")
    parser.add_argument("--verbose", action="store_true", help="signatures in full")
    add_encoder_options(parser)


def run(args: argparse.Namespace) -> int:
    use_encoder_options(args)
    with Corpus.from_arguments(args.translations, args.source, args.references) as corpus:
        started = time.perf_counter()
        with progress_bar("segments", quiet=args.quiet) as advance:
            result = score_corpus(
                corpus,
                args.metrics,
                args.lang,
                empty=args.empty,
                unescape=args.unescape,
                ci=not args.no_ci,
                seed=args.seed,
                progress=advance,
            )
        seconds = time.perf_counter() - started
    sys.stdout.write(render(result, args.format, segments=args.segments))
    sys.stdout.flush()
    for metric in result.values():
        if metric.unserved is not None:
            print(f"warning    {metric.spec} has no scores: {metric.unserved}", file=sys.stderr)
    if not args.quiet:
        _tell(result, seconds, verbose=args.verbose)
    if args.json is not None:
        write(args.json, render(result, "json", segments=True))
    return 0


def _tell(result: Result, seconds: float, *, verbose: bool) -> None:
    """Signatures, suspicions and speed: everything that is not the result."""
    for metric in result.values():
        if metric.unserved is None:
            line = metric.signature.full if verbose else metric.signature.short
            print(f"signature  {line}", file=sys.stderr)
    for message in result.warnings:
        print(f"warning    {message}", file=sys.stderr)
    for metric in result.values():
        for what, count in metric.notes.items():
            if count and what != "empty":
                print(f"note       {metric.spec}: {what} {count:,}", file=sys.stderr)
    done = result.segments * len(result.systems)
    print(f"speed      {done:,} segments in {seconds:.1f} s", end="", file=sys.stderr)
    print(f" ({done / max(seconds, 1e-9):,.0f} per second)", file=sys.stderr)
