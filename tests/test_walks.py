"""The two walks, from a command to its result: each file is entered once on the way down.

A file is entered again if a call reaches it while it already waits for a call into another file:
command -> run -> command. Generators and closures are no way down: they are handed on, and run
where somebody asks for the next item or for what was promised.
"""

from __future__ import annotations

import inspect
import sys
from importlib import resources
from pathlib import Path
from types import FrameType

import pytest

import mtgauge
from mtgauge import cli

ROOT = str(Path(mtgauge.__file__).parent) + "/"


class Walk:
    """Files in the order in which they were entered, and (file, function) entered again."""

    def __init__(self) -> None:
        self.files: dict[str, None] = {}
        self.again: set[tuple[str, str]] = set()
        self._stack: list[tuple[str, FrameType]] = []

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "return" and self._stack and self._stack[-1][1] is frame:
            self._stack.pop()
        if event != "call" or not code.co_filename.startswith(ROOT):
            return
        file = code.co_filename.removeprefix(ROOT)
        waiting = [name for name, _ in self._stack]
        handed_on = code.co_flags & inspect.CO_GENERATOR or "<" in code.co_qualname
        if not handed_on:
            self.files.setdefault(file)
            if file in waiting and waiting[-1] != file:
                self.again.add((file, code.co_name))
        self._stack.append((file, frame))


def walked(*arguments: str) -> Walk:
    walk = Walk()
    before = sys.getprofile()
    sys.setprofile(walk)
    try:
        assert cli.main(arguments) == 0
    finally:
        sys.setprofile(before)
    return walk


def in_order(walk: Walk, *files: str) -> bool:
    places = [list(walk.files).index(file) for file in files]
    return places == sorted(places)


def test_score(capsys: pytest.CaptureFixture[str]) -> None:
    table = str(resources.files("mtgauge") / "data" / "example" / "de-en.tsv")
    cli.main(["score", "-t", table, "-l", "de-en", "-m", "bleu"])  # imports are no part of the walk
    walk = walked("score", "-t", table, "-l", "de-en", "-m", "bleu")
    assert walk.again == set()
    assert in_order(
        walk, "cli.py", "commands/score.py", "commands/shared.py", "data/corpus.py",
        "engine/local.py", "engine/ready.py", "metrics/bleu.py", "stats/bootstrap.py",
        "report/table.py",
    )  # fmt: skip
    assert "bleu" in capsys.readouterr().out


def test_train_regressor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    from trained_models import write_encoder, write_judged

    encoder = str(write_encoder(tmp_path))
    judged = str(write_judged(tmp_path / "judged.tsv", 60, seed=1))
    usual = (
        f"train regressor --encoder {encoder} --train {judged} --dev-share 0.3 --epochs 1 --quiet "
        "--max-length 32 --views hyp+ref --out"
    ).split()
    cli.main([*usual, str(tmp_path / "first")])
    walk = walked(*usual, str(tmp_path / "second"))
    assert walk.again == set()
    assert in_order(
        walk, "cli.py", "commands/train/__init__.py", "commands/train/metrics.py",
        "train/metrics/regressor.py", "train/judged/files.py", "train/judged/rows.py",
        "train/loop/seeds.py", "train/metrics/regressor_task.py", "train/onnx/folder.py",
        "train/onnx/graph.py",
    )  # fmt: skip
    assert "Use it" in capsys.readouterr().out
