"""The picture of an explanation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mtgauge.errors import UsageError
from mtgauge.explanation import Explanation, Link
from mtgauge.report.heatmap import draw

SHOWN = Explanation(
    "std", 0.1, ("cat",), ("dog", "cat"), links=(Link(0, 1, 0.5, 0.2),), matrix=np.eye(2)[:1]
)


@pytest.mark.parametrize(("ending", "start"), [("svg", b"<?xml"), ("png", b"\x89PNG")])
def test_formats_by_ending(tmp_path: Path, ending: str, start: bytes) -> None:
    pytest.importorskip("matplotlib")
    draw(SHOWN, tmp_path / f"a.{ending}")
    assert (tmp_path / f"a.{ending}").read_bytes().startswith(start)


def test_what_cannot_be_drawn_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no matrix"):
        draw(Explanation("bleu", 1.0), tmp_path / "a.svg")
    pytest.importorskip("matplotlib")
    with pytest.raises(UsageError, match="not supported"):
        draw(SHOWN, tmp_path / "a.nonsense")
