"""What is known of a metric: the table, the curve, and what a person is told."""

from __future__ import annotations

import doctest
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mtgauge
from mtgauge.engine import trust
from mtgauge.engine.ready import make_ready
from mtgauge.engine.trust import Trust, key, known
from mtgauge.engine.verdict import verdict
from mtgauge.metric import Task
from mtgauge.models import shipped
from mtgauge.report.trust import trust_lines
from recipe_files import recipe

BOTH = frozenset({"source", "reference"})
ROW = Trust("chrf", "de-en", "WMT18", 500, 0.45, 16, 120, 0.8, 0.5, 0.3, 0.9)


def signature(spec: str, lang: str = "de-en"):
    return make_ready(spec, Task(BOTH, lang)).signature


def test_examples_in_the_docstring() -> None:
    assert doctest.testmod(trust).failed == 0
    assert doctest.testmod(recipe("trust")).failed == 0


def test_a_key_is_settings_and_models_not_language() -> None:
    assert key(signature("bleu")) == key(signature("bleu", "en-zh")) == "bleu"
    assert key(signature("bleu:tokenize=intl")) != key(signature("bleu"))
    assert key(signature("chrf:beta=3")) == "chrf|beta:3"
    assert "model:mtgauge-encoder" in key(signature("bertscore"))
    assert key(signature("regressor")) != key(signature("regressor:view=hyp+src"))


def test_the_curve_recovers_the_slope_it_was_drawn_from() -> None:
    made = recipe("trust")
    rng = np.random.default_rng(0)
    d = rng.normal(size=20_000)
    agree = rng.random(20_000) < 1 / (1 + np.exp(-1.7 * d))
    drawn = made.Differences(d, np.where(agree, 1.0, -1.0))
    assert made.slope([drawn]) == pytest.approx(1.7, abs=0.08)
    small = made.Differences(drawn.metric[:300], drawn.human[:300])
    low, high = made.slope_interval([small])
    assert low < made.slope([small]) < high


@pytest.mark.shared
def test_what_was_held_out_from_training_is_found_again(shared) -> None:
    """As many segments as the card counts, of pairs that only WMT18 has out of English."""
    found = recipe("trust").held_out_sets(shared / "wmt")
    card = json.loads((shipped("regressor") / "card.json").read_text("utf-8"))["data"]
    only = ("en-cs", "en-et", "en-fi", "en-tr")
    counts = {item.lp: len(item) for item in found}
    assert {lp: counts[lp] for lp in only} == {lp: card["dev_segments"][lp] for lp in only}
    assert all(len(set(item.sources)) < len(item) for item in found)  # whole sentences


def test_a_metric_that_is_always_wrong_has_a_negative_slope() -> None:
    made = recipe("trust")
    found = made.Differences.of({"a": 1.0, "b": 2.0, "c": 3.0}, {"a": 3.0, "b": 2.0, "c": 1.0})
    assert found.accuracy() == 0
    assert made.slope([found]) < 0
    tied = made.Differences.of({"a": 1.0, "b": 2.0}, {"a": 3.0, "b": 3.0})
    assert len(tied.metric) == 0
    assert math.isnan(tied.accuracy())


@given(st.floats(-1e6, 1e6))
def test_the_chance_to_agree_is_a_probability_that_grows(difference: float) -> None:
    share, low, high = ROW.chance_to_agree(difference)
    assert 0.5 <= low <= share <= high <= 1
    assert ROW.chance_to_agree(0)[0] == 0.5
    assert share >= ROW.chance_to_agree(difference / 2)[0]


def test_a_pair_without_figures_has_those_of_its_direction(monkeypatch) -> None:
    rows = {"X-en": replace(ROW, lp="X-en"), "de-en": ROW}
    monkeypatch.setattr(trust, "_table", lambda: {"chrf": rows})
    assert known(signature("chrf"), "de-en") == ROW
    other = known(signature("chrf", "is-en"), "is-en")
    assert other is not None
    assert other.lp == "X-en"
    assert "nothing is known of is-en itself" in other.sentence("is-en")
    assert known(signature("chrf", "en-de"), "en-de") is None
    assert known(signature("chrf:beta=3"), "de-en") is None
    assert known(signature("chrf"), None) is None


def two_systems(segments: int):
    right = [f"The dog number {i} barks." for i in range(segments)]
    wrong = [text.replace("barks", "sings") for text in right]
    systems = {"old": wrong, "new": right}
    return mtgauge.score(systems, references=right, metrics=["chrf", "wer"], lang="de-en")


def test_a_result_says_how_far_to_trust_it(monkeypatch) -> None:
    monkeypatch.setattr(trust, "_table", lambda: {"chrf": {"de-en": ROW}})
    result = two_systems(trust.ENOUGH)
    lines = "\n".join(trust_lines(result))
    assert "r = 0.45 with people on 500 segments" in lines
    assert "orders 80% of 120 system pairs as people do, WMT18" in lines
    assert "new is +" in lines
    assert "people prefer the same system in more than 99% of such pairs\n" in lines
    assert "wer: nothing is known of these settings for de-en" in lines
    content = result.to_dict()["metrics"]
    assert content[0]["trust"]["pearson"] == 0.45
    assert 0.5 < content[0]["systems"]["new"]["versus"]["people_agree"]["share"] <= 1
    assert content[1]["trust"] is None
    silent = mtgauge.score(["The dog barks."], references=["The dog barks."], metrics=["chrf"])
    assert "say the language pair" in trust_lines(silent)[0]


