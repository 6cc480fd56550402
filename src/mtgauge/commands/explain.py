"""`mtgauge explain`: what one segment's score was made of, or which kinds of entity are lost."""

from __future__ import annotations

import argparse
import json
import sys
from itertools import islice
from pathlib import Path

from mtgauge import registry
from mtgauge.commands.shared import add_encoder_options, use_encoder_options
from mtgauge.data import checks
from mtgauge.data.corpus import Corpus
from mtgauge.data.segments import Segments
from mtgauge.errors import InputError, UsageError
from mtgauge.metrics.kobe import Kobe
from mtgauge.report.explain import render

_EXAMPLES = """
examples:
  mtgauge explain -s src.de -t sys.en -l de-en -m xmoverscore --segment 3
  mtgauge explain -s src.de -t sys.en -l de-en -m kobe --categories
"""
_CHUNK = 2000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLES
    parser.add_argument("-t", "--translation", required=True, metavar="HYP")
    parser.add_argument("-s", "--source", metavar="SRC")
    parser.add_argument("-r", "--references", nargs="+", default=[], metavar="REF")
    parser.add_argument("-l", "--lang", metavar="PAIR")
    parser.add_argument("-m", "--metric", required=True, metavar="METRIC")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--segment", type=int, metavar="N", help="counted from 1")
    what.add_argument(
        "--categories",
        action="store_true",
        help="over all segments, how many entities of each kind are kept (kobe)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--plot", type=Path, metavar="FILE", help="draw the matrix too, as .svg or .png"
    )
    add_encoder_options(parser)


def run(args: argparse.Namespace) -> int:
    use_encoder_options(args)
    lang = None if args.lang is None else checks.language_pair(args.lang)
    if args.categories:
        return _categories(args, lang)
    with Corpus.from_arguments([args.translation], args.source, args.references) as corpus:
        segment = _segment(corpus, args.segment, lang)
        have = frozenset(
            side
            for side, column in (("source", segment.sources), ("reference", segment.references))
            if column is not None
        )
        metric = registry.load(args.metric).resolve(have)
        if missing := metric.needs - have:
            raise UsageError(f"{args.metric} needs a {' and a '.join(sorted(missing))}.")
        if metric.needs_corpus:
            metric.fit(corpus.reference_texts())
    explanation = metric.explain(segment)
    if args.json:
        print(json.dumps(explanation.to_dict(), ensure_ascii=False))
    else:
        sys.stdout.write(render(explanation, colour=sys.stdout.isatty()))
    if args.plot is not None:
        from mtgauge.report.heatmap import draw

        draw(explanation, args.plot)
    return 0


def _categories(args: argparse.Namespace, lang: str | None) -> int:
    """Kept and all source entities by kind: the paper's Figure 3, for one system."""
    metric = registry.load(args.metric)
    if not isinstance(metric, Kobe):
        raise UsageError(f"--categories counts entities: it takes kobe, not {metric.name}.")
    counts: dict[str, tuple[int, int]] = {}
    with Corpus.from_arguments([args.translation], args.source, args.references) as corpus:
        for chunk in corpus.chunks(_CHUNK):
            (texts,) = chunk.systems.values()
            batch = Segments(texts, chunk.sources, chunk.references, lang)
            for category, (kept, all_) in metric.categories(batch).items():
                before = counts.get(category, (0, 0))
                counts[category] = (before[0] + kept, before[1] + all_)
    ordered = sorted(counts.items(), key=lambda item: -item[1][1])
    if args.json:
        rows = {category: {"kept": kept, "entities": all_} for category, (kept, all_) in ordered}
        print(json.dumps(rows, ensure_ascii=False))
        return 0
    total = (sum(kept for kept, _ in counts.values()), sum(all_ for _, all_ in counts.values()))
    print("category\tentities\tkept\tshare")
    for category, (kept, all_) in (*ordered, ("all", total)):
        print(category, all_, kept, f"{kept / all_:.3f}" if all_ else "-", sep="\t")
    return 0


def _segment(corpus: Corpus, number: int, lang: str | None) -> Segments:
    if len(corpus.systems) != 1:
        names = ", ".join(corpus.systems)
        raise UsageError(f"Explain one system at a time; name its column. There are: {names}.")
    chunk = next(islice(corpus.chunks(1), number - 1, None), None) if number > 0 else None
    if chunk is None:
        raise InputError(f"there is no segment {number}", remedy="Segments are counted from 1.")
    (texts,) = chunk.systems.values()
    return Segments(texts, chunk.sources, chunk.references, lang)
