from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtgauge.data.codes import Language, LanguagePair
from mtgauge.errors import UsageError
from mtgauge.text.untranslated import FAINTEST, basis, is_foreign, untranslated_share

# One sentence, translated by hand.
SENTENCE = {
    "en": "The old ferry crosses the river twice a day, even when it is raining heavily.",
    "de": "Die alte Fähre überquert den Fluss zweimal am Tag, auch wenn es stark regnet.",
    "nl": "De oude veerpont steekt de rivier twee keer per dag over, ook als het hard regent.",
    "cs": "Starý přívoz přejíždí řeku dvakrát denně, i když hustě prší.",
    "sk": "Starý prievoz prechádza cez rieku dvakrát denne, aj keď husto prší.",
    "ru": "Старый паром пересекает реку дважды в день, даже когда идёт сильный дождь.",
    "uk": "Старий пором перетинає річку двічі на день, навіть коли йде сильний дощ.",
    "hr": "Stari trajekt prelazi rijeku dvaput dnevno, čak i kad jako pada kiša.",
    "sr-Latn": "Stari trajekt prelazi reku dvaput dnevno, čak i kada jako pada kiša.",
    "nb": "Den gamle fergen krysser elven to ganger om dagen, selv når det regner kraftig.",
    "da": "Den gamle færge krydser floden to gange om dagen, selv når det regner kraftigt.",
    "sv": "Den gamla färjan korsar floden två gånger om dagen, även när det regnar kraftigt.",
    "es": "El viejo transbordador cruza el río dos veces al día, incluso cuando llueve mucho.",
    "pt": "A velha balsa atravessa o rio duas vezes por dia, mesmo quando chove muito.",
    "gl": "O vello transbordador cruza o río dúas veces ao día, mesmo cando chove moito.",
    "fi": "Vanha lautta ylittää joen kahdesti päivässä, vaikka sataisi rankasti.",
    "bg": "Старият ферибот пресича реката два пъти дневно, дори когато вали силно.",
    "tr": "Eski feribot, şiddetli yağmur yağarken bile nehri günde iki kez geçer.",
    "zh": "这艘老渡船每天两次横渡河流，即使下着大雨也不例外。",
    "ja": "この古い渡し船は、大雨の日でも一日に二回川を渡ります。",
    "ko": "그 낡은 나룻배는 비가 많이 올 때에도 하루에 두 번 강을 건넌다.",
    "ar": "تعبر العبارة القديمة النهر مرتين في اليوم، حتى عندما تمطر بغزارة.",
    "hi": "पुरानी नाव दिन में दो बार नदी पार करती है, भले ही तेज़ बारिश हो रही हो।",
}
KIN = [
    ("cs", "sk"),
    ("ru", "uk"),
    ("hr", "sr-Latn"),
    ("nb", "da"),
    ("da", "sv"),
    ("es", "pt"),
    ("pt", "gl"),
    ("ru", "bg"),
    ("de", "nl"),
    ("zh", "ja"),
]


def share(source: str, hypothesis: str, pair: str) -> float:
    return float(untranslated_share([source], [hypothesis], LanguagePair.parse(pair))[0])


@pytest.mark.parametrize("target", SENTENCE)
@pytest.mark.parametrize("source", ["en", "de", "zh", "ru"])
def test_translations_have_none_and_copies_all(source: str, target: str) -> None:
    if source != target:
        pair = f"{source}-{target}"
        assert share(SENTENCE[source], SENTENCE[target], pair) == 0
        assert share(SENTENCE[source], SENTENCE[source], pair) == 1


@pytest.mark.parametrize(("a", "b"), [*KIN, *((b, a) for a, b in KIN)])
def test_near_relations_are_not_mistaken(a: str, b: str) -> None:
    assert share(SENTENCE[a], SENTENCE[b], f"{a}-{b}") == 0


@pytest.mark.parametrize("third", ["fr", "fi", "tr", "ko", "cs", "es"])
def test_a_third_language_is_no_translation(third: str) -> None:
    text = SENTENCE.get(
        third, "Le vieux bac traverse la rivière deux fois par jour, même en hiver."
    )
    assert share(SENTENCE["de"], text, "de-en") == 1
    assert share(SENTENCE["en"], text, "en-ru") == 1


