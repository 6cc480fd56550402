"""Judged segments and test sets as tables with named columns: .tsv, .csv or .jsonl.

    read_file("judged.tsv.gz")            lp system sid source reference hypothesis human,
                                          optionally raw, n, reference2 ...
    read_file("de-en.tsv", human=table)   a test set: sid source reference SYSTEM SYSTEM ...
    read_system_human("sys17.tsv")        lp human system

Judged segments need `hypothesis` and `human`. Without `system` all are of one unnamed system,
without `sid` a segment is called by its row number, and without `lp` the language pair is the one
asked for or in the file's name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mtgauge.data import readers
from mtgauge.data.codes import is_pair, usual
from mtgauge.data.judgements import (
    FloatArray,
    Judgements,
    SystemScores,
    data_name,
    dataset_name,
    pair_in_name,
)
from mtgauge.data.readers import number_of, plain_name, text_of
from mtgauge.errors import InputError, UsageError

Rows = list[tuple[int, dict[str, Any]]]  # line number, cells by column
UNNAMED = "system"  # the system of judged segments that name none
_REFERENCE = re.compile("reference[0-9]*")


def read_file(
    path: Path, lang: str | None = None, human: SystemScores | None = None
) -> list[Judgements]:
    """Judged segments or a test set, as the header tells."""
    readers.must_exist(path)
    header = readers.header_of(path)
    if header[0] == "sid" and not {"hypothesis", "human"} <= set(header):
        return [read_test_set(path, lang, human)]
    return read_judged(path, lang)


def read_judged(path: str | Path, lang: str | None = None) -> list[Judgements]:
    """A table of judged segments, split by language pair in order of appearance."""
    path = Path(path)
    by_pair: dict[str, Rows] = {}
    only = lang or pair_in_name(path)
    for number, row in readers.rows(path):
        if number <= 2:
            _need(path, row, ("hypothesis", "human") if only else ("lp", "hypothesis", "human"))
        pair = usual(text_of(row, "lp", path, number)) if "lp" in row else str(only)
        if lang is None or pair == lang:
            by_pair.setdefault(pair, []).append((number, row))
    return [_judged_pair(path, pair, rows) for pair, rows in by_pair.items()]


def _judged_pair(path: Path, pair: str, rows: Rows) -> Judgements:
    """One language pair of a table of judged segments."""
    if not is_pair(pair):
        raise InputError(
            f"column lp: {pair!r} is not a language pair such as de-en", file=path, line=rows[0][0]
        )
    have = rows[0][1]

    def labels(name: str) -> list[str]:  # JSON may number systems and segments
        return [
            str(row[name]) if isinstance(row.get(name), int) else text_of(row, name, path, number)
            for number, row in rows
        ]

    def numbers(name: str) -> FloatArray | None:
        if name not in have:
            return None
        return np.array([number_of(row, name, path, number) for number, row in rows])

    years = {str(row.get("year")) for _, row in rows} if "year" in have else set()
    table = Judgements(
        data=data_name(path),
        lp=pair,
        systems=labels("system") if "system" in have else [UNNAMED] * len(rows),
        sids=labels("sid") if "sid" in have else [str(i) for i in range(1, len(rows) + 1)],
        human=np.array([number_of(row, "human", path, number) for number, row in rows]),
        hypotheses=_texts(path, rows, "hypothesis"),
        sources=_texts(path, rows, "source") if "source" in have else None,
        references=_alternatives(path, rows) or None,
        raw=numbers("raw"),
        dataset=f"WMT{years.pop()[-2:]}" if len(years) == 1 else dataset_name(path),
        lines=np.array([number for number, _ in rows], dtype=np.int64),
        judges=numbers("n"),
    )
    _refuse_repeats(path, table, "system" in have)
    return table


def read_test_set(
    path: str | Path, lang: str | None = None, human: SystemScores | None = None
) -> Judgements:
    """A table `sid source reference SYSTEM ...`: one row per system and segment.

    With `human`, systems that have no human score are left out: nobody judged them.
    """
    path = Path(path)
    pair = lang or pair_in_name(path)
    if pair is None:
        raise UsageError(f"{path}: which language pair? Give -l de-en or name the file de-en.tsv.")
    rows = list(readers.rows(path))
    if not rows:
        raise InputError("the test set has a header but no segments", file=path)
    header = rows[0][1]
    _need(path, header, ("sid", "source", "reference"))
    references = [name for name in header if _REFERENCE.fullmatch(name)]
    names = [name for name in header if name not in ("sid", "source", *references)]
    if not names:
        raise InputError("no system has a column after sid, source and reference", file=path)
    judged = None if human is None else human.get(pair, {})
    kept = [name for name in names if judged is None or name in judged]
    if not kept:
        raise InputError(
            f"none of the {len(names)} systems of {pair} has a human score",
            file=path,
            remedy="The file of human scores must name them as this header does.",
        )

    return Judgements(
        data=data_name(path.parent if pair_in_name(path) else path),
        lp=pair,
        systems=[name for name in kept for _ in rows],
        sids=_texts(path, rows, "sid") * len(kept),
        human=np.full(len(rows) * len(kept), np.nan),
        hypotheses=[text for name in kept for text in _texts(path, rows, name)],
        sources=_texts(path, rows, "source") * len(kept),
        references=_alternatives(path, rows) * len(kept),
        system_human=judged or {},
        dataset=dataset_name(path),
    )


def read_system_human(path: str | Path) -> SystemScores:
    """System-level human scores: `lp human system` by tab, or the official `LP HUMAN SYSTEM`."""
    path = Path(path)
    readers.must_exist(path)
    found: SystemScores = {}
    for number, row in readers.rows(path, kind="spaces"):
        row = {name.lower(): cell for name, cell in row.items()}
        if not found:
            _need(path, row, ("lp", "human", "system"))
        scores = found.setdefault(usual(row["lp"]), {})
        system = row["system"]
        if system in scores:
            raise InputError(f"system {system!r} has two scores", file=path, line=number)
        value = number_of(row, "human", path, number)
        if not math.isnan(value):
            scores[system] = value
    return found


def read_folder(
    folder: Path, lang: str | None = None, human: SystemScores | None = None
) -> list[Judgements]:
    """A folder of test sets called LP.tsv."""
    files = sorted(
        f for f in folder.iterdir() if plain_name(f).endswith(".tsv") and pair_in_name(f)
    )
    if not files:
        raise InputError(
            "the folder holds no judgements that mtgauge knows",
            file=folder,
            remedy="Known: DA-seglevel.csv / DA-syslevel.csv / RR-seglevel.csv (official WMT), "
            "human-scores/ (mt-metrics-eval), or LP.tsv test sets such as de-en.tsv.",
        )
    wanted = [f for f in files if lang is None or pair_in_name(f) == lang]
    return [
        read_test_set(f, pair_in_name(f), human)
        for f in wanted
        if human is None or pair_in_name(f) in human
    ]


def _texts(path: Path, rows: Rows, name: str) -> list[str]:
    return [text_of(row, name, path, number) for number, row in rows]


def _alternatives(path: Path, rows: Rows) -> list[tuple[str, ...]]:
    """The references of each row; empty where the table has none."""
    columns = [_texts(path, rows, name) for name in rows[0][1] if _REFERENCE.fullmatch(name)]
    return list(zip(*columns, strict=True))


def _need(path: Path, row: Mapping[str, Any], needed: Sequence[str]) -> None:
    """Refuse a table that lacks a column."""
    lacking = [name for name in needed if name not in row]
    if lacking:
        raise InputError(
            f"the header has no column {', '.join(lacking)}; it has {', '.join(row)}",
            file=path,
            line=1,
            remedy=f"Needed: {', '.join(needed)}.",
        )


def _refuse_repeats(path: Path, table: Judgements, named: bool) -> None:
    assert table.lines is not None
    seen: dict[tuple[str, str], int] = {}
    for key, line in zip(zip(table.systems, table.sids, strict=True), table.lines, strict=True):
        if key in seen and key[0] != "-":
            where = f"line {seen[key]}: {key[0]}, {key[1]}"
            raise InputError(
                f"columns system and sid repeat {where}" if named else f"sid repeats {where}",
                file=path,
                line=int(line),
                remedy="" if named else "Translations of several systems need a column system.",
            )
        seen[key] = int(line)
