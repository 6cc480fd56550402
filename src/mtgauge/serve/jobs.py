"""The queue: one run at a time, in the order in which they came.

    jobs = Jobs(store, settings)
    jobs.start(); jobs.submit(run); jobs.cancel(run); jobs.close()

A thread hands each run to the working process and writes down what becomes of it. Whatever ends a
run (an error, a crash, the time limit, a click on Cancel) is written in its record; the queue goes
on. After a restart the runs that waited are carried out, the one that was under way has failed: it
may have been what ended the server.
"""

from __future__ import annotations

import queue
import sys
import threading
import traceback
from typing import Any

from mtgauge.errors import MtgaugeError
from mtgauge.serve.refusals import Refusal
from mtgauge.serve.runs import Run, Store, now
from mtgauge.serve.settings import ServerSettings
from mtgauge.serve.worker import Stopped, Worker

INTERRUPTED = "The server stopped while this run was under way."


class Jobs:
    """The queue and the thread that empties it."""

    def __init__(self, store: Store, settings: ServerSettings) -> None:
        self.store, self.settings = store, settings
        self.worker = Worker(settings.device)
        self._queue: queue.Queue[Run | None] = queue.Queue()
        self._stops: dict[str, threading.Event] = {}
        self._thread = threading.Thread(target=self._work, name="mtgauge-jobs", daemon=True)
        self._closing = False

    def start(self) -> None:
        for run in reversed(self.store.all()):
            if run.state == "waiting":
                self._put(run)
            elif not run.is_final:
                self.store.finish(run, "failed", INTERRUPTED)
        self._thread.start()

    def close(self) -> None:
        """End the process; a run that is under way fails, those that wait are kept."""
        self._closing = True
        self._queue.put(None)
        for stop in self._stops.values():
            stop.set()
        self._thread.join(timeout=10)
        self.worker.kill()

    @property
    def waiting(self) -> int:
        return sum(run.state == "waiting" for run in self.store.all())

    def make_room(self) -> None:
        """Refuse a run if too many wait."""
        most = self.settings.limits.waiting
        if self.waiting >= most:
            raise Refusal(429, f"{most} runs are waiting already: try again when some have ended.")

    def submit(self, run: Run) -> None:
        self.store.add(run)
        self._put(run)

    def cancel(self, run: Run) -> None:
        """Stop a run, or take it out of the queue; one that has ended stays as it is."""
        stop = self._stops.get(run.id)
        if stop is not None:
            stop.set()
        if run.state == "waiting":
            self.store.finish(run, "cancelled")

    def _put(self, run: Run) -> None:
        self._stops[run.id] = threading.Event()
        self._queue.put(run)

    def _work(self) -> None:
        while (run := self._queue.get()) is not None and not self._closing:
            stop = self._stops[run.id]
            if not stop.is_set():
                try:
                    self._carry_out(run, stop)
                except Exception as fault:  # a full disk, a fault of ours: the queue goes on
                    traceback.print_exception(fault, file=sys.stderr)
                    run.state, run.error = (
                        "failed",
                        "The server could not keep this run: see its log.",
                    )
            self._stops.pop(run.id, None)

    def _carry_out(self, run: Run, stop: threading.Event) -> None:
        run.started, run.state = now(), "running"
        self.store.save(run)
        limits, folder = self.settings.limits, self.store.place(run)
        asked: dict[str, Any] = {
            "folder": str(folder),
            "input": str(folder / "input"),
            "limit": limits.segments,
            **{key: getattr(run, key) for key in _ASKED},
        }
        try:
            found = self.worker.call(
                "carry out",
                asked,
                seconds=limits.seconds,
                progress=lambda news: vars(run).update(news),
                stop=stop,
            )
        except MtgaugeError as error:
            if self._closing:
                self.store.finish(run, "failed", INTERRUPTED)
            elif stop.is_set() or isinstance(error, Stopped):
                self.store.finish(run, "cancelled")
            else:
                self.store.finish(run, "failed", str(error))
        else:
            run.policy = found.pop("policy")
            run.summary = found
            self.store.finish(run, "done")


_ASKED = (
    "translations",
    "source",
    "references",
    "metrics",
    "lang",
    "baseline",
    "unescape",
    "title",
)