@pytest.mark.parametrize(
    ("source", "hypothesis", "pair"),
    [
        ("Angela Merkel traf Barack Obama.", "Angela Merkel met Barack Obama.", "de-en"),
        ("Angela Merkel, Barack Obama", "Angela Merkel, Barack Obama", "de-en"),
        ("BMW, Siemens, SAP: +3,5 %", "BMW, Siemens, SAP: +3,5 %", "de-en"),
        ("12.05.1987 (17:30)", "12.05.1987 (17:30)", "de-en"),
        ("Jan van der Berg wohnt in Den Haag.", "Jan van der Berg lives in The Hague.", "de-en"),
        ("He sang “Let it be me” last night.", "Er sang gestern „Let it be me“.", "en-de"),
        ("See /etc/fonts/local.conf for more.", "Mehr in /etc/fonts/local.conf.", "en-de"),
        ("Write to the_team@example.org now.", "Schreiben Sie an the_team@example.org.", "en-de"),
        ("The manager has a new computer.", "Der Manager hat einen neuen Computer.", "en-de"),
        ("He flew to New York with Mark Smith.", "他和 Mark Smith 一起飞往 New York。", "en-zh"),
        ("Taxi!", "Taxi!", "de-en"),
        ("Okay, super.", "Okay, super.", "de-en"),
        ("", "Something", "de-en"),
        ("Etwas", "", "de-en"),
        ("...", "...", "de-en"),
    ],
)
def test_names_numbers_and_loan_words_are_no_fault(source: str, hypothesis: str, pair: str) -> None:
    assert share(source, hypothesis, pair) == 0


@pytest.mark.parametrize(
    ("source", "pair"),
    [
        ("DIE ALTE FÄHRE STEHT LEIDER WIEDER STILL", "de-en"),
        ("Ich weiß es nicht.", "de-en"),
        ("昨日は雨でした。", "ja-en"),
        ("今天的天气非常好。", "zh-en"),
        ('"Kommst du mit?" "Nein, ich bleibe lieber hier."', "de-en"),
    ],
)
def test_copies_of_every_kind(source: str, pair: str) -> None:
    assert share(source, source, pair) == 1


def test_lower_cased_names_are_known_from_the_source() -> None:
    source = "Gestern kamen Vesna Györkös Znidar und Ludwig Götz nach Laibach."
    good = "yesterday vesna györkös znidar and ludwig götz came to laibach ."
    assert share(source, good, "de-en") == 0
    assert share("Фото: Александр Миридонов", "photo : aleksandr miridonov", "ru-en") == 0
    # lower-cased by a program that knows ASCII letters only
    source = "Dün Emre Öztürk, Okan Şahin, Yusuf Ünal ve Hakan Çelik takıma katıldı."
    good = "yesterday emre Öztürk , okan Şahin , yusuf Ünal and hakan Çelik joined the team ."
    assert share(source, good, "tr-en") == 0
    assert share(SENTENCE["de"], SENTENCE["de"].lower(), "de-en") == 1
    assert share(SENTENCE["de"], SENTENCE["fi"].lower(), "de-en") == 1


def test_parts_are_graded() -> None:
    good = SENTENCE["en"].split()
    given = SENTENCE["de"].split()
    found = [
        share(SENTENCE["de"], " ".join(given[:n] + good[n + 1 :]), "de-en") for n in (0, 4, 8, 11)
    ]
    assert found[0] == 0
    assert found == sorted(found)
    assert found[1] == pytest.approx(4 / 14, abs=0.05)
    assert found[3] == pytest.approx(11 / 14, abs=0.05)


def test_words_of_the_source_in_another_order_are_still_its_language() -> None:
    shuffled = "regnet stark es wenn auch Tag am zweimal Fluss den überquert Fähre alte die"
    assert share(SENTENCE["de"], shuffled, "de-en") == 1


def test_a_script_that_the_target_does_not_use() -> None:
    mixed = "The old ferry пересекает реку дважды a day"
    assert share("Die alte Fähre", mixed, "de-en") == pytest.approx(3 / 8)
    assert share("Stara skela", SENTENCE["ru"], "hr-sr-Latn") == 1


@pytest.mark.parametrize("text", ["这很好。", "很好", "هذا جيد", "Да.", "αβ 12"])
def test_a_short_text_of_another_script_alone_is_no_translation(text: str) -> None:
    """A short answer in Chinese passed for a fair translation into English."""
    assert share("Das ist gut.", text, "de-en") == 1


@pytest.mark.parametrize("text", ["α", "12 %", "👍🏽", "OK 好", "Beta β", "...", "℃"])
def test_a_sign_or_a_word_beside_it_is_not_all_of_it(text: str) -> None:
    assert share("Das ist gut.", text, "de-en") < 1


