"""`mtgauge remap fit | info | curve`: fit CLP and UMD from parallel text, and look at them.

    mtgauge remap fit -s news.de -t news.en -l de-en --method clp --out de-en.remap
    mtgauge remap fit -s news.de -t news.en -l de-en --method clp umd --out remaps/word
    mtgauge remap info de-en.remap
    mtgauge remap curve -s news.de -t news.en -l de-en --out curve/
    mtgauge remap curve -s news.de -t news.en -l de-en --judged da17.tsv.gz --out curve --plot .

`fit` takes the first usable sentence pairs (2,000 by default), aligns their words with the encoder
itself, with fast_align or with a lexicon, and writes one file; of several methods it writes
METHOD/LANG.remap each, so that `remap=remaps/word/umd` serves every pair. `curve` fits on 20, 50,
... pairs, and prints how many words of held-out sentences find their partner, before and after, and
how many of these sentences find their translation; with `--judged`, also the correlation of
XMoverScore as the paper has it, without a language model, with people's judgements (Figure 4 of
Zhao et al. 2020).
The fitted files stay in the folder.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from mtgauge.commands.outputs import OutputFolder
from mtgauge.commands.parser import positive, subcommand
from mtgauge.commands.shared import tell, warn_of_languages
from mtgauge.data.alignment import SOURCE
from mtgauge.data.checks import language_pair
from mtgauge.encode.remap import align
from mtgauge.encode.remap import maps as remaps
from mtgauge.encode.remap.fitting import (
    HELD_OUT,
    RemapPlan,
    fit_remaps,
    learning_curve,
    read_parallel,
)
from mtgauge.stats.paired import too_few

_FIT = """\
  mtgauge remap fit -s news.de -t news.en -l de-en --out de-en.remap
  mtgauge remap fit -s news.de -t news.en -l de-en --method clp umd --out remaps/word
  mtgauge score -s src.de -t sys.en -l de-en -m xmoverscore:remap=de-en.remap
"""
_CURVE = """\
  mtgauge remap curve -s news.de -t news.en -l de-en --out curve
  mtgauge remap curve -s news.de -t news.en -l de-en --judged da17.tsv.gz --out curve --plot .
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="fit|info|curve")
    fit = subcommand(actions, "fit", "fit a remap from parallel text", _FIT)
    curve = subcommand(actions, "curve", "how much parallel text is enough?", _CURVE)
    for sub in (fit, curve):
        sub.add_argument(
            "-s", "--source", required=True, metavar="FILE", help="parallel text: sources"
        )
        sub.add_argument(
            "-t", "--target", required=True, metavar="FILE", help="and their translations"
        )
        sub.add_argument("-l", "--lang", required=True, metavar="SRC-TGT", help="e.g. de-en")
        sub.add_argument("--encoder", default="embedded", help="as for metrics (default: embedded)")
        sub.add_argument("--layer", type=int, help="default: the encoder's advice for sources")
        sub.add_argument(
            "--align", choices=align.ALIGNERS, default="encoder", help="who pairs the words"
        )
        sub.add_argument(
            "--symmetrise",
            choices=align.SYMMETRISED,
            default="intersection",
            help="which links of fast_align's two directions count (%(default)s)",
        )
        sub.add_argument("--lexicon", type=Path, metavar="FILE", help="word pairs, one per line")
        sub.add_argument(
            "--pairs",
            type=positive,
            default=2000,
            metavar="N",
            help="sentence pairs (default 2000)",
        )
    fit.add_argument(
        "--method", choices=remaps.METHODS, nargs="+", default=["clp"],
        help="what is fitted (clp); of several each",
    )  # fmt: skip
    fit.add_argument(
        "--unit", choices=("word", "sentence"), default="word",
        help="whose vectors are remapped (%(default)s)",
    )  # fmt: skip
    fit.add_argument(
        "--out", type=Path, required=True, metavar="FILE",
        help="the file to write; of several methods a folder",
    )  # fmt: skip
    curve.add_argument(
        "--method", choices=remaps.METHODS, default="clp", help="what is fitted (%(default)s)"
    )
    curve.add_argument("--judged", type=Path, metavar="DATA", help="judgements to correlate with")
    curve.add_argument("--plot", type=Path, metavar="DIR", help="draw the curve (extra plot)")
    curve.add_argument(
        "--out", type=OutputFolder, required=True, metavar="DIR",
        help="folder for the fitted files",
    )  # fmt: skip
    info = subcommand(
        actions, "info", "what a remap file is for", "  mtgauge remap info de-en.remap"
    )
    info.add_argument("file", type=Path, metavar="FILE", help="what `remap fit` wrote")


