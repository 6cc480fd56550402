from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest

SYSTEMS = "score -s src.de -t a.txt b.txt -r ref.txt -l de-en"


def test_table_ranks_and_tests(run) -> None:
    done = run(f"{SYSTEMS} -m bleu ter")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0].split() == ["system", "bleu", "↑", "ter", "↓"]
    assert lines[2].startswith("a (baseline)")
    assert "67.10" in lines[3]
    assert "*" in lines[3], "b differs from a"
    assert "higher is better" in done.out


def test_every_format_has_the_same_numbers(run) -> None:
    written = json.loads(run(f"{SYSTEMS} -m bleu chrf --format json --quiet").out)
    scores = [v["score"] for m in written["metrics"] for v in m["systems"].values()]
    assert scores[0] == pytest.approx(23.56, abs=0.005)
    for form in ("table", "tsv", "markdown", "latex"):
        out = run(f"{SYSTEMS} -m bleu chrf --format {form} --quiet").out
        printed = [float(number) for number in re.findall(r"\d+\.\d+", out)]
        for score in scores:
            assert min(abs(score - number) for number in printed) < 0.006, form


def test_segments_are_rows(run) -> None:
    out = run(f"{SYSTEMS} -m chrf --segments --format tsv --quiet").out
    rows = list(csv.reader(io.StringIO(out), delimiter="\t"))
    assert len([row for row in rows if len(row) > 1]) >= 20
    assert run(f"{SYSTEMS} -m chrf --segments --quiet").out.count("\n") > 20


def test_json_file_beside_the_table(run, tmp_path: Path) -> None:
    done = run(f"{SYSTEMS} -m chrf --json all.json --no-ci")
    stored = json.loads((tmp_path / "all.json").read_text(encoding="utf-8"))
    assert stored["segments"] == 20
    assert len(stored["metrics"][0]["systems"]["b"]["segments"]) == 20
    assert f"{stored['metrics'][0]['systems']['b']['score']:.2f}" in done.out


@pytest.mark.parametrize(("policy", "code"), [("worst", 0), ("skip", 0), ("error", 3)])
def test_an_empty_line(run, tmp_path: Path, policy: str, code: int) -> None:
    lines = (tmp_path / "a.txt").read_text(encoding="utf-8").splitlines()
    (tmp_path / "gap.txt").write_text("\n".join(["", *lines[1:]]) + "\n", encoding="utf-8")
    done = run(f"score -t gap.txt -r ref.txt -m chrf --no-ci --empty {policy}")
    assert done.code == code
    assert ("empty" in done.err) or policy == "skip"
    whole = run("score -t a.txt -r ref.txt -m chrf --no-ci --quiet").out
    assert done.out != whole


def test_escapes_are_undone_on_request(run, tmp_path: Path) -> None:
    (tmp_path / "h.txt").write_text("Tom &amp; Jerry\n", encoding="utf-8")
    (tmp_path / "r.txt").write_text("Tom & Jerry\n", encoding="utf-8")
    assert "100.00" in run("score -t h.txt -r r.txt -m chrf --no-ci --unescape --quiet").out
    assert "100.00" not in run("score -t h.txt -r r.txt -m chrf --no-ci --quiet").out


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("score -t a.txt -m bleu", 2, "reference"),
        ("score -t a.txt -r ref.txt -m blue", 2, "Did you mean 'bleu'"),
        ("score -t a.txt -r ref.txt -m bleu:smoth=exp", 2, "smooth"),
        ("score -t nowhere.txt -r ref.txt", 3, "nowhere.txt"),
        ("score -t a.txt -r ref.txt -m std:vectors=nowhere", 4, "nowhere"),
        ("score -r ref.txt", 2, "-t"),
    ],
)
def test_what_is_refused(run, line: str, code: int, said: str) -> None:
    done = run(line)
    assert done.code == code
    assert said in done.err
    assert not done.out
