"""Metrics by name: `@metric("bleu")` puts one in, `load("bleu:smooth=none")` takes one out.

A spec is `name[:key=value[,key=value]...]`. A value with a comma or a colon goes in single
quotes; a list is separated by semicolons; booleans are on/off, true/false or yes/no. Values are
read by the type of the parameter in the metric's `__init__`, so a wrong one is refused with the
metric's options in the message. Other packages add metrics through the entry-point group
`mtgauge.metrics` (a module that uses the decorator).
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import pkgutil
import types
import typing
from collections.abc import Callable
from typing import Any, TypeVar

from mtgauge.errors import UsageError
from mtgauge.metric import Metric

M = TypeVar("M", bound=type[Metric])
_PACKAGE = "mtgauge.metrics"
_METRICS: dict[str, type[Metric]] = {}
_discovered = False


def metric(name: str) -> Callable[[M], M]:
    """Class decorator that registers a metric under `name`."""

    def register(cls: M) -> M:
        if name in _METRICS and _METRICS[name].__module__ != cls.__module__:
            raise UsageError(f"Two metrics are called {name!r}: {_METRICS[name]} and {cls}.")
        cls.name = name
        _METRICS[name] = cls
        return cls

    return register


def _discover() -> None:
    global _discovered
    if _discovered:
        return
    for module in pkgutil.iter_modules(importlib.import_module(_PACKAGE).__path__):
        importlib.import_module(f"{_PACKAGE}.{module.name}")
    from importlib import metadata  # slow to import, and only needed here

    for entry in metadata.entry_points(group="mtgauge.metrics"):
        entry.load()
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
        near = difflib.get_close_matches(name, _METRICS, n=1, cutoff=0.5)
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
    hints = typing.get_type_hints(cls.__init__)
    defaults = cls.defaults()
    options = {}
    for key, text in values.items():
        if key not in defaults:
            near = difflib.get_close_matches(key, defaults, n=1, cutoff=0.5)
            hint = f"Did you mean {near[0]!r}? " if near else ""
            have = ", ".join(f"{k}={format_value(v)}" for k, v in defaults.items()) or "none"
            raise UsageError(f"{name} has no option {key!r}. {hint}Its options: {have}.")
        try:
            options[key] = _parse_value(text, hints.get(key, str))
        except ValueError as error:
            raise UsageError(f"{name}: option {key}={text!r} is not {error}.") from None
    return cls(**options)


def spec_of(metric: Metric) -> str:
    """The shortest spec that loads an equal metric."""
    defaults = metric.defaults()
    changed = {k: v for k, v in metric.params().items() if v != defaults[k]}
    inner = ",".join(f"{k}={quote(format_value(v))}" for k, v in changed.items())
    return metric.name + (":" + inner if inner else "")


def split_spec(spec: str) -> tuple[str, dict[str, str]]:
    """("chrf", {"beta": "3"}) from "chrf:beta=3"."""
    name, _, rest = spec.partition(":")
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


def format_value(value: Any) -> str:
    """A parameter as it is written in a spec."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if value is None:
        return "none"
    if isinstance(value, tuple):
        return ";".join(format_value(v) for v in value)
    return f"{value:g}" if isinstance(value, float) and float(f"{value:g}") == value else str(value)


_BOOLEANS = dict.fromkeys(("on", "true", "yes", "1"), True) | dict.fromkeys(
    ("off", "false", "no", "0"), False
)


def _parse_value(text: str, kind: Any) -> Any:
    """`text` as `kind`; raises ValueError whose message completes "is not ..."."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is types.UnionType or origin is typing.Union:
        if type(None) in arguments and text.lower() == "none":
            return None
        for inner in (a for a in arguments if a is not type(None)):
            try:
                return _parse_value(text, inner)
            except ValueError as error:
                problem = error
        raise problem
    if origin is typing.Literal:
        if text not in arguments:
            raise ValueError("one of " + ", ".join(map(str, arguments)))
        return text
    if origin is tuple:
        return tuple(_parse_value(part, arguments[0]) for part in text.split(";") if part)
    if kind is bool:
        if text.lower() not in _BOOLEANS:
            raise ValueError("on or off")
        return _BOOLEANS[text.lower()]
    if kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            raise ValueError("a whole number" if kind is int else "a number") from None
    return text
