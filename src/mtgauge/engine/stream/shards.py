"""Shards: files that are there whole or not at all.

    with shard(folder, "part-00000.jsonl") as stream:
        stream.write(...)                              renamed into place at the end

A shard is written as a draft beside its place, brought to the disk and renamed. `sweep` removes the
drafts of a run that was killed. A disk that is full ends the run with what was finished intact.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from mtgauge.engine.stream.manifest import DRAFT
from mtgauge.errors import InputError


@contextlib.contextmanager
def shard(folder: Path, name: str) -> Iterator[BinaryIO]:
    """A stream whose content stands under its name once the block has ended well."""
    draft = folder / f"{DRAFT}{name}"
    try:
        with draft.open("wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(folder / name)
        _sync(folder)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise InputError(
            f"the disk is full ({error.strerror})",
            file=folder / name,
            remedy="Make room and give the same command again: what was finished is kept.",
        ) from None
    finally:
        draft.unlink(missing_ok=True)


def sweep(folder: Path) -> None:
    """Remove drafts; the folder must be locked."""
    for path in folder.glob(f"{DRAFT}*"):
        path.unlink()


def _sync(folder: Path) -> None:
    """Bring a rename to the disk, where folders can be opened."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
