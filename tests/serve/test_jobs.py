"""The queue: order, cancelling, death, limits, restart."""

from __future__ import annotations

import os
import signal

import pytest

from mtgauge.serve.runs import Run, Store, now
from mtgauge.serve.worker import Died, Worker
from web_server import SLOW, columns, server, submit, wait


@pytest.fixture
def small(tmp_path):
    with server(tmp_path, waiting=2) as client:
        yield client


def test_a_run_that_is_killed_says_why_and_the_next_one_goes_on(small):
    run = submit(small, SLOW, times=100)
    wait(small, run, ["running"], stage="loading models")
    after = submit(small)
    worker = small.app.state.mtgauge.jobs.worker
    os.kill(worker.pid, signal.SIGKILL)
    status = wait(small, run)
    assert status["state"] == "failed"
    assert "most likely because memory ran out" in status["error"]
    assert small.get(f"/runs/{run}/result.json").status_code == 409
    assert "memory ran out" in small.get(f"/run/{run}").text
    assert wait(small, after)["state"] == "done"


def test_a_crash_is_named(small):
    run = submit(small, SLOW, times=100)
    wait(small, run, ["running"], stage="loading models")
    os.kill(small.app.state.mtgauge.jobs.worker.pid, signal.SIGSEGV)
    assert "crashed (SIGSEGV)" in wait(small, run)["error"]


def test_runs_are_cancelled_while_they_run_and_while_they_wait(small):
    running, waiting = submit(small, SLOW, times=100), submit(small)
    wait(small, running, ["running"], stage="loading models")
    assert small.delete(f"/runs/{running}").status_code == 409
    assert small.post(f"/runs/{waiting}/cancel").json()["state"] == "cancelled"
    small.post(f"/runs/{running}/cancel")
    assert wait(small, running, seconds=20)["state"] == "cancelled"
    store = small.app.state.mtgauge.store
    assert not (store.place(store.get(running)) / "input").exists()
    assert not (store.place(store.get(waiting)) / "input").exists()
    done = submit(small)
    assert wait(small, done)["state"] == "done"
    assert small.post(f"/runs/{done}/cancel").json()["state"] == "done"
    assert small.post(f"/runs/{'A' * 16}/cancel").status_code == 404


def test_the_queue_has_an_end(small):
    first = submit(small, SLOW, times=100)
    wait(small, first, ["running"])
    more = [submit(small), submit(small)]
    full = small.post("/runs", files={"file": ("a.txt", "x")}, data={"translation": "a.txt"})
    assert full.status_code == 429
    assert "2 runs are waiting already" in full.json()["error"]
    assert "retry-after" in full.headers
    # what needs an answer now does not wait for the queue
    texts = {"hypotheses": ["x"], "references": ["x"], "metrics": ["chrf"]}
    assert small.post("/score", json=texts).status_code == 200
    assert small.get(f"/runs/{first}").json()["state"] == "running"
    small.post(f"/runs/{first}/cancel")
    assert [wait(small, run)["state"] for run in more] == ["done", "done"]
    assert (
        small.get(f"/runs/{more[0]}").json()["ended"]
        <= (small.get(f"/runs/{more[1]}").json()["started"])
    )


def test_a_run_that_takes_too_long_is_stopped(tmp_path):
    with server(tmp_path, seconds=1) as client:
        run = submit(client, SLOW, times=100)
        status = wait(client, run)
        assert status["state"] == "failed"
        assert "took longer than 1 seconds" in status["error"]


def test_a_quick_answer_has_its_limit_too(tmp_path):
    worker = Worker()
    try:
        with pytest.raises(Died, match=r"longer than 0 seconds"):
            worker.call("quick", {}, seconds=0.01)
    finally:
        worker.kill()


def test_runs_survive_a_restart(tmp_path):
    with server(tmp_path) as client:
        run = submit(client, title="kept")
        wait(client, run)
        report = client.get(f"/runs/{run}/report.html").text
        cut = submit(client, SLOW, times=100)
        wait(client, cut, ["running"], stage="loading models")
        waiting = submit(client)
    with server(tmp_path) as client:
        assert client.get(f"/runs/{run}").json()["title"] == "kept"
        assert client.get(f"/runs/{run}/report.html").text == report
        assert "The server stopped" in client.get(f"/runs/{cut}").json()["error"]
        assert wait(client, waiting)["state"] == "done"


def test_a_server_that_was_killed_leaves_no_run_behind(tmp_path):
    store = Store(tmp_path, 10)
    name, folder = store.new_folder()
    (folder / "a.txt").write_text("x\n")
    run = Run(name, "cut", now(), ["fluency"], [("a.txt", None)], state="running")
    store.add(run)
    store.new_folder()  # uploads that never became a run
    (store.folder / name / "run.json").chmod(0o600)
    store.close()
    with server(tmp_path) as client:
        assert [r["state"] for r in client.get("/runs").json()] == ["failed"]
        assert [path.name for path in (tmp_path / "runs").iterdir()] == [name]
        assert not folder.exists()


def test_a_damaged_record_is_no_run(tmp_path):
    (tmp_path / "runs" / "x").mkdir(parents=True)
    (tmp_path / "runs" / "x" / "run.json").write_text('{"id": "x"')
    store = Store(tmp_path, 10)
    assert store.all() == []
    store.close()


def test_the_oldest_runs_make_room(tmp_path):
    with server(tmp_path, kept=1) as client:
        runs = [submit(client) for _ in range(2)]
        for run in runs:
            wait(client, run)
        last = submit(client)
        wait(client, last)
        assert [run["id"] for run in client.get("/runs").json()] == [last, runs[1]]


def test_the_process_keeps_its_models(tmp_path):
    with server(tmp_path) as client:
        first, second = submit(client, ["bertscore"]), submit(client, ["bertscore"])
        assert wait(client, first)["state"] == "done"
        worker = client.app.state.mtgauge.jobs.worker
        pid = worker.pid
        assert wait(client, second)["state"] == "done"
        assert worker.pid == pid


def test_unescaping_is_asked_for(tmp_path):
    with server(tmp_path) as client:
        files = [("file", ("a.txt", "Tom &amp;quot;x&quot;\n")), ("file", ("r.txt", 'Tom "x"\n'))]
        data = {"translation": "a.txt", "reference": "r.txt", "metric": "chrf", "unescape": "on"}
        run = client.post("/runs", files=files, data=data).json()["id"]
        assert wait(client, run)["summary"]["scores"]["chrf"]["a"] == 100
        assert columns()["source"].count("\n") == 20


def test_the_queue_outlives_a_run_that_cannot_be_kept(small, monkeypatch):
    store = small.app.state.mtgauge.store
    finish = store.finish

    def broken(run, *how):
        if run.title == "lost":
            raise OSError("no space")
        finish(run, *how)

    monkeypatch.setattr(store, "finish", broken)
    lost, kept = submit(small, title="lost"), submit(small)
    assert "could not keep" in wait(small, lost)["error"]
    assert wait(small, kept)["state"] == "done"
