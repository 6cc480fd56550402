"""The card of a model folder: what a run knows of itself, and facts that it cannot know.

    facts = read_facts(Path("facts.json"))        # licence, parent, where the data are from
    write_card(folder, with_facts(card, facts))

The card comes last: a folder with a card is a whole model, and `mtgauge score` refuses one without.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mtgauge.data.output import write
from mtgauge.errors import InputError


def read_facts(path: str | Path) -> dict[str, Any]:
    """More keys for a card, from a JSON file."""
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"no JSON can be read from it ({error})", file=path) from None
    if not isinstance(found, dict):
        raise InputError("a JSON object is wanted, with keys for the card", file=path)
    return found


def with_facts(card: dict[str, Any], facts: Mapping[str, Any]) -> dict[str, Any]:
    """The card with the facts that it does not state itself; those of `data` join its own."""
    more = {key: value for key, value in facts.items() if key not in card}
    own, added = card.get("data"), facts.get("data")
    if isinstance(own, dict) and isinstance(added, dict):
        more["data"] = added | own
    return card | more


def write_card(folder: Path, card: Mapping[str, Any]) -> None:
    write(folder / "card.json", json.dumps(card, indent=1, ensure_ascii=False) + "\n")
