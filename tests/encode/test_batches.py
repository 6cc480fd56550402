"""Batches by a budget of tokens."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtgauge.encode.batches import run_batches, side_by_side, token_batches
from mtgauge.encode.ragged import IntArray
from mtgauge.errors import ResourceError


class Model:
    """Runs out of memory above `most` padded tokens."""

    parallel = 1
    name = "tiny"
    out_of_memory: tuple[type[Exception], ...] = (MemoryError,)

    def __init__(self, budget: int, lengths: list[int], most: int = 10**9) -> None:
        self.tokens_per_batch, self.lengths, self.most = budget, lengths, most

    def run(self, rows: IntArray) -> list[int]:
        if padded(self.lengths, rows) > self.most:
            raise MemoryError
        return [self.lengths[i] for i in rows]


def padded(lengths: list[int], rows: IntArray) -> int:
    return len(rows) * max(lengths[i] for i in rows)


@given(st.lists(st.integers(0, 60), max_size=40), st.integers(1, 200), st.sampled_from([0.0, 0.8]))
@settings(max_examples=80, deadline=None)
def test_batches_keep_the_budget_and_the_order(
    lengths: list[int], budget: int, alike: float
) -> None:
    model = Model(budget, lengths)
    found = list(run_batches(model, lengths, model.run, alike))
    batches = [rows for rows, _ in found]
    order = sorted(range(len(lengths)), key=lambda i: (-lengths[i], i))
    assert [int(i) for rows in batches for i in rows] == order
    assert [n for _, result in found for n in result] == [lengths[i] for i in order]
    for rows in batches:
        assert padded(lengths, rows) <= budget or len(rows) == 1
    if not alike:
        assert [rows.tolist() for rows in token_batches(lengths, budget)] == [
            rows.tolist() for rows in batches
        ]


def test_texts_of_another_length_wait_for_the_next_batch() -> None:
    lengths = [10, 10, 9, 2, 2, 2]
    model = Model(100, lengths)
    assert [len(rows) for rows, _ in run_batches(model, lengths, model.run, 0.8)] == [3, 3]
    assert [len(rows) for rows in token_batches(lengths, 100)] == [6]


def test_out_of_memory_halves_the_budget_and_every_text_is_run_once() -> None:
    lengths = [8] * 7 + [3] * 5
    model = Model(1000, lengths, most=20)
    found = list(run_batches(model, lengths, model.run))
    assert sorted(int(i) for rows, _ in found for i in rows) == list(range(12))
    assert model.tokens_per_batch <= 24
    model.most = 0
    with pytest.raises(ResourceError, match="Out of memory with one text of 8 tokens in tiny"):
        list(run_batches(model, lengths, model.run))


def test_nothing_makes_no_batch() -> None:
    assert token_batches(np.empty(0, np.int64), 10) == []


@pytest.mark.parametrize("parallel", [2, 3])
def test_side_by_side_gives_the_same_batches_in_the_same_order(parallel: int) -> None:
    lengths = [5, 2, 9, 2, 7, 7, 1, 3, 8, 4]
    alone = Model(20, lengths, most=12)
    together = Model(20, lengths, most=12)  # both run out of memory, and halve
    together.parallel = parallel
    first = {int(i): x for rows, xs in run_batches(alone, lengths, alone.run)
             for i, x in zip(rows, xs, strict=True)}  # fmt: skip
    second = {int(i): x for rows, xs in run_batches(together, lengths, together.run)
              for i, x in zip(rows, xs, strict=True)}  # fmt: skip
    assert first == second == dict(enumerate(lengths))
    assert together.tokens_per_batch < 20


@pytest.mark.parametrize("parallel", [1, 3])
def test_batches_that_are_made_already_come_in_their_order(parallel: int) -> None:
    batches = token_batches(np.arange(40) % 9, 30)
    found = list(side_by_side(lambda rows: int(rows.sum()), batches, parallel))
    assert [total for _, total in found] == [int(rows.sum()) for rows in batches]
    for (rows, _), batch in zip(found, batches, strict=True):
        np.testing.assert_array_equal(rows, batch)
