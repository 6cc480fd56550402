"""`mtgauge demo`: the main job on the example data in the package."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

from mtgauge.commands.outputs import OutputFile
from mtgauge.data.output import write
from mtgauge.engine.demo import WITH_REFERENCE, WITHOUT_REFERENCE, demo, shown_explanation
from mtgauge.engine.result import Result
from mtgauge.engine.verdict import verdict
from mtgauge.report.explain import render as render_explanation
from mtgauge.report.page import render as render_page
from mtgauge.report.table import WIDTH, legend, render_scores
from mtgauge.report.writers import fold, visible

_EXAMPLES = """
examples:
  mtgauge demo
  mtgauge demo -m chrf xmoverscore -o demo.html
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLES
    parser.add_argument(
        "-m", "--metrics", nargs="+", metavar="METRIC",
        default=[*WITH_REFERENCE, *WITHOUT_REFERENCE],
        help=f"to show (default: {' '.join((*WITH_REFERENCE, *WITHOUT_REFERENCE))})",
    )  # fmt: skip
    parser.add_argument(
        "-o", "--output", type=OutputFile, default="mtgauge-demo.html", metavar="FILE",
        help="the report to write (default: %(default)s)",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    result = demo(tuple(args.metrics))
    print(f"{result.segments} sentences from German, translated by {len(result.systems)} systems")
    for heading, specs in _parts(result).items():
        part = replace(result, metrics={spec: result[spec] for spec in specs})
        print(f"\n{heading}\n\n{render_scores(part)}")
    print(f"\n{legend(result)}\n")
    said = verdict(result)
    print("\n".join([*fold(visible(f"{said.headline} {said.sentences[0]}"), WIDTH), ""]))
    if (one := shown_explanation(result)) is not None:
        print(f"Segment {one.segment + 1} of {one.system}, explained\n")
        print(render_explanation(one.explanation, colour=sys.stdout.isatty(), top=5))
    write(args.output, render_page(result))
    print(f"The report, with every segment: {args.output.resolve()}\n")
    print("Your own files:")
    print("  mtgauge report -s source.txt -t old.txt new.txt -r reference.txt -l de-en")
    print("  mtgauge metrics        what can be measured, with and without a reference")
    return 0


def _parts(result: Result) -> dict[str, list[str]]:
    """Metrics that were given the reference, and those that did without."""
    parts: dict[str, list[str]] = {}
    for spec, metric in result.items():
        with_it = "refs" in metric.signature.facts
        heading = "With a reference" if with_it else "Without a reference, from the source alone"
        parts.setdefault(heading, []).append(spec)
    return parts
