from __future__ import annotations

import pytest

from mtgauge.errors import UsageError
from mtgauge.text.language import identify, known


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
