"""ter gives sacrebleu's numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import TER

from mtgauge.data.segments import Segments
from mtgauge.metric import Metric
from mtgauge.registry import load

HYPOTHESES = [
    "The cat sat on the mat.",
    "on the mat the cat sat quietly today",
    "yes",
    "",
    'He said: "It\'s 3,000 - no, 4.5!"',
    "a b c d e f g h i j k l m n",
    "猫喜欢鱼。",
    'it says "stop"',
]
REFERENCES = [
    ("the cat sat on a mat .",),
    ("today the cat sat quietly on the mat",),
    ("",),
    ("Nothing was translated.",),
    ("He said it's 3,000 -- no, 4.5",),
    ("h i j k l m n a b c d e f g",),
    ("那只猫很喜欢吃鱼。",),
    ("it says &amp;quot;stop&amp;quot;",),
]


def compare(
    ours: Metric, theirs: TER, hyps: Sequence[str], refs: Sequence[tuple[str, ...]]
) -> None:
    rows = ours.statistics(Segments(hyps, references=refs))
    streams = [list(stream) for stream in zip(*refs, strict=True)]
    total = ours.system_score(rows.sum(axis=0, keepdims=True), np.array([len(hyps)]))
    assert total[0] == pytest.approx(theirs.corpus_score(list(hyps), streams).score, abs=1e-9)
    expected = [theirs.sentence_score(h, list(r)).score for h, r in zip(hyps, refs, strict=True)]
    np.testing.assert_allclose(ours.segment_score(rows), expected, atol=1e-9, rtol=0)


@pytest.mark.parametrize(
    "on",
    [
        (),
        ("normalized",),
        ("no_punct",),
        ("case_sensitive",),
        ("normalized", "asian_support", "no_punct"),
    ],
)
def test_equals_sacrebleu(on: tuple[str, ...]) -> None:
    spec = "ter" + (":" + ",".join(f"{key}=on" for key in on) if on else "")
    compare(load(spec), TER(**dict.fromkeys(on, True)), HYPOTHESES, REFERENCES)
    several = [(*r, "a cat on the mat", f"{r[0]} too") for r in REFERENCES]
    compare(load(spec), TER(**dict.fromkeys(on, True)), HYPOTHESES, several)


words = st.lists(st.sampled_from(["a", "b", "c", "d", "e"]), max_size=14).map(" ".join)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(words, words), min_size=1, max_size=4))
def test_equals_sacrebleu_on_random_text(rows: list[tuple[str, str]]) -> None:
    compare(load("ter"), TER(), [h for h, _ in rows], [(r,) for _, r in rows])


marks = st.text(alphabet="ab12.,-'s&;quot \"", max_size=25)


@settings(max_examples=100, deadline=None)
@given(marks, marks)
def test_equals_sacrebleu_on_random_marks(hypothesis: str, reference: str) -> None:
    compare(load("ter:normalized=on"), TER(normalized=True), [hypothesis], [(reference,)])


def test_empty_translation_is_the_worst() -> None:
    ter = load("ter")
    rows = ter.statistics(Segments(["", "a b"], references=[("a b c",), ("a b c",)]))
    assert ter.segment_score(rows)[0] == ter.worst == 100.0
