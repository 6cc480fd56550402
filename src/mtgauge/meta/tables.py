"""The printed numbers of the five papers, beside ours.

    000  Zhao et al. 2020, XMoverScore         003  Gekhman et al. 2020, KoBE
    001  Li et al. 2019, STD                   004  Takahashi et al. 2020, sentence-pair regressor
    002  Mathur et al. 2019, BERTr and ESIM

    row = beside(row)                 one of our rows with the printed values that belong to it
    rows_of("000", "1")               a whole printed table
    recipe(rows_of("000", "1")[0])    our spec for a row of it, and what is missing to run it
    specs(experiment("000.1"))        what of a table can run here

A printed value belongs to a row of ours if data set, level, language pair, statistic, metric and
number of judgements agree. Two files of the package hold the data: paper_results.tsv the numbers
(`?` where the print is not recoverable, `-` where the paper prints none), paper_metrics.tsv the
specs. Numbers whose sign was hidden are compared as absolute values, and say so.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import resources
from typing import Any

from mtgauge import registry
from mtgauge.errors import MtgaugeError, UsageError
from mtgauge.meta.rows import Row
from mtgauge.meta.scoring import Level
from mtgauge.metric import Metric

NOTES = {
    "absolute": "the paper prints absolute values",
    "sign": "the paper hides a minus: the correlation is negative in the data",
    "mean": "the printed average is not the mean of the printed cells",
    "labels": "which row this is was inferred: the print lost its labels",
    "pooled": "over the four pairs de, ru, tr, zh-en together",
    "caption": "printed under a system-level caption; the numbers are segment-level",
    "swapped": "et-en and fi-en seem to have changed places in print",
    "elsewhere": "known to be wrong: these are system-level values of WMT19",
    "use": "printed as LAS(ER), evidently USE, which the rows below it remap",
}
# what mtgauge offers for the same task, by paper: shown apart, since its settings are other ones
DEFAULTS = {
    "000": ("xmoverscore", "cosine"),
    "001": ("std",),
    "002": ("bertr", "ruse", "bilstm", "bilstm-attention", "esim"),
    "003": (),
    "004": ("regressor:view=hyp+src/hyp+ref", "regressor:view=hyp+src", "regressor:view=hyp+ref"),
}
BANDS = "pearson_by_DA_range"  # paper 004, Table 5: all pairs pooled, good and bad translations
_COMPUTED = ("pearson", "tau_wmt", BANDS)
HIDES_SIGN = ("absolute", "sign")
OTHER_DATA = "elsewhere"  # printed numbers of other data than the table's: none of ours is beside
TEXTS = "texts of "  # how a reason begins that lacks a task's texts
_JUDGED = {"WMT15": 500, "WMT16": 560, "WMT17": 560}  # judged segments per pair in the papers
# the tokens that reproduce the printed sentBLEU; none on WMT15 (raw text!) and WMT17 (tokenised)
_SENTBLEU = dict.fromkeys(("WMT16", "WMT18"), "sentbleu:tokenize=13a,lowercase=on")
# what reproduces the printed WordF: chrF++.py's word half, then four orders of Moses' words
_WORDF = {
    "WMT15": "chrf:char_order=0,word_order=2,eps_smoothing=on",
    "WMT16": "wordf:tokenize=moses,eps_smoothing=on",
}
_CORPORA = {"small-halved": "halved"}  # folders of recipes/regressors.py
# options that name weights or clean texts: a metric keeps its identity when they change
_WEIGHTS = frozenset(
    "preset encoder model vectors remap lm kb annotations unescape lowercase tokenize".split()
)


@dataclass(frozen=True)
class Cell:
    value: float | None  # None: not printed, or not recoverable
    note: str = ""
    text: str = ""


@dataclass(frozen=True)
class Printed:
    """One row of a printed table."""

    paper: str
    table: str
    level: Level
    dataset: str
    statistic: str
    metric: str
    note: str
    cells: dict[str, Cell]


@dataclass(frozen=True)
class Recipe:
    spec: str  # the paper's own metric
    method: str  # the paper's method on models of the package
    stand_in: str  # what stands in for what there, in words
    missing: str  # what `spec` needs that is not in the package


@lru_cache(maxsize=1)
def results() -> tuple[Printed, ...]:
    """Every printed row."""
    found = []
    for fields in _read("paper_results.tsv"):
        cells = {}
        for item in fields["cells"].split(" "):
            column, _, text = item.rpartition("=")
            text, _, flag = text.partition("!")
            value = None if text in "?-" else float(text)
            cells[column] = Cell(value, flag or fields["note"], text)
        about: dict[str, Any] = {k: v for k, v in fields.items() if k != "cells"}
        found.append(Printed(**about, cells=cells))
    return tuple(found)


@lru_cache(maxsize=1)
def _recipes() -> dict[tuple[str, str], Recipe]:
    return {
        (f["paper"], f["metric"]): Recipe(f["spec"], f["method"], f["stand_in"], f["missing"])
        for f in _read("paper_metrics.tsv")
    }


def recipe(printed: Printed) -> Recipe:
    """How to make a printed row."""
    made = _recipes()[printed.paper, printed.metric]
    year, _, corpus = printed.dataset.partition("-")
    if corpus:  # paper 004: a model per corpus that it was trained on
        folder = _CORPORA.get(corpus, corpus)
        spec, method = (text.replace("CORPUS", folder) for text in (made.spec, made.method))
        made = replace(made, spec=spec, method=method)
    if made.spec.startswith("wordf:"):
        return replace(made, spec=f"{_WORDF[year]},{made.spec.removeprefix('wordf:')}")
    if made.spec not in ("bleu", "sentbleu"):
        return made
    if printed.level == "segment":  # what papers call BLEU of a segment is sentBLEU
        return replace(made, spec=_SENTBLEU.get(year, "sentbleu"))
    # the tasks ran mteval-v13a, international tokens, case-blind; WMT17 texts come tokenised
    ready = "none" if year == "WMT17" else "intl,lowercase=on"
    return replace(made, spec=f"bleu:tokenize={ready}")


def rows_of(paper: str, table: str) -> list[Printed]:
    """The rows of one printed table, in its order."""
    return [row for row in results() if (row.paper, row.table) == (paper, table)]


def experiment(name: str) -> list[Printed]:
    """The rows of `PAPER.TABLE`; an unknown name is answered with the names there are."""
    paper, _, number = name.partition(".")
    found = [row for row in rows_of(paper, number) if row.statistic in _COMPUTED]
    if not found:
        known = dict.fromkeys(f"{r.paper}.{r.table}" for r in results() if r.statistic in _COMPUTED)
        raise UsageError(f"There is no experiment {name!r}. There are: {', '.join(known)}.")
    return found


def specs(printed: Sequence[Printed]) -> list[str]:
    """What runs here: the paper's spec, or where weights are missing its method on our models."""
    recipes = [recipe(row) for row in printed]
    return list(dict.fromkeys(s for r in recipes if (s := r.method if r.missing else r.spec)))


