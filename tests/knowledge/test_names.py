from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtgauge.knowledge.link.agreement import agree, agree_on_names, find_names
from mtgauge.knowledge.link.mention import Mention
from mtgauge.knowledge.link.names import meet, meet_derived, sound_alike


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Путин", "Putin"),
        ("Putina", "Putin"),
        ("Merkelové", "Merkel"),
        ("Меркель", "Merkel"),
        ("Džeimss", "James"),
        ("Tramps", "Trump"),
        ("Джонсон", "Johnson"),
        ("Джон", "John"),
        ("Хиггинса", "Higgins"),
        ("Шварценеггер", "Schwarzenegger"),
        ("Житомирской", "Zhytomyr"),
        ("Erdoğan", "Эрдоган"),
    ],
)
def test_forms_of_one_name(one: str, other: str) -> None:
    assert sound_alike(one, other)
    assert sound_alike(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [("Берлин", "Dublin"), ("Мексика", "Merkel"), ("Novák", "Nowhere"), ("Anna", "Oslo"), ("", "")],
)
def test_different_names(one: str, other: str) -> None:
    assert not sound_alike(one, other)


@given(st.text(alphabet="abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=12))
def test_a_name_is_like_itself(word: str) -> None:
    assert sound_alike(word, word.capitalize())


@given(st.text(min_size=1, max_size=8), st.text(min_size=1, max_size=8))
def test_likeness_is_mutual(one: str, other: str) -> None:
    assert sound_alike(one, other) == sound_alike(other, one)


def test_ordinary_words_and_first_words_are_no_names() -> None:
    text = "Yesterday the President met Kowalczyk in the Garden."
    names = find_names([text], [[]], "en")[0]
    assert [m.text for m in names] == ["Kowalczyk"]


def test_german_nouns_and_compounds_are_no_names() -> None:
    text = "Gestern sprach die Ministerin mit Herrn Kowalczyk über die Bundestagswahl."
    assert [m.text for m in find_names([text], [[]], "de")[0]] == ["Kowalczyk"]


def test_a_word_serves_one_name_only() -> None:
    names = [Mention(i, i + 5, "Путин", ("name:putin",), "name") for i in (0, 10)]
    met = meet(names, "Putin spoke.", [])
    assert len(met) == 1


def test_lower_case_words_are_met_only_in_lower_cased_text() -> None:
    name = Mention(0, 4, "Bauer", ("name:bauer",), "name")
    assert meet([name], "The bauer spoke.", []) == {}
    assert meet([name], "the bauer spoke .", [])[name].text == "bauer"


def test_derived_words_keep_a_place() -> None:
    lost = Mention(0, 6, "London", ("geonames:2643743",), "place")
    found = meet_derived(lost, ["londýn"], "Přijela londýnská policie.", [])
    assert found is not None
    assert found.text == "londýnská"
    assert meet_derived(lost, ["londýn"], "Přijela pražská policie.", []) is None


def mention(text: str, *ids: str, weak: bool = False, begin: int = 0) -> Mention:
    return Mention(begin, begin + len(text), text, ids, "place", weak)


def test_counts_are_clipped() -> None:
    source = [mention("A", "A"), mention("A", "A", begin=2), mention("B", "B", begin=4)]
    candidate = [mention(x, x, begin=i) for i, x in enumerate("ABBC")]
    found = agree(source, candidate)
    assert len(found.matched) == 2
    assert [m.text for m in found.lost] == ["A"]
    assert [m.text for m in found.invented] == ["B", "C"]


def test_the_other_side_settles_which_entity_is_meant() -> None:
    found = agree([mention("Paris", "paris/fr", "paris/tx")], [mention("Paris", "paris/tx")])
    assert len(found.matched) == 1


def test_the_least_ambiguous_is_served_first() -> None:
    source = [mention("either", "a", "b"), mention("only", "a", begin=8)]
    found = agree(source, [mention("x", "a"), mention("y", "b", begin=3)])
    assert found.lost == []


def test_weak_mentions_support_but_are_not_counted() -> None:
    found = agree(
        [mention("Russia", "ru"), mention("x", "y", weak=True)],
        [mention("Russian", "ru", weak=True)],
    )
    assert (len(found.matched), found.lost, found.invented) == (1, [], [])
    assert agree([], [mention("Russian", "ru", weak=True)]).invented == []


def test_known_names_are_not_met_by_sound_but_chinese_ones_are() -> None:
    lost = agree([mention("Харьков", "x:1")], [])
    found = agree_on_names(lost, "He came from Kharkov.", [], ([], []), lambda id: ())
    assert [m.text for m in found.lost] == ["Харьков"]
    lost = agree([mention("王沪宁", "x:2")._replace(category="person")], [])
    found = agree_on_names(lost, "They met Wang Huning.", [], ([], []), lambda id: ())
    assert [t.text for _, t in found.matched] == ["Huning"]
