"""Words, the tokenizer, packing, the lexicon."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtgauge.errors import InputError
from mtgauge.train.embedded.corpus import (
    Side,
    pack,
    read_pairs,
    rules,
    split_words,
    train_tokenizer,
    unpack,
)


@given(st.lists(st.integers(0, 2_000_000), max_size=60))
def test_packing_gives_back_what_went_in(values: list[int]) -> None:
    assert unpack(pack(np.array(values, np.int32))).tolist() == values


@given(st.lists(st.lists(st.integers(0, 99), max_size=5), min_size=1, max_size=8), st.data())
def test_rows_are_taken_in_any_order(rows: list[list[int]], data: st.DataObject) -> None:
    side = Side.of(rows)
    order = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=6))
    taken = side.take(np.array(order, np.int64))
    assert [taken.row(i).tolist() for i in range(len(taken))] == [rows[i] for i in order]


@pytest.mark.parametrize(
    "text",
    [
        "He said: “don’t — stop!”",
        "ΟΔΥΣΣΕΑΣ, İSTANBUL und Straße",
        "3.5 % of «это» (тест)…",
        "&amp;quot;twice escaped&amp;quot; &amp; once",
        "今天天气很好，对吗？",
        "zero\u200bwidth\ttab",
    ],
)
def test_our_words_are_the_tokenizers_words(text: str) -> None:
    made = rules()
    normal = made.normalizer.normalize_str(text)
    theirs = [word[1:] for word, _ in made.pre_tokenizer.pre_tokenize_str(normal)]
    assert split_words(text) == theirs


def test_tokenised_and_plain_text_have_the_same_pieces_and_none_is_unknown() -> None:
    tokenizer = train_tokenizer(["the cat sat on the mat", "a cat, a mat and a hat"] * 3, 330)
    plain = tokenizer.encode("The cat's hat, Ω☃!")
    apart = tokenizer.encode("the cat ' s hat , Ω☃ !")
    assert plain.ids == apart.ids
    assert "<unk>" not in plain.tokens


def test_a_line_with_a_missing_column_is_named(tmp_path: Path) -> None:
    file = tmp_path / "de-en.tsv"
    file.write_text("ja\tyes\tx\nnein\n", encoding="utf-8")
    with pytest.raises(InputError, match="line 2"):
        list(read_pairs(file))


def test_a_corpus_that_was_cut_off_is_no_shorter_one(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    file = tmp_path / "de-en.tsv.zst"
    file.write_bytes(zstandard.compress(b"ja\tyes\n" * 100_000)[:-20])
    with pytest.raises(EOFError):
        list(read_pairs(file))


def test_the_lexicon_finds_translations(tiny_corpus: Path) -> None:
    from mtgauge.train.embedded.prepare import load_types

    types = load_types(tiny_corpus)
    with np.load(tiny_corpus / "lexicon.npz") as stored:
        best = {types[w]: types[e[0]] for w, e in zip(stored["de.word"], stored["de.english"])}  # noqa: B905
    assert best["▁heute"] == "▁today"
    assert best["▁hund"] == "▁dog"
    assert best["▁kauft"] == "▁buys"
