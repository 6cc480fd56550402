"""A file in another language than -l says is told at the door; good ones are not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import mtgauge
from mtgauge.data import judged_files

FRENCH = [
    "Le chat est assis sur le tapis rouge dans la maison.",
    "Il a plu toute la journée et nous sommes restés chez nous.",
    "Le président a prononcé un discours devant les députés.",
]
ENGLISH = [
    "The cat sits on the red carpet in the house.",
    "It rained all day and we stayed at home.",
    "The president gave a speech to the members of parliament.",
]
GERMAN = [
    "Die Katze sitzt auf dem roten Teppich im Haus.",
    "Es hat den ganzen Tag geregnet und wir sind zu Hause geblieben.",
    "Der Präsident hielt eine Rede vor den Abgeordneten.",
]


def told(
    hypotheses: list[str], sources: list[str], references: Sequence[str | Sequence[str]], lang: str
) -> list[str]:
    result = mtgauge.score(
        {"a": hypotheses}, sources, references, metrics=["chrf"], lang=lang, ci=False
    )
    return [line for line in result.warnings if "looked at" in line]


def test_each_side_in_the_wrong_language_is_told() -> None:
    assert told(ENGLISH, GERMAN, ENGLISH, "de-en") == []
    (line,) = told(FRENCH, GERMAN, ENGLISH, "de-en")
    assert line.startswith("a: 100% of the 3 lines looked at are not in en, but mostly in fr.")
    (line,) = told(ENGLISH, FRENCH, ENGLISH, "de-en")
    assert line.startswith("the source: 100% of the 3 lines looked at are not in de")
    (line,) = told(ENGLISH, GERMAN, FRENCH, "de-en")
    assert line.startswith("the references: ")


def test_each_of_several_references_is_looked_at() -> None:
    both = list(zip(ENGLISH, FRENCH, strict=True))
    (line,) = told(ENGLISH, GERMAN, both, "de-en")
    assert line.startswith("the references (2): 100% of the 3 lines looked at are not in en")
    turned = told(GERMAN, ENGLISH, list(zip(ENGLISH, ENGLISH, strict=True)), "de-en")
    assert [line.split(":")[0] for line in turned] == ["a", "the source"]
    result = mtgauge.score({"a": GERMAN}, ENGLISH, both, metrics=["chrf"], lang="de-en")
    assert any("source and translations are exchanged" in line for line in result.warnings)


def test_codes_of_any_form_are_understood() -> None:
    assert told(ENGLISH, GERMAN, ENGLISH, "deu_Latn-eng_Latn") == []
    assert len(told(FRENCH, GERMAN, FRENCH, "deu-en_GB")) == 2


def test_names_and_numbers_have_no_language() -> None:
    names = ["Angela Merkel", "1984", "Paris, 3. 4. 2020"]
    assert told(names, names, names, "de-en") == []


@pytest.mark.shared
@pytest.mark.parametrize("pair", ["cs-en", "en-ru", "fi-en", "ro-en", "tr-en"])
def test_good_translations_are_not_suspected(shared: Path, pair: str) -> None:
    (data,) = judged_files.read(shared / "wmt" / "da16.tsv.gz", pair)
    batch = data.segments()
    assert batch.sources is not None
    assert batch.references is not None
    references = [row[0] for row in batch.references][:400]
    assert told(list(batch.hypotheses[:400]), list(batch.sources[:400]), references, pair) == []
