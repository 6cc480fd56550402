"""`mtgauge metrics [NAME]`: what there is and how to read it, read off the classes."""

from __future__ import annotations

import argparse
import contextlib
import inspect
import math
import textwrap

from mtgauge import registry
from mtgauge.errors import ResourceError, UsageError
from mtgauge.metric import Metric
from mtgauge.options import Option, declared, format_value, kind_text

_COLUMN = 34  # where the text on an option begins
EITHER = "source, reference or both (view=auto takes what is given)"
NEITHER = "neither source nor reference"
_TELLING = ("preset", "view")  # what these change depends on models and files


_EXAMPLES = """
examples:
  mtgauge metrics
  mtgauge metrics xmoverscore
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLES
    parser.add_argument("name", nargs="?", metavar="NAME", help="tell everything about one metric")


def run(args: argparse.Namespace) -> int:
    print(details(registry.split_spec(args.name)[0]) if args.name else overview())
    return 0


def overview() -> str:
    """One entry per metric: name, what it needs, which end is good, what it measures."""
    rows = [("metric", "needs", "best", "what it measures")]
    short = {"reference": "ref", "source": "src", EITHER: "src/ref", NEITHER: "none"}
    for name in registry.names():
        metric = registry.load(name)
        needs = "+".join(short[side] for side in needed(metric))
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
    better = "higher" if metric.higher_is_better else "lower"
    facts = {
        "needs": " and ".join(needed(metric)),
        "range": f"{_range(low, high)}; {better} is better",
        "empty hypothesis": f"{metric.worst:g}",
        "longest text": "any" if metric.longest is None else f"{metric.longest:,} characters",
        "languages": "any" if metric.languages is None else ", ".join(sorted(metric.languages)),
        "cost": metric.cost,
        "device": "--device chooses it" if metric.uses_device else "CPU",
        "paper": metric.paper or "-",
    }
    lines = [f"{name}: {metric.summary}", ""]
    lines += [*textwrap.wrap(metric.meaning, 80), ""] if metric.meaning else []
    lines += _listed(facts)
    lines += ["", *_options(cls)]
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


def needed(metric: Metric) -> list[str]:
    """What a run must give to it, in words; `regressor` takes what there is."""
    either = EITHER if metric.reads_source(frozenset({"source", "reference"})) else NEITHER
    return sorted(metric.needs, reverse=True) or [either]


def _range(low: float, high: float) -> str:
    if math.isinf(low) and math.isinf(high):
        return "unbounded"
    return f"{low:g} to {high:g}" if math.isfinite(high) else f"{low:g} or more"


def _options(cls: type[Metric]) -> list[str]:
    """The options as they are written after the name: what they do, default, range, when."""
    options = declared(cls)
    if not options:
        return ["no options"]
    lines = []
    for name, default in cls.defaults().items():
        written = f"  {name}={kind_text(options[name].kind)}"
        usual = f"default {format_value(default) or 'empty'}"
        about = f"({'; '.join([usual, *_limits(options[name])])})"
        if len(written) > _COLUMN - 2:
            lines.append(written)
            written = ""
        lead, more = written.ljust(_COLUMN), " " * _COLUMN
        about = f"{options[name].text} {about}".strip()
        lines += textwrap.wrap(about, 80, initial_indent=lead, subsequent_indent=more)
    return [f"options, written after the name: -m '{_example(cls)}'", *lines]


def _limits(option: Option) -> list[str]:
    each = "each " if isinstance(option.default, tuple) else ""
    ranges = [f"{each}{limit.text}" for limit in option.ranges]
    return ranges + [condition.written for condition in option.conditions]


def _example(cls: type[Metric]) -> str:
    """A spec that may be given: the first two options that can be changed, changed."""
    chosen: list[str] = []
    for name, default in cls.defaults().items():
        for value in _others(declared(cls)[name], default) if name not in _TELLING else ():
            spec = f"{cls.name}:{','.join([*chosen, f'{name}={value}'])}"
            with contextlib.suppress(UsageError, ResourceError):
                registry.load(spec).check()
                chosen.append(f"{name}={value}")
                break
        if len(chosen) == 2:
            break
    return f"{cls.name}:{','.join(chosen) or 'key=value,key=value'}"


def _others(option: Option, default: object) -> list[str]:
    """Values other than the default that need no file or model."""
    if isinstance(default, bool):
        return [format_value(not default)]
    if isinstance(default, int | float):
        return [format_value(default + 1), format_value(default / 2)]
    values = kind_text(option.kind).split("|")
    return [v for v in values if v != format_value(default)] if len(values) > 1 else []
