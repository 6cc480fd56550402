"""`mtgauge probe`: does the metric prefer a worse text to a good translation?"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from mtgauge.commands.shared import (
    add_result_options,
    open_cache,
    progress_bar,
    tell,
    use_encoder_options,
)
from mtgauge.data.corpus import Corpus
from mtgauge.data.output import write
from mtgauge.errors import UsageError
from mtgauge.report.api import Probes, Robustness, probe

_EXAMPLES = """
examples:
  mtgauge probe w2w judged.tsv.gz -l de-en --dictionary de-en.txt.gz -m cosine xmoverscore
  mtgauge probe w2w judged.tsv.gz -l cs-en --parallel news.cs news.en -m xmoverscore --plot figures
  mtgauge probe w2w -s src.de -r ref.en -l de-en --worse literal.en -m xmoverscore
  mtgauge probe reorder -s src.de -r ref.en -l de-en -m xmoverscore
  mtgauge probe reorder judged.tsv.gz -l de-en --dictionary de-en.txt.gz -m xmoverscore
  mtgauge probe robust judged.tsv.gz --limit 100 -m xmoverscore kobe
  mtgauge probe robust -s src.de -r ref.en -l de-en --worse mine.en -m xmoverscore
  mtgauge probe robust -s src.de -r ref.en -t good.en -l de-en -m chrf regressor

w2w      the source word by word through a dictionary (MUSE, or two columns; or learned from
         parallel text; inflected forms by their lemma) against the reference
reorder  the reference's words at random, and with a dictionary also in the order of the source
robust   versions with known faults: copies, other languages, lost clauses, wrong numbers and names

The share printed is how often the metric scores that text above the human translation (W2W,
equation 2 of Zhao et al. 2020), in the robust probe at least as high: 0 is best. DATA is read as by
`mtgauge meta`. Metrics that compare with the reference need another good translation: -t.
"""

# flags that are arguments of `mtgauge.probe` as they are
_SAME = ("metrics", "lang", "dictionary", "faults", "limit", "unescape", "seed")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLES
    add = parser.add_argument
    add("probe", choices=["w2w", "reorder", "robust"], help="which worse texts; see below")
    add(
        "data", nargs="*", default=[], metavar="DATA", type=Path,
        help="judged segments, in place of -s and -r",
    )  # fmt: skip
    add("-s", "--source", metavar="SRC", help="what was translated")
    add("-r", "--reference", metavar="REF", help="a human translation of it")
    add("-t", "--translation", metavar="FILE", help="robust: good translations, instead of REF")
    add("-l", "--lang", metavar="LP", help="language pair, such as de-en")
    add(
        "-m", "--metrics", nargs="+", required=True, metavar="METRIC",
        help="name or name:key=value,key=value; see mtgauge metrics",
    )  # fmt: skip
    add("--dictionary", metavar="FILE", type=Path, help="two columns: foreign word, translation")
    add("--faults", nargs="+", metavar="NAME", help="robust: only these, such as copy number")
    add(
        "--parallel",
        nargs=2,
        metavar=("SRC", "TGT"),
        help="w2w, reorder: learn a dictionary from these two files (extra align)",
    )
    add("--worse", nargs="+", metavar="FILE", help="worse versions of your own, line by line")
    add("--limit", type=int, metavar="N", help="only the first N segments")
    add("--histogram", action="store_true", help="draw how the d-statistic is spread")
    add("--plot", type=Path, metavar="DIR", help="the same as pictures (extra plot)")
    add_result_options(parser, seed="random order and faults")


def run(args: argparse.Namespace) -> int:
    use_encoder_options(args)
    for option in ("histogram", "plot"):
        if getattr(args, option) and args.probe == "robust":
            raise UsageError(f"--{option} is for the probes w2w and reorder.")
    texts = _texts(args)
    with progress_bar("texts", quiet=args.quiet) as progress:
        found: Probes | Robustness = probe(
            args.probe,
            args.data,
            sources=texts.get("source"),
            references=texts.get("reference"),
            translations=texts.get("translation"),
            parallel=_parallel(args),
            worse=_own_versions(args),
            cache=open_cache(args),
            progress=progress,
            **{name: getattr(args, name) for name in _SAME},
        )
    sys.stdout.write(found.render(args.format))
    for warning in found.warnings:
        tell("warning", warning)
    if args.histogram and isinstance(found, Probes) and args.format != "json":
        sys.stdout.write("\n" + found.histograms())
    if args.plot and isinstance(found, Probes):
        found.plot(args.plot)
    if args.json:
        write(args.json, found.render("json"))
    return 0


def _parallel(args: argparse.Namespace) -> tuple[list[str], list[str]] | None:
    if args.parallel is None:
        return None
    found = _lines(dict(zip(("source", "target"), args.parallel, strict=True)))
    return found["source"], found["target"]


def _texts(args: argparse.Namespace) -> dict[str, list[str]]:
    """What -s, -r and -t name."""
    named = {"source": args.source, "reference": args.reference, "translation": args.translation}
    files = {side: file for side, file in named.items() if file}
    if not files:
        return {}
    if not {"source", "reference"} <= files.keys():
        raise UsageError("Give DATA, or both -s SRC and -r REF.")
    return _lines(files)


def _own_versions(args: argparse.Namespace) -> dict[str, list[str]]:
    """What --worse names, by the name of the file; as many lines as the source has."""
    if not args.worse:
        return {}
    if not args.source:
        raise UsageError("--worse goes line by line with the texts of -s SRC and -r REF.")
    versions: dict[str, list[str]] = {}
    for file in args.worse:
        if Path(file).name in versions:
            raise UsageError(f"--worse names {Path(file).name} twice: the names of faults differ.")
        versions[Path(file).name] = _lines({"source": args.source, "worse": file})["worse"]
    return versions


def _lines(files: dict[str, str]) -> dict[str, list[str]]:
    """The lines of each file; files of different length are refused."""
    source = files["source"]
    others = {side: file for side, file in files.items() if side != "source"}
    found: dict[str, list[str]] = {side: [] for side in files}
    with Corpus.from_arguments(list(others.values()), source, []) as corpus:
        for chunk in corpus.chunks(10_000):
            found["source"] += chunk.sources or []
            for side, texts in zip(others, chunk.systems.values(), strict=True):
                found[side] += texts
    return found
