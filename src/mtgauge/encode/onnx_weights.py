"""Weights of the networks that `mtgauge train export` wrote, read back from their ONNX file.

    network = restored(Path("models/encoder/model.onnx"), Encoder)
    network = restored(Path("models/fluency/model.onnx"), Causal)

Weights stand where `train/onnx/graph.py` put them, and are unpacked from 8 bits. The file is read
by `onnx_graph.py`, so the package onnx is not needed to run the embedded encoder in torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from mtgauge.encode.onnx_graph import Node, Tables
from mtgauge.encode.shared import read_whole_graph
from mtgauge.errors import ResourceError

if TYPE_CHECKING:
    from mtgauge.encode.transformer import Causal, Encoder

Network = TypeVar("Network", "Encoder", "Causal")
Float = NDArray[np.float32]


def read_weights(path: Path, *, causal: bool) -> tuple[dict[str, Float], dict[str, int]]:
    """Weights by their names in torch, and the sizes of their network."""
    nodes, tables = read_whole_graph(path)
    try:
        return weights_of(nodes, tables, causal=causal)
    except (KeyError, StopIteration, IndexError, ValueError) as error:
        name = "fluency" if causal else "encoder"
        raise ResourceError(
            f"{path} was not written by `mtgauge train export --kind {name}` ({error!r}): start "
            "from the model's torch weights instead."
        ) from None


def restored(path: Path, kind: type[Network]) -> Network:
    """The network of an ONNX file in torch: it gives what onnxruntime gives, up to rounding."""
    import torch

    from mtgauge.encode.transformer import Causal, Shape

    weights, sizes = read_weights(path, causal=issubclass(kind, Causal))
    network = kind(Shape(**sizes))
    network.load_state_dict({name: torch.from_numpy(w.copy()) for name, w in weights.items()})
    return network.eval()


def restorable(folder: Path) -> bool:
    """Whether the folder's network is one of ours, whose weights can be read back."""
    if not (folder / "model.onnx").is_file():
        return False
    nodes, tables = read_whole_graph(folder / "model.onnx")
    return "pieces.w" in tables and any(n.kind == "MultiHeadAttention" for n in nodes)


def weights_of(
    nodes: Sequence[Node], tables: Tables, *, causal: bool
) -> tuple[dict[str, Float], dict[str, int]]:
    """Tables, linear layers and norms by their names in torch, and the sizes they imply."""
    found = {
        "positions.weight": tables["positions"].astype(np.float32),
        "pieces.weight": _rows(tables, "pieces"),
    }
    if causal:
        found |= {f"{name}.weight": _matrix(tables, name) for name in ("widen", "narrow")}
    attention = [n for n in nodes if n.kind == "MultiHeadAttention"]
    norms = [n for n in nodes if n.kind == "LayerNormalization"]
    inner = [f"blocks.{i}.norm{k}" for i in range(len(attention)) for k in (1, 2)]
    for name, node in zip([*inner, "norm"] if causal else ["norm", *inner], norms, strict=True):
        found[f"{name}.weight"] = tables[node.inputs[1]].astype(np.float32)
        found[f"{name}.bias"] = tables[node.inputs[2]].astype(np.float32)
    for i, node in enumerate(attention):
        for part in ("qkv", "out", "up", "down"):
            name = f"blocks.{i}.{part}"
            bias = node.inputs[3] if part == "qkv" else f"{name}.b"
            found[f"{name}.weight"] = _matrix(tables, name)
            found[f"{name}.bias"] = tables[bias].astype(np.float32)
    vocabulary, embedding = found["pieces.weight"].shape
    positions, dim = found["positions.weight"].shape
    sizes = {
        "vocabulary": vocabulary,
        "dim": dim,
        "layers": len(attention),
        "heads": attention[0].wholes["num_heads"],
        "inner": len(found["blocks.0.up.weight"]),
        "positions": positions,
        "embedding": embedding if causal else 0,
    }
    return found, sizes


def _matrix(tables: Tables, name: str) -> Float:
    """A weight (out, in) as `Graph.linear` stored it."""
    whole, scale = tables[name + ".w"].astype(np.float32), tables[name + ".s"].astype(np.float32)
    return np.asarray(whole.T * scale[:, None] * tables[name + ".f"].astype(np.float32))


def _rows(tables: Tables, name: str) -> Float:
    """A table with one scale per row."""
    whole, scale = tables[name + ".w"].astype(np.float32), tables[name + ".s"].astype(np.float32)
    return np.asarray(whole * scale.reshape(-1, 1))
