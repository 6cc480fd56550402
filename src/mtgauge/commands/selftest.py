"""`mtgauge selftest`: stored scores recomputed here."""

from __future__ import annotations

import argparse

from mtgauge.commands.outputs import OutputFile
from mtgauge.engine.demo import selftest, store

_EXAMPLES = """
examples:
  mtgauge selftest
  mtgauge selftest -m bleu xmoverscore
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Score the example data with every metric and compare with stored scores: is this\n"
        "installation right? Exit code 1 if a score differs."
    )
    parser.epilog = _EXAMPLES
    parser.add_argument("-m", "--metrics", nargs="+", metavar="METRIC", help="only these")
    parser.add_argument(
        "--store",
        type=OutputFile,
        metavar="FILE",
        help="write the scores found here instead (developers)",
    )


def run(args: argparse.Namespace) -> int:
    if args.store is not None:
        store(args.store)
        return 0
    checks, skipped = selftest(args.metrics)
    failed = [check for check in checks if not check.passed]
    for check in failed:
        print(
            f"differs  {check.metric} {check.lang} {check.system}: "
            f"expected {check.expected}, found {check.found}"
        )
    for spec, reason in skipped.items():
        print(f"skipped  {spec}: {reason}")
    metrics = len({check.metric for check in checks})
    of = f"{metrics} metric{'s' if metrics != 1 else ''}"
    print(f"{len(checks) - len(failed)} of {len(checks)} stored scores of {of} agree.")
    return 1 if failed else 0
