"""ONNX models say what torch says, whatever stands beside them in the batch."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
ort = pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")

from mtgauge.encode.transformer import Causal, Ragged, Shape, log_probability  # noqa: E402
from mtgauge.train.embedded.corpus import SEP  # noqa: E402
from mtgauge.train.embedded.encoder import Student  # noqa: E402
from mtgauge.train.embedded.export import export  # noqa: E402
from mtgauge.train.nets.weights import save  # noqa: E402
from mtgauge.train.onnx.restore import load_causal, load_encoder  # noqa: E402

ROWS = [[1, 270, 280, 290, 300, 2], [1, 275, 282, 2]]


def padded(rows: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    ids = np.zeros((len(rows), max(map(len, rows))), np.int64)
    for i, row in enumerate(rows):
        ids[i, : len(row)] = row
    mask = np.array([[j < len(row) for j in range(ids.shape[1])] for row in rows], np.int64)
    return ids, mask


@pytest.fixture
def encoder(tiny_corpus: Path, tmp_path: Path) -> tuple[Path, Path]:
    torch.manual_seed(0)
    shape = Shape(400, 64, 3, 4, 128)
    save(Student(shape, 24), shape, tmp_path / "student.safetensors")
    facts = {"licence": "Apache-2.0"}
    weights = tmp_path / "student.safetensors"
    export("encoder", weights, tiny_corpus, tmp_path / "m", facts)
    return tmp_path / "m", weights


def test_the_encoder_agrees_with_torch_and_ignores_its_neighbours(
    encoder: tuple[Path, Path],
) -> None:
    folder, weights = encoder
    session = ort.InferenceSession(str(folder / "model.onnx"))
    ids, mask = padded(ROWS)
    found = session.run(None, {"input_ids": ids, "attention_mask": mask})
    with torch.no_grad():
        states = load_encoder(weights)(Ragged.of(ROWS))
    assert len(found) == len(states) == 4
    for got, want in zip(found, states, strict=True):
        flat = np.concatenate([got[0], got[1][:4]])
        assert np.abs(flat - want.numpy()).max() < 0.06  # states are about 1
    alone = session.run(None, {"input_ids": ids[1:, :4], "attention_mask": mask[1:, :4]})
    for got, want in zip(alone, found, strict=True):
        assert np.allclose(got[0], want[1][:4], atol=1e-6)


def test_the_encoder_comes_back_to_torch(encoder: tuple[Path, Path]) -> None:
    folder, weights = encoder
    again, batch = load_encoder(folder / "model.onnx"), Ragged.of(ROWS)
    with torch.no_grad():
        for got, want in zip(again(batch), load_encoder(weights)(batch), strict=True):
            assert (got - want).abs().max() < 0.06


@pytest.mark.parametrize("width", [2, 7, 96])
def test_sums_of_two_products_fit_into_16_bits(width: int) -> None:
    from mtgauge.train.onnx.int8 import exact8, fitted8

    weight = np.random.default_rng(width).normal(size=(200, width)).astype(np.float32)
    weight[0] = 1.0  # the worst case: all alike
    weight[1] = 0.0
    whole, scale = exact8(weight)
    assert np.abs(whole * scale[:, None] - weight).max() <= scale.max() / 2 * 1.001
    inputs = np.random.default_rng(0).normal(size=(50, width)).astype(np.float32)
    for table in (whole, fitted8(weight, inputs).whole):
        pairs = np.pad(table, ((0, 0), (0, width % 2))).reshape(200, -1, 2).astype(np.int64)
        for pair in ([255, 255], [255, 0], [0, 255]):
            sums = (pairs * pair).sum(2)
            assert sums.max() < 2**15
            assert sums.min() >= -(2**15)


def test_a_layer_is_fitted_to_channels_that_stand_out_and_to_one_sided_inputs() -> None:
    from mtgauge.train.onnx.int8 import fitted8

    rng = np.random.default_rng(0)
    weight = rng.normal(size=(16, 32)).astype(np.float32)
    inputs = rng.normal(size=(200, 32)).astype(np.float32)
    inputs[:, 3] *= 100
    layer = fitted8(weight, inputs)
    assert layer.factor.argmin() == 3
    assert 100 <= layer.zero <= 156
    assert fitted8(weight, np.maximum(inputs, -0.1)).zero < 20


def test_rounding_in_turn_loses_less_than_rounding_each_weight() -> None:
    from mtgauge.train.onnx.int8 import exact8, fitted8

    rng = np.random.default_rng(0)
    weight = rng.normal(size=(48, 64)).astype(np.float32)
    inputs = (rng.normal(size=(900, 16)) @ rng.normal(size=(16, 64))).astype(np.float32)
    layer = fitted8(weight, inputs[:600])
    plain, scale = exact8(weight / layer.factor)
    fresh = inputs[600:] * layer.factor  # not those it was fitted on
    want = inputs[600:] @ weight.T
    lost, before = (
        np.square(fresh @ (whole * scale[:, None]).T - want).sum() for whole in (layer.whole, plain)
    )
    assert lost < 0.7 * before


def test_the_card_names_these_files(encoder: tuple[Path, Path]) -> None:
    from mtgauge.encode.model_folder import fingerprint

    folder, _ = encoder
    card = json.loads((folder / "card.json").read_text())
    assert card["fingerprint"] == fingerprint(folder, "encoder")
    assert (card["kind"], card["licence"], card["layers"]) == ("encoder", "Apache-2.0", 3)


def test_the_language_model_agrees_with_torch_and_skips_the_source(
    tiny_corpus: Path, tmp_path: Path
) -> None:
    torch.manual_seed(0)
    shape = Shape(400, 64, 2, 4, 128, embedding=32)
    save(Causal(shape), shape, tmp_path / "f.safetensors")
    export("fluency", tmp_path / "f.safetensors", tiny_corpus, tmp_path / "m")
    session = ort.InferenceSession(str(tmp_path / "m" / "model.onnx"))
    given = [1, 300, 301, SEP, 270, 280, 2]
    rows = [*ROWS, given]
    found = session.run(None, {"input_ids": padded(rows)[0]})[0]
    model, batch = load_causal(tmp_path / "f.safetensors"), Ragged.of(rows)
    with torch.no_grad():
        want = log_probability(model(batch), model.pieces.weight, batch.ids.roll(-1)).numpy()
    assert np.abs(found[0, :5] - want[:5]).max() < 0.05
    assert np.abs(found[1, :3] - want[6:9]).max() < 0.05
    assert (found[2, :3] == 0).all()
    assert np.abs(found[2, 3:6] - want[13:16]).max() < 0.05
    alone = session.run(None, {"input_ids": np.array([given])})[0]
    assert np.allclose(alone[0], found[2], atol=1e-6)
    many = [ROWS[0]] * 40  # more positions than go through the softmax at once
    again = session.run(None, {"input_ids": padded(many)[0]})[0]
    assert np.allclose(again, found[0, :5], atol=1e-6)
    nothing = session.run(None, {"input_ids": np.array([[1, 0], [SEP, 0]])})[0]
    assert nothing.shape == (2, 1)  # no text at all is no error


def test_a_pair_is_framed_for_the_language_model(tiny_corpus: Path) -> None:
    from tokenizers import Tokenizer

    from mtgauge.train.embedded.corpus import with_frame

    made = with_frame(Tokenizer.from_file(str(tiny_corpus / "tokenizer.json")), SEP)
    pair = made.encode("heute", "today")
    assert pair.tokens[0] == "<s>"
    assert pair.tokens[-1] == "</s>"
    assert pair.ids.index(SEP) + 1 == pair.type_ids.index(1)


def test_exported_models_come_back_to_torch(tiny_corpus: Path, tmp_path: Path) -> None:
    torch.manual_seed(0)
    shape = Shape(400, 64, 2, 4, 128, embedding=32)
    save(Causal(shape), shape, tmp_path / "f.safetensors")
    export("fluency", tmp_path / "f.safetensors", tiny_corpus, tmp_path / "m")
    again = load_causal(tmp_path / "m" / "model.onnx")
    assert again.shape == shape
    batch = Ragged.of(ROWS)
    with torch.no_grad():
        difference = again(batch) - load_causal(tmp_path / "f.safetensors")(batch)
    assert difference.abs().max() < 0.02
