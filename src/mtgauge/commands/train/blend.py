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
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mtgauge import registry
from mtgauge.data import judgements
from mtgauge.data.segments import Segments
from mtgauge.errors import UsageError
from mtgauge.metric import FloatArray, Metric
from mtgauge.metrics.blend import Blend, Judged

MODELS = ("blend",)


def add_stage(name: str, parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(stage=name)
    parser.add_argument("--train", type=Path, nargs="+", required=True, metavar="FILE")
    parser.add_argument("--test", type=Path, nargs="+", default=[], metavar="FILE",
                        help="correlation with these, a language pair a line")  # fmt: skip
    parser.add_argument("--components", nargs="+", default=["chrf", "kobe"], metavar="METRIC")
    parser.add_argument("--pairs", nargs="+", metavar="LP", help="only these language pairs")
    parser.add_argument("--equal", action="store_true", help="equal weights, only centre and scale")


def run(args: argparse.Namespace) -> int:
    blend = Blend.fitted(args.components, _read(args.train, args.pairs), equal=args.equal)
    print("component\tcentre\tscale\tweight")
    for row in zip(blend.components, blend.centres, blend.scales, blend.weights, strict=True):
        print(*row, sep="\t")
    if args.test:
        print("\nlp\tsegments\t" + "\t".join(("blend", *blend.components)))
        for batch, human in _read(args.test, args.pairs):
            metrics = (blend, *(registry.load(spec) for spec in blend.components))
            cells = (f"{_agreement(metric, batch, human):.3f}" for metric in metrics)
            print(batch.lang, len(batch), *cells, sep="\t", flush=True)
    print(f"\n{registry.spec_of(blend)}")
    return 0


def _read(files: list[Path], pairs: list[str] | None) -> list[Judged]:
    """The judged segments of every language pair."""
    found: list[Judged] = []
    for path in files:
        for table in judgements.read(path):
            if pairs is not None and table.lp not in pairs:
                continue
            kept = table.take(np.flatnonzero(~np.isnan(table.human)))
            found.append((kept.segments(unescape=True), kept.human))
    if not found:
        wanted = " ".join(pairs or ()) or "any language pair"
        raise UsageError(
            f"There are no judged segments of {wanted} in {' '.join(map(str, files))}."
        )
    return found


def _agreement(metric: Metric, batch: Segments, human: Sequence[float] | FloatArray) -> float:
    """Pearson's r over the segments that have a score, higher meaning better."""
    scores = metric.segment_score(metric.statistics(batch))
    has = ~np.isnan(scores)
    sign = 1.0 if metric.higher_is_better else -1.0
    return sign * float(np.corrcoef(scores[has], np.asarray(human)[has])[0, 1])
