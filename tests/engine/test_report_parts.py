"""What a report is made of: groups, phrases, warnings, explanations, verdict, stored results."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import mtgauge
from mtgauge.data.corpus import Chunk
from mtgauge.engine import stored
from mtgauge.engine.comparison import compare
from mtgauge.engine.contrast import Counted
from mtgauge.engine.inside import chosen, how_many, looked_into
from mtgauge.engine.slices import MOST_GROUPS, length_groups, value_groups
from mtgauge.engine.trust import ENOUGH, Trust
from mtgauge.engine.verdict import needs_person, preferences, shown_pair, verdict
from mtgauge.errors import InputError, UsageError
from mtgauge.report.writers import json_text

WORDS = "the old dog saw a small red house near the river today with two of its young".split()


def made(n: int = 24, every: int = 2, **more):
    """`good` repeats the reference, `bad` loses every second word, or fewer."""
    references = [" ".join(WORDS[: 6 + k % 10]) for k in range(n)]
    bad = [
        " ".join(w if i % every else "x" for i, w in enumerate(text.split())) for text in references
    ]
    sources = [f"Satz Nummer {100 + k}" for k in range(n)]
    return mtgauge.score(
        {"bad": bad, "good": references}, sources, references,
        metrics=["chrf", "ter"], lang="de-en", **more,
    )  # fmt: skip


@pytest.fixture(scope="module")
def result():
    return made(by={"domain": ["news", "chat", "news"] * 8})


@pytest.fixture(scope="module")
def long_run():
    """As good a `bad` as the worst systems of WMT: of greater differences nothing is known."""
    return made(ENOUGH, every=6)


# groups


def test_a_group_is_scored_as_a_corpus_of_its_own(result) -> None:
    (slices,) = [s for s in result.slices if s.by == "domain"]
    assert slices.groups == ("news", "chat")
    assert slices.sizes == (16, 8)
    chat = [k for k in range(24) if k % 3 == 1]
    alone = mtgauge.score(
        [result.texts.systems["bad"][k] for k in chat],
        references=[result.texts.references[k] for k in chat], metrics=["ter"], lang="de-en",
    )  # fmt: skip
    assert slices.scores["ter"]["bad"][1] == pytest.approx(alone["ter"]["system"].score)


def test_lengths_are_of_the_reference(result) -> None:
    (slices,) = [s for s in result.slices if "words in the reference" in s.by]
    assert sum(slices.sizes) == 24
    assert slices.groups == ("1-10", "11-20")


def test_groups_of_lengths_and_values() -> None:
    names, places = length_groups([0, 10, 11, 40, 41])
    assert [names[p] for p in places] == ["1-10", "1-10", "11-20", "31-40", "41 or more"]
    names, places = value_groups([str(k) for k in range(MOST_GROUPS + 3)])
    assert names[-1] == "other"
    assert places[-1] == MOST_GROUPS


def test_entities_are_grouped_where_kobe_scores() -> None:
    result = mtgauge.score(
        {"kept": ["I saw Berlin."], "lost": ["I saw it."]}, ["Ich sah Berlin."], metrics=["kobe"],
        lang="de-en",
    )  # fmt: skip
    (slices,) = [s for s in result.slices if s.unit == "entities"]
    assert slices.groups == ("place",)
    assert slices.scores["kept (%)"] == {"kept": [100.0], "lost": [0.0]}


# words and phrases, against counting by hand


def by_hand(reference: str, text: str, n: int) -> Counter:
    def grams(t):
        words = t.lower().replace(".", "").split()
        return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))

    return grams(reference) & grams(text)


def test_phrases_are_counted_as_by_hand() -> None:
    references = ["a b c d", "a b a b", "c d e", ""]
    one, two = ["a b c d", "a b", "x", ""], ["b a c d", "a b a b", "c d e", "y"]
    texts = Chunk({"one": one, "two": two}, None, [(t,) for t in references])
    first, second = Counted(texts).ngrams("one", "two", most=50)
    found = {p.text: (p.first, p.second) for p in (*first, *second)}
    for n in (1, 2, 3, 4):
        sums = [
            sum((by_hand(r, t, n) for r, t in zip(references, side, strict=True)), Counter())
            for side in (one, two)
        ]
        for gram in set(sums[0]) | set(sums[1]):
            counts = (sums[0][gram], sums[1][gram])
            if counts[0] != counts[1] and " ".join(gram) in found:
                assert found[" ".join(gram)] == counts
    assert found["a b c d"] == (1, 0)
    assert found["c d e"] == (0, 1)
    assert all(p.first > p.second for p in first)
    assert all(p.first < p.second for p in second)


def test_phrases_inside_longer_ones_are_left_out() -> None:
    texts = Chunk({"one": ["p q r s"], "two": ["x"]}, None, [("p q r s",)])
    first, second = Counted(texts).ngrams("one", "two")
    assert [p.text for p in first] == ["p q r s"]
    assert second == []


def test_words_by_frequency() -> None:
    texts = Chunk({"one": ["rare the", "the"]}, None, [("rare the",), ("odd the",)])
    slices = Counted(texts).by_frequency()
    assert slices.groups == ("1", "2-4")
    assert slices.sizes == (2, 2)
    (scores,) = slices.scores.values()
    assert scores["one"] == pytest.approx([100 * 2 * 1 / (2 + 1), 100.0])


def test_phrases_of_empty_texts() -> None:
    texts = Chunk({"one": [""], "two": [""]}, None, [("",)])
    counted = Counted(texts)
    assert counted.ngrams("one", "two") == ([], [])
    assert counted.by_frequency().groups == ()


# the verdict


def test_the_better_system_is_named(long_run) -> None:
    said = verdict(long_run)
    assert said.best == "good"
    assert said.headline == "good is the better system."
    assert said.sentences[0] == "good is better than bad by all 2 metrics."
    assert "p ≤ 0.001" in said.sentences[1] or "p < 0.001" in said.sentences[1]
    assert said.sentences[2].startswith("People would probably notice the difference to bad")
    assert preferences(long_run, "good", "bad").mine == ("chrf", "ter")
    assert shown_pair(long_run) == ("good", "bad")


def test_a_difference_beyond_all_that_was_seen_is_told_in_words() -> None:
    said = verdict(made(ENOUGH))
    assert said.best == "good"
    assert said.sentences[2].startswith("The difference to bad in chrf is larger than any seen")


def test_equal_systems_have_no_best() -> None:
    texts = ["one two three four", "five six seven"] * 6
    result = mtgauge.score({"a": texts, "b": texts}, references=texts, metrics=["chrf"])
    said = verdict(result)
    assert said.best is None
    assert said.headline == "No system is clearly the better one."
    assert "no metric sees a sure difference" in said.sentences[0]


def test_what_was_not_tested_is_said() -> None:
    few = mtgauge.score({"a": ["x y"], "b": ["x z"]}, references=["x z"], metrics=["chrf"])
    said = verdict(few)
    assert "not tested: 1 segment is too few" in said.headline
    assert said.sentences[0] == "By the numbers alone, the best of 1 metric: a 0, b 1."
    alone = verdict(mtgauge.score(["x"], references=["x"], metrics=["chrf"]))
    assert alone.headline == "No segment of system has a warning or an unusually low score."
    assert alone.sentences == ("One system, system: there is nothing to compare it with.",)


def test_segments_that_need_a_person() -> None:
    texts = [f"the house number {100 + k} is red" for k in range(40)]
    broken = [*texts[:39], ""]
    sources = [f"das Haus Nummer {100 + k} ist rot" for k in range(40)]
    result = looked_into(
        mtgauge.score({"a": broken}, sources, texts, metrics=["chrf"], lang="de-en"), 0
    )
    said = verdict(result)
    assert said.needs_person == (39,)
    assert said.headline.startswith("1 of 40 segments of a needs a person")
    assert needs_person(replace(result, flags={}), "a", None) == []
    assert needs_person(replace(result, flags={}), "a", result["chrf"]) == [39]  # unusually low


# explanations


def test_some_segments_are_explained(result) -> None:
    assert result.explained == ()
    found = looked_into(result, 3)
    assert {one.segment for one in found.explained} == set(chosen(result, 3))
    assert {(one.system, one.spec) for one in found.explained} == {
        (s, m) for s in ("bad", "good") for m in ("chrf", "ter")
    }
    for one in found.explained:
        expected = result[one.spec][one.system].segments[one.segment]
        assert one.explanation.score == pytest.approx(expected)
        assert one.explanation.sentences["reference"] == result.texts.references[one.segment][0]


def test_chosen_segments_differ_most_or_score_lowest(result) -> None:
    gap = result["chrf"]["good"].segments - result["chrf"]["bad"].segments
    assert chosen(result, 1) == [int(np.argmax(gap))]
    assert chosen(result, 0) == []
    assert len(chosen(result, 100)) == 24
    assert how_many(3) == 3


# stored results


def test_a_stored_result_is_the_same(result, tmp_path: Path) -> None:
    file = tmp_path / "r.json"
    file.write_text(json_text(result.to_dict(texts=True)), encoding="utf-8")
    again = stored.read(file)
    assert json_text(again.to_dict(texts=True)) == json_text(result.to_dict(texts=True))
    assert again.texts == result.texts
    assert verdict(again) == verdict(result)
    assert again["chrf"].signature.short == result["chrf"].signature.short


def test_texts_are_stored_only_if_asked_for(result) -> None:
    assert "texts" not in result.to_dict()
    assert stored.from_dict(json.loads(json_text(result.to_dict()))).texts is None


@pytest.mark.parametrize(
    "content", ["{}", "[1]", "no json", '{"systems": [], "metrics": []}', "null"]
)
def test_what_is_no_result_is_refused(content: str, tmp_path: Path) -> None:
    file = tmp_path / "r.json"
    file.write_text(content)
    with pytest.raises(InputError, match=r"r\.json.*not the JSON of a run.*--json FILE --texts"):
        stored.read(file)


def test_a_result_that_was_cut_is_refused(result, tmp_path: Path) -> None:
    given = json.loads(json_text(result.to_dict(texts=True)))
    given["texts"]["sources"].pop()
    file = tmp_path / "r.json"
    file.write_text(json.dumps(given))
    with pytest.raises(InputError, match="texts and segments differ in number"):
        stored.read(file)


# two systems side by side


def test_two_systems_are_compared(result) -> None:
    found = compare(result)
    assert (found.first, found.second) == ("bad", "good")
    chrf, ter = found.differences
    assert chrf.better == ter.better == "good"
    assert chrf.difference == pytest.approx(
        result["chrf"]["good"].score - result["chrf"]["bad"].score
    )
    assert chrf.people_agree is None
    assert found.only_second
    assert found.segments[0] == chosen(result, 1)[0]
    turned = compare(result, "good", "bad")
    assert turned.differences[0].difference == -chrf.difference
    assert turned.differences[0].better == "good"
    assert [p.text for p in turned.only_first] == [p.text for p in found.only_second]


def test_people_agree_with_a_difference_of_many_segments(long_run) -> None:
    assert 0.5 < compare(long_run).differences[0].people_agree <= 1


@pytest.mark.parametrize(
    ("first", "second", "told"), [("x", "good", "no system 'x'"), ("good", "good", "itself")]
)
def test_wrong_names_are_refused(result, first: str, second: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        compare(result, first, second)


def test_one_system_is_not_compared() -> None:
    with pytest.raises(UsageError, match="one system only"):
        compare(mtgauge.score(["x"], references=["x"], metrics=["chrf"]))


def test_a_metric_that_people_went_either_way_with_has_no_say(long_run) -> None:
    """Out of English xmoverscore orders systems no better than a coin: it makes no headline."""
    unsure = Trust("m", "en-X", "WMT18", 500, 0.2, 40, 200, 0.4, -20.0, -90.0, 30.0)
    assert verdict(long_run).best == "good"
    one = replace(long_run["ter"], trust=unsure)
    found = verdict(replace(long_run, metrics={**long_run.metrics, "ter": one}))
    assert found.best == "good"
    said = " ".join(found.sentences)
    assert "ter has no say: " in said
    assert "good is better than bad by chrf. " in said
    both = {spec: replace(metric, trust=unsure) for spec, metric in long_run.items()}
    found = verdict(replace(long_run, metrics=both))
    assert found.best is None
    assert found.headline == "No system is clearly the better one."
    assert found.sentences[0].startswith("chrf and ter have no say: ")
