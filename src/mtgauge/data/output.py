"""Files that mtgauge writes: whole or not at all, and never where they should not go.

    write(Path("scores.json"), text)               text or bytes
    folder / f"{file_name(system)}.txt"            stays in the folder, whatever the system's name

A regular file, or one that is not there yet, is written beside its place and renamed: what stood
there before survives a failure, and no draft is left. A device, a FIFO or a link is written
through, not replaced.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

from mtgauge.data.scratch import draft_name, hold, sweep
from mtgauge.errors import InputError, ResourceError

_PLAIN = frozenset("-_.+=,@~")


def write(path: Path, content: str | bytes) -> None:
    """Write a file; folders that lead to it must exist."""
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    write_with(path, lambda stream: stream.write(data))


def append(path: Path, text: str) -> None:
    """Add text to the end of a file that others write to as well."""
    try:
        with path.open("a", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as error:
        raise _unwritable(path, error) from None


def write_with(path: Path, fill: Callable[[BinaryIO], object]) -> None:
    """Write a file with a function that fills a binary stream."""
    try:
        if path.is_symlink() or (path.exists() and not path.is_file()):
            with path.open("wb") as stream:
                fill(stream)
        else:
            _replace(path, fill)
    except OSError as error:
        raise _unwritable(path, error) from None


def _unwritable(path: Path, error: OSError) -> InputError:
    return InputError(
        f"cannot be written ({error.strerror or error})",
        file=path,
        remedy="Choose another place; what was printed holds.",
    )


def _replace(path: Path, fill: Callable[[BinaryIO], object]) -> None:
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(13, "Permission denied")
    sweep(path.absolute().parent)
    draft = path.with_name(draft_name())
    try:
        with draft.open("xb") as stream:
            hold(stream.fileno())
            fill(stream)
        if path.exists():
            shutil.copymode(path, draft)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def make_folder(folder: Path) -> None:
    """Make a folder and those that lead to it, if they are not there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"the folder cannot be made ({error.strerror})", file=folder, remedy="Choose another."
        ) from None


def cache_folder() -> Path:
    """Where what can be made again is kept: $MTGAUGE_CACHE, else the user's cache folder."""
    chosen = os.environ.get("MTGAUGE_CACHE")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "mtgauge"
    except RuntimeError:  # a user without a home
        raise ResourceError(
            "There is no home folder to keep files in. Name a folder for them: MTGAUGE_CACHE=DIR."
        ) from None


def file_name(name: str) -> str:
    """A name as one part of a path: other characters than letters, digits and -_.+=,@~ as %XX.

    Different names stay different.

    >>> file_name("online-B"), file_name("../../x"), file_name("a b")
    ('online-B', '%2E.%2F..%2Fx', 'a%20b')
    """
    safe = "".join(
        c if c.isalnum() or c in _PLAIN else quote(c, safe="", errors="surrogatepass") for c in name
    )
    return "%2E" + safe[1:] if safe.startswith(".") else safe or "%"
