"""The map of docs/experiments: which numbers of the papers stand beside ours, and what is missing.

cells.tsv holds every printed number that a page shows: page, row, column, printed, ours, how
(`same` metric, or its `method` on models of the package), spec, reason. The map is made from it.
"""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from experiment_pages import ELSEWHERE, PAGES, PAPERS
from mtgauge.meta import tables

FIELDS = ("page", "row", "column", "printed", "ours", "how", "spec", "reason")
COUNTED = ("printed", "same", "method", "missing", "to run")
# how a reason says that nothing is missing but a run: models left out, heads not trained
TO_RUN = (
    "left out here (--surface)",
    " heads/embedded",
    " regressors/embedded",
)
W2W = "W2W_percent"  # differences of shares, not of correlations
Cells = dict[str, list[dict[str, str]]]  # by page


def read_cells(path: Path) -> Cells:
    found: Cells = {}
    if path.exists():
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
                found.setdefault(row["page"], []).append(row)
    return found


def write_cells(path: Path, cells: Cells) -> None:
    lines = ["\t".join(FIELDS)]
    for page in sorted(cells):
        lines += ["\t".join(row[field] for field in FIELDS) for row in cells[page]]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def as_rows(page: str, pairs: Iterable[dict[str, object]]) -> list[dict[str, str]]:
    """The `cells` of `mtgauge meta --json`, for the file."""
    rows = []
    for pair in pairs:
        ours = pair["ours"]
        shown = "" if ours is None else f"{ours:.4f}"
        values = {**{k: str(v) for k, v in pair.items()}, "page": page, "ours": shown}
        rows.append({field: re.sub(r"\s+", " ", values[field]) for field in FIELDS})
    return rows


def write_index(path: Path, cells: Cells, old: Sequence[str]) -> None:
    lines = [
        "# The papers' tables and figures",
        "",
        "What of the five papers can be seen here. A page per table has the printed numbers, ours",
        "by the paper's method below them, mtgauge's own defaults apart, and what is missing where",
        "there is no number of ours. *Same* counts cells of the paper's own metric, *method* cells",
        "of its method on a model of the package (named in the row); *missing* counts cells",
        "without ours whose missing resource is named; *to run* those for which the paper's models",
        "are missing too, but its method on ours has only not been run yet. The last columns are",
        "the mean of ours minus printed.",
        "",
        "All pages are made by one command, which skips what is up to date:",
        "",
        "```text",
        "python recipes/experiments.py --data DIR --work WORK",
        "```",
        "",
    ]
    total: Counter[str] = Counter()
    gaps: list[float] = []
    for paper, title in PAPERS.items():
        lines += [f"## {paper}: {title}", ""]
        lines += [
            "| page | what | printed | same | method | missing | to run | same - printed "
            "| method - printed |",
            "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        ]
        for page in sorted(p for p in {*PAGES, *cells} if p.startswith(f"{paper}.")):
            counted, gap = _summary(cells.get(page, []))
            total += counted
            if gap["method"] is not None and tables.rows_of(*page.split("."))[0].statistic != W2W:
                gaps.append(gap["method"])
            stale = " (older than its models)" if page in old else ""
            lines.append(
                f"| [{page}]({page}.md){stale} | {_about(page)} | "
                + " | ".join(str(counted[k]) for k in COUNTED)
                + f" | {_signed(gap['same'])} | {_signed(gap['method'])} |"
            )
        lines += ["", *_resources(paper, cells), ""]
        for name, item in ELSEWHERE.get(paper, {}).items():
            lines.append(f"- {name}: {item.what}. `{item.command}`")
        lines.append("")
    lines += [
        "## In all",
        "",
        f"{total['printed']} printed cells: {total['same']} beside the same metric, "
        f"{total['method']} beside its method on our models, {total['missing']} with the missing "
        f"resource named, {total['to run']} that our models could fill and have not yet.",
    ]
    if gaps:
        mean = math.fsum(gaps) / len(gaps)
        lines += [
            "",
            f"Mean over the {len(gaps)} pages of correlations that have both of (ours by the "
            f"paper's method minus printed): {mean:+.3f}.",
        ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _summary(rows: list[dict[str, str]]) -> tuple[Counter[str], dict[str, float | None]]:
    counted: Counter[str] = Counter(printed=len(rows))
    gap: dict[str, float | None] = {}
    for how in ("same", "method"):
        both = [r for r in rows if r["how"] == how and "percent" not in r["column"]]
        counted[how] = sum(r["how"] == how for r in rows)
        values = [float(r["ours"]) - float(r["printed"]) for r in both]
        gap[how] = math.fsum(values) / len(values) if values else None
    empty = [r["reason"] for r in rows if not r["how"]]
    counted["to run"] = sum(any(sign in reason for sign in TO_RUN) for reason in empty)
    counted["missing"] = len(empty) - counted["to run"]
    return counted, gap


def _about(page: str) -> str:
    first = tables.rows_of(*page.split("."))[0]
    return f"{first.dataset}, {first.level} level, {first.statistic}"


def _signed(value: float | None) -> str:
    return "" if value is None else f"{value:+.3f}"


def _resources(paper: str, cells: Cells) -> list[str]:
    """What a user would have to bring, with how many cells it fills."""
    wanted: Counter[str] = Counter()
    where: dict[str, set[str]] = {}
    for page, rows in cells.items():
        if page.startswith(f"{paper}."):
            for row in rows:
                resource = row["reason"].partition("; its method on our models")[0]
                if resource and not resource.startswith("not run here"):
                    wanted[resource] += 1
                    where.setdefault(resource, set()).add(page)
    if not wanted:
        return ["Nothing is missing."]
    lines = ["| missing | cells | command, once it is here |", "| --- | ---: | --- |"]
    for reason, count in wanted.most_common():
        page = sorted(where[reason])[0]
        known = page in PAGES and PAGES[page].data and not reason.startswith(tables.TEXTS)
        data = " ".join(PAGES[page].data) if known else "DATA"
        lines.append(f"| {reason} | {count} | `mtgauge meta {data} --experiment {page}` |")
    return lines
