"""The package's language model back in torch, from its ONNX file: to be trained further.

    model = causal_from_onnx(Path("models/fluency/model.onnx"))

The encoder's twin of this is `restore`.
"""

from __future__ import annotations

from pathlib import Path

import torch
from onnx import numpy_helper

from mtgauge.errors import ResourceError
from mtgauge.train.nets.transformer import Causal, Shape
from mtgauge.train.onnx.restore import blocks, matrix, pieces, read_graph


def causal_from_onnx(path: Path) -> Causal:
    graph = read_graph(path)
    tables = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    try:
        read = blocks(list(graph.node), tables, [], ["norm"])
        found = read.weights | {
            "pieces.weight": pieces(tables),
            "widen.weight": matrix(tables, "widen"),
            "narrow.weight": matrix(tables, "narrow"),
        }
        vocabulary, embedding = found["pieces.weight"].shape
        positions, dim = found["positions.weight"].shape
        inner = len(found["blocks.0.up.weight"])
        model = Causal(Shape(vocabulary, dim, *read[1:], inner, positions, embedding))
        model.load_state_dict({name: torch.from_numpy(w.copy()) for name, w in found.items()})
    except (KeyError, IndexError, StopIteration, ValueError, RuntimeError) as error:
        raise ResourceError(
            f"{path} was not written by `mtgauge train export --kind fluency` ({error!r}): start "
            "from the model's torch weights instead."
        ) from None
    return model
