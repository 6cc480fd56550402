"""bleu gives sacrebleu's numbers, on texts made to hit every branch of its smoothing."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU

import mtgauge
from mtgauge.data.segments import Segments
from mtgauge.metric import Metric, Task
from mtgauge.registry import load
from mtgauge.signature import sign

HYPOTHESES = [
    "The cat sat on the mat.",
    "A dog, in the garden; it barked 3,000 times!",
    "yes",
    "No match whatsoever here",
    "the the the the",
    "",
    "   ",
    "Prices rose by 1.5% - again...",
]
REFERENCES = [
    ("The cat sat on the mat.",),
    ("In the garden a dog barked 3,000 times.",),
    ("Yes",),
    ("Something else entirely, my friend.",),
    ("the cat is on the mat",),
    ("Nothing was translated.",),
    ("Nor here.",),
    ("Prices again rose by 1.5 %...",),
]


def compare(
    ours: Metric, theirs: BLEU, hyps: Sequence[str], refs: Sequence[tuple[str, ...]]
) -> None:
    rows = ours.statistics(Segments(hyps, references=refs))
    streams = [list(stream) for stream in zip(*refs, strict=True)]
    total = ours.system_score(rows.sum(axis=0, keepdims=True), np.array([len(hyps)]))
    assert total[0] == pytest.approx(theirs.corpus_score(list(hyps), streams).score, abs=1e-9)
    theirs.effective_order = True
    expected = [theirs.sentence_score(h, list(r)).score for h, r in zip(hyps, refs, strict=True)]
    np.testing.assert_allclose(ours.segment_score(rows), expected, atol=1e-9, rtol=0)


@pytest.mark.parametrize(
    ("spec", "options"),
    [
        ("bleu", {}),
        ("bleu:lowercase=on", {"lowercase": True}),
        ("bleu:tokenize=intl", {"tokenize": "intl"}),
        ("bleu:tokenize=char", {"tokenize": "char"}),
        ("bleu:smooth=none", {"smooth_method": "none"}),
        ("bleu:smooth=floor", {"smooth_method": "floor"}),
        ("bleu:smooth=floor,smooth_value=0.5", {"smooth_method": "floor", "smooth_value": 0.5}),
        ("bleu:smooth=add-k", {"smooth_method": "add-k"}),
        ("bleu:smooth=add-k,smooth_value=2", {"smooth_method": "add-k", "smooth_value": 2}),
        ("bleu:max_order=2", {"max_ngram_order": 2}),
        ("bleu:effective_order=on", {"effective_order": True}),
    ],
)
@pytest.mark.parametrize("pick", [slice(None), slice(2, 4), slice(0, 1), slice(4, 6)])
def test_equals_sacrebleu(spec: str, options: dict[str, object], pick: slice) -> None:
    compare(load(spec), BLEU(**options), HYPOTHESES[pick], REFERENCES[pick])


def test_several_references() -> None:
    refs = [(*r, f"{r[0]} indeed", "the mat in the garden") for r in REFERENCES]
    compare(load("bleu"), BLEU(), HYPOTHESES, refs)


words = st.lists(st.sampled_from(["a", "b", "c", "dd", "E", "."]), max_size=9).map(" ".join)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(words, words, words), min_size=1, max_size=6), st.data())
def test_equals_sacrebleu_on_random_text(
    rows: list[tuple[str, str, str]], data: st.DataObject
) -> None:
    smooth = data.draw(st.sampled_from(["exp", "floor", "add-k", "none"]))
    compare(
        load(f"bleu:smooth={smooth}"),
        BLEU(smooth_method=smooth),
        [h for h, *_ in rows],
        [(a, b) for _, a, b in rows],
    )


def test_tokeniser_follows_the_target_language_and_is_in_the_signature() -> None:
    bleu = load("bleu")
    batch = Segments(["我喜欢这只猫。"], references=[("我喜欢那只猫。",)], lang="en-zh")
    score = bleu.segment_score(bleu.statistics(batch))[0]
    theirs = BLEU(tokenize="zh", effective_order=True)
    expected = theirs.sentence_score("我喜欢这只猫。", ["我喜欢那只猫。"])
    assert score == pytest.approx(expected.score, abs=1e-9)
    settled = bleu.resolve(Task.of(batch))
    assert "tokenize:zh" in sign(settled).short
    assert bleu.params()["tokenize"] == "auto", "scoring changes nothing"


def test_is_silent(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> None:
    """sacrebleu warns about every sentence score and about tokenised text; ours must not."""
    with caplog.at_level(logging.DEBUG):
        bleu = load("bleu")
        batch = Segments(["a b c ."] * 200, references=[("a b d .",)] * 200, lang="en-de")
        bleu.segment_score(bleu.statistics(batch))
    assert not caplog.records
    assert capfd.readouterr() == ("", "")


def test_a_score_of_0_that_only_short_texts_have_is_told() -> None:
    """Strings of a user interface: sacrebleu's BLEU of a perfect translation is 0."""
    strings = ["Open", "Save file", "Close all tabs"]
    specs = ["bleu", "bleu:effective_order=on", "bleu:max_order=3"]
    found = mtgauge.score({"a": strings, "b": ["x"] * 3}, references=strings, metrics=specs)
    assert found["bleu"]["a"].score == BLEU().corpus_score(strings, [strings]).score == 0
    assert found["bleu"].notes["short"] == 2
    assert "short" not in found["bleu:effective_order=on"].notes
    assert found["bleu:max_order=3"].notes["short"] == 1
    longer = [*strings, "one text of four words is enough"]
    assert "short" not in mtgauge.score(longer, references=longer, metrics=["bleu"])["bleu"].notes
