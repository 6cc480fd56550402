"""What a result shows in a notebook and in a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

import mtgauge
from mtgauge.errors import UsageError
from mtgauge.report.table import render


@pytest.fixture(scope="module")
def result():
    return mtgauge.score(
        {"old": ["a cat sat on mat", "good evening all"] * 6,
         "new": ["the cat sat on the mat", "good evening"] * 6},
        references=["the cat sat on the mat", "good evening"] * 6, metrics=["chrf", "ter"],
    )  # fmt: skip


def test_a_result_prints_the_table_of_the_terminal(result) -> None:
    assert str(result) == render(result, "table")


def test_a_notebook_shows_scores_intervals_and_stars(result) -> None:
    text = result._repr_html_()
    assert f"{result['chrf']['new'].score:.2f}" in text
    assert "±" in text
    assert text.count("★") == 3  # both metrics, and what the star means
    assert "<caption>" in text
    assert "<script" not in text


def test_data_frames_of_both_levels(result) -> None:
    systems = result.to_pandas(level="system")
    assert len(systems) == 4
    row = systems[(systems.metric == "ter") & (systems.system == "new")].iloc[0]
    assert row.score == result["ter"]["new"].score
    assert row.p_adjusted == result["ter"]["new"].versus.p_adjusted
    assert (row.ci_low, row.ci_high) == result["ter"]["new"].ci
    assert len(result.to_pandas()) == len(result.to_pandas(level="segment")) == 2 * 2 * 12
    with pytest.raises(UsageError, match="system, segment"):
        result.to_pandas(level="word")


def test_a_result_writes_its_report(result, tmp_path: Path) -> None:
    path = result.report(tmp_path / "r.html")
    assert path == tmp_path / "r.html"
    assert "new is the better system" in path.read_text(encoding="utf-8")


def test_membership_does_not_raise(result) -> None:
    assert "chrf" in result
    assert "bleu" not in result
    assert "old" in result["chrf"]
    assert "x" not in result["chrf"]


def test_a_comparison_prints_itself(result) -> None:
    found = mtgauge.compare(result, "old", "new")
    text = str(found)
    assert text.startswith("new is the better system.")
    for part in ("Scores", "chrf by words in the reference", "the cat sat on", "differ most"):
        assert part in text
    assert list(found.to_pandas().metric) == ["chrf", "ter"]
    assert "<table>" in found._repr_html_()
    assert repr(found) == "<Comparison: old and new by chrf, ter; print() shows it>"


def test_an_explanation_prints_itself() -> None:
    found = mtgauge.explain(["The cat sleep."], references=["The cat is asleep."], metric="ter")
    assert "What cost most" in str(found)
    assert str(found).startswith("reference    The cat is asleep.")
    assert repr(found) == "<Explanation: ter 50.0000; print() shows it>"
