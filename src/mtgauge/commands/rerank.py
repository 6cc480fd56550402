"""`mtgauge rerank`: the best of n candidates per segment."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mtgauge.commands.outputs import OutputFile
from mtgauge.commands.shared import (
    add_run_options,
    running,
    tell,
    tell_notes,
    use_encoder_options,
)
from mtgauge.data import candidates, readers
from mtgauge.data.output import write
from mtgauge.data.spool import STANDARD_INPUT, Spool
from mtgauge.engine.rerank import Reranked, rerank
from mtgauge.errors import InputError, UsageError

_EXAMPLES = """
examples:
  mtgauge rerank -t candidates.txt -n 8 -s src.de -l de-en -m xmoverscore -o best.txt
  mtgauge rerank -t samples.jsonl --mbr bertscore --scores scores.tsv
  mtgauge rerank -t system.nbest -s src.de -l de-en -m xmoverscore --mbr chrf --weights 2 1
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLES
    add = parser.add_argument
    add(
        "-t", "--candidates", required=True, metavar="FILE", type=Path,
        help="plain lines with -n, .jsonl with a list per line, or .nbest (Moses); - is standard "
        "input, of plain lines",
    )  # fmt: skip
    add("-n", type=int, metavar="N", help="candidates per segment, one after the other")
    add("-s", "--source", metavar="FILE", type=Path, help="one source per line; .jsonl has its own")
    add("-l", "--lang", metavar="PAIR", help="language pair, such as de-en")
    add(
        "-m", "--metrics", nargs="+", default=[], metavar="METRIC",
        help="metrics that need no reference",
    )  # fmt: skip
    add(
        "--mbr", nargs="+", default=[], metavar="METRIC",
        help="minimum Bayes risk: metrics that take a reference, which is every candidate in turn",
    )  # fmt: skip
    add(
        "--weights", nargs="+", type=float, metavar="W",
        help="of a blend: one per metric, those of -m first (default: all 1)",
    )  # fmt: skip
    add(
        "-o",
        "--out",
        metavar="FILE",
        type=OutputFile,
        help="the best, one per line (default: print it)",
    )
    add("--nbest", metavar="FILE", type=OutputFile, help="all candidates, the best first (Moses)")
    add("--scores", metavar="FILE", type=OutputFile, help="one row per candidate: .tsv or .jsonl")
    add(
        "--matrix",
        metavar="FILE",
        type=OutputFile,
        help="utilities of all pairs: .jsonl; with --mbr",
    )
    add("--candidates-column", default="candidates", metavar="NAME", help="of .jsonl (%(default)s)")
    add("--source-column", default="source", metavar="NAME", help="of .jsonl (%(default)s)")
    add("--quiet", action="store_true", help="results only: no notes, no progress")
    add_run_options(parser)


def run(args: argparse.Namespace) -> int:
    use_encoder_options(args)
    _check(args)
    found, sources = _read(args)
    started = time.perf_counter()
    with running(args, "pairs") as (place, advance):
        result = rerank(
            found.groups,
            sources,
            args.metrics,
            args.mbr,
            args.lang,
            weights=args.weights,
            matrix=args.matrix is not None,
            place=place,
            progress=advance,
        )
    seconds = time.perf_counter() - started
    _write(args, result)
    if not args.quiet:
        _tell(result, seconds, place.remark())
    return 0


def _check(args: argparse.Namespace) -> None:
    if args.matrix is not None and not args.mbr:
        raise UsageError("--matrix keeps the utilities of --mbr: name a metric there.")
    for path, endings in ((args.scores, (".tsv", ".jsonl")), (args.matrix, (".jsonl",))):
        if path is not None and path.suffix not in endings:
            raise UsageError(f"{path}: which form? Name it {' or '.join(endings)}.")
    if args.source == STANDARD_INPUT == args.candidates:
        raise UsageError("Standard input is one of the two: name a file for the other.")


def _read(args: argparse.Namespace) -> tuple[candidates.Candidates, list[str] | None]:
    with Spool() as spool:
        label = "standard input" if args.candidates == STANDARD_INPUT else str(args.candidates)
        if args.candidates != STANDARD_INPUT:
            readers.must_exist(args.candidates)
        found = candidates.read(
            spool.reusable(args.candidates),
            args.n,
            label=label,
            column=args.candidates_column,
            source=args.source_column,
        )
        if args.source is None:
            return found, found.sources
        if found.sources is not None:
            raise UsageError(f"{label} has sources of its own: leave -s out.")
        sources = readers.text_lines(spool.reusable(args.source))
    if len(sources) != len(found.groups):
        per = f" of {args.n} each" if args.n else ""
        raise InputError(
            f"{len(found.groups):,} lists of candidates{per}, but {args.source} has "
            f"{len(sources):,} lines",
            file=label,
            remedy="Check -n, and that both belong together.",
        )
    return found, sources


def _write(args: argparse.Namespace, result: Reranked) -> None:
    best = "".join(f"{text}\n" for text in result.best)
    if args.out is None:
        sys.stdout.write(best)
        sys.stdout.flush()
    else:
        write(args.out, best)
    if args.nbest is not None:
        text = candidates.moses_lines(result.candidates, result.order, result.scores, result.total)
        write(args.nbest, text)
    if args.scores is not None:
        write(args.scores, _table(result.rows(), args.scores.suffix))
    if args.matrix is not None:
        write(args.matrix, "".join(_matrix_lines(result)))


def _table(rows: Iterable[dict[str, Any]], ending: str) -> str:
    if ending == ".jsonl":
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    lines: list[str] = []
    for row in rows:
        if not lines:
            lines.append("\t".join(row))
        lines.append("\t".join("" if value is None else str(value) for value in row.values()))
    return "\n".join(lines) + "\n"


def _matrix_lines(result: Reranked) -> Iterable[str]:
    """One line per segment and metric: utility[i][j] of candidate i with candidate j."""
    for name, matrices in result.matrices.items():
        for segment, matrix in enumerate(matrices):
            row = {
                "segment": segment + 1,
                "metric": name,
                "expected": result.scores[name][segment].tolist(),
                "utility": matrix.tolist(),
            }
            yield json.dumps(row) + "\n"


def _tell(result: Reranked, seconds: float, place: str) -> None:
    for name, signature in result.signatures.items():
        blank = "mbr " if name.startswith("mbr:") else ""
        tell("signature", f"{blank}{signature}")
    for text in result.warnings:
        tell("warning", text)
    for name, notes in result.notes.items():
        tell_notes(name, notes)
    if result.undecided:
        tell("note", f"{result.undecided:,} of {len(result.candidates):,} segments: all candidates "
             "score the same, so the first one stands.")  # fmt: skip
    changed = sum(choice != 0 for choice in result.choice)
    many = len(result.candidates)
    tell("note", f"{changed:,} of {many:,} segments: not the first candidate.")
    if place:
        tell("place", place)
    tell("speed", f"{sum(map(len, result.candidates)):,} candidates in {seconds:.1f} s")
