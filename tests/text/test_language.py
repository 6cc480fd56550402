from __future__ import annotations

import pytest

from hostile import HOSTILE
from mtgauge.errors import UsageError
from mtgauge.text.language import identify, kin, known, margins
from mtgauge.text.likelihoods import Likelihoods, model


def test_between_two_languages() -> None:
    texts = [
        "Guten Morgen, Herr Meier.",
        "Good morning, Mr Meier.",
        "",
        "12, 13!",
        "Guten Morgen, Herr Meier.",
    ]
    assert identify(texts, ["de", "en"]) == ["de", "en", "", "", "de"]


def test_restricted_to_the_candidates() -> None:
    assert identify(["Dobrý den, jak se máte?"], ["cs", "en"]) == ["cs"]
    assert identify(["Dobrý den, jak se máte?"], ["fi", "ru"])[0] in {"fi", "ru"}


def test_unknown_languages_are_refused() -> None:
    assert {"en", "kk", "gu", "lv"} <= known()
    with pytest.raises(UsageError, match="does not know xx"):
        identify(["a"], ["en", "xx"])


def test_margins() -> None:
    german, english = "Das ist ein kleines Haus.", "This is a small house."
    found = margins([german, english, "12", "", german], "de")
    assert found[0] == found[2] == found[3] == found[4] == 0
    assert found[1] > 2
    assert margins([english], "de", ["fr"])[0] < found[1]
    assert margins([german], "de", ["de"]).tolist() == [0]


def test_near_relations_may_have_a_handicap() -> None:
    danish = ["Jeg har ikke set ham siden i går, og det er meget mærkeligt."]
    assert "da" in kin("nb")
    assert "nb" not in kin("nb")
    far, near = margins(danish, "sv", ["de"]), margins(danish, "sv", ["da"])
    assert margins(danish, "sv", ["da"], handicap=1) == pytest.approx(near - 1)
    assert margins(danish, "sv", ["de"], handicap=1) == far


def test_codes_that_the_model_calls_otherwise() -> None:
    assert {"nb", "fil"} <= known()
    assert identify(["Jeg vet ikke hva han heter."], ["nb", "de"]) == ["nb"]


def test_many_texts_are_judged_as_by_the_model_itself() -> None:
    texts = [
        *HOSTILE,
        "Das ist ein kleines Haus am See, und es hat 12 Zimmer.",
        "ALLES IN GROSSBUCHSTABEN",
        "Ово је ћирилица. Ovo je latinica.",
        "Cafe\u0301 a\u0300 la cre\u0300me",
        "日本語のテキストです。",
        "\udc80 half a character",
        "long " * 2000,
        "§",
        "",
    ]
    table = Likelihoods(model().labels)
    found = table.of(texts)
    for text, row in zip(texts, found, strict=True):
        theirs = dict(model().rank(text))
        assert row.tolist() == pytest.approx([theirs[name] for name in table.names], rel=1e-4)


def test_a_text_is_judged_the_same_alone() -> None:
    table = Likelihoods(["de", "en", "sr"])
    together = table.of(["Guten Morgen.", "Good morning, everybody!", "Добро јутро."])
    assert table.of(["Good morning, everybody!"])[0] == pytest.approx(together[1], rel=1e-6)
    assert table.of([]).shape == (0, 3)
