"""What lexical metrics say is wrong: edits and n-grams that were not found."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtgauge.data.segments import Segments
from mtgauge.explanation import Finding
from mtgauge.metrics._faults import (
    bag_faults,
    character_faults,
    moved_run,
    ngram_faults,
    ter_edits,
    word_edits,
)
from mtgauge.registry import load


def words(text: str) -> list[str]:
    return text.split()


def told(findings: list[Finding]) -> set[tuple[str, str, str]]:
    return {(f.what, f.text, f.other) for f in findings}


def test_ter_tells_shifts_and_edits() -> None:
    found = ter_edits(words("to the house he went fast x"), words("he went to the big house x"))
    assert ("moved", "he went", "") in told(found)
    assert "big" in {f.other for f in found}
    assert "fast" in {f.text for f in found}
    assert ter_edits(words("a b"), []) == [Finding("surplus", "a b", cost=2)]
    assert ter_edits([], []) == []


SOME = st.lists(st.sampled_from("abcde"), max_size=12)


@settings(max_examples=60, deadline=None)
@given(SOME.filter(bool), SOME.filter(bool))
def test_costs_of_edits_are_the_edits_that_the_metric_counts(
    hypothesis: list[str], reference: list[str]
) -> None:
    segment = Segments([" ".join(hypothesis)], references=[(" ".join(reference),)])
    for name in ("ter", "wer:tokenize=none"):
        metric = load(name)
        found = metric.explain(segment).findings
        assert sum(f.cost for f in found) == metric.statistics(segment)[0, 0]
        assert [f.cost for f in found] == sorted((f.cost for f in found), reverse=True)


def test_word_edits_in_runs() -> None:
    found = word_edits(words("the old guy runs home"), words("the man runs to his home"))
    assert ("missing", "", "to his") in told(found)
    assert ("surplus", "old", "") in told(found) or ("replaced", "old", "man") in told(found)
    assert sum(f.cost for f in found) == 4  # runs is kept, although three other ways cost as much


@pytest.mark.parametrize(
    ("before", "after", "moved"),
    [("a b c d e", "a d b c e", "d"), ("a b c", "c a b", "c"), ("x a b y", "x b a y", "a")],
)
def test_what_a_shift_moved(before: str, after: str, moved: str) -> None:
    assert moved_run(words(before), words(after)) == moved


def test_bags() -> None:
    found = told(bag_faults(words("a a b c"), words("c a d")))
    assert found == {("surplus", "a", ""), ("surplus", "b", ""), ("missing", "", "d")}


def test_unfound_words_come_in_runs_and_known_ones_as_sequences() -> None:
    found = ngram_faults(words("the big red cat sat on"), [words("on the cat sat")], 0, 2)
    assert told(found) == {
        ("not in the reference", "big red", ""),
        ("not in this order", "sat on", ""),
    }
    assert found[0].cost == 2 + 3  # two words and three pairs
    missing = ngram_faults(words("the cat"), [words("the old cat")], 0, 2)
    assert ("missing", "", "old") in told(missing)
    assert ("not in this order", "the cat", "") in told(missing)
    (cost,) = [f.cost for f in missing if f.what == "missing"]
    assert cost == 0  # precision does not charge for it
    recall = ngram_faults(words("the cat"), [words("the old cat")], 0, 2, recall=True)
    assert [f.cost for f in recall if f.what == "missing"] == [3]


def test_an_n_gram_may_be_in_any_reference() -> None:
    references = [words("one two"), words("three four")]
    assert ngram_faults(words("one two three four"), references, 0, 1) == []


def test_a_word_said_too_often_is_not_found() -> None:
    assert told(ngram_faults(words("the the"), [words("the")], 0, 1)) == {
        ("not in the reference", "the", "")
    }


def test_characters_by_word() -> None:
    found = character_faults("the guy runs", "the man runs", 4)
    assert told(found) >= {("not in the reference", "guy", ""), ("missing", "", "man")}
    assert found[0].cost == max(f.cost for f in found)
    assert ("missing", "", "runs") not in told(found)
    assert character_faults("same text", "same text", 6) == []
    spaced = character_faults("the guy, runs", "the man, runs", 4, spaces=True)
    assert {"guy", "man"} <= {f.text + f.other for f in spaced}


def test_scripts_without_spaces() -> None:
    found = told(character_faults("银行今天关闭了。", "银行今天停业。", 3))
    assert found >= {("not in the reference", "关闭了", ""), ("missing", "", "停业")}
    bleu = load("bleu").explain(
        Segments(["银行今天关闭了。"], references=[("银行今天停业。",)], lang="en-zh")
    )
    assert bleu.findings[0].text == "关闭了"


@pytest.mark.parametrize(
    "name", ["bleu", "sentbleu", "nist", "wordf", "chrf", "chrf:char_order=0,word_order=2"]
)
def test_ngram_metrics_name_the_wrong_word(name: str) -> None:
    metric = load(name)
    metric.fit(["the old man flies home"])
    segment = Segments(["the old guy flies home"], references=[("the old man flies home",)])
    found = metric.explain(segment)
    assert found.findings[0].text == "guy"
    assert found.unit
    assert "man" in {f.other for f in found.findings}
    copy = Segments(["the old man flies home"], references=[("the old man flies home",)])
    assert metric.explain(copy).findings == ()


def test_character_metric_names_moves_and_edits() -> None:
    segment = Segments(["to the house he went"], references=[("he went to the house",)])
    (moved,) = load("character").explain(segment).findings
    assert (moved.what, moved.text) == ("moved", "he went")
    assert moved.cost == pytest.approx(10 / 3)


def test_short_translations_are_told_of_the_penalty() -> None:
    segment = Segments(["the cat"], references=[("the cat sat on the mat",)])
    assert any("multiplied by 0.14" in text for text in load("bleu").explain(segment).remarks)