def data_needed(printed: Printed) -> str:
    """The judged data of a table, in words: what is missing where there is none."""
    if printed.level == "system" and printed.dataset in ("WMT15", "WMT16"):
        return f"system outputs and system-level judgements of {printed.dataset}"
    if printed.dataset == "WMT16-IT":
        return "system outputs and judgements of the IT-domain task of WMT16"
    away = all(column.startswith("en-") for column in printed.cells)
    return f"texts and judgements of {printed.dataset[:5]}{' from English' if away else ''}"


def _read(name: str) -> Iterator[dict[str, str]]:
    text = resources.files("mtgauge.meta").joinpath(name).read_text(encoding="utf-8")
    return csv.DictReader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)


def beside(row: Row) -> Row:
    """The row with `paper` filled: a list of printed values, empty where there is none."""
    tables: dict[tuple[str, str, str], list[tuple[Printed, Cell]]] = {}
    for printed in results():
        cell = _cell(printed, row) if _same_data(printed, row) else None
        if cell is not None and same_metric(row, printed):
            key = (printed.paper, printed.table, printed.statistic)
            tables.setdefault(key, []).append((printed, cell))
    found = []
    for matches in tables.values():
        # rows of a table that differ in weights alone: the very one, for other weights are neither
        exact = [m for m in matches if row.metric in _names(recipe(m[0]))]
        if exact or len(matches) == 1:
            found.append(_entry(*(exact or matches)[0], row))
    return replace(row, paper=found)


