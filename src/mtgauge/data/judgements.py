"""Human judgements of translations, one language pair at a time.

`Judgements` is a table with a row for each translation: system, segment id, texts and human score,
all as columns of equal length. System-level human scores, better/worse pairs and scores of other
metrics stand beside it. A *test set* is the same table without segment scores.

    read("judged.tsv.gz")             judged segments: lp system sid source reference hypothesis
                                      human, optionally raw, n, reference2 ...
    read("de-en.tsv", human=table)    a test set: sid source reference SYSTEM SYSTEM ...
    read("WMT18/")                    an official WMT folder, an mt-metrics-eval folder, or a
                                      folder of LP.tsv test sets

A score that is empty, `None`, `NA` or `NaN` is a missing judgement and stays NaN. Anything else
that is not a finite number is refused with file, line and column. Limits: TSV without quoting, as
WMT data is distributed; columns are found by name, so their order does not matter.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mtgauge.data import checks, readers
from mtgauge.data.segments import Segments
from mtgauge.errors import InputError, UsageError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
SystemScores = dict[str, dict[str, float]]  # language pair -> system -> score

JUDGED_COLUMNS = ("lp", "system", "sid", "hypothesis", "human")
MISSING = frozenset({"", "none", "na", "nan", "null"})
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
    judges: FloatArray | None = None  # judgements averaged in each score (column n)

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
    """Judgements in a file or folder, one item a language pair; `lang` keeps one pair."""
    from mtgauge.data import mtme, wmt  # they build on this module

    path = Path(path)
    if not path.exists():
        raise InputError("there is no such file or folder", file=path)
    if path.is_dir():
        if wmt.is_wmt_folder(path):
            found = wmt.read_folder(path, lang)
        elif mtme.is_mtme_folder(path):
            found = mtme.read_folder(path, lang)
        else:
            found = _read_test_set_folder(path, lang, human)
    elif _header(path)[0] == "sid":
        found = [read_test_set(path, lang, human)]
    else:
        found = read_judged(path, lang)
    if human is not None:
        found = [replace(x, system_human=human.get(x.lp, x.system_human)) for x in found]
    if not found:
        what = "no judgements" if lang is None else f"no judgements of {lang}"
        raise InputError(f"{what} in here", file=path)
    return found


def read_judged(path: str | Path, lang: str | None = None) -> list[Judgements]:
    """A TSV of judged segments, split by language pair in order of appearance."""
    path = Path(path)
    lines = table_lines(path)
    header = next(lines)[1]
    at = _columns(path, header, JUDGED_COLUMNS)
    reference_columns = [
        i for i, name in enumerate(header) if re.fullmatch("reference[0-9]*", name)
    ]
    by_pair: dict[str, list[tuple[int, list[str]]]] = {}
    for number, fields in lines:
        pair = fields[at["lp"]]
        if lang is None or pair == lang:
            by_pair.setdefault(pair, []).append((number, fields))
    name = data_name(path)
    found = []
    for pair, rows in by_pair.items():
        first_line = rows[0][0]
        if not _PAIR.fullmatch(pair):
            raise InputError(
                f"column lp: {pair!r} is not a language pair such as de-en",
                file=path,
                line=first_line,
            )
        _refuse_repeats(path, rows, at)
        years = {fields[at["year"]] for _, fields in rows} if "year" in at else set()
        found.append(
            Judgements(
                data=name,
                lp=pair,
                systems=[fields[at["system"]] for _, fields in rows],
                sids=[fields[at["sid"]] for _, fields in rows],
                human=_numbers(path, rows, at["human"], "human"),
                hypotheses=[fields[at["hypothesis"]] for _, fields in rows],
                sources=[f[at["source"]] for _, f in rows] if "source" in at else None,
                references=[tuple(f[i] for i in reference_columns) for _, f in rows]
                if reference_columns
                else None,
                raw=_numbers(path, rows, at["raw"], "raw") if "raw" in at else None,
                dataset=f"WMT{years.pop()[-2:]}" if len(years) == 1 else dataset_name(path),
                lines=np.array([number for number, _ in rows], dtype=np.int64),
                judges=_numbers(path, rows, at["n"], "n") if "n" in at else None,
            )
        )
    return found


def read_test_set(
    path: str | Path, lang: str | None = None, human: SystemScores | None = None
) -> Judgements:
    """A TSV `sid source reference SYSTEM ...`: a row for each system and segment.

    With `human`, systems that have no human score are left out: nobody judged them.
    """
    path = Path(path)
    pair = lang or pair_in_name(path)
    if pair is None:
        raise UsageError(f"{path}: which language pair? Give -l de-en or name the file de-en.tsv.")
    lines = table_lines(path)
    header = next(lines)[1]
    at = _columns(path, header, ("sid", "source", "reference"))
    plain = [i for i, name in enumerate(header) if re.fullmatch("reference[0-9]*", name)]
    names = [n for n in header if n not in ("sid", "source") and header.index(n) not in plain]
    if not names:
        raise InputError("no system has a column after sid, source and reference", file=path)
    rows = [fields for _, fields in lines]
    if not rows:
        raise InputError("the test set has a header but no segments", file=path)
    judged = None if human is None else human.get(pair, {})
    kept = [name for name in names if judged is None or name in judged]
    if not kept:
        raise InputError(
            f"none of the {len(names)} systems of {pair} has a human score",
            file=path,
            remedy="The file of human scores must name them as this header does.",
        )
    sids = [fields[at["sid"]] for fields in rows]
    return Judgements(
        data=data_name(path.parent if pair_in_name(path) else path),
        lp=pair,
        systems=[name for name in kept for _ in rows],
        sids=sids * len(kept),
        human=np.full(len(rows) * len(kept), np.nan),
        hypotheses=[fields[header.index(name)] for name in kept for fields in rows],
        sources=[fields[at["source"]] for fields in rows] * len(kept),
        references=[tuple(fields[i] for i in plain) for fields in rows] * len(kept),
        system_human=judged or {},
        dataset=dataset_name(path),
    )


def read_system_human(path: str | Path) -> SystemScores:
    """System-level human scores: `lp human system` by tab, or the official `LP HUMAN SYSTEM`."""
    path = Path(path)
    lines = table_lines(path, any_space=True)
    header = [name.lower() for name in next(lines)[1]]
    at = _columns(path, header, ("lp", "human", "system"))
    found: SystemScores = {}
    for number, fields in lines:
        scores = found.setdefault(fields[at["lp"]], {})
        system = fields[at["system"]]
        if system in scores:
            raise InputError(f"system {system!r} has two scores", file=path, line=number)
        value = parse_score(fields[at["human"]], path, number, "human")
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


# Reading tables


def table_lines(path: Path, *, any_space: bool = False) -> Iterator[tuple[int, list[str]]]:
    """(line number, fields) of a table, header first; every line has the header's width."""
    width = 0
    for number, text in readers.raw_lines(path, str(path)):
        fields = text.split() if any_space else text.split("\t")
        if number == 1:
            width = len(fields)
        elif len(fields) != width:
            raise InputError(
                f"{len(fields)} columns where the header has {width}",
                file=path,
                line=number,
                remedy="Columns are separated by one space."
                if any_space
                else "Columns are separated by one tab; texts may hold none.",
            )
        yield number, fields


