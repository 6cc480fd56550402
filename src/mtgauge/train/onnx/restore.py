"""The embedded models back in torch: from ONNX, safetensors of a run, or int8 rows.

    encoder = load_encoder(Path("models/encoder/model.onnx"))      # or student.safetensors, .npz
    model = load_causal(Path("models/fluency/model.onnx"))         # or fluency.safetensors

In an ONNX file weights are read where `graph` put them, and unpacked from 8 bits; the torch model
then gives what onnxruntime gives, up to rounding.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import numpy_helper
from torch import Tensor

from mtgauge.errors import ResourceError
from mtgauge.train.nets.transformer import Causal, Encoder, Shape
from mtgauge.train.nets.weights import load_rows, load_weights
from mtgauge.train.onnx.graph import Float

Tables = dict[str, NDArray[np.generic]]
Model = TypeVar("Model", Encoder, Causal)
STUDENT = "encoder."  # prefix of the encoder among the weights of its training


def load_encoder(path: Path) -> Encoder:
    """An encoder from an ONNX file, or from the safetensors of its training."""
    if path.suffix == ".onnx":
        return _from_onnx(path, Encoder)
    weights, shape = load_weights(path)
    own = {k.removeprefix(STUDENT): v for k, v in weights.items() if k.startswith(STUDENT)}
    return _filled(Encoder(shape), own, path)


def load_causal(path: Path) -> Causal:
    """A language model from an ONNX file, or from the safetensors of its training."""
    if path.suffix == ".onnx":
        return _from_onnx(path, Causal)
    weights, shape = load_weights(path)
    return _filled(Causal(shape), weights, path)


def _filled(model: Model, weights: dict[str, Tensor], path: Path) -> Model:
    try:
        model.load_state_dict(weights)
    except RuntimeError:
        raise ResourceError(f"{path} holds no {type(model).__name__} but another model.") from None
    return model


def student_weights(path: Path) -> dict[str, Tensor]:
    """What an encoder's training goes on from: its own weights, or those of an encoder alone."""
    if path.suffix not in (".npz", ".onnx"):
        return load_weights(path)[0]
    alone = load_rows([path]) if path.suffix == ".npz" else load_encoder(path).state_dict()
    return {STUDENT + name: value for name, value in alone.items()}


def _from_onnx(path: Path, kind: type[Model]) -> Model:
    try:
        graph = onnx.load(path).graph
    except Exception as error:  # protobuf raises a class of its own for what is no model
        raise ResourceError(f"{path} is no ONNX model ({error}).") from None
    tables = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    try:
        weights, shape = _weights(list(graph.node), tables, causal=kind is Causal)
    except (KeyError, StopIteration, IndexError, ValueError) as error:
        name = "fluency" if kind is Causal else "encoder"
        raise ResourceError(
            f"{path} was not written by `mtgauge train export --kind {name}` ({error!r}): start "
            "from the model's torch weights instead."
        ) from None
    return _filled(kind(shape), {k: torch.from_numpy(w.copy()) for k, w in weights.items()}, path)


def _weights(
    nodes: list[onnx.NodeProto], tables: Tables, causal: bool
) -> tuple[dict[str, Float], Shape]:
    """Tables, linear layers and norms by their names in torch, and the sizes they imply."""
    found = {
        "positions.weight": tables["positions"].astype(np.float32),
        "pieces.weight": _rows(tables, "pieces"),
    }
    if causal:
        found |= {f"{name}.weight": _matrix(tables, name) for name in ("widen", "narrow")}
    attention = [n for n in nodes if n.op_type == "MultiHeadAttention"]
    norms = [n for n in nodes if n.op_type == "LayerNormalization"]
    inner = [f"blocks.{i}.norm{k}" for i in range(len(attention)) for k in (1, 2)]
    for name, node in zip([*inner, "norm"] if causal else ["norm", *inner], norms, strict=True):
        found[f"{name}.weight"] = tables[node.input[1]].astype(np.float32)
        found[f"{name}.bias"] = tables[node.input[2]].astype(np.float32)
    for i, node in enumerate(attention):
        for part in ("qkv", "out", "up", "down"):
            name = f"blocks.{i}.{part}"
            bias = node.input[3] if part == "qkv" else f"{name}.b"
            found[f"{name}.weight"] = _matrix(tables, name)
            found[f"{name}.bias"] = tables[bias].astype(np.float32)
    heads = next(a.i for a in attention[0].attribute if a.name == "num_heads")
    vocabulary, embedding = found["pieces.weight"].shape
    positions, dim = found["positions.weight"].shape
    inner_size = len(found["blocks.0.up.weight"])
    shape = Shape(
        vocabulary, dim, len(attention), int(heads), inner_size, positions, embedding * causal
    )
    return found, shape


def _matrix(tables: Tables, name: str) -> Float:
    """A weight (out, in) as `Graph.linear` stored it."""
    whole, scale = tables[name + ".w"].astype(np.float32), tables[name + ".s"].astype(np.float32)
    return np.asarray(whole.T * scale[:, None] * tables[name + ".f"].astype(np.float32))


def _rows(tables: Tables, name: str) -> Float:
    """A table with one scale per row."""
    whole, scale = tables[name + ".w"].astype(np.float32), tables[name + ".s"].astype(np.float32)
    return np.asarray(whole * scale.reshape(-1, 1))
