"""What the parts of a running server share."""

from __future__ import annotations

from typing import Any

from mtgauge.serve.catalogue import Catalogue
from mtgauge.serve.jobs import Jobs
from mtgauge.serve.runs import Store
from mtgauge.serve.settings import Settings
from mtgauge.serve.worker import Worker


class State:
    """Settings, metrics, runs, the queue, and a second process that answers at once."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.catalogue = Catalogue(settings.metrics)
        self.store = Store(settings.state, settings.limits.kept)
        self.jobs = Jobs(self.store, settings)
        self.quick = Worker(settings.device)

    def ask(self, task: str, asked: dict[str, Any]) -> dict[str, Any]:
        """A task that is answered now, whatever run is under way."""
        seconds = self.settings.limits.quick_seconds
        return self.quick.call(task, asked, seconds=seconds, patience=seconds)

    def close(self) -> None:
        self.jobs.close()
        self.quick.kill()
        self.store.close()
