"""`mtgauge probe`: does the metric prefer translationese to a human translation?"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mtgauge import registry
from mtgauge.commands.shared import add_encoder_options, progress_bar, use_encoder_options, write
from mtgauge.data.checks import language_pair, unescape
from mtgauge.data.corpus import Corpus
from mtgauge.data.judgements import read
from mtgauge.engine.cache import RowCache, default_folder
from mtgauge.engine.ready import check_device
from mtgauge.errors import UsageError
from mtgauge.meta import probes
from mtgauge.meta.probes import Probe
from mtgauge.meta.render import markdown, plain
from mtgauge.stats.bootstrap import SEED

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
    add("--format", choices=["table", "tsv", "json", "markdown"], default="table")
    add("--json", metavar="FILE", type=Path, help="write everything as JSON too")
    add("--histogram", action="store_true", help="draw how the d-statistic is spread")
    add("--unescape", action="store_true", help="undo HTML escapes such as &quot; in all texts")
    add("--no-cache", action="store_true", help="neither keep nor use scores of earlier runs")
    add("--seed", type=int, default=SEED, help="of the random order (%(default)s)")
    add("--quiet", action="store_true")
    add_encoder_options(parser)


@dataclass(frozen=True)
class Pairs:
    """Sources and their human translations, each segment once."""

    lp: str | None
    sources: list[str]
    references: list[str]


def run(args: argparse.Namespace) -> int:
    use_encoder_options(args)
    if args.probe == "w2w" and args.dictionary is None:
        raise UsageError("The w2w probe translates word by word: give --dictionary FILE (MUSE).")
    cache = None if args.no_cache else RowCache(args.cache or default_folder())
    words = None if args.dictionary is None else probes.read_dictionary(args.dictionary)
    check_device(registry.load(spec) for spec in args.metrics)
    found: list[Probe] = []
    with progress_bar("texts", quiet=args.quiet) as progress:
        for pairs in _pairs(args):
            for name, worse, coverage in _worse(args, pairs, words):
                found += [
                    probes.probe(
                        name,
                        spec,
                        pairs.sources,
                        pairs.references,
                        worse,
                        pairs.lp,
                        coverage=coverage,
                        cache=cache,
                        progress=progress,
                    )
                    for spec in args.metrics
                ]
    content = json.dumps({"rows": [p.to_dict() for p in found]}, ensure_ascii=False, indent=1)
    if args.format == "json":
        sys.stdout.write(content + "\n")
    else:
        sys.stdout.write(_table(found, args.format))
        if args.histogram:
            sys.stdout.write("".join("\n" + _histogram(p) for p in found))
    if args.json:
        write(args.json, content + "\n")
    return 0


def _pairs(args: argparse.Namespace) -> list[Pairs]:
    lang = None if args.lang is None else language_pair(args.lang)
    clean = unescape if args.unescape else str
    found = []
    if args.source or args.reference:
        if not (args.source and args.reference) or args.data:
            raise UsageError("Give DATA, or both -s SRC and -r REF.")
        corpus = Corpus.from_arguments([args.reference], args.source, [])
        sources: list[str] = []
        references: list[str] = []
        for chunk in corpus.chunks(10_000):
            sources += [clean(text) for text in chunk.sources or []]
            references += [clean(text) for text in next(iter(chunk.systems.values()))]
        found.append(Pairs(lang, sources, references))
    for path in args.data:
        for item in read(path, lang):
            if item.sources is None or item.references is None:
                raise UsageError(f"{path}: a probe needs sources and references.")
            both = dict.fromkeys(
                (clean(s), clean(r[0])) for s, r in zip(item.sources, item.references, strict=True)
            )
            found.append(Pairs(item.lp, [s for s, _ in both], [r for _, r in both]))
    if not found:
        raise UsageError("Nothing to probe: give DATA, or -s SRC and -r REF.")
    if args.dictionary is not None and len(found) > 1:
        raise UsageError("A dictionary is for one language pair: choose it with -l, e.g. -l de-en.")
    if args.limit is not None:
        found = [Pairs(p.lp, p.sources[: args.limit], p.references[: args.limit]) for p in found]
    return found


def _worse(
    args: argparse.Namespace, pairs: Pairs, words: probes.Dictionary | None
) -> list[tuple[str, list[str], float | None]]:
    """(name of the probe, worse texts, share of words in the dictionary)."""
    if args.probe == "w2w":
        translated, coverage = probes.word_by_word(pairs.sources, words or {})
        return [("w2w", translated, coverage)]
    found: list[tuple[str, list[str], float | None]] = [
        ("random order", probes.shuffled(pairs.references, args.seed), None)
    ]
    if words is not None:
        ordered = probes.source_order(pairs.sources, pairs.references, words)
        found.append(("source order", ordered, probes.word_by_word(pairs.sources, words)[1]))
    return found


def _table(found: Sequence[Probe], format: str) -> str:
    grid = [["metric", "lp", "probe", "n", "preferred", "mean d", "sd d", "words known"]]
    for p in found:
        facts = p.to_dict()
        grid.append(
            [
                p.metric,
                p.lp or "-",
                p.probe,
                str(facts["n"]),
                "-" if facts["share"] is None else f"{100 * p.share:.1f} %",
                "-" if facts["d_mean"] is None else f"{facts['d_mean']:+.4f}",
                "-" if facts["d_sd"] is None else f"{facts['d_sd']:.4f}",
                "-" if p.coverage is None else f"{100 * p.coverage:.0f} %",
            ]
        )
    if format == "tsv":
        return "".join("\t".join(row) + "\n" for row in grid)
    return (markdown if format == "markdown" else plain)(grid) + "\n"


def _histogram(p: Probe) -> str:
    counts, edges = p.histogram()
    top = max([*counts, 1])
    lines = [f"{p.metric}, {p.lp or '-'}, {p.probe}: d = m(worse) - m(human)"]
    for count, low, high in zip(counts, edges[:-1], edges[1:], strict=True):
        lines.append(f"{low:+.3f}..{high:+.3f} {'#' * round(50 * count / top)} {count}")
    return "\n".join(lines) + "\n"
