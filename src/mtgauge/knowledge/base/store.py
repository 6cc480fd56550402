"""The knowledge base: one SQLite file of entities and their names in many languages.

    sources   (source, name, licence, version)      where a row comes from
    entities  (entity, id, category, label, source)  id: Q42, geonames:3067696, cldr:territory/CZ...
    aliases   (lang, key, entity, name, preference, flags, source)
    meta      (schema, built)

`key` is the name folded by `keys.key_of`; `preference` (0 to 1) orders the entities that share a
name. An alias below `WEAK` (an adjective, an old or untrusted name) may support a match but is
never counted as a mention by itself; one at `SURE` or above is taken without further questions.
`lang` is an ISO 639-1 code, or `und-Latn`, `und-Cyrl`, ... for names whose source does not say the
language: they serve every language of that script.

    with KnowledgeBase.open() as kb:            # the embedded one
        kb.languages(), kb.counts()
        index = kb.index("cs")                  # what the linker matches; see `index`

The embedded file is stored compressed and unpacked once into the user's cache folder, then opened
read-only and shared by all processes. A base that is unfinished or damaged is refused (`whole.py`);
the embedded one is unpacked again.
"""

from __future__ import annotations

import json
import lzma
import os
import sqlite3
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from mtgauge.data.output import cache_folder
from mtgauge.data.scratch import Scratch
from mtgauge.errors import InputError, ResourceError, UsageError
from mtgauge.knowledge.base.index import FLAG_BITS, Index, Row
from mtgauge.knowledge.base.whole import is_sealed, seal
from mtgauge.models import shipped

SCHEMA = 1
WEAK = 0.5
SURE = 0.95
EMBEDDED = shipped("kb")
SCRIPTS = {
    "Cyrl": "ru uk be bg mk sr kk ky mn tg tt ba cv os ce",
    "Hani": "zh ja",
    "Grek": "el",
    "Arab": "ar fa ur ps ug ckb sd",
    "Hebr": "he yi",
    "Deva": "hi mr ne sa",
    "Gujr": "gu",
    "Beng": "bn as",
    "Guru": "pa",
    "Taml": "ta",
    "Telu": "te",
    "Knda": "kn",
    "Mlym": "ml",
    "Orya": "or",
    "Sinh": "si",
    "Thai": "th",
    "Laoo": "lo",
    "Mymr": "my",
    "Khmr": "km",
    "Geor": "ka",
    "Armn": "hy",
    "Ethi": "am ti",
    "Hang": "ko",
}
_CODES = {"no": "nb"}  # tags of Wikidata and CLDR that are not the usual codes
SPACELESS_SCRIPTS = frozenset({"Hani", "Thai", "Laoo", "Khmr", "Mymr"})
_SCRIPT_OF = {lang: script for script, langs in SCRIPTS.items() for lang in langs.split()}
INDEX = "CREATE INDEX IF NOT EXISTS aliases_of_entity ON aliases (entity)"


class Entity(NamedTuple):
    """One thing: a stable id, what kind of thing it is, and its English (or main) name."""

    id: str
    category: str
    label: str


def usual_codes(tags: Iterable[str]) -> frozenset[str]:
    """The codes that the program has for languages as names are tagged with them."""
    return frozenset(_CODES.get(tag, tag) for tag in tags)


def tags_of(lang: str) -> tuple[str, str]:
    """What names of a language are tagged with: itself, or its script alone."""
    tag = next((tag for tag, code in _CODES.items() if code == lang), lang)
    return tag, f"und-{script_of(lang)}"


def script_of(lang: str) -> str:
    """ISO 15924 code of the script a language is written in; Latin unless known otherwise."""
    return _SCRIPT_OF.get(lang, "Latn")


