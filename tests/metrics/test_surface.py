"""What the word metrics share: tokeniser by language, explanations, distinct pairs."""

from __future__ import annotations

import numpy as np
import pytest

from mtgauge.data.segments import Segments
from mtgauge.errors import ResourceError, UsageError
from mtgauge.metric import Task
from mtgauge.metrics import _words as surface
from mtgauge.metrics._references import distinct
from mtgauge.registry import load
from mtgauge.text.words import tokenizer

NAMES = ["bleu", "chrf", "ter", "sentbleu", "wer", "per", "nist", "wordf", "character"]


@pytest.mark.parametrize("name", NAMES)
def test_explanation_shows_statistics_and_shared_words(name: str) -> None:
    metric = load(name)
    references = ("nothing alike", "today the old cat sleeps")
    metric.fit(references)
    segment = Segments(["the cat sleeps today"], references=[references], lang="de-en")
    found = metric.explain(segment)
    assert found.facts["reference"] == 2
    assert set(metric.columns) <= set(found.facts)
    assert found.score == metric.segment_score(metric.statistics(segment))[0]
    pairs = {(found.left[link.i], found.right[link.j]) for link in found.links}
    assert pairs == {(word, word) for word in ("the", "cat", "sleeps", "today")}


def test_words_are_linked_once() -> None:
    links = surface.word_links(["a", "a", "b"], ["b", "a", "c"])
    assert sorted((link.i, link.j) for link in links) in ([(0, 1), (2, 0)], [(1, 1), (2, 0)])


@pytest.mark.parametrize(("lang", "fallback"), [("ja", "char"), ("ko", "13a")])
def test_a_missing_segmenter_has_a_stand_in(
    lang: str, fallback: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_mecab(name: str) -> object:
        if name.endswith("mecab"):
            raise ResourceError("not installed")
        return tokenizer(name)

    monkeypatch.setattr(surface, "tokenizer", without_mecab)
    bleu = load("bleu").resolve(Task(frozenset({"reference"}), f"en-{lang}"))
    assert bleu.params()["tokenize"] == fallback


def test_an_unknown_tokeniser_is_refused() -> None:
    task = Task(frozenset({"reference"}))
    for name in ("foo", "spn", "de"):
        with pytest.raises(UsageError, match=f"no tokeniser '{name}'"):
            load(f"std:tokenize={name}").resolve(task)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("bleu:max_order=0", "max_order=0 is out of range. It must be between 1 and 20"),
        ("nist:max_order=0", "max_order=0 is out of range. It must be between 1 and 20"),
        ("wordf:max_order=-2", "max_order=-2 is out of range. It must be between 1 and 20"),
        ("wordf:beta=nan", "beta=nan is out of range"),
        ("chrf:beta=-1", "beta=-1 is out of range. It must be between 0 and 1000"),
        ("chrf:char_order=0", "not both 0"),
        ("bleu:smooth=floor,smooth_value=-5", "smooth_value=-5 is out of range"),
        ("bleu:smooth_value=0.5", "smooth_value applies only where smooth is floor or add-k"),
        ("ter:asian_support=on", "needs normalized"),
    ],
)
def test_options_that_make_no_sense_are_refused(spec: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load(spec)


@pytest.mark.parametrize("name", NAMES)
def test_references_are_needed(name: str) -> None:
    metric = load(name)
    metric.fit(["a"])
    with pytest.raises(UsageError, match="references"):
        metric.statistics(Segments(["a"]))
    with pytest.raises(UsageError, match="at least one reference"):
        metric.statistics(Segments(["a", "b"], references=[("a",), ()]))


@pytest.mark.parametrize("name", NAMES)
def test_no_segments_no_rows(name: str) -> None:
    metric = load(name)
    metric.fit(["a"])
    assert metric.statistics(Segments([], references=[])).shape == (0, len(metric.columns))


def test_distinct_pairs_are_scored_once() -> None:
    batch = Segments(["x", "y", "x", "x"], references=[("r",), ("s", "t"), ("s", "t"), ("r",)])
    work = distinct(batch)
    assert list(zip(work.hypotheses, work.of.tolist(), strict=True)) == [
        ("x", 0),
        ("y", 1),
        ("x", 1),
    ]
    assert work.rows.tolist() == [0, 1, 2, 0]
    calls: list[str] = []
    work.prepare(lambda text: calls.append(text))
    assert sorted(calls) == ["r", "s", "t", "x", "y"]
    each = work.each_reference()
    assert each.owner.tolist() == [0, 1, 1, 2, 2]
    assert [each.references[k][0] for k in each.of] == ["r", "s", "t", "s", "t"]
    score = np.array([5.0, 1.0, 2.0, 7.0, 7.0])
    rows = np.arange(5.0)[:, None]
    assert each.combine(rows, score)[:, 0].tolist() == [0, 2, 3, 0]
    assert each.combine(rows, score, "mean")[:, 0].tolist() == [0, 1.5, 3.5, 0]
