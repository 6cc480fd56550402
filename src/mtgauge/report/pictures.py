"""Figures and their files (extra `plot`): the one place that knows matplotlib.

made = figure(6, 4)
made.subplots().plot([1, 2, 3])
save(made, Path("curve.png"))              # or .svg, .pdf: by the file's ending
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from mtgauge.data.output import make_folder, write_with
from mtgauge.errors import ResourceError, UsageError


def figure(width: float, height: float) -> Any:
    """An empty figure of so many inches."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ResourceError("Pictures need matplotlib: pip install 'mtgauge[plot]'.") from None
    return Figure(figsize=(width, height), layout="constrained")


def save(made: Any, path: Path) -> Path:
    """Write the figure, as PNG where the file has no ending; its folder need not be there."""
    make_folder(path.parent)
    try:
        write_with(path, partial(made.savefig, format=path.suffix[1:].lower() or "png", dpi=120))
    except ValueError as error:  # no such format
        raise UsageError(f"{path}: {error}") from None
    return path
