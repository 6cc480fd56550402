"""An explanation in the terminal: who met whom, at what price.

Links are listed by what they contributed (weight x cost), the dearest first; colours run from green
(cheap) to red (dear) when the output is a terminal. A matrix is drawn as blocks of shade, dark
where two units are near.
"""

from __future__ import annotations

import numpy as np

from mtgauge.metric import Explanation
from mtgauge.report.writers import display_width, pad, visible

_SHADES = " ░▒▓█"
_COLOURS = (32, 33, 31)  # green, yellow, red


def render(explanation: Explanation, *, colour: bool = False, width: int = 80) -> str:
    """The explanation as plain text."""
    parts = [f"{explanation.metric}: {explanation.score:.4f}"]
    if explanation.links:
        parts.append(_links(explanation, colour))
    if explanation.matrix is not None and explanation.matrix.size:
        parts.append(_heat_map(explanation, width))
    if explanation.facts:
        lines = (_fact(key, value) for key, value in explanation.facts.items())
        parts.append("\n".join(map(visible, lines)))
    return "\n\n".join(parts) + "\n"


def _links(explanation: Explanation, colour: bool) -> str:
    links = sorted(explanation.links, key=lambda x: -x.weight * x.cost)
    top = max((x.cost for x in links), default=0.0) or 1.0
    left = [visible(explanation.left[x.i]) for x in links]
    right = [visible(explanation.right[x.j]) for x in links]
    wide = [max(map(display_width, column), default=0) for column in (left, right)]
    head = (
        f"{pad(explanation.left_side, max(wide[0], len(explanation.left_side)))}    "
        f"{pad(explanation.right_side, max(wide[1], len(explanation.right_side)))}  "
        "weight    cost   weight x cost"
    )
    lines = [head]
    for link, a, b in zip(links, left, right, strict=True):
        text = (
            f"{pad(a, max(wide[0], len(explanation.left_side)))} -> "
            f"{pad(b, max(wide[1], len(explanation.right_side)))}  "
            f"{link.weight:6.3f}  {link.cost:6.3f}  {link.weight * link.cost:14.4f}"
        )
        if colour:
            shade = _COLOURS[min(2, int(3 * link.cost / top))]
            text = f"\x1b[{shade}m{text}\x1b[0m"
        lines.append(text)
    return "\n".join(lines)


def _heat_map(explanation: Explanation, width: int) -> str:
    """Rows are the left units, columns (numbered) the right ones; dark is near."""
    matrix = np.asarray(explanation.matrix)
    left = [visible(unit) for unit in explanation.left]
    lead = max(map(display_width, left), default=0) + 1
    columns = max(1, (width - lead) // 3)
    low, high = float(matrix.min()), float(matrix.max())
    scale = (high - matrix) / (high - low) if high > low else np.ones_like(matrix)
    lines = []
    for start in range(0, matrix.shape[1], columns):
        shown = range(start, min(start + columns, matrix.shape[1]))
        lines.append(" " * lead + "".join(f"{j + 1:>3}" for j in shown))
        for i, unit in enumerate(left):
            cells = (_SHADES[int(4 * scale[i, j] + 0.5)] * 2 for j in shown)
            lines.append(pad(unit, lead) + "".join(f" {cell}" for cell in cells))
        lines += [f"{j + 1:>3} {visible(explanation.right[j])}" for j in shown]
    lines.append(f"dark is near: {_SHADES[-1] * 2} {low:.2f}, blank {high:.2f}")
    return "\n".join(lines)


def _fact(key: str, value: object) -> str:
    if isinstance(value, list | tuple):
        return f"{key}: {', '.join(map(_item, value)) or 'none'}"
    return f"{key}: {value:.4f}" if isinstance(value, float) else f"{key}: {value}"


def _item(value: object) -> str:
    """An entry of a list; of a record the values that are there."""
    if isinstance(value, dict):
        return " / ".join(str(part) for part in value.values() if part is not None)
    return str(value)
