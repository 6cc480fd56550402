"""Warnings of a run that are looked for in a second process, while this one scores.

    with Aside("de-en", USUAL) as aside:
        result = score_corpus(corpus, specs, "de-en", keep=True, look=aside.look)
        result = aside.tell(result)          # with its flags, if they were looked for

Neither needs the other, and a machine has more than one core: with surface metrics, finding
warnings takes as long as scoring. A run shorter than a shard, or on one core,
has no second process, and `tell` leaves its result as it is: then `inside.looked_into` looks, as it
does where the process ended early.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Self

from mtgauge.data.corpus import Chunk
from mtgauge.encode.runtime import cores
from mtgauge.engine.flags import Flag, Flags
from mtgauge.engine.places import SHARD
from mtgauge.engine.pool import Died
from mtgauge.engine.processes import ProcessWorker
from mtgauge.engine.result import Result
from mtgauge.engine.worker import Message
from mtgauge.errors import ResourceError


class Aside:
    """Looks for warnings of these kinds in the chunks it is shown."""

    def __init__(self, lang: str | None, kinds: tuple[str, ...]) -> None:
        self._about = {"lang": lang, "kinds": list(kinds)}
        self._thread: ThreadPoolExecutor | None = None  # waits for the process
        self._worker = ProcessWorker(threads=1)
        self._answers: list[Future[Message]] = []
        self._seen = 0  # segments

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._worker.stop()
        if self._thread is not None:
            self._thread.shutdown(cancel_futures=True)

    def look(self, chunk: Chunk) -> None:
        """Have the next chunk looked at; returns at once."""
        if not self._seen and len(chunk) >= SHARD and cores() > 1:
            with suppress(ResourceError):
                self._worker.start(lambda: True)
                self._thread = ThreadPoolExecutor(max_workers=1)
        self._seen += len(chunk)
        if self._thread is not None:
            texts = {"sources": chunk.sources, "systems": chunk.systems}
            question = {"look": self._about | texts}
            self._answers.append(self._thread.submit(self._worker.ask, question))

    def tell(self, result: Result) -> Result:
        """The result with what was found, once all of it is."""
        found: dict[str, list[Flags]] = {name: [] for name in result.systems}
        with suppress(Died):
            for answer in (each.result() for each in self._answers):
                if "fault" in answer:
                    return result
                for name, rows in answer["flags"].items():
                    found[name] += [tuple(map(Flag.from_dict, flags)) for flags in rows]
            if self._answers:
                return replace(result, flags=found)
        return result
