from __future__ import annotations

import random
import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtgauge.data.codes import Language, LanguagePair
from mtgauge.errors import UsageError
from mtgauge.meta import slips
from mtgauge.meta.faults import Good, copied, make, make_all, names

DE_EN, EN_DE, EN_ZH, EN_RU = map(LanguagePair.parse, ("de-en", "en-de", "en-zh", "en-ru"))
HOUSE = Good(
    "Das Haus war 1912 leer, aber Anna Meier zog am Montag ein.",
    "The house was empty in 1912, but Anna Meier moved in on Monday.",
    DE_EN,
)
TRAIN = Good(
    "Der Zug nach Prag fährt nicht vor 17:30 Uhr ab, sagte Herr Novak.",
    "The train to Prague does not leave before 17:30, Mr Novak said.",
    DE_EN,
)
GARDEN = Good(
    "Drei Kinder spielen im Garten, weil die Sonne scheint.",
    "Three children are playing in the garden because the sun shines.",
    DE_EN,
)
BANK = Good(
    "The bank is closed today, but it will open on 5 May 2021.",
    "银行今天是关闭的，但是将于2021年5月5日开门。",
    EN_ZH,
)
OTHERS = [TRAIN.translation, GARDEN.translation]


def of(fault: str, good: Good = HOUSE, **options: object) -> str:
    text = make(fault, good, others=OTHERS, **options)  # type: ignore[arg-type]
    assert text is not None
    return text


def test_there_is_every_fault_of_the_list() -> None:
    parts = "copy-75 copy-50 copy-25 truncated doubled shuffled clause-lost clause-from-elsewhere"
    meaning = "negation number name date source-words unrelated"
    whole = "copy other-language empty transliterated"
    assert set(names()) == set(f"{parts} {meaning} {whole}".split())
    with pytest.raises(UsageError, match="There is no fault 'typo'"):
        make("typo", HOUSE)


def test_whole_texts() -> None:
    assert of("copy") == HOUSE.source
    assert of("empty") == ""
    assert of("doubled") == f"{HOUSE.translation} {HOUSE.translation}"
    assert of("doubled", BANK) == BANK.translation * 2
    foreign = ["Vide.", "La maison est vide depuis hier."]
    assert of("other-language", foreign=foreign) == foreign[1], "a word is no text"
    assert of("unrelated") in OTHERS
    assert make("copy", Good(" ", "Text.", DE_EN)) is None
    names = Good("Anna Meier, Jan Hus, Peter Pan, Berlin und Wien.", "", DE_EN)
    kept = Good(names.source, names.source.replace("und Wien", "and Vienna"), DE_EN)
    assert [make(fault, kept) for fault in ("copy", "copy-75")] == [None, None], "names are kept"
    assert make("other-language", HOUSE) is None
    assert make("unrelated", HOUSE) is None


@pytest.mark.parametrize("good", [HOUSE, TRAIN, BANK])
def test_parts_of_the_source(good: Good) -> None:
    sizes = []
    for percent in (25, 50, 75):
        text = of(f"copy-{percent}", good)
        theirs = set(re.findall(r"\w", good.source)) if good is BANK else set(good.source.split())
        units = list(text) if good is BANK else text.split()
        sizes.append(sum(unit in theirs for unit in units) / len(units))
    assert sizes == sorted(sizes)
    assert sizes[2] > 0.5


def test_pieces_are_lost_and_moved() -> None:
    assert HOUSE.translation.startswith(of("truncated"))
    assert len(of("truncated").split()) == 5  # of 12
    assert of("truncated", BANK) == "银行今天是关闭的"
    shuffled = of("shuffled")
    assert Counter(shuffled.split()) == Counter(HOUSE.translation.split())
    assert sorted(of("shuffled", BANK)) == sorted(BANK.translation)
    assert of("clause-lost") in {"The house was empty in 1912", HOUSE.translation[29:]}
    elsewhere = of("clause-from-elsewhere")
    assert any(part in elsewhere for text in OTHERS for part in text.strip(".").split(", "))
    words = of("source-words").split()
    assert 0 < sum(w in HOUSE.source.split() and w not in HOUSE.translation for w in words) <= 4
    short = Good("Ja, gern.", "Yes, please.", DE_EN)
    for fault in ("truncated", "shuffled", "clause-lost", "source-words", "copy-50"):
        assert make(fault, short, others=OTHERS) is None


def test_transliterated() -> None:
    assert of("transliterated", Good("Good day.", "Добрый день.", EN_RU)) == "Dobryy den'."
    assert of("transliterated").startswith("Тхе хоусе шас")
    assert make("transliterated", Good("12", "12", DE_EN)) is None


