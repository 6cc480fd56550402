"""A text about something else never wins: the guard of metrics without a reference."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mtgauge import registry
from mtgauge.data.segments import Segments
from mtgauge.encode.card import EVIDENCE, UNRELATED, read_card
from mtgauge.engine.explain import explain
from mtgauge.engine.local import score
from mtgauge.engine.ready import make_ready
from mtgauge.errors import ResourceError
from mtgauge.metric import FloatArray, Task
from mtgauge.metrics import _unrelated
from mtgauge.metrics._unrelated import entities, evidence, unrelated_shares
from mtgauge.models import shipped

SOURCES = [
    "Mein Bruder hat seit drei Wochen nicht auf meine Briefe geantwortet.",
    "Niemand weiß, warum die Brücke so schnell eingestürzt ist.",
    "Wenn es morgen regnet, bleiben wir zu Hause und lesen.",
]
GOOD = [
    "My brother has not answered my letters for three weeks.",
    "Nobody knows why the bridge collapsed so quickly.",
    "If it rains tomorrow, we will stay at home and read.",
]
STRANGE = [
    "The European Parliament in Strasbourg votes on 27 new rules for banks, said Angela Merkel.",
    "In 1998 the company sold most of its oil fields off Norway to Exxon.",
    "Chelsea beat Arsenal 3-1 after two late goals from Hazard.",
]
METRICS = ["xmoverscore", "xmoverscore:lm=off", "cosine", "regressor:view=hyp+src", "yisi-2"]
SIDE = frozenset({"source"})


def test_the_guard_sees_them_and_no_translation() -> None:
    assert (unrelated_shares(SOURCES, STRANGE, "de-en") > 0.2).all()
    assert (unrelated_shares(SOURCES, GOOD, "de-en") == 0).all()
    assert (unrelated_shares(GOOD, SOURCES, "en-de") == 0).all()


def test_who_shares_a_name_or_knows_no_language_is_not_doubted() -> None:
    source = "Angela Merkel sprach gestern lange mit der Presse."
    assert unrelated_shares([source], [STRANGE[0]], "de-en") == [0.0]
    assert unrelated_shares(SOURCES[:1], STRANGE[:1], None) == [0.0]
    assert unrelated_shares(SOURCES[:1], STRANGE[:1], "de-is") == [0.0]
    assert unrelated_shares([""], [""], "de-en") == [0.0]


def test_who_is_near_the_source_is_not_given_to_the_language_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    real = _unrelated.evidence

    def seen(pairs: Sequence[tuple[str, str]], *rest: Any) -> FloatArray:
        asked.extend(text for _, text in pairs)
        return real(pairs, *rest)

    monkeypatch.setattr(_unrelated, "evidence", seen)
    unrelated_shares(SOURCES * 2, [*GOOD, *STRANGE], "de-en")
    assert asked == STRANGE


def test_the_language_model_tells_what_vectors_cannot() -> None:
    """A text that helps with no word of the other is strange, one that explains a few is not."""
    pairs = list(zip(SOURCES * 2, [*GOOD, *STRANGE], strict=True))
    as_near = np.full(len(pairs), 0.3)
    columns = dict(zip(EVIDENCE, evidence(pairs, as_near, ("de", "en")).T, strict=True))
    assert columns["gained"][:3].min() > columns["gained"][3:].max()
    for lost in ("lost", "lost_back"):
        assert columns[lost][:3].max() < columns[lost][3:].min()


def test_marks_of_one_side_are_evidence() -> None:
    """The same text is doubted more with a quotation and a colon that its source has not."""
    source = "Kuljetuksiin tulee muutoksia"
    plain, marked = "Bakers in the old town close early", "'Early bread': bakers in the old town"
    table = evidence([(source, plain), (source, marked)], np.full(2, 0.3), ("fi", "en"))
    assert table[:, EVIDENCE.index("marks")] == pytest.approx(np.log1p([0, 2]))
    card = json.loads((shipped("encoder") / "card.json").read_text("utf-8"))["unrelated"]
    assert card["marks"] > 0


def test_one_entity_in_common_ends_all_doubt() -> None:
    source = "Saksa jää rauhaan."
    same, other = "Germany rests.", "Norway and Peru sign a treaty."
    found = entities([(source, same), (source, other), (GOOD[2], GOOD[2])], ("fi", "en"))
    assert found[0] == -np.inf
    assert found[1] == pytest.approx(np.log1p(3))
    assert found[2] == 0


def test_short_texts_are_scored_whatever_stands_beside_them() -> None:
    texts = ["Nein.", "!", "x", "Eins zwei."]
    others = ["The bank was closed.", "No?", "€", "The bank was closed, said the old man."]
    together = unrelated_shares(texts, others, "de-en")
    alone = [unrelated_shares([x], [y], "de-en")[0] for x, y in zip(texts, others, strict=True)]
    assert together.tolist() == pytest.approx(alone, abs=1e-6)


@pytest.mark.parametrize("spec", METRICS)
def test_unrelated_texts_lose_score_and_are_counted(spec: str) -> None:
    metric = make_ready(spec, Task(SIDE, "de-en")).metric
    batch = Segments([*GOOD, *STRANGE], SOURCES * 2, lang="de-en")
    found = metric.segment_score(metric.rows(batch))
    assert found[3:].max() < found[:3].min()
    assert metric.notes["unrelated"] == 3
    kept = make_ready(f"{spec}{',' if ':' in spec else ':'}untranslated=keep", Task(SIDE, "de-en"))
    asis = kept.metric.segment_score(kept.metric.rows(batch))
    assert np.allclose(asis[:3], found[:3], atol=metric.tolerance)
    assert (asis[3:] > found[3:]).all()


def test_with_a_reference_it_is_not_asked() -> None:
    batch = Segments(STRANGE, SOURCES, [(text,) for text in GOOD], "de-en")
    for spec in ("regressor", "bertscore", "cosine:against=reference"):
        metric = make_ready(spec, Task.of(batch)).metric
        assert not metric.unrelated_shares(batch).any(), spec


def test_a_blend_asks_if_no_component_has_a_reference() -> None:
    batch = Segments(STRANGE, SOURCES, lang="de-en")
    shape = "centres='0;0',scales='1;1',weights='1;1'"
    alone = registry.load(f"blend:components='cosine;kobe',{shape}")
    assert (alone.unrelated_shares(batch) > 0.2).all()
    both = registry.load(f"blend:components='cosine;chrf',{shape}")
    assert not both.unrelated_shares(batch).any()


def test_a_run_and_an_explanation_say_so() -> None:
    run = score({"a": STRANGE[:1]}, SOURCES[:1], None, ["cosine"], "de-en", ci=False)["cosine"]
    assert run.notes["unrelated"] == 1
    found = explain(STRANGE[:1], SOURCES[:1], metric="cosine", lang="de-en")
    assert found.score == pytest.approx(run["a"].score, abs=1e-5)
    assert found.facts["unrelated"] > 0.3
    assert "anything to do with its source" in found.remarks[0]


def test_the_constants_are_in_the_card_and_checked(tmp_path: Path) -> None:
    card = json.loads((shipped("encoder") / "card.json").read_text("utf-8"))
    assert set(card["unrelated"]) == set(UNRELATED), "recipes/calibrate_unrelated.py --write"
    file = tmp_path / "card.json"
    shutil.copy(shipped("encoder") / "card.json", file)
    for wrong in ({"bias": 1}, {**card["unrelated"], "to": -99}, "none"):
        file.write_text(json.dumps(card | {"unrelated": wrong}), "utf-8")
        with pytest.raises(ResourceError, match="unrelated must be"):
            read_card(file, "encoder")
