"""The two transformers as ONNX graphs that calculate in int8: what `export` and `folder` write.

Weights are int8 with a scale per row; the inputs of a layer are quantised to uint8 piece by piece,
by the largest and smallest number of the piece itself. Nothing is measured over a batch, so a score
does not depend on its batch mates. How a layer is quantised (`fitted8`: which channels are made
smaller, where zero lies, which weights are rounded up) is chosen on sample inputs; `exact8` keeps
the sums free of overflow, so that processors with and without VNNI instructions get the same
integers.

    encoder   input_ids, attention_mask (batch, length)  ->  layer_0 ... (batch, length, dim)
    pair      the same and token_type_ids                ->  vector (batch, width)
    fluency   input_ids (batch, length), right padded    ->  logprobs (batch, length - 1)

The language model compares with the whole vocabulary only where it is asked for a probability:
padding is left out, and so are the pieces of a source (`x <sep> y`); what is left out gets 0. The
positions go through the softmax `CHUNK` at a time, in a Scan, which bounds the memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from mtgauge.encode.transformer import Shape
from mtgauge.train.onnx.int8 import exact8, fitted8, quantise

Array = NDArray[np.generic]
Float = NDArray[np.float32]
EXTRA = "com.microsoft"
PAD, SEP = 0, 5  # as in corpus, without importing the tokenizers
CHUNK = 32  # positions whose logits (48,000 each) are in memory at once
VECTOR = np.array([-1])  # the last axis


class Graph:
    """Nodes and initialisers gathered in order; every method returns its output's name."""

    def __init__(self, seen: dict[str, Float]) -> None:
        self.nodes: list[NodeProto] = []
        self.initialisers: dict[str, TensorProto] = {}
        self.seen = seen  # sample inputs of every linear layer
        self.made = 0

    def constant(self, value: Array | np.generic, name: str = "") -> str:
        if not name:
            self.made += 1
            name = f"c{self.made}"
        self.initialisers[name] = numpy_helper.from_array(np.asarray(value, order="C"), name)
        return name

    def node(self, kind: str, *inputs: str, domain: str = "", out: str = "", **how: Any) -> str:
        if not out:
            self.made += 1
            out = f"t{self.made}"
        self.nodes.append(helper.make_node(kind, list(inputs), [out], domain=domain, **how))
        return out

    def linear(self, x: str, weight: Float, bias: Float | None, name: str) -> str:
        """x @ weight.T + bias in int8; `restore` reads the constants NAME.w, .s, .f and .b."""
        layer = fitted8(weight, self.seen[name])
        x = self.node("Mul", x, self.constant(layer.factor, name + ".f"))
        row, step = self.quantised(x, layer.zero)
        y = self.product(row, layer.zero, self.constant(layer.whole.T, name + ".w"),
                         self.constant(layer.scale, name + ".s"))  # fmt: skip
        y = self.node("Mul", y, step)
        return y if bias is None else self.node("Add", y, self.constant(bias, name + ".b"))

    def quantised(self, x: str, zero: int) -> tuple[str, str]:
        """Pieces as uint8 around `zero`, and the step of each."""
        last, one = self.constant(VECTOR, "last"), self.constant(np.float32(1), "one")
        above = self.node("Mul", self.node("ReduceMax", x, last, keepdims=1),
                          self.constant(np.float32(1 / (255 - zero))))  # fmt: skip
        below = self.node("Mul", self.node("ReduceMin", x, last, keepdims=1),
                          self.constant(np.float32(-1 / zero)))  # fmt: skip
        step = self.node("Max", above, below, self.constant(np.float32(1e-9), "tiny"))
        steps = self.node("Mul", x, self.node("Reciprocal", step))
        return self.node("QuantizeLinear", steps, one, self.constant(np.uint8(zero))), step

    def product(self, row: str, zero: int, whole: str, scale: str) -> str:
        """uint8 pieces around `zero` times (in, out) int8 weights, in units of the pieces' step."""
        return self.node(
            "MatMulIntegerToFloat", row, whole, self.constant(np.float32(1), "one"), scale,
            self.constant(np.uint8(zero)), domain=EXTRA,
        )  # fmt: skip

    def norm(self, x: str, weight: Float, bias: Float, epsilon: float, out: str = "") -> str:
        scale, shift = self.constant(weight), self.constant(bias)
        return self.node("LayerNormalization", x, scale, shift, axis=-1, epsilon=epsilon, out=out)

    def gelu(self, x: str) -> str:
        return self.node("Gelu", x, domain=EXTRA)

    def rows(self, ids: str, table: Float, name: str) -> str:
        """Rows of an int8 table by number, scaled back."""
        whole, scale = quantise(table, axis=(1,))
        picked = self.node("Gather", self.constant(whole, name + ".w"), ids)
        scales = self.node("Gather", self.constant(scale, name + ".s"), ids)
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


