"""The metrics on offer: what each needs and costs, and whether it suits given texts.

    Catalogue().entries(frozenset({"source"}), "de-en")     one dictionary per metric
    Catalogue().check("chrf:beta=3")                        refused if clients may not ask for it

A client may set options that are numbers, switches or one of listed words. An option that takes
free text may name a file or a model on this machine: only the server's owner may set it, by
offering a spec (`mtgauge serve -m bertscore:encoder=FOLDER`).
"""

from __future__ import annotations

import math
import threading
import typing
import warnings
from collections.abc import Sequence
from typing import Any

from mtgauge import registry
from mtgauge.data import checks
from mtgauge.errors import MtgaugeError, UsageError
from mtgauge.metric import Metric, Task
from mtgauge.options import declared
from mtgauge.signature import sign

COSTS = {
    "surface": "light: compares words and characters",
    "vectors": "medium: looks up word vectors",
    "encoder": "heavy: runs a neural model",
}
USUAL = ("bleu", "chrf", "bertscore", "regressor")  # ticked where they suit the texts


_RECORDING = threading.Lock()  # warnings are recorded for the whole process


class Catalogue:
    """What a server offers; without specs, every metric by its name."""

    def __init__(self, specs: Sequence[str] = ()) -> None:
        self.specs = tuple(specs) or tuple(registry.names())
        for spec in self.specs:
            registry.load(spec)  # a wrong one is refused when the server starts
        self.entries(frozenset({"source", "reference"}), "de-en")  # cards of models are read now

    def entries(self, sides: frozenset[str] | None, lang: str | None) -> list[dict[str, Any]]:
        """All metrics; `reason` says why one does not suit, None if it does. `sides` None: any."""
        if lang is not None:
            lang = checks.language_pair(lang)
        return [_entry(spec, sides, lang) for spec in self.specs]

    def check(self, spec: str) -> None:
        """Refuse what is not on offer, and options that may name a place on this machine."""
        if spec in self.specs:
            return
        name, values = registry.split_spec(spec)
        if name not in self.specs:
            raise UsageError(
                f"The metric {name!r} is not on offer here. There are: {', '.join(self.specs)}."
            )
        known = declared(registry.get(name))
        for key in values:
            if key in known and _takes_text(known[key].kind):
                raise UsageError(
                    f"{name}: the option {key} may name a file or model on the server, so only "
                    "the server's owner may set it."
                )
        registry.load(spec)


def _takes_text(kind: Any) -> bool:
    """Whether an option's values include free text, alone or in a list."""
    if kind in (bool, int, float, type(None)) or typing.get_origin(kind) is typing.Literal:
        return False
    parts = typing.get_args(kind)
    return not parts or any(_takes_text(part) for part in parts if part is not Ellipsis)


def _entry(spec: str, sides: frozenset[str] | None, lang: str | None) -> dict[str, Any]:
    metric = registry.load(spec)
    reason, cautions = (None, []) if sides is None else _judged(metric, Task(sides, lang))
    low, high = (value if math.isfinite(value) else None for value in metric.bounds)
    return {
        "spec": spec,
        "summary": metric.summary,
        "meaning": metric.meaning,
        "needs": sorted(metric.needs, reverse=True),
        "needs_in_words": _needs(metric),
        "cost": metric.cost,
        "cost_in_words": COSTS[metric.cost],
        "higher_is_better": metric.higher_is_better,
        "range": [low, high],
        "paper": metric.paper,
        "usual": spec in USUAL,
        "reason": reason,
        "caution": " ".join(cautions) or None,
    }


def _judged(metric: Metric, task: Task) -> tuple[str | None, list[str]]:
    """Why a metric does not suit, and what it warns of where it does."""
    with _RECORDING, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        reason = _unsuitable(metric, task)
    return reason, [str(one.message) for one in told] if reason is None else []


def _needs(metric: Metric) -> str:
    if metric.needs:
        return " and ".join(sorted(metric.needs, reverse=True))
    alone, _ = _judged(metric, Task(frozenset(), "de-en"))
    return "translation only" if alone is None else "source or reference"


def _unsuitable(metric: Metric, task: Task) -> str | None:
    missing = metric.needs - task.sides
    if not missing:
        try:
            settled = metric.resolve(task)
            sign(settled)  # opens the card of its model: a missing one is told now
        except MtgaugeError as error:
            if task.lang is None and _unsuitable(metric, Task(task.sides, "de-en")) is None:
                return "Needs the language pair."
            return str(error)
        missing = settled.needs - task.sides
    sides = " and ".join(f"a {side}" for side in sorted(missing, reverse=True))
    return f"Needs {sides}." if missing else None
