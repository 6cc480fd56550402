"""The package's encoder back in torch, from its ONNX file: what a metric is fine-tuned from.

    encoder = encoder_from_onnx(Path("models/encoder/model.onnx"))

Weights are read where `graph` put them, and unpacked from 8 bits (three axes: the blocks of a
MatMulNBits, as in older files); the torch model then gives the vectors that onnxruntime gives, up
to rounding.
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
from mtgauge.train.graph import Float
from mtgauge.train.model import Encoder, Shape

Tables = dict[str, NDArray[np.generic]]


class Blocks(NamedTuple):
    weights: dict[str, Float]
    layers: int
    heads: int


def encoder_from_onnx(path: Path) -> Encoder:
    graph = onnx.load(path).graph
    tables = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    nodes = list(graph.node)
    try:
        read = blocks(nodes, tables, ["norm"], [])
        weights = read.weights | {"pieces.weight": _pieces(nodes, tables)}
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
            f"{path} was not written by `mtgauge train export --kind encoder` ({error!r}): name "
            "the encoder's torch weights with --weights."
        ) from None
    return encoder


def matrix(tables: Tables, name: str) -> Float:
    """A weight (out, in) as `Graph.linear` stored it, or as a MatMulNBits around 128."""
    whole, scale = tables[name + ".w"].astype(np.float32), tables[name + ".s"].astype(np.float32)
    if whole.ndim == 3:
        return np.asarray(((whole - 128) * scale[..., None]).reshape(len(whole), -1))
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


def _pieces(nodes: list[onnx.NodeProto], tables: Tables) -> Float:
    """The encoder's piece table; its scales are whatever else is looked up by input_ids."""
    scale = next(
        n.input[0]
        for n in nodes
        if n.op_type == "Gather" and n.input[1] == "input_ids" and n.input[0] != "pieces.w"
    )
    return np.asarray(tables["pieces.w"].astype(np.float32) * tables[scale].astype(np.float32))
