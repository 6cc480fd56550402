"""Nodes and tables (initializers) of an ONNX file, read without the package onnx.

    nodes, tables = read_graph(Path("model.onnx"))
    mapped_tables(Path("model.onnx"), ["pieces.w"])      # these alone; they stay in the file

Read as `trim.py` reads it. Limits: tables with raw bytes only, which is how ours are written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from mmap import ACCESS_READ, mmap
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mtgauge.encode.trim import GRAPH, INPUTS, NODE, fields, read_varint, texts
from mtgauge.errors import ResourceError

Tables = dict[str, NDArray[np.generic]]
INITIALIZER = 5  # of a graph
KIND, ATTRIBUTE = 4, 5  # of a node
NAME, WHOLE = 1, 3  # of an attribute: its name, its value where that is an integer
SIZES, TYPE, TITLE, BYTES = 1, 2, 8, 9  # of a table
TYPES = {1: "<f4", 2: "u1", 3: "i1", 6: "<i4", 7: "<i8", 9: "?", 10: "<f2", 11: "<f8"}

_FAULTS = (OSError, ValueError, StopIteration, LookupError, OverflowError)  # of reading a file


@dataclass(frozen=True)
class Node:
    kind: str
    inputs: list[str]
    wholes: dict[str, int]  # attributes that are integers


def read_graph(path: Path) -> tuple[list[Node], Tables]:
    """Nodes in their order, and tables by name."""
    try:
        parts = list(_parts(path.read_bytes()))
        nodes = [_node(part) for field, part in parts if field == NODE]
        return nodes, dict(_table(part) for field, part in parts if field == INITIALIZER)
    except _FAULTS as error:
        raise ResourceError(f"{path} is no ONNX model ({error}).") from None


def mapped_tables(path: Path, names: Collection[str]) -> Tables:
    """Those of the tables that the file has. It is mapped: whoever reads it shares its memory."""
    try:
        with path.open("rb") as file:
            whole = mmap(file.fileno(), 0, access=ACCESS_READ)
        wanted = (
            _table(part)
            for field, part in _parts(whole)
            if field == INITIALIZER and texts(part, TITLE)[0] in names
        )
        # No further than the last of them: what is looked at is read from the disk.
        found = dict(islice(wanted, len(names)))
        # Numbers of several bytes may begin anywhere in a file; onnxruntime wants them in line.
        return {name: np.require(table, requirements="A") for name, table in found.items()}
    except _FAULTS as error:
        raise ResourceError(f"{path} is no ONNX model ({error}).") from None


def _parts(model: bytes | mmap) -> Iterator[tuple[int, memoryview]]:
    """Fields of the graph, with their contents."""
    data = memoryview(model)
    graph = next(data[body:end] for field, _, body, end in fields(data) if field == GRAPH)
    return ((field, graph[body:end]) for field, _, body, end in fields(graph))


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
