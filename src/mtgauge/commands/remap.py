"""`mtgauge remap fit | info | curve`: fit CLP and UMD from parallel text, and look at them.

    mtgauge remap fit -s news.de -t news.en -l de-en --method clp --out de-en.remap
    mtgauge remap info de-en.remap
    mtgauge remap curve -s news.de -t news.en -l de-en --out curve/

`fit` takes the first usable sentence pairs (2,000 by default), aligns their words with the encoder
itself, with fast_align or with a lexicon, and writes one file. `curve` fits on 20, 50, ... pairs,
and prints how many words of held-out sentences find their partner, before and after; the fitted
files stay in the folder, so that `mtgauge meta` can correlate each one with human judgements.
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

from mtgauge.data import columns
from mtgauge.data.checks import is_blank
from mtgauge.data.spool import Spool
from mtgauge.encode import load_encoder
from mtgauge.encode.remap import align
from mtgauge.encode.remap import maps as remaps
from mtgauge.encode.sentence.encoders import load_sentence_encoder
from mtgauge.encode.tokens.encoder import Vectors
from mtgauge.errors import InputError, UsageError

SIZES = (20, 50, 100, 200, 500, 1000, 2000)
HELD_OUT = 200  # sentence pairs of a curve that no remap is fitted on


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="fit|info|curve")
    fit = actions.add_parser("fit", help="fit a remap from parallel text")
    curve = actions.add_parser("curve", help="how much parallel text is enough?")
    for sub in (fit, curve):
        sub.add_argument("-s", "--source", required=True, metavar="FILE")
        sub.add_argument("-t", "--target", required=True, metavar="FILE")
        sub.add_argument("-l", "--lang", required=True, metavar="SRC-TGT", help="e.g. de-en")
        sub.add_argument("--encoder", default="embedded", help="as for metrics (default: embedded)")
        sub.add_argument("--layer", type=int, help="default: the encoder's advice for sources")
        sub.add_argument("--method", choices=remaps.METHODS, default="clp")
        sub.add_argument(
            "--align", choices=align.ALIGNERS, default="encoder", help="who pairs the words"
        )
        sub.add_argument("--lexicon", type=Path, metavar="FILE", help="word pairs, one per line")
        sub.add_argument("--pairs", type=int, default=2000, help="sentence pairs (default 2000)")
    fit.add_argument("--unit", choices=("word", "sentence"), default="word")
    fit.add_argument("--out", type=Path, required=True, metavar="FILE")
    curve.add_argument("--out", type=Path, required=True, metavar="DIR")
    info = actions.add_parser("info", help="what a remap file is for")
    info.add_argument("file", type=Path)


def run(args: argparse.Namespace) -> int:
    return {"fit": run_fit, "info": run_info, "curve": run_curve}[args.action](args)


def run_fit(args: argparse.Namespace) -> int:
    start = time.perf_counter()
    if args.unit == "sentence" and args.lexicon is not None:
        raise UsageError("--lexicon pairs words: it does not go with --unit sentence.")
    if args.align != "encoder" and (args.unit == "sentence" or args.lexicon is not None):
        raise UsageError(
            "--align pairs words itself: it goes neither with --lexicon nor sentences."
        )
    sources, targets = parallel(args.source, args.target, args.pairs)
    x, z, facts = vectors(args, sources, targets)
    remap = remaps.fit(x, z, facts)
    remap.save(args.out)
    print(json.dumps(asdict(remap.facts) | gain(remap, x, z), indent=1))
    seconds = time.perf_counter() - start
    print(
        f"{args.out}: {len(x)} {args.unit} pairs of {len(sources)} sentence pairs, {seconds:.1f} s",
        file=sys.stderr,
    )
    return 0


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
    args.unit = "word"
    sources, targets = parallel(args.source, args.target, args.pairs + HELD_OUT)
    if len(sources) <= HELD_OUT + SIZES[0]:
        raise InputError(
            f"{len(sources)} sentence pairs are too few for a curve",
            file=args.source,
            remedy=f"Give more than {HELD_OUT + SIZES[0]}.",
        )
    args.out.mkdir(parents=True, exist_ok=True)
    held_x, held_z, _ = vectors(args, sources[:HELD_OUT], targets[:HELD_OUT])
    print("sentences\tword_pairs\tfound_before\tfound_after")
    for size in (n for n in SIZES if n <= len(sources) - HELD_OUT):
        chosen = slice(HELD_OUT, HELD_OUT + size)
        x, z, facts = vectors(args, sources[chosen], targets[chosen])
        remap = remaps.fit(x, z, facts)
        remap.save(args.out / f"{size}.remap")
        found = gain(remap, held_x, held_z)
        print(f"{size}\t{len(x)}\t{found['found_before']:.4f}\t{found['found_after']:.4f}")
    return 0


def vectors(
    args: argparse.Namespace, sources: Sequence[str], targets: Sequence[str]
) -> tuple[Vectors, Vectors, remaps.RemapFacts]:
    """Paired vectors of words or sentences, and what they are of."""
    if args.unit == "sentence":
        encoder = load_sentence_encoder(args.encoder, args.layer)
        x, z = align.sentence_pairs(encoder, sources, targets, args.lang)
        name, fingerprint, layer = encoder.name, encoder.fingerprint, encoder.layer
        aligned = ""
    else:
        tokens = load_encoder(args.encoder)
        wanted = tokens.default_layer["source"] if args.layer is None else args.layer
        layer = tokens.resolve(wanted)[0]
        lexicon = None if args.lexicon is None else read_lexicon(args.lexicon)
        x, z = align.word_pairs(tokens, layer, sources, targets, args.lang, lexicon, args.align)
        name, fingerprint = tokens.name, tokens.fingerprint
        aligned = "lexicon" if lexicon is not None else args.align
    if len(x) < 2:
        raise InputError(
            f"no {args.unit} pairs were found in {len(sources)} sentence pairs",
            file=args.source,
            remedy="Are the two files translations of each other, line by line?",
        )
    facts = remaps.RemapFacts(
        args.method, args.lang, name, fingerprint, layer, args.unit, len(x), len(sources), aligned
    )
    return x, z, facts


def gain(remap: remaps.Remap, x: Vectors, z: Vectors, sample: int = 2000) -> dict[str, float]:
    """Share of vectors whose nearest neighbour on the other side is their partner."""
    x, z = x[:sample], z[:sample]
    moved = remap.move(x, "source", both=True), remap.move(z, "target", both=True)
    return {"found_before": found(x, z), "found_after": found(*moved)}


def found(x: Vectors, z: Vectors) -> float:
    """Precision at 1 by cosine; equal target vectors count as one."""
    x = x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-30)
    z = z / np.maximum(np.linalg.norm(z, axis=1, keepdims=True), 1e-30)
    similarity = x @ z.T
    return float((similarity.max(axis=1) <= np.einsum("nd,nd->n", x, z) + 1e-6).mean())


def parallel(source: str, target: str, pairs: int) -> tuple[list[str], list[str]]:
    """The first `pairs` sentence pairs of which neither side is empty; files must be as long."""
    with Spool() as spool:
        left = [str(text) for text in columns.column(source, "source", spool)[0]]
        right = [str(text) for text in columns.column(target, "system", spool)[0]]
    if len(left) != len(right):
        raise InputError(
            f"{len(right)} lines, but {source} has {len(left)}",
            file=target,
            line=min(len(left), len(right)) + 1,
            remedy="Parallel files have the same number of lines.",
        )
    both = zip(left, right, strict=True)
    kept = [pair for pair in both if not any(map(is_blank, pair))][:pairs]
    return [x for x, _ in kept], [z for _, z in kept]


def read_lexicon(path: Path) -> align.Lexicon:
    """Word pairs, `foreign english` a line, separated by a tab or a space."""
    entries = set()
    for number, line in enumerate(columns.column(str(path), "source")[0], start=1):
        words = str(line).lower().split()
        if len(words) != 2:
            raise InputError(
                f"{len(words)} words", file=path, line=number, remedy="A line holds two words."
            )
        entries.add((words[0], words[1]))
    return frozenset(entries)
