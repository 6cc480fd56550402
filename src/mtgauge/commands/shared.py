"""What several commands need: a progress bar, options for encoders."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path


@contextlib.contextmanager
def progress_bar(unit: str, *, quiet: bool = False) -> Iterator[Callable[[int], object]]:
    """A function to call with the amount done; draws on standard error if that is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda amount: None
        return
    from tqdm import tqdm

    with tqdm(unit=f" {unit}", file=sys.stderr, leave=False, unit_scale=True) as bar:
        yield bar.update


def add_encoder_options(parser: argparse.ArgumentParser) -> None:
    """Options of every command that may run an encoder."""
    group = parser.add_argument_group("encoders")
    group.add_argument("--cache", type=Path, metavar="DIR", help="keep vectors between runs here")
    group.add_argument(
        "--device", default="auto", help="auto (default), cpu, cuda or mps; for hub models"
    )


def use_encoder_options(args: argparse.Namespace) -> None:
    from mtgauge.encode import configure

    configure(cache=None if args.cache is None else str(args.cache), device=args.device)
