"""Several workers that score the shards of a run: what processes and Ray have in common.

A worker is known here by three things that it does:

    start(wanted)     until it can answer or is not wanted; a ResourceError: it never will
    ask(question)     its answer; raises `Died` if it ended meanwhile
    stop()            ends it; may be called at any time, from any thread

One thread per worker waits for answers. A worker that dies is started anew and its shard is scored
again, at most `ATTEMPTS` times in all; workers that cannot be started are missed as long as one is
left. Shards are read from the generator only while fewer than `AHEAD` per worker are under way or
wait for an earlier one, so memory stays bounded.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from queue import SimpleQueue
from typing import Protocol, TypeVar

from mtgauge.data.segments import Segments
from mtgauge.encode.load import current_settings
from mtgauge.engine.places import AHEAD, Tables, scored
from mtgauge.engine.ready import Ready
from mtgauge.engine.worker import Message, about, packed, packed_batch, tables_of
from mtgauge.errors import MtgaugeError, ResourceError, UsageError, renamed

T = TypeVar("T")
R = TypeVar("R")
ATTEMPTS = 3


class Died(Exception):
    """A worker ended; the message says how."""


class Handle(Protocol):
    """A worker, seen from the process that asks."""

    def start(self, wanted: Callable[[], bool]) -> None: ...

    def ask(self, question: Message) -> Message: ...

    def stop(self) -> None: ...


@dataclass(frozen=True)
class Job:
    """What a worker must have opened before it scores a shard."""

    question: Message
    about: dict[str, str]
    specs: tuple[str, ...]


class Pool:
    """Workers of one kind, as a `places.Place`."""

    def __init__(self, name: str, workers: Sequence[Handle]) -> None:
        self.name, self.workers = name, list(workers)
        self.deaths = 0
        self.memory = 0  # MiB, of the worker that held most
        self._idle: SimpleQueue[Handle | MtgaugeError] = SimpleQueue()
        self._opened: dict[int, Job] = {}  # by worker
        self._starting: list[threading.Thread] = []
        self._lost = 0  # workers that cannot be started
        self._lock = threading.Lock()
        self._started = self._closed = False

    def run(self, metrics: Mapping[str, Ready], batches: Iterable[Segments]) -> Iterator[Tables]:
        if not metrics:
            yield from ({} for _ in batches)
            return
        if self._closed:
            raise UsageError("This place is closed: open a new one.")
        job = self._job(metrics)
        with ThreadPoolExecutor(len(self.workers)) as threads:
            try:
                for future in ahead(
                    lambda shard: threads.submit(self._score, job, metrics, *shard),
                    enumerate(batches, 1),
                    AHEAD * len(self.workers),
                ):
                    tables, notes = future.result()
                    for spec, counted in notes.items():
                        metrics[spec].metric.notes.update(counted)
                    yield tables
            except BaseException:
                self.close()  # so that no thread waits for an answer that nobody wants
                threads.shutdown(cancel_futures=True)
                raise

    def remark(self) -> str:
        many = "1 worker" if len(self.workers) == 1 else f"{len(self.workers)} workers"
        held = f", at most {self.memory:,} MiB each" if self.memory else ""
        again = f", {self.deaths} replaced" if self.deaths else ""
        return f"{many} ({self.name}){held}{again}"

    def close(self) -> None:
        with self._lock:
            self._closed = True
        self._idle.put(ResourceError("The workers were stopped."))
        for worker in self.workers:
            worker.stop()
        for thread in self._starting:
            thread.join()

    # workers

    def _start_all(self) -> None:
        """On the first shard: where the cache has everything, there is none."""
        with self._lock:
            starting, self._started = not self._started, True
        for worker in self.workers if starting else ():
            self._start(worker)

    def _start(self, worker: Handle) -> None:
        """In a thread of its own: a cluster may have no room for it yet."""

        def begin() -> None:
            try:
                worker.start(lambda: not self._closed)
            except MtgaugeError as fault:
                self._lose(fault)
            except Exception as fault:
                self._lose(ResourceError(f"A worker cannot be started ({fault})."))
            else:
                self._idle.put(worker)
            if self._closed:
                worker.stop()

        thread = threading.Thread(target=begin, daemon=True)
        with self._lock:
            self._starting = [t for t in self._starting if t.is_alive()] + [thread]
            thread.start()

    def _lose(self, fault: MtgaugeError) -> None:
        with self._lock:
            self._lost += 1
            if self._lost == len(self.workers):
                self._idle.put(fault)

    def _take(self) -> Handle:
        found = self._idle.get()
        if isinstance(found, MtgaugeError):
            self._idle.put(found)  # for the other threads
            raise found
        return found

    # one shard

    def _job(self, metrics: Mapping[str, Ready]) -> Job:
        orders = []
        for spec, ready in metrics.items():
            if ready.order is None:
                raise UsageError(f"{spec} cannot be scored by workers: it is not a metric by name.")
            orders.append(packed(replace(ready.order, spec=spec)))
        settings = current_settings()
        share = settings.memory_gb / len(self.workers)  # together they keep what one would
        question = {"open": orders, "settings": asdict(replace(settings, memory_gb=share))}
        return Job(question, about(dict(metrics)), tuple(metrics))

    def _score(
        self, job: Job, metrics: Mapping[str, Ready], number: int, batch: Segments
    ) -> tuple[Tables, Mapping[str, Mapping[str, int]]]:
        """Rows of one shard, by whichever worker is free."""
        if not len(batch):
            return scored(metrics, batch), {}
        self._start_all()
        question = {"batch": packed_batch(batch)}
        ends: list[str] = []
        while len(ends) < ATTEMPTS:
            worker = self._take()
            try:
                self._open(worker, job)
                answer = _checked(worker.ask(question))
            except Died as fault:
                ends.append(str(fault))
                self._replace(worker)
                continue
            except BaseException:
                self._idle.put(worker)
                raise
            self._idle.put(worker)
            with self._lock:
                self.memory = max(self.memory, answer["memory"])
            return tables_of(answer), answer["notes"]
        raise ResourceError(
            f"Shard {number} ({len(batch)} segments) ended its worker {ATTEMPTS} times: "
            f"{'; '.join(dict.fromkeys(ends))}. Use fewer workers, or more memory."
        )

    def _open(self, worker: Handle, job: Job) -> None:
        if self._opened.get(id(worker)) is job:
            return
        worker_about = _checked(worker.ask(job.question))["about"]
        for what, ours in job.about.items():
            if worker_about.get(what) != ours:
                raise ResourceError(
                    f"A worker differs from this process in {what}: {worker_about.get(what)} "
                    f"there, {ours} here. Install the same versions and models in both places."
                )
        self._opened[id(worker)] = job

    def _replace(self, worker: Handle) -> None:
        with self._lock:
            if self._closed:
                return
            self.deaths += 1
        self._opened.pop(id(worker), None)
        worker.stop()
        self._start(worker)


def ahead(submit: Callable[[T], Future[R]], items: Iterable[T], most: int) -> Iterator[Future[R]]:
    """Futures in the order of the items, of which at most `most` are not taken yet."""
    waiting: deque[Future[R]] = deque()
    for item in items:
        waiting.append(submit(item))
        if len(waiting) >= most:
            yield waiting.popleft()
    yield from waiting


def _checked(answer: Message) -> Message:
    """The answer, or the fault that it tells of."""
    if "fault" not in answer:
        return answer
    raise renamed(answer["fault"], answer["message"])