def test_from_a_language_into_itself_nothing_is_a_copy() -> None:
    assert share(SENTENCE["en"], SENTENCE["en"], "en-en") == 0
    assert share(SENTENCE["en"], SENTENCE["fi"], "en-en") == 1


def test_a_target_that_is_not_known_leaves_the_copies() -> None:
    pair = LanguagePair.parse("de-hsb")
    assert basis(pair) == "copies"
    assert basis(LanguagePair.parse("hsb-de")) == "identification"
    assert share(SENTENCE["de"], SENTENCE["de"], "de-hsb") == 1
    sorbian = "Stary přewoz přejědźe rěku dwójce wob dźeń, tež hdyž so sylnje dešćuje."
    assert share(SENTENCE["de"], sorbian, "de-hsb") == 0
    assert share(sorbian, sorbian, "hsb-de") == 1
    assert share(SENTENCE["de"], SENTENCE["ru"], "de-hsb") == 1  # by its script


def test_without_sources() -> None:
    pair = LanguagePair.parse("de-en")
    found = untranslated_share(None, [SENTENCE["de"], SENTENCE["en"]], pair)
    assert found.tolist() == [1, 0]


def test_columns_of_a_language() -> None:
    texts = [SENTENCE["fr"] if "fr" in SENTENCE else SENTENCE["es"], SENTENCE["en"], "Paris", ""]
    assert is_foreign(texts, Language("en")).tolist() == [True, False, False, False]
    assert is_foreign(texts[:2], Language("es")).tolist() == [False, True]
    assert is_foreign(texts, Language("hsb")).tolist() == [False] * 4


def test_uneven_columns_are_refused() -> None:
    with pytest.raises(UsageError, match="2 hypotheses but 1 sources"):
        untranslated_share(["a"], ["a", "b"], LanguagePair.parse("de-en"))


_TEXTS = st.one_of(st.sampled_from(list(SENTENCE.values())), st.text(max_size=60))


@given(st.lists(st.tuples(_TEXTS, _TEXTS), max_size=4), st.sampled_from(["de-en", "en-zh", "en-x"]))
def test_a_share_whatever_stands_beside_it(rows: list[tuple[str, str]], code: str) -> None:
    pair = LanguagePair.parse(code.replace("-x", "-hsb"))
    found = untranslated_share([a for a, _ in rows], [b for _, b in rows], pair)
    assert np.all((found == 0) | ((found >= FAINTEST) & (found <= 1)))
    alone = [untranslated_share([a], [b], pair)[0] for a, b in rows]
    assert found.tolist() == alone


def test_one_copied_word_that_only_the_source_uses() -> None:
    source = "Mallit eilen Tory Burchin näytöksessä."
    pair = LanguagePair.parse("fi-en")
    named = "Models with Tory Burchin show."
    found = untranslated_share([source, source], ["Models eilen Tory Burchin show.", named], pair)
    assert found.tolist() == [pytest.approx(0.6), 0.0], "a name alone is no copy"


@pytest.mark.parametrize(
    ("pair", "copied", "left"),
    [
        (
            "de-en",
            ["nein", "Nein!", "Ja, danke.", "danke schön"],
            ["Haus", "Angela Merkel", "April.", "OK"],
        ),
        ("en-de", ["thank you", "Help!"], ["Windows", "Start", "John", "USA!", "7 %"]),
        ("cs-en", ["ano", "Ano."], ["Petr Pavel", "Petr", "taxi"]),
        ("ru-en", ["Да", "спасибо"], ["§", "1912"]),
        ("zh-en", ["谢谢"], ["。"]),
        ("en-zh", ["thank you"], ["Windows", "iPhone"]),
        ("ru-hsb", [], ["Nein"]),
        ("de-de", [], ["nein", "Nein!"]),
    ],
)
def test_a_copy_of_one_or_two_words_counts_unless_it_may_be_a_name(
    pair: str, copied: list[str], left: list[str]
) -> None:
    both = LanguagePair.parse(pair)
    assert untranslated_share(copied, copied, both).tolist() == [1.0] * len(copied)
    assert untranslated_share(left, left, both).tolist() == [0.0] * len(left)


def test_two_words_that_are_no_copy_are_left() -> None:
    pair = LanguagePair.parse("de-en")
    assert untranslated_share(["nein", "Nein!"], ["ja", "nein danke"], pair).tolist() == [0.0, 0.0]
