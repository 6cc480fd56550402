"""wordf against sacrebleu's word n-grams, and the published WMT15 WordF."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import CHRF

from mtgauge.data.segments import Segments
from mtgauge.registry import load
from mtgauge.report.api import meta

words = st.lists(st.sampled_from(["a", "b", "c", "d", "ee"]), max_size=9).map(" ".join)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(words, words, words), min_size=1, max_size=5), st.sampled_from([1, 2, 3]))
def test_equals_chrf_without_characters(rows: list[tuple[str, str, str]], beta: int) -> None:
    hyps, refs = [h for h, *_ in rows], [(a, b) for _, a, b in rows]
    theirs = CHRF(char_order=0, word_order=4, beta=beta)
    ours = load(f"wordf:beta={beta}")
    found = ours.statistics(Segments(hyps, references=refs))
    expected = [theirs.sentence_score(h, list(r)).score for h, r in zip(hyps, refs, strict=True)]
    np.testing.assert_allclose(ours.segment_score(found), expected, atol=1e-9, rtol=0)
    total = ours.system_score(found.sum(axis=0, keepdims=True), np.array([len(hyps)]))
    streams = [list(stream) for stream in zip(*refs, strict=True)]
    assert total[0] == pytest.approx(theirs.corpus_score(hyps, streams).score, abs=1e-9)


def test_by_hand() -> None:
    wordf = load("wordf:beta=1,max_order=2")
    rows = wordf.statistics(Segments(["The cat sat."], references=[("The cat sat down.",)]))
    # words: 4 of 4 and 4 of 5; bigrams: 2 of 3 and 2 of 4
    precision, recall = (1 + 2 / 3) / 2, (4 / 5 + 2 / 4) / 2
    expected = 100 * 2 * precision * recall / (precision + recall)
    assert wordf.segment_score(rows)[0] == pytest.approx(expected)


def test_mean_of_references() -> None:
    batch = Segments(["a b"], references=[("a b", "x y z")])
    best, mean = load("wordf:max_order=1"), load("wordf:max_order=1,multi_ref=mean")
    assert best.segment_score(best.statistics(batch))[0] == 100.0
    assert mean.statistics(batch).tolist() == [[2.0, 2.5, 1.0]]


def test_smoothed_orders_count_whether_a_text_has_them_or_not() -> None:
    """The mean of the orders' F, as chrF++.py: words 3 of 3 and 3 of 4, bigrams 2 of 2 and 2 of 3,
    trigrams 1 of 1 and 1 of 2, and four words in a row only the reference has."""
    metric = load("wordf:beta=1,eps_smoothing=on")
    rows = metric.statistics(Segments(["a b c"], references=[("a b c d",)]))
    each = [2 * p * r / (p + r) for p, r in ((1, 3 / 4), (1, 2 / 3), (1, 1 / 2))]
    assert metric.segment_score(rows)[0] == pytest.approx(100 * sum(each) / 4)


@pytest.mark.shared
def test_published_wmt16_wordf(shared: Path) -> None:
    """The WordF1 row of WMT16: four orders of Moses' words."""
    pytest.importorskip("sacremoses")
    printed = {"fi-en": 0.435, "ru-en": 0.497, "ro-en": 0.508, "de-en": 0.464}
    metric = "wordf:tokenize=moses,eps_smoothing=on,beta=1"
    found = meta([shared / "wmt" / "da16.tsv.gz"], [metric], lang=list(printed), ci=False)
    ours = {row.lp: row.values["pearson"] for row in found.rows if not row.over}
    assert ours == pytest.approx(printed, abs=0.0006)


@pytest.mark.shared
def test_published_wmt15_wordf(shared: Path) -> None:
    """The WordF1 and WordF3 rows are chrF++'s word half: two orders, the mean of their F."""
    published = {
        1: {"cs": 0.526, "de": 0.554, "fi": 0.549, "ru": 0.578},
        3: {"cs": 0.539, "de": 0.556, "fi": 0.565, "ru": 0.594},
    }
    with gzip.open(shared / "wmt" / "da15.tsv.gz", "rt", encoding="utf-8", newline="\n") as file:
        header, *lines = [line.rstrip("\n").split("\t") for line in file]
    column = {name: i for i, name in enumerate(header)}
    for beta, languages in published.items():
        metric = load(f"chrf:char_order=0,word_order=2,eps_smoothing=on,beta={beta}")
        for language, expected in languages.items():
            rows = [line for line in lines if line[column["lp"]] == f"{language}-en"]
            references = [(row[column["reference"]],) for row in rows]
            batch = Segments([row[column["hypothesis"]] for row in rows], references=references)
            human = [float(row[column["human"]]) for row in rows]
            found = np.corrcoef(metric.segment_score(metric.statistics(batch)), human)[0, 1]
            assert found == pytest.approx(expected, abs=0.0006), (beta, language)
