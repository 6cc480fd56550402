"""Files are written whole or not at all, and never where they should not go."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from mtgauge.data.output import file_name, make_folder, write, write_with
from mtgauge.errors import InputError


def test_a_failure_keeps_what_stood_there(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    write(target, "old")

    def fail(stream: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_with(target, fail)
    assert target.read_text() == "old"
    write(target, "new é")
    assert target.read_text(encoding="utf-8") == "new é"
    assert [p.name for p in tmp_path.iterdir()] == ["out.json"]


def test_rights_are_kept_and_respected(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    write(target, b"1")
    target.chmod(0o640)
    write(target, b"2")
    assert target.stat().st_mode & 0o777 == 0o640
    if os.geteuid():  # root may write anywhere
        target.chmod(0o440)
        with pytest.raises(InputError, match="cannot be written"):
            write(target, b"3")


def test_a_link_is_written_through(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "dangling").symlink_to(tmp_path / "new")
    write(tmp_path / "link", "x")
    write(tmp_path / "dangling", "y")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "x"
    assert (tmp_path / "new").read_text() == "y"


def test_a_fifo_and_a_device_are_written_through(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    thread = threading.Thread(target=lambda: read.append(pipe.read_text()))
    thread.start()
    write(pipe, "through")
    thread.join()
    assert read == ["through"]
    assert pipe.is_fifo()
    write(Path(os.devnull), "gone")
    assert not Path(os.devnull).is_file()


@pytest.mark.parametrize("place", ["", "none/out.json", "x" * 300])
def test_places_that_cannot_be_written(tmp_path: Path, place: str) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        write(tmp_path / place, "x")


def test_folders(tmp_path: Path) -> None:
    make_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()
    write(tmp_path / "file", "x")
    with pytest.raises(InputError, match="cannot be made"):
        make_folder(tmp_path / "file" / "b")


NAMES = [
    "../../../x",
    "..",
    ".",
    "",
    "a/b",
    "a\\b",
    "/etc",
    "a b",
    "a\0b",
    "a\nb",
    "\ud800",
    "%2F",
    "C:",
]


def test_names_stay_in_their_folder_and_apart() -> None:
    made = [file_name(name) for name in NAMES]
    assert len(set(made)) == len(NAMES)
    for name in made:
        assert len(Path("folder", name).parts) == 2
        assert not set("/\\\0\n \t:") & set(name)
        assert name not in ("", ".", "..")
    assert file_name("online-B.0+x=é") == "online-B.0+x=é"
