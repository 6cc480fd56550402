"""Tokenisers: Treebank rules as NLTK has them, and sensible words in other languages."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtgauge.errors import ResourceError, UsageError
from mtgauge.text import words
from mtgauge.text.ngrams import counts, ngrams

SENTENCES = [
    "She said: \"I can't believe it's not yours!\" and left...",
    "Dr. Weber paid $3.88 (about 3,36 euros) -- and that's all, folks.",
    "We'll see: 'tis the season; they've gone, haven't they?",
    "I cannot wanna gimme more'n d'ye lemme gotta gonna.",
    "Prices rose 5% in the U.S., O'Brien's firm [sic] said.",
    "''Quoted'' and ``quoted'' <b>text</b> at 10:30, e.g. #1 & @home.",
    "He asked 'why?' The dogs' bowls. It ended.\"",
    "",
    " . ",
]


@pytest.mark.parametrize("sentence", SENTENCES)
def test_treebank_equals_nltk(sentence: str) -> None:
    from nltk.tokenize import TreebankWordTokenizer

    assert words.treebank(sentence) == TreebankWordTokenizer().tokenize(sentence)


PIECES = [*"ab.'\"`,:;!?()[]{}<> -$%&#@1", *"can not n't 'll gonna 'tis ... -- ''".split(" ")]


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_treebank_equals_nltk_on_anything(text: str) -> None:
    from nltk.tokenize import TreebankWordTokenizer

    assert words.treebank(text) == TreebankWordTokenizer().tokenize(text)


@pytest.mark.shared
def test_treebank_equals_nltk_on_news(shared: Path) -> None:
    from nltk.tokenize import TreebankWordTokenizer

    theirs = TreebankWordTokenizer()
    with gzip.open(shared / "wmt" / "da16.tsv.gz", "rb") as raw:
        for line in io.TextIOWrapper(raw, encoding="utf-8", newline="\n"):
            text = line.split("\t")[5]
            assert words.treebank(text) == theirs.tokenize(text)


def test_english_splits_inner_full_stops_and_plain_quotes() -> None:
    assert words.english("It’s over. Dr. No left at 3.5 p.m. – “fine”.") == [
        "It", "'s", "over", ".", "Dr.", "No", "left", "at", "3.5", "p.m.", "–", "``", "fine", "''",
        ".",
    ]  # fmt: skip


def test_unicode_words() -> None:
    assert words.unicode_words("Größe: 1,5 Mio. €, n’est-ce pas?") == [
        "Größe", ":", "1,5", "Mio", ".", "€", ",", "n’est", "-", "ce", "pas", "?",
    ]  # fmt: skip
    assert words.unicode_words("नमस्ते दुनिया") == ["नमस्ते", "दुनिया"]
    assert words.unicode_words("東京へ行く") == list("東京へ行く")


def test_chinese_keeps_chinese_characters_alone() -> None:
    assert words.tokenizer("chinese")("我们有3只猫。OK") == list("我们有只猫")


def test_longest_match() -> None:
    cut = words.longest_match({"你好", "世界", "好世界", "ok", "你"})
    assert cut("你好世界! ok 天") == ["你好", "世界", "!", "ok", "天"]
    assert words.longest_match(set())("天地") == ["天", "地"]


def test_by_language_and_by_name() -> None:
    assert words.tokenizer(words.name_for_language("en"))("Stop. Go!") == ["Stop", ".", "Go", "!"]
    assert words.name_for_language(None) == words.name_for_language("en")
    assert words.name_for_language("de") == "unicode"
    assert words.tokenizer("none")(" a  b ") == ["a", "b"]
    assert words.tokenizer("13a")("Hello, world.") == ["Hello", ",", "world", "."]
    assert words.tokenizer("char")("ab") == ["a", "b"]
    assert words.tokenizer("zh")("你好ok") == ["你", "好", "ok"]
    assert words.tokenizer("punctuation-free")("A b, c!") == ["A", "b", "c"]


def test_every_name_is_a_tokeniser() -> None:
    for name in set(words.names()) - {"flores101", "flores200", "spBLEU-1K"}:  # need a model
        try:
            cut = words.tokenizer(name)
        except ResourceError:  # an extra that is not installed
            assert name in ("jieba", "ja-mecab", "ko-mecab", "moses")
        else:
            assert isinstance(cut("a b"), list)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(UsageError, match="There are: none, 13a"):
        words.tokenizer("no-such-thing")


def test_ngrams() -> None:
    assert ngrams(["a", "b", "c"], 2) == [("a", "b"), ("b", "c")]
    assert ngrams(["a"], 2) == []
    assert counts(["a", "b", "a"], 2)[("a",)] == 2


@settings(max_examples=400, deadline=None)
@given(st.text(st.characters(codec="ascii"), max_size=20))
def test_ascii_is_read_as_any_other_text(text: str) -> None:
    find = words._unicode_finder()
    assert words.unicode_words(text) == find(text)
    kept = [token for token in find(text) if not words.is_punctuation(token)]
    assert words.tokenizer("punctuation-free")(text) == kept
