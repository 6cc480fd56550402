from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtgauge.knowledge.base.keys import WORD, fold
from mtgauge.knowledge.link.numbers import NumberFinder
from mtgauge.knowledge.link.spelt import SpeltNumbers

SCALES = {"million": 6, "millionen": 6, "miljoonaa": 6, "млн": 6, "万": 4, "亿": 8}


def ids(text: str, lang: str) -> list[tuple[str, ...]]:
    return [m.ids for m in NumberFinder(lang, SCALES).find(text)]


@pytest.mark.parametrize(
    ("lang", "text", "value"),
    [
        ("cs", "1 234,5", "1234.5"),
        ("de", "1.234,5", "1234.5"),
        ("en", "1,234.5", "1234.5"),
        ("en", "1,234,567", "1234567"),
        ("cs", "12 500", "12500"),
        ("en", "3 million", "3000000"),
        ("fi", "6,7 miljoonalle", "6700000"),
        ("de", "1,5 Millionen", "1500000"),
        ("zh", "300万", "3000000"),
        ("ru", "3 млн", "3000000"),
        ("gu", "૨૦૧૮", "2018"),
        ("en", "007", "7"),
        ("en", "0.50", "0.5"),
    ],
)
def test_one_value_one_id(lang: str, text: str, value: str) -> None:
    assert ids(text, lang) == [(f"num:{value}",)]


def test_an_open_reading_keeps_both_the_languages_own_first() -> None:
    assert ids("1.234", "de") == [("num:1234", "num:1.234")]
    assert ids("1.234", "en") == [("num:1.234", "num:1234")]


def test_dates_are_day_month_and_year() -> None:
    assert ids("24.12.2018", "de") == [("num:24",), ("cldr:month/12",), ("num:2018",)]
    assert ids("2018-12-24", "en") == [("num:2018",), ("cldr:month/12",), ("num:24",)]
    assert ids("12/24/2018", "en") == [("cldr:month/12",), ("num:24",), ("num:2018",)]
    assert ids("5月", "zh") == [("cldr:month/5",)]


def test_signs_and_addresses() -> None:
    assert ids("25%", "en") == [("num:25",), ("unit:percent",)]
    assert ids("€9", "de")[0] == ("cldr:currency/EUR",)
    assert ids("$9", "en")[0][0] == "cldr:currency/USD"
    assert ids("See https://www.Example.org/a/.", "en") == [("url:example.org/a",)]
    assert ids("write to me@example.org, please", "en") == [("mail:me@example.org",)]


def test_a_text_without_figures_has_none() -> None:
    assert ids("nothing here", "en") == []


@given(st.integers(min_value=0, max_value=10**12))
def test_grouping_does_not_change_the_value(n: int) -> None:
    for lang, mark in (("en", ","), ("de", "."), ("cs", " "), ("ru", "\u00a0")):
        assert f"num:{n}" in ids(f"{n:,}".replace(",", mark), lang)[0]


@given(st.text(max_size=40))
def test_any_text_can_be_read(text: str) -> None:
    for mention in NumberFinder("en", SCALES).find(text):
        assert text[mention.begin : mention.end] == mention.text


@pytest.mark.parametrize(
    ("lang", "text", "value"),
    [
        ("en", "Sixty-six million", "66000000"),
        ("en", "two hundred and five", "205"),
        ("en", "dozens", "12"),
        ("zh", "四百一十二点五", "412.5"),
        ("zh", "二零一八", "2018"),
        ("zh", "一万五千", "15000"),
        ("zh", "十二亿", "1200000000"),
        ("de", "Drei", "3"),
        ("cs", "pět", "5"),
        ("cs", "pět miliard", "5000000000"),
        ("en", "nineteenth", "19"),
    ],
)
def test_numbers_in_words_are_weak(lang: str, text: str, value: str) -> None:
    tokens = [(token, [fold(token.group())]) for token in WORD.finditer(text)]
    (mention,) = SpeltNumbers(lang, {"miliard": 9}).find(f"{text} ", tokens)
    assert (mention.text, mention.ids, mention.weak) == (text, (f"num:{value}",), True)


def test_a_language_without_number_words() -> None:
    tokens = [(token, [token.group()]) for token in WORD.finditer("one")]
    assert SpeltNumbers("xx", {}).find("one", tokens) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("de", "um 16.30 Uhr"), ("en", "at 4.30pm")),
        (("cs", "v 15:00"), ("en", "at 3 p.m.")),
        (("cs", "v 15 hodin"), ("en", "at 3 p.m.")),
        (("cs", "v 70. letech"), ("en", "in the 1970s")),
        (("de", "2015/16"), ("en", "2015-2016")),
        (("tr", "753 milyon 500 bin"), ("en", "753,500,000")),
        (("zh", "1亿5000万"), ("en", "150 million")),
        (("zh", "500 多万"), ("en", "5 million")),
        (("de", "89 Millionen"), ("en", "£89m")),
    ],
)
def test_ways_to_write_one_number(one: tuple[str, str], other: tuple[str, str]) -> None:
    scales = {"milyon": 6, "bin": 3, "亿": 8, "万": 4, "million": 6, "millionen": 6}
    left, right = (
        [m.ids for m in NumberFinder(lang, scales).find(text) if m.category != "currency"]
        for lang, text in (one, other)
    )
    assert len(left) == len(right)
    assert all(set(a) & set(b) for a, b in zip(left, right, strict=True))


def test_a_date_may_have_spaces() -> None:
    found = NumberFinder("cs", {}).find("od 13. 3. 1942")
    assert [m.ids[0] for m in found] == ["num:13", "cldr:month/3", "num:1942"]


def test_a_currency_sign_with_letters_is_one_entity() -> None:
    (sign, number) = NumberFinder("en", {"million": 6}).find("US$450.3 million")
    assert (sign.text, sign.ids) == ("US$", ("cldr:currency/USD",))
    assert number.ids == ("num:450300000",)
    (code, _) = NumberFinder("en", {}).find("RMB2.9")
    assert code.ids == ("cldr:currency/CNY",)
