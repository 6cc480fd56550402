"""Options that declare themselves: type, what they do, range, and when they apply.

    matching: Annotated[Literal["transport", "f"], "how words meet"] = "f"
    dropout: Annotated[float, "share left out", Range(0, 1), When("matching", "transport")] = 0.0

The text is one short line, and every option has one. What several metrics share is an alias
(`Layer = Annotated[int, "..."]`), also inside `Layer | None`; of two texts the outer one holds.
One declaration serves the parser of specs, the refusal of wrong values, `mtgauge metrics NAME` and
the signature. A value outside its range is refused. An option that does not apply may only have
the value that it has anyway (its default, or what the preset pins): any other would change nothing,
and is refused with a sentence that says when the option applies.

A group that several metrics share is a base class whose fields are keyword-only (`KW_ONLY`): they
stand behind the metric's own. Every one of them defaults to None, which a preset replaces.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import math
import operator
import sys
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from mtgauge.errors import UsageError


@dataclass(frozen=True)
class Range:
    """Finite numbers from `low` to `high`, both included; `above` leaves out its own value.

    >>> Range(0, 1).text, Range(1).text, Range(above=0).text
    ('between 0 and 1', '1 or more', 'above 0')
    """

    low: float = -math.inf
    high: float = math.inf
    above: float = -math.inf

    def __contains__(self, value: float) -> bool:
        return math.isfinite(value) and self.low <= value <= self.high and value > self.above

    @property
    def text(self) -> str:
        if math.isfinite(self.low) and math.isfinite(self.high):
            return f"between {self.low:g} and {self.high:g}"
        if math.isfinite(self.low):
            return f"{self.low:g} or more"
        if math.isfinite(self.above):
            return f"above {self.above:g}"
        return f"{self.high:g} or less" if math.isfinite(self.high) else "a finite number"


class When:
    """The option applies where another option has one of these values."""

    def __init__(self, option: str, *values: object) -> None:
        self.option, self.values = option, values

    def holds(self, options: Mapping[str, Any]) -> bool:
        return options[self.option] in self.values

    @property
    def text(self) -> str:
        return f"{self.option} is {' or '.join(map(format_value, self.values))}"

    @property
    def written(self) -> str:
        """The same as it is written in a spec."""
        return "only with " + " or ".join(f"{self.option}={format_value(v)}" for v in self.values)


class Unless(When):
    """The option applies where another option has none of these values."""

    def holds(self, options: Mapping[str, Any]) -> bool:
        return options[self.option] not in self.values

    @property
    def text(self) -> str:
        return f"{self.option} is not {' or '.join(map(format_value, self.values))}"

    @property
    def written(self) -> str:
        return "not with " + " or ".join(f"{self.option}={format_value(v)}" for v in self.values)


@dataclass(frozen=True)
class Option:
    """One option of a metric, as its `__init__` declares it."""

    name: str
    default: Any
    kind: Any  # the type of its values
    text: str = ""  # what it does, in a line
    ranges: tuple[Range, ...] = ()
    conditions: tuple[When, ...] = ()

    @property
    def applies(self) -> str:
        """When it applies, in words; empty: always."""
        return " and ".join(condition.text for condition in self.conditions)

    def in_force(self, options: Mapping[str, Any]) -> bool:
        return all(condition.holds(options) for condition in self.conditions)

    def check(self, metric: str, options: Mapping[str, Any], baseline: Mapping[str, Any]) -> None:
        """Refuse a value out of range, or one that would do nothing."""
        value = options[self.name]
        shown = f"{metric}: {self.name}={format_value(value)}"
        for limit in self.ranges:
            for number in value if isinstance(value, tuple) else (value,):
                if number is not None and number not in limit:
                    each = "Each value" if isinstance(value, tuple) else "It"
                    raise UsageError(f"{shown} is out of range. {each} must be {limit.text}.")
        if value != baseline[self.name] and not self.in_force(options):
            raise UsageError(
                f"{shown} would do nothing here: {self.name} applies only where {self.applies}."
            )


_DECLARED: dict[type, dict[str, Option]] = {}


def declared(cls: type) -> dict[str, Option]:
    """The options of a class by name, in order: its own, then those of groups."""
    if cls not in _DECLARED:
        _DECLARED[cls] = _declared(cls)
    return _DECLARED[cls]


def _declared(cls: type) -> dict[str, Option]:
    # fields that were inherited are spelt with the names of another module
    homes = [vars(sys.modules[base.__module__]) for base in reversed(cls.__mro__)]
    names = dict(itertools.chain.from_iterable(home.items() for home in homes))
    made = cls.__init__  # type: ignore[misc]
    hints = typing.get_type_hints(made, localns=names, include_extras=True)
    found: dict[str, Option] = {}
    for parameter in list(inspect.signature(made).parameters.values())[1:]:
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            hint = hints.get(parameter.name, str)
            found[parameter.name] = _option(parameter.name, parameter.default, hint)
    # a shared group may speak of an option that not every metric has
    return {
        name: replace(o, conditions=tuple(c for c in o.conditions if c.option in found))
        for name, o in found.items()
    }


def _option(name: str, default: Any, hint: Any) -> Option:
    kind, extras = _parted(hint)
    return Option(
        name,
        default,
        kind,
        next((x for x in reversed(extras) if isinstance(x, str)), ""),
        tuple(x for x in extras if isinstance(x, Range)),
        tuple(x for x in extras if isinstance(x, When)),
    )


def _parted(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """The type alone, and what `Annotated` adds to it or to a part of a union; inner parts first.

    >>> _parted(typing.Annotated[int, "inner"] | None)
    (int | None, ('inner',))
    """
    if typing.get_origin(hint) is typing.Annotated:
        inner, *extras = typing.get_args(hint)
        kind, more = _parted(inner)
        return kind, (*more, *extras)
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        kinds, found = zip(*map(_parted, typing.get_args(hint)), strict=True)
        return functools.reduce(operator.or_, kinds), tuple(itertools.chain(*found))
    return hint, ()


# Values and their text


def format_value(value: Any) -> str:
    """A value as it is written in a spec."""
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


def parse_value(text: str, kind: Any, nothing: bool = True) -> Any:
    """`text` as `kind`; raises ValueError whose message completes "is not ...".

    `nothing` says whether the word none stands for no value, where the kind admits that.
    """
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is types.UnionType or origin is typing.Union:
        if nothing and type(None) in arguments and text.lower() == "none":
            return None
        for inner in (a for a in arguments if a is not type(None)):
            try:
                return parse_value(text, inner)
            except ValueError as error:
                problem = error
        raise problem
    if origin is typing.Literal:
        if text not in arguments:
            raise ValueError("one of " + ", ".join(map(str, arguments)))
        return text
    if origin is tuple:
        return tuple(parse_value(part, arguments[0]) for part in text.split(";") if part)
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


def kind_text(kind: Any) -> str:
    """The values that a type admits, as one writes them.

    >>> kind_text(bool), kind_text(int | None), kind_text(tuple[float, ...])
    ('on|off', 'WHOLE', 'NUMBER;NUMBER')
    """
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is types.UnionType or origin is typing.Union:
        inner = [kind_text(a) for a in arguments if a is not type(None)]
        return "|".join(inner)
    if origin is typing.Literal:
        return "|".join(map(str, arguments))
    if origin is tuple:
        return f"{kind_text(arguments[0])};{kind_text(arguments[0])}"
    names = {bool: "on|off", int: "WHOLE", float: "NUMBER", str: "TEXT"}
    return names.get(kind, str(kind))