def run(args: argparse.Namespace) -> int:
    return {"fit": run_fit, "info": run_info, "curve": run_curve}[args.action](args)


def run_fit(args: argparse.Namespace) -> int:
    start = time.perf_counter()
    plan = _plan(args, args.unit, args.method[0])
    sources, targets = read_parallel(args.source, args.target, args.pairs)
    warn_of_languages(plan.lang, {SOURCE: sources, "the translations": targets})
    fitted = fit_remaps(plan, sources, targets, args.method)
    _warn_of_few([one.remap for one in fitted], args.unit)
    for method, (remap, before, after) in zip(args.method, fitted, strict=True):
        out = args.out if len(args.method) == 1 else args.out / method / f"{plan.lang}.remap"
        out.parent.mkdir(parents=True, exist_ok=True)
        remap.save(out)
        found = {"found_before": before, "found_after": after}
        print(json.dumps(asdict(remap.facts) | found, indent=1))
        pairs = f"{remap.facts.pairs} {args.unit} pairs of {len(sources)} sentence pairs"
        print(f"{out}: {pairs}, {time.perf_counter() - start:.1f} s", file=sys.stderr)
    return 0


def _warn_of_few(fitted: Sequence[remaps.Remap], unit: str) -> None:
    """A matrix of fewer pairs than dimensions matches these pairs, whatever they are."""
    matrices = [remap for remap in fitted if remap.projection is not None]
    if matrices and (n := matrices[0].facts.pairs) < (dim := matrices[0].dim):
        few = too_few(n, f"{unit} pair")
        tell("warning", f"{few} for {dim} dimensions: found_after says nothing. Give more text.")


def run_info(args: argparse.Namespace) -> int:
    remap = remaps.load(args.file)
    shape = {name: list(array.shape) for name, array in remap.arrays().items()}
    facts = asdict(remap.facts) | {"arrays": shape}
    if remap.projection is not None:
        w = remap.projection.astype(np.float64)
        facts["orthogonal_to"] = float(np.abs(w.T @ w - np.eye(len(w))).max())
        facts["trace"] = float(np.trace(w) / len(w))
    print(json.dumps(facts, indent=1))
    return 0


def run_curve(args: argparse.Namespace) -> int:
    plan = _plan(args, "word", args.method)
    sources, targets = read_parallel(args.source, args.target, args.pairs + HELD_OUT)
    warn_of_languages(plan.lang, {SOURCE: sources, "the translations": targets})
    args.out.mkdir(parents=True, exist_ok=True)
    judged = ["pearson"] if args.judged else []
    names = ["found_before", "found_after", "retrieved", *judged]
    print("\t".join(["sentences", "word_pairs", *names]))
    curves: dict[str, dict[int, float]] = {name: {} for name in names[1:]}
    for size, (remap, before, after), retrieved in learning_curve(plan, sources, targets):
        path = args.out / f"{size}.remap"
        remap.save(path)
        values = [before, after, retrieved]
        values += [_correlation(args, plan.lang, path, remap.facts.layer)] if judged else []
        print("\t".join([str(size), str(remap.facts.pairs), *(f"{v:.4f}" for v in values)]))
        for name, value in zip(names[1:], values[1:], strict=True):
            curves[name][size] = value
    if args.plot:
        from mtgauge.report.plots import plot_curve

        plot_curve(args.plot / f"curve.{plan.lang}.png", curves, f"{args.method}, {plan.lang}")
    return 0


def _correlation(args: argparse.Namespace, lang: str, path: Path, layer: int) -> float:
    """Pearson r of MOVER-2 with this remap, on the judged segments."""
    from mtgauge.report.api import meta

    spec = f"xmoverscore:preset=paper2020,encoder='{args.encoder}',layer={layer},lm=off"
    found = meta([args.judged], [f"{spec},remap='{path}'"], lang=lang, ci=False)
    return float(found.rows[0].values["pearson"])


def _plan(args: argparse.Namespace, unit: remaps.Unit, method: str) -> RemapPlan:
    return RemapPlan(
        language_pair(args.lang),
        args.encoder,
        args.layer,
        method,
        unit,
        args.align,
        args.lexicon,
        args.symmetrise,
    )
