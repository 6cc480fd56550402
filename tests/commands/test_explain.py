from __future__ import annotations

import json
from pathlib import Path

import pytest


def test_edits_of_ter(run) -> None:
    done = run("explain -t a.txt -r ref.txt -l de-en -m ter --segment 2")
    assert done.code == 0
    assert "What cost most" in done.out


@pytest.mark.parametrize("metric", ["bertr", "std", "ter"])
def test_json_has_both_sides(run, metric: str) -> None:
    done = run(f"explain -t a.txt -r ref.txt -l de-en -m {metric} --segment 1 --json")
    told = json.loads(done.out)
    assert told["metric"] == metric
    if metric != "ter":
        assert told["hypothesis"]
        assert told["reference"]
    assert all(len(link) == 4 for link in told["links"])


def test_a_metric_that_looks_at_all_references(run) -> None:
    done = run("explain -t a.txt -r ref.txt -l de-en -m nist --segment 1 --json")
    assert done.code == 0
    assert json.loads(done.out)["score"] > 0


@pytest.mark.parametrize("metric", ["bertr", "xmoverscore", "moverscore:ngram=2"])
def test_words_carry_their_pieces(run, tmp_path: Path, metric: str) -> None:
    (tmp_path / "s.de").write_text("Die Bundeskanzlerinnen kamen.\n", encoding="utf-8")
    (tmp_path / "h.en").write_text("The chancelloresses came.\n", encoding="utf-8")
    (tmp_path / "r.en").write_text("The counterrevolutionaries came.\n", encoding="utf-8")
    line = f"explain -s s.de -t h.en -r r.en -l de-en -m {metric} --segment 1"
    told = json.loads(run(f"{line} --json").out)
    cut = [word for word in told["hypothesis"] if "chancelloresses" in word["word"]]
    assert cut
    assert all(len(word["pieces"]) > 1 for word in cut)
    assert told["sentences"]["hypothesis"] == "The chancelloresses came."
    shown = run(line).out
    assert "chancelloresses" in shown.split("What cost most")[1]
    assert "dark is near" not in shown
    assert "dark is near" in run(f"{line} --matrix").out


def test_an_untranslated_text_says_why_its_score_is_low(run, tmp_path: Path) -> None:
    text = "Die Katze schläft heute auf dem warmen Ofen im alten Haus.\n"
    (tmp_path / "s.de").write_text(text, encoding="utf-8")
    out = run("explain -s s.de -t s.de -l de-en -m xmoverscore --segment 1").out
    assert "of the translation is not in the target language" in " ".join(out.split())
    assert "Nothing was found" not in out


def test_a_picture(run, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    done = run("explain -s src.de -t a.txt -l de-en -m xmoverscore --segment 1 --plot m.svg")
    assert done.code == 0
    assert "<svg" in (tmp_path / "m.svg").read_text(encoding="utf-8")


def test_entities_by_kind(run) -> None:
    out = run("explain -s src.de -t sys.en -l de-en -m kobe --categories").out
    head, *rows = [line.split("\t") for line in out.splitlines()]
    assert head == ["category", "entities", "kept", "share"]
    assert rows[-1][0] == "all"
    assert int(rows[-1][1]) == sum(int(row[1]) for row in rows[:-1]) > 0
    told = json.loads(run("explain -s src.de -t sys.en -l de-en -m kobe --categories --json").out)
    assert {row[0]: (int(row[2]), int(row[1])) for row in rows[:-1]} == {
        kind: (count["kept"], count["entities"]) for kind, count in told.items()
    }


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("explain -t a.txt -r ref.txt -m ter --segment 99", 3, "no segment 99"),
        ("explain -t a.txt -r ref.txt -m ter --segment 0", 3, "counted from 1"),
        ("explain -t a.txt -m ter --segment 1", 2, "reference"),
        ("explain -s src.de -t a.txt -r ref.txt -l de-en -m bleu --categories", 2, "kobe"),
        ("explain -t a.txt -r ref.txt -m ter", 2, "--segment"),
    ],
)
def test_what_is_refused(run, line: str, code: int, said: str) -> None:
    done = run(line)
    assert done.code == code
    assert said in done.err


def test_remarks_on_a_lowered_score_say_which_score_they_are_about(run) -> None:
    copy = run("explain -s src.de -t src.de -r ref.txt -l de-en -m regressor --segment 2")
    told = " ".join(copy.out.split())
    assert "to -3.0000. What follows is about the former. z-score " in told
    fair = run("explain -s src.de -t b.txt -r ref.txt -l de-en -m regressor --segment 2")
    assert "What follows" not in fair.out
