from __future__ import annotations

from pathlib import Path

import pytest

from mtgauge.knowledge.base.keys import key_of
from mtgauge.knowledge.base.store import KnowledgeBase
from mtgauge.knowledge.base.writer import KnowledgeWriter
from mtgauge.knowledge.link.linker import KnowledgeLinker
from mtgauge.knowledge.link.mention import Mention

PRAGUE, HELSINKI, MOSCOW, RIGA = (
    "geonames:3067696",
    "geonames:658225",
    "geonames:524901",
    "geonames:456172",
)
VILNIUS, TALLINN, ANKARA, BERLIN = (
    "geonames:593116",
    "geonames:588409",
    "geonames:323786",
    "geonames:2950159",
)


@pytest.fixture(scope="module")
def linker() -> KnowledgeLinker:
    return KnowledgeLinker(KnowledgeBase.open())


def counted(linker: KnowledgeLinker, text: str, lang: str) -> dict[str, str]:
    return {m.text: m.ids[0] for m in linker.link([text], lang)[0] if not m.weak}


@pytest.mark.parametrize(
    ("lang", "text", "surface", "id"),
    [
        ("cs", "Bydlí v Praze u babičky.", "Praze", PRAGUE),
        ("lv", "Viņa strādā Rīgā.", "Rīgā", RIGA),
        ("ru", "Она работает в Москве.", "Москве", MOSCOW),
        ("lt", "Gyvena Vilniuje.", "Vilniuje", VILNIUS),
        ("tr", "Kardeşim Ankara'da oturuyor.", "Ankara", ANKARA),
        ("de", "Wir sahen Berlins Straßen.", "Berlins", BERLIN),
        ("zh", "她住在布拉格附近。", "布拉格", PRAGUE),
        ("kk", "Ол Қазақстанның тұрғыны.", "Қазақстанның", "Q232"),
        ("gu", "તે ભારતમાં રહે છે.", "ભારતમાં", "Q668"),
        ("ro", "Locuiește în inima României.", "României", "Q218"),
    ],
)
def test_inflected_names_are_found(
    linker: KnowledgeLinker, lang: str, text: str, surface: str, id: str
) -> None:
    assert counted(linker, text, lang)[surface] == id


