"""Pieces joined to words."""

from __future__ import annotations

import numpy as np
import pytest

from mtgauge.encode import load_encoder, load_language_model
from mtgauge.encode.tokens.joining import join


def cut(text: str, *pieces: str) -> tuple[list[str], list[int]]:
    """The text cut into pieces; those that a tokeniser calls first begin after a space."""
    spans, first, at = [], [], 0
    for piece in pieces:
        start = text.index(piece.strip(), at)
        first.append(start == 0 or text[start - 1].isspace())
        at = start + len(piece.strip())
        spans.append((start - (piece[0] == " "), at))
    words, number = join(text, np.array(spans), np.array(first), list(pieces))
    return [word.text for word in words], number.tolist()


@pytest.mark.parametrize(
    ("text", "pieces", "words"),
    [
        ("die Kanzlerin kam.", ["die", " Kan", "z", "lerin", " kam", "."],
         ["die", "Kanzlerin", "kam", "."]),
        ("don't", ["don", "'", "t"], ["don't"]),
        ("well-known", ["well", "-", "known"], ["well-known"]),
        ("3.5, 1,000", ["3", ".", "5", ",", " 1", ",", "000"], ["3.5", ",", "1,000"]),
        ("(so)", ["(", "so", ")"], ["(", "so", ")"]),
        ("我爱北京", ["我", "爱", "北京"], ["我", "爱", "北京"]),
        ("ก็ดี", ["ก็", "ดี"], ["ก็", "ดี"]),
    ],
)  # fmt: skip
def test_words_for_people(text: str, pieces: list[str], words: list[str]) -> None:
    assert cut(text, *pieces)[0] == words


def test_pieces_stay_inside_their_word() -> None:
    spans = np.array([[0, 3], [3, 4], [4, 9]])
    (word,), number = join("Kanzlerin", spans, np.array([True, False, False]), ["▁Kan", "z", "l"])
    assert (word.text, word.pieces, word.at) == ("Kanzlerin", ("Kan", "z", "lerin"), (0, 9))
    assert number.tolist() == [0, 0, 0]


def test_without_positions_the_marks_of_the_pieces_count() -> None:
    """XLM's tokeniser gives none."""
    nowhere, first = np.zeros((3, 2), dtype=np.int64), np.array([True, False, True])
    words, _ = join("ignored", nowhere, first, ["kanz", "lerin</w>", "kam</w>"])
    assert [word.text for word in words] == ["kanzlerin", "kam"]
    assert words[0].at is None


def test_the_embedded_encoder_cuts_words_that_are_joined_again() -> None:
    text = "Die Bundeskanzlerinnen telefonierten gestern, 我爱北京."
    encoder = load_encoder("embedded")
    tokens = encoder.tokenize([text])
    names = [encoder.vocabulary[i] for i in tokens.ids]
    words, number = join(text, tokens.spans, tokens.first | tokens.special, names)
    shown = [word.text for word in words if word.at is not None]
    assert "Bundeskanzlerinnen" in shown
    assert "," in shown
    assert "我爱北京." not in shown
    assert len(number) == len(names) > len(words)


@pytest.mark.parametrize("bos", [True, False])
def test_log_probabilities_of_words(bos: bool) -> None:
    model = load_language_model("embedded")
    text = "the bundeskanzlerin sat."
    logprobs, _ = model.logprobs([text], bos)
    told = model.words(text, logprobs)
    assert sum(value for _, value in told) == pytest.approx(logprobs.sum())
    shown = [word.text for word, _ in told]
    assert "bundeskanzlerin" in shown
    assert ("the" in shown) == bos
