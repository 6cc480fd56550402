"""The package's language model back in torch, from its ONNX file: to be trained further.

    model = causal_from_onnx(Path("models/fluency/model.onnx"))

The encoder's twin of this is `restore`. Only the form `blocks` of `graph` is read.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import numpy_helper

from mtgauge.errors import ResourceError
from mtgauge.train.graph import Float
from mtgauge.train.model import Causal, Shape


def _matrix(tables: dict[str, NDArray[np.generic]], name: str) -> Float:
    """A weight (out, in) from its blocks."""
    whole = tables[name + ".w"].astype(np.float32) - 128
    scale = tables[name + ".s"].astype(np.float32)
    return np.asarray((whole * scale[..., None]).reshape(len(whole), -1), dtype=np.float32)


def causal_from_onnx(path: Path) -> Causal:
    graph = onnx.load(path).graph
    tables = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    attention = [n for n in graph.node if n.op_type == "MultiHeadAttention"]
    norms = [n for n in graph.node if n.op_type == "LayerNormalization"]
    layers = len(attention)
    try:
        found = {
            "pieces.weight": _matrix(tables, "pieces"),
            "positions.weight": tables["positions"].astype(np.float32),
            "widen.weight": _matrix(tables, "widen"),
            "narrow.weight": _matrix(tables, "narrow"),
        }
        for i in range(layers):
            for part in ("qkv", "out", "up", "down"):
                found[f"blocks.{i}.{part}.weight"] = _matrix(tables, f"blocks.{i}.{part}")
                bias = attention[i].input[3] if part == "qkv" else f"blocks.{i}.{part}.b"
                found[f"blocks.{i}.{part}.bias"] = tables[bias].astype(np.float32)
        names = [f"blocks.{i}.norm{k}" for i in range(layers) for k in (1, 2)] + ["norm"]
        for name, node in zip(names, norms, strict=True):
            found[name + ".weight"] = tables[node.input[1]].astype(np.float32)
            found[name + ".bias"] = tables[node.input[2]].astype(np.float32)
        heads = next(a.i for a in attention[0].attribute if a.name == "num_heads")
        vocabulary, embedding = found["pieces.weight"].shape
        positions, dim = found["positions.weight"].shape
        inner = len(found["blocks.0.up.weight"])
        model = Causal(Shape(vocabulary, dim, layers, heads, inner, positions, embedding))
        model.load_state_dict({name: torch.from_numpy(w.copy()) for name, w in found.items()})
    except (KeyError, IndexError, StopIteration, ValueError, RuntimeError) as error:
        raise ResourceError(
            f"{path} was not written by `mtgauge train export --kind fluency` ({error!r}): start "
            "from the model's torch weights instead."
        ) from None
    return model
