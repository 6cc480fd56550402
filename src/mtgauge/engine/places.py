"""Where a run is scored: in this process, in processes of this machine, on a Ray cluster.

A run is a list of shards (batches of segments); a shard gives one table of rows per metric; rows
come back in the order of the shards, wherever and whenever they were made; what follows (sums,
scores, intervals) is a reduction of them.

    metrics = serve(["bleu", "xmoverscore:lm=off"], task)[0]           # {spec: Ready}
    with open_place(Where(workers=2)) as place:
        for tables in place.run(metrics, batches):                     # one per batch, in order
            tables["bleu"]                                             # (len(batch), k)
    metrics["bleu"].metric.notes                                       # counts of all shards

A place is opened once and runs many times: its workers keep the models that they have loaded. The
batches may be a generator: it is read only as far ahead as there are workers to feed (`AHEAD`).

A metric's row depends on its shard alone, so rows have the same bits in every place. Limits: an
encoder in torch computes a text a little differently beside other texts, and on other hardware;
its scores agree within the metric's `tolerance`.
"""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from mtgauge.arguments import refuse_no_choice, whole_number
from mtgauge.data.segments import Segments
from mtgauge.encode.load import forget_texts
from mtgauge.engine.cache import Question, RowCache
from mtgauge.engine.ready import Ready
from mtgauge.errors import UsageError
from mtgauge.metric import FloatArray

Engine = Literal["local", "ray"]
Tables = dict[str, FloatArray]  # rows by spec
SHARD = 500  # segments; all systems of a segment stand in one shard
WINDOWS = 4  # of a GPU's in a shard: it waits for its host at the begin and at the end of each
AHEAD = 3  # shards per worker that are read before the first of them is done


@dataclass(frozen=True)
class Where:
    """What `--engine`, `--workers` and `--address` say.

    >>> Where(engine="ray", workers=2).workers
    2
    """

    engine: Engine = "local"
    workers: int | None = None  # None: this process; with Ray: one per core or GPU of the cluster
    address: str | None = None  # of a running Ray cluster; None: one is started here

    def __post_init__(self) -> None:
        refuse_no_choice("engine", self.engine, ("local", "ray"))
        if self.workers is not None:
            object.__setattr__(self, "workers", whole_number("workers", self.workers, 1))
        most = max(16, 4 * (os.cpu_count() or 1))
        if self.engine == "local" and (self.workers or 1) > most:
            raise UsageError(
                f"workers={self.workers} is too many for this machine: each is a process with its "
                f"own models. At most {most}."
            )
        if self.address is not None and self.engine != "ray":
            raise UsageError("An address is of a Ray cluster: add --engine ray.")


class Place(Protocol):
    """Where shards are scored; a context manager that ends its workers."""

    def run(self, metrics: Mapping[str, Ready], batches: Iterable[Segments]) -> Iterator[Tables]:
        """Rows of each batch under each metric, in the order of the batches.

        What metrics count (`notes`) is added to the metrics given. A fault of the input or of a
        model is raised here as in-process; a worker that dies is replaced, its shard done again.
        """
        ...

    def remark(self) -> str:
        """What the run should say of its place: workers, memory, what was done again."""
        ...

    def close(self) -> None: ...


class Here:
    """This process, one shard after another."""

    def run(self, metrics: Mapping[str, Ready], batches: Iterable[Segments]) -> Iterator[Tables]:
        for batch in batches:
            yield scored(metrics, batch)

    def remark(self) -> str:
        return ""

    def close(self) -> None:
        pass


def scored(metrics: Mapping[str, Ready], batch: Segments) -> Tables:
    """One shard, scored here; where nothing is left to score, no model is loaded."""
    forget_texts()
    return {
        spec: ready.metric.rows(batch) if len(batch) else np.empty((0, len(ready.metric.columns)))
        for spec, ready in metrics.items()
    }


@contextlib.contextmanager
def open_place(where: Where | None = None) -> Iterator[Place]:
    """The place that was asked for, closed at the end; None is this process."""
    place = _place(where or Where())
    try:
        yield place
    finally:
        place.close()


def _place(where: Where) -> Place:
    if where.engine == "ray":
        from mtgauge.engine.ray import RayPool

        return RayPool(where)
    if where.workers is None or where.workers == 1:
        return Here()
    from mtgauge.engine.processes import process_pool

    return process_pool(where.workers)


def shard_size(metrics: Iterable[Ready]) -> int:
    """Segments of a shard; more where a metric keeps its vectors on a GPU."""
    return max([SHARD, *(WINDOWS * ready.metric.window for ready in metrics)])


def shards(batch: Segments, size: int = SHARD) -> Iterator[Segments]:
    """A batch in memory, cut into shards."""
    for start in range(0, len(batch), size):
        yield batch.take(range(start, min(start + size, len(batch))))


def rows_of(
    ready: Ready,
    batch: Segments,
    *,
    place: Place | None = None,
    cache: RowCache | None = None,
    progress: Callable[[int], object] | None = None,
) -> FloatArray:
    """All rows of one metric, shard by shard, through the cache; it is read and written here."""
    pending: deque[tuple[Segments, Question | None]] = deque()

    def wanted() -> Iterator[Segments]:
        for part in shards(batch, shard_size([ready])):
            question = None if cache is None else cache.ask(ready, part)
            pending.append((part, question))
            yield part if question is None else part.take(question.new)

    found = [np.empty((0, len(ready.metric.columns)))]
    for tables in (place or Here()).run({ready.spec: ready}, wanted()):
        part, question = pending.popleft()
        rows = tables[ready.spec]
        found.append(rows if cache is None or question is None else cache.answer(question, rows))
        if progress is not None:
            progress(len(part))
    return np.concatenate(found)
