"""The command `mtgauge serve`, as a process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

from mtgauge.cli import main
from web_server import EXAMPLE


@contextlib.contextmanager
def serving(folder, *options):
    """A server: its process and its address; it is interrupted at the end, if it is still there."""
    command = [sys.executable, "-m", "mtgauge", "serve", "--port", "0", "--state", str(folder)]
    process = subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True)
    try:
        found = re.search(r"http://\S+", process.stderr.readline())
        assert found is not None
        yield process, found.group()
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.wait(timeout=30)
        process.stderr.close()


def get(address, **headers):
    with urllib.request.urlopen(urllib.request.Request(address, headers=headers)) as answer:
        return json.loads(answer.read())


def submit(address, metrics, times):
    head, *body = EXAMPLE.splitlines(keepends=True)
    fields = [("translation", b"e.tsv"), ("lang", b"de-en"), *(("metric", m) for m in metrics)]
    parts = [b'--b\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n' % (k.encode(), v)
             for k, v in fields]  # fmt: skip
    file = b'--b\r\nContent-Disposition: form-data; name="file"; filename="e.tsv"\r\n\r\n'
    data = b"".join(parts) + file + head + b"".join(body) * times + b"\r\n--b--\r\n"
    kind = {"Content-Type": "multipart/form-data; boundary=b"}
    with urllib.request.urlopen(urllib.request.Request(f"{address}runs", data, kind)) as answer:
        return json.loads(answer.read())["id"]


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
    with serving(tmp_path) as (process, address):
        slow = [b"regressor", b"xmoverscore", b"bertscore"]
        run = submit(address, slow, 300)
        while get(f"{address}runs/{run}")["stage"] != "loading models":
            time.sleep(0.05)
        waiting = submit(address, [b"chrf"], 1)
        workers = children(process.pid)
        assert len(workers) >= 2
        process.kill()
        process.wait()
        until = time.monotonic() + 30
        while any(map(is_there, workers)) and time.monotonic() < until:
            time.sleep(0.1)
        assert [pid for pid in workers if is_there(pid)] == []
    with serving(tmp_path) as (process, address):
        assert "The server stopped" in get(f"{address}runs/{run}")["error"]
        until = time.monotonic() + 60
        while get(f"{address}runs/{waiting}")["state"] != "done" and time.monotonic() < until:
            time.sleep(0.1)
        assert get(f"{address}runs/{waiting}")["state"] == "done"
        process.terminate()
        assert process.wait(timeout=30) == 130
        assert "Traceback" not in process.stderr.read()


def test_limits_and_token_reach_the_server(tmp_path):
    options = ["--token", "correct horse", "--max-upload", "1", "-m", "chrf"]
    with serving(tmp_path, *options) as (_, address):
        with pytest.raises(urllib.error.HTTPError, match="401"):
            get(f"{address}metrics")
        right = {"Authorization": "Bearer correct horse"}
        assert [m["spec"] for m in get(f"{address}metrics", **right)] == ["chrf"]
        request = urllib.request.Request(f"{address}score", b"x" * (1 << 20) + b"x", right)
        with pytest.raises((urllib.error.URLError, ConnectionError)):
            urllib.request.urlopen(request)
        assert get(f"{address}runs", **right) == []
        busy = address.rstrip("/").rpartition(":")[2]
        done = subprocess.run(
            [sys.executable, "-m", "mtgauge", "serve", "--port", busy, "--state", tmp_path / "b"],
            capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert done.returncode == 3
        assert f"port {busy} cannot be opened" in done.stderr


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--host", "0.0.0.0"], 2, "give --token"),
        (["--token", "short"], 2, "at least 12"),
        (["--max-waiting", "0"], 2, "limit waiting is 1 or more"),
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
