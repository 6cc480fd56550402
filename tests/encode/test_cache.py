"""The disk cache: what is put comes back, whatever happens to other processes."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mtgauge.encode import EncoderSettings
from mtgauge.encode.cache import DiskCache
from mtgauge.encode.tokens.embedded import OnnxEncoder
from mtgauge.errors import ResourceError
from tiny_models import encoder_folders


def rows(n: int, value: float = 1.0) -> np.ndarray:
    return np.full((n, 4), value, np.float32)


def test_what_is_put_comes_back(tmp_path: Path) -> None:
    cache = DiskCache(str(tmp_path), "model", 1)
    cache.put([(("2", "cat"), rows(3)), (("2", "katze ß\ud800"), rows(0))])
    found = cache.get([("2", "cat"), ("2", "katze ß\ud800"), ("3", "cat"), ("2", "dog")])
    assert sorted(name[1] for name in found) == ["cat", "katze ß\ud800"]
    np.testing.assert_array_equal(found["2", "cat"], rows(3))
    assert not DiskCache(str(tmp_path), "other model", 1).get([("2", "cat")])
    assert DiskCache(str(tmp_path), "model", 1).get([("2", "cat")])


def test_the_size_is_limited_and_the_oldest_go(tmp_path: Path) -> None:
    cache = DiskCache(str(tmp_path), "model", 10 * 16 / 2**30)  # ten rows
    for i in range(4):
        cache.put([(("0", str(i)), rows(2))])
    cache.get([("0", "0")])  # used again: no longer the oldest
    for i in range(4, 7):
        cache.put([(("0", str(i)), rows(2))])
    assert cache.size() <= 10 * 16
    kept = {name[1] for name in cache.get([("0", str(i)) for i in range(7)])}
    assert "1" not in kept
    assert {"0", "6"} <= kept


def test_an_encoder_reads_what_another_process_wrote(tmp_path: Path) -> None:
    settings = EncoderSettings(cache=str(tmp_path))
    texts = ["the cat sat", "die katze", ""]
    first = OnnxEncoder(encoder_folders()[0], settings).encode(texts)

    class Frozen(OnnxEncoder):
        def forward(self, *args: object, **kwargs: object) -> list[np.ndarray]:
            raise AssertionError("the model was run")

    again = Frozen(encoder_folders()[0], settings).encode(texts)
    np.testing.assert_array_equal(first.vectors, again.vectors)
    with pytest.raises(AssertionError, match="model was run"):
        Frozen(encoder_folders()[0], settings).encode(texts, layer=1)


WRITER = """
import sys
import numpy as np
from mtgauge.encode.cache import DiskCache
cache = DiskCache(sys.argv[1], "model", 1)
for i in range(200):
    cache.put([(("0", f"{sys.argv[2]} {i}"), np.full((2, 4), i, np.float32))])
    print(i, flush=True)
    if sys.argv[2] == "killed" and i == 50:
        import os, signal
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_two_writers_and_a_killed_one(tmp_path: Path) -> None:
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path), name], stdout=subprocess.PIPE
        )
        for name in ("a", "b", "killed")
    ]
    for writer in writers:
        writer.communicate()
    cache = DiskCache(str(tmp_path), "model", 1)
    for name, most in (("a", 200), ("b", 200), ("killed", 51)):
        found = cache.get([("0", f"{name} {i}") for i in range(200)])
        assert len(found) == most
        assert all(block[0, 0] == int(key[1].split()[1]) for key, block in found.items())


def test_a_locked_file_does_not_stop_the_run(tmp_path: Path) -> None:
    cache = DiskCache(str(tmp_path), "model", 1, patience=0.05)
    other = sqlite3.connect(cache.path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    cache.put([(("0", "cat"), rows(1))])
    assert cache.get([("0", "cat")]) == {}
    other.execute("ROLLBACK")


@pytest.mark.parametrize(
    "damage", ["data = zeroblob(64)", "data = substr(data, 1, 20)", "width = 0", "data = 'text'"]
)
def test_damaged_vectors_are_not_believed(tmp_path: Path, damage: str) -> None:
    cache = DiskCache(str(tmp_path), "model", 1)
    cache.put([(("2", "cat"), rows(3))])
    with sqlite3.connect(cache.path) as store:
        store.execute(f"UPDATE vectors SET {damage}")
    store.close()
    assert cache.get([("2", "cat")]) == {}
    cache.put([(("2", "cat"), rows(3))])
    np.testing.assert_array_equal(cache.get([("2", "cat")])["2", "cat"], rows(3))


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "vectors.sqlite").write_bytes(b"nonsense" * 1000)
    with pytest.raises(ResourceError, match=r"vectors\.sqlite cannot be used"):
        DiskCache(str(tmp_path), "model", 1)
