"""Warnings and phrases of a run, looked for in a second process while this one scores.

    with Aside("de-en", USUAL) as aside:
        result = score_corpus(corpus, specs, "de-en", keep=True, beside=aside)
        result = aside.tell(result)          # with flags and contrast, if they were looked for

Neither needs the other, and a machine has more than one core: with surface metrics, this takes
half as long as scoring. A run shorter than a shard, or on one core, has no second process, and
`tell` leaves its result as it is: then `inside.looked_into` looks, as it does where the process
ended early.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Self

from mtgauge.data.codes import Language
from mtgauge.data.corpus import Chunk
from mtgauge.data.watch import Strangers
from mtgauge.encode.runtime import cores
from mtgauge.engine.contrast import Contrast
from mtgauge.engine.flags import Flag, Flags
from mtgauge.engine.inside import explained
from mtgauge.engine.places import SHARD
from mtgauge.engine.pool import Died
from mtgauge.engine.processes import ProcessWorker
from mtgauge.engine.result import Result
from mtgauge.engine.worker import Message
from mtgauge.errors import ResourceError
from mtgauge.text import untranslated


class Aside:
    """Looks for warnings of these kinds, and counts words, in the chunks it is shown.

    `explain` is how many segments the report will explain (`inside.explained`).
    """

    def __init__(
        self, lang: str | None, kinds: tuple[str, ...], explain: int | None = None
    ) -> None:
        self._about = {"lang": lang, "kinds": list(kinds)}
        self._explain = explain
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
            rows = chunk.references
            firsts = None if rows is None else [row[0] if row else "" for row in rows]
            texts = {"sources": chunk.sources, "references": firsts, "systems": chunk.systems}
            self._ask({"look": self._about | texts})

    def strangers(self, texts: Sequence[str], expected: Language) -> Strangers:
        """Have the languages of some lines told, here where there is no second process."""
        if self._thread is None:
            return untranslated.ask_strangers(texts, expected)
        question = {"strangers": {"texts": list(texts), "lang": str(expected)}}
        asked = self._thread.submit(self._worker.ask, question)

        def answer() -> Sequence[str]:
            with suppress(Died):
                told = asked.result()
                if "strangers" in told:
                    return list(told["strangers"])
            return untranslated.strangers(texts, expected)

        return answer

    def meanwhile(self, result: Result) -> Result:
        """The result with its explanations, made while the second process is still looking."""
        return result if self._thread is None else explained(result, self._explain)

    def tell(self, result: Result) -> Result:
        """The result with what was found, once all of it is."""
        if self._thread is None:
            return result
        assert result.texts is not None
        if result.texts.references is not None:
            self._ask({"contrast": result.baseline})
        flags: dict[str, list[Flags]] = {name: [] for name in result.systems}
        contrast: Contrast | None = None
        with suppress(Died):
            for answer in (each.result() for each in self._answers):
                if "fault" in answer:
                    return result
                if "contrast" in answer:
                    contrast = Contrast.from_dict(answer["contrast"])
                for name, rows in answer.get("flags", {}).items():
                    flags[name] += [tuple(map(Flag.from_dict, each)) for each in rows]
            return replace(result, flags=flags, contrast=contrast)
        return result

    def _ask(self, question: Message) -> None:
        assert self._thread is not None
        self._answers.append(self._thread.submit(self._worker.ask, question))
