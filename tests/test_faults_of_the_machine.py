"""Faults that no reader foresees: a full disk, no memory, damage, signals, closed streams."""

from __future__ import annotations

import errno
import lzma
import os
import signal
import sqlite3
import subprocess
import sys
import time
import zlib
from pathlib import Path

import pytest

from mtgauge import cli
from mtgauge.errors import InputError, MtgaugeError, ResourceError, as_error


@pytest.mark.parametrize(
    ("fault", "kind", "said"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "out.json"), InputError, "Make room"),
        (PermissionError(errno.EACCES, "Permission denied", "a.txt"), InputError, "a.txt: perm"),
        (OSError(errno.ENAMETOOLONG, "File name too long"), InputError, "file name too long"),
        (MemoryError(), ResourceError, "not enough memory"),
        (RecursionError(), InputError, "nested too deep"),
        (zlib.error("invalid distance"), InputError, "damaged data"),
        (lzma.LZMAError("Corrupt input data"), InputError, "damaged data"),
        (sqlite3.DatabaseError("file is not a database"), InputError, "damaged data"),
        (sqlite3.OperationalError("disk is full"), InputError, "no room left"),
    ],
)
def test_a_fault_becomes_a_sentence(fault: Exception, kind: type, said: str) -> None:
    error = as_error(fault)
    assert isinstance(error, kind)
    assert said in str(error)
    assert isinstance(error, MtgaugeError)
    assert error.exit_code in (3, 4)


def test_a_fault_of_ours_stays_one() -> None:
    assert as_error(KeyError("x")) is None
    assert as_error(AssertionError()) is None


def test_the_command_line_uses_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: list[str]) -> int:
        raise MemoryError

    monkeypatch.setattr(cli, "_run", fail)
    assert cli.main(["demo"]) == 4
    assert "not enough memory" in capsys.readouterr().err


def start(*arguments: str, **options: object) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "mtgauge", *arguments]
    return subprocess.Popen(command, stderr=subprocess.PIPE, **options)  # type: ignore[call-overload,no-any-return]


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_sigterm_removes_the_copy_of_standard_input(tmp_path: Path) -> None:
    (tmp_path / "ref.txt").write_text("a\n")
    (tmp_path / "t").mkdir()
    run = start(
        *("score", "-t", "-", "-r", str(tmp_path / "ref.txt"), "-m", "chrf"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"TMPDIR": str(tmp_path / "t")},
    )
    assert run.stdin is not None
    run.stdin.write(b"a\n" * 1000)
    run.stdin.flush()
    deadline = time.monotonic() + 60
    while not list((tmp_path / "t").iterdir()) and time.monotonic() < deadline:
        time.sleep(0.05)
    run.send_signal(signal.SIGTERM)
    _, err = run.communicate(timeout=60)
    assert run.returncode == 130
    assert b"interrupted" in err
    assert list((tmp_path / "t").iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("module", ["mtgauge.cli", "mtgauge.errors", "mtgauge.commands.score"])
def test_an_interrupt_while_modules_are_imported(module: str) -> None:
    code = f"""
import os, signal, sys
class Interrupt:
    def find_spec(self, name, path, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
signal.signal(signal.SIGINT, signal.default_int_handler)  # nohup ignores it
sys.meta_path.insert(0, Interrupt())
from mtgauge.entry import main
sys.exit(main())
"""
    command = [sys.executable, "-c", code, "score"]
    run = subprocess.run(command, capture_output=True, timeout=60, check=False)
    assert (run.returncode, run.stderr) == (130, b"mtgauge: interrupted.\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_behind_standard_output() -> None:
    with open("/dev/full", "wb") as full:
        run = start("metrics", stdout=full)
        _, err = run.communicate(timeout=60)
    assert run.returncode == 3
    assert b"Traceback" not in err
    assert b"no space left" in err
