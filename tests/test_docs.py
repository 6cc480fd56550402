"""The documentation's examples run: fenced blocks marked `python` and `sh`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mtgauge.engine.demo import example

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A folder with the files that the examples speak of."""
    (chunk,) = example("de-en").chunks(1000)
    assert chunk.sources is not None
    assert chunk.references is not None
    columns = {
        "src.de": chunk.sources,
        "src.txt": chunk.sources,
        "ref.txt": [row[0] for row in chunk.references],
        "a.txt": chunk.systems["literal"],
        "b.txt": chunk.systems["careful"],
        "sys.en": chunk.systems["rough"],
    }
    for name, lines in columns.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_run(page: Path, desk: Path) -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for language, code in BLOCK.findall(page.read_text(encoding="utf-8")):
        command = [sys.executable, "-c", code] if language == "python" else ["bash", "-ec", code]
        done = subprocess.run(
            command,
            cwd=desk,
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | {"PATH": path},
        )
        assert done.returncode == 0, f"{code}\n{done.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
