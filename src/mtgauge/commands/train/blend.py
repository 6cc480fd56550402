"""`mtgauge train blend`: the centres, scales and weights of a blend, from judged segments.

    mtgauge train blend --train da15.tsv.gz da16.tsv.gz --components chrf kobe --test da17.tsv.gz
    mtgauge score -s src -t hyp -r ref -l de-en -m "blend:components=..."     # what it printed

Centres and scales are each component's mean and deviation over all segments; weights are the
non-negative ones that come nearest to the human scores (`--equal`: all the same). The last line is
the metric's specification, for `-m` and for `mtgauge.load`. Human scores should be z-scores: the
language pairs are taken together.
"""

from __future__ import annotations

import argparse

from mtgauge.commands.flags import add
from mtgauge.train.settings import JudgedFiles

STAGES = {"blend": "centres, scales and weights of a blend of metrics, from judged segments"}


def add_stage(_: str, parser: argparse.ArgumentParser) -> None:
    add(parser, JudgedFiles, "train", required=True)
    add(parser, JudgedFiles, "test", "pairs")
    parser.add_argument(
        "--components",
        nargs="+",
        default=["chrf", "kobe"],
        metavar="METRIC",
        help="what is blended (chrf kobe)",
    )
    parser.add_argument("--equal", action="store_true", help="equal weights, only centre and scale")


def run(args: argparse.Namespace) -> int:
    from mtgauge import train

    fitted = train.blend(
        args.train, args.components, test=args.test, pairs=args.pairs, equal=args.equal
    )
    blend = fitted.metric
    print("component\tcentre\tscale\tweight")
    for row in zip(blend.components, blend.centres, blend.scales, blend.weights, strict=True):
        print(*row, sep="\t")
    if fitted.tested:
        print("\nlp\tsegments\t" + "\t".join(fitted.tested[0].pearson))
    for found in fitted.tested:
        print(found.lp, found.segments, *(f"{r:.3f}" for r in found.pearson.values()), sep="\t")
    print(f"\n{fitted.spec}")
    return 0
