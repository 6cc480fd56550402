"""Writes a knowledge base; see `store` for what is in one.

    writer = KnowledgeWriter("my.sqlite")
    writer.source("our products", "in-house", "2024-05")
    writer.add("prod:7", "product", "Gauge", [("en", "Gauge", 1.0), ("cs", "Měřidlo", 1.0)])
    writer.finish()

Rows with an id that is already there are merged into it, so several sources make one file. Before
`finish` the file is not a knowledge base that can be opened; a writer goes on with it.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from mtgauge.errors import InputError, UsageError
from mtgauge.knowledge.base.index import IS_ACRONYM, IS_CASED, IS_SURE, IS_WEAK
from mtgauge.knowledge.base.keys import key_of
from mtgauge.knowledge.base.store import INDEX, SCHEMA, SURE, WEAK
from mtgauge.knowledge.base.whole import seal

_TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE sources (
    source INTEGER PRIMARY KEY, name TEXT UNIQUE, licence TEXT NOT NULL, version TEXT NOT NULL);
CREATE TABLE entities (
    entity INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL, category TEXT NOT NULL,
    label TEXT NOT NULL, source INTEGER NOT NULL REFERENCES sources);
CREATE TABLE aliases (
    lang TEXT, key TEXT, entity INTEGER REFERENCES entities, name TEXT NOT NULL,
    preference REAL NOT NULL, flags INTEGER NOT NULL, source INTEGER NOT NULL REFERENCES sources,
    PRIMARY KEY (lang, key, entity)) WITHOUT ROWID;
"""


class KnowledgeWriter:
    """Writes a knowledge base; rows with an id that is already there are merged into it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        try:
            self._db = sqlite3.connect(self.path)
            # a build that was killed before its first commit left a file without tables
            if self._db.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,):
                schema = f"INSERT INTO meta VALUES ('schema', '{SCHEMA}');"
                self._db.executescript(f"BEGIN;{_TABLES}{schema}COMMIT;")
        except sqlite3.Error as error:
            raise InputError(
                f"cannot be built into ({error})", file=path, remedy="Name a new file."
            ) from None
        if self.get("schema") != str(SCHEMA):
            raise InputError(
                f"cannot be added to: its schema is not {SCHEMA}",
                file=path,
                remedy="Build into a new file.",
            )
        self._source = 0

    def source(self, name: str, licence: str, version: str) -> None:
        """What the rows added from now on come from."""
        self._db.execute(
            "INSERT INTO sources (name, licence, version) VALUES (?, ?, ?) ON CONFLICT (name) "
            "DO UPDATE SET licence = excluded.licence, version = excluded.version",
            (name, licence, version),
        )
        row = self._db.execute("SELECT source FROM sources WHERE name = ?", (name,)).fetchone()
        self._source = int(row[0])

    def add(
        self, id: str, category: str, label: str, aliases: Iterable[tuple[str, str, float]]
    ) -> None:
        """One entity with its (language, name, preference) aliases; the higher preference stays."""
        if not self._source:
            raise UsageError("KnowledgeWriter.source must be called before add.")
        self._db.execute(
            "INSERT INTO entities (id, category, label, source) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (id) DO NOTHING",
            (id, category, label, self._source),
        )
        number = self._db.execute("SELECT entity FROM entities WHERE id = ?", (id,)).fetchone()[0]
        rows = [
            (lang, key, number, name, round(preference, 2), flags, self._source)
            for lang, name, preference in aliases
            if (key := key_of(name))
            for flags in [_flags(lang, name, category, preference)]
        ]
        self._db.executemany(
            "INSERT INTO aliases VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (lang, key, entity) "
            "DO UPDATE SET preference = excluded.preference, flags = excluded.flags "
            "WHERE excluded.preference > preference",
            rows,
        )

    def has(self, id: str) -> bool:
        row = self._db.execute("SELECT 1 FROM entities WHERE id = ?", (id,)).fetchone()
        return row is not None

    def set(self, name: str, value: str) -> None:
        self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))

    def get(self, name: str) -> str | None:
        try:
            row = self._db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        except sqlite3.DatabaseError:
            return None
        return None if row is None else str(row[0])

    def commit(self) -> None:
        """Make what was added so far durable: a build that breaks off loses nothing before it."""
        self._db.commit()

    def finish(self, index: bool = True) -> None:
        """Fingerprint, index, pack, close and seal the file."""
        digest = hashlib.sha256()
        rows = "SELECT lang, key, id, preference FROM aliases JOIN entities USING (entity) "
        for row in self._db.execute(rows + "ORDER BY lang, key, id"):
            digest.update(repr(row).encode())
        self.set("fingerprint", digest.hexdigest()[:8])
        languages = self._db.execute("SELECT DISTINCT lang FROM aliases ORDER BY lang")
        self.set("languages", " ".join(lang for (lang,) in languages.fetchall()))
        if index:
            self._db.execute(INDEX)
        self._db.commit()
        self._db.execute("VACUUM")
        self._db.close()
        seal(self.path)

    def close(self) -> None:
        """Keep what was added; on a disk that is full, what was committed before."""
        with suppress(sqlite3.Error):
            self._db.commit()
        self._db.close()


def _flags(lang: str, name: str, category: str, preference: float) -> int:
    flags = IS_WEAK if preference < WEAK else IS_SURE if preference >= SURE else 0
    # CLDR's lists give months and currencies a capital that running text does not; English does
    if category not in _CASE_IS_LOOSE or (lang == "en" and category == "date"):
        flags |= IS_CASED if any(char.isupper() for char in name) else 0
    return flags | (IS_ACRONYM if name.isupper() and 1 < len(name) < 6 else 0)


_CASE_IS_LOOSE = frozenset({"date", "currency", "unit", "scale"})
