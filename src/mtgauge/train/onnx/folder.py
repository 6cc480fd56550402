"""The folder that a training run leaves: ONNX to score with, safetensors to train on, a card.

    write_context(out, model, card)          model.onnx  weights.safetensors  card.json
    write_regressor(out, model, card, ...)   model.onnx  head.onnx  tokenizer.json  ...

The card comes last: a folder with a card is a whole model, and `mtgauge score` refuses one without.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from mtgauge._version import __version__
from mtgauge.encode.model_folder import fingerprint
from mtgauge.errors import ResourceError, UsageError
from mtgauge.train.nets.heads import ContextModel
from mtgauge.train.nets.regressor import EmbeddedPairs, Regressor
from mtgauge.train.onnx import int8
from mtgauge.train.onnx.export import sample_inputs
from mtgauge.train.onnx.graph import Graph

_OPSET = 18
WARM_FACTS = ("steps", "epochs", "seconds", "mean", "warm")  # of an earlier run, for the card


def write_context(out: Path, model: ContextModel, card: dict[str, Any]) -> None:
    """The head alone; the mix of layers is in the card, since it is applied a text at a time."""
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
    _save_onnx(int8.small(graph), out / "model.onnx")
    mix = [round(float(w), 6) for w in model.mix.weights().detach()]
    _finish(out, model, card | {"mix": mix})


def write_regressor(
    out: Path,
    model: Regressor,
    card: dict[str, Any],
    tokenizer: Path,
    sample: Sequence[Sequence[int]],
) -> None:
    """The encoder side and the head; they are apart, since two views share the encoder."""
    model = model.cpu().eval()
    if isinstance(model.encoder, EmbeddedPairs):
        graph = regressor_graph(model.encoder, model.pool, sample)
    else:
        names = list(card["inputs"])
        example = tuple(torch.ones(2, 5, dtype=torch.long) for _ in names)
        axes = {name: {0: "n", 1: "tokens"} for name in names}
        graph = int8.small(_export(_Vector(model, names), example, names, "vector", axes))
    _save_onnx(graph, out / "model.onnx")
    head = _export(
        model.head,
        (torch.zeros(2, len(model.slots), model.width), torch.ones(2, len(model.slots))),
        ["states", "given"],
        "score",
        {"states": {0: "n"}, "given": {0: "n"}},
    )
    _save_onnx(int8.small(head), out / "head.onnx")
    # The package's encoder has its tokenizer in the package: no second copy of three megabytes.
    if card["encoder"] != "embedded" and tokenizer.resolve() != (out / "tokenizer.json").resolve():
        shutil.copyfile(tokenizer, out / "tokenizer.json")
    digest = hashlib.sha256(tokenizer.read_bytes()).hexdigest()
    _finish(out, model, card | {"tokenizer_sha256": digest})


def regressor_graph(
    pairs: EmbeddedPairs, pool: str, sample: Sequence[Sequence[int]]
) -> onnx.ModelProto:
    """The package's encoder with token types, and the vector of an input: (n, width).

    `sample` holds inputs as piece numbers, on which the size of activations is measured.
    """
    shape = pairs.encoder.shape
    w = {k: v.detach().float().numpy() for k, v in pairs.encoder.state_dict().items()}
    g = Graph(sample_inputs(pairs.encoder, [list(row) for row in sample]))
    types = g.constant(pairs.types.weight.detach().float().numpy(), "types")
    x = g.node(
        "Add",
        g.rows("input_ids", w["pieces.weight"], "pieces"),
        g.positions("input_ids", w["positions.weight"]),
    )
    x = g.node("Add", x, g.node("Gather", types, "token_type_ids"))
    x = g.norm(x, w["norm.weight"], w["norm.bias"], 1e-12)
    mask = g.node("Cast", "attention_mask", to=onnx.TensorProto.INT32)
    for i in range(shape.layers):
        x = g.block(x, w, f"blocks.{i}.", shape.heads, mask, causal=False, out=f"state_{i + 1}")
    begin, end = g.constant(np.array([0])), g.constant(np.array([1]))
    first = g.node("Squeeze", g.node("Slice", x, begin, end, end), end)
    if pool == "first":
        g.node("Identity", first, out="vector")
    else:
        others = g.node("Mul", "attention_mask", "token_type_ids")
        b = _mean_node(g, x, others)
        a = _mean_node(g, x, g.node("Sub", "attention_mask", others))
        apart = g.node("Abs", g.node("Sub", a, b))
        g.node("Concat", first, g.node("Mul", a, b), apart, axis=-1, out="vector")
    width = shape.dim * (1 if pool == "first" else 3)
    return g.model(["input_ids", "attention_mask", "token_type_ids"], {"vector": ["batch", width]})


def _mean_node(g: Graph, states: str, mask: str) -> str:
    """Mean of the states where the mask is 1; zero where it is nowhere."""
    last, middle = g.constant(np.array([-1])), g.constant(np.array([1]))
    weights = g.node("Unsqueeze", g.node("Cast", mask, to=onnx.TensorProto.FLOAT), last)
    total = g.node("ReduceSum", g.node("Mul", states, weights), middle, keepdims=0)
    count = g.node("ReduceSum", weights, middle, keepdims=0)
    return g.node("Div", total, g.node("Max", count, g.constant(np.ones(1, np.float32))))


def write_weights(out: Path, model: nn.Module, facts: dict[str, Any]) -> dict[str, Any]:
    """What was trained, in half precision, with the facts of its run: for `load_warm`."""
    half = {n: p.detach().half().cpu() for n, p in model.named_parameters() if p.requires_grad}
    header = {"format": "pt", "facts": json.dumps(facts)}
    save_file(half, out / "weights.safetensors", metadata=header)
    return facts


def load_warm(path: Path, model: nn.Module) -> dict[str, Any]:
    """Put stored weights into a model; returns what its card says of where they are from."""
    try:
        with safe_open(path, framework="pt") as file:
            header = file.metadata() or {}
            tensors = {name: file.get_tensor(name).float() for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise ResourceError(f"{path} cannot be read ({error}).") from None
    own = model.state_dict()
    lacking = [n for n, p in model.named_parameters() if p.requires_grad and n not in tensors]
    strange = [n for n, t in tensors.items() if n not in own or own[n].shape != t.shape]
    if lacking or strange:
        raise UsageError(
            f"{path} is of another model ({', '.join([*lacking, *strange][:3])}, ...): "
            "say the same --pool, --head, --hidden, --views and --freeze-embeddings."
        )
    model.load_state_dict(tensors, strict=False)
    facts = json.loads(header.get("facts", "{}"))
    return {"warm": {name: facts[name] for name in WARM_FACTS if name in facts}}


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
    weights = {k: v.detach().contiguous().clone() for k, v in model.state_dict().items()}
    save_file(weights, out / "weights.safetensors", metadata={"format": "pt"})
    card = card | {"fingerprint": fingerprint(out, card["kind"]), "mtgauge": __version__}
    fresh = out / "card.fresh"
    fresh.write_text(json.dumps(card, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(fresh, out / "card.json")