def _encoder(
    g: Graph, w: dict[str, Float], shape: Shape, name: str, types: Float | None = None
) -> str:
    """States NAME_0 ... of every layer; the last one is returned. `types` are token types."""
    x = g.node("Add", g.rows("input_ids", w["pieces.weight"], "pieces"),
               g.positions("input_ids", w["positions.weight"]))  # fmt: skip
    if types is not None:
        x = g.node("Add", x, g.node("Gather", g.constant(types, "types"), "token_type_ids"))
    mask = g.node("Cast", "attention_mask", to=TensorProto.INT32)
    x = g.norm(x, w["norm.weight"], w["norm.bias"], 1e-12, out=f"{name}_0")
    for i in range(shape.layers):
        own = f"blocks.{i}."
        x = g.block(x, w, own, shape.heads, mask, causal=False, out=f"{name}_{i + 1}")
    return x


def encoder_graph(w: dict[str, Float], shape: Shape, seen: dict[str, Float]) -> ModelProto:
    """All layers' states; `seen` are sample inputs of every linear layer."""
    g = Graph(seen)
    _encoder(g, w, shape, "layer")
    size: list[str | int] = ["batch", "length", shape.dim]
    return g.model(
        ["input_ids", "attention_mask"], {f"layer_{i}": size for i in range(shape.layers + 1)}
    )


def pair_graph(
    w: dict[str, Float], shape: Shape, seen: dict[str, Float], types: Float, pool: str
) -> ModelProto:
    """An encoder with token types, and the vector of an input (n, width) as `Regressor.vector`."""
    g = Graph(seen)
    x = _encoder(g, w, shape, "state", types)
    begin, end = g.constant(np.array([0])), g.constant(np.array([1]))
    first = g.node("Squeeze", g.node("Slice", x, begin, end, end), end)
    if pool == "first":
        g.node("Identity", first, out="vector")
    else:
        others = g.node("Mul", "attention_mask", "token_type_ids")
        b = _mean(g, x, others)
        a = _mean(g, x, g.node("Sub", "attention_mask", others))
        apart = g.node("Abs", g.node("Sub", a, b))
        g.node("Concat", first, g.node("Mul", a, b), apart, axis=-1, out="vector")
    width = shape.dim * (1 if pool == "first" else 3)
    return g.model(["input_ids", "attention_mask", "token_type_ids"], {"vector": ["batch", width]})


def _mean(g: Graph, states: str, mask: str) -> str:
    """Mean of the states where the mask is 1; zero where it is nowhere."""
    last, middle = g.constant(np.array([-1])), g.constant(np.array([1]))
    weights = g.node("Unsqueeze", g.node("Cast", mask, to=TensorProto.FLOAT), last)
    total = g.node("ReduceSum", g.node("Mul", states, weights), middle, keepdims=0)
    count = g.node("ReduceSum", weights, middle, keepdims=0)
    return g.node("Div", total, g.node("Max", count, g.constant(np.ones(1, np.float32))))


