from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from mtgauge.cli import main
from mtgauge.metric import Explanation, Link
from mtgauge.report.explain import render


def test_links_matrix_and_facts_are_shown() -> None:
    explanation = Explanation(
        "std",
        0.25,
        left=("猫", "sat"),
        right=("cat", "sat"),
        links=(Link(0, 0, 0.5, 0.4), Link(1, 1, 0.5, 0.0)),
        matrix=np.array([[0.4, 0.9], [0.8, 0.0]]),
        facts={"lost": ["Berlin"], "kept": [{"name": "Bonn", "id": None}], "none": []},
    )
    lines = render(explanation).splitlines()
    assert lines[0] == "std: 0.2500"
    dear = next(i for i, line in enumerate(lines) if "猫" in line)
    cheap = next(i for i, line in enumerate(lines) if "sat -> sat" in " ".join(line.split()))
    assert dear < cheap  # the dearest link first
    assert "██" in "\n".join(lines)
    assert "lost: Berlin" in lines
    assert "kept: Bonn" in lines
    assert "none: none" in lines
    assert "\x1b[" in render(explanation, colour=True)


def test_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("h.txt").write_text("A dog.\nThe guy flies home.\n", encoding="utf-8")
    Path("r.txt").write_text("A cat.\nThe man flies home.\n", encoding="utf-8")
    assert main("explain -t h.txt -r r.txt -l de-en -m std --segment 2".split()) == 0
    assert "guy" in capsys.readouterr().out
    assert main("explain -t h.txt -r r.txt -l de-en -m std --segment 2 --json".split()) == 0
    assert "guy" in json.loads(capsys.readouterr().out)["hypothesis"]
    assert main("explain -t h.txt -r r.txt -m std --segment 3".split()) == 3
    assert "there is no segment 3" in capsys.readouterr().err
    assert main("explain -t h.txt -m std --segment 1".split()) == 2
    assert "needs a reference" in capsys.readouterr().err
