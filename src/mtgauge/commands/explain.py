"""`mtgauge explain`: what one segment's score was made of, or which kinds of entity are lost."""

from __future__ import annotations

import argparse
import sys

from mtgauge.commands.outputs import OutputFile
from mtgauge.commands.shared import add_encoder_options, terminal_width, use_encoder_options
from mtgauge.data import checks
from mtgauge.data.corpus import Corpus
from mtgauge.engine.entities import Kept
from mtgauge.engine.explain import categories, explain_corpus
from mtgauge.errors import UsageError
from mtgauge.explanation import Explanation
from mtgauge.report.explain import render
from mtgauge.report.writers import json_text

_EXAMPLES = """
examples:
  mtgauge explain -s src.de -t sys.en -l de-en -m xmoverscore --segment 3
  mtgauge explain -t sys.en -r ref.txt -l de-en -m ter --segment 3 --top 20
  mtgauge explain -s src.de -t sys.en -l de-en -m kobe --categories
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLES
    parser.add_argument("-t", "--translation", required=True, metavar="HYP", help="of one system")
    parser.add_argument("-s", "--source", metavar="SRC", help="what was translated")
    parser.add_argument(
        "-r", "--references", nargs="+", default=[], metavar="REF", help="human translations"
    )
    parser.add_argument("-l", "--lang", metavar="PAIR", help="language pair, such as de-en")
    parser.add_argument(
        "-m", "--metric", required=True, metavar="METRIC", help="name or name:key=value,key=value"
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--segment", type=int, metavar="N", help="counted from 1")
    what.add_argument(
        "--categories",
        action="store_true",
        help="over all segments, how many entities of each kind are kept (kobe)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--top", type=int, default=10, metavar="N", help="how many findings (default: %(default)s)"
    )
    parser.add_argument(
        "--matrix", action="store_true", help="show how near every two words are, dark is near"
    )
    parser.add_argument(
        "--plot", type=OutputFile, metavar="FILE", help="draw the matrix too, as .svg or .png"
    )
    add_encoder_options(parser)


def run(args: argparse.Namespace) -> int:
    use_encoder_options(args)
    if args.top < 1:
        raise UsageError("--top is 1 or more.")
    lang = None if args.lang is None else checks.language_pair(args.lang)
    with Corpus.from_arguments([args.translation], args.source, args.references) as corpus:
        if args.categories:
            return _show_categories(categories(corpus, args.metric, lang), args.json)
        explanation = explain_corpus(corpus, args.metric, lang, args.segment)
    if (args.matrix or args.plot) and not _has_matrix(explanation):
        raise UsageError(f"{args.metric} has no matrix to draw: leave --matrix and --plot out.")
    if args.json:
        sys.stdout.write(json_text(explanation.to_dict()))
    else:
        colour, wide = sys.stdout.isatty(), min(terminal_width(), 100)
        sys.stdout.write(
            render(explanation, colour=colour, width=wide, matrix=args.matrix, top=args.top)
        )
    if args.plot is not None:
        from mtgauge.report.heatmap import draw

        draw(explanation, args.plot)
    return 0


def _has_matrix(explanation: Explanation) -> bool:
    """Whether a picture of it, or of one of its parts, has something to show."""
    own = explanation.matrix is not None and explanation.matrix.size > 0
    return own or any(map(_has_matrix, explanation.parts))


def _show_categories(counts: Kept, as_json: bool) -> int:
    if as_json:
        rows = {category: {"kept": kept, "entities": n} for category, (kept, n) in counts.items()}
        sys.stdout.write(json_text(rows))
        return 0
    total = (sum(kept for kept, _ in counts.values()), sum(n for _, n in counts.values()))
    print("category\tentities\tkept\tshare")
    for category, (kept, n) in (*counts.items(), ("all", total)):
        print(category, n, f"{kept:.6g}", f"{kept / n:.3f}" if n else "-", sep="\t")
    return 0
