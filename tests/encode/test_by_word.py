"""Texts read word by word have the tokens that their tokenizer gives them whole."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Regex, Tokenizer, normalizers, pre_tokenizers

from mtgauge.encode.model_folder import read_tokenizer
from mtgauge.encode.tokens import by_word
from mtgauge.encode.tokens.by_word import cuts_at_spaces
from mtgauge.encode.tokens.encoder import Tokens
from mtgauge.encode.tokens.encodings import pack
from mtgauge.models import shipped
from tiny_models import bert_tokenizer

MOST = 12
STRANGE = [
    *"\t\u00a0\u2009\u3000\u200b\u200d\u00ad\u0301\u0308\u00a8\u00b4\ufb01İıΣς½Ⅷ中文한글가각मि์«»—’#▁",
    *("&amp;", "quot;", "<mask>", "[SEP]", "  ", "cats"),
]
PARTS = st.one_of(st.sampled_from([*" ab,.c", *STRANGE]), st.characters(codec="utf-8"))
TEXTS = st.lists(PARTS, max_size=40).map("".join)


def embedded() -> Tokenizer:
    return read_tokenizer(shipped("encoder") / "tokenizer.json")


def bert(normaliser: normalizers.Normalizer | None = None) -> Tokenizer:
    tokenizer = bert_tokenizer()
    tokenizer.normalizer = normaliser or normalizers.BertNormalizer()
    return tokenizer


READERS = {
    "embedded": embedded(),
    "bert": bert(),
    "replacing": bert(
        normalizers.Sequence([normalizers.Replace(Regex("[bc]+"), "a"), normalizers.NFKC()])
    ),
}


@pytest.mark.parametrize("name", READERS)
@given(texts=st.lists(TEXTS, max_size=6))
def test_tokens_are_those_of_the_whole_text(name: str, texts: list[str]) -> None:
    tokenizer = READERS[name]
    tokenizer.enable_truncation(MOST)
    expected = pack(tokenizer.encode_batch(texts))
    read = by_word.by_word(tokenizer, MOST)
    assert read is not None
    for _ in range(2):  # new words, then known ones
        found = read(texts)
        for part in fields(Tokens):
            left, right = getattr(found, part.name), getattr(expected, part.name)
            np.testing.assert_array_equal(left, right, err_msg=part.name)


def test_a_full_table_starts_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_word, "WORDS", 2)
    read = by_word.by_word(READERS["bert"], MOST)
    assert read is not None
    first = read(["the cat sat on a mat"])
    read(["dog"])
    assert len(read._numbers) == 1
    np.testing.assert_array_equal(read(["the cat sat on a mat"]).ids, first.ids)


def changed(**parts: object) -> Tokenizer:
    tokenizer = bert()
    for name, part in parts.items():
        setattr(tokenizer, name, part)
    return tokenizer


def with_mask(**how: bool) -> Tokenizer:
    tokenizer = bert()
    tokenizer.add_special_tokens([AddedToken("<mask>", **how)])
    return tokenizer


@pytest.mark.parametrize(
    "tokenizer",
    [
        changed(pre_tokenizer=pre_tokenizers.ByteLevel()),
        changed(pre_tokenizer=pre_tokenizers.Metaspace()),
        changed(
            pre_tokenizer=pre_tokenizers.Sequence(
                [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="first")]
            )
        ),
        changed(normalizer=normalizers.Replace(Regex(r"\s+"), " ")),
        changed(normalizer=normalizers.Replace("a b", "c")),
        changed(normalizer=normalizers.Prepend("▁")),
        with_mask(lstrip=True),
        with_mask(single_word=True),
    ],
)
def test_tokenizers_that_look_beyond_a_word(tokenizer: Tokenizer) -> None:
    assert not cuts_at_spaces(tokenizer)


def test_one_without_a_splitter(tmp_path: Path) -> None:
    from tokenizers import models

    assert not cuts_at_spaces(Tokenizer(models.WordLevel({"a": 0}, unk_token="a")))