@pytest.mark.parametrize(
    ("code", "text", "changed"),
    [
        ("en", "The shop is open.", "The shop is not open."),
        ("en", "The shop isn’t open.", "The shop is open."),
        ("en", "It cannot wait.", "It can wait."),
        ("en", "He waited.", None),
        ("en", "This thing waits.", None),  # no "is" inside a word
        ("de", "Der Laden ist offen.", "Der Laden ist nicht offen."),
        ("de", "Er hat keine Zeit.", "Er hat eine Zeit."),
        ("cs", "Obchod není otevřený.", "Obchod je otevřený."),
        ("fr", "Le magasin n’est pas ouvert.", "Le magasin est ouvert."),
        ("ru", "Магазин не был открыт.", "Магазин был открыт."),
        ("fi", "Kauppa on auki.", "Kauppa ei ole auki."),
        ("tr", "Evde su var.", "Evde su yok."),
        ("zh", "他没有时间。", "他有时间。"),
        ("zh", "但是银行关了。", None),  # no "是" inside a word
        ("zh", "这是一家银行。", "这不是一家银行。"),
        ("en", "I do business. I don't gamble.", "I do business. I do gamble."),
        ("en", "We do business.", None),
        ("ja", "これは本です。", "これは本ではありません。"),
        ("hsb", "Wobchod je wotewrjeny.", None),
    ],
)
def test_denied(code: str, text: str, changed: str | None) -> None:
    assert slips.denied(text, Language.parse(code)) == changed


def test_every_language_of_the_encoder_has_its_words() -> None:
    import json

    from mtgauge.models import shipped

    card = json.loads((shipped("encoder") / "card.json").read_text(encoding="utf-8"))
    assert set(slips._negations()) == set(card["languages"])
    assert set(slips._calendar()) == set(card["languages"])
    for rows in slips._negations().values():
        assert all(yes.strip() == yes != no == no.strip() for yes, no, _ in rows)


def test_numbers_and_dates() -> None:
    draw = random.Random(3)
    text = slips.renumbered("Room 17 costs 3,500 crowns.", draw)
    assert text is not None
    assert sum(a != b for a, b in zip(text, "Room 17 costs 3,500 crowns.", strict=True)) == 1
    assert slips.renumbered("B12 and no number", draw) is None
    assert re.fullmatch("[१-९]५ घर", slips.renumbered("२५ घर", draw) or "")
    english, czech = Language.parse("en"), Language.parse("cs")
    assert re.fullmatch(r"On \d{2}\.10\.1999", slips.redated("On 03.10.1999", english, draw) or "")
    assert re.fullmatch("in 19[89][0-9]", slips.redated("in 1989", english, draw) or "")
    weekday = slips.redated("on Monday", english, draw)
    assert weekday is not None
    assert weekday.endswith("day")
    assert weekday != "on Monday"
    assert slips.redated("Narozen 5. ledna", czech, draw) not in {None, "Narozen 5. ledna"}
    assert slips.redated("He marches on", english, draw) is None


def test_names() -> None:
    assert make("name", GARDEN, others=[HOUSE.translation]) is None  # it has no name
    assert make("name", HOUSE) is None  # no other text to take one from
    for row in range(20):
        text = of("name", row=row)
        assert ("Anna" in text) != ("Meier" in text)
        assert "Prague" in text or "Novak" in text
    german = Good("Mr Novak sold the house.", "Herr Novak verkaufte das Haus.", EN_DE)
    text = make("name", german, others=["Gestern kam Meier."])
    assert text == "Herr Meier verkaufte das Haus."


def test_the_same_seed_the_same_fault() -> None:
    goods = [HOUSE, TRAIN, GARDEN]
    first = make_all(goods, foreign=["Voilà.", "Ecco."])
    assert first == make_all(goods, foreign=["Voilà.", "Ecco."])
    assert first != make_all(goods, foreign=["Voilà.", "Ecco."], seed=1)
    assert {len(column) for column in first.values()} == {3}
    assert set(make_all(goods, faults=["empty"])) == {"empty"}


@given(st.text(max_size=40), st.text(max_size=40), st.sampled_from(names()), st.integers(0, 5))
def test_a_fault_changes_the_translation_or_is_none(
    source: str, translation: str, fault: str, row: int
) -> None:
    text = make(fault, Good(source, translation, DE_EN), others=OTHERS, foreign=["Ça va."], row=row)
    assert text is None or " ".join(text.split()) != " ".join(translation.split())


@given(st.text(), st.text(), st.sampled_from([0.25, 0.5, 0.75]), st.integers())
def test_a_part_copied_has_only_letters_of_either_side(
    source: str, translation: str, share: float, seed: int
) -> None:
    text = copied(source, translation, share, random.Random(seed))
    if text is not None:
        assert set(text) <= set(source) | set(translation) | {" "}
