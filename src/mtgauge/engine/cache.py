"""Statistics rows kept on disk, so that no text is scored twice by the same metric.

    cache = RowCache(folder)
    question = cache.ask(ready, batch)       question.new: the segments to score
    rows = cache.answer(question, fresh)     all rows; the fresh ones are kept

A row is keyed by the full signature of the settled metric, the language pair, the texts, and a
fingerprint of the code and models that make scores: a changed formula can never be answered with an
old number. A metric that learns from the corpus (NIST) is keyed by that corpus too.

The store is one SQLite file in write-ahead mode. Each batch is one transaction, so a run that is
killed goes on where it stopped, and two processes may share the file. Rows are plain float64
bytes: nothing is unpickled. Before them stands a digest of the key and the row: a row that was
damaged on disk is scored and stored again, and counted (`damaged`).

Limits: notes that a metric counts while scoring (truncated texts) are counted only for texts scored
now; a network drive may not support the locking that SQLite needs.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from mtgauge.data.database import open_database, rows_of
from mtgauge.data.seal import libraries, sealed, text_digest, unsealed
from mtgauge.data.segments import Segments
from mtgauge.engine.ready import Ready
from mtgauge.errors import ResourceError
from mtgauge.metric import FloatArray

_SCORING = ("*.py", "data", "text", "encode", "compare", "knowledge", "metrics", "models")
_COMPILED = frozenset({"__pycache__", ".so", ".dll"})  # made of the sources beside them
_SCHEMA = "CREATE TABLE IF NOT EXISTS rows (key BLOB PRIMARY KEY, row BLOB) WITHOUT ROWID"
_PATIENCE = 60.0  # seconds to wait for another process that writes


@dataclass(frozen=True)
class Question:
    """A batch that the cache was asked for."""

    keys: list[bytes]  # one per segment
    found: dict[bytes, FloatArray]
    new: list[int]  # segments to score, each text once


class RowCache:
    """Rows of any metric by text; `folder` is made on first use."""

    def __init__(self, folder: str | Path) -> None:
        self.path = Path(folder) / "rows.sqlite"
        self.hits = self.misses = self.damaged = 0
        try:
            self._store = open_database(self.path, _SCHEMA, _PATIENCE)
        except (OSError, sqlite3.Error) as error:
            raise self._fault(error) from None

    def close(self) -> None:
        self._store.close()

    def ask(self, ready: Ready, batch: Segments) -> Question:
        """What is known of a batch, and which of its segments must be scored."""
        keys = _keys(identity(ready, batch.lang), batch)
        first = {key: i for i, key in reversed(list(enumerate(keys)))}
        found = self._read(list(first))
        new = [first[key] for key in first if key not in found]
        self.hits += len(first) - len(new)
        self.misses += len(new)
        return Question(keys, found, new)

    def answer(self, question: Question, fresh: FloatArray) -> FloatArray:
        """All rows of the batch, from the rows of its new segments, which are stored."""
        fresh = np.ascontiguousarray(fresh, dtype=np.float64)
        new = [question.keys[i] for i in question.new]
        if new:
            self._write(new, fresh)
        found = question.found | dict(zip(new, fresh, strict=True))
        return np.stack([found[key] for key in question.keys]) if found else fresh

    def _read(self, keys: Sequence[bytes]) -> dict[bytes, FloatArray]:
        found: dict[bytes, FloatArray] = {}
        try:
            for key, stored in rows_of(self._store, "SELECT key, row FROM rows", keys):
                row = unsealed(stored, key)
                if row is None:
                    self.damaged += 1
                else:
                    found[key] = np.frombuffer(row, dtype="<f8").astype(np.float64)
        except sqlite3.Error as error:
            raise self._fault(error) from None
        return found

    def _write(self, keys: Sequence[bytes], rows: FloatArray) -> None:
        pairs = zip(keys, rows, strict=True)
        values = ((key, sealed(row.astype("<f8").tobytes(), key)) for key, row in pairs)
        try:
            self._store.execute("BEGIN IMMEDIATE")
            # another process may have stored the same text meanwhile: the rows are equal
            self._store.executemany("INSERT OR REPLACE INTO rows VALUES (?, ?)", values)
            self._store.execute("COMMIT")
        except sqlite3.Error as error:
            if self._store.in_transaction:
                self._store.execute("ROLLBACK")
            raise self._fault(error) from None

    def _fault(self, error: Exception) -> ResourceError:
        return ResourceError(
            f"{self.path}: the score cache cannot be used ({error}). "
            "Delete it, choose another folder with --cache DIR, or go without: --no-cache."
        )


def identity(ready: Ready, lang: str | None) -> bytes:
    """What a row depends on beside its texts."""
    parts = [ready.signature.full, str(lang), ready.corpus, code_fingerprint()]
    options = ready.metric.params().values()
    parts += [_stamp(Path(value)) for value in options if isinstance(value, str) and value]
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=16).digest()


def _keys(identity: bytes, batch: Segments) -> list[bytes]:
    """One key per row."""
    sources = batch.sources or [""] * len(batch)
    references = batch.references or [()] * len(batch)
    rows = zip(batch.hypotheses, sources, references, strict=True)
    return [text_digest((text, source, *refs), identity) for text, source, refs in rows]


@lru_cache(maxsize=1)
def code_fingerprint() -> str:
    """Digest of the code that makes scores, the libraries it uses, and stamps of models shipped."""
    root = Path(__file__).parents[1]
    digest = hashlib.blake2b(libraries().encode(), digest_size=16)
    for pattern in _SCORING:
        for path in sorted(
            file for place in root.glob(pattern) for file in (place, *place.rglob("*"))
        ):
            if path.suffix in (".py", ".c", ".h"):
                digest.update(path.read_bytes())
            elif path.is_file() and _COMPILED.isdisjoint((*path.parts, path.suffix)):
                digest.update(_stamp(path).encode())
    return digest.hexdigest()


def _stamp(path: Path) -> str:
    """Name, size and times of a file or of all files below a folder; empty where there is none.

    A parameter that is a path (a model, a folder of annotations) must not be answered from the
    cache after a file has changed. The time of the last change of the inode is among them, since
    the other one can be set.
    """
    try:
        files = sorted(path.rglob("*")) if path.is_dir() else [path] if path.is_file() else []
        stats = [(file.relative_to(path), file.stat()) for file in files if file.is_file()]
    except OSError:
        return ""
    return ";".join(f"{n}:{s.st_size}:{s.st_mtime_ns}:{s.st_ctime_ns}" for n, s in stats)
