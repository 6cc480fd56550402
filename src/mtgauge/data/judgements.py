"""Judged data in one class: human judgements of translations, one language pair at a time.

`Judgements` is a table with one row per translation: system, segment id, texts and human score, all
as columns of equal length. System-level human scores, better/worse pairs and scores of other
metrics stand beside it. A *test set* is the same table without segment scores.

    read("judged.tsv.gz")             judged segments: lp system sid source reference hypothesis
                                      human, optionally raw, n, reference2 ...
    read("de-en.tsv", human=table)    a test set: sid source reference SYSTEM SYSTEM ...
    read("WMT18/")                    an official WMT folder, an mt-metrics-eval folder, or a
                                      folder of LP.tsv test sets

Judged segments need `hypothesis` and `human`. Without `system` all are of one unnamed system,
without `sid` a segment is called by its row number, and without `lp` the language pair is the one
asked for or in the file's name. The same columns may come as .csv or .jsonl. Each other format has a
module beside this one: `wmt`, `mtme`, and `scores` for scores without judgements.

A score that is empty, `None`, `NA` or `NaN` is a missing judgement and stays NaN. Anything else
that is not a finite number is refused with file, line and column.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mtgauge.data import checks, readers
from mtgauge.data.readers import number_of, text_of
from mtgauge.data.segments import Segments
from mtgauge.data.spool import Spool
from mtgauge.errors import InputError, UsageError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
SystemScores = dict[str, dict[str, float]]  # language pair -> system -> score

UNNAMED = "system"  # the system of judged segments that name none
_REFERENCE = re.compile("reference[0-9]*")
_YEAR = re.compile(
    r"(?<![a-z])(?:wmt|da|sys|newstest|rr)[-_]?(?:20)?(1[0-9]|2[0-9])", re.IGNORECASE
)
_PAIR = re.compile(r"(?<![a-z])([a-z]{2,3}-[a-z]{2,3})(?![a-z])")


@dataclass(frozen=True)
class Judgements:
    """Rows of one language pair; `human[i]` is NaN where translation i was not judged."""

    data: str
    lp: str
    systems: Sequence[str]
    sids: Sequence[str]
    human: FloatArray
    hypotheses: Sequence[str] | None = None
    sources: Sequence[str] | None = None
    references: Sequence[tuple[str, ...]] | None = None
    raw: FloatArray | None = None  # mean judgement on 0-100, for better/worse pairs
    pairs: IntArray | None = None  # (m, 2): rows of the better and the worse translation
    system_human: Mapping[str, float] = field(default_factory=dict)
    scores: Mapping[str, FloatArray] = field(default_factory=dict)  # of other metrics, per row
    system_scores: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    dataset: str | None = None  # "WMT17", to find the papers' tables
    lines: IntArray | None = None  # line of each row in its file
    judges: FloatArray | None = None  # people behind each human score (column n)

    def __len__(self) -> int:
        return len(self.systems)

    def segments(self, *, unescape: bool = False) -> Segments:
        """The texts, as a metric takes them."""
        if self.hypotheses is None:
            raise UsageError(f"{self.data} {self.lp} holds scores only, no texts to score.")
        clean = checks.unescape if unescape else str
        return Segments(
            [clean(text) for text in self.hypotheses],
            None if self.sources is None else [clean(text) for text in self.sources],
            None
            if self.references is None
            else [tuple(clean(text) for text in row) for row in self.references],
            self.lp,
        )

    def take(self, rows: IntArray, data: str | None = None) -> Judgements:
        """The given rows, in ascending order; pairs with a row outside are dropped."""
        rows = np.sort(np.asarray(rows, dtype=np.int64))
        new = np.full(len(self), -1, dtype=np.int64)
        new[rows] = np.arange(len(rows))
        pairs = None if self.pairs is None else new[self.pairs]

        def pick(column: Sequence[Any] | None) -> Any:
            return None if column is None else [column[row] for row in rows]

        return replace(
            self,
            data=self.data if data is None else data,
            systems=pick(self.systems),
            sids=pick(self.sids),
            human=self.human[rows],
            hypotheses=pick(self.hypotheses),
            sources=pick(self.sources),
            references=pick(self.references),
            raw=None if self.raw is None else self.raw[rows],
            pairs=None if pairs is None else pairs[(pairs >= 0).all(axis=1)],
            scores={name: values[rows] for name, values in self.scores.items()},
            lines=None if self.lines is None else self.lines[rows],
            judges=None if self.judges is None else self.judges[rows],
        )

    def rows_by_system(self) -> dict[str, IntArray]:
        """Row numbers of each system, systems in order of first appearance."""
        found: dict[str, list[int]] = {}
        for row, system in enumerate(self.systems):
            found.setdefault(system, []).append(row)
        return {system: np.array(rows, dtype=np.int64) for system, rows in found.items()}


def read(
    path: str | Path, lang: str | None = None, human: SystemScores | None = None
) -> list[Judgements]:
    """Judgements in a file or folder, one item per language pair; `lang` keeps one pair."""
    from mtgauge.data import mtme, wmt  # they build on this module

    path = Path(path)
    if path.is_dir():
        if wmt.is_wmt_folder(path):
            found = wmt.read_folder(path, lang)
        elif mtme.is_mtme_folder(path):
            found = mtme.read_folder(path, lang)
        else:
            found = _read_test_set_folder(path, lang, human)
    else:
        with Spool() as spool:
            found = _read_file(path, spool.reusable(path), lang, human)
    if human is not None:
        found = [replace(x, system_human=human.get(x.lp, x.system_human)) for x in found]
    if not found:
        what = "no judgements" if lang is None else f"no judgements of {lang}"
        raise InputError(f"{what} in here", file=path)
    return found


def _read_file(
    path: Path, place: Path, lang: str | None, human: SystemScores | None
) -> list[Judgements]:
    """Judged segments or a test set, as the header tells; `place` is where the content lies."""
    readers.must_exist(place)
    header = readers.header_of(place, str(path))
    if header[0] == "sid" and not {"hypothesis", "human"} <= set(header):
        return [read_test_set(path, lang, human, place)]
    return read_judged(path, lang, place)


def read_judged(
    path: str | Path, lang: str | None = None, place: Path | None = None
) -> list[Judgements]:
    """A table of judged segments, split by language pair in order of appearance."""
    path = Path(path)
    by_pair: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    only = lang or pair_in_name(path)
    for number, row in readers.rows(place or path, str(path)):
        if number <= 2:
            _need(path, row, ("hypothesis", "human") if only else ("lp", "hypothesis", "human"))
        pair = text_of(row, "lp", path, number) if "lp" in row else str(only)
        if lang is None or pair == lang:
            by_pair.setdefault(pair, []).append((number, row))
    return [_judged_pair(path, pair, rows) for pair, rows in by_pair.items()]


def _judged_pair(path: Path, pair: str, rows: list[tuple[int, dict[str, Any]]]) -> Judgements:
    """One language pair of a table of judged segments."""
    if not _PAIR.fullmatch(pair):
        raise InputError(
            f"column lp: {pair!r} is not a language pair such as de-en", file=path, line=rows[0][0]
        )
    have = rows[0][1]
    references = [name for name in have if _REFERENCE.fullmatch(name)]

    def texts(name: str) -> list[str]:
        return [text_of(row, name, path, number) for number, row in rows]

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
        hypotheses=texts("hypothesis"),
        sources=texts("source") if "source" in have else None,
        references=list(zip(*map(texts, references), strict=True)) if references else None,
        raw=numbers("raw"),
        dataset=f"WMT{years.pop()[-2:]}" if len(years) == 1 else dataset_name(path),
        lines=np.array([number for number, _ in rows], dtype=np.int64),
        judges=numbers("n"),
    )
    _refuse_repeats(path, table, "system" in have)
    return table


def read_test_set(
    path: str | Path,
    lang: str | None = None,
    human: SystemScores | None = None,
    place: Path | None = None,
) -> Judgements:
    """A table `sid source reference SYSTEM ...`: one row per system and segment.

    With `human`, systems that have no human score are left out: nobody judged them.
    """
    path = Path(path)
    pair = lang or pair_in_name(path)
    if pair is None:
        raise UsageError(f"{path}: which language pair? Give -l de-en or name the file de-en.tsv.")
    rows = list(readers.rows(place or path, str(path)))
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

    def texts(name: str) -> list[str]:
        return [text_of(row, name, path, number) for number, row in rows]

    return Judgements(
        data=data_name(path.parent if pair_in_name(path) else path),
        lp=pair,
        systems=[name for name in kept for _ in rows],
        sids=texts("sid") * len(kept),
        human=np.full(len(rows) * len(kept), np.nan),
        hypotheses=[text for name in kept for text in texts(name)],
        sources=texts("source") * len(kept),
        references=list(zip(*map(texts, references), strict=True)) * len(kept),
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
        scores = found.setdefault(row["lp"], {})
        system = row["system"]
        if system in scores:
            raise InputError(f"system {system!r} has two scores", file=path, line=number)
        value = number_of(row, "human", path, number)
        if not math.isnan(value):
            scores[system] = value
    return found


def _read_test_set_folder(
    folder: Path, lang: str | None, human: SystemScores | None
) -> list[Judgements]:
    files = sorted(
        f for f in folder.iterdir() if f.name.endswith((".tsv", ".tsv.gz")) and pair_in_name(f)
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


def pair_in_name(path: Path) -> str | None:
    """`de-en` from `de-en.tsv.gz`; None where the name is not just a pair."""
    stem = path.name.removesuffix(".gz").removesuffix(".tsv")
    return stem if _PAIR.fullmatch(stem) else None


def data_name(path: Path) -> str:
    """What a data set is called in tables: its file or folder name without endings."""
    return re.sub(r"\.(tsv|csv|jsonl|txt)?(\.gz)?$", "", path.resolve().name) or str(path)


def dataset_name(path: Path) -> str | None:
    """`WMT17` where the path names a WMT year, nearest part first."""
    for part in reversed(path.resolve().parts[-3:]):
        if match := _YEAR.search(part):
            return f"WMT{match.group(1)}"
    return None


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
