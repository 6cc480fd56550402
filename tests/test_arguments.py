"""Doors of Python that are given a wrong type: one sentence that names it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mtgauge
from mtgauge.engine.places import Where
from mtgauge.errors import UsageError
from mtgauge.meta.study import Plan

RESULT: Any = mtgauge.score(
    {"a": ["A cat sat."] * 6, "b": ["The cat sat."] * 6}, None, ["The cat sat."] * 6, ["chrf"]
)
TEXTS: dict[str, Any] = {"sources": ["a"], "references": ["b"], "lang": "de-en"}
SCORED: dict[str, Any] = {"hypotheses": ["a"], "references": ["a"]}
wrong: Any = mtgauge  # no types are checked behind it, as in a notebook
DOORS: dict[str, tuple[Callable[[], object], str]] = {
    "no result": (lambda: wrong.compare("x"), "result is a Result, not a str"),
    "a metric of it": (lambda: wrong.compare(RESULT["chrf"]), "not a MetricResult"),
    "one spec": (lambda: wrong.score(**SCORED, metrics="bleu"), "metrics is a list of specs"),
    "a number": (lambda: wrong.score(**SCORED, metrics=5), "metrics is a list of specs"),
    "read once": (lambda: wrong.score(**SCORED, metrics=iter(["bleu"])), "metrics is a list of"),
    "an array": (lambda: wrong.score(**SCORED, metrics=np.array(["bleu", "ter"])), "is a list of"),
    "bare scores": (lambda: wrong.score(**SCORED, scores=[1]), "scores is {metric: {system"),
    "a level": (lambda: RESULT.to_pandas("x"), "level='x' is not one of system, segment"),
    "one file": (lambda: wrong.meta("a", ["bleu"], scores="b.tsv"), "scores is a list of files"),
    "human": (lambda: wrong.meta("a", ["bleu"], human=5), "human is a file, or {"),
    "a limit": (lambda: wrong.meta("a", ["bleu"], limit="5"), "limit='5' is not a whole number"),
    "a seed": (lambda: wrong.score(**SCORED, seed=True), "seed=True is not a whole number"),
    "a half seed": (lambda: wrong.score(**SCORED, seed=np.float64(3)), "is not a whole number"),
    "a probe's seed": (lambda: wrong.probe("robust", **TEXTS, seed="x"), "seed='x' is not a whole"),
    "a table": (lambda: wrong.meta(experiment=5), "experiment is a str, not a int"),
    "worse": (lambda: wrong.probe("robust", **TEXTS, worse=["a"]), "worse is {name: [one per"),
    "mbr": (lambda: wrong.rerank([["a", "b"]], mbr="chrf"), "mbr is a list of specs"),
}


@pytest.mark.parametrize("name", DOORS)
def test_a_wrong_type_is_named(name: str) -> None:
    call, said = DOORS[name]
    with pytest.raises(UsageError) as told:
        call()
    assert said in str(told.value)


def test_integers_of_numpy_are_whole_numbers() -> None:
    """As a loop over `np.arange` gives them; in the result they are ints, which JSON can hold."""
    five: Any = np.int64(5)
    systems = {"a": ["A cat sat."] * 6, "b": ["The cat sat."] * 6}
    found = mtgauge.score(systems, references=["The cat sat."] * 6, seed=five)
    assert json.loads(json.dumps(found.to_dict()))["seed"] == 5
    assert type(Where(workers=five).workers) is int
    assert type(Plan(limit=five).limit) is int


def test_training_is_told_of_files_and_settings() -> None:
    pytest.importorskip("torch")
    train: Any = mtgauge.train
    files = train.JudgedFiles(train=["a.tsv"], dev_share=0.1)
    doors: tuple[tuple[Callable[[], object], str], ...] = (
        (lambda: train.regressor("a.tsv", "out"), "files is a JudgedFiles, not a str"),
        (lambda: train.head("esim", files, "out", 5), "settings is a HeadTraining, not a int"),
        (lambda: train.JudgedFiles(train="a.tsv").check(), "train is a list of files"),
        (lambda: train.blend("a.tsv"), "train is a list of files"),
    )
    for call, said in doors:
        with pytest.raises(UsageError, match=said):
            call()


def test_a_form_that_is_not_there(tmp_path: Path) -> None:
    rows = [f"de-en\ts\t{i}\tSatz {i}\tsentence {i}\tphrase {i}\t.{i}" for i in range(9)]
    head = "lp\tsystem\tsid\tsource\treference\thypothesis\thuman"
    (tmp_path / "a.tsv").write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    found = mtgauge.meta(tmp_path / "a.tsv", ["chrf"], ci=False)
    with pytest.raises(UsageError, match="format='html' is not one of table, tsv"):
        found.render("html")
