"""Batches by a budget of tokens: the one way in which texts are grouped for a model.

A batch is padded to its longest text: n texts of at most t tokens cost n x t. Texts go longest
first, so a batch that does not fit in memory is met at once, and little is padded.

    token_batches([5, 2, 9, 2], budget=10)     # [array([2]), array([0, 1]), array([3])]
    for rows, result in run_batches(model, lengths, run):
        ...                                    # result = run(rows); halved on out-of-memory
    for rows, result in side_by_side(run, batches, parallel=2):
        ...                                    # the same of batches that are made already

A text longer than the budget is a batch of its own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Protocol, TypeVar

import numpy as np

from mtgauge.encode.ragged import IntArray
from mtgauge.errors import ResourceError

T = TypeVar("T")
CPU_TOKENS = 512  # per batch on the CPU: activations of more do not stay in its caches


class BatchedModel(Protocol):
    name: str
    tokens_per_batch: int
    parallel: int  # batches run at a time, each on one core; 1 where a batch takes all of them
    out_of_memory: tuple[type[Exception], ...]


def token_batches(lengths: Sequence[int] | IntArray, budget: int) -> list[IntArray]:
    """Row numbers in batches of at most `budget` padded tokens, longest first."""
    sizes = np.asarray(lengths, dtype=np.int64)
    order = np.argsort(-sizes, kind="stable")
    batches, at = [], 0
    while at < len(order):
        count = _count(sizes[order[at:]], budget)
        batches.append(order[at : at + count])
        at += count
    return batches


def run_batches(
    model: BatchedModel,
    lengths: Sequence[int] | IntArray,
    run: Callable[[IntArray], T],
    alike: float = 0.0,
) -> Iterator[tuple[IntArray, T]]:
    """(rows, run(rows)) for each batch, `model.parallel` of them side by side.

    A text shorter than `alike` times the longest waits for the next batch once this one holds an
    eighth of the budget. On out-of-memory the model's budget is halved, for later calls too.
    """
    sizes = np.asarray(lengths, dtype=np.int64)

    def batches() -> Iterator[IntArray]:
        order = np.argsort(-sizes, kind="stable")
        while len(order):
            count = _count(sizes[order], model.tokens_per_batch, alike)
            yield order[:count]
            order = order[count:]

    for rows, outcome in _outcomes(run, batches(), model.parallel):
        try:
            result = outcome()
        except model.out_of_memory as error:
            longest = int(sizes[rows[0]])
            if len(rows) == 1:
                raise ResourceError(
                    f"Out of memory with one text of {longest} tokens in {model.name}. Use a "
                    "smaller model or --device cpu."
                ) from error
            model.tokens_per_batch = max(len(rows) * longest // 2, 1)
            part = partial(_of_rows, run, rows)
            yield from ((rows[of], x) for of, x in run_batches(model, sizes[rows], part, alike))
            continue
        yield rows, result


def side_by_side(
    run: Callable[[IntArray], T], batches: Iterable[IntArray], parallel: int
) -> Iterator[tuple[IntArray, T]]:
    """(rows, run(rows)) for each batch, in their order; with `parallel` > 1 in threads."""
    yield from ((rows, outcome()) for rows, outcome in _outcomes(run, batches, parallel))


def _of_rows(run: Callable[[IntArray], T], rows: IntArray, part: IntArray) -> T:
    return run(rows[part])


def _outcomes(
    run: Callable[[IntArray], T], batches: Iterable[IntArray], parallel: int
) -> Iterator[tuple[IntArray, Callable[[], T]]]:
    """Each batch and what gives its result, in order; with threads, a few are under way."""
    if parallel <= 1:
        yield from ((rows, partial(run, rows)) for rows in batches)
        return
    with ThreadPoolExecutor(parallel) as threads:
        waiting: deque[tuple[IntArray, Callable[[], T]]] = deque()
        for rows in batches:
            waiting.append((rows, threads.submit(run, rows).result))
            if len(waiting) > 2 * parallel:
                yield waiting.popleft()
        yield from waiting


def _count(falling: IntArray, budget: int, alike: float = 0.0) -> int:
    """How many of the texts, longest first, go into the next batch."""
    longest = max(int(falling[0]), 1)
    fit = max(budget // longest, 1)
    if not alike:
        return fit
    like = int(np.searchsorted(-falling, -alike * longest, side="right"))
    return min(fit, max(like, budget // (8 * longest) + 1))
