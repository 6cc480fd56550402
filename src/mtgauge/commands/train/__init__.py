"""`mtgauge train STAGE`: the stages of three modules under one command.

Flags mean the same in every stage: `--train` is learned from, `--dev` only chosen by or watched,
`--test` only reported; `--start` names weights to go on from; `--out` is what is made.
"""

from __future__ import annotations

import argparse
import os

from mtgauge.commands.train import blend, embedded, metrics

_MODULES = (embedded, metrics, blend)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    stages = parser.add_subparsers(dest="stage", required=True, metavar="STAGE")
    for module in _MODULES:
        for name, text in module.STAGES.items():
            own = stages.add_parser(
                name,
                help=text,
                description=module.__doc__,
                formatter_class=argparse.RawDescriptionHelpFormatter,
                allow_abbrev=False,
            )
            module.add_stage(name, own)


def run(args: argparse.Namespace) -> int:
    # before torch is imported: its exporter warns of every layer that it knows well
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
    module = next(module for module in _MODULES if args.stage in module.STAGES)
    return int(module.run(args))
