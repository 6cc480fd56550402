"""wer against jiwer; per against rapidfuzz on sorted words and against Moses' formula."""

from __future__ import annotations

from collections.abc import Sequence

import jiwer
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import LCSseq

from mtgauge.data.segments import Segments
from mtgauge.metric import Metric
from mtgauge.registry import load


def segments(metric: Metric, hyps: list[str], refs: Sequence[tuple[str, ...]]) -> list[float]:
    return [
        float(x) for x in metric.segment_score(metric.statistics(Segments(hyps, references=refs)))
    ]


def system(metric: Metric, hyps: list[str], refs: Sequence[tuple[str, ...]]) -> float:
    rows = metric.statistics(Segments(hyps, references=refs))
    return float(metric.system_score(rows.sum(axis=0, keepdims=True), np.array([len(hyps)]))[0])


words = st.lists(st.sampled_from(["a", "b", "c", "d", "ee"]), max_size=8).map(" ".join)
pairs = st.lists(st.tuples(words, words.filter(bool)), min_size=1, max_size=5)


@settings(max_examples=80, deadline=None)
@given(pairs)
def test_wer_is_jiwers(rows: list[tuple[str, str]]) -> None:
    hyps, refs = [h for h, _ in rows], [r for _, r in rows]
    singles = [(r,) for r in refs]
    wer = load("wer:tokenize=none")
    assert system(wer, hyps, singles) == pytest.approx(jiwer.wer(refs, hyps), abs=1e-12)
    each = [jiwer.wer(r, h) for h, r in rows]
    assert segments(wer, hyps, singles) == pytest.approx(each, abs=1e-12)


@settings(max_examples=80, deadline=None)
@given(pairs)
def test_per_is_never_above_wer_and_blind_to_order(rows: list[tuple[str, str]]) -> None:
    hyps, refs = [h for h, _ in rows], [(r,) for _, r in rows]
    per = segments(load("per:tokenize=none"), hyps, refs)
    assert all(
        p <= w for p, w in zip(per, segments(load("wer:tokenize=none"), hyps, refs), strict=True)
    )
    # the longest common subsequence of sorted words is what the two bags share: rapidfuzz's word
    bags = [(sorted(h.split()), sorted(r.split())) for h, (r,) in zip(hyps, refs, strict=True)]
    expected = [(max(len(h), len(r)) - LCSseq.similarity(h, r)) / len(r) for h, r in bags]
    assert per == pytest.approx(expected, abs=1e-12)
    mixed = [" ".join(sorted(h.split())) for h in hyps]
    assert segments(load("per:tokenize=none"), mixed, refs) == per


@pytest.mark.parametrize(
    ("hypothesis", "reference", "correct"),
    [
        ("the mat on sat cat the", "the cat sat on the mat", 6),
        ("the the the", "the cat", 1),
        ("a b c d e f", "a x c", 2),
        ("x", "a b", 0),
    ],
)
def test_per_is_the_formula_of_moses(hypothesis: str, reference: str, correct: int) -> None:
    """PerScorer: 1 - (correct - max(0, output length - reference length)) / reference length."""
    out, ref = len(hypothesis.split()), len(reference.split())
    expected = 1 - (correct - max(0, out - ref)) / ref
    assert segments(load("per"), [hypothesis], [(reference,)]) == [pytest.approx(expected)]


@pytest.mark.parametrize("name", ["wer", "per"])
def test_references_best_and_mean(name: str) -> None:
    refs = [("x y z u", "a b c d e")]
    assert segments(load(name), ["a b c d"], refs) == [pytest.approx(1 / 5)]
    mean = segments(load(f"{name}:multi_ref=mean"), ["a b c d"], refs)
    assert mean == [pytest.approx((4 + 1) / (4 + 5))]


@pytest.mark.parametrize("name", ["wer", "per"])
def test_edges(name: str) -> None:
    metric = load(name)
    assert segments(metric, ["", "a b", ""], [("a b c",), ("",), ("",)]) == [1.0, 1.0, 0.0]
    assert metric.worst == 1.0
    assert segments(load(f"{name}:lowercase=on"), ["THE Cat."], [("the cat .",)]) == [0.0]
