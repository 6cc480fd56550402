"""`mtgauge stream`: corpora in, corpora out."""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path

from mtgauge.commands.flags import read
from mtgauge.commands.outputs import OutputFile, OutputFolder
from mtgauge.commands.shared import (
    add_run_options,
    running,
    tell,
    tell_notes,
    use_encoder_options,
)
from mtgauge.data.records import Form
from mtgauge.data.spool import STANDARD_INPUT
from mtgauge.encode.load import configured
from mtgauge.engine.stream.plan import Plan
from mtgauge.engine.stream.rules import DUPLICATES, RULES
from mtgauge.engine.stream.run import ENCODERS, Streamed, stream
from mtgauge.errors import UsageError

_EXAMPLES = """
examples:
  mtgauge stream corpus.jsonl.gz -m xmoverscore:lm=off -l de-en -o scored
  mtgauge stream web.tsv -l de-en -o clean -m xmoverscore:lm=off \\
      --keep 'xmoverscore > 0.45 and not copy and not duplicate and length_ratio < 3'
  mtgauge stream corpus.parquet -m xmoverscore:lm=off -l de-en -o best --top 10%
  paste src.de tgt.en | mtgauge stream - --format tsv --no-header --source-column 1 \\
      --target-column 2 --add length_ratio copy

The same command again goes on with a run that was stopped.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLES
    add = parser.add_argument
    add(
        "inputs", nargs="+", metavar="IN", type=Path,
        help=".jsonl or .tsv (also .gz, .zst), .parquet, a folder of them, or - (standard input)",
    )  # fmt: skip
    add(
        "-m", "--metrics", nargs="+", default=[], metavar="METRIC", help="one new column per metric"
    )
    add(
        "-o", "--out", type=OutputFolder, metavar="DIR",
        help="folder of shards (default: standard output)",
    )  # fmt: skip
    add("-l", "--lang", metavar="PAIR", help="language pair, such as de-en")
    add("--source-column", dest="source", default="source", metavar="NAME", help="(%(default)s)")
    add("--target-column", dest="target", default="target", metavar="NAME", help="(%(default)s)")
    add(
        "--reference-column", dest="references", action="append", default=[], metavar="NAME",
        help="of a reference, for metrics that need one; may be given again",
    )  # fmt: skip
    add("--no-source", action="store_true", help="there is no source column")
    add(
        "--no-header",
        dest="header",
        action="store_false",
        help="TSV without header: columns are called 1, 2, ...",
    )
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
    add(
        "--rejects",
        type=OutputFile,
        metavar="FILE",
        help="where damaged records go; of -o: its folder",
    )
    add("--quiet", action="store_true", help="no notes, no progress")
    add_run_options(parser)


def run(args: argparse.Namespace) -> int:
    use_encoder_options(args)
    if args.no_source and args.source != "source":
        raise UsageError("--no-source and --source-column: which?")
    if args.format is None and STANDARD_INPUT in args.inputs:
        raise UsageError("Which form has standard input? Give --format jsonl or --format tsv.")
    plan = replace(
        read(Plan, args),
        source=None if args.no_source else args.source,
        form=None if args.format is None else Form(args.format),
    )
    started = time.perf_counter()
    with configured(**ENCODERS), running(args, "records") as (place, advance):
        found = stream(plan, args.out, place=place, rejects=args.rejects, progress=advance)
    sys.stdout.flush()
    if not args.quiet:
        _tell(found, time.perf_counter() - started, place.remark())
    return 0


def _tell(found: Streamed, seconds: float, place: str) -> None:
    for signature in found.signatures:
        tell("signature", signature)
    for spec, notes in found.notes.items():
        tell_notes(spec, notes)
    if found.resumed:
        tell("note", f"{found.resumed:,} shard(s) were finished before.")
    tell("records", f"{found.records:,} read, {found.kept:,} kept, {found.rejected:,} rejected")
    for reason in found.reasons:
        tell("rejected", f"{reason}.")
    if found.rejected > len(found.reasons) > 0:
        tell("rejected", f"and {found.rejected - len(found.reasons):,} more")
    for condition, count in found.dropped.most_common():
        tell("dropped", f"{count:,} by {condition}")
    if place:
        tell("place", place)
    each = found.records / max(seconds, 1e-9)
    tell("speed", f"{found.records:,} records in {seconds:.1f} s ({each:,.0f} per second)")
