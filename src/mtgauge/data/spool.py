"""Inputs that can be read once only, copied so that they can be read again.

    with Spool() as spool:
        path = spool.reusable(Path("-"))       # standard input; also FIFOs and <(commands)
        ...                                    # read `path` as often as needed

A run may read a file twice: a metric that learns from the references does, and so does the message
about files of different length. Copies lie in one temporary folder, which is removed at the end of
the `with` block, whatever ended it; if there is no `with`, when the object or the process ends.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

from mtgauge.data.scratch import Scratch
from mtgauge.errors import InputError, ResourceError

STANDARD_INPUT = Path("-")


class Spool(ExitStack):
    """Owner of the copies; nothing is made on disk before the first one."""

    def __init__(self) -> None:
        super().__init__()
        self._folder: Path | None = None
        self._copies: dict[Path, Path] = {}

    def reusable(self, path: Path) -> Path:
        """The path itself if it is a file; else a copy of all that it has to say."""
        if not read_once(path):
            return path
        if path not in self._copies:
            if path == STANDARD_INPUT:
                self._copies[path] = self._copy(_standard_input(), "stdin")
            else:
                try:
                    with path.open("rb") as stream:
                        _refuse_device(stream, path)
                        self._copies[path] = self._copy(stream, path.name)
                except OSError as error:
                    raise InputError(f"cannot be opened ({error.strerror})", file=path) from None
        return self._copies[path]

    def _copy(self, stream: BinaryIO, name: str) -> Path:
        """The stream in a file of that name, whose ending tells what kind of table it is."""
        try:
            if self._folder is None:
                self._folder = Path(self.enter_context(Scratch()))
            target = self._folder / str(len(self._copies)) / name
            target.parent.mkdir()
            with target.open("wb") as copy:
                shutil.copyfileobj(stream, copy)
        except OSError as error:
            raise ResourceError(
                f"The input {name} cannot be copied to {tempfile.gettempdir()} ({error.strerror}). "
                "Make room there, name another folder with TMPDIR, or give a plain file."
            ) from None
        return target


def _refuse_device(stream: BinaryIO, path: Path) -> None:
    """A device such as /dev/zero has no end; a terminal has."""
    kind = os.fstat(stream.fileno()).st_mode
    if (stat.S_ISCHR(kind) or stat.S_ISBLK(kind)) and not stream.isatty():
        raise InputError("this is a device, not a file", file=path, remedy="Name a file.")


def read_once(path: Path) -> bool:
    """Whether a path is standard input, a FIFO, a socket or a device: gone once it was read."""
    if path == STANDARD_INPUT:
        return True
    try:
        return path.exists() and not path.is_file() and not path.is_dir()
    except OSError:  # a name that is too long, a folder that may not be searched
        return False


def _standard_input() -> BinaryIO:
    if sys.stdin is None:
        raise InputError("standard input is closed", remedy="Name a file instead of -.")
    if sys.stdin.isatty():
        print("Reading segments from the keyboard; end with Ctrl-D.", file=sys.stderr)
    return sys.stdin.buffer
