"""Workers that are processes of this machine (`--workers N`).

    with open_place(Where(workers=2)) as place: ...

Each starts a fresh Python (no fork: threads and open models do not survive one), opens models once
and keeps them. The cores are shared out: with two workers on two cores, each computes on one.
Memory is that of one process times the number of workers, less the vectors kept, which they share
out too; `Place.remark` states the peak. The user's own script is not run again in a worker, so a
metric that it defines is unknown there: put it in a module that an entry point names.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable

from mtgauge.encode.runtime import cores
from mtgauge.engine.pool import Died, Pool
from mtgauge.engine.worker import Message, read, thread_limits, write
from mtgauge.errors import ResourceError


class ProcessWorker:
    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def start(self, wanted: Callable[[], bool]) -> None:
        path = os.pathsep.join(dict.fromkeys(filter(None, sys.path)))
        environment = os.environ | thread_limits(self.threads) | {"PYTHONPATH": path}
        with self._lock:
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-m", "mtgauge.engine.worker"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    env=environment,
                    start_new_session=True,  # Ctrl-C is for the process that asks
                )
            except OSError as error:
                raise ResourceError(f"A worker process cannot be started ({error}).") from None

    def ask(self, question: Message) -> Message:
        process = self._process
        if process is None:  # by another thread, before this one came to ask
            raise Died("it was stopped")
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            write(process.stdin, question)
            answer = read(process.stdout)
        except (OSError, ValueError):  # its end of the pipe is gone, or ours was closed
            answer = None
        if answer is None:
            raise Died(_end(process.wait()))
        return answer

    def stop(self) -> None:
        with self._lock:
            process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):  # a question that was not read any more
                    stream.close()


def _end(code: int) -> str:
    if code >= 0:
        return f"it ended with code {code}"
    name = signal.Signals(-code).name
    often = ", as where memory runs out" if -code == signal.SIGKILL else ""
    return f"it was ended by {name}{often}"


def process_pool(workers: int) -> Pool:
    threads = max(1, cores() // workers)
    return Pool("processes", [ProcessWorker(threads) for _ in range(workers)])
