"""What a command writes: looked at before it runs, so that hours are not lost at its end.

    add("--json", type=OutputFile, metavar="FILE", help=...)     in a command
    add("--out", type=OutputFolder, metavar="DIR", help=...)     made where it is not there yet
    refuse_lost(args)                                            in cli.py, once arguments are read

A file that the same run reads, one that two options name, a folder for a file or a file for a
folder, and a place where nothing can be written are refused. A folder may be one to go on in.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mtgauge.errors import InputError, ResourceError, UsageError

_REPLACED = {"json": "against"}  # of `check`: its JSON may replace the run that it compares with


class OutputFile(type(Path())):  # type: ignore[misc]
    """A path that is written, as argparse makes it."""


class OutputFolder(type(Path())):  # type: ignore[misc]
    """A folder that files are written into."""


def refuse_lost(args: argparse.Namespace) -> None:
    """Refuse outputs that would cost an input or another output, or cannot be written."""
    given = vars(args)
    outputs = {name: path for name, path in given.items() if isinstance(path, OutputFile)}
    if given.get("plot") is not None and importlib.util.find_spec("matplotlib") is None:
        raise ResourceError("--plot needs matplotlib: pip install 'mtgauge[plot]'.")
    for name, path in given.items():
        if isinstance(path, OutputFolder) and path.exists() and not path.is_dir():
            raise InputError(
                "this is a file", file=path, remedy=f"Name a folder for {_option(name)}."
            )
    seen: dict[Path, str] = {}
    for name, path in outputs.items():
        _refuse_place(path, _option(name))
        other = seen.setdefault(path.resolve(), name)
        if other != name and (path.is_file() or not path.exists()):  # a device takes both
            raise UsageError(
                f"{_option(other)} and {_option(name)} both name {path}: give each its own file."
            )
    if isinstance(given.get("out"), Path):
        outputs["out"] = given["out"]
    for name, path in outputs.items():
        for text in _inputs(given, {*outputs, _REPLACED.get(name, "")}):
            if _same(path, text):
                raise UsageError(
                    f"{path} is read here, and writing would destroy it: name another output."
                )


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _refuse_place(path: Path, option: str) -> None:
    if str(path) in ("-", "."):
        raise UsageError(f"{option} takes the name of a file.")
    if path.is_dir():
        raise InputError("this is a folder", file=path, remedy=f"Name a file for {option}.")
    if not path.parent.is_dir():
        raise InputError(
            f"there is no folder {path.parent}", file=path, remedy="Make it, or name another."
        )
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise InputError("nothing may be written there", file=path, remedy="Name another file.")


def _inputs(given: dict[str, Any], without: set[str]) -> Iterator[str]:
    """What was given that may be a file to read: texts and paths, also in lists."""
    for name, value in given.items():
        if name not in without:
            for item in value if isinstance(value, list | tuple) else [value]:
                if isinstance(item, str | Path):
                    yield str(item)


def _same(path: Path, text: str) -> bool:
    """Whether an argument, or the file before its `:COLUMN`, is that very file."""
    return any(
        os.path.isfile(name) and path.is_file() and os.path.samefile(path, name)
        for name in (text, text.rpartition(":")[0])
    )
