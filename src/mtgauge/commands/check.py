"""`mtgauge check`: a gate for CI. Exit code 5 where it is closed."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from mtgauge.commands.outputs import OutputFile
from mtgauge.commands.shared import (
    add_corpus_options,
    brought,
    score_open,
    take_test_set,
    tell,
    use_encoder_options,
)
from mtgauge.data.corpus import Corpus
from mtgauge.data.output import append, write
from mtgauge.engine import flags, gate, limits, stored
from mtgauge.engine.limits import GateSettings
from mtgauge.engine.places import SHARD
from mtgauge.engine.result import Result
from mtgauge.engine.summary import Comparing
from mtgauge.errors import InputError, UsageError
from mtgauge.report.gate import junit, markdown, terminal
from mtgauge.report.table import render

CLOSED = 5
_EXAMPLES = """
examples:
  mtgauge check -t new.txt -r ref.txt --fail-below chrf=50
  mtgauge check -s src.de -t old.txt new.txt -r ref.txt -l de-en --max-drop chrf=1 regressor=0.1
  mtgauge check -s src.de -t new.txt -l de-en --fail-on copies,wrong-language,empty,lost-numbers=2
  mtgauge check -s src.de -t new.txt -r ref.txt -l de-en --max-drop chrf=1 --against last.json

With several systems the first is the baseline: it is compared with, not judged. Limits may stand
in pyproject.toml under [tool.mtgauge.check]; flags win. Exit code 5: the gate is closed.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLES
    add = parser.add_argument
    add(
        "--fail-below", nargs="+", default=[], metavar="METRIC=X",
        help="fail if a score is worse than X (above X where lower is better)",
    )  # fmt: skip
    add(
        "--max-drop", nargs="+", default=[], metavar="METRIC=X",
        help="fail if a score is worse than the baseline's by more than X",
    )  # fmt: skip
    add(
        "--fail-on", nargs="+", default=[], metavar="WARNING",
        help=f"fail if a segment has one of {', '.join(limits.WARNINGS)}; WARNING=3 or WARNING=2%% "
        "allows so many segments",
    )  # fmt: skip
    add(
        "--significant", action=argparse.BooleanOptionalAction,
        help="a drop counts only if it is significant too, where there is a test",
    )  # fmt: skip
    add(
        "--against", metavar="FILE",
        help="the baseline is this stored run (--json of score or check) of the same source and "
        "references; refused if signatures differ",
    )  # fmt: skip
    add("--baseline", metavar="NAME", help="the system to compare with (default: the first; with "
        "--against the stored one of the same name, or the only one)")  # fmt: skip
    add("--json", metavar="FILE", type=OutputFile, help="write the run, as `score --json` does; "
        "where it is the file of --against, only if the gate is open")  # fmt: skip
    add("--junit", metavar="FILE", type=OutputFile, help="write JUnit XML")
    add("--markdown", metavar="FILE", type=OutputFile, help="write a Markdown summary (it is "
        "appended to the file that GITHUB_STEP_SUMMARY names, too)")  # fmt: skip
    add("--config", metavar="FILE", type=Path, help="TOML file with the table tool.mtgauge.check "
        "(default: pyproject.toml here or above)")  # fmt: skip
    add("--no-ci", action="store_true", help="no intervals and no tests")
    add_corpus_options(parser, "those that have a limit")


def run(args: argparse.Namespace) -> int:
    use_encoder_options(args)
    settings = _settings(args)
    _take(args, settings)
    take_test_set(args)
    if args.translations is None:
        raise UsageError("Which translations? Give -t FILE.")
    last = None if settings.against is None else _stored(Path(settings.against))
    how = Comparing(not args.no_ci, args.seed, args.baseline if last is None else None)
    with Corpus.from_arguments(args.translations, args.source, args.references, args.doc) as corpus:
        kinds = _kinds(settings, corpus, args.lang)
        names = tuple(corpus.systems)
        judged = gate.judged_systems(names, how.base_of(names), last)
        foreign = gate.look_at_languages(corpus, args.lang, judged) if args.lang else []
        result = _score(args, settings, corpus, how)
        found = flags.find(corpus, args.lang, kinds, unescape=args.unescape) if kinds else {}
        decision = gate.decide(result, settings, found, last, args.baseline, foreign)
        decision = gate.with_texts(decision, corpus, unescape=args.unescape)
    sys.stdout.write(terminal(decision, result))
    sys.stdout.flush()
    if not args.quiet:
        for message in result.warnings:
            tell("warning", message)
    _write(args, settings, decision, result)
    return CLOSED if decision.closed else 0


