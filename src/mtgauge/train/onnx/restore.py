"""The package's encoder back in torch, from its ONNX file: what a metric is fine-tuned from.

    encoder = encoder_from_onnx(Path("models/encoder/model.onnx"))

Weights are read where `graph` put them, and unpacked from 8 bits; the torch model then gives the
vectors that onnxruntime gives, up to rounding.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import numpy_helper

from mtgauge.errors import ResourceError
from mtgauge.train.nets.transformer import Encoder, Shape
from mtgauge.train.onnx.graph import Float

Tables = dict[str, NDArray[np.generic]]


class Blocks(NamedTuple):
    weights: dict[str, Float]
    layers: int
    heads: int


def read_graph(path: Path) -> onnx.GraphProto:
    try:
        return onnx.load(path).graph
    except Exception as error:  # protobuf raises a class of its own for what is no model
        raise ResourceError(f"{path} is no ONNX model ({error}).") from None


def encoder_from_onnx(path: Path) -> Encoder:
    graph = read_graph(path)
    tables = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    nodes = list(graph.node)
    try:
        read = blocks(nodes, tables, ["norm"], [])
        weights = read.weights | {"pieces.weight": pieces(tables)}
        shape = Shape(
            vocabulary=len(weights["pieces.weight"]),
            dim=weights["pieces.weight"].shape[1],
            layers=read.layers,
            heads=read.heads,
            inner=len(weights["blocks.0.up.weight"]),
            positions=len(weights["positions.weight"]),
        )
        encoder = Encoder(shape)
        encoder.load_state_dict({name: torch.from_numpy(w.copy()) for name, w in weights.items()})
    except (KeyError, StopIteration, IndexError, ValueError, RuntimeError) as error:
        raise ResourceError(
            f"{path} was not written by `mtgauge train export --kind encoder` ({error!r}): start "
            "from the encoder's torch weights instead."
        ) from None
    return encoder


def matrix(tables: Tables, name: str) -> Float:
    """A weight (out, in) as `Graph.linear` stored it."""
    whole, scale = tables[name + ".w"].astype(np.float32), tables[name + ".s"].astype(np.float32)
    return np.asarray(whole.T * scale[:, None] * tables[name + ".f"].astype(np.float32))


def blocks(
    nodes: list[onnx.NodeProto], tables: Tables, first: list[str], last: list[str]
) -> Blocks:
    """Linear layers and norms of the blocks; `first` and `last` name the norms outside of them."""
    found: dict[str, Float] = {"positions.weight": tables["positions"].astype(np.float32)}
    attention = [n for n in nodes if n.op_type == "MultiHeadAttention"]
    norms = [n for n in nodes if n.op_type == "LayerNormalization"]
    inner = [f"blocks.{i}.norm{k}" for i in range(len(attention)) for k in (1, 2)]
    for name, node in zip([*first, *inner, *last], norms, strict=True):
        found[f"{name}.weight"] = tables[node.input[1]].astype(np.float32)
        found[f"{name}.bias"] = tables[node.input[2]].astype(np.float32)
    for i, node in enumerate(attention):
        for part in ("qkv", "out", "up", "down"):
            name = f"blocks.{i}.{part}"
            bias = node.input[3] if part == "qkv" else f"{name}.b"
            found[f"{name}.weight"] = matrix(tables, name)
            found[f"{name}.bias"] = tables[bias].astype(np.float32)
    heads = next(a.i for a in attention[0].attribute if a.name == "num_heads")
    return Blocks(found, len(attention), int(heads))


def pieces(tables: Tables) -> Float:
    """The piece table, a scale a row."""
    whole, scale = tables["pieces.w"].astype(np.float32), tables["pieces.s"].astype(np.float32)
    return np.asarray(whole * scale.reshape(-1, 1))
