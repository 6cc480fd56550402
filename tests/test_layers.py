"""The import rule: a folder imports from folders to its left and from the small root modules.

Read from the syntax tree, so imports inside functions and under TYPE_CHECKING count too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "mtgauge"
# Folders joined by + stand beside each other: neither imports the other.
ROAD = "data text encode+knowledge compare metrics stats engine meta+train report serve commands"
RANK = {name: rank for rank, names in enumerate(ROAD.split()) for name in names.split("+")}
ROOT = tuple(
    "metric registry signature explanation errors arguments models options notes _version".split()
)
FACE = ("__init__.py", "__main__.py", "entry.py", "cli.py")  # right of everything
MODULES = [f for f in sorted(SOURCE.rglob("*.py")) if f.parent != SOURCE or f.name not in FACE]


def imported(file: Path) -> Iterator[tuple[int, str]]:
    """(line, module of mtgauge) of every import in a file; "" is the package itself."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            bare = node.module == "mtgauge"
            names = [f"mtgauge.{a.name}" for a in node.names] if bare else [node.module or "."]
            assert not node.level, f"line {node.lineno}: a relative import"
        else:
            continue
        yield from ((node.lineno, n[8:]) for n in names if n.split(".")[0] == "mtgauge")


def may_import(importer: str, module: str) -> bool:
    target = module.split(".")[0]
    # "" is the package itself: its public names, which are looked up when they are used
    if importer in ROOT:
        return target in (*ROOT, "data", "text", "")
    is_left = RANK.get(target, len(RANK)) < RANK[importer]
    return target in (importer, *ROOT, "", "__version__") or is_left


@pytest.mark.parametrize("file", MODULES, ids=lambda file: str(file.relative_to(SOURCE)))
def test_nothing_is_imported_from_the_right(file: Path) -> None:
    importer = file.relative_to(SOURCE).parts[0].removesuffix(".py")
    assert [(n, m) for n, m in imported(file) if not may_import(importer, m)] == []
