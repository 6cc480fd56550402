"""A printed table, row by row: the paper's value, ours, and what is missing where we have none.

    mtgauge meta da17.tsv.gz --experiment 000.1              paper 000, Table 1
    mtgauge meta wmt17/ --human sys17.tsv --experiment 000.5

Two blocks that are not mixed. *The paper's method*: every row that needs nothing but code is
computed with the paper's own spec; where weights are out of reach, its method runs on a model of
the package, and the row names what stands in for what. *mtgauge's defaults*: other settings, chosen
for users; no printed row is theirs. Then what is missing, which fills a row as soon as it is
supplied: models under the names that the spec has, `--scores FILE` for systems of the shared tasks.
In a terminal that is a list, and long names of rows are folded; as Markdown all is tables.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from mtgauge.meta import experiments, tables
from mtgauge.meta.experiments import Line, Values
from mtgauge.meta.study import Findings
from mtgauge.report.writers import Grid, draw, escape, fixed, fold

_WIDTH = 80  # of what is folded in a terminal
_LABEL = 36  # of a row's name there


def render(found: Findings, format: str) -> str:
    """The blocks of each statistic of the table."""
    blocks = []
    for statistic in dict.fromkeys(row.statistic for row in found.printed):
        mine = [row for row in found.printed if row.statistic == statistic]
        part = replace(found, printed=mine)
        lines = experiments.lines(part)
        columns = list(mine[0].cells)
        blocks += [escape(_head(mine[0]), format), _table(_paper_grid(lines, columns), format)]
        if notes := [*_notes(mine), *_gap(part)]:
            blocks.append("\n".join(_item(escape(line, format), format) for line in notes))
        for title, rows in (
            ("mtgauge's defaults, which are not the paper's settings", experiments.defaults(part)),
            ("Not in the paper", experiments.others(part)),
        ):
            if rows:
                blocks += [
                    escape(title, format),
                    _table(_grid(rows, columns, found.sampled), format),
                ]
        if lacking := [
            [one.printed.metric, one.reason, tables.recipe(one.printed).spec]
            for one in lines
            if one.reason
        ]:
            blocks.append(_missing(lacking, format))
    return "\n\n".join(blocks) + "\n"


def _table(grid: Grid, format: str) -> str:
    """The table; in a terminal a long name of a row takes several lines, its numbers the last."""
    if format != "table":
        return draw(grid, format)
    rows: list[Sequence[str]] = []
    for row in grid:
        *above, last = _broken(row[0])
        rows += [[line, *[""] * (len(row) - 1)] for line in above]
        rows.append([last, *row[1:]])
    return draw(rows, format)


def _broken(name: str) -> list[str]:
    """A row's name in lines that end at a space or a comma.

    >>> _broken("  xmoverscore:preset=paper2020,ngram=1,lm=off")
    ['  xmoverscore:preset=paper2020,', '    ngram=1,lm=off']
    """
    indent = " " * (len(name) - len(name.lstrip()))
    lines = [indent]
    for piece in re.findall(r"[^, ]+[, ]*", name):
        if lines[-1].strip() and len(lines[-1] + piece.rstrip()) > _LABEL:
            lines.append(indent + "  ")
        lines[-1] += piece
    return [line.rstrip() for line in lines]


def _item(text: str, format: str) -> str:
    """A line of a list."""
    return "- " + ("\n  ".join(fold(text, _WIDTH - 2)) if format == "table" else text)


def _missing(rows: Sequence[Sequence[str]], format: str) -> str:
    """What each row lacks and the spec that fills it, which is never broken: it can be copied."""
    if format != "table":
        head = ["row", "missing", "spec that fills it"]
        grid = [[name, reason, spec or "--scores FILE"] for name, reason, spec in rows]
        return draw([head, *grid], format, numbers=False)
    found: dict[str, list[str]] = {}
    for name, reason, spec in rows:
        written = f'"{spec}"' if "'" in spec else spec  # as a shell takes it
        option = f"-m {written}" if spec else "--scores FILE"
        found.setdefault(reason, []).append(f"  {name}\n    {option}")
    blocks = []
    for reason, options in found.items():
        blocks += [_item(escape(reason, format), format), *options]
    return "\n".join(["Missing, and what then fills the row", *blocks])


def _head(printed: tables.Printed) -> str:
    return (
        f"The paper's method. Paper {printed.paper}, Table {printed.table}: {printed.dataset}, "
        f"{printed.level} level, {printed.statistic}"
    )


def _paper_grid(lines: Sequence[Line], columns: Sequence[str]) -> list[list[str]]:
    grid = [["row", *columns]]
    for line in lines:
        cells = line.printed.cells
        grid.append([f"{line.printed.metric} (printed)", *(_printed(cells[c]) for c in columns)])
        for spec, values in line.ours.items():
            grid.append([f"  {line.label(spec)}", *(fixed(values.get(c)) for c in columns)])
    return grid


def _grid(
    rows: dict[str, Values], columns: Sequence[str], sampled: Mapping[str, int]
) -> list[list[str]]:
    label = {name: f"{name} ({experiments.sample(n)})" for name, n in sampled.items()}
    body = [
        [label.get(name, name), *(fixed(cells.get(c)) for c in columns)]
        for name, cells in rows.items()
    ]
    return [["row", *columns], *body]


def _gap(found: Findings) -> list[str]:
    """How far ours is from print, the paper's own metrics and stand-ins apart."""
    pairs = experiments.cells(found)
    said = []
    for how, what in (("same", "the same metric"), ("method", "the method on our models")):
        gap = experiments.mean_gap([pair for pair in pairs if pair.how == how])
        if gap is not None:
            n = sum(pair.how == how for pair in pairs)
            said.append(f"Ours minus printed, {what}: {gap:+.3f} on average over {n} cells.")
    return said


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


def _printed(cell: tables.Cell) -> str:
    return cell.text if cell.value is None else f"{cell.value:.3f}"
