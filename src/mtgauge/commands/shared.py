"""What several commands need: a progress bar, options for encoders."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from mtgauge.data.output import cache_folder
from mtgauge.engine.cache import RowCache
from mtgauge.engine.places import Place, Where, open_place
from mtgauge.report.writers import FORMATS
from mtgauge.stats.bootstrap import SEED


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


def add_place_options(parser: argparse.ArgumentParser) -> None:
    """Options that say where segments are scored; scores do not depend on them."""
    group = parser.add_argument_group("where to run")
    group.add_argument(
        "--workers", type=int, metavar="N",
        help="score in N processes, each with its own models (default: in this one)",
    )  # fmt: skip
    group.add_argument(
        "--engine", choices=["local", "ray"], default="local", help="this machine, or a Ray cluster"
    )
    group.add_argument(
        "--address", metavar="ADDR", help="of a running Ray cluster (default: start one here)"
    )


def place_of(args: argparse.Namespace) -> contextlib.AbstractContextManager[Place]:
    return open_place(Where(args.engine, args.workers, args.address))


def add_result_options(parser: argparse.ArgumentParser, seed: str) -> None:
    """Options of `meta` and `probe` that say how to run and where results go."""
    add = parser.add_argument
    add("--format", choices=FORMATS, default="table")
    add("--json", metavar="FILE", type=Path, help="write everything as JSON too")
    add("--unescape", action="store_true", help="undo HTML escapes such as &quot; in all texts")
    add("--no-cache", action="store_true", help="neither keep nor use scores of earlier runs")
    add("--seed", type=int, default=SEED, help=f"of the {seed} (%(default)s)")
    add("--quiet", action="store_true")
    add_encoder_options(parser)


def open_cache(args: argparse.Namespace) -> RowCache | None:
    """Scores of earlier runs: in --cache, else in the user's folder; none with --no-cache."""
    return None if args.no_cache else RowCache(args.cache or cache_folder())
