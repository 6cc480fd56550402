"""`mtgauge score`: systems in, a table of scores out."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from mtgauge.commands.shared import (
    add_encoder_options,
    add_place_options,
    place_of,
    progress_bar,
    use_encoder_options,
)
from mtgauge.data import checks, columns, foreign, testsets
from mtgauge.data.corpus import Corpus
from mtgauge.data.output import write
from mtgauge.engine.local import score_corpus
from mtgauge.engine.result import Result
from mtgauge.engine.summary import Comparing
from mtgauge.errors import UsageError
from mtgauge.notes import sentence
from mtgauge.report.table import by_score, pairs, render
from mtgauge.report.trust import trust_lines
from mtgauge.report.writers import FORMATS
from mtgauge.stats.bootstrap import SEED

_EXAMPLES = """
examples:
  mtgauge score -t sys.txt -r ref.txt -m bleu chrf
  mtgauge score -s src.de -t baseline.txt new.txt -r ref.txt -l de-en -m bleu chrf ter
  mtgauge score -t systems.tsv -m chrf:beta=3 --json scores.json
  mtgauge score -t baseline.txt new.txt -r ref.txt -m bleu --scores comet.json
  cat new.txt | mtgauge score -t - -r ref.txt -m bleu

With several systems the first is the baseline, and every other is tested against it.
A file is plain text (one segment per line) or a table (.tsv, .csv, .jsonl) with named columns:
write data.tsv:COLUMN for one of them. Each may end in .gz; - is standard input.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLES
    parser.add_argument(
        "-t", "--translations", nargs="+", metavar="HYP",
        help="translations of one or more systems: a file each, or a table with a column each",
    )  # fmt: skip
    parser.add_argument("-s", "--source", metavar="SRC", help="what was translated")
    parser.add_argument(
        "-r", "--references", nargs="+", default=[], metavar="REF",
        help="human translations; several files are alternatives of each other",
    )  # fmt: skip
    parser.add_argument(
        "-T", "--test-set", metavar="NAME",
        help="source and references of a published test set, such as wmt22 (with -l; see --echo)",
    )  # fmt: skip
    parser.add_argument(
        "--echo", choices=["source", "reference"],
        help="print that side of the test set instead of scoring",
    )  # fmt: skip
    parser.add_argument("-l", "--lang", metavar="PAIR", help="language pair, such as de-en")
    parser.add_argument(
        "-m",
        "--metrics",
        nargs="+",
        metavar="METRIC",
        help="name or name:key=value,key=value (default: bleu chrf; none with --scores); see "
        "mtgauge metrics",
    )
    parser.add_argument(
        "--scores", nargs="+", default=[], metavar="FILE", type=Path,
        help="segment scores of other tools, such as COMET, in the same table: one number per "
        "line, a table (system segment METRIC), or the JSON of comet-score",
    )  # fmt: skip
    parser.add_argument(
        "--lower", nargs="+", default=[], metavar="NAME",
        help="of these metrics of --scores, lower is better",
    )  # fmt: skip
    parser.add_argument("--format", choices=FORMATS, default="table")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write everything as JSON too")
    parser.add_argument("--segments", action="store_true", help="show every segment's score")
    parser.add_argument(
        "--baseline", metavar="NAME", help="system to test against (default: the first)"
    )
    parser.add_argument("--pairs", action="store_true", help="show the test of every two systems")
    parser.add_argument(
        "--sort", action="store_true", help="best system first, by the first metric"
    )
    parser.add_argument(
        "--doc", metavar="COLUMN",
        help="resample documents instead of segments: a column of the table, or a file with the "
        "document of each line",
    )  # fmt: skip
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
    add_place_options(parser)


def run(args: argparse.Namespace) -> int:
    use_encoder_options(args)
    if args.test_set is not None:
        _take_test_set(args)
    if args.echo is not None:
        return _echo(args)
    if args.translations is None:
        raise UsageError("Which translations? Give -t FILE.")
    how = Comparing(not args.no_ci, args.seed, args.baseline)
    with Corpus.from_arguments(args.translations, args.source, args.references, args.doc) as corpus:
        started = time.perf_counter()
        with place_of(args) as place, progress_bar("segments", quiet=args.quiet) as advance:
            result = score_corpus(
                corpus,
                _metrics(args),
                args.lang,
                empty=args.empty,
                unescape=args.unescape,
                how=how,
                progress=advance,
                brought=_brought(args, corpus),
                lower=args.lower,
                place=place,
            )
        seconds = time.perf_counter() - started
    shown = by_score(result) if args.sort else result
    sys.stdout.write(render(shown, args.format, segments=args.segments))
    if args.pairs and args.format != "json":
        sys.stdout.write("\n" + pairs(shown, args.format))
    sys.stdout.flush()
    for metric in result.values():
        if metric.unserved is not None:
            print(f"warning    {metric.spec} has no scores: {metric.unserved}", file=sys.stderr)
    if not args.quiet:
        _tell(result, seconds, place.remark(), verbose=args.verbose)
    if args.json is not None:
        write(args.json, render(result, "json", segments=True))
    return 0


def _metrics(args: argparse.Namespace) -> list[str]:
    return args.metrics or ([] if args.scores else ["bleu", "chrf"])


def _brought(args: argparse.Namespace, corpus: Corpus) -> list[foreign.Foreign]:
    """Scores of other tools, for the systems of this run."""
    lang = None if args.lang is None else checks.language_pair(args.lang)
    labels = {name: column.label for name, column in corpus.systems.items()}
    return [one for path in args.scores for one in foreign.read(path, labels, lang)]


def _take_test_set(args: argparse.Namespace) -> None:
    if args.source is not None or args.references:
        raise UsageError("-T names source and references: leave -s and -r out.")
    source, references = testsets.files(args.test_set, args.lang)
    args.source, args.references = str(source), [str(path) for path in references]


def _echo(args: argparse.Namespace) -> int:
    if args.test_set is None:
        raise UsageError("--echo prints a side of a test set: name one with -T.")
    for path in [args.source] if args.echo == "source" else args.references[:1]:
        for line in columns.column(path, "source")[0]:
            print(line)
    return 0


def _tell(result: Result, seconds: float, place: str, *, verbose: bool) -> None:
    """Signatures, suspicions and speed: everything that is not the result."""
    for metric in result.values():
        if metric.unserved is None:
            line = metric.signature.full if verbose else metric.signature.short
            print(f"signature  {line}", file=sys.stderr)
    for message in result.warnings:
        print(f"warning    {message}", file=sys.stderr)
    for line in trust_lines(result):
        print(f"trust      {line}", file=sys.stderr)
    for metric in result.values():
        for what, count in metric.notes.items():
            if count and what != "empty":
                print(f"note       {metric.spec}: {sentence(what, count)}", file=sys.stderr)
    if place:
        print(f"place      {place}", file=sys.stderr)
    done = result.segments * len(result.systems)
    print(f"speed      {done:,} segments in {seconds:.1f} s", end="", file=sys.stderr)
    print(f" ({done / max(seconds, 1e-9):,.0f} per second)", file=sys.stderr)
