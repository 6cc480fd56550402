"""character against the package cer, its published example, and the published WMT15 numbers."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from cer import calculate_cer
from hypothesis import given, settings
from hypothesis import strategies as st

from mtgauge.data.segments import Segments
from mtgauge.metrics.character import character
from mtgauge.registry import load

words = st.lists(st.sampled_from(["a", "bb", "ccc", "dddd", "e"]), max_size=10)


@settings(max_examples=200, deadline=None)
@given(words, words.filter(bool))
def test_equals_the_package_cer(hypothesis: list[str], reference: list[str]) -> None:
    assert character(hypothesis, reference) == pytest.approx(
        calculate_cer(hypothesis, reference), abs=1e-12
    )


def test_documented_example() -> None:
    """The example in the documentation of the Hugging Face metric `character`."""
    hyp = "this week the saudis denied information published in the new york times"
    ref = "saudi arabia denied this week information published in the american new york times"
    assert character(hyp.split(), ref.split()) == pytest.approx(0.36619718309859156, abs=1e-12)


def test_edges() -> None:
    metric = load("character")
    batch = Segments(["", "a b", "zz"], references=[("a b",), ("a b",), ("a much longer text",)])
    assert metric.segment_score(metric.statistics(batch)).tolist() == [1.0, 0.0, 1.0]
    assert metric.worst == 1.0
    assert character(["a"], []) == 1.0


def test_references_best_and_mean() -> None:
    batch = Segments(["abcd"], references=[("wxyz", "abcd")])
    for spec, expected in (("character", 0.0), ("character:multi_ref=mean", 0.5)):
        metric = load(spec)
        assert metric.segment_score(metric.statistics(batch))[0] == expected


def test_the_search_ends_and_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    from mtgauge.metrics import character as module

    batch = Segments(["a b c d e f"], references=[("d e f a c b",)])
    metric = load("character")
    whole = metric.statistics(batch)[0, 0]
    assert "fewer_shifts" not in metric.notes
    monkeypatch.setattr(module, "_MOST_COMPARED", 6)
    assert metric.statistics(batch)[0, 0] > whole
    assert metric.notes["fewer_shifts"] == 1


@pytest.mark.shared
def test_published_wmt15_and_wmt16(shared: Path) -> None:
    published = {
        "da15": {"cs": 0.534, "de": 0.613, "fi": 0.583, "ru": 0.617},
        "da16": {"fi": 0.470, "ru": 0.516, "ro": 0.549, "de": 0.545},
    }
    metric = load("character")
    for year, languages in published.items():
        path = shared / "wmt" / f"{year}.tsv.gz"
        with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
            header, *lines = [line.rstrip("\n").split("\t") for line in file]
        column = {name: i for i, name in enumerate(header)}
        for language, expected in languages.items():
            rows = [line for line in lines if line[column["lp"]] == f"{language}-en"]
            references = [(row[column["reference"]],) for row in rows]
            batch = Segments([row[column["hypothesis"]] for row in rows], references=references)
            human = [float(row[column["human"]]) for row in rows]
            found = -np.corrcoef(metric.segment_score(metric.statistics(batch)), human)[0, 1]
            assert found == pytest.approx(expected, abs=0.0006), (year, language)
