"""What the texts of a run mention, counted: Tables 5 to 7 and Figures 3 and 4 of the KoBE paper.

    found = count(corpus, "kobe:preset=paper", "de-en")
    found.sides["source"].distinct             # entities, each counted once
    found.sides["online-B"].common             # of these, how many the source mentions too
    found.kept["online-B"]["place"]            # (kept, all) of the source's places
    annotate(corpus, "kobe", "de-en", folder)  # the mentions of every text, in the paper's format

Sides are `source`, `reference` (the first) and the systems by name. Weak mentions do not count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mtgauge import registry
from mtgauge.data.corpus import Chunk, Corpus
from mtgauge.data.output import file_name, make_folder
from mtgauge.data.segments import Segments
from mtgauge.engine.local import task_of
from mtgauge.engine.places import SHARD
from mtgauge.engine.ready import make_ready
from mtgauge.errors import UsageError
from mtgauge.knowledge.link.annotations import Side, side_of, write
from mtgauge.knowledge.link.mention import Mention
from mtgauge.metrics.kobe import Kobe

Kept = dict[str, tuple[float, int]]  # kind: (kept, all) of the source's entities


@dataclass
class Mentioned:
    """What one side mentions."""

    sentences: int = 0
    entities: int = 0
    lengths: Counter[int] = field(default_factory=Counter)  # {entities in a sentence: sentences}
    ids: set[str] = field(default_factory=set)
    common: int = 0  # distinct entities that the source mentions, too

    def add(self, mentions: list[list[Mention]]) -> None:
        for found in mentions:
            counted = [m.ids[0] for m in found if not m.weak]
            self.sentences += 1
            self.entities += len(counted)
            self.lengths[len(counted)] += 1
            self.ids.update(counted)

    @property
    def distinct(self) -> int:
        return len(self.ids)

    @property
    def with_entities(self) -> int:
        return self.sentences - self.lengths[0]

    def to_dict(self) -> dict[str, Any]:
        return {
            "sentences": self.sentences,
            "with_entities": self.with_entities,
            "entities": self.entities,
            "distinct": self.distinct,
            "common": self.common,
            "per_sentence": {str(k): self.lengths[k] for k in sorted(self.lengths)},
        }


@dataclass(frozen=True)
class Counts:
    sides: dict[str, Mentioned]
    kept: dict[str, Kept]  # by system

    def to_dict(self) -> dict[str, Any]:
        kept = {
            name: {c: {"kept": k, "entities": n} for c, (k, n) in table.items()}
            for name, table in self.kept.items()
        }
        return {"sides": {n: s.to_dict() for n, s in self.sides.items()}, "categories": kept}


def count(corpus: Corpus, spec: str, lang: str) -> Counts:
    """All counts of a corpus that has a source."""
    kobe = _ready(corpus, spec, lang)
    sides: dict[str, Mentioned] = {}
    for chunk in corpus.chunks(SHARD):
        for name, side, texts, code in _texts(chunk, lang):
            sides.setdefault(name, Mentioned()).add(kobe.mentions(texts, code, side))
    source = sides["source"].ids
    for mentioned in sides.values():
        mentioned.common = len(mentioned.ids & source)
    return Counts(sides, kept_by_kind(corpus, kobe, lang))


def kept_by_kind(corpus: Corpus, kobe: Kobe, lang: str | None) -> dict[str, Kept]:
    """Of the source's entities of each kind, how many every system keeps, of how many."""
    kept: dict[str, Kept] = {name: {} for name in corpus.systems}
    for chunk in corpus.chunks(SHARD):
        for name, texts in chunk.systems.items():
            batch = Segments(texts, chunk.sources, chunk.references, lang)
            for kind, (found, every) in kobe.categories(batch).items():
                before = kept[name].get(kind, (0, 0))
                kept[name][kind] = (before[0] + found, before[1] + every)
    return {name: dict(sorted(t.items(), key=lambda x: -x[1][1])) for name, t in kept.items()}


def annotate(corpus: Corpus, spec: str, lang: str, folder: Path) -> list[Path]:
    """Write the mentions of every text, one file per side: what `kobe:annotations=FOLDER` reads."""
    kobe = _ready(corpus, spec, lang)
    texts: dict[tuple[str, Side], list[str]] = {}
    mentions: dict[tuple[str, Side], list[list[Mention]]] = {}
    for chunk in corpus.chunks(SHARD):
        for name, side, lines, code in _texts(chunk, lang):
            texts.setdefault((name, side), []).extend(lines)
            mentions.setdefault((name, side), []).extend(kobe.mentions(lines, code, side))
    make_folder(folder)
    written = []
    for (name, side), lines in texts.items():
        path = folder / _file(name, side)
        write(path, lines, mentions[name, side])
        written.append(path)
    return written


def _file(name: str, side: Side) -> str:
    """A file's name says of which side it is, whatever a system is called."""
    if side != "hypothesis":
        return "src.json" if side == "source" else "ref.json"
    plain = f"{file_name(name)}.json"
    if side_of(plain) == side:
        return plain
    return plain.replace("src", "%73rc").replace("ref", "%72ef")


def _texts(chunk: Chunk, lang: str) -> Iterator[tuple[str, Side, list[str], str]]:
    """(name, side, texts, language) of all columns of a chunk."""
    pair = Segments([], lang=lang)
    assert pair.source_lang is not None
    assert pair.target_lang is not None
    if chunk.sources is not None:
        yield "source", "source", chunk.sources, pair.source_lang
    if chunk.references is not None:
        yield "reference", "reference", [row[0] for row in chunk.references], pair.target_lang
    for name, texts in chunk.systems.items():
        yield name, "hypothesis", texts, pair.target_lang


def _ready(corpus: Corpus, spec: str, lang: str) -> Kobe:
    if corpus.sources is None:
        raise UsageError("Entities are counted beside the source: give -s FILE.")
    if twice := {"source", "reference"} & set(corpus.systems):
        raise UsageError(f"A system cannot be called {twice.pop()!r} here: rename its file.")
    refuse_other(spec)
    metric = make_ready(spec, task_of(corpus, lang)).metric
    assert isinstance(metric, Kobe)
    return metric


def refuse_other(spec: str) -> None:
    """Refuse a metric that finds no entities, before anything is made ready."""
    name, _ = registry.split_spec(spec)
    if name != "kobe":
        raise UsageError(f"Entities are those of kobe: -m takes kobe, not {name}.")
