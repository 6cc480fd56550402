"""Inputs that can be read once only: standard input and FIFOs."""

from __future__ import annotations

import io
import os
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from mtgauge.cli import main
from mtgauge.data import judged_files
from mtgauge.data.corpus import Corpus
from mtgauge.data.spool import Spool, read_once
from mtgauge.errors import InputError, ResourceError, UsageError


class Stdin:
    def __init__(self, content: bytes) -> None:
        self.buffer = io.BytesIO(content)

    def isatty(self) -> bool:
        return False


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def give(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", Stdin(content))


def feed(path: Path, content: bytes) -> threading.Thread:
    os.mkfifo(path)
    thread = threading.Thread(target=lambda: path.write_bytes(content))
    thread.start()
    return thread


def test_standard_input_is_read_twice_and_forgotten(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    give(monkeypatch, b"one\ntwo\n")
    with Corpus.from_arguments(["-"], None, []) as corpus:
        column = corpus.systems["stdin"]
        assert list(column) == ["one", "two"] == list(column)
        assert any(scratch.iterdir())
    assert not any(scratch.iterdir())


@pytest.mark.parametrize("fault", [InputError("x"), KeyboardInterrupt(), SystemExit(1)])
def test_copies_are_removed_whatever_happens(
    scratch: Path, monkeypatch: pytest.MonkeyPatch, fault: BaseException
) -> None:
    give(monkeypatch, b"one\n")
    with pytest.raises(type(fault)), Corpus.from_arguments(["-"], None, []):
        raise fault
    assert not any(scratch.iterdir())


def test_a_fault_in_another_file_removes_the_copy(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    give(monkeypatch, b"one\n")
    with pytest.raises(InputError, match="no such file"):
        Corpus.from_arguments(["-"], None, ["nowhere.txt"])
    assert not any(scratch.iterdir())


def test_commands_leave_nothing(
    scratch: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "h.txt").write_text("A cat sat here.\nIt rains.\n")
    (tmp_path / "s.txt").write_text("Eine Katze.\nEs regnet.\n")
    hyp, src = str(tmp_path / "h.txt"), str(tmp_path / "s.txt")
    for arguments, code in (
        (["score", "-t", hyp, "-r", "-", "-m", "nist", "--quiet"], 0),
        (["explain", "-t", hyp, "-r", "-", "-m", "nist", "--segment", "1"], 0),
        (["explain", "-t", hyp, "-r", "-", "-m", "nist", "--segment", "9"], 3),
        (["probe", "reorder", "-s", src, "-r", "-", "-m", "chrf", "--no-cache"], 2),
    ):
        give(monkeypatch, b"The cat sat here.\nIt is raining.\n")
        assert main(arguments) == code, arguments
        assert not any(scratch.iterdir()), arguments


def test_a_fifo_is_read_twice(scratch: Path, tmp_path: Path) -> None:
    plain = feed(tmp_path / "a.txt", b"one\ntwo\n")
    table = feed(tmp_path / "t.tsv", b"source\treference\tb\nx\ty\tz\nx2\ty2\tz2\n")
    with Corpus.from_arguments([str(tmp_path / "a.txt")], None, []) as corpus:
        assert list(corpus.systems["a"]) == ["one", "two"] == list(corpus.systems["a"])
    with Corpus.from_arguments([str(tmp_path / "t.tsv")], None, []) as corpus:
        (chunk,) = corpus.chunks(5)
    assert chunk.systems == {"b": ["z", "z2"]}
    assert (chunk.sources, chunk.references) == (["x", "x2"], [("y",), ("y2",)])
    for thread in (plain, table):
        thread.join()
    assert not any(scratch.iterdir())


def test_judgements_from_a_fifo(scratch: Path, tmp_path: Path) -> None:
    thread = feed(tmp_path / "judged", b"lp\thypothesis\thuman\nde-en\ta\t1\nde-en\tb\t2\n")
    (found,) = judged_files.read(tmp_path / "judged")
    thread.join()
    assert (found.data, list(found.human)) == ("judged", [1.0, 2.0])
    assert not any(scratch.iterdir())


def test_plain_files_are_not_copied(scratch: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x\n")
    with Spool() as spool:
        assert spool.reusable(tmp_path / "a.txt") == tmp_path / "a.txt"
        assert spool.reusable(tmp_path) == tmp_path
        assert not any(scratch.iterdir())
    assert not read_once(Path("x" * 400))


def test_no_standard_input_and_no_room(
    scratch: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InputError, match="standard input is closed"):
        Corpus.from_arguments(["-"], None, [])
    give(monkeypatch, b"x\n")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(ResourceError, match="cannot be copied"):
        Corpus.from_arguments(["-"], None, [])
    with pytest.raises(UsageError, match="one file only"):
        Corpus.from_arguments(["-"], "-", [])


def test_a_device_without_an_end_is_refused(scratch: Path) -> None:
    with pytest.raises(InputError, match="a device, not a file"):
        Corpus.from_arguments(["/dev/zero"], None, [])
    assert not any(scratch.iterdir())
