"""Warnings of single segments: each kind is seen, and good translations have none."""

from __future__ import annotations

import json

import pytest

from mtgauge.data.corpus import Corpus
from mtgauge.engine.flags import KINDS, USUAL, Finder, find
from mtgauge.errors import UsageError

RAIN = "Gestern hat es in Berlin den ganzen Tag geregnet, und alle blieben zu Hause."


def kinds(source, text, lang="de-en", asked=KINDS):
    (found,) = Finder(lang, asked).look(None if source is None else [source], [text])
    return [flag.kind for flag in found]


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        (RAIN, "It rained all day in Berlin yesterday, and everybody stayed at home.", []),
        (RAIN, RAIN, ["copy"]),
        (RAIN, "Hier, il a plu toute la journée à Berlin.", ["wrong-language"]),
        (RAIN, " \u200b", ["empty"]),
        ("Es kostete 1.234,50 Euro.", "It cost 1,234.50 euros.", []),
        ("Es kostete 1.234,50 Euro.", "It cost a lot of euros.", ["lost-numbers"]),
        ("Es kostete viel.", "It cost 1,234.50 euros.", ["invented-number"]),
        ("Es kostete 31 Euro.", "It cost 41 euros.", ["lost-numbers", "invented-number"]),
        ("Die 3 Millionen Gäste blieben 12 Tage.", "The 3,000,000 guests stayed twelve days.", []),
        ("Sie hat drei Brüder.", "She has 3 brothers.", []),
        ("Sie kam 1 Stunde zu spät.", "She was an hour late.", []),
        ("Der Preis sank um 5 auf 5 Euro.", "The price sank to 5 euros.", []),
        ("Der Preis liegt bei 1.499 Yuan.", "The price is RMB1,499.", []),
        ("Mehr CO2-Ausstoß als erlaubt.", "More carbon dioxide emissions than allowed.", []),
        (
            "Er flog von Berlin nach Prag.",
            "He flew from Berlin to somewhere else.",
            ["lost-entity"],
        ),
        ("Die serbische Regierung tagt.", "The Serbian government is in session.", []),
    ],
)
def test_each_kind_is_seen(source, text, expected) -> None:
    assert kinds(source, text) == expected


def test_a_round_number_is_not_lost_where_number_words_are_not_read() -> None:
    assert kinds("It took 20 days.", "Es dauerte zwanzig Tage.", "en-de") == []
    assert kinds("It took 23 days.", "Es dauerte einige Tage.", "en-de") == ["lost-numbers"]
    assert kinds("It took 5 days.", "Es dauerte einige Tage.", "en-de") == ["lost-numbers"]


def test_a_language_without_a_knowledge_base_still_has_its_figures() -> None:
    assert kinds("In 1987 he left.", "Sa 1978 siya ay umalis.", "en-ceb", USUAL[3:]) == [
        "lost-numbers",
        "invented-number",
    ]


def test_what_can_be_seen_without_a_pair_or_a_source() -> None:
    assert kinds(RAIN, RAIN, lang=None) == ["copy"]
    assert kinds(None, RAIN) == ["wrong-language"]
    assert kinds(None, RAIN, lang=None) == []
    assert kinds("Es kostete 31 Euro.", "It cost 41 euros.", lang=None) == []


def test_kinds_that_were_not_asked_for_are_not_found() -> None:
    assert kinds(RAIN, RAIN, asked=["wrong-language"]) == []
    assert kinds("Es kostete 31 Euro.", "It cost 41 euros.", asked=["lost-numbers"]) == [
        "lost-numbers"
    ]
    with pytest.raises(UsageError, match="There is no warning typos: there are empty"):
        Finder("de-en", ["typos"])


def test_a_flag_says_what_where_and_how_much() -> None:
    (found,) = Finder("de-en").look(["Von 1998 bis 2003."], ["From 1998 to 2030."])
    lost, invented = (flag.to_dict() for flag in found)
    assert lost == {
        "kind": "lost-numbers",
        "detail": "2003 is missing",
        "severity": 0.5,
        "side": "source",
        "places": [[13, 17]],
    }
    assert (invented["detail"], invented["side"]) == ("2030 is not in the source", "hypothesis")
    assert json.loads(json.dumps(lost)) == lost


def test_a_run_has_the_flags_of_each_system_and_segment() -> None:
    corpus = Corpus.from_lists({"a": ["", "Rain &amp; 7 dogs."], "b": [RAIN, "Rain."]}, [RAIN, "7"])
    found = find(corpus, "de-en", unescape=True)
    assert {name: [[f.kind for f in row] for row in rows] for name, rows in found.items()} == {
        "a": [["empty"], []],
        "b": [["copy"], ["lost-numbers"]],
    }
