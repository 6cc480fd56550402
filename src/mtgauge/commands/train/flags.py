"""Flags from settings, and settings from flags: one flag per field of a dataclass.

add(parser, HeadTraining, "batch", "segments per step")     --batch N, with the field's default
read(HeadTraining, args)                                    the settings that the flags describe
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from mtgauge.errors import UsageError

T = TypeVar("T")


def default(cls: type, name: str) -> Any:
    """The default of a field; MISSING where it has none."""
    field = next(f for f in dataclasses.fields(cls) if f.name == name)
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


def add(group: argparse._ActionsContainer, cls: type, name: str, text: str, **how: Any) -> None:
    """One flag for one field; a field without a default is required, a bool is a switch."""
    usual = default(cls, name)
    flag = "--" + name.replace("_", "-")
    if usual is dataclasses.MISSING:
        group.add_argument(flag, required=True, help=text, **how)
    elif isinstance(usual, bool):
        group.add_argument(flag, action="store_true", help=text, **how)
    else:
        if isinstance(usual, (int, float, str)):
            how = {"type": type(usual)} | how
            text += f" (default {usual})"
        group.add_argument(flag, default=usual, help=text, **how)


def files(text: str) -> dict[str, Any]:
    """How a flag that takes several files is declared."""
    return {"text": text, "type": Path, "nargs": "+", "metavar": "FILE"}


def read(cls: Callable[..., T], args: argparse.Namespace) -> T:
    """The settings that the flags describe; fields without a flag keep their default."""
    assert isinstance(cls, type)
    names = [field.name for field in dataclasses.fields(cls)]
    made: T = cls(**{name: getattr(args, name) for name in names if hasattr(args, name)})
    return made


class Shares(argparse.Action):
    """NAME=NUMBER ... as a mapping; a name without a number counts 1."""

    def __call__(
        self, parser: object, namespace: argparse.Namespace, values: Any, option: Any = None
    ) -> None:
        found: Mapping[str, float] = {}
        for item in values:
            name, _, number = item.partition("=")
            try:
                found = {**found, name: float(number) if number else 1.0}
            except ValueError:
                raise UsageError(f"{option} {item}: {number!r} is not a number.") from None
        setattr(namespace, self.dest, found)
