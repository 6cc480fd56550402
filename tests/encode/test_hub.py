"""Hub models: families, devices, and one plain sentence for each thing that can be missing."""

from __future__ import annotations

import ast
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from mtgauge.encode import EncoderSettings
from mtgauge.encode.hub import maximum_length, place, plain_errors
from mtgauge.encode.lm import HubLanguageModel
from mtgauge.encode.tokens.hub import HubEncoder
from mtgauge.errors import ResourceError
from tiny_models import encoder_folders, family, language_model_folders

TEXTS = ["the cat sat on the mat.", "big", ""]


@pytest.mark.parametrize("name", ["xlm-roberta", "mpnet", "distilbert", "xlm"])
def test_families_give_the_same_vectors_cut_and_whole(tmp_path: Path, name: str) -> None:
    folder = str(family(tmp_path, name))
    encoder = HubEncoder(folder, EncoderSettings())
    cut = encoder.encode(TEXTS, 2, "en")
    assert encoder._loaded is not None
    assert encoder._loaded[0] == 2
    whole = HubEncoder(folder, EncoderSettings(tokens_per_batch=1))
    whole._model(3)
    np.testing.assert_allclose(cut.vectors, whole.encode(TEXTS, 2, "en").vectors, atol=1e-5)
    long = encoder.encode(["cat " * 500], 1, "en")
    assert long.truncated.all()
    assert long.offsets[1] == encoder.max_length


def test_the_longest_input_leaves_room_for_the_padding_position(tmp_path: Path) -> None:
    assert HubEncoder(str(family(tmp_path, "xlm-roberta")), EncoderSettings()).max_length == 39
    assert HubEncoder(str(family(tmp_path, "distilbert")), EncoderSettings()).max_length == 40
    assert HubEncoder(str(encoder_folders()[1]), EncoderSettings()).max_length == 48


def test_xlm_is_told_the_language(tmp_path: Path) -> None:
    encoder = HubEncoder(str(family(tmp_path, "xlm")), EncoderSettings())
    german, english = (encoder.encode(["the cat"], 2, lang).vectors for lang in ("de", "en"))
    assert np.abs(german - english).max() > 1e-3
    with pytest.raises(ResourceError, match="'fi' is not one it knows: de, en"):
        encoder.encode(["kissa"], 2, "fi")
    with pytest.raises(ResourceError, match="Give the pair with -l"):
        encoder.encode(["cat"], 2)


def test_a_tokenizer_without_a_fast_version() -> None:
    """XLM's own tokenizer is slow: words are told by the marks of its pieces."""

    class Slow:
        is_fast = False
        all_special_ids = (0, 1)
        pieces = ("<s>", "</s>", "hou", "ses</w>", "red</w>")

        def __call__(self, text: str, truncation: bool, max_length: int = 99) -> dict[str, Any]:
            ids = [0, *(int(c) for c in text), 1]
            return {"input_ids": [*ids[: max_length - 1], 1] if truncation else ids}

    encoder = HubEncoder.__new__(HubEncoder)
    encoder.tokenizer, encoder.max_length = Slow(), 6
    encoder.__dict__["vocabulary"] = list(Slow.pieces)
    tokens = encoder.tokenize(["234", "232323"])
    assert tokens.first.tolist()[:5] == [True, True, False, True, True]
    assert tokens.special.tolist()[:5] == [True, False, False, False, True]
    assert tokens.truncated.tolist() == [False, True]


def test_devices_that_are_not_there_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert place(EncoderSettings()).device == "cpu"
    for device in ("cuda", "cuda:1", "mps"):
        with pytest.raises(ResourceError, match=r"no CUDA GPU|machine has none"):
            place(EncoderSettings(device=device))
    with pytest.raises(ResourceError, match="no device 'toaster'"):
        place(EncoderSettings(device="toaster"))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert place(EncoderSettings()).dtype == "bfloat16"


def test_what_is_missing_on_the_hub_is_said_plainly(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ResourceError, match="nobody/nothing"):
        HubEncoder("nobody/nothing", EncoderSettings())
    empty = tmp_path / "config.json"
    empty.write_text("{}", "utf-8")
    with pytest.raises(ResourceError, match="cannot be loaded"):
        HubEncoder(str(tmp_path), EncoderSettings())


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError("You are trying to access a gated repo."), "is gated: accept its terms"),
        (OSError("We couldn't connect to the hub"), "hub cannot be reached; give a folder"),
        (OSError("x is not a valid model identifier"), "neither a folder here nor a model"),
        (ValueError("strange\nand long"), "cannot be loaded: strange"),
    ],
)
def test_errors_of_the_hub(error: Exception, message: str) -> None:
    with pytest.raises(ResourceError, match=message), plain_errors("x"):
        raise error


def copied(tmp_path: Path, folder: Path) -> Path:
    copy = tmp_path / "model"
    shutil.copytree(folder, copy)
    return copy


