"""A short run of the fuzzing script, and what it would notice."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzz import fuzz as script
from fuzz.formats import Format
from fuzz.fuzz import FORMATS


def test_damage_ends_in_a_sentence(tmp_path: Path) -> None:
    counts = script.fuzz(tmp_path, range(3 * len(FORMATS)), seed=7)
    assert counts.faults == []
    assert counts.cases == 3 * len(FORMATS)
    assert counts.refused > counts.cases / 3, "damage is seen at all"


def test_faults_would_be_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = next(one for one in FORMATS if one.name == "text")
    guarded = Format("text, as if it were guarded", text.make, guarded=True)

    def lose_a_line(file: Path, chance: object) -> str:
        file.write_text(file.read_text().replace("the", "teh"))
        return "other words"

    monkeypatch.setattr(script, "damage", lose_a_line)
    counts = script.Counts()
    script.Fuzzer(tmp_path, (guarded,)).case(0, 1, counts)
    assert len(counts.accepted) == 1

    def crash(arguments: list[str]) -> tuple[int, str, str]:
        raise KeyError("foreign")

    fuzzer = script.Fuzzer(tmp_path / "b", (guarded,))
    (tmp_path / "b").mkdir()
    fuzzer.sound(guarded)
    monkeypatch.setattr(script, "run", crash)
    fuzzer.case(0, 1, counts)
    assert len(counts.foreign) == 1
