"""The contract of all metrics, for the contextual ones on a tiny model, by both roads.

`test_contract.py` runs them with the embedded models; here `embedded` is the tiny one, as an ONNX
folder and as a transformers folder, whose vectors are fetched or stay where they are. That a better
system scores better is not asked of random weights.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator

import pytest

import test_contract as contract
from mtgauge import encode, registry
from mtgauge.data.segments import Segments
from mtgauge.encode import lm as fluency
from mtgauge.encode.tokens import device, hub
from mtgauge.metric import Metric
from tiny_models import encoder_folders, language_model_folders

NAMES = ("bertr", "bertscore", "moverscore", "xmoverscore", "yisi-1", "yisi-2", "cosine",
         "fluency")  # fmt: skip
PROMISES = [
    promise
    for name, promise in inspect.getmembers(contract, inspect.isfunction)
    if name.startswith("test_")
    and list(inspect.signature(promise).parameters) == ["metric"]
    and name != "test_better_system_scores_better"
]


@pytest.fixture(params=["onnx", "hub", "device"])
def _tiny(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """`embedded` means the tiny models."""
    folders = {"encoder": encoder_folders(), "fluency": language_model_folders()}
    if request.param == "onnx":
        monkeypatch.setattr("mtgauge.encode.load.model_folder", lambda spec, kind: folders[kind][0])
    else:
        encoder, model = hub.HubEncoder, fluency.HubLanguageModel
        monkeypatch.setattr("mtgauge.encode.load.model_folder", lambda spec, kind: None)
        monkeypatch.setattr(
            hub, "HubEncoder", lambda spec, s: encoder(str(folders["encoder"][1]), s)
        )
        if request.param == "device":  # torch's CPU stands for a GPU: vectors stay in its blocks
            monkeypatch.setattr(encoder, "stays", True)
            monkeypatch.setattr(device, "WINDOW", 4 * 3)
        monkeypatch.setattr(
            fluency, "HubLanguageModel", lambda spec, s: model(str(folders["fluency"][1]), s)
        )
    _forget()
    yield
    _forget()


def _forget() -> None:
    encode.load_encoder.cache_clear()
    encode.load_language_model.cache_clear()


@pytest.mark.usefixtures("_tiny")
@pytest.mark.parametrize("name", NAMES)
def test_no_segments_give_no_rows(name: str) -> None:
    metric = registry.load(name)
    rows = metric.statistics(Segments([], [], [], "de-en"))
    assert rows.shape == (0, len(metric.columns))


@pytest.mark.usefixtures("_tiny")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("promise", PROMISES, ids=lambda p: p.__name__.removeprefix("test_"))
def test_promise(name: str, promise: Callable[[Metric], None]) -> None:
    promise(registry.load(name).resolve(contract.TASK))
