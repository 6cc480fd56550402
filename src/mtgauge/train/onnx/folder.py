"""The folder that a training run leaves: ONNX to score with, safetensors to train on, a card.

write_head(out, model, card)             model.onnx  weights.safetensors  card.json
write_regressor(out, model, card, ...)   model.onnx  head.onnx  tokenizer.json  ...
"""

from __future__ import annotations

import io
import shutil
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import onnx
import torch
from torch import Tensor, nn

from mtgauge._version import __version__
from mtgauge.encode.model_folder import fingerprint
from mtgauge.train.nets.heads import ContextModel
from mtgauge.train.nets.regressor import EmbeddedPairs, Regressor
from mtgauge.train.nets.weights import TRAINED, write_tensors
from mtgauge.train.onnx.card import write_card
from mtgauge.train.onnx.graph import pair_graph
from mtgauge.train.onnx.int8 import quantise_weights, sample_inputs

_OPSET = 18


def write_head(out: Path, model: ContextModel, card: dict[str, Any]) -> None:
    """The head alone; the mix of layers is in the card, since it is applied text by text."""
    model = model.cpu().eval()
    width = model.width
    example = (
        torch.zeros(1, 2, width),
        torch.ones(1, 2, dtype=torch.long),
        torch.zeros(1, 3, width),
        torch.ones(1, 3, dtype=torch.long),
    )
    names = ["first", "first_mask", "second", "second_mask"]
    axes = {name: {0: "n", 1: f"{name}_tokens"} for name in names}
    graph = _export(_Mixed(model), example, names, "score", axes)
    _save_onnx(quantise_weights(graph), out / "model.onnx")
    mix = [round(float(w), 6) for w in model.mix.weights().detach()]
    _finish(out, model, card | {"mix": mix})


def write_regressor(
    out: Path,
    model: Regressor,
    card: dict[str, Any],
    tokenizer: Path | None,
    sample: Sequence[Sequence[int]],
) -> None:
    """The encoder side and the head; they are apart, since two views share the encoder."""
    model = model.cpu().eval()
    if isinstance(model.encoder, EmbeddedPairs):
        graph = _embedded_graph(model.encoder, model.pool, sample)
    else:
        names = list(card["inputs"])
        example = tuple(torch.ones(2, 5, dtype=torch.long) for _ in names)
        axes = {name: {0: "n", 1: "tokens"} for name in names}
        graph = quantise_weights(_export(_Vector(model, names), example, names, "vector", axes))
    _save_onnx(graph, out / "model.onnx")
    head = _export(
        model.head,
        (torch.zeros(2, len(model.slots), model.width), torch.ones(2, len(model.slots))),
        ["states", "given"],
        "score",
        {"states": {0: "n"}, "given": {0: "n"}},
    )
    _save_onnx(quantise_weights(head), out / "head.onnx")
    # The package's encoder has its tokenizer in the package: no second copy of three megabytes.
    # A slow tokenizer is a folder, and was written here before training.
    place = out / "tokenizer.json"
    own = card["encoder"] != "embedded" and tokenizer is not None and tokenizer.is_file()
    if tokenizer is not None and own and tokenizer.resolve() != place.resolve():
        shutil.copyfile(tokenizer, place)
    _finish(out, model, card)


def _embedded_graph(
    pairs: EmbeddedPairs, pool: str, sample: Sequence[Sequence[int]]
) -> onnx.ModelProto:
    """The package's encoder in int8; its layers are fitted to `sample` inputs (piece numbers)."""
    weights = {k: v.detach().float().numpy() for k, v in pairs.encoder.state_dict().items()}
    seen = sample_inputs(pairs.encoder, [list(row) for row in sample])
    types = pairs.types.weight.detach().float().numpy()
    return pair_graph(weights, pairs.encoder.shape, seen, types, pool)


class _Mixed(nn.Module):
    """A head whose layers are already mixed: (n, t, d) instead of (n, layers, t, d)."""

    def __init__(self, model: ContextModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, a: Tensor, a_mask: Tensor, b: Tensor, b_mask: Tensor) -> Tensor:
        return self.model.compare(a, a_mask, b, b_mask)


class _Vector(nn.Module):
    """The encoder side of a regressor, with the inputs that its encoder reads."""

    def __init__(self, model: Regressor, names: Sequence[str]) -> None:
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *inputs: Tensor) -> Tensor:
        given = dict(zip(self.names, inputs, strict=True))
        zeros = torch.zeros_like(inputs[0])
        return self.model.vector(
            given["input_ids"],
            given["attention_mask"],
            given.get("token_type_ids", zeros),
            given.get("langs", zeros),
        )


def _export(
    module: nn.Module,
    example: tuple[Tensor, ...],
    inputs: list[str],
    output: str,
    axes: dict[str, dict[int, str]],
) -> onnx.ModelProto:
    """One output; batch and length stay open."""
    module.eval()  # the export would put a wrapper's mode back, and its parts into training
    buffer: Any = io.BytesIO()
    with warnings.catch_warnings():
        # Tracing warns of shapes it takes as fixed; the tests compare other shapes with torch.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module,
            example,
            buffer,
            input_names=inputs,
            output_names=[output],
            dynamic_axes=axes | {output: {0: "n"}},
            opset_version=_OPSET,
            dynamo=False,
        )
    return onnx.load_from_string(buffer.getvalue())


def _save_onnx(model: onnx.ModelProto, path: Path) -> None:
    model.doc_string, model.producer_name = "", "mtgauge"
    for node in model.graph.node:
        node.doc_string = ""
    path.write_bytes(model.SerializeToString())


def _finish(out: Path, model: nn.Module, card: dict[str, Any]) -> None:
    write_tensors(out / TRAINED, model.state_dict())
    marks = {"fingerprint": fingerprint(out, card["kind"]), "mtgauge": __version__}
    write_card(out, card | marks)
