"""N-grams of a list of tokens, as lists and as counts.

ngrams(["a", "b", "c"], 2)  -> [("a", "b"), ("b", "c")]
counts(["a", "b", "a"], 2)  -> {("a",): 2, ("b",): 1, ("a", "b"): 1, ("b", "a"): 1}
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def ngrams(tokens: Sequence[T], order: int) -> list[tuple[T, ...]]:
    """All n-grams of one order, from left to right; none where the text is shorter."""
    return list(zip(*(tokens[i:] for i in range(order)), strict=False))


def counts(tokens: Sequence[T], max_order: int) -> Counter[tuple[T, ...]]:
    """How often each n-gram of order 1 to `max_order` occurs."""
    found: Counter[tuple[T, ...]] = Counter()
    for order in range(1, max_order + 1):
        found.update(ngrams(tokens, order))
    return found
