"""What the parts of a running server share."""

from __future__ import annotations

import threading
from typing import Any

from mtgauge.serve.catalogue import Catalogue
from mtgauge.serve.jobs import Jobs
from mtgauge.serve.refusals import Refusal
from mtgauge.serve.runs import Store
from mtgauge.serve.settings import ServerSettings
from mtgauge.serve.worker import Worker

PLACES = 8  # requests that may wait for a quick answer: each holds a thread of the server


class State:
    """Settings, metrics, runs, the queue, and a second process that answers at once."""

    def __init__(self, settings: ServerSettings) -> None:
        self.settings = settings
        self.catalogue = Catalogue(settings.metrics)
        self.store = Store(settings.state, settings.limits.kept)
        self.jobs = Jobs(self.store, settings)
        self.quick = Worker(settings.device)
        self._places = threading.BoundedSemaphore(PLACES)

    def ask(self, task: str, asked: dict[str, Any]) -> dict[str, Any]:
        """A task that is answered now, whatever run is under way."""
        seconds = self.settings.limits.quick_seconds
        if not self._places.acquire(blocking=False):
            raise Refusal(503, "The server is busy with other requests: try again in a moment.")
        try:
            return self.quick.call(task, asked, seconds=seconds)
        finally:
            self._places.release()

    def close(self) -> None:
        self.jobs.close()
        self.quick.kill()
        self.store.close()
