"""Vectors that stay on a device. torch's CPU stands for a GPU: it runs the same code.

What is compared: tokens and vectors of `encode_in_place` with those of `encode`, scores of metrics
by both roads, and the embedded encoder in torch with the one that onnxruntime runs.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx import numpy_helper

from mtgauge import encode
from mtgauge.data.segments import Segments
from mtgauge.encode import EncoderSettings
from mtgauge.encode.hub import Place
from mtgauge.encode.lm import OnnxLanguageModel, mean_scores
from mtgauge.encode.lm_restored import RestoredLanguageModel
from mtgauge.encode.onnx_graph import read_graph
from mtgauge.encode.onnx_weights import read_weights, restorable
from mtgauge.encode.remap import maps
from mtgauge.encode.tokens import device
from mtgauge.encode.tokens.device import DeviceEncoder, DeviceTokens
from mtgauge.encode.tokens.embedded import OnnxEncoder
from mtgauge.encode.tokens.encoder import TokenVectors
from mtgauge.encode.tokens.hub import HubEncoder
from mtgauge.encode.tokens.packed import packs
from mtgauge.encode.tokens.restored import RestoredEncoder
from mtgauge.encode.tokens.units import DeviceUnits, Units, build, keep
from mtgauge.errors import ResourceError
from mtgauge.metric import FloatArray
from mtgauge.metrics._contextual import ContextualMetric
from mtgauge.models import shipped
from mtgauge.registry import load
from tiny_models import WORDS, encoder_folders, family

RNG = np.random.default_rng(5)
TEXTS = ["the cat sat on the mat.", "big", "", "a cat " * 40, "Hund-Häuser, cats"]
SPECS = (
    "bertscore",
    "bertscore:preset=bert_score,idf=references",
    "bertr",
    "yisi-1:idf=references",
    "moverscore:depth=2,ngram=2,pieces=first",
    "xmoverscore:lm=off",
    "xmoverscore:lm=off,pieces=mean,punctuation=False,special=True,ngram=3,matching=f",
    "xmoverscore:lm=off,preset=repo2021",
)


def hub(folder: Path | None = None, **settings: Any) -> HubEncoder:
    return HubEncoder(str(folder or encoder_folders()[1]), EncoderSettings(**settings))


def staying(encoder: DeviceEncoder) -> DeviceEncoder:
    encoder.stays = True
    return encoder


def assert_same(found: TokenVectors, expected: TokenVectors, atol: float = 1e-5) -> None:
    assert isinstance(found, DeviceTokens)
    for name in ("offsets", "ids", "special", "truncated", "first", "spans"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), name)
    np.testing.assert_allclose(found.vectors, expected.vectors, atol=atol)


@pytest.mark.parametrize("layer", [0, 2, (1, 2, 3)])
def test_vectors_that_stay_are_those_that_are_fetched(layer: int | tuple[int, ...]) -> None:
    expected = hub().encode(TEXTS, layer)
    assert_same(staying(hub()).encode_in_place(TEXTS, layer), expected)
    assert_same(staying(hub(tokens_per_batch=40)).encode_in_place(TEXTS, layer), expected)


@pytest.mark.parametrize("name", ["xlm-roberta", "mpnet", "distilbert", "xlm"])
def test_families(tmp_path: Path, name: str) -> None:
    """XLM-R runs packed, the others through transformers, which pads."""
    folder = family(tmp_path, name)
    encoder = staying(hub(folder))
    assert packs(encoder.config) == (name == "xlm-roberta") == (not encoder.pads)  # type: ignore[attr-defined]
    assert_same(encoder.encode_in_place(TEXTS, 2, "en"), hub(folder).encode(TEXTS, 2, "en"))


def test_a_model_of_another_build_is_not_packed() -> None:
    config = hub().config
    assert packs(config)
    config.hidden_act = "relu"
    assert not packs(config)


def test_no_text_and_texts_without_tokens() -> None:
    encoder = staying(hub())
    assert len(encoder.encode_in_place([])) == 0
    assert encoder.encode_in_place([""]).vectors.shape[0] == 2


def test_a_batch_that_does_not_fit_is_halved() -> None:
    encoder = staying(hub())
    expected = hub().encode(TEXTS, 2)
    states = encoder.states

    def small(batch: Any, *rest: Any) -> Any:
        if len(batch.ids) > 60:
            raise torch.OutOfMemoryError
        return states(batch, *rest)

    encoder.states = small  # type: ignore[method-assign, assignment]
    assert_same(encoder.encode_in_place(TEXTS, 2), expected)


def test_a_disk_cache_wants_to_see_the_vectors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device, "_memory", lambda _: 80 * 2**30)
    encoder = hub(cache=str(tmp_path))
    encoder.place = Place("cuda", "bfloat16")
    assert not encoder.stays
    assert encoder.window == 1024
    encoder = hub()
    encoder.place = Place("cuda", "bfloat16")
    assert encoder.stays
    assert (encoder.window, encoder.ahead) == (device.WINDOW, device.AHEAD)
    monkeypatch.setattr(device, "_memory", lambda _: 8 * 2**30)
    assert encoder.window == device.WINDOW // 4


def test_units_are_made_where_the_vectors_are() -> None:
    host, there = hub().encode(TEXTS, 2), staying(hub()).encode_in_place(TEXTS, 2)
    weights = RNG.random(len(host.ids))
    for ngram, pieces in ((1, "all"), (2, "first"), (2, "mean")):
        expected, found = (
            build(t, keep(t, hub().punctuation, pieces=pieces), weights, ngram, pieces)  # type: ignore[arg-type]
            for t in (host, there)
        )
        assert isinstance(found, DeviceUnits) == (pieces != "mean")  # words are joined on the host
        for name in ("offsets", "weights", "ends"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
        np.testing.assert_allclose(found.vectors, expected.vectors, atol=1e-6)


def pairs(n: int) -> Segments:
    def text() -> str:
        return " ".join(RNG.choice(WORDS[:22], RNG.integers(1, 20))) + RNG.choice(["", ".", " ,"])

    hypotheses = [text() for _ in range(n - 1)]
    sources = [text() for _ in range(n)]
    return Segments([*hypotheses, ""], sources, [(text(), text()) for _ in range(n)])


@pytest.mark.parametrize("spec", SPECS)
def test_metrics_score_alike(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "WINDOW", 4 * 7)
    name, _, options = spec.partition(":")
    batch = pairs(25)

    def rows() -> FloatArray:
        metric = load(f"{name}:encoder={encoder_folders()[1]},layer=2,{options}".rstrip(","))
        if metric.needs_corpus:
            metric.fit(text for row in batch.references or () for text in row)
        return metric.statistics(batch)

    encoder = encode.load_encoder(str(encoder_folders()[1]))
    assert isinstance(encoder, HubEncoder)
    expected = rows()
    monkeypatch.setattr(encoder, "stays", True)
    # the host's road is not taken behind our back
    monkeypatch.setattr(encoder, "encode", None)
    np.testing.assert_allclose(rows(), expected, atol=2e-6)


@pytest.mark.parametrize("method", ["clp", "clp_umd"])
def test_a_remap_is_applied_to_vectors_that_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    folder, batch = str(encoder_folders()[1]), pairs(12)
    x, z = RNG.normal(size=(2, 90, 32))
    maps.fit(x, z, maps.RemapFacts(method)).save(tmp_path / "fitted.remap")
    metric = load(f"xmoverscore:encoder={folder},layer=2,lm=off,remap={tmp_path / 'fitted.remap'}")
    expected = metric.statistics(batch)
    monkeypatch.setattr(encode.load_encoder(folder), "stays", True)
    np.testing.assert_allclose(metric.statistics(batch), expected, atol=2e-6)


def test_a_metric_that_knows_nothing_of_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    """It reads `vectors`, which are then fetched."""

    class Own(ContextualMetric):
        presets = {"default": {"unescape": False, "lowercase": "off"}}  # noqa: RUF012

        def __init__(self, preset: str = "default", layer: int | None = 2) -> None:
            self.preset, self.layer, self.encoder = preset, layer, str(encoder_folders()[1])

        @property
        def options(self) -> Any:
            from types import SimpleNamespace

            return SimpleNamespace(layer=2, unescape=False, lowercase="off")

        def units(self, tokens: TokenVectors, side: str, lang: str | None) -> Units:
            ends = np.stack([np.arange(len(tokens.ids))] * 2, axis=1)
            return Units(tokens.offsets, tokens.vectors * 2, np.ones(len(tokens.ids)), ends)

        def compare(self, left: Units, lefts: Any, right: Units, rights: Any) -> FloatArray:
            means = [
                [units.vectors[units.offsets[i] : units.offsets[i + 1]].mean() for i in texts]
                for units, texts in ((left, lefts), (right, rights))
            ]
            return (np.array(means[0]) - np.array(means[1]))[:, None]

    batch = pairs(5)
    expected = Own().statistics(batch)
    monkeypatch.setattr(encode.load_encoder(str(encoder_folders()[1])), "stays", True)
    np.testing.assert_allclose(Own().statistics(batch), expected, atol=1e-6)


# the embedded encoder in torch

SENTENCES = [
    "The committee postponed its decision until Friday, to everyone's surprise.",
    "Der Ausschuss hat seine Entscheidung überraschend auf Freitag verschoben.",
    "It rains.",
    "В субботу музей закрыт из-за ремонта, сообщила администрация города.",
]


def restored(**settings: Any) -> RestoredEncoder:
    return RestoredEncoder(shipped("encoder"), EncoderSettings(device="cpu", **settings))


def test_weights_are_read_as_the_package_onnx_reads_them() -> None:
    path = shipped("encoder") / "model.onnx"
    nodes, tables = read_graph(path)
    graph = onnx.load(path).graph
    assert [node.kind for node in nodes] == [node.op_type for node in graph.node]
    assert [node.inputs for node in nodes] == [list(node.input) for node in graph.node]
    assert len(tables) == len(graph.initializer)
    for stored in graph.initializer:
        expected = numpy_helper.to_array(stored)
        assert tables[stored.name].dtype == expected.dtype
        np.testing.assert_array_equal(tables[stored.name], expected)


def test_the_embedded_encoder_in_torch_gives_what_onnxruntime_gives() -> None:
    exact, other = OnnxEncoder(shipped("encoder"), EncoderSettings()), restored()
    assert (other.fingerprint, other.default_layer) == (exact.fingerprint, exact.default_layer)
    for layer in (1, exact.default_layer["source"]):
        expected, found = exact.encode(SENTENCES, layer), other.encode(SENTENCES, layer)
        np.testing.assert_array_equal(found.ids, expected.ids)
        a, b = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in
                (found.vectors, expected.vectors))  # fmt: skip
        assert (a * b).sum(axis=1).min() > 0.998  # activations of 8 bits against whole ones
    assert_same(staying(other).encode_in_place(SENTENCES, 3), restored().encode(SENTENCES, 3))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_scores_of_the_embedded_encoder_in_torch(
    dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = Segments(SENTENCES, SENTENCES[::-1], [(text,) for text in [*SENTENCES[1:], "Snow."]])
    metrics = [load(spec) for spec in ("bertscore", "xmoverscore:lm=off", "yisi-2")]
    expected = [metric.segment_score(metric.statistics(batch)) for metric in metrics]
    encoder = staying(restored(dtype=dtype))
    monkeypatch.setattr(ContextualMetric, "model", property(lambda _: encoder))
    for metric, scores in zip(metrics, expected, strict=True):
        found = metric.segment_score(metric.statistics(batch))
        np.testing.assert_allclose(found, scores, atol=0.02)  # docs/encoders.md states this
        assert np.corrcoef(found, scores)[0, 1] > 0.999
        assert metric.versions()["dtype"] == dtype


def test_turned_numbers_of_a_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(shipped("encoder"), tmp_path / "encoder")
    card = tmp_path / "encoder" / "card.json"
    card.write_text(json.dumps(json.loads(card.read_text("utf-8")) | {"turned": 48}), "utf-8")
    encoder = RestoredEncoder(tmp_path / "encoder", EncoderSettings(device="cpu"))
    monkeypatch.setattr(ContextualMetric, "model", property(lambda _: encoder))
    batch = Segments(SENTENCES, SENTENCES[::-1])
    metric = load("yisi-2")
    expected = metric.statistics(batch)
    staying(encoder)
    np.testing.assert_allclose(metric.statistics(batch), expected, atol=2e-6)
    plain = staying(restored())
    monkeypatch.setattr(ContextualMetric, "model", property(lambda _: plain))
    assert np.abs(metric.statistics(batch) - expected).max() > 0.01


def test_which_folder_runs_in_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours on a GPU; a network of another build stays with onnxruntime."""
    assert restorable(shipped("encoder"))
    assert not restorable(encoder_folders()[0])
    assert not restorable(Path("nowhere"))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    with encode.load.configured(device="cuda"):
        assert isinstance(encode.load_encoder("embedded"), RestoredEncoder)
        assert encode.load_encoder("embedded").dtype == "bfloat16"
        assert not isinstance(encode.load_encoder(str(encoder_folders()[0])), RestoredEncoder)
    for name in ("auto", "cpu"):
        with encode.load.configured(device=name):
            assert not isinstance(encode.load_encoder("embedded"), RestoredEncoder)


