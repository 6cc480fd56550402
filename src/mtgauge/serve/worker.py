"""A process of its own for the work, so that the server answers while a run goes on.

    worker = Worker("auto")
    worker.call("quick", {...}, seconds=60)               the task's answer, or an error
    worker.call("carry out", {...}, seconds=3600, progress=print, stop=event)

The process starts with the first call and stays: models load once. If it dies, runs too long or is
stopped, the next call starts a new one. Requests and answers are JSON. The child leaves when its
parent does, however that ends: a thread of it waits for the pipe to close.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import queue
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from mtgauge.errors import MtgaugeError, as_error, named, renamed

PATIENCE = 2.0  # seconds in which a task may end by itself when it is stopped
_TICK = 0.05


class Stopped(MtgaugeError):
    """The task was cancelled."""


class Died(MtgaugeError):
    """The process ended, or was ended, before the task did."""


class Worker:
    """One process and the pipe to it; calls from several threads wait for each other."""

    def __init__(self, device: str = "auto") -> None:
        self.device = device
        self._process: multiprocessing.process.BaseProcess | None = None
        self._pipe: Connection | None = None
        self._lock = threading.Lock()

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def call(
        self,
        task: str,
        asked: dict[str, Any],
        *,
        seconds: float,
        progress: Callable[[dict[str, Any]], object] | None = None,
        stop: threading.Event | None = None,
    ) -> dict[str, Any]:
        """Carry out a task, once those before it are done."""
        with self._lock:
            return self._call(task, asked, seconds, progress, stop)

    def _call(
        self,
        task: str,
        asked: dict[str, Any],
        seconds: float,
        progress: Callable[[dict[str, Any]], object] | None,
        stop: threading.Event | None,
    ) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        pipe = self._start()
        try:
            pipe.send_bytes(json.dumps([task, asked]).encode())
            while True:
                if pipe.poll(_TICK):
                    kind, value = json.loads(pipe.recv_bytes())
                    if kind == "done":
                        return dict(value)
                    if kind == "failed":
                        raise renamed(*value)
                    if progress is not None:
                        progress(value)
                elif stop is not None and stop.is_set():
                    self._cancel(pipe)
                elif time.monotonic() > deadline:
                    self.kill()
                    raise Died(
                        f"It took longer than {seconds:,.0f} seconds and was stopped. Give fewer "
                        "segments or lighter metrics, or ask the server's owner to raise the limit."
                    )
        except (EOFError, OSError):
            raise Died(self._obituary()) from None

    def _cancel(self, pipe: Connection) -> None:
        """Ask the task to end between two steps, which keeps its models; then end the process."""
        pipe.send_bytes(b'["stop", {}]')
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if pipe.poll(_TICK) and json.loads(pipe.recv_bytes())[0] in ("done", "failed"):
                raise Stopped("cancelled")
        self.kill()
        raise Stopped("cancelled")

    def start(self) -> None:
        """Have the process ready before it is asked for anything."""
        with self._lock:
            self._start()

    def _start(self) -> Connection:
        if self._process is not None and self._process.is_alive() and self._pipe is not None:
            return self._pipe
        context = multiprocessing.get_context("spawn")
        self._pipe, far = context.Pipe()
        self._process = context.Process(target=main, args=(far, self.device), daemon=True)
        self._process.start()
        far.close()
        return self._pipe

    def kill(self) -> None:
        """End the process now; the next call starts another."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
        if self._pipe is not None:
            self._pipe.close()
        self._process = self._pipe = None

    def _obituary(self) -> str:
        """Why the process ended, for people."""
        process = self._process
        if process is not None:
            process.join(PATIENCE)
        code = None if process is None else process.exitcode
        self.kill()
        if code == -9:  # SIGKILL, which Windows does not have
            return (
                "The process was killed, most likely because memory ran out. Give fewer or shorter "
                "segments, or lighter metrics."
            )
        if code is not None and code < 0:
            return f"The process crashed ({signal.Signals(-code).name}). The server goes on."
        return f"The process ended before its time (exit code {code}). The server goes on."


# In the child


class _Stop(BaseException):
    """Raised between two steps of a task that was cancelled."""


def main(pipe: Connection, device: str) -> None:
    """Answer requests until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to end
    _step_back()
    requests: queue.Queue[tuple[str, dict[str, Any]]] = queue.Queue()
    stop = threading.Event()
    threading.Thread(target=_listen, args=(pipe, requests, stop), daemon=True).start()
    from mtgauge.encode import configure
    from mtgauge.serve.tasks import TASKS

    configure(device=device)
    home = os.getcwd()

    def tell(**news: Any) -> None:
        if stop.is_set():
            raise _Stop
        pipe.send_bytes(json.dumps(["progress", news]).encode())

    while True:
        task, asked = requests.get()
        stop.clear()
        try:
            answer: list[Any] = ["done", TASKS[task](asked, tell)]
        except _Stop:
            answer = ["failed", ["MtgaugeError", "cancelled"]]
        except Exception as fault:
            answer = ["failed", _told(fault)]
        os.chdir(home)  # a task works among its uploads, which are deleted next
        pipe.send_bytes(json.dumps(answer).encode())


def _step_back() -> None:
    """Pages are answered first; and where memory runs out this process goes, not the server."""
    if hasattr(os, "nice"):
        os.nice(5)
    with contextlib.suppress(OSError):  # Linux only
        Path("/proc/self/oom_score_adj").write_text("500", encoding="ascii")


def _listen(pipe: Connection, requests: queue.Queue[Any], stop: threading.Event) -> None:
    while True:
        try:
            task, asked = json.loads(pipe.recv_bytes())
        except (EOFError, OSError):
            os._exit(0)  # the server has gone
        if task == "stop":
            stop.set()
        else:
            requests.put((task, asked))


def _told(fault: Exception) -> tuple[str, str]:
    error = as_error(fault)
    if error is not None:
        return named(error)
    traceback.print_exception(fault, file=sys.stderr)
    return "MtgaugeError", f"A fault of mtgauge ({type(fault).__name__}): see the server's log."
