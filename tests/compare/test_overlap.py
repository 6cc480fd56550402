"""overlap against counting with dictionaries, also where n-grams must be renumbered."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtgauge.compare import overlap as module
from mtgauge.compare.overlap import overlap
from mtgauge.text.ngrams import counts


def expected(
    left: list[str], right: list[list[str]], of: list[int], orders: int
) -> list[list[int]]:
    table = []
    for text, k in zip(left, of, strict=True):
        clip = counts("", orders)
        for ref in right[k]:
            clip |= counts(ref, orders)
        shared = counts(text, orders) & clip
        table.append([sum(c for g, c in shared.items() if len(g) == n + 1) for n in range(orders)])
    return table


texts = st.text(alphabet="ab猫😀 ", max_size=12)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_equals_counting(data: st.DataObject) -> None:
    right = data.draw(st.lists(st.lists(texts, min_size=1, max_size=3), min_size=1, max_size=4))
    number = st.integers(0, len(right) - 1)
    pairs = data.draw(st.lists(st.tuples(texts, number), max_size=6))
    left, of = [t for t, _ in pairs], [k for _, k in pairs]
    orders = data.draw(st.integers(1, 6))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_CHUNK", data.draw(st.sampled_from([1, 10, 1 << 18])))
        patch.setattr(module, "_LIMIT", data.draw(st.sampled_from([1, 10_000, 1 << 62])))
        table = expected(left, right, of, orders)
        assert overlap(left, right, np.array(of, dtype=np.int64), orders).tolist() == table
        lists = [[list(t) for t in refs] for refs in right]
        words = overlap([list(t) for t in left], lists, np.array(of, dtype=np.int64), orders)
        assert words.tolist() == table


def test_large_alphabet_does_not_overflow() -> None:
    """Ten symbols of 40,000 kinds would need 153 bits if grams were not renumbered."""
    text = "".join(chr(0x4E00 + i % 20_000) + chr(0x20000 + i % 20_000) for i in range(20_000))
    shifted = text[2:] + text[:2]
    found = overlap([shifted], [[text]], np.array([0]), 10)[0]
    assert found.tolist() == expected([shifted], [[text]], [0], 10)[0]
