"""Scores of other tools have the same intervals and tests as ours."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mtgauge
from mtgauge.data.foreign import read
from mtgauge.errors import InputError, UsageError

TEXTS = [f"the {word} cat sat on mat {i}" for i, word in enumerate(["old", "new"] * 15)]
SYSTEMS = {
    "a": [t.replace("sat", "sits") if i % 3 else t for i, t in enumerate(TEXTS)],
    "b": [t.replace("cat", "dog") if i % 2 else t for i, t in enumerate(TEXTS)],
}


def test_brought_back_our_own_scores_give_the_same_result() -> None:
    """sentbleu's system score is the mean of its segments: brought as a file it is the same."""
    ours = mtgauge.score(SYSTEMS, references=TEXTS, metrics=["sentbleu", "wer"])
    brought = {name: ours["sentbleu"][name].segments.tolist() for name in SYSTEMS}
    both = mtgauge.score(
        SYSTEMS, references=TEXTS, metrics=["sentbleu", "wer"], scores={"comet": brought}
    )
    assert list(both) == ["sentbleu", "wer", "comet"]
    for name in SYSTEMS:
        mine, theirs = both["sentbleu"][name], both["comet"][name]
        assert theirs.score == pytest.approx(mine.score, abs=1e-12)
        assert theirs.ci == pytest.approx(mine.ci, abs=1e-12)
        np.testing.assert_allclose(theirs.segments, mine.segments)
    versus = both["sentbleu"]["b"].versus
    assert versus is not None
    assert both["comet"]["b"].versus == versus
    (entry,) = [m for m in both.to_dict()["metrics"] if m["name"] == "comet"]
    assert entry["signature"] == "comet|from:file|higher_is_better:yes|lang:none"
    assert entry["systems"]["a"]["segments"] == brought["a"]


def test_direction_and_missing_scores() -> None:
    scores = {"a": [1.0, math.nan, 3.0], "b": [4.0, 5.0, 6.0]}
    three = {name: texts[:3] for name, texts in SYSTEMS.items()}
    result = mtgauge.score(three, metrics=[], scores={"metricx": scores}, lower=["metricx"])
    found = result["metricx"]
    assert not found.higher_is_better
    assert found["a"].score == 2.0
    assert math.isnan(found["a"].segments[1])
    assert found.notes["undefined in a"] == 1


def test_means_are_over_the_segments_that_all_systems_have() -> None:
    """A tool that failed on the worst segments of b must not make b the better system."""
    hard_last = [0.9, 0.8, 0.7, 0.2, 0.1]
    scores = {"a": hard_last, "b": [*hard_last[:3], math.nan, math.nan]}
    five = {name: texts[:5] for name, texts in SYSTEMS.items()}
    found = mtgauge.score(five, metrics=[], scores={"comet": scores})["comet"]
    assert found["a"].score == found["b"].score == pytest.approx(0.8)
    assert found.notes["partly scored"] == 2
    none = {name: [*values[:4], math.nan] for name, values in scores.items()}
    found = mtgauge.score(five, metrics=[], scores={"comet": none})["comet"]
    assert found.notes["partly scored"] == 1, "a segment that no system has is no difference"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([1.0, None], r"scores\['m'\]\['a'\]\[1\] is NoneType, not a number"),
        ([True, False], r"\[0\] is bool, not a number"),
        (["1", "2"], r"\[0\] is str, not a number"),
        ((x for x in (1.0, 2.0)), "is a generator, not a list"),
        ({0: 1.0, 1: 2.0}, "is a dict, not a list"),
        ([1.0, math.inf], r"\[1\] is infinite"),
    ],
)
def test_what_is_no_list_of_numbers_is_refused(values: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        mtgauge.score({"a": ["x", "y"]}, metrics=[], scores={"m": {"a": values}})


@pytest.mark.parametrize("kind", [np.int64, np.float32, np.float64])
def test_arrays_of_any_numbers_are_taken(kind: type) -> None:
    values: Any = np.array([1, 2], dtype=kind)
    result = mtgauge.score({"a": ["x", "y"]}, metrics=[], scores={"m": {"a": values}})
    assert result["m"]["a"].score == 1.5


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("inf\n0.2\n", "line 1: column plain: 'inf' is not a number"),
        ("abc\n0.2\n", "line 2: abc: 1 scores of a, which has 2 segments"),
        ("abc\n0.2\n", "Line 1 was read as the name of the column"),
        ("0,1\n0,2\n", "line 1: the first line holds numbers, not names of columns: '0,1'"),
        ("a\t1\t0.5\na\t2\t0.4\n", "line 1: the first line holds numbers, not names"),
    ],
)
def test_the_first_line_of_a_file_of_scores_is_not_lost(
    text: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / "plain.txt").write_text(text)

    def read_all() -> None:
        for one in read(tmp_path / "plain.txt", {"a": "a.txt"}):
            one.check(["a"], 2)

    with pytest.raises(InputError) as error:
        read_all()
    assert said in str(error.value)


def test_a_first_segment_without_a_score_is_no_header(tmp_path: Path) -> None:
    for first in ("nan", "NA", ""):
        (tmp_path / "plain.txt").write_text(f"{first}\n0.2\n")
        (one,) = read(tmp_path / "plain.txt", {"a": "a.txt"})
        assert one.name == "plain"
        np.testing.assert_array_equal(one.scores["a"], [math.nan, 0.2])


def test_wrong_lengths_and_names_are_refused() -> None:
    good = {name: [0.5] * len(TEXTS) for name in SYSTEMS}
    with pytest.raises(InputError, match=r"scores\['m'\]: m: 29 scores of b, which has 30"):
        mtgauge.score(SYSTEMS, metrics=[], scores={"m": good | {"b": [0.5] * 29}})
    with pytest.raises(UsageError, match="Two metrics are called 'wer'"):
        mtgauge.score(SYSTEMS, references=TEXTS, metrics=["wer"], scores={"wer": good})
    with pytest.raises(UsageError, match=r"--lower .*comt is not one"):
        mtgauge.score(SYSTEMS, metrics=[], scores={"comet": good}, lower=["comt"])


@pytest.mark.parametrize(
    "name", ["comet", "cometkiwi", "wmt22-comet-da", "bleurt", "MetricX", "bartscore", "prism"]
)
def test_the_error_says_how_to_bring_foreign_scores(name: str) -> None:
    with pytest.raises(UsageError, match=r"not a metric of mtgauge.* mtgauge score --scores FILE"):
        mtgauge.load(name)
    with pytest.raises(UsageError, match="Did you mean 'chrf'"):
        mtgauge.load("chrff")
