"""Work in progress leaves nothing behind, and nobody takes another's away."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from mtgauge.data import scratch
from mtgauge.data.output import write
from mtgauge.data.scratch import Scratch, draft_name


@pytest.fixture(autouse=True)
def nothing_swept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch, "_swept", set())


def gone() -> int:
    """The number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_a_folder_goes_with_its_block(tmp_path: Path) -> None:
    def work() -> None:
        with Scratch(beside=tmp_path / "x") as folder:
            (Path(folder) / "copy").write_text("x")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert not any(tmp_path.iterdir())


def test_what_a_killed_process_left_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left = tmp_path / f".mtgauge-{gone()}-abc"
    left.mkdir()
    (left / "copy").write_text("x")
    (tmp_path / f".mtgauge-{gone()}-draft").write_text("x")
    (tmp_path / ".mtgauge-notes").write_text("not ours")
    with Scratch():
        pass
    assert [path.name for path in tmp_path.iterdir()] == [".mtgauge-notes"]


def test_drafts_of_output_are_removed_too(tmp_path: Path) -> None:
    (tmp_path / f".mtgauge-{gone()}-00ff00ff").write_text("half")
    write(tmp_path / "out.json", "whole")
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]


def test_what_is_in_use_stays(tmp_path: Path) -> None:
    ours = tmp_path / draft_name()
    ours.write_text("in progress")
    # as seen from another machine, where the process is not known: the lock tells
    held = tmp_path / f".mtgauge-{gone()}-held"
    with held.open("wb") as stream:
        scratch.hold(stream.fileno())
        scratch.sweep(tmp_path)
        assert ours.exists()
        assert held.exists()
    scratch._swept.clear()
    scratch.sweep(tmp_path)
    assert not held.exists()


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("x")
    work = tmp_path / "work"
    work.mkdir()
    os.symlink(precious, work / f".mtgauge-{gone()}-x")
    scratch.sweep(work)
    assert (precious / "file").exists()
