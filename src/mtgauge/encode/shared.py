"""Tables that a model does not hold itself but takes from another model of the package.

    card.json   "shares": {"kind": "encoder", "names": ["pieces.w", "pieces.s"], "sha256": "..."}

    session.run(None, inputs | shared_tables(folder, card))
    read_whole_graph(folder / "model.onnx")                  # with the shared tables

The package's regressor was fine-tuned from its encoder with the piece table kept as it was. So its
model.onnx has the table as an input, which is given the encoder's; `recipes/share_pieces.py` makes
such a folder. The table stays in the encoder's file, which is mapped: all sessions, and all
processes of a machine, hold it once.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from mtgauge.encode.card import SHARES, Card, check_fields, read_object
from mtgauge.encode.onnx_graph import Node, Tables, mapped_tables, read_graph
from mtgauge.errors import ResourceError
from mtgauge.models import shipped


def shared_tables(folder: Path, card: Card) -> Tables:
    """What the card says that the model takes, by name: the very numbers it was trained with."""
    shares = card.get("shares")
    if shares is None:
        return {}
    names, kind = shares["names"], shares["kind"]
    path = shipped(kind) / "model.onnx"
    remedy = (
        "Install mtgauge again if the model is the embedded one; otherwise use it with the "
        "mtgauge that it came with."
    )
    try:
        found = digest(mapped_tables(path, names))
    except ResourceError as error:
        raise ResourceError(f"{folder} needs the package's {kind}: {error} {remedy}") from None
    if found != shares["sha256"]:
        raise ResourceError(
            f"{folder} takes {', '.join(names)} from {path}, which lacks them or has others than "
            f"the model was trained with. {remedy}"
        )
    return mapped_tables(path, names)  # mapped anew, without the pages that the check has read


def digest(tables: Tables) -> str:
    """SHA-256 of names and contents."""
    found = hashlib.sha256()
    for name, table in sorted(tables.items()):
        found.update(name.encode())
        found.update(table.data)
    return found.hexdigest()


def read_whole_graph(path: Path) -> tuple[list[Node], Tables]:
    """Nodes and tables of a model.onnx, with those that its card says it shares."""
    nodes, tables = read_graph(path)
    card = path.with_name("card.json")
    if not card.is_file():
        return nodes, tables
    facts = read_object(card)
    check_fields(facts, SHARES, card)
    return nodes, tables | shared_tables(path.parent, facts)
