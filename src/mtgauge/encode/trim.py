"""An ONNX model with fewer outputs and without the nodes that only the others needed.

onnxruntime runs every node of a graph, whatever output is asked for: an encoder of 12 layers costs
12 layers even if layer 8 is wanted. So the model is cut before it is loaded. Nodes of an ONNX graph
stand in an order in which they can be run; going backwards, a node is kept if someone needs what it
makes.

An ONNX file is a protocol-buffer message: a sequence of (tag, value), where tag = field * 8 + kind
and kind 2 is "a length, then so many bytes". Only the fields named below are looked at; all else is
copied as it is, so the package onnx is not needed to run a model.

    keep_outputs(Path("model.onnx").read_bytes(), ["layer_4"])
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

GRAPH = 7  # of a model
NODE, OUTPUT = 1, 12  # of a graph
INPUTS, OUTPUTS, ATTRIBUTE = 1, 2, 5  # of a node: names, names, settings
SUBGRAPHS = (6, 11)  # of an attribute: one graph, several graphs
NAME = 1  # of an output
_BYTES = 2  # the kind of a field that is a length and so many bytes
_FIXED = {1: 8, 5: 4}  # kinds of a fixed number of bytes


def keep_outputs(model: bytes, names: Collection[str]) -> bytes:
    """The model with the named outputs alone; ValueError if it cannot be read."""
    data = memoryview(model)
    parts: list[bytes | memoryview] = []
    for field, start, body, end in fields(data):
        if field == GRAPH:
            graph = b"".join(_needed_parts(data[body:end], names))
            parts += [_varint(GRAPH * 8 + _BYTES), _varint(len(graph)), graph]
        else:
            parts.append(data[start:end])
    return b"".join(parts)


def _needed_parts(graph: memoryview, names: Collection[str]) -> list[memoryview]:
    """Fields of a graph without other outputs and without nodes that nothing needs."""
    needed = set(names)
    kept: list[memoryview] = []
    for field, start, body, end in reversed(list(fields(graph))):
        content = graph[body:end]
        if field == OUTPUT and not needed.intersection(texts(content, NAME)):
            continue
        if field == NODE:
            if not needed.intersection(texts(content, OUTPUTS)):
                continue
            needed.update(_used(content))
        kept.append(graph[start:end])
    return kept[::-1]


def _used(node: memoryview) -> set[str]:
    """Names that a node reads, its inner graphs (of If, Loop, Scan) included."""
    used = set(texts(node, INPUTS))
    for field, _, body, end in fields(node):
        if field != ATTRIBUTE:
            continue
        attribute = node[body:end]
        for inner, _, inner_body, inner_end in fields(attribute):
            if inner in SUBGRAPHS:
                graph = attribute[inner_body:inner_end]
                used.update(
                    name
                    for kind, _, at, until in fields(graph)
                    if kind == NODE
                    for name in _used(graph[at:until])
                )
    return used


def texts(message: memoryview, wanted: int) -> list[str]:
    """All values of a text field."""
    return [
        bytes(message[body:end]).decode("utf-8")
        for field, _, body, end in fields(message)
        if field == wanted
    ]


def fields(data: memoryview) -> Iterator[tuple[int, int, int, int]]:
    """(field, where its tag starts, where its content starts, where it ends) of a message."""
    at = 0
    while at < len(data):
        start = at
        tag, at = read_varint(data, at)
        kind = tag & 7
        body = at
        if kind == 0:
            _, end = read_varint(data, at)
        elif kind == _BYTES:
            length, body = read_varint(data, at)
            end = body + length
        elif kind in _FIXED:
            end = at + _FIXED[kind]
        else:
            raise ValueError("not a protocol-buffer message")
        if end > len(data):
            raise ValueError("the message is cut")
        yield tag >> 3, start, body, end
        at = end


def read_varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError("the message is cut")
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])
