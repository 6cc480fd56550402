from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from mtgauge.errors import ResourceError
from mtgauge.knowledge.link.concepts import (
    Grounded,
    Inventory,
    agree_on_concepts,
    fingerprint,
    words_of,
)
from mtgauge.knowledge.link.mention import Mention

DOCTOR, CAR, OTHER = np.eye(3, dtype=np.float32)


def inventory(folder: Path, **changes: object) -> Path:
    """Two lemmas of one concept, one of another, and a word that is no noun."""
    lines = ["w:1\tdoctor", "w:1\tphysician", "w:2\tcar"]
    (folder / "nouns.tsv").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    rows = np.array([[127, 0, 0], [120, 30, 0], [0, 127, 0], [0, 0, 127]], np.int8)
    np.savez(folder / "prototypes.npz", rows=rows, basis=np.eye(3, dtype=np.float16))
    card = {"fingerprint": fingerprint(folder), "encoder": "e", "layer": 5}
    card |= {"least": 0.5, "near": 0.7} | changes
    (folder / "card.json").write_text(json.dumps(card), "utf-8")
    return folder


def ground(
    folder: Path, text: str, *vectors: np.ndarray, known: list[Mention] | None = None
) -> Grounded:
    found = np.array(vectors, np.float32)
    norms = np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-9)
    return Inventory.read(inventory(folder)).ground(
        text, words_of(text), found / norms, known or []
    )


def concepts(found: Grounded) -> list[tuple[str, str]]:
    return [(found.words[i].text, found.words[i].ids[0]) for i in found.nouns]


def test_a_word_is_the_noun_that_it_is_nearest_to(tmp_path: Path) -> None:
    found = ground(tmp_path, "der Arzt fährt", OTHER, DOCTOR + 0.1 * CAR, OTHER + 0.9 * CAR)
    assert concepts(found) == [("Arzt", "w:1")]
    assert [(w.begin, w.end) for w in found.words] == [(0, 3), (4, 8), (9, 14)]


def test_a_word_far_from_all_nouns_is_none(tmp_path: Path) -> None:
    assert concepts(ground(tmp_path, "Arzt", DOCTOR + 0.9 * CAR + OTHER * 0.9)) == [("Arzt", "w:1")]
    assert concepts(ground(tmp_path, "Arzt", DOCTOR - 3 * CAR)) == []


def test_what_is_known_otherwise_what_is_short_and_what_was_not_read_is_left_out(
    tmp_path: Path,
) -> None:
    known = [Mention(0, 4, "Oslo", ("g:1",), "place")]
    text, blank = "Oslo Arzt ab 7b7 Arzt", 0 * DOCTOR
    found = ground(tmp_path, text, DOCTOR, blank, DOCTOR, DOCTOR, DOCTOR, known=known)
    assert concepts(found) == [("Arzt", "w:1")]
    assert [w.begin for w in found.words] == [10, 13, 17]


def test_characters_of_one_concept_are_one_word(tmp_path: Path) -> None:
    found = ground(tmp_path, "医生车", DOCTOR, DOCTOR + 0.1 * OTHER, CAR)
    assert concepts(found) == [("医生", "w:1"), ("车", "w:2")]
    np.testing.assert_allclose(np.linalg.norm(found.vectors, axis=1), 1, atol=1e-6)


def test_a_concept_is_kept_by_the_nearest_word_and_by_one_word_only(tmp_path: Path) -> None:
    source = ground(tmp_path, "Arzt Doktor Auto", DOCTOR, DOCTOR + 0.5 * OTHER, CAR)
    candidate = ground(tmp_path, "medic helps", DOCTOR + 0.2 * OTHER, OTHER + 0.1 * CAR)
    kept, lost, invented = agree_on_concepts(source, candidate, 0.7)
    assert [(s.text, t.text) for s, t in kept] == [("Arzt", "medic")]
    assert [m.text for m in lost] == ["Doktor", "Auto"]
    assert invented == []


def test_a_word_that_is_no_noun_keeps_a_concept_and_takes_its_id(tmp_path: Path) -> None:
    source = ground(tmp_path, "Arzt", DOCTOR + 0.9 * OTHER)
    candidate = ground(tmp_path, "healed", DOCTOR + 1.1 * OTHER)
    assert concepts(candidate) == []
    ((_, keeper),) = agree_on_concepts(source, candidate, 0.7).matched
    assert keeper == Mention(0, 6, "healed", ("w:1",), "concept")


def test_a_noun_is_new_where_no_word_of_the_source_is_near(tmp_path: Path) -> None:
    source = ground(tmp_path, "Arzt heilt", DOCTOR, OTHER)
    candidate = ground(tmp_path, "doctor doctor car", DOCTOR, DOCTOR, CAR)
    assert [m.text for m in agree_on_concepts(source, candidate, 0.7).invented] == ["car"]


def test_of_nothing_nothing_is_kept(tmp_path: Path) -> None:
    empty = Grounded([], np.empty((0, 3), np.float32))
    source = ground(tmp_path, "Arzt", DOCTOR)
    assert [m.text for m in agree_on_concepts(source, empty, 0.7).lost] == ["Arzt"]
    assert [m.text for m in agree_on_concepts(empty, source, 0.7).invented] == ["Arzt"]


def test_the_name_of_a_concept_is_its_first_lemma(tmp_path: Path) -> None:
    read = Inventory.read(inventory(tmp_path))
    assert read.names == {"w:1": "doctor", "w:2": "car"}
    assert read.fingerprint == fingerprint(tmp_path)


def test_a_folder_that_was_changed_or_is_no_inventory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ResourceError, match="no concepts that can be read"):
        Inventory.read(tmp_path)
    inventory(tmp_path)
    (tmp_path / "nouns.tsv").write_text("w:1\tnurse\n", "utf-8")
    with pytest.raises(ResourceError, match="cut or exchanged"):
        Inventory.read(tmp_path)
    inventory(tmp_path, least="much")
    with pytest.raises(ResourceError, match="no concepts that can be read"):
        Inventory.read(tmp_path)
    inventory(tmp_path)
    (tmp_path / "prototypes.npz").write_bytes(b"x")
    card = json.loads((tmp_path / "card.json").read_text("utf-8"))
    card["fingerprint"] = fingerprint(tmp_path)
    (tmp_path / "card.json").write_text(json.dumps(card), "utf-8")
    with pytest.raises(ResourceError, match="no concepts that can be read"):
        Inventory.read(tmp_path)
