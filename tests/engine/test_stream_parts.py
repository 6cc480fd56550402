"""Duplicates and the top share: exact, whatever the order and the limits of memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtgauge.data.seal import text_digest
from mtgauge.engine.stream import duplicates, top
from mtgauge.engine.stream.rules import RULES, Pairs, check_rules
from mtgauge.engine.stream.top import Top
from mtgauge.errors import UsageError
from mtgauge.text.script import script


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 30), max_size=200), st.integers(1, 50))
def test_duplicates_are_all_but_the_first(tmp_path_factory, values, most):
    folder = tmp_path_factory.mktemp("duplicates")
    keys = ((place, text_digest([str(value)])) for place, value in enumerate(values))
    duplicates.find(keys, folder / "work", folder / "marks", most=most)
    bits = duplicates.Bits(folder / "marks")
    seen: set[int] = set()
    for place, value in enumerate(values):
        assert bits[place] == (value in seen)
        seen.add(value)
    assert sorted(path.name for path in folder.iterdir()) == ["marks"]
    assert not bits[len(values) + 100]


def test_a_large_part_is_split(tmp_path):
    keys = [(place, text_digest([str(place % 700)])) for place in range(2000)]
    for name, most in (("a", 10**6), ("b", 3)):
        duplicates.find(iter(keys), tmp_path / "work", tmp_path / name, most=most)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_texts_cannot_be_shifted_from_one_side_to_the_other():
    assert text_digest(["ab", "c"]) != text_digest(["a", "bc"])


KEYS = st.lists(
    st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([0.0, -0.0, 1.0])),
    min_size=1,
    max_size=5,
)


@settings(max_examples=80, deadline=None)
@given(KEYS, st.integers(1, 40))
def test_the_top_is_what_sorting_gives(tmp_path_factory, shards, number):
    folder = tmp_path_factory.mktemp("top")
    files = []
    for i, keys in enumerate(shards):
        files.append(folder / str(i))
        np.array(keys, "<f8").tofile(files[-1])
    cut = top.best(files, Top(number=number))
    found = np.concatenate([cut.mask(np.array(keys, "<f8")) for keys in shards])
    flat = np.array([key for keys in shards for key in keys])
    wanted = np.zeros(len(flat), dtype=bool)
    wanted[np.argsort(-flat, kind="stable")[:number]] = True
    assert (found == wanted).all()


@pytest.mark.parametrize("text", ["", "0", "0%", "101%", "-3", "ten", "1.5", "nan%"])
def test_a_top_that_means_nothing(text):
    with pytest.raises(UsageError, match="neither a share"):
        Top.parse(text)


def test_a_share_is_rounded_down():
    assert [Top.parse("10%").of(n) for n in (9, 10, 19, 30)] == [0, 1, 1, 3]
    assert Top.parse("5").of(3) == 3


def test_rules():
    pairs = Pairs(
        ["Das ist ein kleines Haus.", "Guten  Tag", "", "Привет, мир"],
        ["This is a small house.", "guten tag", "x", "東京"],
        "de-en",
    )
    found = {name: list(rule.values(pairs)) for name, rule in RULES.items()}
    assert found["source_lang"][0] == "de"
    assert found["target_lang"][0] == "en"
    assert found["source_lang"][2] == ""
    assert found["source_script"] == ["Latn", "Latn", "", "Cyrl"]
    assert found["target_script"][3] == "Hani"
    assert found["copy"] == [False, True, False, False]
    assert found["length_ratio"][0] == 25 / 22
    assert found["length_ratio"][2] is None
    assert found["source_words"] == [5, 2, 0, 2]
    assert found["target_length"] == [22, 9, 1, 2]
    assert found["target_foreign"][0] is False
    assert found["untranslated"][0] == 0
    for name, values in found.items():
        assert len(values) == 4, name


def test_rules_that_there_are_not():
    with pytest.raises(UsageError, match="no column 'lenght' to add"):
        check_rules(["lenght"], "de-en")
    with pytest.raises(UsageError, match="needs the language pair"):
        check_rules(["target_foreign"], None)


@pytest.mark.parametrize(
    ("text", "code"),
    [("ひらがな と", "Hira"), ("カタカナ", "Kana"), ("한국어", "Hang"), ("नमस्ते", "Deva"),
     ("Ελλάδα", "Grek"), ("ქართული", "Geor"), ("שלום", "Hebr"), ("አማርኛ", "Ethi"), ("123 !", "")],
)  # fmt: skip
def test_scripts(text, code):
    assert script(text) == code
