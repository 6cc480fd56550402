"""Tables that a model takes from another one: the same scores, and no other table than its own."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from mtgauge import load
from mtgauge.data.segments import Segments
from mtgauge.encode.model_folder import ModelFolder, fingerprint
from mtgauge.encode.onnx_graph import mapped_tables, read_graph
from mtgauge.encode.shared import digest
from mtgauge.errors import ResourceError
from mtgauge.models import shipped
from mtgauge.train.onnx.restore import load_encoder
from recipe_files import recipe
from trained_models import write_encoder

NAMES = ["pieces.w", "pieces.s"]
SEGMENTS = Segments(
    ("The cat sleeps on the mat.", "It rains", ""),
    ("Die Katze schläft auf der Matte.", "Es regnet.", "Nein."),
    (("A cat is asleep on the mat.",), ("It is raining.",), ("No.",)),
    "de-en",
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package's regressor with the piece table in its own file."""
    folder = tmp_path_factory.mktemp("regressor") / "whole"
    shutil.copytree(shipped("regressor"), folder)
    model = onnx.load(folder / "model.onnx")
    inputs = [given for given in model.graph.input if given.name not in NAMES]
    own = list(model.graph.initializer)
    del model.graph.input[:], model.graph.initializer[:]
    model.graph.input.extend(inputs)
    tables = mapped_tables(shipped("encoder") / "model.onnx", NAMES)
    model.graph.initializer.extend(
        numpy_helper.from_array(table, name) for name, table in tables.items()
    )
    model.graph.initializer.extend(own)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    card = json.loads((folder / "card.json").read_text("utf-8"))
    del card["shares"]
    card["fingerprint"] = fingerprint(folder, "regressor")
    (folder / "card.json").write_text(json.dumps(card), "utf-8")
    return folder


def test_tables_are_those_of_the_encoder_and_stay_in_its_file() -> None:
    _, tables = read_graph(shipped("encoder") / "model.onnx")
    mapped = mapped_tables(shipped("encoder") / "model.onnx", NAMES)
    assert sorted(mapped) == sorted(NAMES)
    for name, table in mapped.items():
        assert (table.dtype, table.flags.aligned) == (tables[name].dtype, True)
        np.testing.assert_array_equal(table, tables[name])
    assert not mapped["pieces.w"].flags.owndata
    assert not mapped_tables(shipped("encoder") / "model.onnx", ["another"])
    assert not set(NAMES) & set(read_graph(shipped("regressor") / "model.onnx")[1])


@pytest.mark.parametrize("view", ["hyp+src/hyp+ref", "hyp+src", "hyp+ref"])
def test_scores_are_those_of_the_whole_model(whole: Path, view: str) -> None:
    shared, own = (
        load(f"regressor:model={spec},view={view}").statistics(SEGMENTS)
        for spec in ("embedded", whole)
    )
    assert shared.tobytes() == own.tobytes()


def test_the_recipe_makes_the_folder_of_the_package(whole: Path, tmp_path: Path) -> None:
    recipe("share_pieces").share(whole, tmp_path / "shared")
    made, stored = (
        {file.name: file.read_bytes() for file in folder.iterdir() if file.suffix == ".onnx"}
        for folder in (tmp_path / "shared", shipped("regressor"))
    )
    assert made == stored
    card = json.loads((shipped("regressor") / "card.json").read_text("utf-8"))
    assert json.loads((tmp_path / "shared" / "card.json").read_text("utf-8")) == card


def test_the_recipe_refuses_a_table_that_was_trained(whole: Path, tmp_path: Path) -> None:
    shutil.copytree(whole, tmp_path / "trained")
    model = onnx.load(whole / "model.onnx")
    (table,) = (t for t in model.graph.initializer if t.name == "pieces.s")
    table.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(table) * 2, "pieces.s"))
    (tmp_path / "trained" / "model.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(SystemExit, match="train with --freeze-embeddings"):
        recipe("share_pieces").share(tmp_path / "trained", tmp_path / "shared")


def without(models: Path) -> None:
    pass


def broken(models: Path) -> None:
    (models / "encoder").mkdir()
    (models / "encoder" / "model.onnx").write_bytes(b"no model")


def empty(models: Path) -> None:
    (models / "encoder").mkdir()
    (models / "encoder" / "model.onnx").write_bytes(b"")


@pytest.mark.parametrize(
    ("put", "message"),
    [
        (without, "is no ONNX model"),
        (broken, "is no ONNX model"),
        (empty, "is no ONNX model"),
        (write_encoder, "lacks them or has others than the model was trained with"),
    ],
)
def test_another_encoder_is_refused(
    put: object, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert callable(put)
    put(tmp_path)
    folder = shipped("regressor")
    monkeypatch.setattr("mtgauge.encode.shared.shipped", lambda kind: tmp_path / kind)
    with pytest.raises(ResourceError, match=message) as caught:
        ModelFolder(folder, "regressor")
    assert str(tmp_path / "encoder") in str(caught.value)
    assert "Install mtgauge again" in str(caught.value)


def test_what_is_shared_is_part_of_the_fingerprint() -> None:
    folder = shipped("regressor")
    card = ModelFolder(folder, "regressor").card
    shared = digest(mapped_tables(shipped("encoder") / "model.onnx", NAMES))
    assert card["shares"]["sha256"] == shared
    assert fingerprint(folder, "regressor", shared) == card["fingerprint"]
    assert fingerprint(folder, "regressor") != card["fingerprint"]


def test_training_goes_on_from_the_package(whole: Path) -> None:
    """`--encoder-weights .../models/regressor/model.onnx`."""
    found, expected = (
        load_encoder(folder / "model.onnx").state_dict() for folder in (shipped("regressor"), whole)
    )
    assert found.keys() == expected.keys()
    assert all(found[name].equal(expected[name]) for name in found)
