"""No command destroys what it reads, and a place that cannot be written is told before the run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mtgauge.commands.outputs import OutputFile

SCORE = "score -t a.txt b.txt -r ref.txt -m chrf --no-ci --quiet"
CANDIDATES = json.dumps({"source": "Ja.", "candidates": ["Yes.", "No."]}) + "\n"


@pytest.mark.parametrize(
    "line",
    [
        f"{SCORE} --json b.txt",
        f"{SCORE} --html ref.txt",
        f"{SCORE} --html ./a.txt",
        f"{SCORE} --json link.txt",
        "score -t all.tsv:new -r all.tsv:reference -m chrf --json all.tsv",
        "report -s src.de -t a.txt -r ref.txt -m chrf -o src.de",
        "check -t a.txt -r ref.txt --fail-below chrf=5 --junit ref.txt",
        "check -t a.txt -r ref.txt --fail-below chrf=5 --markdown a.txt",
        "check -t a.txt -r ref.txt --fail-below chrf=5 --json a.txt",
        "check -t a.txt -r ref.txt --max-drop chrf=1 --against last.json --junit last.json",
        "check -t a.txt -r ref.txt --max-drop chrf=1 --against last.json --markdown last.json",
        "meta all.tsv -m chrf --no-cache --json all.tsv",
        "rerank -t c.jsonl --mbr chrf -o c.jsonl",
        "rerank -t c.jsonl --mbr chrf --scores c.jsonl",
        "stream c.jsonl --target-column source --no-source --rejects c.jsonl",
        "kb count -s src.de -t a.txt -l de-en --json src.de",
        "kb build all.tsv --csv all.tsv",
        "remap fit -s src.de -t ref.txt -l de-en --out ref.txt",
    ],
)
def test_an_input_is_never_written_over(run, tmp_path: Path, line: str) -> None:
    (tmp_path / "link.txt").symlink_to("a.txt")
    (tmp_path / "c.jsonl").write_text(CANDIDATES, encoding="utf-8")
    (tmp_path / "all.tsv").write_text("reference\tnew\nGood day.\tGood day!\n", encoding="utf-8")
    run("score -t a.txt -r ref.txt -m chrf --json last.json --quiet")
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()}
    done = run(line)
    assert done.code == 2
    assert "is read here" in done.err
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()} == before


def test_the_run_of_against_may_be_replaced(run) -> None:
    assert run("score -t a.txt -r ref.txt -m chrf --json last.json --quiet").code == 0
    line = "check -t a.txt -r ref.txt --max-drop chrf=1 --against last.json --json last.json"
    assert run(line).code == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--json x.json --html x.json", "--json and --html both name x.json"),
        ("--json -", "--json takes the name of a file"),
        ("--json folder", "this is a folder"),
        ("--html nothing/here.html", "there is no folder nothing"),
        ("--cache a.txt", "this is a file. Name a folder for --cache"),
    ],
)
def test_places_are_looked_at_before_the_run(run, tmp_path: Path, options: str, said: str) -> None:
    (tmp_path / "folder").mkdir()
    done = run(f"{SCORE} {options}")
    assert said in done.err
    assert done.out == "", "nothing was scored"


@pytest.mark.parametrize(
    "line",
    [
        "train regressor --train judged.tsv --dev-share .1",
        "kb annotate -s src.de -t a.txt -l de-en",
        "remap curve -s src.de -t a.txt -l de-en",
        "stream ref.txt",
    ],
)
def test_a_file_is_no_folder(run, line: str) -> None:
    done = run(f"{line} --out b.txt")
    assert done.code == 3
    assert "b.txt: this is a file. Name a folder for --out." in done.err


def test_an_empty_name_is_refused(run) -> None:
    assert "takes the name of a file" in run(SCORE, "--json", "").err


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="needs /dev/null")
def test_two_results_may_go_to_one_device(run) -> None:
    assert run(f"{SCORE} --json /dev/null --html /dev/null").code == 0


def test_it_is_a_path() -> None:
    assert OutputFile("a") / "b" == Path("a/b")


def test_pictures_are_not_promised_without_matplotlib(
    run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    done = run("kb count -s src.de -t a.txt -l de-en --plot pictures")
    assert done.code == 4
    assert "pip install 'mtgauge[plot]'" in done.err
    assert not (tmp_path / "pictures").exists()
    assert done.out == ""
