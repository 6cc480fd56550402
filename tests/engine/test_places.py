"""Places: shards in, rows out, in order; workers that die, differ, or cannot be started."""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from mtgauge import score
from mtgauge.cli import main
from mtgauge.data.segments import Segments
from mtgauge.encode import model_folder
from mtgauge.encode.load import configured, load_encoder, load_language_model
from mtgauge.engine import places
from mtgauge.engine.cache import RowCache
from mtgauge.engine.places import AHEAD, Here, Where, open_place, rows_of, shards
from mtgauge.engine.pool import ATTEMPTS, Died, Pool
from mtgauge.engine.processes import ProcessWorker, process_pool
from mtgauge.engine.ready import Ready, serve
from mtgauge.engine.worker import Worker, about
from mtgauge.errors import InputError, MtgaugeError, ResourceError, UsageError
from mtgauge.metric import Task

WORDS = "the cat sat on a mat and did not see how far the dog was from it".split()
TASK = Task(frozenset({"source", "reference"}), "de-en")


def sentences(n: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    return [" ".join(draw.choices(WORDS, k=draw.randint(1, 12))) for _ in range(n)]


BATCH = Segments(
    [*sentences(58, 1), "", "zwei"],
    sentences(60, 2),
    [(x, y) for x, y in zip(sentences(60, 3), sentences(60, 4), strict=True)],
    "de-en",
)


def metrics() -> dict[str, Ready]:
    texts = [text for row in BATCH.references or () for text in row]
    return serve(["bleu", "nist", "ter"], TASK, references=lambda: texts, number=2)[0]


@pytest.fixture(autouse=True, scope="module")
def settings_of_this_process():
    """Workers in threads set what is theirs in this process: put it back."""
    with configured():
        yield


class InThread:
    """A worker without a process: answers after a while, in an order that nobody knows."""

    def __init__(self, deaths: int = 0, delay: float = 0.003) -> None:
        self.deaths, self.delay = deaths, delay
        self.starts = 0

    def start(self, wanted) -> None:
        self.starts += 1
        self.worker = Worker()

    def ask(self, question):
        time.sleep(random.random() * self.delay)
        if "batch" in question and self.deaths:
            self.deaths -= 1
            raise Died("it was ended by SIGKILL")
        return json.loads(json.dumps(self.worker.answer(question)))

    def stop(self) -> None:
        pass


def whole(place: places.Place, size: int = 4) -> tuple[dict[str, np.ndarray], dict[str, dict]]:
    ready = metrics()
    parts = list(place.run(ready, shards(BATCH, size)))
    rows = {spec: np.concatenate([part[spec] for part in parts]) for spec in ready}
    return rows, {spec: dict(one.metric.notes) for spec, one in ready.items()}


def same(found, expected) -> None:
    assert found[1] == expected[1]
    for spec, rows in expected[0].items():
        np.testing.assert_array_equal(found[0][spec], rows, err_msg=spec)


@pytest.mark.parametrize("size", [1, 7, 60, 500])
@pytest.mark.parametrize("workers", [1, 2, 5])
def test_rows_come_in_order_whoever_made_them(workers: int, size: int) -> None:
    place = Pool("threads", [InThread() for _ in range(workers)])
    same(whole(place, size), whole(Here()))
    same(whole(place, size), whole(Here()))  # a place runs many times


@pytest.fixture
def models_anew() -> Iterator[Callable[[], None]]:
    """Forgets models that are open: the next ones are opened for the cores of that moment."""

    def forget() -> None:
        for opener in (load_encoder, load_language_model, model_folder._open):
            opener.cache_clear()

    yield forget
    forget()


def test_rows_do_not_depend_on_the_number_of_cores(
    models_anew: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    specs = ["bertscore", "xmoverscore", "fluency", "esim", "regressor", "regressor:view=hyp+src"]
    found = []
    for cores in ("1", "3"):
        monkeypatch.setenv("OMP_NUM_THREADS", cores)
        monkeypatch.setenv("MTGAUGE_THREADS", cores)
        models_anew()
        ready = serve(specs, TASK, number=2)[0]
        (tables,) = Here().run(ready, [BATCH])
        found.append((tables, {spec: dict(one.metric.notes) for spec, one in ready.items()}))
    same(found[1], found[0])


def test_batches_are_read_only_as_far_ahead_as_there_are_workers() -> None:
    place = Pool("threads", [InThread(delay=0.0) for _ in range(2)])
    read = 0

    def batches() -> Iterator[Segments]:
        nonlocal read
        for part in shards(BATCH, 1):
            read += 1
            yield part

    for taken, _ in enumerate(place.run(metrics(), batches())):
        assert read <= taken + 2 * AHEAD
    assert read == len(BATCH)


def test_a_shard_of_a_worker_that_died_is_scored_again() -> None:
    place = Pool("threads", [InThread(deaths=2), InThread(deaths=1), InThread()])
    same(whole(place), whole(Here()))
    assert place.deaths == 3
    assert "3 replaced" in place.remark()


def test_a_shard_that_ends_every_worker_is_named() -> None:
    place = Pool("threads", [InThread(deaths=99)])
    with pytest.raises(ResourceError, match=rf"Shard 1 \(4 segments\) .* {ATTEMPTS} times: .*KILL"):
        whole(place)


def test_a_worker_that_cannot_be_started_is_missed_unless_it_is_the_last() -> None:
    class Broken(InThread):
        def start(self, wanted) -> None:
            raise ResourceError("no room for a worker")

    same(whole(Pool("threads", [Broken(), InThread()])), whole(Here()))
    with pytest.raises(ResourceError, match="no room"):
        whole(Pool("threads", [Broken(), Broken()]))


def test_a_worker_of_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    old = {"numpy": "0.9"}
    monkeypatch.setattr("mtgauge.engine.pool.about", lambda given: about(given) | old)
    with pytest.raises(ResourceError, match=r"differs .* in numpy: .* there, 0\.9 here"):
        whole(Pool("threads", [InThread()]))


def test_a_fault_of_the_input_is_the_same_error_as_in_process() -> None:
    class Failing(InThread):
        def ask(self, question):
            if "batch" in question:
                self.worker.metrics = None  # a fault of ours
                if "zwei" in question["batch"]["hypotheses"]:
                    return {"fault": "InputError", "message": "a.txt, line 3: not a text."}
            return super().ask(question)

    with pytest.raises(MtgaugeError, match="Traceback") as caught:
        whole(Pool("threads", [Failing()]))
    assert caught.value.exit_code == 1
    with pytest.raises(InputError, match="line 3: not a text"):
        whole(Pool("threads", [Failing()]), 60)


def test_without_metrics_no_worker_is_started() -> None:
    worker = InThread()
    assert list(Pool("threads", [worker]).run({}, shards(BATCH, 30))) == [{}, {}]
    assert not worker.starts


def test_rows_that_the_cache_has_are_not_asked_of_workers(tmp_path) -> None:
    ready = metrics()["bleu"]
    expected = rows_of(ready, BATCH)
    with open_place(Where(workers=2)) as place:
        cache = RowCache(tmp_path)
        first = rows_of(ready, BATCH, place=place, cache=cache)
        np.testing.assert_array_equal(first, expected)
    idle = InThread()
    again = rows_of(ready, BATCH, place=Pool("threads", [idle]), cache=cache)
    np.testing.assert_array_equal(again, expected)
    assert cache.hits
    assert not idle.starts


# Real processes


@pytest.fixture(scope="module")
def processes() -> Iterator[Pool]:
    place = process_pool(2)
    yield place
    place.close()


class Killed(ProcessWorker):
    """Its process is killed when it is asked for these of its shards, counted from 1."""

    def __init__(self, fatal: list[int]) -> None:
        super().__init__(threads=1)
        self.fatal, self.asked = fatal, 0

    def ask(self, question):
        if "batch" in question:
            self.asked += 1
            if self.asked in self.fatal:
                os.kill(self._process.pid, signal.SIGKILL)
        return super().ask(question)


def test_killed_in_the_middle_the_run_is_complete_and_the_same() -> None:
    place = Pool("processes", [Killed([3, 7]), Killed([2])])
    try:
        same(whole(place, 2), whole(Here()))
        assert 1 <= place.deaths <= 3  # one worker may have had all shards
    finally:
        place.close()


def test_a_worker_that_was_stopped_has_died() -> None:
    with pytest.raises(Died, match="stopped"):
        ProcessWorker(1).ask({})


def test_the_memory_of_workers_is_stated(processes: Pool) -> None:
    same(whole(processes), whole(Here()))
    assert 30 < processes.memory < 20_000
    assert f"2 workers (processes), at most {processes.memory:,} MiB each" in processes.remark()


def test_a_run_that_is_left_ends_its_workers() -> None:
    place = process_pool(2)
    workers: Any = place.workers
    run: Any = place.run(metrics(), shards(BATCH, 1))
    next(run)
    for starting in place._starting:  # the other may not have a process yet
        starting.join()
    pids = [worker._process.pid for worker in workers]
    run.close()
    for number in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(number, 0)
    with pytest.raises(UsageError, match="closed"):
        next(place.run(metrics(), shards(BATCH)))


def test_threads_do_not_pile_up(processes: Pool) -> None:
    whole(processes)
    before = threading.active_count()
    for _ in range(3):
        whole(processes)
    assert threading.active_count() <= before


def test_what_a_metric_prints_does_not_disturb_the_answers(tmp_path, monkeypatch) -> None:
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text("import sys; print('hello from a library')\n")
    monkeypatch.syspath_prepend(str(folder))
    place = process_pool(1)
    try:
        same(whole(place), whole(Here()))
    finally:
        place.close()


# Options


def test_wrong_places_are_refused() -> None:
    for wrong in ({"workers": 0}, {"workers": True}, {"engine": "spark"}, {"address": "a:1"}):
        with pytest.raises(UsageError):
            Where(**wrong)


def test_the_command_gives_the_same_result_with_workers(tmp_path, capsys) -> None:
    files = {"h": BATCH.hypotheses, "r": [row[0] for row in BATCH.references]}
    for name, lines in files.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    found = []
    for extra in ([], ["--workers", "2"]):
        out = tmp_path / f"{len(extra)}.json"
        arguments = ["-t", tmp_path / "h", "-r", tmp_path / "r", "-m", "chrf", "nist"]
        assert main(["score", *map(str, arguments), "--json", str(out), *extra]) == 0
        found.append(json.loads(out.read_text()))
    assert found[0] == found[1]
    assert "2 workers (processes)" in capsys.readouterr().err
    assert main(["score", *map(str, arguments), "--address", "a:1"]) == 2


def test_a_missing_extra_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with (
        pytest.raises(ResourceError, match=r"pip install 'mtgauge\[ray\]'"),
        open_place(Where("ray")) as place,
    ):
        score(["a"], references=["a"], place=place)
