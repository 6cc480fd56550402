"""`mtgauge report`: one HTML page of a comparison, that needs nothing else."""

from __future__ import annotations

import argparse
from pathlib import Path

from mtgauge.commands.outputs import OutputFile
from mtgauge.commands.shared import (
    add_corpus_options,
    add_page_options,
    metrics_or_usual,
    score_files,
    tell,
    use_encoder_options,
    write_page,
)
from mtgauge.engine import stored
from mtgauge.errors import UsageError

_EXAMPLES = """
examples:
  mtgauge report -s src.de -t old.txt new.txt -r ref.txt -l de-en -m bleu chrf xmoverscore
  mtgauge report -s src.de -t systems.tsv -l de-en -m xmoverscore kobe --by domain -o systems.html
  mtgauge score -t old.txt new.txt -r ref.txt --json result.json --texts
  mtgauge report result.json

The page holds texts, scores, tests and explanations: it opens in any browser, without a network.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLES
    parser.add_argument(
        "result", nargs="?", type=Path, metavar="RESULT.json",
        help="a run that `mtgauge score --json FILE --texts` stored, in place of -t",
    )  # fmt: skip
    parser.add_argument(
        "-o", "--output", type=OutputFile, default="report.html", metavar="FILE",
        help="the page to write (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--title", metavar="TEXT", help="what the page is called")
    add_page_options(parser)
    parser.add_argument(
        "--baseline", metavar="NAME", help="system to test against (default: the first)"
    )
    parser.add_argument(
        "--no-ci", action="store_true", help="no confidence intervals and no significance tests"
    )
    add_corpus_options(parser, "bleu chrf; none with --scores")


def run(args: argparse.Namespace) -> int:
    if args.result is not None and args.translations is not None:
        raise UsageError("Give a stored result or -t FILE, not both.")
    if args.result is not None:
        use_encoder_options(args)
        result = stored.read(args.result)
    else:
        result = score_files(args, metrics_or_usual(args), page=True)
    if result.texts is None:
        tell(
            "warning",
            f"{args.result} has no texts: the page has scores and tests, but no segments. Write it "
            "with mtgauge score ... --json FILE --texts.",
        )
    write_page(result, args.output, args.explain, args.title)
    print(args.output)
    return 0
