"""Work in progress on disk: drafts that are renamed when they are done, folders that go away.

    with Scratch() as folder: ...                    in the folder of temporary files
    with Scratch(beside=target) as folder: ...       on the disk of `target`, to be renamed to it

Both are removed at the end of the block, whatever ended it: a fault, Ctrl-C, SIGTERM. What a
process left that was killed for good (kill -9, a power cut) is removed by the next one that works
in the same folder. Each is held by a lock of its process and carries its number, so that nobody
removes what is in use, on this machine or another.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from types import ModuleType

_NAME = re.compile(r"\.mtgauge-(\d+)-\w+")
_swept: set[Path] = set()


class Scratch(tempfile.TemporaryDirectory[str]):
    """A temporary folder; the value of the `with` block is its path as text."""

    def __init__(self, beside: Path | None = None) -> None:
        place = Path(tempfile.gettempdir()) if beside is None else beside.absolute().parent
        sweep(place)
        prefix = f".mtgauge-{os.getpid()}-"
        super().__init__(prefix=prefix, dir=place, ignore_cleanup_errors=True)
        self._lock = _locked(Path(self.name))

    def cleanup(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
        super().cleanup()


def draft_name() -> str:
    """A name for a file in progress; lock it with `hold` while it is written."""
    return f".mtgauge-{os.getpid()}-{os.urandom(4).hex()}"


def hold(handle: int) -> None:
    """Lock an open file, as long as it is open, against being swept away."""
    locks = _locks()
    if locks is not None:
        with suppress(OSError):  # a disk without locks
            locks.flock(handle, locks.LOCK_EX | locks.LOCK_NB)


def sweep(folder: Path) -> None:
    """Remove what killed processes left in a folder; once per folder and process."""
    if folder in _swept or _locks() is None:
        return
    _swept.add(folder)
    with suppress(OSError):
        for entry in list(os.scandir(folder)):
            found = _NAME.fullmatch(entry.name)
            if found and not _runs(int(found[1])) and _unlocked(Path(entry.path)):
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, ignore_errors=True)
                else:
                    os.unlink(entry.path)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _unlocked(path: Path) -> bool:
    lock = _locked(path)
    if lock is None:
        return False
    os.close(lock)
    return True


def _locked(path: Path) -> int | None:
    """A handle that holds the lock of a file or folder; None where somebody else has it."""
    locks = _locks()
    if locks is None:
        return None
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        locks.flock(handle, locks.LOCK_EX | locks.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


def _locks() -> ModuleType | None:
    try:
        import fcntl
    except ImportError:  # Windows: what was left is not removed
        return None
    return fcntl
