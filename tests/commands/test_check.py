"""The gate: a build fails for each of its reasons, passes when all is well, and says why."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

SIDES = "check -s src.de -r ref.txt -l de-en"
GERMAN = "Unser Zug nach Hamburg hatte vierzig Minuten Verspätung und alle warteten."


def lines(folder: Path, name: str, **changed: str) -> None:
    """A copy of b.txt with some lines changed: line3="..."."""
    texts = (folder / "b.txt").read_text(encoding="utf-8").splitlines()
    for key, text in changed.items():
        texts[int(key.removeprefix("line")) - 1] = text
    (folder / name).write_text("\n".join(texts) + "\n", encoding="utf-8")


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ("--fail-below chrf=82", "b: chrf 81.08 is below 82"),
        ("--fail-below chrf=50 ter=20", "b: ter 20.51 is above 20"),
        ("--fail-below chrf:beta=3=99", "b: chrf:beta=3 "),
    ],
)
def test_a_score_that_is_too_low(run, limits: str, reason: str) -> None:
    done = run(f"{SIDES} -t b.txt {limits}")
    assert done.code == 5
    assert "gate closed: 1 of" in done.out
    assert f"\n  {reason}" in done.out


def test_a_drop_against_the_first_system(run) -> None:
    done = run(f"{SIDES} -t b.txt a.txt --max-drop chrf=1 ter=1")
    assert done.code == 5
    assert "a: chrf is worse by 19.96, from 81.08 (b) to 61.11; 1 allowed; p < 0.001" in done.out
    assert "a: ter is worse by 38.46, from 20.51 (b) to 58.97; 1 allowed; p < 0.001" in done.out
    assert "\nworst segments:\n  a " in done.out
    assert run(f"{SIDES} -t b.txt a.txt --max-drop chrf=20 ter=40").code == 0
    assert run(f"{SIDES} -t a.txt b.txt --max-drop chrf=0 ter=0").code == 0
    assert run(f"{SIDES} -t a.txt b.txt --baseline b --max-drop chrf=1").code == 5


@pytest.mark.parametrize(
    ("warning", "line", "told"),
    [
        ("copies", {"line2": GERMAN}, "copied from the source"),
        ("wrong-language", {"line2": "Le train pour Hambourg est très en retard."}, "but in fr"),
        ("empty", {"line4": ""}, "there is no translation: (nothing)"),
        ("lost-numbers", {"line10": "The museum shows pictures by Modersohn."}, "12 is missing"),
        ("invented-numbers", {"line7": "The river rose by 37 metres."}, "37 is not in the source"),
        ("lost-entities", {"line8": "My sister studies physics there."}, "Wien is missing"),
    ],
)
def test_a_warning_closes_the_gate(run, tmp_path: Path, warning, line, told) -> None:
    lines(tmp_path, "new.txt", **line)
    src = (tmp_path / "src.de").read_text(encoding="utf-8").splitlines()
    src[1] = GERMAN
    (tmp_path / "src.de").write_text("\n".join(src) + "\n", encoding="utf-8")
    assert run(f"{SIDES} -t b.txt --fail-on {warning}").code == 0, "b has none"
    done = run(f"{SIDES} -t new.txt --fail-on {warning}")
    assert done.code == 5
    assert f"new: 1 segment has the warning {warning}; 0 allowed" in done.out
    assert told in done.out
    assert run(f"{SIDES} -t new.txt --fail-on {warning}=1").code == 0
    assert run(f"{SIDES} -t new.txt --fail-on {warning}=5%").code == 0, "1 of 20"
    assert run(f"{SIDES} -t new.txt --fail-on {warning}=4%").code == 5


def test_no_limit_makes_up_for_another_language(run, tmp_path: Path) -> None:
    limits = "--fail-below chrf=1 --max-drop bleu=99"
    turned = run(f"check -s src.de -t a.txt b.txt -r ref.txt -l en-de {limits}")
    assert turned.code == 3
    assert "nothing was judged: " in turned.err
    assert "all of it is the other way round: write -l de-en" in turned.err
    source = (tmp_path / "src.de").read_text(encoding="utf-8")
    (tmp_path / "same.txt").write_text(source, encoding="utf-8")
    done = run(f"{SIDES} -t a.txt same.txt {limits} --junit j.xml")
    assert done.code == 5
    assert "\n  same: 20 of 20 segments have the warning wrong-language; 50 % allowed" in done.out
    assert "fail-on wrong-language=50%" in (tmp_path / "j.xml").read_text(encoding="utf-8")
    for limit, code in (("", 5), ("=40%", 5), ("=100%", 0)):
        line = f"{SIDES} -t a.txt same.txt {limits} --fail-on wrong-language{limit}"
        assert run(line).code == code, "whole copies are no warning of this name"
    for sides in (f"{SIDES} -t same.txt a.txt", f"{SIDES.replace('ref', 'same')} -t a.txt b.txt"):
        assert run(f"{sides} --max-drop bleu=99").code == 3, "a baseline that is none"


def test_all_is_well(run, tmp_path: Path) -> None:
    limits = "--fail-below chrf=50 --max-drop bleu=1 --fail-on copies,wrong-language,empty"
    done = run(f"{SIDES} -t a.txt b.txt {limits} --junit j.xml --markdown m.md --json r.json")
    assert done.code == 0
    assert done.out.startswith("gate open: 5 of 5 checks passed\n")
    suite = ElementTree.parse(tmp_path / "j.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures")) == ("5", "0")
    assert "gate open" in (tmp_path / "m.md").read_text(encoding="utf-8")
    assert json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))["systems"] == ["a", "b"]


def test_ten_lines_and_no_more(run) -> None:
    limits = "--fail-below bleu=99 chrf=99 wordf=100 --max-drop bleu=0 chrf=0 ter=0 wer=0 per=0"
    done = run(f"{SIDES} -t b.txt a.txt sys.en {limits}")
    shown = done.out.splitlines()
    assert len(shown) == 10
    assert shown[0] == "gate closed: 16 of 16 checks failed"
    assert "  and 12 more" in shown
    assert sum(line.startswith(("  a ", "  sys ")) for line in shown) == 3


def test_junit_and_markdown_of_a_closed_gate(run, tmp_path: Path, monkeypatch) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("before\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert run(f"{SIDES} -t b.txt a.txt --max-drop chrf=1 --fail-on empty --junit j.xml").code == 5
    suite = ElementTree.parse(tmp_path / "j.xml").getroot()[0]
    assert [suite.get(key) for key in ("tests", "failures", "errors")] == ["2", "1", "0"]
    failed, passed = suite
    assert (failed.get("classname"), failed.get("name")) == ("mtgauge.a", "max-drop chrf=1")
    assert failed[0].tag == "failure"
    assert "chrf is worse by 19.96" in failed[0].get("message")
    assert failed[0].text.count("segment ") == 10
    assert (passed.get("name"), passed[0].tag) == ("fail-on empty", "system-out")
    text = summary.read_text(encoding="utf-8")
    assert text.startswith("before\n### mtgauge check: gate closed: 1 of 2 checks failed")
    assert "| failed | a | max-drop chrf=1 | chrf is worse by" in text
    assert "| b (baseline) | 81.08" in text


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("", "There is nothing to check"),
        ("--fail-below chrf", "write METRIC=NUMBER"),
        ("--fail-below chrf=nan", "'nan' is not a number"),
        ("--fail-below chrf=inf", "'inf' is not a number"),
        ("--fail-below chrf=high", "'high' is not a number"),
        ("--fail-below chrf=1 chrf=2", "two limits for chrf"),
        ("--fail-below nosuch=1", "nosuch"),
        ("--max-drop chrf=1", "max-drop compares with a baseline"),
        ("--max-drop chrf=-1", "a drop is 0 or more"),
        ("--fail-on typos", "there is copies, wrong-language, empty"),
        ("--fail-on copies=many", "copies=3 or copies=2%"),
        ("--fail-on copies copies", "names copies twice"),
    ],
)
def test_wrong_limits_are_wrong_usage(run, words: str, told: str) -> None:
    done = run(f"{SIDES} -t b.txt {words}")
    assert done.code == 2
    assert told in done.err
    assert done.out == ""


def test_what_cannot_be_judged_is_no_closed_gate(run, tmp_path: Path) -> None:
    done = run("check -t b.txt -r ref.txt --fail-on copies")
    assert (done.code, "needs the source" in done.err) == (2, True)
    done = run("check -s src.de -t b.txt --fail-on wrong-language")
    assert (done.code, "needs the language pair" in done.err) == (2, True)
    (tmp_path / "none.de").write_text("Guten Tag.\n", encoding="utf-8")
    (tmp_path / "none.en").write_text("Good day.\n", encoding="utf-8")
    done = run("check -s none.de -t none.en -l de-en --fail-below kobe=0.5")
    assert done.code == 2
    assert "The gate cannot judge kobe of none: its score is undefined" in done.err
    done = run("check -s src.de -t b.txt -r ref.txt -l de-ceb --fail-below std=0.5 chrf=1")
    assert (done.code, "The gate cannot judge std" in done.err) == (4, True)
    assert run(f"{SIDES} -t gone.txt --fail-below chrf=1").code == 3


def test_significance_of_a_drop(run, tmp_path: Path) -> None:
    lines(tmp_path, "new.txt", line3="Can you please explain to me how this device works now?")
    done = run(f"{SIDES} -t b.txt new.txt --max-drop chrf=0")
    assert done.code == 5
    assert "may be chance, p = " in done.out
    assert run(f"{SIDES} -t b.txt new.txt --max-drop chrf=0 --significant").code == 0
    assert run(f"{SIDES} -t b.txt a.txt --max-drop chrf=0 --significant").code == 5
    done = run(f"{SIDES} -t b.txt new.txt --max-drop chrf=0 --significant --no-ci")
    assert done.code == 5, "without a test the drop decides"
    assert "not tested" in done.out


def test_against_a_stored_run(run, tmp_path: Path) -> None:
    metrics = "-m chrf bleu bertr"
    assert run(f"score -s src.de -r ref.txt -l de-en -t b.txt {metrics} --json b.json").code == 0
    same = run(f"{SIDES} -t b.txt --max-drop chrf=0 bertr=0 --against b.json")
    assert same.code == 0
    assert "is no worse: from 81.08 (b, stored) to 81.08" in same.out
    done = run(f"{SIDES} -t a.txt --max-drop bleu=1 bertr=0.001 --against b.json")
    assert done.code == 5
    assert "from 67.10 (b, stored) to 23.56; 1 allowed; not tested" in done.out, "no mean"
    assert "0.001 allowed; p " in done.out, "a mean of segments is tested"


def test_a_stored_run_that_is_no_baseline(run, tmp_path: Path) -> None:
    store = "score -s src.de -l de-en -r ref.txt"
    run(f"{store} -t a.txt b.txt -m chrf --json two.json")
    run("score -s src.de -r ref.txt -t b.txt -m chrf --json nolang.json")
    (tmp_path / "short.txt").write_text("A.\nB.\n", encoding="utf-8")
    run("score -t short.txt -r short.txt -m chrf --json short.json")
    lines(tmp_path, "other.txt", line1="Something else.")
    run("score -s src.de -l de-en -t b.txt -r other.txt -m chrf --json other.json")
    (tmp_path / "broken.json").write_text("{}", encoding="utf-8")
    for against, code, told in (
        ("two.json --max-drop chrf=1", 2, "Which system of the stored run is the baseline of sys?"),
        ("two.json --max-drop chrf=1 --baseline c", 2, "no system 'c': it has a, b"),
        ("two.json --max-drop bleu=1", 2, "The stored run has no bleu, only chrf"),
        ("nolang.json --max-drop chrf=1", 2, "lang is de-en, was none"),
        ("short.json --max-drop chrf=1", 2, "The stored run has 2 segments, this one 20"),
        ("other.json --max-drop chrf=1", 2, "another source or other references"),
        ("broken.json --max-drop chrf=1", 3, "not the JSON of a run"),
        ("gone.json --max-drop chrf=1", 3, "gone.json"),
    ):
        done = run(f"{SIDES} -t sys.en --against {against}")
        assert (done.code, told in done.err) == (code, True), f"{against}: {done.err}"
    changed = json.loads((tmp_path / "two.json").read_text(encoding="utf-8"))
    metric = changed["metrics"][0]
    metric["signature_full"] = metric["signature_full"].replace("beta:2", "beta:3")
    (tmp_path / "changed.json").write_text(json.dumps(changed), encoding="utf-8")
    done = run(f"{SIDES} -t b.txt --against changed.json --max-drop chrf=1")
    assert (done.code, "beta is 2, was 3" in done.err) == (2, True)


def test_a_drop_between_different_segments_is_refused(run, tmp_path: Path) -> None:
    """The new run's tool failed on one segment: without it the mean is another one."""
    (tmp_path / "old.txt").write_text("0.1\n" + "0.9\n" * 19)
    (tmp_path / "new.txt").write_text("nan\n" + "0.9\n" * 19)
    limits = "--max-drop comet=0 -m comet"
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "comet.txt").write_text((tmp_path / f"{name}.txt").read_text())
    assert run("score -t b.txt --scores old/comet.txt --json old.json").code == 0
    done = run(f"check -t b.txt --scores old/comet.txt --against old.json {limits}")
    assert done.code == 0
    done = run(f"check -t b.txt --scores new/comet.txt --against old.json {limits}")
    assert done.code == 2
    assert "comet has a score of segment 1 in one of the two runs only (1 such)" in done.err


