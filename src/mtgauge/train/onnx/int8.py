"""Weights in 8 bits: of any ONNX model, and of layers that calculate in 8 bits.

    quantise_weights(model)         every large table of weights as int8, with one scale per row
    fitted8(weight, inputs)         a linear layer in int8 that loses least on sample inputs
    sample_inputs(model, rows)      such inputs of every linear layer of a transformer

After `quantise_weights` the arithmetic stays in float: a table becomes cast and multiply, which
onnxruntime folds when it opens the file; rows of an embedding table are unpacked when they are
looked up. So a score does not depend on its batch mates, and a file is a quarter of its size. The
package's own transformers are
written by `graph` instead, which calculates in 8 bits too (`fitted8`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from torch import nn

from mtgauge.encode.transformer import Ragged

Float = NDArray[np.float32]
SHARES = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)  # of the inputs in the balance with the weights
TRIED = 1024  # inputs on which the balance is tried out
SAMPLES = 6144  # pieces on which a layer is fitted
_LEAST = 4096  # numbers in a table worth packing


def quantise_weights(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with its large float tables as int8 and one scale per row."""
    graph = _Rewrite(model)
    for node in graph.take_nodes():
        if node.op_type == "Gather" and graph.is_table(node.input[0]):
            graph.gather(node)
            continue
        for place, name in enumerate(node.input):
            if graph.is_table(name):
                node.input[place] = graph.unpacked(name)
        graph.nodes.append(node)
    return graph.finish()