def _stored(path: Path) -> Result:
    """The stored run; before the first one there is none."""
    if not path.exists():
        raise InputError(
            "there is no stored run to compare with",
            file=path,
            remedy=f"Write the first one with: mtgauge score ... --json {path}.",
        )
    return stored.read(path)


def _settings(args: argparse.Namespace) -> GateSettings:
    """What the file says, and the flags, which win."""
    path = args.config or limits.nearest()
    said = GateSettings(
        limits.parse_scores(args.fail_below, "--fail-below"),
        limits.parse_scores(args.max_drop, "--max-drop"),
        limits.parse_warnings(args.fail_on, "--fail-on") if args.fail_on else None,
        args.significant,
        tuple(args.metrics) if args.metrics else None,
        args.lang,
        args.source,
        tuple(args.references) or None,
        args.against,
    )
    settings = (GateSettings() if path is None else limits.read(path)).merged(said)
    if settings.empty:
        raise UsageError(
            "There is nothing to check: give --fail-below METRIC=X, --max-drop METRIC=X or "
            f"--fail-on WARNING, or limits in pyproject.toml under [{limits.TABLE}]."
        )
    return settings


def _take(args: argparse.Namespace, settings: GateSettings) -> None:
    """Let what the file says stand where no flag does."""
    args.lang = settings.lang
    if args.test_set is None:
        args.source, args.references = settings.source, list(settings.references or ())


def _kinds(settings: GateSettings, corpus: Corpus, lang: str | None) -> list[flags.Kind]:
    """The warnings to look for; one that cannot be seen without more input is refused."""
    kinds = [limits.WARNINGS[name] for name in settings.fail_on or ()]
    for name, kind in zip(settings.fail_on or (), kinds, strict=True):
        if kind in flags.NEEDS_SOURCE and corpus.sources is None:
            raise UsageError(f"fail-on {name} needs the source: give -s FILE.")
        if kind in flags.NEEDS_PAIR and lang is None:
            raise UsageError(f"fail-on {name} needs the language pair: give -l, such as de-en.")
    return kinds


def _score(
    args: argparse.Namespace, settings: GateSettings, corpus: Corpus, how: Comparing
) -> Result:
    theirs = brought(args, corpus)
    specs = [spec for spec in settings.specs if spec not in {one.name for one in theirs}]
    limits.refuse_impossible(settings, specs)
    for message in () if args.quiet else limits.on_another_scale(settings, specs):
        tell("warning", message)
    if not (specs or theirs):  # warnings alone
        names = tuple(corpus.systems)
        length = sum(len(chunk) for chunk in corpus.chunks(SHARD))
        return Result({}, names, length, args.lang, baseline=how.base_of(names))
    return score_open(args, corpus, specs, theirs, how)


def _write(
    args: argparse.Namespace, settings: GateSettings, decision: gate.Decision, result: Result
) -> None:
    is_last = (
        settings.against is not None
        and args.json is not None
        and (args.json.resolve() == Path(settings.against).resolve())
    )
    if args.json is not None and not (is_last and decision.closed):
        write(args.json, render(result, "json", segments=True))
    if args.junit is not None:
        write(args.junit, junit(decision, result))
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if args.markdown is not None or summary:
        text = markdown(decision, result)
        if args.markdown is not None:
            write(args.markdown, text)
        if summary:
            append(Path(summary), text)
