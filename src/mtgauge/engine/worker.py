"""A worker: a process that holds models and scores shards, for `pool.py`.

Questions and answers are plain dictionaries (no object of ours travels, nothing is unpickled here):

    {"open": [order, ...], "settings": {...}}   ->  {"about": {...}}        metrics made ready
    {"batch": {"hypotheses": [...], ...}}       ->  {"tables": {...}, "notes": {...}, "memory": 812}
    {"look": {"sources": [...], "systems": ...}} -> {"flags": {"system": [[flag, ...], ...]}}
    {"strangers": {"texts": [...], "lang": "en"}} -> {"strangers": ["fr", "", ...]}
    {"contrast": "baseline"}                    ->  {"contrast": {...}}     of all looked at
    anything that fails                         ->  {"fault": "InputError", "message": "..."}

`python -P -m mtgauge.engine.worker` reads one JSON line per question and writes one per answer; a
Ray actor is the same class. Rows travel as base85 of little-endian float64: no bit is lost.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import sys
import traceback
import warnings
from dataclasses import asdict
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import IO, Any

import numpy as np

from mtgauge.data.codes import Language
from mtgauge.data.corpus import Chunk
from mtgauge.data.segments import Segments
from mtgauge.engine.contrast import Counted
from mtgauge.engine.flags import Finder
from mtgauge.engine.places import Tables, scored
from mtgauge.engine.ready import Order, Ready
from mtgauge.errors import as_error, named
from mtgauge.metric import Task
from mtgauge.text.untranslated import strangers

Message = dict[str, Any]
MARK = b"\x1e"  # begins every message: the record separator of ASCII
_LIBRARIES = ("numpy", "onnxruntime", "tokenizers", "sacrebleu")  # whose version may move a bit


class Worker:
    """Answers questions, one after another."""

    def __init__(self) -> None:
        self.metrics: dict[str, Ready] = {}
        self._finder: Finder | None = None
        self._counted: Counted | None = None

    def answer(self, question: Message) -> Message:
        try:
            if "look" in question:
                return self._look(**question["look"])
            if "strangers" in question:
                texts, lang = question["strangers"]["texts"], question["strangers"]["lang"]
                return {"strangers": strangers(texts, Language.parse(lang))}
            if "contrast" in question:
                assert self._counted is not None
                return {"contrast": self._counted.contrast(question["contrast"]).to_dict()}
            return self._open(question) if "open" in question else self._score(question)
        except Exception as fault:
            known = as_error(fault)
            told = "".join(traceback.format_exception(fault)).rstrip()
            kind, message = ("MtgaugeError", told) if known is None else named(known)
            return {"fault": kind, "message": message}

    def _open(self, question: Message) -> Message:
        from mtgauge.encode import configure

        configure(**question["settings"])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the process that asks has said it already
            self.metrics = {order["spec"]: unpacked(order).make() for order in question["open"]}
        return {"about": about(self.metrics)}

    def _look(
        self,
        lang: str | None,
        kinds: list[str],
        sources: list[str] | None,
        references: list[str] | None,
        systems: dict[str, list[str]],
    ) -> Message:
        """Warnings of a chunk, whose words are counted; a worker is asked for those of one run."""
        chunk = Chunk(systems, sources, None if references is None else [(t,) for t in references])
        if self._counted is not None:
            self._counted.add(chunk)
        elif references is not None:
            self._counted = Counted(chunk)
        self._finder = self._finder or Finder(lang, kinds)
        found = self._finder.look_at(chunk)
        return {
            "flags": {name: [[f.to_dict() for f in each] for each in rows]
                      for name, rows in found.items()}
        }  # fmt: skip

    def _score(self, question: Message) -> Message:
        for ready in self.metrics.values():
            ready.metric.notes.clear()
        tables = scored(self.metrics, _batch(question["batch"]))
        return {
            "tables": {spec: _packed_rows(rows) for spec, rows in tables.items()},
            "notes": {spec: dict(ready.metric.notes) for spec, ready in self.metrics.items()},
            "memory": peak_memory(),
        }


def about(metrics: dict[str, Ready]) -> dict[str, str]:
    """What must be the same in all processes of a run, or their rows could differ."""
    versions = {name: metadata.version(name) for name in _LIBRARIES}
    signed = {f"signature of {spec}": x.signature.full for spec, x in metrics.items()}
    fitted = {f"corpus of {spec}": x.corpus for spec, x in metrics.items()}
    return {"code of mtgauge": _code()} | versions | signed | fitted


@lru_cache(maxsize=1)
def _code() -> str:
    """Digest of the package's code; models are in the signatures."""
    root = Path(__file__).parents[1]
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted(root.rglob("*.py"), key=str):
        digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


def peak_memory() -> int:
    """The most that this process has held, in MiB; 0 where the system does not say."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak // (2**20 if sys.platform == "darwin" else 2**10))


def thread_limits(count: int) -> dict[str, str]:
    """Environment of a worker that computes on so many cores."""
    names = ("OMP_NUM_THREADS", "MTGAUGE_THREADS", "RAYON_NUM_THREADS")
    return dict.fromkeys(names, str(count))


# What travels


def packed(order: Order) -> Message:
    return asdict(order) | {"task": {"sides": sorted(order.task.sides), "lang": order.task.lang}}


def unpacked(order: Message) -> Order:
    task = Task(frozenset(order["task"]["sides"]), order["task"]["lang"])
    return Order(**order | {"task": task, "references": tuple(order["references"])})


def packed_batch(batch: Segments) -> Message:
    return {
        "hypotheses": list(batch.hypotheses),
        "sources": None if batch.sources is None else list(batch.sources),
        "references": None if batch.references is None else list(batch.references),
        "lang": batch.lang,
    }


def _batch(message: Message) -> Segments:
    rows = message["references"]
    references = None if rows is None else [tuple(row) for row in rows]
    return Segments(message["hypotheses"], message["sources"], references, message["lang"])


def _packed_rows(rows: np.ndarray) -> Message:
    data = np.ascontiguousarray(rows, dtype="<f8")
    return {"shape": list(data.shape), "rows": base64.b85encode(data.tobytes()).decode()}


def tables_of(answer: Message) -> Tables:
    """Rows by spec, from an answer."""
    return {
        spec: np.frombuffer(base64.b85decode(table["rows"]), "<f8").reshape(table["shape"]).copy()
        for spec, table in answer["tables"].items()
    }


# As a process of its own


def write(stream: IO[bytes], message: Message) -> None:
    stream.write(MARK + json.dumps(message).encode() + b"\n")
    stream.flush()


def read(stream: IO[bytes]) -> Message | None:
    """The next message; None where the other side has ended. What others printed is passed over."""
    for line in stream:
        if line.startswith(MARK) and line.endswith(b"\n"):
            message: Message = json.loads(line.removeprefix(MARK))
            return message
    return None


def main() -> None:
    """Questions from standard input, until it is closed; answers to standard output."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not stand among the answers
    worker = Worker()
    with contextlib.suppress(BrokenPipeError):  # nobody is waiting any more
        while (question := read(sys.stdin.buffer)) is not None:
            write(answers, worker.answer(question))
    os._exit(0)  # at once: nothing here needs an orderly end


if __name__ == "__main__":
    main()
