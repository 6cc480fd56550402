"""Text for the second generation (recipes/select_text.py): free, and no origin drowns another."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recipe_files import RECIPES, recipe

pytest.importorskip("torch")


def test_no_origin_drowns_the_others() -> None:
    taken = recipe("select_text").quotas(
        {"europarl": 100_000, "tatoeba": 10_000, "ud-pud": 100}, 20_000
    )
    assert taken["ud-pud"] == 100
    assert sum(taken.values()) == pytest.approx(20_000, abs=3)
    assert taken["europarl"] < 3 * taken["tatoeba"]


def test_only_free_text_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("parallel", "mlqe"):
        (tmp_path / name).mkdir()
    lines = [f"ein satz {i}\ta sentence {i}\ttatoeba\n" for i in range(50)]
    text = "".join([*lines, "nicht frei\tnot free at all\tcalibre\n"])
    (tmp_path / "parallel" / "de-en.tsv").write_text(text, encoding="utf-8")
    (tmp_path / "mlqe" / "de-en.tsv").write_text("gut\tgood\tmlqe\n", encoding="utf-8")
    folders = [str(tmp_path / name) for name in ("parallel", "mlqe")]
    out = tmp_path / "clean"
    monkeypatch.setattr("sys.argv", ["x", "--parallel", *folders, "--out", str(out)])
    recipe("select_text").main()
    chosen = (out / "de-en.tsv").read_text("utf-8").splitlines()
    assert len(chosen) == 51
    assert {line.split("\t")[2] for line in chosen} == {"tatoeba", "mlqe"}
    assert json.loads((out / "taken.json").read_text("utf-8"))["de"] == {"tatoeba": 50, "mlqe": 1}


def test_languages_that_get_more_text_are_drawn_more_often() -> None:
    shares = json.loads((RECIPES / "shares-second.json").read_text("utf-8"))
    assert set(shares) == {"languages", "origins"}
    assert set(recipe("select_text").PAIRS) - set(shares["languages"]) == {"fr", "es"}
    assert all(weight > 0 for part in shares.values() for weight in part.values())
