"""The command `mtgauge serve`, as a process of its own."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time

import httpx
import pytest

from mtgauge.cli import main
from web_server import SLOW, serving, submit, wait


def children(pid):
    """Processes that this one has started, by the kernel's list."""
    found = []
    for entry in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if entry.isdigit():
                with open(f"/proc/{entry}/stat", encoding="utf-8") as handle:
                    about = handle.read().rpartition(")")[2].split()
                if int(about[1]) == pid and about[0] != "Z":
                    found.append(int(entry))
    return found


def is_there(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as handle:
            return handle.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="reads the list of processes (Linux)")
def test_a_server_that_is_killed_leaves_no_process_and_its_runs_are_found_again(tmp_path):
    with serving(tmp_path) as (process, address), httpx.Client(base_url=address) as client:
        run = submit(client, SLOW, times=300)
        wait(client, run, ["running"], stage="loading models")
        waiting = submit(client)
        workers = children(process.pid)
        assert len(workers) >= 2
        process.kill()
        process.wait()
        until = time.monotonic() + 30
        while any(map(is_there, workers)) and time.monotonic() < until:
            time.sleep(0.1)
        assert [pid for pid in workers if is_there(pid)] == []
    with serving(tmp_path) as (process, address), httpx.Client(base_url=address) as client:
        assert "The server stopped" in client.get(f"/runs/{run}").json()["error"]
        assert wait(client, waiting)["state"] == "done"
        process.terminate()
        assert process.wait(timeout=30) == 130


def test_limits_and_token_reach_the_server(tmp_path):
    options = ["--token", "correct horse", "--max-upload", "1", "-m", "chrf"]
    with serving(tmp_path, *options) as (_, address), httpx.Client(base_url=address) as client:
        assert client.get("/metrics").status_code == 401
        client.headers["authorization"] = "Bearer correct horse"
        assert [m["spec"] for m in client.get("/metrics").json()] == ["chrf"]
        large = iter([b"x" * (1 << 19)] * 3)
        with contextlib.suppress(httpx.TransportError):  # the server may hang up on it
            assert client.post("/score", content=large).status_code == 413
        assert client.get("/runs").json() == []
        port = str(client.base_url.port)
        done = subprocess.run(
            [sys.executable, "-m", "mtgauge", "serve", "--port", port, "--state", tmp_path / "b"],
            capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert done.returncode == 3
        assert f"port {port} cannot be opened" in done.stderr


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--host", "0.0.0.0"], 2, "give --token"),
        (["--token", "short"], 2, "at least 12"),
        (["--max-waiting", "0"], 2, "limit on waiting runs (--max-waiting) is 1 or more"),
        (["-m", "bluh"], 2, "There is no metric 'bluh'"),
        (["--host", "no.such.host.invalid", "--token", "correct horse"], 3, "cannot be opened"),
        (["--port", "99999"], 2, "between 0 and 65535"),
    ],
)
def test_wrong_options_are_refused(tmp_path, capsys, monkeypatch, options, code, message):
    monkeypatch.setattr(socket.socket, "listen", lambda self: pytest.fail("it listens"))
    assert main(["serve", "--state", str(tmp_path), *options]) == code
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("package", ["fastapi", "python_multipart"])
def test_a_missing_package_is_named(monkeypatch, capsys, package):
    monkeypatch.setitem(sys.modules, package, None)
    assert main(["serve"]) == 4
    assert f"needs the package {package}: pip install 'mtgauge[web]'" in capsys.readouterr().err
