"""What the working process does: look at a file, score a few texts, carry out a run.

Each task takes a dictionary and returns one, since both travel between processes as JSON, and
tells how far it is through `tell`. Texts lie in memory: the limits of the server keep them few.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np

from mtgauge.data import checks, columns, readers
from mtgauge.data.columns import Argument, Column
from mtgauge.data.corpus import Chunk, Corpus
from mtgauge.data.output import write
from mtgauge.engine.inside import looked_into
from mtgauge.engine.local import score, score_corpus
from mtgauge.engine.result import Result, number
from mtgauge.engine.summary import Comparing
from mtgauge.errors import InputError
from mtgauge.report import page
from mtgauge.report.table import render

Tell = Callable[..., None]
STEP = 100  # segments between two signs of life
SAMPLE = 120  # characters of the first text that are shown


class Steps(Corpus):
    """A corpus that is scored in small steps, so that progress is seen to move."""

    def chunks(self, size: int) -> Iterator[Chunk]:
        return super().chunks(min(size, STEP))


def inspect(asked: dict[str, Any], tell: Tell) -> dict[str, Any]:
    """What a file holds: its kind, its columns with their likely roles, its segments."""
    path, most = _enter(asked), asked["segments"]
    kind = readers.table_kind(path)
    roles: dict[str | None, str] = {}
    if kind is None:
        found = [Column(path.name, path)]
        roles[None] = _role_by_name(path.name)
    else:
        header = readers.header_of(path)
        found = [Column(f"{path.name}:{key}", path, key, lists=True) for key in header]
        for role in get_args(columns.Role):
            roles |= dict.fromkeys(columns.choose(header, role), role)
    length = 0
    first: dict[str | None, str] = {}
    for column in found:
        length = 0
        for length, cell in enumerate(column, 1):
            if length > most:
                raise _too_many(path.name, most)
            if column.key not in first:
                text = cell if isinstance(cell, str) else " | ".join(cell)
                first[column.key] = text[:SAMPLE] + ("..." if len(text) > SAMPLE else "")
    return {
        "kind": kind or "text",
        "segments": length,
        "columns": [
            {"name": c.key, "role": roles.get(c.key), "sample": first.get(c.key, "")} for c in found
        ],
    }


def quick(asked: dict[str, Any], tell: Tell) -> dict[str, Any]:
    """The JSON of `mtgauge score --json` for a few texts."""
    return score(**asked).to_dict()


def carry_out(asked: dict[str, Any], tell: Tell) -> dict[str, Any]:
    """A whole run: reads the uploads, scores, and writes all outputs into the run's folder."""
    tell(stage="reading the files")
    with _corpus(asked) as corpus:
        n = len(next(iter(corpus.systems.values())).values or ())
        if n * len(corpus.systems) > asked["limit"]:
            raise _too_many("the run", asked["limit"])
        tell(stage="loading models", total=n)
        done = 0

        def advance(segments: int) -> None:
            nonlocal done
            done += segments
            tell(stage="scoring" if done < n else "testing the differences", done=done)

        result = score_corpus(
            corpus,
            asked["metrics"],
            asked["lang"],
            unescape=asked["unescape"],
            how=Comparing(baseline=asked["baseline"]),
            progress=advance,
            keep=True,
        )
    tell(stage="explaining segments")
    result = looked_into(result)
    tell(stage="writing the report")
    folder = Path(asked["folder"])
    write(folder / "report.html", page.render(result, title=asked["title"]))
    write(folder / "result.json", render(result, "json", segments=True))
    write(folder / "scores.tsv", render(result, "tsv"))
    write(folder / "segments.tsv", render(result, "tsv", segments=True))
    return _summary(result)


def _enter(asked: dict[str, Any]) -> Path:
    """Messages should name files as the client does: the folder of the uploads is the place."""
    os.chdir(asked["input"])
    return Path(asked["file"])


def _corpus(asked: dict[str, Any]) -> Corpus:
    """The corpus of a run, read whole; files of different length are refused at once."""
    os.chdir(asked["input"])
    source = asked["source"]
    corpus = Steps.from_arguments(
        [_argument(one) for one in asked["translations"]],
        None if source is None else _argument(source),
        [_argument(one) for one in asked["references"]],
    )
    corpus.systems = {name: _read(column) for name, column in corpus.systems.items()}
    corpus.sources = None if corpus.sources is None else _read(corpus.sources)
    corpus.references = [_read(column) for column in corpus.references]
    sides = corpus.all_columns()
    lengths = [np.array([len(text) for text in column]) for column in sides]
    if len({len(each) for each in lengths}) > 1:
        raise checks.refuse_uneven([column.label for column in sides], lengths)
    return corpus


def _argument(upload: list[Any]) -> Argument:
    name, column = upload
    return Path(name), column


def _read(column: Column) -> Column:
    return replace(column, values=list(column))


def _role_by_name(name: str) -> str:
    """What a plain text most likely is, by its file name."""
    words = re.split(r"[\W_]+", name.lower())
    if {"src", "source", "original"} & set(words):
        return "source"
    return "reference" if any(word.startswith("ref") for word in words) else "system"


def _too_many(what: str, most: int) -> InputError:
    return InputError(
        f"{what} has more than {most:,} translations (segments times systems)",
        remedy="Give fewer, or ask the server's owner to raise --max-segments.",
    )


def _summary(result: Result) -> dict[str, Any]:
    """What lists of runs show."""
    return {
        "systems": list(result.systems),
        "segments": result.segments,
        "scores": {
            spec: {name: number(system.score) for name, system in metric.items()}
            for spec, metric in result.items()
        },
        "warnings": list(result.warnings),
        "policy": page.POLICY,
        "unserved": {s: m.unserved for s, m in result.items() if m.unserved is not None},
    }


TASKS = {"inspect": inspect, "quick": quick, "carry out": carry_out}
