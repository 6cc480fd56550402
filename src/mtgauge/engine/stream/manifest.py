"""What a folder of shards holds: `manifest.jsonl`, a line for the run and one per finished shard.

    {"mtgauge": ..., "form": ".jsonl.gz", "inputs": [...], "options": {...}, "metrics": [...]}
    {"shard": 0, "stage": "write", "file": "part-00000.jsonl.gz", "records": 50000, "kept": ...}
    {"done": {"records": ..., "kept": ..., "rejected": ...}}

A line is appended after its shard stands in the folder under its name, so that a run that is killed
at any moment has lost at most the shard it was at. The first line is written whole or not at all;
a last line without its line end was cut by a kill and is forgotten. Nothing in it depends on the
clock: an undisturbed run writes the same bytes.

Refused: a folder with files but no manifest, and one whose run differs in input, options, metrics
or code; the message names what differs. One run at a time: the folder is locked.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mtgauge.data import output
from mtgauge.errors import InputError, UsageError

NAME = "manifest.jsonl"
LOCK = ".lock"
WORK = ".work"  # what is needed until the run is done
DRAFT = ".mtgauge-"  # how drafts of data/output.py begin


class Manifest:
    def __init__(self, folder: Path, head: Mapping[str, Any]) -> None:
        """Begin a run in a folder, or go on with it; `locked` holds the folder meanwhile."""
        self.path = folder / NAME
        self.shards: list[dict[str, Any]] = []
        self.done: dict[str, Any] | None = None
        if not self.path.exists():
            _refuse_strangers(folder)
            output.write(self.path, _line(head))
            return
        lines = self._whole_lines()
        if len(lines) == 1 and not any(folder.glob("[!.]*-[0-9]*")):
            # nothing was finished: the folder is as good as new
            shutil.rmtree(folder / WORK, ignore_errors=True)
            output.write(self.path, _line(head))
            return
        self._compare(json.loads(lines[0]), json.loads(_line(head)))
        for line in lines[1:]:
            entry = json.loads(line)
            if "done" in entry:
                self.done = entry["done"]
            else:
                self._check(folder, entry)
                self.shards.append(entry)

    def finished(self, stage: str) -> list[dict[str, Any]]:
        """The finished shards of a stage, in order."""
        return [entry for entry in self.shards if entry["stage"] == stage]

    def add(self, entry: dict[str, Any]) -> None:
        """A shard is finished, and its files stand under their names."""
        self._append(entry)
        self.shards.append(entry)

    def finish(self, totals: dict[str, Any]) -> None:
        self._append({"done": totals})
        self.done = totals

    def _append(self, entry: Mapping[str, Any]) -> None:
        with self.path.open("ab") as stream:
            stream.write(_line(entry).encode())
            stream.flush()
            os.fsync(stream.fileno())

    def _whole_lines(self) -> list[bytes]:
        data = self.path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        if len(whole) < len(data):
            with self.path.open("r+b") as stream:
                stream.truncate(len(whole))
        lines = whole.splitlines()
        if not lines:
            raise InputError(
                "this is no manifest of mtgauge stream", file=self.path, remedy=_ELSEWHERE
            )
        return lines

    def _compare(self, old: dict[str, Any], new: dict[str, Any]) -> None:
        for what in dict.fromkeys((*old, *new)):
            was, now = old.get(what), new.get(what)
            if was == now:
                continue
            if isinstance(was, dict) and isinstance(now, dict):
                key = next(k for k in dict.fromkeys((*was, *now)) if was.get(k) != now.get(k))
                what, was, now = key, was.get(key), now.get(key)
            raise UsageError(
                f"{self.path.parent} was begun with other settings: {_SAID.get(what, what)} was "
                f"{_short(was)} and is {_short(now)}. Give the same command to go on, or choose "
                "another folder."
            )

    def _check(self, folder: Path, entry: Mapping[str, Any]) -> None:
        """A finished shard must still be there, unless the next stage has done away with it."""
        file = folder / entry["file"]
        if entry["stage"] == "write" and (
            not file.is_file() or file.stat().st_size != entry["bytes"]
        ):
            raise InputError(
                "this finished shard is gone or was changed",
                file=file,
                remedy="Delete the folder to begin again.",
            )


_SAID = {"code": "the version of mtgauge or its models", "inputs": "the input", "form": "its form"}
_ELSEWHERE = "Choose an empty folder, or delete what is in it."


def _line(entry: Mapping[str, Any]) -> str:
    return json.dumps(entry, ensure_ascii=False) + "\n"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else text[:200] + "..."


def _refuse_strangers(folder: Path) -> None:
    """A folder without a manifest must hold nothing that another run may have left."""
    for path in sorted(folder.iterdir()):
        if path.name not in (LOCK, WORK) and not path.name.startswith(DRAFT):
            raise InputError(
                f"the folder holds {path.name}, but no {NAME}: these are files of another run",
                file=folder,
                remedy=_ELSEWHERE,
            )


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder; a second run is refused. A killed run holds nothing."""
    path = folder / LOCK
    with path.open("ab") as stream:
        try:
            _lock(stream.fileno())
        except OSError:
            raise UsageError(
                f"Another run is writing to {folder}. Wait for it, or choose another folder."
            ) from None
        try:
            yield
        finally:
            with contextlib.suppress(OSError):  # Windows removes no open file
                path.unlink()


def _lock(handle: int) -> None:
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
    else:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