def fluency_graph(w: dict[str, Float], shape: Shape, seen: dict[str, Float]) -> ModelProto:
    """Log-probabilities of the pieces after the first; `seen` as for the encoder."""
    g = Graph(seen)
    whole, scale = exact8(w["pieces.weight"])
    table, scales = g.constant(whole, "pieces.w"), g.constant(scale, "pieces.s")
    minus, zero, one = (g.constant(np.array([v])) for v in (-1, 0, 1))
    given = g.node("Slice", "input_ids", zero, minus, one)
    rows = g.node("Cast", g.node("Gather", table, given), to=TensorProto.FLOAT)
    x = g.node("Mul", rows, g.node("Unsqueeze", g.node("Gather", scales, given), minus))
    x = g.linear(x, w["widen.weight"], None, "widen")
    x = g.node("Add", x, g.positions(given, w["positions.weight"]))
    for i in range(shape.layers):
        x = g.block(x, w, f"blocks.{i}.", shape.heads, "", causal=True, out=f"state_{i + 1}")
    places = _scored_places(g, given)
    x = g.node("GatherND", x, places)
    x = g.norm(x, w["norm.weight"], w["norm.bias"], 1e-5)
    hidden = g.linear(x, w["narrow.weight"], None, "narrow")
    far = g.constant(np.array([np.iinfo(np.int64).max]))
    wanted = g.node("GatherND", g.node("Slice", "input_ids", one, far, one), places)
    found = _log_softmax(g, hidden, wanted, table, scales, whole.shape[1])
    g.node(
        "ScatterND",
        g.node("ConstantOfShape", g.node("Shape", given)),
        places,
        found,
        out="logprobs",
    )
    return g.model(["input_ids"], {"logprobs": ["batch", "predicted"]})


def _scored_places(g: Graph, given: str) -> str:
    """(n, 2): where in `given` the next piece is to be scored: not in padding, not in a source."""
    separator = g.node("Equal", given, g.constant(np.array(SEP)))
    first = g.node("ArgMax", g.node("Cast", separator, to=TensorProto.INT32), axis=1)
    real = g.node("Not", g.node("Equal", "input_ids", g.constant(np.array(PAD))))
    end = g.node("ArgMax", g.node("Cast", real, to=TensorProto.INT32), axis=1, select_last_index=1)
    end = g.node("Max", end, g.node("Add", first, g.constant(np.array(1))))  # at least one per row
    length = g.node("Squeeze", g.node("Shape", given, start=1, end=2))
    steps = g.node("Range", g.constant(np.array(0)), length, g.constant(np.array(1)))
    scored = g.node("And", g.node("GreaterOrEqual", steps, first), g.node("Less", steps, end))
    return g.node("Transpose", g.node("NonZero", scored), perm=[1, 0])


def _log_softmax(g: Graph, hidden: str, wanted: str, table: str, scales: str, width: int) -> str:
    """(n,) log-probabilities of the pieces `wanted` after `hidden` (n, width)."""
    middle, last = 128, g.constant(VECTOR)
    row, step = g.quantised(hidden, middle)
    zero, size = g.constant(np.array([0])), g.constant(np.array([CHUNK]))
    rest = g.node("Mod", g.node("Neg", g.node("Shape", wanted)), size)  # up to a whole chunk
    behind = g.node("Concat", zero, zero, rest, zero, axis=0)

    def chunks(name: str, columns: int) -> str:
        shape = g.constant(np.array([-1, CHUNK, columns]))
        return g.node("Reshape", g.node("Pad", name, behind), shape)

    parts = [chunks(row, width), chunks(step, 1), chunks(g.node("Unsqueeze", wanted, last), 1)]
    whole = g.node("Transpose", table, perm=[1, 0])  # done once, when the file is opened
    body = Graph({})
    body.made = 10**6  # names that the outer graph does not use
    logits = body.node("Mul", body.product("row", middle, whole, scales), "step")
    every = body.node("LogSoftmax", logits, axis=-1)
    body.node("GatherElements", every, "piece", axis=-1, out="found")
    kinds = {"row": TensorProto.UINT8, "step": TensorProto.FLOAT, "piece": TensorProto.INT64}
    inner = helper.make_graph(
        body.nodes, "chunk",
        [helper.make_tensor_value_info(name, kind, None) for name, kind in kinds.items()],
        [helper.make_tensor_value_info("found", TensorProto.FLOAT, None)],
        list(body.initialisers.values()),
    )  # fmt: skip
    found = g.node("Scan", *parts, body=inner, num_scan_inputs=len(parts))
    return g.node("Slice", g.node("Reshape", found, last), zero, g.node("Shape", wanted))
