"""`mtgauge score`: systems in, a table of scores out."""

from __future__ import annotations

import argparse
import sys
import time

from mtgauge.commands.outputs import OutputFile
from mtgauge.commands.shared import (
    add_corpus_options,
    add_page_options,
    metrics_or_usual,
    score_files,
    take_test_set,
    tell,
    tell_notes,
    terminal_width,
    write_page,
)
from mtgauge.data import columns
from mtgauge.data.output import write
from mtgauge.engine.result import Result
from mtgauge.errors import UsageError
from mtgauge.report.table import by_score, groups, pairs, render
from mtgauge.report.trust import trust_lines
from mtgauge.report.writers import FORMATS, json_text

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
    add_corpus_options(parser, "bleu chrf; none with --scores")
    parser.add_argument(
        "--echo", choices=["source", "reference"],
        help="print that side of the test set instead of scoring",
    )  # fmt: skip
    parser.add_argument(
        "--format", choices=FORMATS, default="table", help="of what is printed (%(default)s)"
    )
    parser.add_argument(
        "--json", metavar="FILE", type=OutputFile, help="write everything as JSON too"
    )
    parser.add_argument(
        "--texts", action="store_true",
        help="put the texts into the JSON, so that mtgauge report can make a page of it",
    )  # fmt: skip
    parser.add_argument(
        "--html", metavar="FILE", type=OutputFile, help="write the report too (see mtgauge report)"
    )
    add_page_options(parser)
    parser.add_argument("--segments", action="store_true", help="show every segment's score")
    parser.add_argument(
        "--baseline", metavar="NAME", help="system to test against (default: the first)"
    )
    parser.add_argument("--pairs", action="store_true", help="show the test of every two systems")
    parser.add_argument(
        "--sort", action="store_true", help="best system first, by the first metric"
    )
    parser.add_argument(
        "--no-ci", action="store_true", help="no confidence intervals and no significance tests"
    )
    parser.add_argument("--verbose", action="store_true", help="signatures in full")


def run(args: argparse.Namespace) -> int:
    if args.echo is not None:
        return _echo(args)
    for option, needed, name in (
        (args.texts, args.json, "texts"),
        (args.explain, args.html, "explain"),
    ):
        if option and needed is None:
            other = "json" if name == "texts" else "html"
            raise UsageError(f"--{name} is about the file of --{other} FILE: name it, too.")
    for option, name in ((args.pairs, "pairs"), (args.doc, "doc")):
        if option and args.no_ci:
            raise UsageError(
                f"--{name} is about intervals and tests, which --no-ci leaves out: drop one."
            )
    started = time.perf_counter()
    page = args.html is not None
    result = score_files(args, metrics_or_usual(args), keep=args.texts or bool(args.by), page=page)
    seconds = time.perf_counter() - started
    shown = by_score(result) if args.sort else result
    how = {"segments": args.segments, "width": terminal_width(), "by": args.by}
    sys.stdout.write(render(shown, args.format, **how))
    if args.by and args.format != "json":
        sys.stdout.write("\n" + groups(shown, args.by, args.format, terminal_width()))
    if args.pairs and args.format != "json":
        sys.stdout.write("\n" + pairs(shown, args.format))
    sys.stdout.flush()
    if args.pairs and len(result.systems) < 2:
        tell("warning", "--pairs shows nothing: there is one system only.")
    for metric in result.values():
        if metric.unserved is not None:
            tell("warning", f"{metric.spec} has no scores: {metric.unserved}")
    if not args.quiet:
        _tell(result, seconds, verbose=args.verbose)
    if args.json is not None:
        write(args.json, json_text(result.to_dict(texts=args.texts, by=args.by)))
    if args.html is not None:
        write_page(result, args.html, args.explain)
    return 0


def _echo(args: argparse.Namespace) -> int:
    if args.test_set is None:
        raise UsageError("--echo prints a side of a test set: name one with -T.")
    take_test_set(args)
    for path in [args.source] if args.echo == "source" else args.references[:1]:
        for line in columns.column(path, "source")[0]:
            print(line)
    return 0


def _tell(result: Result, seconds: float, *, verbose: bool) -> None:
    """Signatures, suspicions and speed: everything that is not the result."""
    for metric in result.values():
        if metric.unserved is None:
            tell("signature", metric.signature.full if verbose else metric.signature.short)
    for message in result.warnings:
        tell("warning", message)
    for line in trust_lines(result):
        tell("trust", line)
    for metric in result.values():
        tell_notes(metric.spec, metric.notes)
    done = result.segments * len(result.systems)
    each = done / max(seconds, 1e-9)
    noun = "segment" if done == 1 else "segments"
    tell("speed", f"{done:,} {noun} in {seconds:.1f} s ({each:,.1f} per second)")
