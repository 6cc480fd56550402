"""The package's encoder back in torch, from its ONNX file: what a metric is fine-tuned from.

    encoder = encoder_from_onnx(Path("models/encoder/model.onnx"))

Weights are read where `graph` put them, and unpacked from 8 bits; the torch model then gives the
vectors that onnxruntime gives, up to rounding.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper

from mtgauge.errors import ResourceError
from mtgauge.train.graph import Float
from mtgauge.train.model import Encoder, Shape


def encoder_from_onnx(path: Path) -> Encoder:
    graph = onnx.load(path).graph
    tables = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    nodes = list(graph.node)
    try:
        weights, heads = _weights(nodes, tables)
        shape = Shape(
            vocabulary=len(weights["pieces.weight"]),
            dim=weights["pieces.weight"].shape[1],
            layers=len([name for name in weights if name.endswith("qkv.weight")]),
            heads=heads,
            inner=len(weights["blocks.0.up.weight"]),
            positions=len(weights["positions.weight"]),
        )
        encoder = Encoder(shape)
        encoder.load_state_dict({name: torch.from_numpy(w) for name, w in weights.items()})
    except (KeyError, StopIteration, IndexError, RuntimeError) as error:
        raise ResourceError(
            f"{path} was not written by `mtgauge train export --kind encoder` ({error!r}): name "
            "the encoder's torch weights with --weights."
        ) from None
    return encoder


def _weights(
    nodes: list[onnx.NodeProto], tables: dict[str, np.ndarray]
) -> tuple[dict[str, Float], int]:
    found: dict[str, Float] = {"positions.weight": tables["positions"].copy()}
    scale = next(
        n.input[0]
        for n in nodes
        if n.op_type == "Gather" and n.input[1] == "input_ids" and n.input[0] != "pieces.w"
    )
    found["pieces.weight"] = tables["pieces.w"].astype(np.float32) * tables[scale]
    made_by = {output: n for n in nodes for output in n.output}
    attention = [n for n in nodes if n.op_type == "MultiHeadAttention"]
    norms = [n for n in nodes if n.op_type == "LayerNormalization"]
    names = ["norm"] + [f"blocks.{i}.norm{k}" for i in range(len(attention)) for k in (1, 2)]
    for name, node in zip(names, norms, strict=True):
        found[f"{name}.weight"] = tables[node.input[1]].copy()
        found[f"{name}.bias"] = tables[node.input[2]].copy()
    for i, node in enumerate(attention):
        found[f"blocks.{i}.qkv.bias"] = tables[node.input[3]].copy()
        for part in ("qkv", "out", "up", "down"):
            name = f"blocks.{i}.{part}"
            whole, scale = tables[f"{name}.w"], tables[f"{name}.s"]
            if whole.ndim == 3:  # the form `blocks`: around 128, a scale a block
                parts = (whole.astype(np.float32) - 128) * scale[..., None]
                found[f"{name}.weight"] = parts.reshape(len(whole), -1)
            else:
                weight = whole.T.astype(np.float32) * scale[:, None]
                found[f"{name}.weight"] = weight * _balance(made_by, tables, f"{name}.w")
            if part != "qkv":
                found[f"{name}.bias"] = tables[f"{name}.b"].copy()
    heads = next(a.i for a in attention[0].attribute if a.name == "num_heads")
    return found, int(heads)


def _balance(
    made_by: dict[str, onnx.NodeProto], tables: dict[str, np.ndarray], weight: str
) -> Float | float:
    """The factors by which a layer's input channels were made smaller, 1 where they were not."""
    product = next(n for n in made_by.values() if weight in n.input)
    stretched = made_by[made_by[made_by[product.input[0]].input[0]].input[0]]
    before = made_by[stretched.input[0]]
    if before.op_type == "Mul" and before.input[1] in tables:
        return np.asarray(tables[before.input[1]], dtype=np.float32)
    return 1.0