@pytest.mark.parametrize(
    ("lang", "word", "base"),
    [("fi", "Helsingissä", "helsinki"), ("et", "Tallinnas", "tallinn"), ("cs", "Brnem", "brno")],
)
def test_endings_are_cut_where_there_is_no_dictionary(
    lang: str, word: str, base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mtgauge.knowledge.link import morphology

    monkeypatch.setattr(morphology, "_dictionary", lambda lang: {})
    assert base in morphology.Morphology(lang).guesses(word)


def test_offsets_give_back_the_text(linker: KnowledgeLinker) -> None:
    text = "On Monday, Angela flew from New York to Germany with 2.5 million euros (25%)."
    for mention in linker.link([text], "en")[0]:
        assert text[mention.begin : mention.end] == mention.text


def test_the_longest_match_wins(linker: KnowledgeLinker) -> None:
    found = counted(linker, "He moved to New York last year.", "en")
    assert "New York" in found
    assert "York" not in found


def test_words_of_one_name_stand_together(linker: KnowledgeLinker) -> None:
    assert "New York" not in counted(linker, "It is New. York is old.", "en")


def test_case_tells_a_name_from_a_word(linker: KnowledgeLinker) -> None:
    assert "turkey" not in counted(linker, "We ate turkey at the Smiths' house.", "en")
    assert counted(linker, "We flew to Turkey with the Smiths.", "en")["Turkey"] == "Q43"
    assert "all" not in counted(linker, "They ate it all in Rome.", "en")


def test_lower_cased_text_is_still_read(linker: KnowledgeLinker) -> None:
    assert counted(linker, "he flew to germany and prague .", "en") == {
        "germany": "Q183",
        "prague": PRAGUE,
    }


def test_a_first_word_that_is_ordinary_proves_nothing(linker: KnowledgeLinker) -> None:
    (mention,) = [m for m in linker.link(["Reading is fun."], "en")[0] if m.text == "Reading"]
    assert mention.weak


def test_names_of_people_in_several_scripts(linker: KnowledgeLinker) -> None:
    english = {m.text: set(m.ids) for m in linker.link(["Then Merkel met Modi."], "en")[0]}
    for lang, text, surface, name in (
        ("ru", "Вчера приехала Меркель.", "Меркель", "Merkel"),
        ("cs", "Mluvil s Merkelem.", "Merkelem", "Merkel"),
        ("zh", "我们见到了默克尔。", "默克尔", "Merkel"),
        ("gu", "મોદી ત્યાં હતા.", "મોદી", "Modi"),
    ):
        (found,) = [m for m in linker.link([text], lang)[0] if m.text == surface]
        assert set(found.ids) & english[name]
        assert (found.category, found.weak) == ("person", False)


def test_a_chinese_given_name_needs_its_surname(linker: KnowledgeLinker) -> None:
    (found,) = [m for m in linker.link(["记者采访了王国强。"], "zh")[0] if m.category == "person"]
    assert (found.text, found.weak) == ("王国强", False)
    assert all(m.weak for m in linker.link(["国强民富。"], "zh")[0] if m.category == "person")


def test_part_of_a_longer_transcription_is_no_name(linker: KnowledgeLinker) -> None:
    found = linker.link(["这是坎菲尔德大道。"], "zh")[0]
    assert all(m.weak for m in found if m.category == "person")


def test_names_that_are_words_need_another_name_beside_them(linker: KnowledgeLinker) -> None:
    assert "Koch" not in counted(linker, "Gestern sprach der Koch mit ihr.", "de")
    found = set(counted(linker, "Gestern sprach Anna Schmidt mit ihr.", "de"))
    assert {"Anna", "Schmidt"} <= found
    assert "Brown" not in counted(linker, "They painted the Brown wall.", "en")
    assert "Brown" in counted(linker, "They met Gordon Brown again.", "en")


def test_a_currency_needs_an_amount(linker: KnowledgeLinker) -> None:
    assert "pes" not in counted(linker, "Ten pes je zdravý.", "cs")
    assert "korun" in counted(linker, "Zaplatil 20 korun.", "cs")
    assert "pounds" in counted(linker, "She paid five pounds for it.", "en")


def test_acronyms_are_no_people_and_short_ones_no_brands(linker: KnowledgeLinker) -> None:
    assert not [m for m in linker.link(["They left NATO."], "en")[0] if m.category == "person"]
    assert "WM" not in counted(linker, "Die WM beginnt.", "de")
    assert "French" not in counted(linker, "They like the French and their wine.", "en")


def test_nested_concepts_are_kept(tmp_path: Path) -> None:
    writer = KnowledgeWriter(tmp_path / "kb.sqlite")
    writer.source("made up", "CC0-1.0", "1")
    writer.add("c:1", "concept", "ngo", [("en", "nongovernmental organizations", 0.9)])
    writer.add("c:2", "concept", "organization", [("en", "organizations", 0.9)])
    writer.finish()
    with KnowledgeBase(tmp_path / "kb.sqlite") as kb:
        found = KnowledgeLinker(kb).link(["Many nongovernmental organizations came."], "en")[0]
    assert [m.ids[0] for m in found] == ["c:1", "c:2"]


def test_numbers_can_be_switched_off() -> None:
    with KnowledgeBase.open() as kb:
        assert KnowledgeLinker(kb, numbers=False).link(["I have 3 of 40 euros."], "en")[0] == [
            Mention(15, 20, "euros", ("cldr:currency/EUR",), "currency", False)
        ]


def test_keys() -> None:
    assert key_of("São  Paulo") == "são paulo"
    assert key_of("İstanbul") == "istanbul"
    assert key_of("布拉格") == "布 拉 格"
    assert key_of("ગુજરાત") == "ગુજરાત"
