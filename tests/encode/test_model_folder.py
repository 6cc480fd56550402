"""Model folders: every malformed card ends in one sentence that names the file and the key."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mtgauge import load
from mtgauge.data.segments import Segments
from mtgauge.encode import EncoderSettings
from mtgauge.encode.card import FIELDS, HEADS
from mtgauge.encode.lm import OnnxLanguageModel
from mtgauge.encode.model_folder import SESSIONS, ModelFolder, open_trained
from mtgauge.encode.tokens.embedded import OnnxEncoder
from mtgauge.errors import ResourceError
from mtgauge.models import shipped
from tiny_models import encoder_folders, language_model_folders

SOURCE = Path(__file__).parents[2] / "src" / "mtgauge"
SCORED = Segments(("a cat",), ("eine Katze",), (("a cat",),), "de-en")
LESS = object()  # the key is left out


def changed(folder: Path, to: Path, **changes: Any) -> Path:
    shutil.copytree(folder, to)
    card = json.loads((to / "card.json").read_text("utf-8")) | changes
    kept = {key: value for key, value in card.items() if value is not LESS}
    (to / "card.json").write_text(json.dumps(kept), "utf-8")
    return to


def encoder(folder: Path) -> None:
    OnnxEncoder(folder, EncoderSettings()).encode(["the cat"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "not a JSON object"),
        ('["name", "layers", "max_length"]', "not a JSON object"),
        ('"encoder"', "not a JSON object"),
        ("null", "not a JSON object"),
        ("3", "not a JSON object"),
        ("", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ('{"name": ' + "9" * 10_000 + "}", "is not JSON"),
        ('{"name": "x"}', "lacks max_length, layers"),
    ],
)
def test_a_card_that_is_no_object(tmp_path: Path, text: str, message: str) -> None:
    folder = changed(encoder_folders()[0], tmp_path / "model")
    (folder / "card.json").write_text(text, "utf-8")
    with pytest.raises(ResourceError, match=message) as caught:
        encoder(folder)
    assert str(folder / "card.json") in str(caught.value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("layers", value) for value in ("x", None, -1, True, 3.0, 10**9)),
        *(("max_length", value) for value in (0, 1, 2, -5, "x", 2**70, None)),
        *(("name", value) for value in ("", None, 7, "\x1b[31mred", "two\nlines")),
        *(("default_layer", value) for value in ([0], {"source": "x"}, {"reference": 9}, 3)),
        *(("turned", value) for value in (-1, "x", 1.0, True, 10**6)),
        *(("languages", value) for value in (5, "en", [1])),
        ("lowercase", "yes"),
        ("special_tokens", ["[PAD]"]),
        ("special_tokens", {"pad": None}),
        ("fingerprint", 5),
    ],
)
def test_a_wrong_value_is_named(tmp_path: Path, key: str, value: Any) -> None:
    folder = changed(encoder_folders()[0], tmp_path / "model", **{key: value})
    with pytest.raises(ResourceError, match=rf"card\.json: {key} must be ") as caught:
        encoder(folder)
    assert "\x1b" not in str(caught.value)


def test_how_much_is_turned_is_below_the_width(tmp_path: Path) -> None:
    given = json.loads((encoder_folders()[0] / "card.json").read_text("utf-8"))
    folder = changed(encoder_folders()[0], tmp_path / "fits", turned=given["dim"] - 1)
    assert OnnxEncoder(folder, EncoderSettings()).turned == given["dim"] - 1
    assert OnnxEncoder(encoder_folders()[0], EncoderSettings()).turned == 0
    for name, changes in (("wide", {"turned": given["dim"]}), ("none", {"turned": 1, "dim": LESS})):
        folder = changed(encoder_folders()[0], tmp_path / name, **changes)
        with pytest.raises(ResourceError, match="turned must be a whole number from 0, below dim"):
            encoder(folder)


def test_a_language_model_passes_the_same_check(tmp_path: Path) -> None:
    folder = changed(language_model_folders()[0], tmp_path / "model", max_length="x")
    with pytest.raises(ResourceError, match="max_length must be a whole number from 3"):
        OnnxLanguageModel(folder, EncoderSettings())


@pytest.mark.parametrize(
    ("name", "key"),
    [
        (name, key)
        for name in ("esim", "regressor")
        for key, field in FIELDS[name].items()
        if field.required and key != "kind"
    ],
)
def test_a_trained_card_that_lacks_a_key(tmp_path: Path, name: str, key: str) -> None:
    folder = changed(shipped(name), tmp_path / "model", **{key: LESS})
    with pytest.raises(ResourceError, match=f"lacks {key}"):
        load(f"{name}:model={folder}").statistics(SCORED)


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("esim", "mix", [0.5]),
        ("esim", "mix", [float("nan")] * 6),
        ("esim", "layers", "123456"),
        ("esim", "view", "both"),
        ("esim", "max_tokens", 0),
        ("esim", "calibration", {"z": [0, 1], "mean": [1, 2], "low": [1], "high": [1, 2]}),
        ("esim", "calibration", {"z": [1, 0], "mean": [1, 2], "low": [1, 2], "high": [1, 2]}),
        ("regressor", "views", "hyp+src"),
        ("regressor", "width", 1.5),
        ("regressor", "answers", {"hyp+src": []}),
        ("regressor", "language_numbers", {"de": "1"}),
        ("regressor", "shares", "encoder"),
        ("regressor", "shares", {"kind": "../encoder", "names": ["pieces.w"], "sha256": "0"}),
        ("regressor", "shares", {"kind": "encoder", "names": [], "sha256": "0"}),
        ("regressor", "shares", {"kind": "encoder", "names": ["pieces.w"]}),
    ],
)
def test_a_trained_card_with_a_wrong_value(tmp_path: Path, name: str, key: str, value: Any) -> None:
    folder = changed(shipped(name), tmp_path / "model", **{key: value})
    with pytest.raises(ResourceError, match=f"{key} must be "):
        load(f"{name}:model={folder}").statistics(SCORED)


def test_a_card_of_another_kind_or_without_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ResourceError, match="describes a esim, not a bilstm"):
        ModelFolder(shipped("esim"), "bilstm")
    folder = changed(shipped("esim"), tmp_path / "model")
    (folder / "model.onnx").unlink()
    with pytest.raises(ResourceError, match=r"lacks model\.onnx"):
        ModelFolder(folder, "esim")
    (folder / "card.json").unlink()
    with pytest.raises(ResourceError, match="its training has not ended"):
        open_trained(str(folder), "esim")
    with pytest.raises(ResourceError, match="there is no model folder"):
        open_trained(str(tmp_path / "none"), "esim")


@pytest.mark.parametrize("kind", ["encoder", "fluency", "regressor", *HEADS])
def test_shipped_folders_are_what_their_cards_say(kind: str) -> None:
    model = ModelFolder(shipped(kind), kind)
    assert model.card["fingerprint"] == model.fingerprint


def test_a_model_that_cannot_run_is_named(tmp_path: Path) -> None:
    folder = ModelFolder(shipped("esim"), "esim")
    with pytest.raises(ResourceError, match=r"model\.onnx failed"):
        folder.run("model.onnx", first=np.zeros((1, 2, 3), np.float32))


class Session:
    """Says so if it is run twice at a time; a run waits until as many are under way as can be."""

    def __init__(self, together: threading.Barrier) -> None:
        self.alone, self.together = threading.Lock(), together

    def run(self, outputs: object, inputs: object) -> list[np.ndarray]:
        assert self.alone.acquire(blocking=False), "two runs in one session"
        self.together.wait(timeout=20)
        self.alone.release()
        return [np.zeros(1)]


def test_runs_side_by_side_have_a_session_each(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Session] = []
    together = threading.Barrier(2)

    def opens(*about: object) -> Session:
        opened.append(Session(together))
        return opened[-1]

    monkeypatch.setattr("mtgauge.encode.model_folder.open_session", opens)
    folder = ModelFolder(shipped("encoder"), "encoder", parallel=2)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda number: folder.run_outputs(("layer_5",)), range(12)))
    assert len(opened) == 2
    together.abort()  # one at a time from here on
    together = threading.Barrier(1)
    for number in range(SESSIONS + 1):
        folder.run_outputs((f"layer_{number}",))
        folder.run_outputs((f"layer_{number}",))
    assert len(opened) == 2 + SESSIONS + 1


def test_a_session_that_cannot_be_opened_is_asked_for_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuses(*about: object) -> None:
        raise ResourceError("no room")

    monkeypatch.setattr("mtgauge.encode.model_folder.open_session", refuses)
    folder = ModelFolder(shipped("esim"), "esim")
    for _ in range(2):
        with pytest.raises(ResourceError, match="no room"):
            folder.run("model.onnx")


def test_one_module_imports_onnxruntime_and_switches_its_telemetry_off(tmp_path: Path) -> None:
    importing = [
        str(file.relative_to(SOURCE))
        for file in SOURCE.rglob("*.py")
        if "import onnxruntime" in file.read_text("utf-8")
    ]
    assert importing == ["encode/runtime.py"]
    script = """
import os
from mtgauge.encode import load_encoder
load_encoder("embedded").encode(["a"], 0)
print(os.environ["ORT_DISABLE_TELEMETRY"])
"""
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | home,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["1"], done.stderr
    assert not list(tmp_path.iterdir())  # where onnxruntime keeps its queue of events
