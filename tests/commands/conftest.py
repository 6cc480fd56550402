"""Commands are called as a user calls them, in this process, in a folder with example files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pages
import pytest

from mtgauge.cli import main


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


@pytest.fixture
def run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Outcome]:
    """`run("score -t a.txt -r ref.txt")`: exit code and what was printed."""
    pages.lay_out(tmp_path)
    monkeypatch.chdir(tmp_path)

    def call(line: str, *more: str) -> Outcome:
        capsys.readouterr()
        try:
            code = main([*line.split(), *more])
        except SystemExit as left:  # argparse
            code = int(left.code or 0)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call


@pytest.fixture
def judged(tmp_path: Path) -> str:
    """A file of judged segments: two pairs of languages, two systems, worse with every segment."""
    head = "lp system sid source reference hypothesis human raw".split()
    words = "the old dog saw a small red house near the river today".split()
    rows = [head]
    for lp in ("de-en", "ru-en"):
        for sid in range(1, 13):
            for system, lost in (("a", sid // 3), ("b", sid // 2 + 1)):
                text = " ".join(words[lost:] + ["nonsense"] * lost)
                human = -lost / 3 + (0.1 if sid % 2 else 0.0)
                rows.append([lp, system, str(sid), f"Satz {sid}", " ".join(words), text,
                             f"{human:.3f}", f"{80 + 40 * human:.1f}"])  # fmt: skip
    path = tmp_path / "judged.tsv"
    path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)
