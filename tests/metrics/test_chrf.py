"""chrf gives sacrebleu's numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import CHRF

from mtgauge.data.segments import Segments
from mtgauge.errors import UsageError
from mtgauge.metric import Metric
from mtgauge.registry import load

HYPOTHESES = [
    "The cat sat on the mat.",
    "(yes)",
    "no",
    "",
    " ",
    "Über die Straße, bitte!",
    "猫喜欢鱼",
]
REFERENCES = [
    ("The cat sat on a mat.",),
    ("Yes, (yes) -",),
    ("completely different",),
    ("Nothing was translated.",),
    ("Nor here.",),
    ("Über die Strasse bitte",),
    ("那只猫很喜欢吃鱼",),
]


def compare(
    ours: Metric, theirs: CHRF, hyps: Sequence[str], refs: Sequence[tuple[str, ...]]
) -> None:
    rows = ours.statistics(Segments(hyps, references=refs))
    assert rows.shape == (len(hyps), len(ours.columns))
    streams = [list(stream) for stream in zip(*refs, strict=True)]
    total = ours.system_score(rows.sum(axis=0, keepdims=True), np.array([len(hyps)]))
    assert total[0] == pytest.approx(theirs.corpus_score(list(hyps), streams).score, abs=1e-9)
    expected = [theirs.sentence_score(h, list(r)).score for h, r in zip(hyps, refs, strict=True)]
    np.testing.assert_allclose(ours.segment_score(rows), expected, atol=1e-9, rtol=0)


@pytest.mark.parametrize(
    ("spec", "options"),
    [
        ("chrf", {}),
        ("chrf:beta=1", {"beta": 1}),
        ("chrf:beta=3,lowercase=on", {"beta": 3, "lowercase": True}),
        ("chrf:word_order=2", {"word_order": 2}),
        ("chrf:word_order=2,eps_smoothing=on", {"word_order": 2, "eps_smoothing": True}),
        ("chrf:char_order=3,whitespace=on", {"char_order": 3, "whitespace": True}),
        ("chrf:char_order=0,word_order=3", {"char_order": 0, "word_order": 3}),
    ],
)
def test_equals_sacrebleu(spec: str, options: dict[str, object]) -> None:
    compare(load(spec), CHRF(**options), HYPOTHESES, REFERENCES)
    several = [(*r, "a cat", f"{r[0]} too") for r in REFERENCES]
    compare(load(spec), CHRF(**options), HYPOTHESES, several)


words = st.text(alphabet="aab .,('ü猫", max_size=30)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(words, words, words), min_size=1, max_size=5))
def test_equals_sacrebleu_on_random_text(rows: list[tuple[str, str, str]]) -> None:
    hyps, refs = [h for h, *_ in rows], [(a, b) for _, a, b in rows]
    compare(load("chrf:word_order=2"), CHRF(word_order=2), hyps, refs)


@pytest.mark.parametrize(("order", "message"), [(0, "both 0"), (-1, "between 0 and 20")])
def test_no_order_at_all_is_refused(order: int, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load(f"chrf:char_order={order}")
