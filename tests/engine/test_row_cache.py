"""The row cache: right after a kill, shared by two processes, never stale, never unpickled."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3

import numpy as np
import pytest

from mtgauge import Segments
from mtgauge.engine import cache as module
from mtgauge.engine.cache import RowCache
from mtgauge.engine.places import rows_of
from mtgauge.engine.ready import Ready
from mtgauge.errors import ResourceError
from mtgauge.metric import FloatArray, Metric
from mtgauge.signature import sign


class Length(Metric):
    """Characters of the translation and of the reference."""

    name = "length-for-tests"
    columns = ("hyp", "ref")
    calls = 0

    def __init__(self, factor: float = 1.0) -> None:
        self.factor = factor

    def statistics(self, batch: Segments) -> FloatArray:
        type(self).calls += len(batch)
        texts = zip(batch.hypotheses, batch.references or [], strict=True)
        return np.array([[self.factor * len(h), len(r[0])] for h, r in texts]).reshape(-1, 2)


def ready(metric: Metric, corpus: str = "") -> Ready:
    return Ready(metric.name, metric, sign(metric), corpus)


@pytest.fixture(autouse=True)
def _uncounted():
    Length.calls = 0


def _batch(texts):
    return Segments(texts, references=[("reference",)] * len(texts), lang="de-en")


def test_second_time_nothing_is_scored(tmp_path):
    batch = _batch(["a", "bb", "a", ""])
    first = rows_of(ready(Length()), batch, cache=RowCache(tmp_path))
    assert Length.calls == 3, "a text that stands twice is scored once"
    again = RowCache(tmp_path)
    assert np.array_equal(rows_of(ready(Length()), batch, cache=again), first)
    assert Length.calls == 3
    assert (again.hits, again.misses) == (3, 0)
    assert first.tolist() == [[1, 9], [2, 9], [1, 9], [0, 9]]


def test_only_new_texts_are_scored(tmp_path):
    cache = RowCache(tmp_path)
    rows_of(ready(Length()), _batch(["a"]), cache=cache)
    assert rows_of(ready(Length()), _batch(["ccc", "a"]), cache=cache).tolist() == [[3, 9], [1, 9]]
    assert Length.calls == 2


def test_anything_that_moves_a_score_is_in_the_key(tmp_path, monkeypatch):
    cache = RowCache(tmp_path)
    rows_of(ready(Length()), _batch(["a"]), cache=cache)
    assert rows_of(ready(Length(2.0)), _batch(["a"]), cache=cache)[0, 0] == 2
    other_pair = Segments(["a"], references=[("reference",)], lang="fi-en")
    rows_of(ready(Length()), other_pair, cache=cache)
    rows_of(ready(Length()), Segments(["a"], references=[("other",)], lang="de-en"), cache=cache)
    rows_of(ready(Length(), "fitted elsewhere"), _batch(["a"]), cache=cache)
    assert cache.hits == 0
    monkeypatch.setattr(module, "code_fingerprint", lambda: "another release")
    fresh = RowCache(tmp_path)
    rows_of(ready(Length()), _batch(["a"]), cache=fresh)
    assert fresh.hits == 0


def test_texts_do_not_run_into_each_other(tmp_path):
    cache = RowCache(tmp_path)
    rows_of(ready(Length()), Segments(["ab"], references=[("c",)]), cache=cache)
    rows_of(ready(Length()), Segments(["a"], references=[("bc",)]), cache=cache)
    assert cache.hits == 0


def test_a_model_file_that_changed_is_another_metric(tmp_path):
    model = tmp_path / "model.txt"
    model.write_text("old")
    before = module._stamp(model)
    model.write_text("newer")
    assert module._stamp(model) != before
    assert module._stamp(tmp_path / "none") == ""


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path):
    class Breaks(Length):
        def statistics(self, batch):
            if "bad" in batch.hypotheses:
                raise KeyboardInterrupt
            return super().statistics(batch)

    cache = RowCache(tmp_path)
    rows_of(ready(Breaks()), _batch(["one", "two"]), cache=cache)
    with pytest.raises(KeyboardInterrupt):
        rows_of(ready(Breaks()), _batch(["three", "bad"]), cache=cache)
    again = RowCache(tmp_path)
    rows_of(ready(Breaks()), _batch(["one", "two", "three"]), cache=again)
    assert (again.hits, again.misses) == (2, 1)


def _die_while_writing(folder):
    cache = RowCache(folder)
    cache._store.execute("BEGIN IMMEDIATE")
    cache._store.execute("INSERT INTO rows VALUES (?, ?)", (b"half", b"written"))
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_killed_process_leaves_a_whole_file(tmp_path):
    rows_of(ready(Length()), _batch(["before"]), cache=RowCache(tmp_path))
    worker = multiprocessing.get_context("fork").Process(
        target=_die_while_writing, args=(tmp_path,)
    )
    worker.start()
    worker.join()
    assert worker.exitcode == -signal.SIGKILL
    cache = RowCache(tmp_path)
    rows_of(ready(Length()), _batch(["before", "after"]), cache=cache)
    assert (cache.hits, cache.misses) == (1, 1)
    assert cache._store.execute("SELECT count(*) FROM rows").fetchone() == (2,)


def _fill(folder, start):
    cache = RowCache(folder)
    for i in range(start, start + 40):
        rows_of(ready(Length()), _batch([f"text {i}", f"text {i + 1}"]), cache=cache)


def test_two_processes_share_one_file(tmp_path):
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_fill, args=(tmp_path, start)) for start in (0, 20)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0]
    cache = RowCache(tmp_path)
    rows = rows_of(ready(Length()), _batch([f"text {i}" for i in range(61)]), cache=cache)
    assert cache.misses == 0
    assert rows[:, 0].tolist() == [len(f"text {i}") for i in range(61)]


def test_a_broken_file_is_named(tmp_path):
    (tmp_path / "rows.sqlite").write_text("this is no database, and long enough to be seen as one")
    with pytest.raises(ResourceError, match=r"rows.sqlite.*--no-cache"):
        RowCache(tmp_path)


def test_rows_are_plain_numbers(tmp_path):
    rows_of(ready(Length()), _batch(["abc"]), cache=RowCache(tmp_path))
    (stored,) = sqlite3.connect(tmp_path / "rows.sqlite").execute("SELECT row FROM rows").fetchone()
    assert np.frombuffer(stored[16:], "<f8").tolist() == [3.0, 9.0]


@pytest.mark.parametrize("damage", [None, b"", b"11 bytes...", b"\0" * 32, "text", 5])
def test_a_damaged_row_is_scored_again(tmp_path, damage):
    batch = _batch(["abc", "de"])
    want = rows_of(ready(Length()), batch, cache=RowCache(tmp_path))
    with sqlite3.connect(tmp_path / "rows.sqlite") as store:
        store.execute("UPDATE rows SET row = ?", (damage,))
    store.close()
    cache = RowCache(tmp_path)
    np.testing.assert_array_equal(rows_of(ready(Length()), batch, cache=cache), want)
    assert (cache.hits, cache.misses, cache.damaged) == (0, 2, 2)
    again = RowCache(tmp_path)  # and what was damaged has been replaced
    np.testing.assert_array_equal(rows_of(ready(Length()), batch, cache=again), want)
    assert (again.hits, again.damaged) == (2, 0)


def test_rows_that_changed_places_are_scored_again(tmp_path):
    batch = _batch(["abc", "de"])
    want = rows_of(ready(Length()), batch, cache=RowCache(tmp_path))
    with sqlite3.connect(tmp_path / "rows.sqlite") as store:
        (one, a), (other, b) = store.execute("SELECT key, row FROM rows").fetchall()
        store.executemany("UPDATE rows SET row = ? WHERE key = ?", [(b, one), (a, other)])
    store.close()
    np.testing.assert_array_equal(rows_of(ready(Length()), batch, cache=RowCache(tmp_path)), want)


def test_files_below_a_folder_and_their_times_are_in_the_stamp(tmp_path):
    from mtgauge.engine.cache import _stamp

    file = tmp_path / "a" / "b" / "x.json"
    file.parent.mkdir(parents=True)
    file.write_text("one")
    before, times = _stamp(tmp_path), file.stat()
    file.write_text("two")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))  # as a careful copy would
    assert _stamp(tmp_path) != before


def test_a_new_version_of_a_library_is_another_key(tmp_path, monkeypatch):
    from mtgauge.engine import cache

    before = cache.code_fingerprint()
    monkeypatch.setattr(cache, "libraries", lambda: "numpy 99")
    assert cache.code_fingerprint.__wrapped__() != before
