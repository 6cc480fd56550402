"""Every note that is counted has a sentence."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mtgauge.metrics import std
from mtgauge.notes import NOTES, sentence

SOURCE = Path(__file__).parents[1] / "src" / "mtgauge"


def test_every_counted_note_is_in_the_table() -> None:
    folders = ("metrics", "engine")
    files = [file for name in folders for file in (SOURCE / name).glob("*.py")]
    counted = re.compile(r"\.notes\[\"(\w[\w ]*)\"\]|notes\.setdefault\(\"(\w+)\"")
    found = {a or b for file in files for a, b in counted.findall(file.read_text("utf-8"))}
    assert {"truncated", "oov", "no_entities"} <= found
    assert found | {std.AS_WORST, std.BY_SPELLING} <= set(NOTES)


@pytest.mark.parametrize("note", NOTES)
def test_notes_are_sentences_for_one_and_many(note: str) -> None:
    one, many = sentence(note, 1), sentence(note, 1234)
    assert one.startswith("1 ")
    assert many.startswith("1,234 ")
    assert one.endswith(".")
    assert many.endswith(".")
    assert one.removeprefix("1 ") != many.removeprefix("1,234 ")


def test_what_is_not_in_the_table_is_said_by_its_name() -> None:
    assert sentence("odd things", 2) == "odd things: 2."
    assert sentence("undefined in new", 1) == "1 segment of new has no score."
