"""The two transformers as ONNX graphs with int8 weights: what `export` writes.

Two forms, neither of which measures anything over a batch, so that a score never depends on its
batch mates:

    blocks    weights 8 bits, a scale for each block of 128 of a row (MatMulNBits); the closest
    rows      weights 7 bits, a scale a row; activations 8 bits, a scale a piece, measured on the
              piece itself; about 1.8 times as fast without VNNI, and .002 to .005 of correlation

Seven bits in `rows`, because two products of eight bits overflow the 16-bit sums of processors
without VNNI, and scores would differ between machines. There, channels that are large in the
activations are made smaller, and their weights larger, by half the ratio in logarithm (`peaks`,
measured once on sample text). The piece table is int8 with a scale a row.

    encoder   input_ids, attention_mask (batch, length)  ->  layer_0 ... (batch, length, dim)
    fluency   input_ids (batch, length), right padded    ->  logprobs (batch, length - 1)

The language model's normaliser (a sum over the whole vocabulary) is taken position by position in a
Scan, which keeps memory at one position's logits. Where a text is given a source (`x <sep> y`), the
source's own pieces are not scored: their log-probability is put as 0, and no time is spent on it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

Array = NDArray[np.generic]
Float = NDArray[np.float32]
EXTRA = "com.microsoft"
SEP = 5  # corpus.SEP, without importing the tokenizers


def int8_blocks(weight: Float, block: int) -> tuple[NDArray[np.uint8], Float]:
    """(out, in) weights as MatMulNBits wants them: uint8 around 128, and the blocks' scales."""
    parts = weight.reshape(weight.shape[0], -1, block)
    scale = np.maximum(np.abs(parts).max(2), 1e-10) / 127
    whole = np.clip(np.round(parts / scale[..., None]), -127, 127) + 128
    return whole.astype(np.uint8), scale.astype(np.float32)


def balanced(weight: Float, peak: Float | None) -> Float | None:
    """Factors for each input channel: sqrt(largest weight / largest activation), mean 1 in log."""
    if peak is None:
        return None
    factor = np.sqrt(np.maximum(np.abs(weight).max(0), 1e-4) / np.maximum(peak, 1e-3))
    return np.asarray(factor / np.exp(np.log(factor).mean()), dtype=np.float32)