def change_weights(folder: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    path = folder / "model.safetensors"
    save_file(change(load_file(path)), path, metadata={"format": "pt"})


def test_weights_that_are_missing_are_not_made_up(tmp_path: Path) -> None:
    folder = copied(tmp_path, encoder_folders()[1])
    change_weights(folder, lambda w: {k: v for k, v in w.items() if "pooler" not in k})
    HubEncoder(str(folder), EncoderSettings()).encode(["cat"])  # a pooler is not used
    change_weights(folder, lambda w: {k: v for k, v in w.items() if "layer.1." not in k})
    encoder = HubEncoder(str(folder), EncoderSettings())
    encoder.encode(["cat"], layer=1)  # layers that are not used are not missed
    with pytest.raises(ResourceError, match=r"lacks 16 weights of its model \(encoder\.layer\.1"):
        encoder.encode(["cat"], layer=2)
    change_weights(folder, lambda w: {f"other.{k}": v for k, v in w.items()})
    with pytest.raises(ResourceError, match="they would be random"):
        HubEncoder(str(folder), EncoderSettings()).encode(["cat"])


def test_a_language_model_that_lacks_weights_is_refused(tmp_path: Path) -> None:
    folder = copied(tmp_path, language_model_folders()[1])
    change_weights(folder, lambda w: {k: v for k, v in w.items() if ".h.1." not in k})
    with pytest.raises(ResourceError, match="lacks 12 weights"):
        HubLanguageModel(str(folder), EncoderSettings())


@pytest.mark.parametrize("model_type", ["bert", "strange"])
def test_code_of_a_model_folder_is_never_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model_type: str
) -> None:
    folder = copied(tmp_path, encoder_folders()[1])
    marker = tmp_path / "was-run"
    (folder / "own.py").write_text(f"open({str(marker)!r}, 'w')\nclass Own: pass\n", "utf-8")
    path = folder / "config.json"
    code = {"auto_map": {"AutoConfig": "own.Own", "AutoModel": "own.Own"}, "model_type": model_type}
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | code), "utf-8")
    monkeypatch.setattr("builtins.input", lambda *_: "y")  # what transformers asks otherwise
    if model_type == "bert":  # a family that transformers has itself
        HubEncoder(str(folder), EncoderSettings()).encode(["cat"])
    else:
        with pytest.raises(ResourceError, match="runs no code of a model"):
            HubEncoder(str(folder), EncoderSettings())
    assert not marker.exists()


def test_pickled_weights_are_refused(tmp_path: Path) -> None:
    folder = copied(tmp_path, encoder_folders()[1])
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    with pytest.raises(ResourceError, match="safetensors"):
        HubEncoder(str(folder), EncoderSettings()).encode(["cat"])


def test_every_from_pretrained_is_safe() -> None:
    """No call in the package may run code of a model folder or read a pickle."""
    source = Path(__file__).parents[2] / "src" / "mtgauge"
    calls = [
        (file.name, {word.arg for word in node.keywords}, ast.unparse(node.func))
        for file in source.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".from_pretrained")
    ]
    assert len(calls) >= 3
    for name, words, function in calls:
        assert "trust_remote_code" in words, (name, function)
        has_no_weights = function.startswith(("AutoConfig", "AutoTokenizer"))
        assert "use_safetensors" in words or has_no_weights, (name, function)


def test_a_truncated_weights_file_is_refused(tmp_path: Path) -> None:
    folder = copied(tmp_path, encoder_folders()[1])
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-500])
    with pytest.raises(ResourceError, match="cannot be loaded"):
        HubEncoder(str(folder), EncoderSettings()).encode(["cat"])


def test_a_tokenizer_that_is_larger_than_the_model_is_refused(tmp_path: Path) -> None:
    folder = copied(tmp_path, encoder_folders()[1])
    path = folder / "tokenizer.json"
    content = json.loads(path.read_text("utf-8"))
    size = len(content["model"]["vocab"])
    content["model"]["vocab"] |= {f"extra{i}": size + i for i in range(5)}
    path.write_text(json.dumps(content), "utf-8")
    with pytest.raises(ResourceError, match="do not belong together"):
        HubEncoder(str(folder), EncoderSettings()).encode(["cat"])


def test_the_fingerprint_follows_weights_and_the_cache_precision(tmp_path: Path) -> None:
    folder = copied(tmp_path, encoder_folders()[1])
    first = HubEncoder(str(folder), EncoderSettings()).fingerprint
    assert first == HubEncoder(str(encoder_folders()[1]), EncoderSettings()).fingerprint
    whole, half = (
        HubEncoder(str(folder), EncoderSettings(dtype=dtype, cache=str(tmp_path / "cache")))
        for dtype in ("float32", "bfloat16")
    )
    difference = whole.encode(["the cat"]).vectors - half.encode(["the cat"]).vectors
    assert 0 < np.abs(difference).max() < 0.1
    assert half.fingerprint == first  # a remap fitted in one precision serves the other
    path = folder / "model.safetensors"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    assert HubEncoder(str(folder), EncoderSettings()).fingerprint != first


def test_maximum_length_ignores_the_placeholder() -> None:
    class Config:
        model_type, max_position_embeddings, pad_token_id = "bert", 512, 0

    class Tokenizer:
        model_max_length = int(1e30)

    assert maximum_length(Config(), Tokenizer()) == 512
