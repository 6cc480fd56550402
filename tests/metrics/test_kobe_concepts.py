from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import test_contract as contract
from mtgauge import encode, models
from mtgauge.cli import main
from mtgauge.data.segments import Segments
from mtgauge.engine.ready import make_ready
from mtgauge.errors import LanguageError, ResourceError, UsageError
from mtgauge.knowledge.link.concepts import Inventory
from mtgauge.metric import Metric, Task
from mtgauge.metrics import _concepts
from mtgauge.metrics._concepts import ConceptFinder, word_vectors
from mtgauge.metrics.kobe import Kobe
from mtgauge.registry import load
from mtgauge.signature import sign

SOURCE = "Der Minister besuchte gestern in Prag ein Krankenhaus mit 20 Kindern."
GOOD = "The minister visited a hospital with 20 children in Prague yesterday."
SYNONYMS = "Yesterday the minister was in Prague, in a clinic with 20 kids."
PROMISES = [
    promise
    for name, promise in inspect.getmembers(contract, inspect.isfunction)
    if name.startswith("test_")
    and list(inspect.signature(promise).parameters) == ["metric"]
    and "registry.load(metric.name)" not in inspect.getsource(promise)  # that is without options
]
WRONG = "The minister visited a bakery with 20 horses in Prague yesterday."


def concepts(spec: str = "kobe:concepts=on") -> Kobe:
    metric = load(spec)
    assert isinstance(metric, Kobe)
    return metric


def batch(*texts: str, source: str = SOURCE, lang: str = "de-en") -> Segments:
    return Segments(list(texts), sources=[source] * len(texts), lang=lang)


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
def test_contract(promise: Callable[[Metric], None]) -> None:
    promise(make_ready("kobe:concepts=on", contract.TASK).metric)


def test_unsettled_it_scores_the_same() -> None:
    settled = make_ready("kobe:concepts=on", contract.TASK).metric
    np.testing.assert_array_equal(concepts().rows(contract.BOTH), settled.rows(contract.BOTH))


def test_nouns_are_kept_by_their_translations_and_by_synonyms() -> None:
    rows = concepts().statistics(batch(GOOD, SYNONYMS, WRONG))
    np.testing.assert_array_equal(rows[:, 1], 5)  # Prag, 20, and three nouns
    np.testing.assert_array_equal(rows[:, 0], [5, 5, 3])
    np.testing.assert_array_equal(load("kobe").statistics(batch(GOOD, WRONG))[:, :2], 2)


def test_which_nouns_are_lost_and_invented_and_where() -> None:
    found = concepts().explain(batch(WRONG)).facts
    lost = {m["source"]: m["source_at"] for m in found["lost"]}
    assert lost == {"Krankenhaus": (42, 53), "Kindern": (61, 68)}
    assert {m["target"] for m in found["invented"]} == {"bakery", "horses"}
    assert {m["name"] for m in found["lost"]} == {"hospital", "child"}
    assert {m["category"] for m in found["lost"]} == {"concept"}


def test_a_word_is_counted_once() -> None:
    """What the knowledge base and the numbers have found is no concept beside that."""
    (found,) = concepts().mentions([GOOD], "en")
    texts = [m.text for m in found if not m.weak]
    assert texts == ["minister", "hospital", "20", "children", "Prague"]


def test_the_order_and_the_company_of_segments_change_nothing() -> None:
    several = concepts().statistics(batch(GOOD, WRONG, "", GOOD))
    for text, row in zip((GOOD, WRONG, "", GOOD), several, strict=True):
        np.testing.assert_array_equal(concepts().statistics(batch(text))[0], row)


def test_a_translation_in_the_source_language_keeps_no_noun() -> None:
    metric = concepts("kobe:concepts=on,untranslated=keep,filter_language=on")
    kept, wanted, _ = metric.statistics(batch(SOURCE))[0]
    assert (kept, wanted) == (0, 5)


def test_concepts_have_a_weight_and_a_category() -> None:
    rows = concepts("kobe:concepts=on,weights='concept=0'").statistics(batch(WRONG))
    np.testing.assert_array_equal(rows[0, :2], 2)
    assert concepts().categories(batch(WRONG))["concept"] == (1, 3)


def test_the_signature_names_the_model_and_the_concepts() -> None:
    task = Task(frozenset({"source"}), "de-en")
    signed = sign(concepts().resolve(task)).short
    version = Inventory.read(models.shipped("concepts")).fingerprint
    assert "kobe|concepts:on|" in signed
    assert f"|concepts_version:{version}|" in signed
    assert "|model:mtgauge-encoder@" in signed
    assert "concepts" not in sign(load("kobe").resolve(task)).short


def test_a_language_that_the_encoder_does_not_know_is_refused() -> None:
    task = Task(frozenset({"source"}), "sw-en")
    load("kobe").resolve(task)
    with pytest.raises(LanguageError, match="does not know the language sw"):
        concepts().resolve(task)


def test_annotations_leave_no_room_for_concepts() -> None:
    with pytest.raises(UsageError, match="concepts applies only where annotations is none"):
        load("kobe:concepts=on,annotations=FOLDER")


def test_without_the_files_the_error_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _concepts.embedded_inventory.cache_clear()
    monkeypatch.setattr(_concepts, "shipped", tmp_path.joinpath)
    with pytest.raises(ResourceError, match="has no concepts"):
        concepts().statistics(batch(GOOD))
    load("kobe").statistics(batch(GOOD))


def test_concepts_of_another_encoder_are_refused() -> None:
    encoder = encode.load_encoder("embedded")
    inventory = Inventory.read(models.shipped("concepts"))
    other = Inventory(**{**vars(inventory), "encoder": "0123456789abcdef"})
    with pytest.raises(ResourceError, match="made with encoder 0123456789abcdef"):
        ConceptFinder(encoder, other)


def test_words_have_the_mean_of_their_pieces() -> None:
    encoder = encode.load_encoder("embedded")
    text = "Das Gürteltier schläft, oder?"
    ((places, vectors),) = word_vectors(encoder, [text], 5)
    assert [text[a:b] for a, b in places] == ["Das", "Gürteltier", "schläft", "oder"]
    tokens = encoder.encode([text], 5)
    inside = (tokens.spans[:, 0] >= 4) & (tokens.spans[:, 1] <= 14) & ~tokens.special
    assert inside.sum() > 1
    mean = tokens.vectors[inside].sum(axis=0)
    np.testing.assert_allclose(vectors[1], mean / np.linalg.norm(mean), atol=1e-6)


def test_words_beyond_what_the_encoder_reads_are_no_nouns() -> None:
    text = "the hospital " * 300
    (found,) = concepts().mentions([text], "en")
    assert 0 < len(found) < 300
    assert max(m.end for m in found) < len(text) // 2


def test_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kb", "link", "Der Arzt kam aus Prag.", "-l", "de", "--concepts"]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [row[3] for row in rows if row[5] == "concept"] == ["Arzt"]
    assert "doctor" in [row[6] for row in rows]
