"""Without a language pair, scripts tell wrong files and texts without spaces."""

from __future__ import annotations

import mtgauge
from mtgauge.data.scripts import Scripts

ENGLISH = ["The dog is asleep.", "It is raining again.", "Good night, Anna!"]
ARABIC = ["الكلب نائم في البيت.", "إنها تمطر مرة أخرى.", "تصبحين على خير يا آنا"]
CHINESE = ["狗在厨房的桌子下面睡觉。", "昨天又下了一整天的雨。", "晚安，安娜！"]
JAPANESE = [
    "犬は台所のテーブルの下で寝ています。",
    "昨日も一日中雨が降りました。",
    "おやすみ、アンナ",
]


def warnings(hypotheses: list[str], references: list[str], lang: str | None = None) -> str:
    metrics = ["chrf"]
    found = mtgauge.score(hypotheses, references=references, metrics=metrics, lang=lang, ci=False)
    return " ".join(found.warnings)


def test_another_script_than_the_references() -> None:
    told = warnings(ARABIC, ENGLISH)
    assert "system: written in Arabic letters, the references in Latin." in told
    assert "written in" not in warnings(ENGLISH, ENGLISH)


def test_texts_without_spaces_ask_for_the_pair() -> None:
    for texts in (CHINESE, JAPANESE):
        assert "no spaces between words" in warnings(texts, texts)
    assert "no spaces" not in warnings(CHINESE, CHINESE, "en-zh"), "the tokeniser is known"


def test_few_letters_and_mixed_scripts_say_nothing() -> None:
    assert warnings(["😀", "42", "ok"], ENGLISH) == ""
    scripts = Scripts()
    scripts.look({"a": [a + b for a, b in zip(ARABIC, CHINESE, strict=True)]}, None)
    assert scripts.messages() == []
