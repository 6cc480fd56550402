"""`mtgauge demo`: the main job on the example data in the package."""

from __future__ import annotations

import argparse
import sys

from mtgauge.engine.demo import DEMO_METRICS, demo
from mtgauge.report.table import render


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-m", "--metrics", nargs="+", default=list(DEMO_METRICS), metavar="METRIC")


def run(args: argparse.Namespace) -> int:
    results = demo(tuple(args.metrics))
    for lang, result in results.items():
        print(f"{lang}: {result.segments} segments, {len(result.systems)} systems\n")
        print(render(result, "table"))
    print("These are example sentences in the package. Your own files:")
    print("  mtgauge score -s source.txt -t baseline.txt new.txt -r reference.txt -l de-en")
    print("  mtgauge metrics        what else can be measured, with and without a reference")
    sys.stdout.flush()
    return 0
