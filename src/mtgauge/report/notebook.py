"""How a result shows itself: in a terminal, in a notebook, as a page; and two systems side by side.

show(result, "terminal")                 the table of `mtgauge score`
show(result, "notebook")                 the same as HTML, without scripts
show(result, "page", "report.html")      writes the report, returns its path
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mtgauge.data.output import write
from mtgauge.engine.result import Result
from mtgauge.report.page import render
from mtgauge.report.table import render as render_table


def show(result: Result, form: str, path: str | Path = "") -> Any:
    """One of the forms above."""
    if form == "terminal":
        return render_table(result, "table")
    if form == "notebook":
        from mtgauge.report.page.scores import notebook_table

        return notebook_table(result)
    write(Path(path), render(result))
    return Path(path)