def test_a_closed_gate_does_not_replace_the_stored_run(run, tmp_path: Path) -> None:
    ratchet = f"{SIDES} --max-drop chrf=1 --against last.json --json last.json"
    run("score -s src.de -r ref.txt -l de-en -t a.txt -m chrf --json last.json")
    before = (tmp_path / "last.json").read_bytes()
    assert run(f"{ratchet} -t sys.en").code == 5
    assert (tmp_path / "last.json").read_bytes() == before
    assert run(f"{ratchet} -t b.txt").code == 0
    assert json.loads((tmp_path / "last.json").read_text(encoding="utf-8"))["systems"] == ["b"]


def test_limits_in_pyproject(run, tmp_path: Path) -> None:
    config = tmp_path / "pyproject.toml"
    config.write_text(
        '[tool.mtgauge.check]\nlang = "de-en"\nsource = "src.de"\nreferences = ["ref.txt"]\n'
        'fail-on = ["empty", "copies=1"]\nfail-below = { chrf = 82, "bleu" = 60 }\n',
        encoding="utf-8",
    )
    done = run("check -t b.txt")
    assert done.code == 5
    assert "gate closed: 1 of 4 checks failed" in done.out
    assert run("check -t b.txt --fail-below chrf=50").code == 0, "flags win"
    assert "1 of 4" in run("check -t b.txt --fail-below chrf=90").out, "others stay"
    done = run("check -t b.txt --fail-on lost-numbers --fail-below chrf=1")
    assert "3 of 3 checks passed" in done.out, "a list is replaced"
    folder = tmp_path / "deep" / "er"
    folder.mkdir(parents=True)
    assert run(f"check -t {tmp_path}/b.txt --config {config}").code == 5
    config.rename(tmp_path / "other.toml")
    assert run("check -t b.txt --fail-below chrf=1 -r ref.txt").code == 0
    assert run("check -t b.txt --config other.toml").code == 5


