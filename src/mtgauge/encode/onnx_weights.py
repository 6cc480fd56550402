"""Weights of the networks that `mtgauge train export` wrote, read back from their ONNX file.

    network = restored(Path("models/encoder/model.onnx"), Encoder)
    network = restored(Path("models/fluency/model.onnx"), Causal)

Weights stand where `train/onnx/graph.py` put them, and are unpacked from 8 bits. The file is read
as `trim.py` reads it, so the package onnx is not needed to run the embedded encoder in torch.
Limits: tables with raw bytes only, which is how they are written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from mtgauge.encode.trim import GRAPH, INPUTS, NODE, fields, read_varint, texts
from mtgauge.errors import ResourceError

if TYPE_CHECKING:
    from mtgauge.encode.transformer import Causal, Encoder

Network = TypeVar("Network", "Encoder", "Causal")
Float = NDArray[np.float32]
Tables = dict[str, NDArray[np.generic]]
INITIALIZER = 5  # of a graph
KIND, ATTRIBUTE = 4, 5  # of a node
NAME, WHOLE = 1, 3  # of an attribute: its name, its value where that is an integer
SIZES, TYPE, TITLE, BYTES = 1, 2, 8, 9  # of a table
TYPES = {1: "<f4", 2: "u1", 3: "i1", 6: "<i4", 7: "<i8", 9: "?", 10: "<f2", 11: "<f8"}


@dataclass(frozen=True)
class Node:
    kind: str
    inputs: list[str]
    wholes: dict[str, int]  # attributes that are integers


def read_graph(path: Path) -> tuple[list[Node], Tables]:
    """Nodes in their order, and tables by name."""
    try:
        data = memoryview(path.read_bytes())
        graph = next(data[body:end] for field, _, body, end in fields(data) if field == GRAPH)
        parts = [(field, graph[body:end]) for field, _, body, end in fields(graph)]
        nodes = [_node(part) for field, part in parts if field == NODE]
        return nodes, dict(_table(part) for field, part in parts if field == INITIALIZER)
    except (OSError, ValueError, StopIteration, KeyError) as error:
        raise ResourceError(f"{path} is no ONNX model ({error}).") from None


def read_weights(path: Path, *, causal: bool) -> tuple[dict[str, Float], dict[str, int]]:
    """Weights by their names in torch, and the sizes of their network."""
    nodes, tables = read_graph(path)
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
    nodes, tables = read_graph(folder / "model.onnx")
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


def _node(message: memoryview) -> Node:
    wholes = {}
    for field, _, body, end in fields(message):
        if field == ATTRIBUTE:
            part = message[body:end]
            for inner, _, at, _ in fields(part):
                if inner == WHOLE:
                    wholes[texts(part, NAME)[0]] = read_varint(part, at)[0]
    return Node("".join(texts(message, KIND)), texts(message, INPUTS), wholes)


def _table(message: memoryview) -> tuple[str, NDArray[np.generic]]:
    sizes: list[int] = []
    kind, raw = 0, memoryview(b"")
    for field, _, body, end in fields(message):
        if field == SIZES:
            # one number, or several packed into bytes
            at = body
            while at < end:
                size, at = read_varint(message, at)
                sizes.append(size)
        elif field == TYPE:
            kind = read_varint(message, body)[0]
        elif field == BYTES:
            raw = message[body:end]
    (name,) = texts(message, TITLE)
    return name, np.frombuffer(raw, TYPES[kind]).reshape(sizes)