@pytest.mark.parametrize("given", [None, SENTENCES[::-1]])
def test_the_embedded_language_model_in_torch(given: list[str] | None) -> None:
    folder, settings = shipped("fluency"), EncoderSettings(device="cpu")
    exact, other = OnnxLanguageModel(folder, settings), RestoredLanguageModel(folder, settings)
    texts = [*SENTENCES, "", "It rains. " * 200]
    if given is not None:
        given = [*given, "", "Es regnet. " * 200]
    expected, offsets = exact.logprobs(texts, given=given)
    found, found_offsets = other.logprobs(texts, given=given)
    np.testing.assert_array_equal(found_offsets, offsets)
    means, wanted = (mean_scores(x, offsets) for x in (found, expected))
    np.testing.assert_allclose(means, wanted, atol=0.1)  # nats per piece: 8 bits against whole
    assert other.dtype == "float32"


def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


def no_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)


@pytest.mark.parametrize(
    ("lacking", "message"), [(no_gpu, "no CUDA GPU is there"), (no_torch, "need torch: pip")]
)
def test_what_a_gpu_needs_is_said_plainly(
    lacking: Callable[[pytest.MonkeyPatch], None], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lacking(monkeypatch)
    with encode.load.configured(device="cuda"), pytest.raises(ResourceError, match=message):
        encode.load_encoder("embedded")
    with encode.load.configured(device="cuda"), pytest.raises(ResourceError, match=message):
        encode.load_language_model("embedded")


def test_a_file_that_is_no_network_of_ours(tmp_path: Path) -> None:
    with pytest.raises(ResourceError, match="was not written by `mtgauge train export"):
        read_weights(encoder_folders()[0] / "model.onnx", causal=False)
    (tmp_path / "model.onnx").write_bytes(b"no model")
    with pytest.raises(ResourceError, match="is no ONNX model"):
        read_graph(tmp_path / "model.onnx")
