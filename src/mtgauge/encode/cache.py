"""Vectors on disk between runs: one SQLite file per folder, keyed by encoder, layer and text.

    cache = DiskCache("~/.cache/mtgauge", encoder.fingerprint, limit_gb=4)
    cache.put([(("8", "Ein Satz."), rows)])
    cache.get([("8", "Ein Satz.")])

SQLite's journal makes a killed run harmless (a batch is in or it is not) and lets several processes
use one folder; a process that must wait for another too long goes on without the cache. Vectors are
stored as float32, so a score does not depend on whether they came from disk. Beyond the size limit
the vectors used longest ago are dropped. Each block of vectors is stored behind a digest: one that
was damaged is encoded and stored again. A file that SQLite cannot read is refused with its name.
"""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from mtgauge.data.database import open_database, rows_of
from mtgauge.data.seal import libraries, sealed, unsealed
from mtgauge.encode.tokens.encoder import Vectors
from mtgauge.errors import ResourceError

Name = tuple[str, str]  # layer (and language), text
_SCHEMA = """
CREATE TABLE IF NOT EXISTS vectors (
    key BLOB PRIMARY KEY, width INTEGER NOT NULL, used INTEGER NOT NULL, size INTEGER NOT NULL,
    data BLOB NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS by_use ON vectors (used, size);
"""


class DiskCache:
    def __init__(
        self, folder: str, fingerprint: str, limit_gb: float, patience: float = 30
    ) -> None:
        self.fingerprint = fingerprint
        self.limit = int(limit_gb * 2**30)
        self.path = Path(folder).expanduser() / "vectors.sqlite"
        try:
            self.database = open_database(self.path, _SCHEMA, patience)
        except (sqlite3.Error, OSError) as error:
            raise ResourceError(
                f"The cache {self.path} cannot be used ({error}). Delete it, or choose another "
                "folder with --cache."
            ) from None

    def get(self, names: Sequence[Name]) -> dict[Name, Vectors]:
        """The vectors that are there."""
        by_key = {self._key(name): name for name in names}
        found: dict[Name, Vectors] = {}
        query = "SELECT key, width, data FROM vectors"
        try:
            for key, width, stored in rows_of(self.database, query, list(by_key)):
                data = unsealed(stored, _sealed_under(key, width))
                if data is not None:
                    found[by_key[key]] = np.frombuffer(data, np.float32).reshape(-1, width)
            self._touch([self._key(name) for name in found])
        except sqlite3.OperationalError:
            return found  # another process holds the file: these texts are encoded anew
        except sqlite3.DatabaseError as error:
            raise ResourceError(f"The cache {self.path} is damaged ({error}). Delete it.") from None
        return found

    def put(self, items: Iterable[tuple[Name, Vectors]]) -> None:
        """Store vectors; all of them, or none if the process is killed meanwhile."""
        now = time.time_ns()
        rows = [
            (key, width, now, vectors.nbytes, sealed(data, _sealed_under(key, width)))
            for name, vectors in items
            for key, width in [(self._key(name), vectors.shape[1])]
            for data in [np.ascontiguousarray(vectors, np.float32).tobytes()]
        ]
        if not rows:
            return
        try:
            with self.database:
                self.database.execute("BEGIN IMMEDIATE")
                self.database.executemany("INSERT OR REPLACE INTO vectors VALUES (?,?,?,?,?)", rows)
                self._shrink()
        except sqlite3.OperationalError:
            return  # locked or disk full: the run goes on without keeping these

    def size(self) -> int:
        """Bytes of vectors that are stored."""
        (total,) = self.database.execute("SELECT coalesce(sum(size), 0) FROM vectors").fetchone()
        return int(total)

    def close(self) -> None:
        self.database.close()

    def _key(self, name: Name) -> bytes:
        layer, text = name
        joined = "\0".join((self.fingerprint, libraries(), layer, text))
        return hashlib.sha256(joined.encode("utf-8", "surrogatepass")).digest()

    def _touch(self, keys: list[bytes]) -> None:
        now = time.time_ns()
        with self.database:
            self.database.execute("BEGIN IMMEDIATE")
            self.database.executemany(
                "UPDATE vectors SET used = ? WHERE key = ?", [(now, key) for key in keys]
            )

    def _shrink(self) -> None:
        """Drop the oldest vectors until a tenth of the limit is free again."""
        total = self.size()
        if total <= self.limit:
            return
        doomed = []
        for key, size in self.database.execute("SELECT key, size FROM vectors ORDER BY used"):
            doomed.append((key,))
            total -= size
            if total <= self.limit * 0.9:
                break
        self.database.executemany("DELETE FROM vectors WHERE key = ?", doomed)


def _sealed_under(key: bytes, width: object) -> bytes:
    """What the digest of a block covers beside its numbers."""
    return key + str(width).encode()
