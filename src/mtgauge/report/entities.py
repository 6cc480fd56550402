"""Counts of entities as tables and pictures: Tables 5 to 7, Figures 2 to 4 of the KoBE paper.

render(counts, "markdown")                what each side mentions, and what systems keep by kind
plot(folder, counts, explanation)         per_sentence.png, categories.png, example.png
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mtgauge.engine.entities import Counts
from mtgauge.explanation import Explanation
from mtgauge.report.pictures import figure, save
from mtgauge.report.writers import draw, fixed, visible

_MOST = 10  # entities of a sentence that have a row of their own
_KINDS = 12  # of entity that are drawn
_COLOURS = {"matched": "tab:green", "lost": "tab:red", "invented": "tab:orange"}


def render(counts: Counts, format: str) -> str:
    """Three tables: what is mentioned, entities per sentence, what systems keep of each kind."""
    names = list(counts.sides)
    rows: list[tuple[str, list[str]]] = [
        ("sentences", [f"{s.sentences:,}" for s in counts.sides.values()]),
        ("with entities", [f"{s.with_entities:,}" for s in counts.sides.values()]),
        ("entities", [f"{s.entities:,}" for s in counts.sides.values()]),
        (
            "entities per sentence",
            [fixed(s.entities / max(s.sentences, 1), ".2f") for s in counts.sides.values()],
        ),
        ("distinct entities", [f"{s.distinct:,}" for s in counts.sides.values()]),
        ("in common with the source", [f"{s.common:,}" for s in counts.sides.values()]),
    ]
    tables = [[["", *names], *([label, *cells] for label, cells in rows)]]
    tables.append(_lengths(counts))
    tables.append(_kept(counts))
    return "\n\n".join(draw(table, format) for table in tables) + "\n"


def _lengths(counts: Counts) -> list[list[str]]:
    """Sentences by how many entities they have."""
    grid = [["entities of a sentence", *counts.sides]]
    for n in range(_MOST + 1):
        label = str(n) if n < _MOST else f"{_MOST} or more"
        cells = [
            sum(k for size, k in s.lengths.items() if size == n or (n == _MOST and size > n))
            for s in counts.sides.values()
        ]
        grid.append([label, *(f"{cell:,}" for cell in cells)])
    return grid


def _kept(counts: Counts) -> list[list[str]]:
    """The share of the source's entities that each system keeps, by kind."""
    first = next(iter(counts.kept.values()))
    grid = [["kept, by kind", "of", *counts.kept]]
    for category, (_, every) in first.items():
        shares = [table.get(category, (0, 0)) for table in counts.kept.values()]
        cells = [fixed(kept / n if n else None, ".3f") for kept, n in shares]
        grid.append([category, f"{every:,}", *cells])
    return grid


def plot(folder: Path, counts: Counts, example: Explanation | None = None) -> list[Path]:
    """Figures 4 and 3, and 2 where an example is given; returns the files written."""
    drawn = {"per_sentence.png": _draw_lengths, "categories.png": _draw_kept}
    written = []
    for name, fill in drawn.items():
        made = figure(8, 4)
        fill(made.subplots(), counts)
        written.append(save(made, folder / name))
    if example is not None:
        made = figure(_width(example), 2)
        _draw_example(made.subplots(), example)
        written.append(save(made, folder / "example.png"))
    return written


def _draw_lengths(axes: Any, counts: Counts) -> None:
    """Figure 4: sentences by their number of entities."""
    grid = _lengths(counts)
    for column, name in enumerate(grid[0][1:], start=1):
        values = [int(row[column].replace(",", "")) for row in grid[1:]]
        axes.plot(range(len(values)), values, marker="o", label=_plain(name))
    axes.set_xticks(range(_MOST + 1), [*map(str, range(_MOST)), f"{_MOST}+"])
    axes.set_xlabel("entities of a sentence")
    axes.set_ylabel("sentences")
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1))


def _draw_kept(axes: Any, counts: Counts) -> None:
    """Figure 3: the share of entities that systems keep, by kind."""
    kinds = list(next(iter(counts.kept.values())))[:_KINDS]
    width = 0.8 / max(len(counts.kept), 1)
    for i, (name, table) in enumerate(counts.kept.items()):
        shares = [k / n if n else 0.0 for k, n in (table.get(kind, (0, 0)) for kind in kinds)]
        axes.bar([x + i * width for x in range(len(kinds))], shares, width, label=_plain(name))
    middle = 0.4 - width / 2
    axes.set_xticks([x + middle for x in range(len(kinds))], kinds, rotation=30, ha="right")
    axes.set_ylabel("share kept")
    axes.set_ylim(0, 1)
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1))


def _draw_example(axes: Any, example: Explanation) -> None:
    """Figure 2: source above, translation below, a line between entities that match."""
    top, bottom = (example.sentences[side] for side in (example.left_side, "hypothesis"))
    axes.set_axis_off()
    axes.set_xlim(-1, max(len(top), len(bottom)) + 1)
    axes.set_ylim(-0.6, 1.6)
    for text, y in ((top, 1), (bottom, 0)):
        for x, char in enumerate(text):
            axes.text(x, y, _plain(char), family="monospace", size=10, ha="center", va="center")
    for kind, colour in _COLOURS.items():
        for entity in example.facts[kind]:
            ends = []
            for side, y in (("source_at", 1), ("target_at", 0)):
                if side in entity:
                    begin, end = entity[side]
                    line = y + 0.18 if y else y - 0.18
                    axes.plot([begin - 0.5, end - 0.5], [line, line], color=colour, lw=2)
                    ends.append(((begin + end - 1) / 2, y - 0.15 if y else y + 0.15))
            if len(ends) == 2:
                axes.plot(*zip(*ends, strict=True), color=colour, lw=1)


def _width(example: Explanation) -> float:
    return max(4.0, 0.11 * max(len(text) for text in example.sentences.values()))


def _plain(text: str) -> str:
    """Text as matplotlib shows it: a dollar sign would begin a formula."""
    return "".join(char if visible(char) == char else "·" for char in text).replace("$", "\\$")
