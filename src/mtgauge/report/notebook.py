"""How a result shows itself: in a terminal, in a notebook, as a page; and two systems side by side.

show(result, "terminal")                 the table of `mtgauge score`
show(result, "notebook")                 the same as HTML, without scripts
show(result, "page", "report.html")      writes the report, returns its path
print(compare(result, "old", "new"))     what differs between two systems
"""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mtgauge.data.output import write
from mtgauge.engine import comparison
from mtgauge.engine.contrast import Phrase
from mtgauge.engine.result import Result, data_frame
from mtgauge.engine.slices import Slices
from mtgauge.engine.verdict import verdict
from mtgauge.explanation import Explanation
from mtgauge.report.explain import render as render_explanation
from mtgauge.report.page import render
from mtgauge.report.page.dom import el, html
from mtgauge.report.page.scores import notebook_table
from mtgauge.report.table import decimals
from mtgauge.report.table import render as render_table
from mtgauge.report.writers import draw, fixed, visible

_SEGMENTS = "Segments that differ most"
_SHOWN = 5  # of them, in text


def show(result: Result | Explanation, form: str, path: str | Path = "") -> Any:
    """One of the forms above; an explanation has that of the terminal."""
    if isinstance(result, Explanation):
        return render_explanation(result)
    if form == "terminal":
        return render_table(result, "table")
    if form == "notebook":
        return notebook_table(result)
    write(Path(path), render(result))
    return Path(path)


class Comparison(comparison.Comparison):
    """What `mtgauge.compare` returns: two systems side by side, in every form."""

    def __repr__(self) -> str:
        metrics = ", ".join(each.metric for each in self.differences)
        return f"<Comparison: {self.first} and {self.second} by {metrics}; print() shows it>"

    def to_pandas(self) -> Any:
        """A data frame with one row per metric."""
        return data_frame(asdict(each) for each in self.differences)

    def grids(self) -> list[tuple[str, list[list[str]]]]:
        """Tables with their headings: metrics, groups, phrases, segments."""
        found = [("Scores", self._scores())]
        for slices in self.slices:
            for measure in slices.scores:
                found.append((f"{measure} by {slices.by}", self._group(slices, measure)))
        for name, phrases in ((self.first, self.only_first), (self.second, self.only_second)):
            if phrases:
                found.append((f"Phrases that {name} gets right more often", self._phrases(phrases)))
        if self.result.texts is not None:
            found.append((_SEGMENTS, self._segments()))
        return found

    def __str__(self) -> str:
        said = visible(verdict(self.result).headline)
        tables = [
            f"{visible(name)}\n\n{draw(grid, 'table', numbers=name != _SEGMENTS)}"
            for name, grid in self.grids()
        ]
        return "\n\n".join([said, *tables]) + "\n"

    def _repr_html_(self) -> str:
        parts = [el("p", {}, el("b", {}, verdict(self.result).headline))]
        for name, (head, *rows) in self.grids():
            heads = el("tr", {}, [el("th", {"scope": "col"}, cell) for cell in head])
            cells = [el("tr", {}, [el("td", {}, cell) for cell in row]) for row in rows]
            table = el("table", {}, el("caption", {}, name), heads, cells)
            parts.append(table)
        return html(el("div", {}, parts))

    def _scores(self) -> list[list[str]]:
        rows = [["metric", self.first, self.second, "difference", "p", "better", "people agree"]]
        for each in self.differences:
            form = f".{decimals(self.result[each.metric])}f"
            agree = "" if each.people_agree is None else f"{each.people_agree:.0%}"
            p = "" if each.p_adjusted is None else fixed(each.p_adjusted, ".3f")
            numbers = [fixed(x, form) for x in (each.first, each.second)]
            gain = fixed(each.difference, f"+{form}")
            rows.append([each.metric, *numbers, gain, p, each.better or "", agree])
        return rows

    def _group(self, slices: Slices, measure: str) -> list[list[str]]:
        known = measure in self.result
        form = f".{decimals(self.result[measure])}f" if known else ".1f"
        rows = [[slices.by, slices.unit, self.first, self.second, "difference"]]
        scores = slices.scores[measure]
        for k, group in enumerate(slices.groups):
            a, b = (scores.get(name, [math.nan] * len(slices.groups))[k]
                    for name in (self.first, self.second))  # fmt: skip
            numbers = [fixed(x, form) for x in (a, b)] + [fixed(b - a, f"+{form}")]
            rows.append([group, f"{slices.sizes[k]:,}", *numbers])
        return rows

    def _phrases(self, phrases: tuple[Phrase, ...]) -> list[list[str]]:
        rows = [["phrase", self.first, self.second, "of"]]
        return rows + [[p.text, str(p.first), str(p.second), str(p.of)] for p in phrases]

    def _segments(self) -> list[list[str]]:
        texts = self.result.texts
        assert texts is not None
        rows = [["segment", "", "text"]]
        for k in self.segments[:_SHOWN]:
            sides = [] if texts.sources is None else [("source", texts.sources[k])]
            sides += [("reference", row) for row in (texts.references or {k: ()})[k]]
            sides += [(name, texts.systems[name][k]) for name in (self.first, self.second)]
            rows += [[str(k + 1) if not i else "", *side] for i, side in enumerate(sides)]
        return rows


def compare(result: Result, first: str | None = None, second: str | None = None) -> Comparison:
    """Two systems of a result side by side: metrics, groups of segments, phrases, segments.

    Without names: the baseline and the best of the others.
    """
    return Comparison(**vars(comparison.compare(result, first, second)))
