"""A printed table, row by row: the paper's value, ours, and what is missing where we have none.

    mtgauge meta da17.tsv.gz --experiment 000.1              paper 000, Table 1
    mtgauge meta wmt17/ --human sys17.tsv --experiment 000.5

Every row that needs nothing but code is computed with the paper's own spec. Where weights are out
of reach a stand-in runs, under its own name; where there is none, the row stands with what is
missing, and fills as soon as that is supplied: `-m xmoverscore:preset=paper2020,encoder=FOLDER,...`
for models, `--scores FILE` for systems of the shared tasks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from mtgauge.errors import UsageError
from mtgauge.meta import tables
from mtgauge.meta.evaluate import Row
from mtgauge.meta.render import Grid, markdown, plain

_CORRELATIONS = ("pearson", "tau_wmt")


def table(name: str) -> list[tables.Printed]:
    """The rows of `PAPER.TABLE`; an unknown name is answered with the names there are."""
    paper, _, number = name.partition(".")
    found = [row for row in tables.rows_of(paper, number) if row.statistic in _CORRELATIONS]
    if not found:
        known = dict.fromkeys(
            f"{r.paper}.{r.table}" for r in tables.results() if r.statistic in _CORRELATIONS
        )
        raise UsageError(f"There is no experiment {name!r}. There are: {', '.join(known)}.")
    return found


def specs(printed: Sequence[tables.Printed]) -> list[str]:
    """What runs here without more: the paper's spec, or a stand-in where weights are missing."""
    recipes = [tables.recipe(row) for row in printed]
    return list(dict.fromkeys(s for r in recipes if (s := r.stand_in if r.missing else r.spec)))


def render(
    printed: Sequence[tables.Printed],
    rows: Sequence[Row],
    missing: Mapping[str, str],
    format: str,
) -> str:
    blocks = []
    for statistic in dict.fromkeys(row.statistic for row in printed):
        mine = [row for row in printed if row.statistic == statistic]
        columns = list(mine[0].cells)
        grid: Grid = [["row", *columns]]
        remarks: list[str] = []
        for row in mine:
            grid.append([f"{row.metric} (printed)", *(_printed(row.cells[lp]) for lp in columns)])
            ours = _ours(row, rows)
            for metric, cells in ours.items():
                grid.append([f"  {metric}", *(_text(cells.get(lp)) for lp in columns)])
            remarks += _remarks(row, ours, missing)
        draw = markdown if format == "markdown" else plain
        head = (
            f"Paper {mine[0].paper}, Table {mine[0].table}: {mine[0].dataset}, "
            f"{mine[0].level} level, {statistic}"
        )
        blocks += [head, draw(grid)]
        if remarks:
            blocks.append("\n".join(f"- {line}" for line in dict.fromkeys(remarks)))
    return "\n\n".join(blocks) + "\n"


def _ours(printed: tables.Printed, rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """Our values for a printed row: metric -> column -> value."""
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        for entry in row.paper or []:
            same = (entry["paper"], entry["table"], entry["metric"], entry["statistic"])
            if same == (printed.paper, printed.table, printed.metric, printed.statistic):
                column = "Average" if row.over else row.lp
                found.setdefault(row.metric, {})[column] = row.values[printed.statistic]
    return found


def _printed(cell: tables.Cell) -> str:
    return cell.text if cell.value is None else f"{cell.value:.3f}"


def _text(value: float | None) -> str:
    return "-" if value is None or math.isnan(value) else f"{value:.3f}"


def _remarks(
    printed: tables.Printed, ours: Mapping[str, object], missing: Mapping[str, str]
) -> list[str]:
    made = tables.recipe(printed)
    lines = []
    notes = dict.fromkeys(cell.note for cell in printed.cells.values() if cell.note)
    for note in notes:
        where = [lp for lp, cell in printed.cells.items() if cell.note == note]
        place = "" if len(where) == len(printed.cells) else f" ({', '.join(where)})"
        lines.append(f"{printed.metric}{place}: {tables.NOTES[note]}.")
    submitted = any(tables.same_name(name, printed.metric) for name in ours)
    if submitted:
        return lines
    if made.spec not in ours and made.missing:
        kind = "stand-in only" if ours else "no value"
        lines.append(f"{printed.metric}: {kind}; missing: {made.missing}.")
        if made.spec:
            lines[-1] += f" Then: {made.spec}"
    elif made.spec not in ours and made.spec in missing:
        lines.append(f"{printed.metric}: {missing[made.spec]}")
    elif not ours:
        lines.append(f"{printed.metric}: this data does not hold the table's language pairs.")
    return lines
