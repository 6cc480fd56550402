"""`mtgauge probe`: does the metric prefer translationese to a human translation?"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from mtgauge.commands.shared import (
    add_result_options,
    open_cache,
    progress_bar,
    use_encoder_options,
)
from mtgauge.data.corpus import Corpus
from mtgauge.data.output import write
from mtgauge.errors import UsageError
from mtgauge.report.api import probe

_EXAMPLES = """
examples:
  mtgauge probe w2w judged.tsv.gz -l de-en --dictionary de-en.txt.gz -m cosine xmoverscore
  mtgauge probe reorder -s src.de -r ref.en -l de-en -m xmoverscore
  mtgauge probe reorder judged.tsv.gz -l de-en --dictionary de-en.txt.gz -m xmoverscore

w2w      the source word by word through a dictionary (MUSE, or two columns) against the reference
reorder  the reference's words at random, and with a dictionary also in the order of the source

The share printed is how often the metric scores that text above the human translation (W2W,
equation 2 of Zhao et al. 2020): 0 is best. DATA is read as by `mtgauge meta`.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLES
    add = parser.add_argument
    add("probe", choices=["w2w", "reorder"])
    add("data", nargs="*", metavar="DATA", type=Path)
    add("-s", "--source", metavar="SRC")
    add("-r", "--reference", metavar="REF")
    add("-l", "--lang", metavar="LP", help="language pair, such as de-en")
    add("-m", "--metrics", nargs="+", required=True, metavar="METRIC")
    add("--dictionary", metavar="FILE", type=Path, help="two columns: foreign word, translation")
    add("--limit", type=int, metavar="N", help="only the first N segments")
    add("--histogram", action="store_true", help="draw how the d-statistic is spread")
    add_result_options(parser, seed="random order")


def run(args: argparse.Namespace) -> int:
    use_encoder_options(args)
    sources, references = _texts(args)
    with progress_bar("texts", quiet=args.quiet) as progress:
        found = probe(
            args.probe,
            args.data,
            args.metrics,
            sources=sources,
            references=references,
            lang=args.lang,
            dictionary=args.dictionary,
            limit=args.limit,
            unescape=args.unescape,
            seed=args.seed,
            cache=open_cache(args),
            progress=progress,
        )
    sys.stdout.write(found.render(args.format))
    if args.histogram and args.format != "json":
        sys.stdout.write("\n" + found.histograms())
    if args.json:
        write(args.json, found.render("json"))
    return 0


def _texts(args: argparse.Namespace) -> tuple[list[str] | None, list[str] | None]:
    """What -s and -r name."""
    if not args.source and not args.reference:
        return None, None
    if not (args.source and args.reference):
        raise UsageError("Give DATA, or both -s SRC and -r REF.")
    sources: list[str] = []
    references: list[str] = []
    with Corpus.from_arguments([args.reference], args.source, []) as corpus:
        for chunk in corpus.chunks(10_000):
            sources += chunk.sources or []
            references += next(iter(chunk.systems.values()))
    return sources, references
