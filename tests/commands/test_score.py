from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from sacrebleu.metrics import BLEU

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


@pytest.mark.parametrize("option", ["--pairs", "--doc ref.txt"])
def test_tests_are_not_asked_for_and_left_out_at_once(run, option: str) -> None:
    done = run(f"score -t a.txt b.txt -r ref.txt -m chrf --no-ci {option}")
    assert done.code == 2
    assert "is about intervals and tests, which --no-ci leaves out" in done.err


def test_one_system_has_no_pairs(run) -> None:
    done = run("score -t a.txt -r ref.txt -m chrf --pairs --quiet")
    assert done.code == 0
    assert "--pairs shows nothing: there is one system only." in done.err


def test_scores_of_other_tools_stand_in_the_same_table(run, tmp_path: Path) -> None:
    n = len((tmp_path / "a.txt").read_text().splitlines())
    rows: list[dict[str, Any]] = [{"src": "s", "mt": "t", "COMET": 0.5 + i / 100} for i in range(n)]
    comet = {"a.txt": rows, "b.txt": [{**row, "COMET": row["COMET"] + 0.1} for row in rows]}
    (tmp_path / "comet.json").write_text(json.dumps(comet))
    (tmp_path / "metricx.txt").write_text("".join(f"{i % 7}\n" for i in range(2 * n)))
    both = f"{SYSTEMS} -m bleu --scores comet.json metricx.txt --lower metricx"
    done = run(both)
    assert done.code == 0
    header, _, _, second, *_ = done.out.splitlines()
    assert header.split() == ["system", "bleu", "↑", "COMET", "↑", "metricx", "↓"]
    assert "*" in second.split()[4], "b differs from a by the same test"
    assert "COMET|from:file|higher_is_better:yes" in done.err
    written = json.loads(run(f"{both} --format json --segments --quiet").out)
    assert written["metrics"][1]["systems"]["a"]["segments"] == [row["COMET"] for row in rows]
    assert "versus" in written["metrics"][1]["systems"]["b"]
    assert written["files"]["scores"] == ["comet.json", "metricx.txt"]
    alone = run("score -t a.txt b.txt --scores comet.json --quiet")
    assert alone.out.splitlines()[0].split() == ["system", "COMET", "↑"]
    (tmp_path / "metricx.txt").write_text("1\n" * (n + 1))
    short = run("score -t a.txt --scores metricx.txt")
    assert short.code == 3
    assert f"metricx.txt, line {n + 1}: metricx: {n + 1} scores of a" in short.err
    assert run("score -t a.txt -r ref.txt -m comet").code == 2


@pytest.mark.parametrize("pair", ["en-zh_CN", "eng-zho_Hans", "en-zh-TW"])
def test_language_codes_of_all_kinds(run, tmp_path: Path, pair: str) -> None:
    (tmp_path / "zh.txt").write_text("我喜欢这只黑色的猫。\n")
    (tmp_path / "zh.ref").write_text("我喜欢那只黑色的猫。\n")
    done = run(f"score -t zh.txt -r zh.ref -l {pair} -m bleu ter --format json --quiet")
    written = json.loads(done.out)
    assert written["lang"].startswith("en-zh-")
    bleu, ter = (m["systems"]["zh"]["score"] for m in written["metrics"])
    theirs = BLEU(tokenize="zh").corpus_score(["我喜欢这只黑色的猫。"], [["我喜欢那只黑色的猫。"]])
    assert bleu == pytest.approx(theirs.score)
    assert ter == pytest.approx(10.0)


def test_an_unknown_language_is_named(run) -> None:
    done = run("score -t a.txt -r ref.txt -l en-cn")
    assert done.code == 2
    assert "CN is a country; did you mean zh?" in done.err


def test_the_options_that_name_files_have_help(run) -> None:
    lines = [line.split() for line in run("score --help").out.splitlines()]
    for option in ("-t", "-s", "-r"):
        (at,) = (i for i, line in enumerate(lines) if line and line[0].strip(",") == option)
        told = [word for line in lines[at : at + 2] for word in line if word.islower()]
        assert len(told) >= 3, (option, lines[at : at + 2])


def test_trust_is_said_beside_each_metric(run) -> None:
    told = " ".join(run("score -t a.txt b.txt -r ref.txt -l de-en -m chrf chrf:beta=3").err.split())
    assert "trust chrf: r = 0." in told
    assert told.count("is said of 100 segments or more") == 1
    assert "trust chrf:beta=3: nothing is known of these settings for de-en" in told


def test_groups_are_shown(run, tmp_path: Path) -> None:
    (tmp_path / "topic.txt").write_text("news\nchat\n" * 10)
    out = run(f"{SYSTEMS} -m chrf ter --by topic.txt --quiet --json all.json").out
    shown = [line.split() for line in out.splitlines()]
    assert ["topic.txt", "segments", "chrf", "a", "chrf", "b", "ter", "a", "ter", "b"] in shown
    (chat,) = [row for row in shown if row[:1] == ["chat"]]
    (slices,) = json.loads((tmp_path / "all.json").read_text())["slices"]
    assert slices["by"] == "topic.txt"
    values = [f"{slices['scores'][m][s][1]:.2f}" for m in ("chrf", "ter") for s in "ab"]
    assert chat == ["chat", "10", *values]
    tsv = run(f"{SYSTEMS} -m chrf --by topic.txt --quiet --format tsv").out
    assert "\n\ntopic.txt\tsegments\tchrf a\tchrf b\nnews\t10\t" in tsv
    printed = json.loads(run(f"{SYSTEMS} -m chrf --by topic.txt --quiet --format json").out)
    assert [each["by"] for each in printed["slices"]] == ["topic.txt"]
    assert "slices" not in json.loads(run(f"{SYSTEMS} -m chrf --quiet --format json").out)


def test_one_segment_is_too_few_for_a_test(run, tmp_path: Path) -> None:
    for name in ("a", "b", "r"):
        (tmp_path / f"one-{name}.txt").write_text(f"The {name} train.\n")
    out = run("score -t one-a.txt one-b.txt -r one-r.txt -m chrf --quiet").out
    assert "no test: 1 segment is too few: below 6" in out
