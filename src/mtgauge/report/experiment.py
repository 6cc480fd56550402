"""A printed table, row by row: the paper's value, ours, and what is missing where we have none.

    mtgauge meta da17.tsv.gz --experiment 000.1              paper 000, Table 1
    mtgauge meta wmt17/ --human sys17.tsv --experiment 000.5

Every row that needs nothing but code is computed with the paper's own spec. Where weights are out
of reach a stand-in runs, under its own name; where there is none, the row stands with what is
missing, and fills as soon as that is supplied: `-m xmoverscore:preset=paper2020,encoder=FOLDER,...`
for models, `--scores FILE` for systems of the shared tasks.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from mtgauge.meta import tables
from mtgauge.meta.rows import Row
from mtgauge.meta.study import Findings
from mtgauge.report.writers import draw, escape, fixed


def render(found: Findings, format: str) -> str:
    """The table with ours below each row, then what is to be known, then what is missing."""
    printed, rows = found.printed, found.rows
    blocks = []
    for statistic in dict.fromkeys(row.statistic for row in printed):
        mine = [row for row in printed if row.statistic == statistic]
        columns = list(mine[0].cells)
        grid = [["row", *columns]]
        lacking = [["row", "missing", "spec that fills it"]]
        shown: set[str] = set()
        for row in mine:
            grid.append([f"{row.metric} (printed)", *(_printed(row.cells[lp]) for lp in columns)])
            ours = _ours(row, rows)
            shown |= set(ours)
            for metric, cells in ours.items():
                grid.append([f"  {metric}", *(fixed(cells.get(lp)) for lp in columns)])
            if (lack := _lacking(row, ours, found.missing)) is not None:
                lacking.append(lack)
        for metric, cells in _others(mine[0], rows, shown).items():
            grid.append([f"{metric} (not in the paper)", *(fixed(cells.get(c)) for c in columns)])
        head = (
            f"Paper {mine[0].paper}, Table {mine[0].table}: {mine[0].dataset}, "
            f"{mine[0].level} level, {statistic}"
        )
        blocks += [escape(head, format), draw(grid, format)]
        if notes := _notes(mine):
            blocks.append("\n".join(f"- {escape(line, format)}" for line in notes))
        if len(lacking) > 1:
            blocks.append(draw(lacking, format, numbers=False))
    return "\n\n".join(blocks) + "\n"


def _notes(printed: Sequence[tables.Printed]) -> list[str]:
    """What is known of printed numbers, each remark once with the rows it holds for."""
    found: dict[str, list[str]] = {}
    for row in printed:
        for note in dict.fromkeys(cell.note for cell in row.cells.values() if cell.note):
            where = [column for column, cell in row.cells.items() if cell.note == note]
            place = "" if len(where) == len(row.cells) else f" ({', '.join(where)})"
            found.setdefault(tables.NOTES[note], []).append(row.metric + place)
    return [
        f"{'All rows' if len(names) == len(printed) else ', '.join(names)}: {text}."
        for text, names in found.items()
    ]


def _lacking(
    printed: tables.Printed, ours: Mapping[str, object], missing: Mapping[str, str]
) -> list[str] | None:
    """What stands between us and a printed row; None if nothing does."""
    made = tables.recipe(printed)
    submitted = [name for name in ours if tables.same_name(name, printed.metric)]
    if made.spec in ours or any(name != made.stand_in for name in submitted):
        return None
    reason = made.missing or missing.get(made.spec, "the table's language pairs in this data")
    for spec in (made.stand_in, made.spec):
        if made.missing and spec in missing:
            reason += f" (stand-in {spec}: {missing[spec].rstrip('.')})"
    return [printed.metric, reason.rstrip("."), made.spec or "--scores FILE"]


def _others(
    printed: tables.Printed, rows: Sequence[Row], shown: Collection[str]
) -> dict[str, dict[str, float]]:
    """Metrics that were asked for and are in no printed row."""
    found: dict[str, dict[str, float]] = {}
    for metric in dict.fromkeys(row.metric for row in rows):
        if metric not in shown:
            mine = [row for row in rows if row.metric == metric]
            if printed.statistic == tables.BANDS:
                found[metric] = _bands(mine)
            else:
                found[metric] = {
                    "Average" if row.over else row.lp: row.values[printed.statistic]
                    for row in mine
                    if printed.statistic in row.values and "[" not in row.data
                }
    known = set(printed.cells)
    return {metric: cells for metric, cells in found.items() if known & set(cells)}


def _ours(printed: tables.Printed, rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """Our values for a printed row: metric -> column -> value."""
    if printed.statistic == tables.BANDS:
        names = dict.fromkeys(row.metric for row in rows if tables.same_metric(row, printed))
        return {name: _bands([row for row in rows if row.metric == name]) for name in names}
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        for entry in row.paper or []:
            same = (entry["paper"], entry["table"], entry["metric"], entry["statistic"])
            if same == (printed.paper, printed.table, printed.metric, printed.statistic):
                column = "Average" if row.over else row.lp
                found.setdefault(row.metric, {})[column] = row.values[printed.statistic]
    return found


def _bands(rows: Sequence[Row]) -> dict[str, float]:
    """r of one metric over all pooled pairs and by quality band, and what is lost between."""
    cells: dict[str, float] = {}
    for row in rows:
        if row.lp == "pooled":
            band = row.data.partition("[")[2].rstrip("]")
            column = {"": "All", "human >= 0": "DA>=0.0", "human < 0": "DA<0.0"}[band]
            cells[column] = row.values["pearson"]
    if {"DA>=0.0", "DA<0.0"} <= set(cells):
        cells["reduction_percent"] = reduction(cells["DA>=0.0"], cells["DA<0.0"])
    return cells


def reduction(high: float, low: float) -> float:
    """How many per cent of the correlation are lost among bad translations.

    >>> round(reduction(0.553, 0.464), 2)
    16.09
    """
    return 100 * (high - low) / high


def _printed(cell: tables.Cell) -> str:
    return cell.text if cell.value is None else f"{cell.value:.3f}"
