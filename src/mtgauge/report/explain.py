"""An explanation in the terminal: the sentences, the score and what it means, what cost most.

    sys.stdout.write(render(explanation))                  80 columns
    render(explanation, matrix=True, top=20)               with the heat map, and a longer list

The list has so many findings of every kind, the costliest first, in colours from green to red where
the output is a terminal. The heat map has dark blocks where two words are near.
"""

from __future__ import annotations

import textwrap

import numpy as np

from mtgauge.explanation import Explanation, Finding
from mtgauge.report.writers import display_width, fixed, fold, pad, shorten, visible

_SHADES = " ░▒▓█"
_COLOURS = (32, 33, 31)  # green, yellow, red
_NAMES = {"hypothesis": "translation"}
_INDENT = "  "
_ADDITIVE = ("cost", "edits", "errors", "characters", "-log p")  # costs that sum to a whole


def render(
    explanation: Explanation,
    *,
    colour: bool = False,
    width: int = 80,
    matrix: bool = False,
    top: int = 10,
) -> str:
    """The explanation as plain text; `top` findings, shared out among their kinds."""
    blocks = [_sentences(explanation, width), _score(explanation, width)]
    blocks.append(_findings(explanation, width, top, colour))
    blocks += [_folded(text, width) for text in explanation.remarks]
    if matrix and explanation.matrix is not None and explanation.matrix.size:
        blocks.append(_heat_map(explanation, width))
    for part in explanation.parts:
        inside = render(part, colour=colour, width=width - len(_INDENT), matrix=matrix, top=top)
        blocks.append(textwrap.indent(inside.rstrip("\n"), _INDENT))
    return "\n\n".join(block for block in blocks if block) + "\n"


def _sentences(explanation: Explanation, width: int) -> str:
    """Each text under its name, which stands in a column of its own."""
    shown = {_NAMES.get(side, side): text for side, text in explanation.sentences.items()}
    lead = max(map(len, shown), default=0) + 2
    lines = []
    for name, text in shown.items():
        first, *more = fold(visible(text), width - lead) or [""]
        lines += [name.ljust(lead) + first, *(" " * lead + line for line in more)]
    return "\n".join(lines)


def _score(explanation: Explanation, width: int) -> str:
    meaning = explanation.meaning[:1].upper() + explanation.meaning[1:]
    score = fixed(explanation.score, ".4f", missing="no score")
    return "\n".join([f"{explanation.metric}: {score}", *fold(meaning, width)])


def _folded(text: str, width: int) -> str:
    return "\n".join(fold(visible(text), width))


# what cost most


def _findings(explanation: Explanation, width: int, top: int, colour: bool) -> str:
    if not explanation.findings:
        return "Nothing was found that cost anything." if explanation.unit else ""
    kinds: dict[str, list[Finding]] = {}
    for finding in explanation.findings:
        kinds.setdefault(finding.what, []).append(finding)
    each = max(top // len(kinds), 3 if len(kinds) > 1 else 1)
    kept = {id(finding) for group in kinds.values() for finding in group[:each]}
    shown = [finding for finding in explanation.findings if id(finding) in kept]
    costs = any(finding.cost > 0 for finding in shown)
    lines = ["What cost most" if costs else "What was found"]
    lines += _table(explanation, shown, width, colour)
    hidden = len(explanation.findings) - len(shown)
    if hidden:
        lines.append(f"{_INDENT}and {hidden} more: --top N shows them, --json all")
    return "\n".join(lines)


def _table(explanation: Explanation, shown: list[Finding], width: int, colour: bool) -> list[str]:
    """A heading and one line per finding; columns that would be empty are left out."""
    sides = (explanation.right_side, explanation.left_side)
    right, left = (_NAMES.get(side, side) for side in sides)
    columns = [
        ("", [f.what for f in shown]),
        (right, [_placed(f.text, f.at, f.what) for f in shown]),
        (left, [_placed(f.other, f.other_at, f.what) for f in shown]),
    ]
    columns = [(name, [*map(visible, cells)]) for name, cells in columns if any(cells)]
    numbers = []
    if any(f.cost for f in shown):
        numbers.append((explanation.unit, _costs([f.cost for f in shown])))
    total = sum(f.cost for f in explanation.findings)
    if total > 0 and explanation.unit in _ADDITIVE:
        numbers.append(("share", [f"{f.cost / total:.0%}" for f in shown]))
    room = width - len(_INDENT) - sum(2 + _width(column) for column in numbers)
    texts = _fitted(columns, room)
    rows = zip(*(cells for _, cells in [*texts, *numbers]), strict=True)
    sizes = [_width(column) for column in [*texts, *numbers]]
    heads = [name for name, _ in [*texts, *numbers]]
    dearest = max((finding.cost for finding in shown), default=0.0)
    lines = [_line(heads, sizes, len(texts))]
    for finding, row in zip(shown, rows, strict=True):
        line = _line(row, sizes, len(texts))
        if colour and dearest > 0:
            level = min(2, max(0, int(3 * finding.cost / dearest)))
            line = f"\x1b[{_COLOURS[level]}m{line}\x1b[0m"
        lines.append(line)
    return lines


def _line(cells: list[str] | tuple[str, ...], sizes: list[int], texts: int) -> str:
    pairs = enumerate(zip(cells, sizes, strict=True))
    line = "  ".join(pad(cell, size, right=k >= texts) for k, (cell, size) in pairs)
    return f"{_INDENT}{line}".rstrip()


def _width(column: tuple[str, list[str]]) -> int:
    name, cells = column
    return max(map(display_width, (name, *cells)), default=0)


def _fitted(columns: list[tuple[str, list[str]]], room: int) -> list[tuple[str, list[str]]]:
    """The columns, the widest ones cut until a line fits."""
    sizes = [_width(column) for column in columns]
    while sum(sizes) + 2 * (len(sizes) - 1) > room and max(sizes) > 8:
        sizes[sizes.index(max(sizes))] -= 1
    pairs = zip(columns, sizes, strict=True)
    return [(name, [shorten(cell, size) for cell in cells]) for (name, cells), size in pairs]


def _placed(text: str, at: tuple[int, int] | None, what: str) -> str:
    """Words with their first and last character, where each finding has a kind of its own."""
    return f"{text} ({at[0] + 1}-{at[1]})" if what and at is not None else text


def _costs(costs: list[float]) -> list[str]:
    """Costs with as many digits as their size asks for; a dash where there is none."""
    whole = all(cost == int(cost) for cost in costs)
    form = ".0f" if whole else ".1f" if max(map(abs, costs)) >= 10 else ".3f"
    return [format(cost, form) if cost else "-" for cost in costs]


# the matrix


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
