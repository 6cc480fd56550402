"""Metrics by name: `@metric("bleu")` puts one in, `load("bleu:smooth=none")` takes one out.

A spec is `name[:key=value[,key=value]...]`. A value with a comma or a colon goes in single
quotes; a list is separated by semicolons; booleans are on/off, true/false or yes/no. Values are
read by the declaration of the metric's fields (`mtgauge.options`), so a wrong one, or one that
would do nothing, is refused in plain words. Other packages add metrics through the entry-point
group `mtgauge.metrics` (a module that uses the decorator).
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import inspect
import pkgutil
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, dataclass_transform

from mtgauge.errors import ResourceError, UsageError
from mtgauge.metric import Metric
from mtgauge.options import declared, format_value, parse_value

M = TypeVar("M", bound=type[Metric])
T = TypeVar("T", bound=type[Any])
_PACKAGE = "mtgauge.metrics"
# Well-known metrics of other tools; a name that holds one of these means it (wmt22-comet-da).
_FOREIGN = (
    "comet", "bleurt", "metricx", "bartscore", "prism", "gemba", "meteor", "rouge",
    "unite", "ruse", "sentinel",
)  # fmt: skip
_METRICS: dict[str, type[Metric]] = {}
_discovered = False


@dataclass_transform()
def options(cls: T) -> T:
    """Class decorator: the fields of the class are options, which its `__init__` takes."""
    about = cls.__doc__
    dataclass(eq=False, repr=False)(cls)
    cls.__doc__ = about  # a dataclass would describe itself
    return cls


@dataclass_transform()
def metric(name: str) -> Callable[[M], M]:
    """Class decorator that registers a metric under `name`; its fields are its options."""

    def register(cls: M) -> M:
        if name in _METRICS and _METRICS[name].__module__ != cls.__module__:
            raise UsageError(f"Two metrics are called {name!r}: {_METRICS[name]} and {cls}.")
        cls.name = name
        _METRICS[name] = options(cls) if _has_fields(cls) else cls
        return cls

    return register


def _has_fields(cls: type) -> bool:
    """Whether a class states options of its own, as fields and not by an `__init__`."""
    own = [hint for hint in inspect.get_annotations(cls).values() if "ClassVar" not in str(hint)]
    return bool(own) and "__init__" not in vars(cls)


def _discover() -> None:
    global _discovered
    if _discovered:
        return
    for module in pkgutil.iter_modules(importlib.import_module(_PACKAGE).__path__):
        importlib.import_module(f"{_PACKAGE}.{module.name}")
    from importlib import metadata  # slow to import, and only needed here

    for entry in metadata.entry_points(group="mtgauge.metrics"):
        try:
            entry.load()
        except Exception as fault:  # whatever a module of others does when it is imported
            package = entry.dist.name if entry.dist is not None else "a package"
            raise ResourceError(
                f"{package} offers metrics in {entry.value}, and that cannot be imported "
                f"({type(fault).__name__}: {fault}). Mend it, or: pip uninstall {package}."
            ) from fault
    _discovered = True


def names() -> list[str]:
    """Names of all metrics, sorted."""
    _discover()
    return sorted(_METRICS)


def get(name: str) -> type[Metric]:
    """The class of a metric; an unknown name is refused with the nearest ones."""
    module = f"{_PACKAGE}.{name}"
    if name not in _METRICS and name.isidentifier() and importlib.util.find_spec(module):
        # Most metrics live in a file of their own name: no need to import all the others.
        importlib.import_module(module)
    if name not in _METRICS:
        _discover()
    if name not in _METRICS:
        if any(word in name.lower() for word in _FOREIGN):
            raise UsageError(
                f"{name!r} is not a metric of mtgauge. Score with the tool that has it, and bring "
                "its segment scores into the same table, with the same tests: mtgauge score "
                "--scores FILE."
            )
        several = re.split(r"[\s,;+]+", name.strip())
        if len(several) > 1 and all(one in names() for one in several):
            raise UsageError(f"{name!r} are several metrics: write -m {' '.join(several)}.")
        near = difflib.get_close_matches(name.lower(), _METRICS, n=1, cutoff=0.5)
        hint = f"Did you mean {near[0]!r}? " if near else ""
        raise UsageError(f"There is no metric {name!r}. {hint}There are: {', '.join(names())}.")
    return _METRICS[name]


def load(spec: str) -> Metric:
    """A metric from its spec.

    >>> load("chrf:beta=3,word_order=2").params()["beta"]
    3
    """
    name, values = split_spec(spec)
    cls = get(name)
    known, usual = declared(cls), cls.defaults()
    options = {}
    for key, text in values.items():
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
            hint = f"Did you mean {near[0]!r}? " if near else ""
            have = ", ".join(f"{k}={format_value(v)}" for k, v in usual.items()) or "none"
            raise UsageError(f"{name} has no option {key!r}. {hint}Its options: {have}.")
        try:
            # where a preset fills in what is not given, `none` is a word like others (lm=none)
            options[key] = parse_value(text, known[key].kind, nothing=usual[key] is None)
        except ValueError as error:
            raise UsageError(f"{name}: option {key}={text!r} is not {error}.") from None
    loaded = cls(**options)
    loaded.check()
    return loaded


def spec_of(metric: Metric) -> str:
    """The shortest spec that loads an equal metric."""
    inner = ",".join(f"{k}={quote(format_value(v))}" for k, v in metric.changed().items())
    return metric.name + (":" + inner if inner else "")


def split_spec(spec: str) -> tuple[str, dict[str, str]]:
    """("chrf", {"beta": "3"}) from "chrf:beta=3"."""
    if not isinstance(spec, str):
        raise UsageError(f"A metric is named by text such as 'chrf:beta=3', not by {spec!r}.")
    name, colon, rest = spec.partition(":")
    if colon and not rest.strip():
        raise UsageError(f"Metric spec {spec!r} ends with a colon. Write name:key=value,key=value.")
    values: dict[str, str] = {}
    for item in split_quoted(rest, ",", spec) if rest else []:
        key, equals, value = item.partition("=")
        if not equals or not key.strip():
            raise UsageError(
                f"Metric spec {spec!r}: {item!r} is not key=value. Write name:key=value,key=value."
            )
        if key.strip() in values:
            raise UsageError(f"Metric spec {spec!r} sets {key.strip()!r} twice.")
        values[key.strip()] = unquote(value.strip())
    return name.strip(), values


def split_quoted(text: str, separator: str, spec: str) -> list[str]:
    parts, current, quoted = [], "", False
    for char in text:
        if char == "'":
            quoted = not quoted
        if char == separator and not quoted:
            parts.append(current)
            current = ""
        else:
            current += char
    if quoted:
        raise UsageError(f"Metric spec {spec!r} has an open quote: close it with another '.")
    return [*parts, current]


def quote(text: str) -> str:
    return f"'{text}'" if any(c in text for c in ",:|") or text == "" else text


def unquote(text: str) -> str:
    return text[1:-1] if len(text) >= 2 and text[0] == text[-1] == "'" else text
