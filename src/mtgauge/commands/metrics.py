"""`mtgauge metrics [NAME]`: what there is and how to read it, read off the classes."""

from __future__ import annotations

import argparse
import inspect
import math
import textwrap

from mtgauge import registry
from mtgauge.metric import Metric
from mtgauge.options import Option, declared, format_value, kind_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", help="tell everything about one metric")


def run(args: argparse.Namespace) -> int:
    print(details(args.name) if args.name else overview())
    return 0


def overview() -> str:
    """One entry per metric: name, what it needs, which end is good, what it measures."""
    rows = [("metric", "needs", "best", "what it measures")]
    short = {"reference": "ref", "source": "src"}
    for name in registry.names():
        metric = registry.load(name)
        needs = "+".join(short[side] for side in sorted(metric.needs, reverse=True)) or "-"
        rows.append((name, needs, "high" if metric.higher_is_better else "low", metric.summary))
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    room = 80 - sum(widths) - 6
    lines = []
    for row in rows:
        lead = "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=False))
        first, *more = textwrap.wrap(row[3], room) or [""]
        lines += [f"{lead}  {first}", *(" " * (len(lead) + 2) + text for text in more)]
    return "\n".join([*lines, "", "More on one of them: mtgauge metrics NAME"])


def details(name: str) -> str:
    cls = registry.get(name)
    metric = registry.load(name)
    low, high = metric.bounds
    facts = {
        "needs": _needs(metric),
        "range": f"{_bound(low)} to {_bound(high)}; "
        + ("higher is better" if metric.higher_is_better else "lower is better"),
        "empty hypothesis": f"{metric.worst:g}",
        "languages": "any" if metric.languages is None else ", ".join(sorted(metric.languages)),
        "cost": metric.cost,
        "device": "--device chooses it" if metric.uses_device else "CPU",
        "paper": metric.paper or "-",
    }
    lines = [f"{name}: {metric.summary}", ""]
    lines += [*textwrap.wrap(metric.meaning, 80), ""] if metric.meaning else []
    lines += _listed(facts)
    options = {
        f"{name}={format_value(value)}": _about(declared(cls)[name])
        for name, value in cls.defaults().items()
    }
    lines += ["", "options (with their defaults):" if options else "no options", *_listed(options)]
    if inspect.getdoc(cls) and cls.__doc__:
        lines += ["", inspect.cleandoc(cls.__doc__)]
    return "\n".join(lines)


def _listed(facts: dict[str, str]) -> list[str]:
    width = max(map(len, facts), default=0)
    lines = []
    for key, value in facts.items():
        wrapped = textwrap.wrap(value, max(30, 76 - width)) or [""]
        lines.append(f"  {key.ljust(width)}  {wrapped[0]}")
        lines += [" " * (width + 4) + more for more in wrapped[1:]]
    return lines


def _needs(metric: Metric) -> str:
    return "+".join(sorted(metric.needs)) or "-"


def _bound(value: float) -> str:
    return f"{value:g}" if math.isfinite(value) else "unbounded"


def _about(option: Option) -> str:
    """Its values, their range, and when it applies."""
    parts = [kind_text(option.kind), *(limit.text for limit in option.ranges)]
    return ", ".join(parts) + (f"; applies where {option.applies}" if option.applies else "")
