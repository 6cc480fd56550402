"""A wrong command line gets one plain sentence, and help has a sentence for everything."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mtgauge.cli import COMMANDS, _parser
from mtgauge.commands.flags import _Numbers


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("scores -t a.txt", "There is no command 'scores'. Did you mean score?"),
        ("score --refs ref.txt", "There is no option --refs. Did you mean --references?"),
        ("score --nothing", "There is no option --nothing. See: mtgauge score --help"),
        ("score -t", "-t/--translations: nothing follows it."),
        ("score --seed nan", "--seed: 'nan' is not a whole number."),
        ("rerank -t x --weights one", "--weights: 'one' is not a number."),
        ("score --format xml", "--format: 'xml' is not one of them. There are: table, tsv"),
        ("score --s x", "--s may be --source, --scores"),
        ("explain -t a.txt b.txt -m chrf --segment 1", "'b.txt' follows no option"),
        ("explain -t a.txt -m chrf", "One of these is missing: --segment --categories."),
        ("explain -t a.txt -m chrf --segment 1 --categories", "exclude each other"),
        ("kb lnk", "There is no action 'lnk'. Did you mean link? There are: build, info"),
        ("train esym", "There is no stage 'esym'. Did you mean esim?"),
        ("train esim --out x --bach 3", "Did you mean --batch? See: mtgauge train esim --help"),
        ("probe w2w", "-m/--metrics: missing."),
        ("vectors convert glove.txt -o v --limit 0", "--limit: '0' is not 1 or more."),
        ("remap fit -s s -t t -l de-en --out o --pairs -1", "--pairs: '-1' is not 1 or more."),
        ("meta data.tsv -m chrf --disagree 0", "--disagree: '0' is not 1 or more."),
    ],
)
def test_a_complaint_is_one_sentence(run, line: str, said: str) -> None:
    done = run(line)
    assert done.code == 2
    assert said in done.err
    assert done.err.startswith("mtgauge: ")
    assert done.err.count("\n") == 1
    assert done.out == ""


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_has_a_sentence_and_every_command_an_example(command: str) -> None:
    for name, parser in _leaves(_parser(command), []):
        if name[:1] == [command]:
            silent = [a.dest for a in parser._actions if not a.help]
            assert not silent, f"{' '.join(name)}: no help on {silent}"
            assert parser.description
            shown = f"{parser.description}{parser.epilog}"
            assert f"mtgauge {command} " in f"{shown} ", f"{' '.join(name)}: no example"


def _leaves(
    parser: argparse.ArgumentParser, name: list[str]
) -> Iterator[tuple[list[str], argparse.ArgumentParser]]:
    inner = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    for action in inner:
        for word, below in action.choices.items():
            yield from _leaves(below, [*name, word])
    if not inner:
        yield name, parser


def test_options_about_a_file_need_that_file(run) -> None:
    assert "--json" in run("score -t a.txt -r ref.txt -m chrf --texts").err
    assert "--html" in run("score -t a.txt -r ref.txt -m chrf --explain 3").err


def test_there_is_a_limit_to_processes(run) -> None:
    done = run("score -t a.txt -r ref.txt -m chrf --workers 100000")
    assert done.code == 2
    assert "too many" in done.err


def test_a_warning_is_a_line_without_the_place_in_the_program(tmp_path: Path) -> None:
    """No language model speaks Norwegian here; `cosine` says so and goes on."""
    (tmp_path / "s").write_text("The ferry crosses the river.\n", "utf-8")
    (tmp_path / "t").write_text("Fergen krysser elven.\n", "utf-8")
    command = "score -s s -t t -l en-nb -m cosine --no-ci".split()
    done = subprocess.run(
        [sys.executable, "-m", "mtgauge", *command],
        cwd=tmp_path, capture_output=True, check=True, encoding="utf-8",
    )  # fmt: skip
    first = done.stderr.splitlines()[0]
    assert first.startswith("mtgauge: cosine: the encoder mtgauge-encoder was not trained on nb;")
    assert "UserWarning" not in done.stderr
    assert ".py" not in done.stderr


@pytest.mark.parametrize(
    ("line", "option", "given"),
    [
        ("score -t a b -t c -m bleu", "translations", ["a", "b", "c"]),
        ("score -t a -m bleu -m chrf", "metrics", ["bleu", "chrf"]),
        (
            "check -t a --fail-below chrf=60 --fail-below bleu=1",
            "fail_below",
            ["chrf=60", "bleu=1"],
        ),
        ("check -t a --fail-on empty", "fail_on", ["empty"]),
        ("meta DATA -m bleu -l de-en -l ru-en", "lang", ["de-en", "ru-en"]),
        ("train esim --train a --train b --dev d --out o", "train", [Path("a"), Path("b")]),
    ],
)
def test_an_option_of_several_values_adds_up(line: str, option: str, given: list[object]) -> None:
    """A limit of a gate that is written twice must not lose the first."""
    command = line.split()[0]
    for _ in range(2):  # and nothing stays in the parser's defaults
        assert getattr(_parser(command).parse_args(line.split()), option) == given


def test_numbers_by_name_add_up() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--part", nargs="+", action=_Numbers, default={})
    args = parser.parse_args("--part a=1 b --part c=3".split())
    assert args.part == {"a": 1.0, "b": 1.0, "c": 3.0}


def test_a_gate_with_two_flags_keeps_both_limits(run) -> None:
    done = run("check -t b.txt -r ref.txt --fail-below chrf=100 --fail-below bleu=0")
    assert done.code == 5
    assert "1 of 2 checks failed" in done.out


@pytest.mark.parametrize("line", ["meta -m chrf x.tsv", "stream -m kobe x.tsv -o out -l de-en"])
def test_a_file_behind_the_metrics_is_told(run, tmp_path: Path, line: str) -> None:
    (tmp_path / "x.tsv").write_text("text\n")
    done = run(line)
    assert (done.code, done.out) == (2, "")
    assert "x.tsv is a file, but stands where metrics do: put it before -m." in done.err
