"""Runs and the folder that keeps them, so that they survive a restart.

    STATE/runs/ID/run.json          what was asked, how far it is, what came of it
    STATE/runs/ID/input/            uploads: deleted when the run ends
    STATE/runs/ID/result.json scores.tsv segments.tsv report.html

Files are written whole or not at all. An identifier is random, and the only thing by which a client
names a run: what does not look like one is not looked up. One server per folder: it is locked.
"""

from __future__ import annotations

import contextlib
import json
import re
import secrets
import shutil
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from mtgauge.data.output import make_folder, write
from mtgauge.errors import UsageError
from mtgauge.serve.refusals import Refusal

FINAL = ("done", "failed", "cancelled")
OUTPUTS = ("result.json", "scores.tsv", "segments.tsv", "report.html")
_ID = re.compile(r"[A-Za-z0-9_-]{16}")
_RECORD = "run.json"


@dataclass
class Run:
    """One run, as it is kept and as clients see it."""

    id: str
    title: str
    created: str
    metrics: list[str]
    translations: list[tuple[str, str | None]]  # uploaded file and its column, if one is meant
    source: tuple[str, str | None] | None = None
    references: list[tuple[str, str | None]] = field(default_factory=list)
    lang: str | None = None
    baseline: str | None = None
    unescape: bool = False
    state: str = "waiting"  # waiting, running, then one of FINAL
    stage: str = ""  # what a running one is at, in words
    done: int = 0  # segments
    total: int = 0
    error: str = ""
    started: str | None = None
    ended: str | None = None
    summary: dict[str, Any] = field(default_factory=dict)  # systems, segments, scores, warnings
    policy: str = ""  # the report's Content-Security-Policy: it may be of an older version

    @property
    def is_final(self) -> bool:
        return self.state in FINAL

    def public(self) -> dict[str, Any]:
        """What a client is told; the result's addresses once there is one."""
        links = (
            {name: f"/runs/{self.id}/{name}" for name in OUTPUTS} if self.state == "done" else {}
        )
        told = {key: value for key, value in asdict(self).items() if key != "policy"}
        return told | {"outputs": links}


class Store:
    """All runs, newest first, in memory and on disk."""

    def __init__(self, folder: Path, kept: int) -> None:
        self.folder, self.kept = folder / "runs", kept
        make_folder(self.folder)
        self._lock = _lock(folder / "lock")
        self._guard = threading.RLock()
        self._runs: dict[str, Run] = {}
        for path in self.folder.iterdir():
            run = _read(path / _RECORD)
            if run is None:  # cut off while it was being made, or not ours
                shutil.rmtree(path, ignore_errors=True)
            else:
                self._runs[run.id] = run

    def close(self) -> None:
        self._lock.close()

    def new_folder(self) -> tuple[str, Path]:
        """An identifier and an empty folder for uploads."""
        name = secrets.token_urlsafe(12)
        folder = self.folder / name / "input"
        make_folder(folder)
        return name, folder

    def place(self, run: Run) -> Path:
        return self.folder / run.id

    def add(self, run: Run) -> None:
        with self._guard:
            self._runs[run.id] = run
            self.save(run)
            old = [r for r in self.all() if r.is_final][self.kept :]
        for each in old:
            self.delete(each)

    def save(self, run: Run) -> None:
        text = json.dumps(asdict(run), ensure_ascii=False, indent=1)
        write(self.place(run) / _RECORD, text)

    def finish(self, run: Run, state: str, error: str = "") -> None:
        """The end of a run, whatever it was: uploads are deleted."""
        self.discard(run.id, "input")
        run.error, run.ended, run.stage = error, now(), ""
        run.state = state
        self.save(run)

    def delete(self, run: Run) -> None:
        with self._guard:
            self._runs.pop(run.id, None)
        self.discard(run.id)

    def discard(self, name: str, *part: str) -> None:
        shutil.rmtree(self.folder.joinpath(name, *part), ignore_errors=True)

    def all(self) -> list[Run]:
        with self._guard:
            return sorted(self._runs.values(), key=lambda run: (run.created, run.id), reverse=True)

    def get(self, name: str) -> Run:
        run = self._runs.get(name) if _ID.fullmatch(name) else None
        if run is None:
            raise Refusal(404, "There is no such run: it may have been deleted.")
        return run

    def output(self, run: Run, name: str) -> Path:
        """A file of a finished run."""
        if run.state != "done":
            raise Refusal(409, f"The run is {run.state}: it has no results.")
        if name not in OUTPUTS:
            raise Refusal(404, f"A run has {', '.join(OUTPUTS)}.")
        return self.place(run) / name


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def safe_name(name: str, taken: Sequence[str] = ()) -> str:
    """A client's file name as one that stays in its folder and is nothing but a name.

    >>> safe_name("../../etc/pass:wd"), safe_name("-"), safe_name(".x")
    ('pass_wd', '_-', '_.x')
    """
    last = re.split(r"[/\\]", name)[-1]
    plain = "".join(c if c.isprintable() and c not in ':*?"<>|' else "_" for c in last).strip()
    if len(plain.encode("utf-8", "replace")) > 150:
        plain = plain[-40:]
    if not plain or plain[0] in ".-":
        plain = "_" + plain
    if plain in taken:
        raise Refusal(422, f"Two files are called {plain}: rename one of them.")
    return plain


def _read(path: Path) -> Run | None:
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        return Run(**{f.name: values[f.name] for f in fields(Run)})
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _lock(path: Path) -> IO[str]:
    """Held until it is closed or the process ends; systems without it go unlocked."""
    handle = path.open("w")
    with contextlib.suppress(ImportError):
        import fcntl

        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            handle.close()
            raise UsageError(
                f"Another server keeps its runs in {path.parent}: stop it, or give --state FOLDER."
            ) from None
    return handle
