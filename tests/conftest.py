"""What all tests share: the data pack beside the repository, where there is one."""

from __future__ import annotations

from pathlib import Path

import pytest

_SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The data pack; tests that use it are marked `shared` and skip where it is absent."""
    if not (_SHARED / "DATA.md").is_file():
        pytest.skip("the data pack ../shared is not here")
    return _SHARED
