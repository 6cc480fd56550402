"""Encoders: both roads give the same numbers, and batches do not matter."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from mtgauge import encode
from mtgauge.encode import EncoderSettings
from mtgauge.encode.model_folder import fingerprint
from mtgauge.encode.ragged import IntArray
from mtgauge.encode.tokens.embedded import OnnxEncoder
from mtgauge.encode.tokens.encoder import Encoder, Vectors, power_means
from mtgauge.encode.tokens.hub import HubEncoder
from mtgauge.errors import ResourceError, UsageError
from tiny_models import LAYERS, LONGEST, WIDTH, encoder_folders

TEXTS = [
    "the cat sat on the mat.",
    "die katze saß",
    "",
    "houses and dogs (big), rotten 42",
    "the cat sat on the mat.",
    "a " * 200,
]


def onnx(**changes: object) -> OnnxEncoder:
    return OnnxEncoder(encoder_folders()[0], EncoderSettings(**changes))  # type: ignore[arg-type]


def hub(**changes: object) -> HubEncoder:
    return HubEncoder(str(encoder_folders()[1]), EncoderSettings(**changes))  # type: ignore[arg-type]


@pytest.mark.parametrize("layer", [0, 1, LAYERS, -1, (1, 2, 3)])
def test_both_roads_agree(layer: int | tuple[int, ...]) -> None:
    left, right = onnx().encode(TEXTS, layer), hub().encode(TEXTS, layer)
    for name in ("offsets", "ids", "spans", "first", "special", "truncated"):
        np.testing.assert_array_equal(getattr(left, name), getattr(right, name), err_msg=name)
    np.testing.assert_allclose(left.vectors, right.vectors, atol=1e-4)


def test_layers_differ_and_the_hub_model_is_cut_at_the_layer() -> None:
    encoder = hub()
    first = encoder.encode(TEXTS, 1).vectors
    assert encoder._loaded is not None
    assert encoder._loaded[0] == 1
    assert np.abs(first - encoder.encode(TEXTS, 3).vectors).max() > 0.1


@pytest.mark.parametrize("make", [onnx, hub])
def test_vectors_do_not_depend_on_batch_mates(make: type[Encoder]) -> None:
    whole = make(tokens_per_batch=1000).encode(TEXTS)  # type: ignore[call-arg]
    small = make(tokens_per_batch=1).encode(TEXTS)  # type: ignore[call-arg]
    np.testing.assert_allclose(whole.vectors, small.vectors, atol=1e-5)


def test_tokens_know_their_characters_words_and_kind() -> None:
    tokens = onnx().encode(["the cats xy."])
    text = "the cats xy."
    places, names = tokens.spans.tolist(), onnx().vocabulary
    labels = [text[a:b] or names[k] for (a, b), k in zip(places, tokens.ids, strict=True)]
    assert labels == ["[CLS]", "the", "cats", "x", "y", ".", "[SEP]"]
    assert tokens.first.tolist() == [True, True, True, True, False, True, True]
    assert tokens.special.tolist() == [True, False, False, False, False, False, True]


def test_long_texts_are_cut_and_told() -> None:
    tokens = onnx().encode(["word " * 10_000, "cat"])
    assert tokens.truncated.tolist() == [True, False]
    assert tokens.offsets[1] == LONGEST


class Counting(OnnxEncoder):
    """Counts the texts that reach the model; runs out of memory above a number of texts."""

    most = 10**6
    out_of_memory = (MemoryError,)

    def __init__(self, **changes: object) -> None:
        super().__init__(encoder_folders()[0], EncoderSettings(**changes))  # type: ignore[arg-type]
        self.seen = 0

    def forward(
        self, ids: IntArray, mask: IntArray, layers: tuple[int, ...], lang: str | None
    ) -> list[Vectors]:
        if len(ids) > self.most:
            raise MemoryError
        self.seen += len(ids)
        return super().forward(ids, mask, layers, lang)


def test_each_distinct_text_is_encoded_once_and_remembered() -> None:
    encoder = Counting()
    encoder.encode(["cat", "dog", "cat"])
    assert encoder.seen == 2
    encoder.encode(["dog", "mat"])
    assert encoder.seen == 3
    encoder.encode(["dog"], layer=1)
    assert encoder.seen == 4


def test_the_memory_window_is_bounded() -> None:
    encoder = Counting(memory_gb=3 * 3 * WIDTH * 4 / 2**30)  # three texts of three tokens
    for text in ("cat", "dog", "mat", "house"):
        encoder.encode([text])
    assert len(encoder._window) == 3
    encoder.encode(["cat"])
    assert encoder.seen == 5


def test_out_of_memory_halves_the_batch() -> None:
    encoder = Counting()
    encoder.most = 2
    found = encoder.encode(["cat", "dog", "mat", "house", "red"]).vectors
    np.testing.assert_allclose(
        found, onnx().encode(["cat", "dog", "mat", "house", "red"]).vectors, atol=1e-5
    )
    encoder.most = 0
    with pytest.raises(ResourceError, match="Out of memory with one text"):
        encoder.encode(["big"])


def test_layer_numbers_are_checked() -> None:
    assert onnx().resolve(-1) == (LAYERS,)
    assert onnx().resolve(-LAYERS - 1) == (0,)
    with pytest.raises(UsageError, match=r"layers 0 .embeddings. to 3; there is no layer 4"):
        onnx().encode(["cat"], 4)


def test_power_means() -> None:
    rows = power_means([np.array([[3, 4]], np.float32), np.array([[0, 2]], np.float32)])
    np.testing.assert_allclose(rows, [[0, 0.8, 0.3, 0.9, 0.6, 1.0]], atol=1e-6)


def broken(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    shutil.copytree(encoder_folders()[0], folder)
    return folder


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "card.json"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    folder = broken(tmp_path)
    (folder / name).unlink()
    with pytest.raises(ResourceError, match=f"lacks {name}"):
        OnnxEncoder(folder, EncoderSettings())


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_truncated_file_is_found_by_the_fingerprint(tmp_path: Path, name: str) -> None:
    folder = broken(tmp_path)
    path = folder / name
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ResourceError, match="cut or exchanged"):
        OnnxEncoder(folder, EncoderSettings())


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_truncated_file_without_a_fingerprint_is_named(tmp_path: Path, name: str) -> None:
    folder = broken(tmp_path)
    path = folder / name
    path.write_bytes(path.read_bytes()[:-100])
    change_card(folder, fingerprint="")
    with pytest.raises(ResourceError, match=name):
        OnnxEncoder(folder, EncoderSettings()).encode(["cat"])


def test_a_tokenizer_of_another_model_is_refused(tmp_path: Path) -> None:
    folder = broken(tmp_path)
    content = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    content["model"]["vocab"]["cat"] = 99_999
    (folder / "tokenizer.json").write_text(json.dumps(content), "utf-8")
    change_card(folder, fingerprint=fingerprint(folder, "encoder"))
    with pytest.raises(ResourceError, match=r"Does its tokenizer\.json belong to it"):
        OnnxEncoder(folder, EncoderSettings()).encode(["cat"])


def change_card(folder: Path, **changes: object) -> None:
    path = folder / "card.json"
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | changes), "utf-8")


def test_a_device_that_onnxruntime_does_not_have_is_refused() -> None:
    for device in ("cuda", "mps"):
        with pytest.raises(ResourceError, match="runs on the CPU only"):
            onnx(device=device).encode(["cat"])


def test_load_encoder_tells_the_roads_apart() -> None:
    assert isinstance(encode.load_encoder(str(encoder_folders()[0])), OnnxEncoder)
    assert isinstance(encode.load_encoder(str(encoder_folders()[1])), HubEncoder)


def test_configure_checks_and_reloads() -> None:
    first = encode.load_encoder(str(encoder_folders()[0]))
    try:
        encode.configure(memory_gb=0.1)
        assert encode.load_encoder(str(encoder_folders()[0])) is not first
        with pytest.raises(UsageError, match="no setting colour"):
            encode.configure(colour="red")
        with pytest.raises(UsageError, match="dtype"):
            encode.configure(dtype="int4")
    finally:
        encode.configure(memory_gb=EncoderSettings().memory_gb)


def test_texts_are_forgotten_where_a_shard_must_stand_alone():
    from mtgauge.encode import load

    before = load.current_settings()
    for remember, kept in (("run", 1), ("shard", 0)):
        with load.configured(remember=remember):
            encoder = load.load_encoder("embedded")
            encoder.forget()
            encoder.encode(["Ein Satz."])
            load.forget_texts()
            assert len(encoder._window) == kept
    assert load.current_settings() == before
