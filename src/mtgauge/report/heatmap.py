"""An explanation's matrix as a picture: the ground distances, with the flow drawn on them.

    draw(metric.explain(segment), "distances.svg")          # or .png, .pdf: by the file's ending

Rows are the left units, columns the right ones, dark is near; a circle says where mass went, its
area how much. Needs the extra `plot` (matplotlib).
"""

from __future__ import annotations

from pathlib import Path

from mtgauge.errors import UsageError
from mtgauge.explanation import Explanation
from mtgauge.report import pictures


def draw(explanation: Explanation, file: str | Path) -> None:
    """Write the picture; its format follows from the ending of `file`."""
    if explanation.matrix is None:
        raise UsageError(f"{explanation.metric} has no matrix to draw.")
    rows, columns = explanation.matrix.shape
    figure = pictures.figure(2.5 + 0.35 * columns, 1.5 + 0.35 * rows)
    axes = figure.subplots()
    image = axes.imshow(explanation.matrix, cmap="Blues_r")
    axes.set_xticks(range(columns), explanation.right, rotation=90)
    axes.set_yticks(range(rows), explanation.left)
    axes.set_xlabel(explanation.right_side)
    axes.set_ylabel(explanation.left_side)
    axes.set_title(f"{explanation.metric} {explanation.score:.4f}")
    figure.colorbar(image, label="distance")
    if explanation.links:
        most = max(link.weight for link in explanation.links)
        axes.scatter(
            [link.j for link in explanation.links],
            [link.i for link in explanation.links],
            s=[120 * link.weight / most for link in explanation.links],
            facecolors="none",
            edgecolors="tab:red",
        )
    pictures.save(figure, Path(file))