class KnowledgeBase:
    """A knowledge base opened for reading."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if not self.path.is_file():
            raise ResourceError(
                f"There is no knowledge base {self.path}. Make one: mtgauge kb build."
            )
        # immutable: the file is never written again, so no locks and no shared-memory files
        self._db = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode=ro&immutable=1",
            uri=True,
            check_same_thread=False,
        )
        self._entities: dict[int, Entity] = {}
        self._indexes: dict[str, Index] = {}
        self._names: dict[tuple[str, str], tuple[str, ...]] = {}
        try:
            row = self._db.execute("SELECT value FROM meta WHERE name = 'schema'").fetchone()
        except sqlite3.DatabaseError as error:
            self._db.close()
            raise InputError(
                f"not a knowledge base, or a damaged one ({error})",
                file=path,
                remedy="Build it again with: mtgauge kb build.",
            ) from None
        if row is None or row[0] != str(SCHEMA):
            self._db.close()
            raise InputError(
                f"its schema is {row[0] if row else 'none'}, this version reads {SCHEMA}",
                file=path,
                remedy="Build it again with: mtgauge kb build.",
            )
        if not is_sealed(self.path):
            self._db.close()
            raise InputError(
                "the knowledge base is unfinished, or damaged",
                file=path,
                remedy="Run the command again that built it: mtgauge kb build goes on where it "
                "stopped; if that does not help, build into a new file.",
            )

    @classmethod
    def open(cls, spec: str = "embedded") -> KnowledgeBase:
        """The embedded knowledge base, or the one in the file `spec`."""
        return cls(_unpacked() if spec == "embedded" else spec)

    def languages(self) -> frozenset[str]:
        """Languages with names of their own (not merely those that share a script)."""
        (names,) = next(self._query("SELECT value FROM meta WHERE name = 'languages'"))
        return usual_codes(lang for lang in str(names).split() if not lang.startswith("und"))

    def index(self, lang: str) -> Index:
        """The names of a language, tagged with it or with its script alone."""
        if lang not in self._indexes:
            known = self.languages()
            if lang not in known:
                have = " ".join(sorted(known))
                raise UsageError(f"The knowledge base has no language {lang!r}. It has: {have}.")
            self._indexes[lang] = Index(partial(self._rows, lang))
        return self._indexes[lang]

    def _rows(self, lang: str, low: str, high: str) -> Iterator[Row]:
        """(key, code, preference) of the names of a language whose keys are in a range."""
        return self._query(
            f"SELECT key, entity << {FLAG_BITS} | flags, preference FROM aliases "
            "WHERE lang IN (?, ?) AND key >= ? AND key < ?",
            (*tags_of(lang), low, high),
        )

    def keys(self, lang: str) -> Iterator[str]:
        """The keys of all names of a language, tagged with it or with its script alone."""
        rows = self._query(
            "SELECT DISTINCT key FROM aliases WHERE lang IN (?, ?)",
            tags_of(lang),
        )
        return (str(key) for (key,) in rows)

    def entity(self, code: int) -> Entity:
        """The entity behind a code of the index."""
        number = code >> FLAG_BITS
        if number not in self._entities:
            row = next(
                self._query("SELECT id, category, label FROM entities WHERE entity = ?", (number,))
            )
            self._entities[number] = Entity(*row)
        return self._entities[number]

    def name(self, id: str, lang: str) -> str | None:
        """The preferred name of an entity in a language, or None."""
        rows = self._query(
            "SELECT name FROM aliases JOIN entities USING (entity) WHERE id = ? AND lang = ? "
            "ORDER BY preference DESC, length(name) LIMIT 1",
            (id, tags_of(lang)[0]),
        )
        row = next(rows, None)
        return None if row is None else str(row[0])

    def label(self, id: str) -> str | None:
        """The main name of an entity, or None if it is not here."""
        row = next(self._query("SELECT label FROM entities WHERE id = ?", (id,)), None)
        return None if row is None else str(row[0])

    def names(self, id: str, lang: str) -> tuple[str, ...]:
        """Folded one-word names of an entity, tagged with the language or with its script."""
        held = self._names.get((id, lang))
        if held is None:
            rows = self._query(
                "SELECT DISTINCT key FROM entities JOIN aliases USING (entity) "
                "WHERE id = ? AND lang IN (?, ?) AND key NOT LIKE '% %' AND preference >= ?",
                (id, *tags_of(lang), WEAK),
            )
            held = self._names[id, lang] = tuple(str(key) for (key,) in rows)
        return held

    def has_name(self, id: str, lang: str) -> bool:
        """Whether an entity has a name in a language, or in its script."""
        rows = self._query(
            "SELECT 1 FROM entities JOIN aliases USING (entity) WHERE id = ? AND lang IN (?, ?) "
            "LIMIT 1",
            (id, *tags_of(lang)),
        )
        return next(rows, None) is not None

    def aliases(self, lang: str, category: str) -> Iterator[tuple[str, str]]:
        """(name, entity id) of all names of a category in a language."""
        rows = self._query(
            "SELECT a.name, e.id FROM entities e CROSS JOIN aliases a USING (entity) "
            "WHERE a.lang = ? AND e.category = ?",
            (tags_of(lang)[0], category),
        )
        return ((str(name), str(id)) for name, id in rows)

    def counts(self) -> dict[str, dict[str, int]]:
        """{language: {category: number of names}}, and under "*" the number of entities."""
        table: dict[str, dict[str, int]] = {}
        for category, n in self._query("SELECT category, count(*) FROM entities GROUP BY category"):
            table.setdefault("*", {})[category] = n
        rows = self._query(
            "SELECT lang, category, count(*) FROM aliases JOIN entities USING (entity) "
            "GROUP BY lang, category ORDER BY lang"
        )
        for lang, category, n in rows:
            table.setdefault(lang, {})[category] = n
        return table

    def sources(self) -> list[tuple[str, str, str, int]]:
        """(name, licence, version, number of names) of every source."""
        rows = self._query(
            "SELECT name, licence, version, (SELECT count(*) FROM aliases a "
            "WHERE a.source = s.source) FROM sources s ORDER BY name"
        )
        return [(str(a), str(b), str(c), int(n)) for a, b, c, n in rows]

    def fingerprint(self) -> str:
        """Eight hex digits that tell this knowledge base from another, for the signature."""
        row = next(self._query("SELECT value FROM meta WHERE name = 'fingerprint'"), None)
        return "?" if row is None else str(row[0])

    def _query(self, sql: str, values: tuple[object, ...] = ()) -> sqlite3.Cursor:
        try:
            return self._db.execute(sql, values)
        except sqlite3.DatabaseError as error:
            raise InputError(
                f"the knowledge base is damaged ({error})",
                file=self.path,
                remedy="Build it again with: mtgauge kb build.",
            ) from None

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def embedded_card() -> dict[str, object]:
    """The embedded knowledge base's card: what is in it, from where, under which licence."""
    card: dict[str, object] = json.loads((EMBEDDED / "card.json").read_text(encoding="utf-8"))
    return card


def _unpacked() -> Path:
    """The embedded file, unpacked once into the user's cache folder."""
    packed = EMBEDDED / "kb.sqlite.xz"
    if not packed.is_file():
        raise ResourceError("The embedded knowledge base is missing from this installation.")
    try:
        folder = cache_folder()
        target = folder / f"kb-{embedded_card()['fingerprint']}-{SCHEMA}.sqlite"
        if target.is_file() and is_sealed(target):
            return target
        content = lzma.decompress(packed.read_bytes())
        folder.mkdir(parents=True, exist_ok=True)
        with Scratch(beside=target) as scratch:
            made = Path(scratch) / target.name
            made.write_bytes(content)
            # the index is made here because it would be half of the packed file
            with sqlite3.connect(made) as db:
                db.execute(INDEX)
            db.close()
            seal(made)
            # another process may be unpacking too: the rename is atomic and either file will do
            os.replace(made, target)
    except lzma.LZMAError as error:
        raise ResourceError(f"{packed} is damaged ({error}). Install mtgauge again.") from None
    except OSError as error:
        raise ResourceError(
            f"The embedded knowledge base cannot be unpacked into {folder} ({error}). "
            "Set MTGAUGE_CACHE to a folder that can be written to."
        ) from None
    return target