def text_lines(path: Path) -> list[str]:
    """The lines of a plain text file."""
    if not path.is_file():
        raise InputError("the file is missing", file=path)
    return [text for _, text in readers.raw_lines(path, str(path))]


def parse_score(text: str, path: Path, line: int, column: str) -> float:
    """A number; NaN for a missing one; anything else is refused with its place."""
    if text.strip().lower() in MISSING:
        return math.nan
    try:
        value = float(text)
    except ValueError:
        value = math.inf
    if math.isinf(value):
        raise InputError(f"column {column}: {text!r} is not a number", file=path, line=line)
    return value


def pair_in_name(path: Path) -> str | None:
    """`de-en` from `de-en.tsv.gz`; None where the name is not just a pair."""
    stem = path.name.removesuffix(".gz").removesuffix(".tsv")
    return stem if _PAIR.fullmatch(stem) else None


def data_name(path: Path) -> str:
    """What a data set is called in tables: its file or folder name without endings."""
    return re.sub(r"\.(tsv|csv|txt)?(\.gz)?$", "", path.resolve().name) or str(path)


def dataset_name(path: Path) -> str | None:
    """`WMT17` where the path names a WMT year, nearest part first."""
    for part in reversed(path.resolve().parts[-3:]):
        if match := _YEAR.search(part):
            return f"WMT{match.group(1)}"
    return None


def _header(path: Path) -> list[str]:
    return next(table_lines(path))[1]


def _columns(path: Path, header: Sequence[str], needed: Sequence[str]) -> dict[str, int]:
    lacking = [name for name in needed if name not in header]
    if lacking:
        raise InputError(
            f"the header has no column {', '.join(lacking)}; it has {', '.join(header)}",
            file=path,
            line=1,
            remedy=f"Needed: {', '.join(needed)}, separated by tabs.",
        )
    twice = {name for name in header if list(header).count(name) > 1}
    if twice:
        raise InputError(f"column {twice.pop()!r} stands twice", file=path, line=1)
    return {name: i for i, name in enumerate(header)}


def _numbers(
    path: Path, rows: Sequence[tuple[int, Sequence[str]]], column: int, name: str
) -> FloatArray:
    return np.array([parse_score(f[column], path, number, name) for number, f in rows])


def _refuse_repeats(
    path: Path, rows: Sequence[tuple[int, Sequence[str]]], at: Mapping[str, int]
) -> None:
    seen: dict[tuple[str, str], int] = {}
    for number, fields in rows:
        key = (fields[at["system"]], fields[at["sid"]])
        if key in seen and key[0] != "-":
            raise InputError(
                f"columns system and sid repeat line {seen[key]}: {key[0]}, {key[1]}",
                file=path,
                line=number,
            )
        seen[key] = number
