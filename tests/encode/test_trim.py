"""Models without the outputs that nobody asked for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtgauge.encode.trim import _varint, keep_outputs, read_varint
from tiny_models import LAYERS, encoder_folders


def model() -> bytes:
    return (encoder_folders()[0] / "model.onnx").read_bytes()


def nodes(content: bytes, tmp_path: Path) -> int:
    """Number of nodes that onnxruntime runs."""
    import onnx

    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / f"{len(content)}.onnx")
    options.log_severity_level = 3
    onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    return len(onnx.load(options.optimized_model_filepath).graph.node)


def test_only_named_outputs_are_left_and_they_are_the_same() -> None:
    ids = np.array([[2, 5, 6, 3], [2, 7, 3, 0]])
    inputs = {"input_ids": ids, "attention_mask": (ids > 0).astype(np.int64)}
    whole, part = (
        onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
        for content in (model(), keep_outputs(model(), ["layer_1"]))
    )
    assert [x.name for x in part.get_outputs()] == ["layer_1"]
    np.testing.assert_array_equal(part.run(None, inputs)[0], whole.run(["layer_1"], inputs)[0])


def test_lower_layers_cost_less(tmp_path: Path) -> None:
    counts = [nodes(keep_outputs(model(), [f"layer_{i}"]), tmp_path) for i in range(LAYERS + 1)]
    assert counts == sorted(counts)
    assert counts[1] < 0.6 * counts[LAYERS]


def test_all_outputs_leave_the_model_as_it_was() -> None:
    names = [f"layer_{i}" for i in range(LAYERS + 1)]
    assert keep_outputs(model(), names) == model()


@pytest.mark.parametrize("content", [b"\x3a\x05abc", b"\x0f\x01", b"\x3a\xff"])
def test_what_is_no_model_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="message"):
        keep_outputs(content, [])


def test_inner_graphs_count_as_users() -> None:
    from onnx import TensorProto, helper

    def value(name: str) -> object:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, [1])

    branches = [
        helper.make_graph([helper.make_node(op, ["b"], [out])], op, [], [value(out)])
        for op, out in (("Neg", "t"), ("Abs", "e"))
    ]
    nodes = [
        helper.make_node("Exp", ["x"], ["b"]),  # read by the branches only
        helper.make_node("Sin", ["x"], ["unused"]),
        helper.make_node("If", ["c"], ["y"], then_branch=branches[0], else_branch=branches[1]),
        helper.make_node("Cos", ["x"], ["z"]),
    ]
    condition = helper.make_tensor_value_info("c", TensorProto.BOOL, [1])
    graph = helper.make_graph(nodes, "g", [value("x"), condition], [value("y"), value("z")])
    whole = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    import onnx

    part = onnx.load_from_string(keep_outputs(whole.SerializeToString(), ["y"]))
    assert [node.op_type for node in part.graph.node] == ["Exp", "If"]
    onnx.checker.check_model(part)


@given(st.integers(0, 2**60))
def test_numbers_come_back(value: int) -> None:
    written = _varint(value)
    assert read_varint(memoryview(written), 0) == (value, len(written))
