"""The compiled library: the same bits for every instruction set, clear errors, a build anywhere."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mtgauge.compare import kernels
from mtgauge.compare.greedy import best_matches
from mtgauge.compare.semantic import TravelSettings, travel
from mtgauge.compare.shifts import all_edits
from mtgauge.compare.transport import cost_matrices, relaxed, transport
from mtgauge.errors import ResourceError, UsageError

BACKEND = Path(__file__).resolve().parents[2] / "backend"
in_checkout = pytest.mark.skipif(
    not (BACKEND.parent / "src" / "mtgauge").is_dir(), reason="the backend builds a checkout"
)


def everything() -> dict[str, Any]:
    """One result of each kernel, on texts of many lengths and vectors of odd sizes."""
    rng = np.random.default_rng(1)
    out: dict[str, Any] = {}
    x_at, y_at = (np.concatenate([[0], np.cumsum(rng.integers(1, 30, 20))]) for _ in range(2))
    for d in (1, 7, 33, 384):
        for kind in (np.float32, np.float64):
            x: Any
            y: Any
            x, y = (rng.normal(size=(at[-1], d)).astype(kind) for at in (x_at, y_at))
            out[f"cost {d} {kind}"] = cost_matrices(x, x_at, y, y_at).flat
            out[f"best {d} {kind}"] = np.concatenate(best_matches(x, x_at, y, y_at))
    costs = cost_matrices(x, x_at, y, y_at)
    weights = [(rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(m))) for n, m in costs.shapes]
    out["uniform"], out["weighted"] = transport(costs).cost, transport(costs, weights).cost
    out["flow"] = np.concatenate([f.ravel() for f in transport(costs, flow=True).flow])
    out["relaxed"] = relaxed(costs)
    words, texts = rng.integers(0, 50, x_at[-1]), np.arange(20)
    table = rng.normal(size=(50, 31)).astype(np.float32)
    out["travel"] = travel(table, words, x_at, texts, texts[::-1].copy(), TravelSettings((1, 2, 3)))
    out["edits"] = all_edits(words % 9, x_at, texts, texts[::-1].copy())
    return out


@pytest.fixture
def fresh() -> Iterator[None]:
    """The library is chosen anew, and again afterwards."""
    kernels._library.cache_clear()
    yield
    kernels._library.cache_clear()


def runnable() -> list[str]:
    level = kernels.load().machine_level()
    return [name for number, name in kernels._LEVELS.items() if number <= level]


@pytest.mark.usefixtures("fresh")
def test_every_instruction_set_gives_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = everything()
    if kernels._plainest() == "any":
        pytest.skip("one library serves this machine")
    names = runnable()
    assert names[0] == "x86-64"
    for name in names:
        monkeypatch.setenv("MTGAUGE_INSTRUCTIONS", name)
        kernels._library.cache_clear()
        found = everything()
        assert f"kernels-{name}." in kernels._library()._name
        for what, values in expected.items():
            np.testing.assert_array_equal(found[what], values, err_msg=f"{what} with {name}")


@pytest.mark.usefixtures("fresh")
def test_instructions_that_are_not_there_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "_open", lambda name: OnlyOld())
    monkeypatch.setattr(kernels, "_plainest", lambda: "x86-64")
    monkeypatch.setenv("MTGAUGE_INSTRUCTIONS", "x86-64-v4")
    with pytest.raises(UsageError, match="x86-64-v4: this machine has x86-64, x86-64-v3"):
        transport([[[1.0]]])


class OnlyOld:
    def machine_level(self) -> int:
        return 3


@pytest.mark.usefixtures("fresh")
def test_a_missing_library_says_how_to_build_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels, "FOLDER", tmp_path)
    kernels._open.cache_clear()
    with pytest.raises(ResourceError, match=r"is missing.*`python backend/native.py`"):
        transport([[[1.0]]])
    (tmp_path / f"kernels-{kernels._plainest()}{kernels.SUFFIX}").write_bytes(b"damaged")
    with pytest.raises(ResourceError, match="cannot be loaded"):
        transport([[[1.0]]])
    kernels._open.cache_clear()


@pytest.mark.usefixtures("fresh")
def test_a_library_of_other_sources_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in kernels.FOLDER.glob("*.*"):
        shutil.copy(path, tmp_path)
    (tmp_path / "transport.c").write_text("int changed;\n")
    monkeypatch.setattr(kernels, "FOLDER", tmp_path)
    kernels._open.cache_clear()
    kernels.sources_digest.cache_clear()
    with pytest.raises(ResourceError, match="compiled from other sources"):
        transport([[[1.0]]])
    kernels._open.cache_clear()
    kernels.sources_digest.cache_clear()


def test_arrays_that_a_kernel_would_misread_are_refused() -> None:
    words, out = np.arange(6), np.empty(1, dtype=np.int64)
    one = np.zeros(1, dtype=np.int64)
    with pytest.raises(TypeError, match="int32"):
        kernels.call("all_edits", words.astype(np.int32), words, one, one, 0, 1, out)
    with pytest.raises(TypeError, match="strides"):
        kernels.call("all_edits", words[::2], words, one, one, 0, 1, out)
    with pytest.raises(ValueError):
        kernels.call("all_edits", words)


def test_too_little_memory_is_an_error_not_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def all_edits(self, *arguments: object) -> int:
            return 1

    monkeypatch.setattr(kernels, "_library", lambda short_rows: Full())
    with pytest.raises(MemoryError):
        all_edits(np.arange(4), np.array([0, 2, 4]), np.array([0]), np.array([1]))


@pytest.fixture
def native(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(BACKEND))
    monkeypatch.delenv("CC", raising=False)
    import native

    return native


@in_checkout
def test_build_and_package_digest_the_same_sources(native) -> None:
    assert native.digest_of(native.SOURCES) == kernels.sources_digest()
    assert native.SUFFIX == kernels.SUFFIX


@in_checkout
def test_without_a_compiler_the_build_asks_for_one(
    native, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(native, "find_spec", lambda name: None)
    assert native.requirements() == [native.ZIG]
    with pytest.raises(native.NoCompilerError, match=r"no C compiler found.*pip install 'ziglang"):
        native.compiler()
    monkeypatch.setattr(native, "find_spec", lambda name: object())
    command = native.compiler()
    assert command[:4] == [sys.executable, "-m", "ziglang", "cc"]
    assert "-target" in command, "without one Zig compiles for this processor alone"


@in_checkout
@pytest.mark.skipif(sys.platform == "win32", reason="shell scripts stand in for compilers")
def test_a_compiler_that_fails_does_not_count(
    native, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As a Mac's placeholder does, or gcc without the C library's headers."""
    for name, code in (("cc", 1), ("gcc", 0)):
        script = tmp_path / name
        script.write_text(f"#!/bin/sh\nexit {code}\n")
        script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert native.system_compiler() == ["gcc"]
    assert native.requirements() == []
    monkeypatch.setenv("CC", "cc --some-flag")
    assert native.system_compiler() is None


@in_checkout
def test_the_backend_adds_the_compiler_to_what_a_wheel_needs(tmp_path: Path) -> None:
    code = (
        "import mtgauge_backend as b, native\n"
        "native.requirements = lambda: ['ziglang>=0']\n"
        "for f in (b.get_requires_for_build_wheel, b.get_requires_for_build_editable):\n"
        "    assert 'ziglang>=0' in f(), f\n"
        "assert 'ziglang>=0' not in b.get_requires_for_build_sdist()\n"
    )
    shutil.copytree(BACKEND, tmp_path / "backend")
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(BACKEND.parent / name, tmp_path)
    (tmp_path / "src" / "mtgauge").mkdir(parents=True)
    version = "src/mtgauge/_version.py"
    shutil.copy(BACKEND.parent / version, tmp_path / version)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "backend")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@in_checkout
def test_the_library_is_built_from_source(native, tmp_path: Path) -> None:
    if native.system_compiler() is None:
        pytest.skip("no C compiler here")
    name = next(iter(native.instruction_sets()))
    path = native._compile(native.system_compiler(), name, tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    made = ctypes.CDLL(str(path))
    assert made.machine_level() >= 1
