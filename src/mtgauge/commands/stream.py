"""`mtgauge stream`: corpora in, corpora out."""

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
from mtgauge.data.records import Form
from mtgauge.data.spool import STANDARD_INPUT
from mtgauge.encode.load import configured
from mtgauge.engine.stream.plan import Plan
from mtgauge.engine.stream.rules import DUPLICATES, RULES
from mtgauge.engine.stream.run import ENCODERS, Streamed, stream
from mtgauge.errors import UsageError
from mtgauge.notes import sentence


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "inputs", nargs="+", metavar="IN", type=Path,
        help=".jsonl or .tsv (also .gz, .zst), .parquet, a folder of them, or - (standard input)",
    )  # fmt: skip
    add(
        "-m", "--metrics", nargs="+", default=[], metavar="METRIC", help="one new column per metric"
    )
    add("-o", "--out", type=Path, metavar="DIR", help="folder of shards (default: standard output)")
    add("-l", "--lang", metavar="PAIR", help="language pair, such as de-en")
    add("--source-column", default="source", metavar="NAME", help="(%(default)s)")
    add("--target-column", default="target", metavar="NAME", help="(%(default)s)")
    add(
        "--reference-column", action="append", default=[], metavar="NAME",
        help="of a reference, for metrics that need one; may be given again",
    )  # fmt: skip
    add("--no-source", action="store_true", help="there is no source column")
    add("--no-header", action="store_true", help="TSV without header: columns are called 1, 2, ...")
    add(
        "--format",
        choices=["jsonl", "tsv"],
        help="of standard input and of files without an ending",
    )
    add(
        "--add", nargs="+", default=[], metavar="COLUMN",
        help=f"more columns: {' '.join([*RULES, *DUPLICATES])}",
    )  # fmt: skip
    add(
        "--keep", metavar="EXPR",
        help="which records stay, such as 'xmoverscore > 0.45 and not copy and length_ratio < 3'; "
        "columns named here are added",
    )  # fmt: skip
    add("--top", metavar="SHARE", help="of these the best: 10%% or a number; needs -o")
    add("--by", metavar="EXPR", help="what --top goes by (default: the first metric)")
    add("--prefix", default="", metavar="TEXT", help="of the names of new columns")
    add(
        "--shard-size",
        type=int,
        default=50_000,
        metavar="N",
        help="records per shard (%(default)s)",
    )
    add(
        "--max-rejects", type=int, default=1000, metavar="N",
        help="more damaged records than this end the run (%(default)s)",
    )  # fmt: skip
    add("--rejects", type=Path, metavar="FILE", help="where damaged records go; of -o: its folder")
    add("--quiet", action="store_true", help="no notes, no progress")
    add_encoder_options(parser)
    add_place_options(parser)


def run(args: argparse.Namespace) -> int:
    use_encoder_options(args)
    if args.no_source and args.source_column != "source":
        raise UsageError("--no-source and --source-column: which?")
    if args.format is None and STANDARD_INPUT in args.inputs:
        raise UsageError("Which form has standard input? Give --format jsonl or --format tsv.")
    plan = Plan(
        inputs=args.inputs,
        metrics=args.metrics,
        source=None if args.no_source else args.source_column,
        target=args.target_column,
        references=args.reference_column,
        lang=args.lang,
        add=args.add,
        keep=args.keep,
        top=args.top,
        by=args.by,
        prefix=args.prefix,
        form=None if args.format is None else Form(args.format),
        header=not args.no_header,
        shard_size=args.shard_size,
        max_rejects=args.max_rejects,
    )
    started = time.perf_counter()
    with (
        configured(**ENCODERS),
        place_of(args) as place,
        progress_bar("records", quiet=args.quiet) as advance,
    ):
        found = stream(plan, args.out, place=place, rejects=args.rejects, progress=advance)
    sys.stdout.flush()
    if not args.quiet:
        _tell(found, time.perf_counter() - started, place.remark())
    return 0


def _tell(found: Streamed, seconds: float, place: str) -> None:
    def say(what: str, text: str) -> None:
        print(f"{what:<10} {text}", file=sys.stderr)

    for signature in found.signatures:
        say("signature", signature)
    for spec, notes in found.notes.items():
        for what, count in notes.items():
            if count:
                say("note", f"{spec}: {sentence(what, count)}")
    if found.resumed:
        say("note", f"{found.resumed:,} shard(s) were finished before.")
    say("records", f"{found.records:,} read, {found.kept:,} kept, {found.rejected:,} rejected")
    for condition, count in found.dropped.most_common():
        say("dropped", f"{count:,} by {condition}")
    if place:
        say("place", place)
    each = found.records / max(seconds, 1e-9)
    say("speed", f"{found.records:,} records in {seconds:.1f} s ({each:,.0f} per second)")
