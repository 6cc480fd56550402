"""Scores of other tools: every form is read, everything that does not fit is refused by line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mtgauge.data import foreign
from mtgauge.errors import InputError, UsageError

SYSTEMS = {"a": "out/a.txt", "b": "out/b.txt"}
A, B = [0.5, 0.25, -1.0], [0.75, 1.0, 2e-3]
TABLE = ["system\tsegment\tcomet\tdoc"] + [
    f"{name}\t{i}\t{value}\td1"
    for name, values in (("b", B), ("a", A))
    for i, value in reversed(list(enumerate(values, 1)))
]
COMET = {
    f"./out/{name}.txt": [{"src": "s", "mt": "t", "COMET": x, "errors": []} for x in values]
    for name, values in (("a", A), ("b", B))
}


def same(found: foreign.Foreign, name: str) -> None:
    assert found.name == name
    found.check(["a", "b"], 3)
    np.testing.assert_array_equal(found.scores["a"], A)
    np.testing.assert_array_equal(found.scores["b"], B)


@pytest.mark.parametrize(
    ("file", "content", "name"),
    [
        ("bleurt.txt", "\n".join(map(str, A + B)), "bleurt"),
        ("x.tsv", "\n".join(TABLE), "comet"),
        ("x.csv", "\n".join(TABLE).replace("\t", ","), "comet"),
        ("x.txt", "\n".join(TABLE), "comet"),
        ("kiwi.tsv", "\n".join(TABLE).replace("comet", "score"), "kiwi"),
        ("mx.jsonl", "\n".join(json.dumps({"prediction": x}) for x in A + B), "mx"),
        ("c.json", json.dumps(COMET), "COMET"),
        ("c.json", json.dumps({"a": COMET["./out/a.txt"], "b": COMET["./out/b.txt"]}), "COMET"),
    ],
)
def test_every_form(tmp_path: Path, file: str, content: str, name: str) -> None:
    (tmp_path / file).write_text(content + "\n", encoding="utf-8")
    (found,) = foreign.read(tmp_path / file, SYSTEMS)
    same(found, name)


def test_several_metrics_and_missing_scores(tmp_path: Path) -> None:
    file = tmp_path / "two.tsv"
    file.write_text("system\tbleurt\tprism\na\t1\t-3\na\tNA\t-4\n", encoding="utf-8")
    first, second = foreign.read(file, {"a": "a"})
    assert (first.name, second.name) == ("bleurt", "prism")
    np.testing.assert_array_equal(first.scores["a"], [1, np.nan])


def test_rows_of_other_language_pairs_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "two.tsv"
    rows = ["lp\tsystem\tsid\tm", "en-de\ta\t1\t1", "en-zh_CN\ta\t1\t2"]
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    (found,) = foreign.read(file, {"a": "a"}, "en-zh-CN")
    assert found.scores["a"].tolist() == [2.0]
    with pytest.raises(InputError, match="no scores of cs-en"):
        foreign.read(file, {"a": "a"}, "cs-en")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([*TABLE[:2], "c\t1\t0.1\td"], "line 3: scores of 'c', which is not scored here.*a, b"),
        ([*TABLE, "a\t1\t0.1\td"], "line 8: segment 1 of a stands twice"),
        (TABLE[:-1], "a has no score of segment 1"),
        ([*TABLE[:2], "b\tone\t0.1\td"], "line 3: 'one' is not the number of a segment"),
        ([*TABLE[:3], "b\t1\tgood\td"], "line 4: column comet: 'good' is not a number"),
        (["system\tsegment\tdoc", "a\t1\td"], "no column of scores"),
        (["0.1", "0.2", "0.3"], "line 3: 3 scores cannot be those of 2 systems"),
        (["0.1", "high"], "line 2: column x: 'high' is not a number"),
    ],
)
def test_what_does_not_fit_is_refused_by_line(
    tmp_path: Path, rows: list[str], message: str
) -> None:
    file = tmp_path / "x.txt"
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=message):
        foreign.read(file, SYSTEMS)


@pytest.mark.parametrize("content", ["{", "[]", '{"a": [1, 2]}', '{"a": [{"COMET": "x"}]}'])
def test_json_of_another_form_is_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "x.json"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=r"x\.json"):
        foreign.read(file, SYSTEMS)


def test_lengths_and_systems_are_checked_against_the_run(tmp_path: Path) -> None:
    file = tmp_path / "m.txt"
    file.write_text("".join(f"{x}\n" for x in A + B), encoding="utf-8")
    (found,) = foreign.read(file, SYSTEMS)
    with pytest.raises(InputError, match=r"m.txt, line 3: m: 3 scores of a, which has 2 segments"):
        found.check(["a", "b"], 2)
    with pytest.raises(InputError, match=r"m: 3 scores of a, which has 4 .* then of the second"):
        found.check(["a", "b"], 4)
    with pytest.raises(InputError, match="no scores of c"):
        found.check(["a", "c"], 3)


@pytest.mark.parametrize(
    "scores",
    [{"m": A}, {"m": {"a": "0.5"}}, {"m": {"a": ["x"]}}, {"m": {"z": A}}, {"m": {"a": [np.inf]}}],
)
def test_lists_of_another_shape_are_refused(scores: dict[str, Any]) -> None:
    with pytest.raises((UsageError, InputError), match="scores"):
        foreign.given(scores, ["a", "b"])
