from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtgauge.data.codes import Language, LanguagePair
from mtgauge.errors import UsageError


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("en", "en"),
        ("eng", "en"),
        ("eng_Latn", "en"),
        ("EN", "en"),
        ("zho", "zh"),
        ("cmn", "zh"),
        ("zh_CN", "zh-CN"),
        ("zho_Hans", "zh-Hans"),
        ("zho_Hant", "zh-Hant"),
        ("zh-Hant-TW", "zh-TW"),
        ("yue_Hant", "yue-Hant"),
        ("pt-br", "pt-BR"),
        ("por_Latn", "pt"),
        ("es-419", "es-419"),
        ("sr-Latn", "sr-Latn"),
        ("sr@latin", "sr-Latn"),
        ("srp_Cyrl", "sr-Cyrl"),
        ("iw", "he"),
        ("no", "nb"),
        ("nob_Latn", "nb"),
        ("nn", "nn"),
        ("arb_Arab", "ar"),
        ("lvs_Latn", "lv"),
        ("ekk_Latn", "et"),
        ("zsm_Latn", "ms"),
        ("hsb", "hsb"),
        ("ca-valencia", "ca"),
    ],
)
def test_every_way_of_writing_a_language(written: str, canonical: str) -> None:
    language = Language.parse(written)
    assert str(language) == canonical
    assert Language.parse(canonical) == language


def test_script_and_region_are_kept_where_they_matter() -> None:
    assert Language.parse("zh-TW") == Language("zh", "Hant", "TW")
    assert Language.parse("zh-CN") == Language("zh", "Hans", "CN")
    assert Language.parse("zh") == Language("zh")
    assert Language.parse("pt-BR") == Language("pt", None, "BR")
    assert Language.parse("sr-RS") == Language("sr", None, "RS")  # both scripts are in use
    assert Language.parse("uz-Cyrl").script == "Cyrl"


@pytest.mark.parametrize(
    ("code", "scripts"),
    [
        ("de", {"Latn"}),
        ("ru", {"Cyrl"}),
        ("sr", {"Latn", "Cyrl"}),
        ("sr-Latn", {"Latn"}),
        ("ja", {"Han", "Hiragana", "Katakana"}),
        ("zh-Hant", {"Han"}),
        ("ko", {"Hangul", "Han"}),
        ("bo", {"Tibt"}),
        ("und", set()),
    ],
)
def test_scripts(code: str, scripts: set[str]) -> None:
    assert Language.parse(code).scripts == scripts


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("de-en", "de-en"),
        ("en-zh_CN", "en-zh-CN"),
        ("en-zh-CN", "en-zh-CN"),
        ("en-zh-cn", "en-zh-CN"),
        ("eng-zho", "en-zh"),
        ("en-zho_Hans", "en-zh-Hans"),
        ("eng_Latn-zho_Hant", "en-zh-Hant"),
        ("zh-Hant-en", "zh-Hant-en"),
        ("sr-Latn-en", "sr-Latn-en"),
        ("zh-tw-en", "zh-TW-en"),
        ("pt-BR-en-US", "pt-BR-en-US"),
        ("en-pt-BR", "en-pt-BR"),
        ("en-pt_br", "en-pt-BR"),
        ("en-de-CH", "en-de-CH"),
        ("en-DE-fr", "en-DE-fr"),
        (" de-en ", "de-en"),
        ("en-en", "en-en"),
    ],
)
def test_every_way_of_writing_a_pair(written: str, canonical: str) -> None:
    pair = LanguagePair.parse(written)
    assert str(pair) == canonical
    assert LanguagePair.parse(canonical) == pair


def test_two_readings_are_refused() -> None:
    with pytest.raises(UsageError, match=r"two language pairs\. Write en-pt_BR or en_PT-br"):
        LanguagePair.parse("en-pt-br")


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("en-jp", "JP is a country; did you mean ja?"),
        ("cz-en", "CZ is a country; did you mean cs?"),
        ("xx-en", "There is no language 'xx'"),
        ("en-engl", "Near codes: eng"),
        ("de", "Write two language codes with a hyphen"),
        ("en_de", "Write two language codes with a hyphen"),
        ("de-en-", "not a language pair"),
        ("", "not a language pair"),
        ("de en", "not a language pair"),
        ("sr@runic-en", "There is no language 'sr@runic'"),
    ],
)
def test_unknown_codes_are_refused_with_a_hint(written: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        LanguagePair.parse(written)
    assert said in str(caught.value)


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(UsageError, match="There is no language 'qq'"):
        Language.parse("qq")


_CODES = "en de zh zho_Hant zh_TW pt_BR sr@latin sr no eng_Latn es_419 yue kk uz_Cyrl hsb".split()


@given(st.sampled_from(_CODES), st.sampled_from(_CODES))
def test_the_canonical_form_is_read_back(source: str, target: str) -> None:
    pair = LanguagePair.parse(f"{source}-{target}")
    assert LanguagePair.parse(str(pair)) == pair
    assert pair == LanguagePair(Language.parse(source), Language.parse(target))


@given(st.text(max_size=12))
def test_any_text_is_a_pair_or_a_usage_error(text: str) -> None:
    with contextlib.suppress(UsageError):
        assert "-" in str(LanguagePair.parse(text))
