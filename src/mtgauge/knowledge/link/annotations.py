"""Entity annotations in the paper's JSON format, read and written; stored annotations as a linker.

    {"annotated_sentence": [{"sentence": "Rain over London.",
                             "entities": [{"id": "/m/04jpl", "begin": 10, "end": 16}]}]}

`begin` and `end` are character offsets, `end` exclusive; `text` beside them is optional and must
agree with them. A file holds the sentences of one text; `AnnotationLinker.read(folder)` takes all
files of a folder and looks sentences up by their text, so any linker, on any machine, can be used:

    write("src.json", texts, linker.link(texts, "ru"))
    load("kobe:annotations=folder")
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from mtgauge.data import output
from mtgauge.errors import InputError, ResourceError
from mtgauge.knowledge.link.mention import Mention


def read(path: str | os.PathLike[str]) -> list[tuple[str, list[Mention]]]:
    """The sentences of an annotation file with their mentions."""
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else None
        raise InputError("not JSON in UTF-8", file=path, line=line) from None
    rows = data.get("annotated_sentence") if isinstance(data, dict) else None
    if not isinstance(rows, list):
        raise InputError(
            'no list "annotated_sentence"',
            file=path,
            remedy="The format is described in the documentation of kobe.",
        )
    return [_sentence(row, number, path) for number, row in enumerate(rows, start=1)]


def _sentence(row: Any, number: int, path: str | os.PathLike[str]) -> tuple[str, list[Mention]]:
    where = f"sentence {number}"
    text = _field(row, "sentence", str, where, path)
    mentions = []
    for place, entity in enumerate(_field(row, "entities", list, where, path), start=1):
        spot = f"{where}, entity {place}"
        id = _field(entity, "id", str, spot, path)
        begin = _field(entity, "begin", int, spot, path)
        end = _field(entity, "end", int, spot, path)
        if not 0 <= begin < end <= len(text):
            raise InputError(f"{spot}: {begin} to {end} is not inside the sentence", file=path)
        surface = text[begin:end]
        if entity.get("text", surface) != surface:
            raise InputError(
                f'{spot}: field "text" is {entity["text"]!r}, but the offsets give {surface!r}',
                file=path,
                remedy="Offsets count characters, not bytes; end is exclusive.",
            )
        mentions.append(Mention(begin, end, surface, (id,), str(entity.get("category", "entity"))))
    return text, mentions


def _field(row: Any, name: str, kind: type, where: str, path: str | os.PathLike[str]) -> Any:
    value = row.get(name) if isinstance(row, dict) else None
    if not isinstance(value, kind) or isinstance(value, bool):
        raise InputError(
            f'{where}: field "{name}" is missing or not of type {kind.__name__}', file=path
        )
    return value


def write(
    path: str | os.PathLike[str], texts: Sequence[str], mentions: Iterable[Sequence[Mention]]
) -> None:
    """Write texts and their mentions; a mention's first id is its id, weak ones are left out."""
    rows = [
        {
            "sentence": text,
            "entities": [
                {
                    "id": m.ids[0],
                    "begin": m.begin,
                    "end": m.end,
                    "text": m.text,
                    "category": m.category,
                }
                for m in found
                if not m.weak
            ],
        }
        for text, found in zip(texts, mentions, strict=True)
    ]
    document = json.dumps({"annotated_sentence": rows}, ensure_ascii=False, indent=1)
    output.write(Path(path), document + "\n")


class AnnotationLinker:
    """Finds the stored mentions of a sentence by its text; the language does not matter."""

    def __init__(self, mentions: dict[str, list[Mention]], origin: str) -> None:
        self._mentions = mentions
        self._origin = origin

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> AnnotationLinker:
        """From one file or from all files of a folder."""
        place = Path(path)
        if not place.exists():
            raise ResourceError(f"There are no annotations at {path}.")
        files = [f for f in sorted(place.rglob("*")) if f.is_file()] if place.is_dir() else [place]
        held = {text: found for file in files for text, found in read(file)}
        return cls(held, str(path))

    def link(self, texts: Sequence[str], lang: str) -> list[list[Mention]]:
        for number, text in enumerate(texts, start=1):
            if text.strip() and text not in self._mentions:
                raise InputError(
                    f"distinct text {number} of language {lang!r} has no annotation: {text[:60]!r}",
                    file=self._origin,
                    remedy="Annotate exactly the lines that are scored, sources and translations.",
                )
        return [self._mentions.get(text, []) for text in texts]