def test_pyproject_of_a_folder_above(run, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.mtgauge.check]\nfail-below = { chrf = 82 }\nreferences = ["ref.txt"]\n', "utf-8"
    )
    (tmp_path / "inner").mkdir()
    monkeypatch.chdir(tmp_path / "inner")
    assert run("check -t ../b.txt").code == 5


@pytest.mark.parametrize(
    ("text", "code", "told"),
    [
        ("fail-under = { chrf = 50 }", 2, "there is no key fail-under; there are fail-below, max-"),
        ("fail-below = 50", 2, "fail-below is a table of limits"),
        ("fail-below = { chrf = nan }", 2, "fail-below chrf: nan is not a number"),
        ('fail-below = { chrf = "50" }', 2, "'50' is not a number"),
        ("fail-below = { chrf = true }", 2, "True is not a number"),
        ("max-drop = { chrf = -1 }", 2, "a drop is 0 or more"),
        ('fail-on = "copies"', 2, "fail-on is a list"),
        ('fail-on = ["typos"]', 2, "there is copies"),
        ("significant = 1", 2, "significant is true or false"),
        ("lang = 3", 2, "lang is a text"),
        ("fail-below = {", 3, "this is not TOML"),
    ],
)
def test_a_wrong_file_is_named(run, tmp_path: Path, text: str, code: int, told: str) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[tool.mtgauge.check]\n{text}\n", encoding="utf-8")
    done = run("check -t b.txt -r ref.txt")
    assert (done.code, done.out) == (code, "")
    assert "pyproject.toml" in done.err
    assert told in done.err


def test_a_gate_on_scores_of_other_tools(run, tmp_path: Path) -> None:
    (tmp_path / "comet.tsv").write_text(
        "system\tsegment\tcomet\n" + "".join(f"b\t{i}\t{i / 20}\n" for i in range(1, 21)), "utf-8"
    )
    done = run("check -t b.txt --scores comet.tsv --fail-below comet=0.9")
    assert done.code == 5
    assert "b: comet 0.5250 is below 0.9" in done.out
    assert "b 1: comet 0.0500: " in done.out


def test_a_limit_on_another_scale_is_told(run) -> None:
    done = run(f"{SIDES} -t b.txt --fail-below chrf=0.5")
    assert done.code == 0
    assert "fail-below chrf=0.5: chrf goes from 0 to 100, so 50 may be meant." in done.err
    assert "may be meant" not in run(f"{SIDES} -t b.txt --fail-below chrf=50").err


def test_the_first_stored_run_has_to_be_written(run) -> None:
    done = run(f"{SIDES} -t b.txt --max-drop chrf=1 --against last.json --json last.json")
    assert done.code == 3
    assert "last.json: there is no stored run" in done.err
    assert "mtgauge score ... --json last.json" in done.err