class Graph:
    """Nodes and initialisers gathered in order; every method returns its output's name."""

    def __init__(self, peaks: dict[str, Float] | None) -> None:
        self.nodes: list[NodeProto] = []
        self.initialisers: dict[str, TensorProto] = {}
        self.peaks = peaks
        self.made = 0

    def constant(self, value: Array, name: str = "") -> str:
        if not name:
            self.made += 1
            name = f"c{self.made}"
        self.initialisers[name] = numpy_helper.from_array(np.ascontiguousarray(value), name)
        return name

    def node(self, kind: str, *inputs: str, domain: str = "", out: str = "", **how: Any) -> str:
        if not out:
            self.made += 1
            out = f"t{self.made}"
        self.nodes.append(helper.make_node(kind, list(inputs), [out], domain=domain, **how))
        return out

    def linear(self, x: str, weight: Float, bias: Float | None, name: str) -> str:
        y = self.blocks(x, weight, name) if self.peaks is None else self.rows8(x, weight, name)
        return y if bias is None else self.node("Add", y, self.constant(bias, name + ".b"))

    def blocks(self, x: str, weight: Float, name: str) -> str:
        n, k = weight.shape
        block = _block(k)
        whole, scale = int8_blocks(weight, block)
        return self.node(
            "MatMulNBits", x, self.constant(whole, name + ".w"), self.constant(scale, name + ".s"),
            domain=EXTRA, K=k, N=n, bits=8, block_size=block, accuracy_level=4,
        )  # fmt: skip

    def rows8(self, x: str, weight: Float, name: str) -> str:
        assert self.peaks is not None
        number: dict[str, Array] = {
            "tiny": np.array(1e-6, np.float32), "reach": np.array(127, np.float32),
            "step": np.array(1 / 127, np.float32), "middle": np.array(128.5, np.float32),
            "zero": np.array(128, np.uint8), "last": np.array([-1]),
        }  # fmt: skip
        of = {key: self.constant(value, "rows8." + key) for key, value in number.items()}
        balance = balanced(weight, self.peaks.get(name))
        if balance is not None:
            x, weight = self.node("Mul", x, self.constant(balance)), weight / balance
        scale = np.maximum(np.abs(weight).max(1), 1e-10) / 63
        whole = np.round(weight / scale[:, None]).astype(np.int8)
        most = self.node("ReduceMax", self.node("Abs", x), of["last"], keepdims=1)
        most = self.node("Max", most, of["tiny"])
        stretched = self.node("Mul", x, self.node("Div", of["reach"], most))
        row = self.node("Cast", self.node("Add", stretched, of["middle"]), to=TensorProto.UINT8)
        y = self.node(
            "MatMulIntegerToFloat", row, self.constant(whole.T, name + ".w"), of["step"],
            self.constant(scale.astype(np.float32), name + ".s"), of["zero"], domain=EXTRA,
        )  # fmt: skip
        return self.node("Mul", y, most)

    def norm(self, x: str, weight: Float, bias: Float, epsilon: float, out: str = "") -> str:
        scale, shift = self.constant(weight), self.constant(bias)
        return self.node("LayerNormalization", x, scale, shift, axis=-1, epsilon=epsilon, out=out)

    def gelu(self, x: str) -> str:
        return self.node("Gelu", x, domain=EXTRA)

    def rows(self, ids: str, table: Float, name: str) -> str:
        """Rows of an int8 table by number, scaled back."""
        scale = np.maximum(np.abs(table).max(1), 1e-10) / 127
        whole = np.round(table / scale[:, None]).astype(np.int8)
        picked = self.node("Gather", self.constant(whole, name + ".w"), ids)
        scales = self.node("Gather", self.constant(scale[:, None].astype(np.float32)), ids)
        return self.node("Mul", self.node("Cast", picked, to=TensorProto.FLOAT), scales)

    def positions(self, ids: str, table: Float) -> str:
        """Position vectors (length, dim) for however long the batch is."""
        length = self.node("Shape", ids, start=1, end=2)
        zero, axis = self.constant(np.array([0])), self.constant(np.array([0]))
        full = self.constant(table.astype(np.float32), "positions")
        return self.node("Slice", full, zero, length, axis)

    def block(
        self,
        x: str,
        w: dict[str, Float],
        own: str,
        heads: int,
        mask: str,
        *,
        causal: bool,
        out: str,
    ) -> str:
        """One transformer block; `own` is its prefix among the weights."""
        epsilon = 1e-5 if causal else 1e-12
        norm1 = (w[own + "norm1.weight"], w[own + "norm1.bias"], epsilon)
        norm2 = (w[own + "norm2.weight"], w[own + "norm2.bias"], epsilon)
        inner = self.norm(x, *norm1) if causal else x
        attended = self.attention(inner, w, own, heads, mask, causal)
        x = self.node("Add", x, attended)
        if not causal:
            x = self.norm(x, *norm1)
        inner = self.norm(x, *norm2) if causal else x
        up = self.linear(inner, w[own + "up.weight"], w[own + "up.bias"], own + "up")
        down = self.linear(
            self.gelu(up), w[own + "down.weight"], w[own + "down.bias"], own + "down"
        )
        if causal:
            return self.node("Add", x, down, out=out)
        return self.norm(self.node("Add", x, down), *norm2, out=out)

    def attention(
        self, x: str, w: dict[str, Float], own: str, heads: int, mask: str, causal: bool
    ) -> str:
        qkv = self.linear(x, w[own + "qkv.weight"], None, own + "qkv")
        names = [f"{own}{part}" for part in "qkv"]
        self.nodes.append(helper.make_node("Split", [qkv], names, axis=-1, num_outputs=3))
        how: dict[str, Any] = {"unidirectional": 1} if causal else {}
        bias = self.constant(w[own + "qkv.bias"])
        y = self.node(
            "MultiHeadAttention", *names, bias, mask, domain=EXTRA, num_heads=heads, **how
        )
        return self.linear(y, w[own + "out.weight"], w[own + "out.bias"], own + "out")

    def model(self, inputs: list[str], outputs: dict[str, list[str | int]]) -> ModelProto:
        wanted = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
            for name, shape in outputs.items()
        ]
        given = [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"])
            for name in inputs
        ]
        graph = helper.make_graph(
            self.nodes, "mtgauge", given, wanted, list(self.initialisers.values())
        )
        opsets = [helper.make_opsetid("", 18), helper.make_opsetid(EXTRA, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def _block(k: int) -> int:
    """The largest block (a power of two, at most 128) that divides a row of k."""
    for block in (128, 64, 32, 16):
        if k % block == 0:
            return block
    return 16


def encoder_graph(
    w: dict[str, Float], heads: int, layers: int, dim: int, peaks: dict[str, Float] | None
) -> ModelProto:
    g = Graph(peaks)
    x = g.node("Add", g.rows("input_ids", w["pieces.weight"], "pieces"),
               g.positions("input_ids", w["positions.weight"]))  # fmt: skip
    mask = g.node("Cast", "attention_mask", to=TensorProto.INT32)
    x = g.norm(x, w["norm.weight"], w["norm.bias"], 1e-12, out="layer_0")
    for i in range(layers):
        x = g.block(x, w, f"blocks.{i}.", heads, mask, causal=False, out=f"layer_{i + 1}")
    shape: list[str | int] = ["batch", "length", dim]
    return g.model(
        ["input_ids", "attention_mask"], {f"layer_{i}": shape for i in range(layers + 1)}
    )


def fluency_graph(
    w: dict[str, Float], heads: int, layers: int, peaks: dict[str, Float] | None
) -> ModelProto:
    g = Graph(peaks)
    table = w["pieces.weight"]
    minus, zero, one = (g.constant(np.array([v])) for v in (-1, 0, 1))
    far = g.constant(np.array([np.iinfo(np.int64).max]))
    given = g.node("Slice", "input_ids", zero, minus, one)
    wanted = g.node("Slice", "input_ids", one, far, one)
    block = _block(table.shape[1])
    whole, scale = int8_blocks(table, block)
    whole_name, scale_name = g.constant(whole, "pieces.w"), g.constant(scale, "pieces.s")

    def looked_up(ids: str) -> str:
        """Rows of the blocked table: (batch, length, embedding)."""
        rows = g.node("Cast", g.node("Gather", whole_name, ids), to=TensorProto.FLOAT)
        centred = g.node("Sub", rows, g.constant(np.array(128, np.float32)))
        scales = g.node("Unsqueeze", g.node("Gather", scale_name, ids), minus)
        shape = g.constant(np.array([0, 0, -1]))
        return g.node("Reshape", g.node("Mul", centred, scales), shape)

    x = g.linear(looked_up(given), w["widen.weight"], None, "widen")
    x = g.node("Add", x, g.positions(given, w["positions.weight"]))
    for i in range(layers):
        x = g.block(x, w, f"blocks.{i}.", heads, "", causal=True, out=f"state_{i + 1}")
    x = g.norm(x, w["norm.weight"], w["norm.bias"], 1e-5)
    hidden = g.linear(x, w["narrow.weight"], None, "narrow")
    logit = g.node("ReduceSum", g.node("Mul", hidden, looked_up(wanted)), minus, keepdims=0)
    separator = g.node("Equal", "input_ids", g.constant(np.array(SEP)))
    first = g.node("ArgMax", g.node("Cast", separator, to=TensorProto.INT32), axis=1, keepdims=1)
    begin = g.node("Squeeze", g.node("ReduceMin", first, zero, keepdims=1), zero)  # (1,)
    scored = g.node("Slice", hidden, begin, far, one)
    total = _normaliser(g, scored, whole_name, scale_name, table.shape, block)
    logit = g.node("Slice", logit, begin, far, one)
    # the two sides are rounded differently, so a certainty may come out a hair above 0
    found = g.node("Min", g.node("Sub", logit, total), g.constant(np.array(0, np.float32)))
    none, width = g.constant(np.array([0, 0])), g.constant(np.array([0]))
    found = g.node("Pad", found, g.node("Concat", width, begin, none, axis=0))
    steps = g.node("Range", g.constant(np.array(0)),
                   g.node("Squeeze", g.node("Shape", given, start=1, end=2)),
                   g.constant(np.array(1)))  # fmt: skip
    g.node(
        "Where",
        g.node("Less", steps, first),
        g.constant(np.array(0, np.float32)),
        found,
        out="logprobs",
    )
    return g.model(["input_ids"], {"logprobs": ["batch", "predicted"]})


def _normaliser(
    g: Graph, hidden: str, whole: str, scale: str, size: tuple[int, ...], block: int
) -> str:
    """log of the sum over all pieces of exp(logit), (batch, length), by a Scan over positions."""
    n, k = size
    logits = helper.make_node(
        "MatMulNBits", ["h", whole, scale], ["logits"], domain=EXTRA, K=k, N=n, bits=8,
        block_size=block, accuracy_level=4,
    )  # fmt: skip
    most = helper.make_node("ReduceMax", ["logits", "last"], ["most"], keepdims=1)
    near = helper.make_node("Sub", ["logits", "most"], ["near"])
    grown = helper.make_node("Exp", ["near"], ["grown"])
    total = helper.make_node("ReduceSum", ["grown", "last"], ["total"], keepdims=1)
    log = helper.make_node("Log", ["total"], ["log"])
    out = helper.make_node("Add", ["log", "most"], ["out"])
    body = helper.make_graph(
        [logits, most, near, grown, total, log, out], "position",
        [helper.make_tensor_value_info("h", TensorProto.FLOAT, ["batch", k])],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, ["batch", 1])],
        [numpy_helper.from_array(np.array([-1]), "last")],
    )  # fmt: skip
    stacked = g.node(
        "Scan", hidden, body=body, num_scan_inputs=1, scan_input_axes=[1], scan_output_axes=[1]
    )
    return g.node("Squeeze", stacked, g.constant(np.array([-1])))