class _Rewrite:
    """A graph being written anew, node by node."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self.model = model
        self.nodes: list[onnx.NodeProto] = []
        self.tables = {t.name: t for t in model.graph.initializer}
        self._quantised: dict[str, str] = {}
        self._unpacked: dict[str, str] = {}

    def take_nodes(self) -> list[onnx.NodeProto]:
        nodes = list(self.model.graph.node)
        del self.model.graph.node[:]
        return nodes

    def is_table(self, name: str) -> bool:
        table = self.tables.get(name)
        return (
            table is not None
            and table.data_type == TensorProto.FLOAT
            and len(table.dims) > 1
            and int(np.prod(table.dims)) >= _LEAST
        )

    def add(self, op: str, inputs: list[str], name: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(op, inputs, [name], name, **attributes))
        return name

    def constant(self, name: str, value: NDArray[Any]) -> str:
        self.tables.setdefault(name, numpy_helper.from_array(value, name))
        return name

    def gather(self, node: onnx.NodeProto) -> None:
        """Rows of an embedding table, unpacked after the look-up."""
        name, ids, out = node.input[0], node.input[1], node.output[0]
        if name not in self._quantised:
            values = numpy_helper.to_array(self.tables[name])
            packed, scale = quantise(values, axis=tuple(range(1, values.ndim)))
            self.constant(f"{name}.int8", packed)
            self.constant(f"{name}.scale", scale)
            self._quantised[name] = f"{name}.int8"
        rows = self.add("Gather", [f"{name}.int8", ids], f"{out}.rows", axis=0)
        scales = self.add("Gather", [f"{name}.scale", ids], f"{out}.scales", axis=0)
        cast = self.add("Cast", [rows], f"{out}.float", to=TensorProto.FLOAT)
        self.nodes.append(helper.make_node("Mul", [cast, scales], [out]))

    def unpacked(self, name: str) -> str:
        """A table that the session unpacks when it opens; one scale for each last-axis row."""
        if name not in self._unpacked:
            values = numpy_helper.to_array(self.tables[name])
            packed, scale = quantise(values, axis=(values.ndim - 1,))
            self.constant(f"{name}.int8", packed)
            self.constant(f"{name}.scale", scale)
            cast = self.add("Cast", [f"{name}.int8"], f"{name}.cast", to=TensorProto.FLOAT)
            self._unpacked[name] = self.add("Mul", [cast, f"{name}.scale"], f"{name}.float")
        return self._unpacked[name]

    def finish(self) -> onnx.ModelProto:
        del self.model.graph.initializer[:]
        used = {name for node in self.nodes for name in node.input}
        used |= {output.name for output in self.model.graph.output}
        self.model.graph.initializer.extend(t for n, t in self.tables.items() if n in used)
        self.model.graph.node.extend(self.nodes)
        onnx.checker.check_model(self.model)
        return self.model


def quantise(
    values: NDArray[np.float32], axis: tuple[int, ...]
) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """int8 and its scale: `axis` is what shares one (kept with length 1)."""
    scale = np.abs(values).max(axis=axis, keepdims=True).astype(np.float32) / 127
    scale = np.where(scale > 0, scale, np.float32(1))
    return np.round(values / scale).astype(np.int8), scale.astype(np.float32)


def exact8(weight: Float) -> tuple[NDArray[np.int8], Float]:
    """(out, in) weights as int8 and one scale per row, such that uint8 times int8 never overflows.

    Processors without VNNI add the products of two neighbouring inputs in 16 bits, which holds
    255 * (w1 + w2) as long as |w1 + w2| <= 128; so the scale of a row is set by its largest number
    and by its largest pair. That costs a quarter of the steps, where 7 bits would cost half.
    """
    n, k = weight.shape
    pairs = np.zeros((n, -(-k // 2), 2), np.float32)
    pairs.reshape(n, -1)[:, :k] = weight
    alike = pairs[..., 0] * pairs[..., 1] > 0
    most = np.abs(pairs).max((1, 2)) / 127
    both = (np.abs(pairs.sum(2)) * alike).max(1) / 127  # two roundings up of a half: 128
    scale = np.maximum(np.maximum(most, both), 1e-10).astype(np.float32)
    return np.round(weight / scale[:, None]).astype(np.int8), scale


def sample_inputs(model: nn.Module, rows: list[list[int]]) -> dict[str, Float]:
    """Inputs of every linear layer, by its name: `SAMPLES` pieces of these rows, evenly."""
    seen: dict[str, Float] = {}
    batch = Ragged.of(rows)
    every = max(1, len(batch.ids) // SAMPLES)

    def watch(name: str) -> Any:
        def keep(_: nn.Module, given: tuple[torch.Tensor, ...], __: torch.Tensor) -> None:
            seen[name] = given[0][::every].numpy()

        return keep

    hooks = [
        layer.register_forward_hook(watch(name))
        for name, layer in model.named_modules()
        if isinstance(layer, nn.Linear)
    ]
    with torch.no_grad():
        model(batch)
    for hook in hooks:
        hook.remove()
    return seen


class Layer8(NamedTuple):
    """A linear layer in int8: (x * factor) in uint8 around `zero`, times `whole` (out, in)."""

    factor: Float  # of each input channel
    zero: int
    whole: NDArray[np.int8]
    scale: Float  # of each row of weights


def fitted8(weight: Float, inputs: Float) -> Layer8:
    """The layer that loses least on sample `inputs` (n, in).

    Channels with large inputs are made smaller and their weights larger, and the other way round;
    how far is tried out. Then the weights are rounded anew, each making up for those before it.
    """
    peak = np.maximum(np.abs(inputs).max(0), 1e-3)
    heavy = np.maximum(np.abs(weight).max(0), 1e-4)
    some = inputs[:: max(1, len(inputs) // TRIED)]
    want, found = some @ weight.T, []
    for share in SHARES:
        factor = heavy ** (1 - share) / peak**share
        factor = (factor / np.exp(np.log(factor).mean())).astype(np.float32)
        whole, scale = exact8(weight / factor)
        zero = _zero(some * factor)
        lost = _rounded(some * factor, zero) @ (whole * scale[:, None]).T - want
        found.append((float((lost**2).sum()), Layer8(factor, zero, whole, scale)))
    best = min(found, key=lambda option: option[0])[1]
    rows = _rounded(inputs * best.factor, best.zero)
    return best._replace(whole=_in_turn(weight / best.factor, best.scale, rows))


def _in_turn(weight: Float, scale: Float, inputs: Float) -> NDArray[np.int8]:
    """Weights rounded channel by channel; what one loses on `inputs`, later ones take over (GPTQ,
    Frantar et al. 2023). Pairs stay in the bounds of `exact8`."""
    square = inputs.T.astype(np.float64) @ inputs / len(inputs)
    square[np.diag_indices_from(square)] += 0.01 * max(np.diag(square).mean(), 1e-12)
    upper = np.linalg.cholesky(np.linalg.inv(square)).T.astype(np.float32)
    left, whole = weight.copy(), np.zeros_like(weight)
    for j in range(weight.shape[1]):
        mate = whole[:, j - 1] if j % 2 else np.zeros(len(weight), np.float32)
        low, high = np.maximum(-127, -128 - mate), np.minimum(127, 128 - mate)
        whole[:, j] = np.clip(np.round(left[:, j] / scale), low, high)
        lost = (left[:, j] - whole[:, j] * scale) / upper[j, j]
        left[:, j + 1 :] -= lost[:, None] * upper[j, j + 1 :]
    return whole.astype(np.int8)


def _rounded(x: Float, zero: int) -> Float:
    """Rows as they are after uint8 around `zero`."""
    step = _steps(x, zero)[:, None]
    return np.asarray(np.clip(np.round(x / step), -zero, 255 - zero) * step)


def _steps(x: Float, zero: int) -> Float:
    """The step of each row, so that all of it fits into 0 to 255 around `zero`."""
    return np.asarray(np.maximum(np.maximum(x.max(1) / (255 - zero), x.min(1) / -zero), 1e-9))


def _zero(x: Float) -> int:
    """The zero point with the smallest steps, in mean square."""
    return min(range(8, 248, 4), key=lambda zero: float((_steps(x, zero) ** 2).sum()))
