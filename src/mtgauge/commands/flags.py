"""Flags from settings, and settings from flags: one flag per field of a dataclass.

add(parser, HeadTraining, "batch", "minutes")   --batch N, --minutes X: default, kind and help
                                                are the field's
read(HeadTraining, args)                        the settings that the flags describe
"""

from __future__ import annotations

import argparse
import dataclasses
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from mtgauge.errors import UsageError

T = TypeVar("T")
_METAVARS = {Path: "PATH", int: "N", float: "X", str: "NAME"}


def add(group: argparse._ActionsContainer, cls: type[Any], *names: str, **how: Any) -> None:
    """One flag per field; `how` goes to argparse as it is."""
    fields = {field.name: field for field in dataclasses.fields(cls)}
    for name in names:
        field, (kind, text) = fields[name], _annotated(cls, name)
        usual = field.default
        if field.default_factory is not dataclasses.MISSING:
            usual = field.default_factory()
        if isinstance(usual, (int, float, str)) and not isinstance(usual, bool):
            text += f" (default {usual})"
        given = _kind(kind) | {"help": text} | how
        if usual is dataclasses.MISSING:
            given["required"] = True
        elif "store_true" not in given.values():
            given["default"] = usual
        group.add_argument("--" + name.replace("_", "-"), **given)


def _annotated(cls: type[Any], name: str) -> tuple[Any, str]:
    """Type and text of a field, of this class or of the one that it was inherited from."""
    for owner in cls.__mro__:
        hint = get_type_hints(owner, include_extras=True).get(name)
        if get_origin(hint) is Annotated:
            kind, text = get_args(hint)
            return kind, text
    raise KeyError(name)


def _kind(hint: Any) -> dict[str, Any]:
    """How argparse reads a value of this type."""
    origin, parts = get_origin(hint), get_args(hint)
    if hint is bool:
        return {"action": "store_true"}
    if origin is Literal:
        return {"choices": parts}
    if origin in (Union, types.UnionType):
        parts = tuple(part for part in parts if part is not type(None))
        return _kind(Path if Path in parts else parts[0])
    if origin is Sequence:
        return _kind(parts[0]) | {"nargs": "+"}
    if origin is Mapping:
        return {"nargs": "+", "action": _Numbers, "metavar": "NAME=X"}
    return {"type": hint, "metavar": _METAVARS[hint]}


def read(cls: type[T], args: argparse.Namespace) -> T:
    """The settings that the flags describe; fields without a flag keep their default."""
    names = [field.name for field in dataclasses.fields(cls)]  # type: ignore[arg-type]
    return cls(**{name: getattr(args, name) for name in names if hasattr(args, name)})


class _Numbers(argparse.Action):
    """NAME=X ... as a mapping; a name without a number counts 1."""

    def __call__(
        self, parser: object, namespace: argparse.Namespace, values: Any, option: Any = None
    ) -> None:
        earlier = getattr(namespace, self.dest, self.default)
        found: dict[str, float] = {} if earlier is self.default else dict(earlier)
        for item in values:
            name, _, number = item.partition("=")
            try:
                found[name] = float(number) if number else 1.0
            except ValueError:
                raise UsageError(f"{option} {item}: {number!r} is not a number.") from None
        setattr(namespace, self.dest, found)