def test_few_segments_get_no_chance_that_people_agree(monkeypatch) -> None:
    """A great difference of a few sentences says little of two systems."""
    monkeypatch.setattr(trust, "_table", lambda: {"chrf": {"de-en": ROW}})
    result = two_systems(trust.ENOUGH - 1)
    lines = "\n".join(trust_lines(result))
    assert "whether people see such differences is said of 100 segments or more" in lines
    assert "people prefer" not in lines
    assert "people_agree" not in result.to_dict()["metrics"][0]["systems"]["new"]["versus"]
    assert mtgauge.compare(result).differences[0].people_agree is None
    assert any("takes 100 segments" in sentence for sentence in verdict(result).sentences)


def test_a_curve_that_may_go_either_way_says_so(monkeypatch) -> None:
    """Out of English xmoverscore's slope lies between -89 and 33: a share of 10 % says nothing."""
    unsure = replace(ROW, slope=-0.4, slope_low=-0.9, slope_high=0.3)
    monkeypatch.setattr(trust, "_table", lambda: {"chrf": {"de-en": unsure}})
    result = two_systems(trust.ENOUGH)
    lines = "\n".join(trust_lines(result))
    assert "chrf: whether people prefer the system that it prefers is not known" in lines
    assert "of such pairs" not in lines
    assert mtgauge.compare(result).differences[0].people_agree is None
    assert any("is not known for these metrics" in line for line in verdict(result).sentences)


def test_beyond_what_was_seen_nothing_is_said_of_people(monkeypatch) -> None:
    """The curve goes on to 1, also for a metric that orders a fifth of the pairs as people do."""
    seen = replace(ROW, largest=20.0)
    monkeypatch.setattr(trust, "_table", lambda: {"chrf": {"de-en": seen}})
    result = two_systems(trust.ENOUGH)
    difference = result["chrf"]["new"].score - result["chrf"]["old"].score
    assert difference > 20
    assert result["chrf"].agreement("new", "old") is None
    lines = "\n".join(trust_lines(result))
    assert "against old; that is larger than any difference seen among WMT's systems" in lines
    assert "of such pairs" not in lines
    assert "people_agree" not in result.to_dict()["metrics"][0]["systems"]["new"]["versus"]
    said = [line for line in verdict(result).sentences if "larger than any seen among" in line]
    assert len(said) == 1
    monkeypatch.setattr(
        trust, "_table", lambda: {"chrf": {"de-en": replace(ROW, largest=difference)}}
    )
    assert two_systems(trust.ENOUGH)["chrf"].agreement("new", "old") is not None


def test_the_largest_difference_is_that_of_the_whole_direction() -> None:
    made = recipe("trust")
    found = {
        lp: made.Found(["WMT18"], [(9, 0.5)], 3, [made.Differences.of(scores, human)])
        for lp, scores, human in (
            ("de-en", {"a": 1.0, "b": 4.0, "c": 9.0}, {"a": 1.0, "b": 2.0, "c": 1.0}),  # a = c
            ("cs-en", {"a": 2.0, "b": 0.0}, {"a": 2.0, "b": 1.0}),
        )
    }
    rows = made._rows(found, {("chrf", lp): "chrf" for lp in found}, "chrf")
    assert {row.lp: row.largest for row in rows} == {"X-en": 5.0, "de-en": 5.0, "cs-en": 5.0}


def test_equal_scores_prefer_nobody(monkeypatch) -> None:
    monkeypatch.setattr(trust, "_table", lambda: {"chrf": {"de-en": ROW}})
    texts = [f"The dog number {i} barks." for i in range(trust.ENOUGH)]
    result = mtgauge.score({"a": texts, "b": texts}, references=texts, lang="de-en")
    assert result["chrf"].agreement("b", "a") is None
    assert "of such pairs" not in "\n".join(trust_lines(result))


def test_the_readme_shows_both_directions_as_measured() -> None:
    """Every row of the README's table, against trust.tsv."""
    readme = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    head = "| metric | into English: r, pairs | out of English: r, pairs |\n"
    table = readme.split(head, 1)[1].split("\n\n", 1)[0].splitlines()[1:]
    shown = {row.split("|")[1].strip(" `"): row.split("|")[2:4] for row in table}
    assert {"bleu", "chrf", "bertscore", "xmoverscore:lm=off"} <= set(shown)
    for spec, cells in shown.items():
        for lp, cell in zip(("de-en", "en-de"), cells, strict=True):
            of_pair = known(signature(spec, lp), lp)
            way = trust.direction(lp)
            row = trust._table()[of_pair.metric][way] if of_pair else None
            if row is None:
                assert cell.strip() == "–", (spec, way)
            else:
                r = f"{row.pearson:.3f}".replace("0.", ".", 1)
                pairs = f", {row.accuracy:.0%}".replace("%", " %") if row.pairs else ""
                assert cell.strip() == r + pairs, (spec, way)
