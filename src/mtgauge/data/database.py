"""Caches in SQLite: opened alike, and asked for many keys at a time.

    store = open_database(folder / "rows.sqlite", "CREATE TABLE IF NOT EXISTS rows (...)")
    for key, row in rows_of(store, "SELECT key, row FROM rows", keys): ...

Write-ahead mode: a run that is killed loses the transaction it was in and nothing else, and several
processes may share a file. One statement is one transaction unless BEGIN says otherwise.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

_QUESTION = 500  # keys per query; SQLite allows 999 parameters in old builds


def open_database(path: Path, schema: str, patience: float) -> sqlite3.Connection:
    """The file, made if it is not there; `patience` is how long another writer is waited for."""
    path.parent.mkdir(parents=True, exist_ok=True)
    store = sqlite3.connect(path, patience, isolation_level=None, check_same_thread=False)
    store.execute("PRAGMA journal_mode=WAL")
    store.execute("PRAGMA synchronous=NORMAL")
    store.executescript(schema)
    return store


def rows_of(store: sqlite3.Connection, query: str, keys: Sequence[bytes]) -> Iterator[Any]:
    """What a query has under these keys."""
    for start in range(0, len(keys), _QUESTION):
        part = keys[start : start + _QUESTION]
        yield from store.execute(f"{query} WHERE key IN ({','.join('?' * len(part))})", part)
