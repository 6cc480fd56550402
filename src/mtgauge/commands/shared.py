"""What several commands need: shared options, remarks on standard error, a progress bar."""

from __future__ import annotations

import argparse
import contextlib
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from mtgauge import registry
from mtgauge.commands.outputs import OutputFile, OutputFolder
from mtgauge.data import checks, foreign, testsets
from mtgauge.data.corpus import Corpus
from mtgauge.data.output import cache_folder, write
from mtgauge.data.watch import in_other_languages
from mtgauge.engine.aside import Aside
from mtgauge.engine.cache import RowCache
from mtgauge.engine.inside import kinds_beside, looked_into
from mtgauge.engine.local import Beside, score_corpus
from mtgauge.engine.places import Place, Where, open_place
from mtgauge.engine.result import Result
from mtgauge.engine.summary import Comparing
from mtgauge.errors import UsageError
from mtgauge.notes import sentence
from mtgauge.report.writers import FORMATS
from mtgauge.stats.bootstrap import SEED
from mtgauge.text.untranslated import ask_strangers


@contextlib.contextmanager
def progress_bar(unit: str, *, quiet: bool = False) -> Iterator[Callable[[int], object]]:
    """A function to call with the amount done; draws on standard error if that is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda amount: None
        return
    from tqdm import tqdm

    with tqdm(unit=f" {unit}", file=sys.stderr, leave=False, unit_scale=True) as bar:
        yield bar.update


def tell(what: str, text: str) -> None:
    """A line on standard error, behind what it is about."""
    print(f"{what:<10} {text}", file=sys.stderr)


def tell_notes(spec: str, notes: Mapping[str, int]) -> None:
    """What a metric counted while scoring, but for empty texts, which are warned of."""
    for what, count in notes.items():
        if count and what != "empty":
            tell("note", f"{spec}: {sentence(what, count)}")


def warn_of_languages(lang: str, sides: Mapping[str, Sequence[str]]) -> None:
    """What a run does not watch: sides in another language than the pair says."""
    for warning in in_other_languages(lang, sides, ask_strangers):
        tell("warning", warning)


def terminal_width() -> int:
    """Columns of the terminal; 80 where output goes elsewhere."""
    return max(40, shutil.get_terminal_size().columns)


def add_corpus_options(parser: argparse.ArgumentParser, usual_metrics: str) -> None:
    """Options of commands that score a corpus: what is scored, by which metrics, and how."""
    parser.add_argument(
        "-t", "--translations", nargs="+", metavar="HYP",
        help="translations of one or more systems: a file each, or a table with a column each",
    )  # fmt: skip
    parser.add_argument("-s", "--source", metavar="SRC", help="what was translated")
    parser.add_argument(
        "-r", "--references", nargs="+", default=[], metavar="REF",
        help="human translations; several files are alternatives of each other",
    )  # fmt: skip
    parser.add_argument(
        "-T", "--test-set", metavar="NAME",
        help="source and references of a published test set, such as wmt22 (with -l)",
    )  # fmt: skip
    parser.add_argument("-l", "--lang", metavar="PAIR", help="language pair, such as de-en")
    parser.add_argument(
        "-m",
        "--metrics",
        nargs="+",
        metavar="METRIC",
        help=f"name or name:key=value,key=value (default: {usual_metrics}); see mtgauge metrics",
    )
    parser.add_argument(
        "--scores", nargs="+", default=[], metavar="FILE", type=Path,
        help="segment scores of other tools, such as COMET, in the same table: one number per "
        "line, a table (system segment METRIC), or the JSON of comet-score",
    )  # fmt: skip
    parser.add_argument(
        "--lower", nargs="+", default=[], metavar="NAME",
        help="of these metrics of --scores, lower is better",
    )  # fmt: skip
    parser.add_argument(
        "--doc", metavar="COLUMN",
        help="resample documents instead of segments: a column of the table, or a file with the "
        "document of each line",
    )  # fmt: skip
    parser.add_argument(
        "--empty",
        choices=["worst", "skip", "error"],
        default="worst",
        help="an empty hypothesis gets the worst score (default), is left out, or is refused",
    )
    parser.add_argument(
        "--unescape", action="store_true", help="undo HTML escapes such as &quot; in all texts"
    )
    parser.add_argument("--seed", type=int, default=SEED, help="of the resampling (%(default)s)")
    parser.add_argument("--quiet", action="store_true", help="results only: no notes, no progress")
    add_run_options(parser)


def _count(text: str) -> int:
    """A number of things, for argparse."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not 0 or more")
    return int(text)


def add_page_options(parser: argparse.ArgumentParser) -> None:
    """Options of commands that can write the report."""
    parser.add_argument(
        "--by", nargs="+", default=[], metavar="COLUMN",
        help="scores of groups of segments, too: a column of the table, such as domain, or a file "
        "with the group of each line",
    )  # fmt: skip
    parser.add_argument(
        "--explain", type=_count, metavar="N",
        help="explain so many segments in the report (default: one in a hundred, 5 to 50)",
    )  # fmt: skip


