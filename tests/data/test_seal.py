"""Digests tell what was changed, and a large file is not read twice for nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mtgauge.data import seal
from mtgauge.data.seal import is_whole, libraries, sealed, sha256_of, unsealed


@pytest.mark.parametrize("place", range(19))
def test_any_bit_that_changed_is_noticed(place: int) -> None:
    stored = bytearray(sealed(b"abc", b"key"))
    assert unsealed(bytes(stored), b"key") == b"abc"
    stored[place] ^= 1
    assert unsealed(bytes(stored), b"key") is None


@pytest.mark.parametrize("stored", [None, 5, "text", b"", b"short"])
def test_what_never_was_sealed(stored: object) -> None:
    assert unsealed(stored, b"key") is None


def test_libraries_that_move_a_score() -> None:
    assert {"numpy", "onnxruntime", "sacrebleu"} <= {x.split()[0] for x in libraries().split(";")}


def test_a_large_file_is_read_again_only_if_it_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MTGAUGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(seal, "_REMEMBERED_FROM", 3)
    read: list[Path] = []

    def counted(path: Path) -> str:
        read.append(path)
        return sha256_of(path)

    file = tmp_path / "large"
    file.write_bytes(b"large")
    digest, times = sha256_of(file), file.stat()
    assert is_whole(file, digest, counted)
    assert is_whole(file, digest, counted)
    assert len(read) == 1
    file.write_bytes(b"LARGE")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert not is_whole(file, digest, counted)
    assert len(read) == 2