def _entry(printed: Printed, cell: Cell, row: Row) -> dict[str, Any]:
    ours = row.values[printed.statistic]
    notes = [NOTES[cell.note]] if cell.note else []
    if cell.value is None:
        notes.append("not printed" if cell.text == "-" else "not recoverable from the print")
    elif cell.note in HIDES_SIGN:
        ours = abs(ours)
    made = recipe(printed)
    if not row.signature.from_file and row.metric != made.spec:
        notes.append(f"the paper's is {made.spec}")
    difference = None if cell.value is None or math.isnan(ours) else ours - cell.value
    return {
        "paper": printed.paper,
        "table": printed.table,
        "metric": printed.metric,
        "statistic": printed.statistic,
        "value": cell.value,
        "difference": None if difference is None else round(difference, 6),
        "note": "; ".join(notes),
    }


def _same_data(printed: Printed, row: Row) -> bool:
    if printed.dataset.split("-")[0] != row.dataset or printed.level != row.level:
        return False
    if printed.note == OTHER_DATA:
        return False
    if printed.statistic not in row.values or "[" in row.data:  # slices are no printed data
        return False
    pairs = len(row.over) or 1
    judged = _JUDGED.get(row.dataset or "")
    if row.level == "segment" and printed.statistic == "pearson" and judged is not None:
        return row.n == judged * pairs
    return True


def _cell(printed: Printed, row: Row) -> Cell | None:
    if not row.over:
        return printed.cells.get(row.lp)
    same = set(row.over) == {lp for lp in printed.cells if lp != "Average"}
    return printed.cells.get("Average") if same else None


def same_metric(row: Row, printed: Printed) -> bool:
    """Whether our metric is the printed one, whatever weights it was given."""
    if row.signature.from_file:
        return same_name(row.metric, printed.metric)
    made = recipe(printed)
    ours = _features(row.metric)
    return ours is not None and ours in map(_features, _names(made))


def _names(made: Recipe) -> tuple[str, ...]:
    return tuple(spec for spec in (made.spec, made.method) if spec)


def same_name(ours: str, printed: str) -> bool:
    """Whether scores from a file carry a printed name, such as YiSi-2_srl and YiSi-2 srl."""
    return _plain(ours) == _plain(printed)


def _plain(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalnum() or c == "+")


@lru_cache(maxsize=512)
def _features(spec: str) -> tuple[Any, ...] | None:
    """What a metric computes, without the weights it computes with; None: not loadable."""
    try:
        metric: Metric = registry.load(spec)
    except MtgaugeError:
        return None
    params = metric.params()
    kept = sorted((k, repr(v)) for k, v in params.items() if k not in _WEIGHTS)
    speaks = str(params.get("lm") not in (None, "off", "none"))
    return (metric.name, *kept, speaks, _method(str(params.get("remap"))))


def _method(remap: str) -> str:
    """CLP, UMD or both, as far as the name of a remap file or folder tells."""
    name = remap.rstrip("/").rsplit("/", 1)[-1].lower()
    name = name.replace("bam", "clp").replace("gbdd", "umd")
    return "-".join(re.findall("clp|umd", name)) or name
