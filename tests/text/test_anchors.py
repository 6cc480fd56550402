"""What a translation and its source visibly share, and the common words of two languages."""

from __future__ import annotations

import pytest

from mtgauge.text.anchors import anchored, length, marks_differ, names, numbers_differ
from mtgauge.text.vocabulary import common_words, tells


@pytest.mark.parametrize(
    ("source", "text", "shared"),
    [
        ("Путин был вчера в Праге.", "Putin was in Prague yesterday.", True),
        ("Es kamen 12 Leute.", "12 people came.", True),
        ("Das Restaurant ist zu.", "The restaurant is closed.", True),
        ("Das Haus ist leer.", "The house is empty.", False),
        ("柏林的博物馆关闭了。", "The museum was closed.", False),
        ("Es kamen 12 Leute.", "Nobody of them came.", False),
    ],
)
def test_anchors(source: str, text: str, shared: bool) -> None:
    assert anchored(source, text) is shared


def test_numbers_differ_only_where_there_are_some() -> None:
    assert numbers_differ("Es kamen 12 Leute.", "Nobody came.")
    assert numbers_differ("Es kam niemand.", "13 people came.")
    assert not numbers_differ("Es kamen 12 Leute.", "12 of 13 came.")
    assert not numbers_differ("Es kam niemand.", "Nobody came.")


def test_names_are_capitals_inside_a_sentence() -> None:
    assert names("We met Jennifer Lawrence in the park, Peter and me. Then they left.", "en") == 3
    assert names("Вчера мы были в Праге.", "ru") == 1
    assert names("Die Stadt baut ein Haus am See.", "de") == 0, "German writes nouns so"
    assert names("Four Killed After Police Fire at Crowd", "en") == 0, "a headline"
    assert names("yesterday anna met jennifer", "en") == 0


@pytest.mark.parametrize(
    ("source", "text", "differ"),
    [
        ("Wer kommt morgen?", "Who is coming tomorrow?", 0),
        ("Er sagte: „Komm!“", 'He said: "Come!"', 0),
        ("Er sagte «nein».", "他说“不”。", 0),
        ('Er sagte: "Nein"', "He said: &quot;No&quot;", 0),
        ("Ποιος έρχεται αύριο;", "Who is coming tomorrow?", 0),
        ("هل يأتي غدا؟", "Is he coming tomorrow?", 0),
        ("वह कल आएगा।", "He comes tomorrow.", 0),
        ("Alle gingen (auch er).", "全員が行った（彼も）。", 0),
        ("Wer kommt morgen?", "All of them went home.", 1),
        ("Ein Haus in Wien", "He went home.", 1),
        ("Ein Haus in Wien", "'Early bread': bakers in the old town", 2),
        ("Die EU:n kam um 10:30 Uhr.", "The players' bus came; it's late.", 0),
    ],
)
def test_marks_that_stand_on_one_side_only(source: str, text: str, differ: int) -> None:
    assert marks_differ(source, text) == marks_differ(text, source) == differ


def test_marks_of_a_long_text_of_nothing_else_are_found_at_once() -> None:
    assert marks_differ(". ; ' " * 100_000 + "x", "Nobody came.") == 2


def test_length_in_words() -> None:
    assert length("Es kamen 12 Leute.") == 3, "a number is no word"
    assert length("柏林的博物馆") == 3


def test_a_common_word_of_one_language_only() -> None:
    assert tells("eilen", "fi", "en")
    assert not tells("taxi", "fi", "en")
    assert not tells("eilen", "xx", "en"), "a language without a list says nothing"
    assert not tells("eilen", "fi", "xx")
    assert common_words("xx") == frozenset()