def score_files(
    args: argparse.Namespace, specs: Sequence[str], *, keep: bool = False, page: bool = False
) -> Result:
    """Score what the corpus options name; `keep` keeps the texts, `page` looks for warnings too."""
    use_encoder_options(args)
    take_test_set(args)
    if args.translations is None:
        raise UsageError("Which translations? Give -t FILE.")
    files = args.translations, args.source, args.references, args.doc, args.by
    how = Comparing(not args.no_ci, args.seed, args.baseline)
    with Corpus.from_arguments(*files) as corpus:
        foreign_scores = brought(args, corpus)
        if not page:
            return score_open(args, corpus, specs, foreign_scores, how, keep=keep)
        kinds = kinds_beside(registry.split_spec(spec)[0] for spec in specs)
        with Aside(args.lang, kinds, args.explain) as aside:
            found = score_open(args, corpus, specs, foreign_scores, how, keep=True, beside=aside)
            return aside.tell(found)


def score_open(
    args: argparse.Namespace,
    corpus: Corpus,
    specs: Sequence[str],
    foreign_scores: Sequence[foreign.Foreign],
    how: Comparing,
    *,
    keep: bool = False,
    beside: Beside | None = None,
) -> Result:
    """Score a corpus as the options say, where they say."""
    with running(args, "segments") as (place, advance):
        result = score_corpus(
            corpus,
            specs,
            args.lang,
            empty=args.empty,
            unescape=args.unescape,
            how=how,
            progress=advance,
            brought=foreign_scores,
            lower=args.lower,
            keep=keep,
            place=place,
            beside=beside,
        )
    if place.remark() and not args.quiet:
        tell("place", place.remark())
    return result


def metrics_or_usual(args: argparse.Namespace) -> list[str]:
    """The metrics that are asked for, else bleu and chrf; none beside scores of other tools."""
    return args.metrics or ([] if args.scores else ["bleu", "chrf"])


def write_page(result: Result, path: Path, explain: int | None, title: str | None = None) -> None:
    """Write the report of a result."""
    from mtgauge.report.page import render

    write(path, render(looked_into(result, explain), title=title))


def take_test_set(args: argparse.Namespace) -> None:
    """Let -T name source and references."""
    if args.test_set is None:
        return
    if args.source is not None or args.references:
        raise UsageError("-T names source and references: leave -s and -r out.")
    source, references = testsets.files(args.test_set, args.lang)
    args.source, args.references = str(source), [str(path) for path in references]


def brought(args: argparse.Namespace, corpus: Corpus) -> list[foreign.Foreign]:
    """Scores of other tools, for the systems of this run."""
    lang = None if args.lang is None else checks.language_pair(args.lang)
    labels = {name: column.label for name, column in corpus.systems.items()}
    return [one for path in args.scores for one in foreign.read(path, labels, lang)]


def add_encoder_options(parser: argparse.ArgumentParser) -> None:
    """Options of every command that may run an encoder."""
    group = parser.add_argument_group("encoders")
    group.add_argument(
        "--cache", type=OutputFolder, metavar="DIR", help="keep vectors between runs here"
    )
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
        help="score in N processes, each with its own models (default: in this one, on all cores)",
    )  # fmt: skip
    group.add_argument(
        "--engine", choices=["local", "ray"], default="local", help="this machine, or a Ray cluster"
    )
    group.add_argument(
        "--address", metavar="ADDR", help="of a running Ray cluster (default: start one here)"
    )


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Encoders and places: what every command that scores texts takes."""
    add_encoder_options(parser)
    add_place_options(parser)


@contextlib.contextmanager
def running(args: argparse.Namespace, unit: str) -> Iterator[tuple[Place, Callable[[int], object]]]:
    """The place of a run, and a function to call with the amount of `unit` that is done."""
    where = Where(args.engine, args.workers, args.address)
    with open_place(where) as place, progress_bar(unit, quiet=args.quiet) as advance:
        yield place, advance


def add_result_options(parser: argparse.ArgumentParser, seed: str) -> None:
    """Options of `meta` and `probe` that say how to run and where results go."""
    add = parser.add_argument
    add("--format", choices=FORMATS, default="table", help="of what is printed (%(default)s)")
    add("--json", metavar="FILE", type=OutputFile, help="write everything as JSON too")
    add("--unescape", action="store_true", help="undo HTML escapes such as &quot; in all texts")
    add("--no-cache", action="store_true", help="neither keep nor use scores of earlier runs")
    add("--seed", type=int, default=SEED, help=f"of the {seed} (%(default)s)")
    add("--quiet", action="store_true", help="results only: no progress")
    add_encoder_options(parser)


def open_cache(args: argparse.Namespace) -> RowCache | None:
    """Scores of earlier runs: in --cache, else in the user's folder; none with --no-cache."""
    return None if args.no_cache else RowCache(args.cache or cache_folder())
