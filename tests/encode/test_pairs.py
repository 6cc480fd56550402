"""Two or three texts as one input: special tokens, types, and how too long an input is cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtgauge.encode.tokens.pairs import Packer
from mtgauge.errors import ResourceError

PACKER = Packer(lambda texts: [[10 + len(w) for w in t.split()] for t in texts], 1, (2,), 3, 0, 12)


def test_two_texts() -> None:
    packed = PACKER.pack([("a bb", "ccc"), ("a", "")])
    assert packed.ids.tolist() == [[1, 11, 12, 2, 13, 3], [1, 11, 2, 3, 0, 0]]
    assert packed.mask.tolist() == [[1] * 6, [1, 1, 1, 1, 0, 0]]
    assert packed.types.tolist() == [[0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 0, 0]]
    assert packed.cut == 0


def test_three_texts_have_types_0_1_1() -> None:
    packed = PACKER.pack([("a", "bb", "ccc")], [(5, 6, 5)])
    assert packed.types.tolist() == [[0, 0, 0, 1, 1, 1, 1]]
    assert packed.langs.tolist() == [[5, 5, 5, 6, 6, 5, 5]]


def test_the_longest_text_is_cut_by_whole_tokens() -> None:
    """The authors cut characters of the translation, however long the source was."""
    packed = PACKER.pack([("a b", "c " * 50)])
    assert packed.ids.shape == (1, 12)
    assert packed.ids[0, :4].tolist() == [1, 11, 11, 2]
    assert packed.cut == 1


@given(st.lists(st.integers(0, 40), min_size=2, max_size=3))
def test_nothing_is_longer_than_allowed_and_no_text_is_cut_below_a_shorter_one(
    sizes: list[int],
) -> None:
    texts = [list(range(size)) for size in sizes]
    kept = PACKER._fit(texts)
    assert PACKER.lengths(kept) <= 12 or PACKER.lengths(texts) <= 12
    for one, size in zip(kept, sizes, strict=True):
        assert list(one) == list(range(len(one)))
        if len(one) < size:
            assert len(one) >= max(len(other) for other in kept) - 1


def test_special_tokens_are_the_tokenizers_own() -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    tokenizer = Tokenizer(models.WordLevel({"<s>": 0, "</s>": 1, "<pad>": 2, "a": 3}, "a"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    with pytest.raises(ResourceError, match="does not know how to join"):
        Packer.of(tokenizer, 20)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", 0), ("</s>", 1)],
    )
    packer = Packer.of(tokenizer, 20)
    assert packer.pack([("a", "a a")]).ids.tolist() == [[0, 3, 1, 1, 3, 3, 1]]
    assert packer.pad == 2
