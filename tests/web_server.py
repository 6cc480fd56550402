"""A server without a network: its application, its processes, a folder of its own."""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import sys
import time
from importlib import resources

from fastapi.testclient import TestClient

from mtgauge.serve.app import create
from mtgauge.serve.settings import Limits, ServerSettings

EXAMPLE = (resources.files("mtgauge") / "data" / "example" / "de-en.tsv").read_bytes()
HOME = "http://127.0.0.1"
SLOW = ["regressor", "bertscore", "moverscore", "xmoverscore", "esim"]


def columns():
    """The example as {column: text of a file}."""
    rows = [line.split("\t") for line in EXAMPLE.decode().splitlines()]
    return {name: "\n".join(texts) + "\n" for name, *texts in map(list, zip(*rows, strict=True))}


def server(folder, **limits):
    """A client of an application that keeps its runs in the folder; use it in a `with` block."""
    settings = ServerSettings(state=folder, limits=Limits(**limits))
    return TestClient(create(settings), base_url=HOME)


@contextlib.contextmanager
def serving(folder, *options):
    """The command as a process of its own: that process and its address, once it listens.

    At the end it is interrupted, if it is still there; it has never printed a traceback.
    """
    command = [sys.executable, "-m", "mtgauge", "serve", "--port", "0", "--state", str(folder)]
    with subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True) as process:
        try:
            found = re.search(r"http://\S+", process.stderr.readline())
            assert found is not None
            yield process, found.group()
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            told = process.communicate(timeout=60)[1]
        assert "Traceback" not in told


def submit(client, metrics=("chrf",), times=1, **fields):
    """Submit the example, several times over for a run that takes a while; the run's id."""
    head, *body = EXAMPLE.splitlines(keepends=True)
    data = {"translation": ["de-en.tsv"], "metric": list(metrics), "lang": "de-en", **fields}
    files = {"file": ("de-en.tsv", head + b"".join(body) * times)}
    answer = client.post("/runs", data=data, files=files)
    assert answer.status_code == 202, answer.text
    return answer.json()["id"]


def wait(client, run, states=("done", "failed", "cancelled"), seconds=120, stage=None):
    """The run's status once it is in one of these states, and at that stage if one is named."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        status = client.get(f"/runs/{run}").json()
        if status["state"] in states and (stage is None or status["stage"] == stage):
            return status
        time.sleep(0.05)
    raise AssertionError(f"still {status}")
