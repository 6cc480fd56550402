from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from mtgauge.cli import main
from mtgauge.explanation import Explanation, Finding, Link
from mtgauge.report.explain import render
from mtgauge.report.writers import display_width

EXPLAINED = Explanation(
    "std",
    0.25,
    left=("猫", "sat"),
    right=("cat", "sat"),
    links=(Link(0, 0, 0.5, 0.4), Link(1, 1, 0.5, 0.0)),
    matrix=np.array([[0.4, 0.9], [0.8, 0.0]]),
    findings=(Finding("", "cat", "猫", 0.2), Finding("", "sat", "sat", 0.05)),
    unit="cost",
    remarks=("Words are moved.",),
    sentences={"reference": "猫 sat", "hypothesis": "cat\x1b[31m sat"},
    meaning="lower is better.",
)


def test_sentences_score_findings_and_remarks_in_that_order() -> None:
    assert render(EXPLAINED) == (
        "reference    猫 sat\n"
        "translation  cat\\x1b[31m sat\n"
        "\n"
        "std: 0.2500\n"
        "Lower is better.\n"
        "\n"
        "What cost most\n"
        "  translation  reference   cost  share\n"
        "  cat          猫         0.200    80%\n"
        "  sat          sat        0.050    20%\n"
        "\n"
        "Words are moved.\n"
    )
    assert "\x1b[31m  cat" in render(EXPLAINED, colour=True)


def test_the_heat_map_is_drawn_where_it_is_wanted() -> None:
    assert "█" not in render(EXPLAINED)
    assert "██" in render(EXPLAINED, matrix=True)


def test_the_list_is_short_and_has_every_kind() -> None:
    many = [Finding("replaced", f"w{i}", f"v{i}", 20.0 - i) for i in range(15)]
    few = [Finding("missing", "", "rare", 1.0)]
    text = render(Explanation("wer", 0.5, findings=(*many, *few), unit="errors"), top=4)
    assert [line.split()[0] for line in text.splitlines()[4:8]] == ["replaced"] * 3 + ["missing"]
    assert "and 12 more" in text
    all_of_it = render(Explanation("wer", 0.5, findings=(*many, *few), unit="errors"), top=99)
    assert "more" not in all_of_it


def test_long_and_wide_texts_stay_in_the_window() -> None:
    wide = "猫" * 90
    texts = {"source": wide, "hypothesis": "word " * 40 + "x" * 200}
    found = Explanation(
        "ter",
        1.0,
        findings=(Finding("replaced", "a" * 70, wide, 1.0),),
        unit="edits",
        sentences=texts,
    )
    for width in (60, 80):
        lines = render(found, width=width).splitlines()
        assert max(map(display_width, lines)) <= width
        assert "".join(lines).count("猫") > 90  # the sentence in full


def test_parts_are_indented() -> None:
    whole = Explanation("blend", 0.1, parts=(EXPLAINED,))
    assert "\n  std: 0.2500\n" in render(whole)
    assert whole.to_dict()["parts"][0]["findings"][0]["text"] == "cat"


def test_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("h.txt").write_text("A dog.\nThe guy flies home.\n", encoding="utf-8")
    Path("r.txt").write_text("A cat.\nThe man flies home.\n", encoding="utf-8")
    assert main("explain -t h.txt -r r.txt -l de-en -m std --segment 2".split()) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["reference    The man flies home.", "translation  The guy flies home."]
    first = lines[lines.index("What cost most") + 2]
    assert first.split()[:2] == ["guy", "man"]
    assert main("explain -t h.txt -r r.txt -l de-en -m std --segment 2 --json".split()) == 0
    assert "guy" in json.loads(capsys.readouterr().out)["hypothesis"]
    assert main("explain -t h.txt -r r.txt -m std --segment 2 --top 0".split()) == 2
    assert "--top" in capsys.readouterr().err
    assert main("explain -t h.txt -r r.txt -m std --segment 3".split()) == 3
    assert "there is no segment 3" in capsys.readouterr().err
    assert main("explain -t h.txt -m std --segment 1".split()) == 2
    assert "needs a reference" in capsys.readouterr().err
