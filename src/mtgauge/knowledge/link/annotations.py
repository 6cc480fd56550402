"""Entity annotations in the paper's JSON format, read and written; stored annotations as a linker.

    {"annotated_sentence": [{"sentence": "Rain over London.",
                             "entities": [{"id": "/m/04jpl", "begin": 10, "end": 16}]}]}

`begin` and `end` are character offsets, `end` exclusive; `text` beside them is optional and must
agree with them. A file holds the sentences of one text, and its name says of which side: `src` or
`ref` between the marks `-._` (newstest2019-src.ru-en, src.json), else it is a system's. Sentences
are looked up by side and text, so that an output that copies its source does not change what the
source mentions; a sentence on which two files of one side disagree is refused if asked for.

    write("folder/src.json", texts, linker.link(texts, "ru"))     # also: mtgauge kb annotate
    load("kobe:annotations=folder")
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from mtgauge.data import output
from mtgauge.errors import InputError, ResourceError
from mtgauge.knowledge.link.mention import Linker, Mention

Side = Literal["source", "reference", "hypothesis"]
SIDES: tuple[Side, ...] = get_args(Side)
_MARKS = re.compile(r"(?:^|[-._])(src|ref)(?=[-._]|$)")


class Found(NamedTuple):
    """The mentions of a sentence, the file they are from, and one that says otherwise."""

    mentions: list[Mention]
    file: str
    other: str | None = None


def side_of(name: str) -> Side:
    """Which side a file of annotations is of.

    >>> [side_of(name) for name in ("newstest2019-src.ru-en", "ref.json", "online-B.ru-en")]
    ['source', 'reference', 'hypothesis']
    """
    marks = _MARKS.findall(name)
    return "hypothesis" if not marks else "source" if marks[0] == "src" else "reference"


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


class AnnotationFolder:
    """Stored mentions by side and sentence: `folder.linker("source").link(texts, "ru")`."""

    def __init__(self, held: dict[Side, dict[str, Found]], origin: str) -> None:
        self._held = held
        self._origin = origin

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> AnnotationFolder:
        """From all files of a folder; one file alone serves every side."""
        place = Path(path)
        if not place.exists():
            raise ResourceError(f"There are no annotations at {path}.")
        held: dict[Side, dict[str, Found]] = {side: {} for side in SIDES}
        files = [f for f in sorted(place.rglob("*")) if f.is_file()] if place.is_dir() else [place]
        for file in files:
            for side in [side_of(file.name)] if place.is_dir() else SIDES:
                for text, mentions in read(file):
                    first = held[side].setdefault(text, Found(mentions, str(file)))
                    if first.mentions != mentions and first.other is None:
                        held[side][text] = first._replace(other=str(file))
        return cls(held, str(path))

    def linker(self, side: Side) -> Linker:
        return _SideLinker(self._held[side], side, self._origin)


class _SideLinker:
    """Finds the stored mentions of a sentence by its text; the language does not matter."""

    def __init__(self, held: dict[str, Found], side: Side, origin: str) -> None:
        self._held, self._side, self._origin = held, side, origin

    def link(self, texts: Sequence[str], lang: str) -> list[list[Mention]]:
        return [self._mentions(text) if text.strip() else [] for text in texts]

    def _mentions(self, text: str) -> list[Mention]:
        found = self._held.get(text)
        if found is None:
            raise InputError(
                f"this {self._side} has no annotation: {text[:60]!r}",
                file=self._origin,
                remedy="Annotate exactly the lines that are scored. The side of a file is told by "
                "its name: src or ref in it, else it is a system's.",
            )
        if found.other is not None:
            raise InputError(
                f"{found.file} and {found.other} annotate one sentence in two ways: {text[:60]!r}",
                file=self._origin,
                remedy="Score these systems one by one, with a folder of annotations each.",
            )
        return found.mentions
