"""Judged data in one class: human judgements of translations, one language pair at a time.

`Judgements` is a table with one row per translation: system, segment id, texts and human score, all
as columns of equal length. System-level human scores, better/worse pairs and scores of other
metrics stand beside it. A *test set* is the same table without segment scores.

`judged_files` reads files and folders of all formats; each has a module beside this one:
`judged_tables`, `wmt`, `mtme`, and `scores` for scores without judgements.

A score that is empty, `None`, `NA` or `NaN` is a missing judgement and stays NaN. Anything else
that is not a finite number is refused with file, line and column.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mtgauge.data import checks, columns
from mtgauge.data.codes import is_pair, usual
from mtgauge.data.readers import plain_name
from mtgauge.data.segments import Segments
from mtgauge.errors import UsageError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
SystemScores = dict[str, dict[str, float]]  # language pair -> system -> score

_YEAR = re.compile(
    r"(?<![a-z])(?:wmt|da|sys|newstest|rr)[-_]?(?:20)?(1[0-9]|2[0-9])", re.IGNORECASE
)


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

    def __post_init__(self) -> None:
        object.__setattr__(self, "lp", usual(self.lp))
        for name in ("sids", "human", "hypotheses", "sources", "references", "raw", "judges"):
            column = getattr(self, name)
            if column is not None and len(column) != len(self.systems):
                raise UsageError(
                    f"{self.data} {self.lp}: {len(column)} {name} for {len(self.systems)} systems: "
                    "every translation has one of each."
                )

    def __len__(self) -> int:
        return len(self.systems)

    def check(self) -> None:
        """Pass texts that came from Python, not from a file, through the same door."""
        about = f"{self.data} {self.lp}"
        checks.language_pair(self.lp)
        if "[" in self.data:
            raise UsageError(f"{self.data!r} cannot name data: square brackets mark slices.")
        for name in ("hypotheses", "sources"):
            if (texts := getattr(self, name)) is not None:
                columns.from_list(texts, f"{about} {name}")
        if self.references is not None:
            columns.alternatives(self.references, f"{about} references")

    def segments(self, *, unescape: bool = False) -> Segments:
        """The texts, as a metric takes them."""
        if self.hypotheses is None:
            raise UsageError(f"{self.data} {self.lp} holds scores only, no texts to score.")
        found = Segments(self.hypotheses, self.sources, self.references, self.lp)
        return found.mapped(checks.unescape) if unescape else found

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

    def system_means(self, column: FloatArray) -> dict[str, float]:
        """The mean of each system's rows; systems without any value are left out."""
        return {
            system: float(np.nanmean(column[rows]))
            for system, rows in self.rows_by_system().items()
            if not np.isnan(column[rows]).all()
        }

    def rows_by_system(self) -> dict[str, IntArray]:
        """Row numbers of each system, systems in order of first appearance."""
        found: dict[str, list[int]] = {}
        for row, system in enumerate(self.systems):
            found.setdefault(system, []).append(row)
        return {system: np.array(rows, dtype=np.int64) for system, rows in found.items()}


def pair_in_name(path: Path) -> str | None:
    """`de-en` from `de-en.tsv.gz`; None where the name is not just a pair."""
    stem = plain_name(path).removesuffix(".tsv")
    return usual(stem) if is_pair(stem) else None


def data_name(path: Path) -> str:
    """What a data set is called in tables: its file or folder name without endings.

    Square brackets mark slices of a data set (`da17[system x]`), so a name has round ones.
    """
    name = re.sub(r"\.(tsv|csv|jsonl|txt)?$", "", plain_name(path.resolve())) or str(path)
    return name.replace("[", "(").replace("]", ")")


def dataset_name(path: Path) -> str | None:
    """`WMT17` where the path names a WMT year, nearest part first."""
    for part in reversed(path.resolve().parts[-3:]):
        if match := _YEAR.search(part):
            return f"WMT{match.group(1)}"
    return None
