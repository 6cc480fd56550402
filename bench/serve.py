"""How soon `mtgauge serve` answers while a run is under way.

    python bench/serve.py [SECONDS]

Starts a server, submits a run of heavy metrics over the example in the package, and asks for pages
until the time is over: milliseconds at the median, at the 95th percentile, and the most.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import tempfile
import time
from importlib import resources

import httpx

METRICS = ("regressor", "bertscore", "xmoverscore")
TIMES = 200  # the example has 20 segments of three systems
PATHS = ("/", "/runs", "/runs/{run}", "/metrics?side=source&lang=de-en", "/static/home.js")


def main(seconds: float = 20.0) -> None:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "mtgauge", "serve", "--port", "0", "--state", folder]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
            assert server.stderr is not None
            found = re.search(r"http://\S+:\d+", server.stderr.readline())
            assert found is not None
            try:
                with httpx.Client(base_url=found.group(), timeout=60) as client:
                    measure(client, seconds)
            finally:
                server.send_signal(signal.SIGINT)


def measure(client: httpx.Client, seconds: float) -> None:
    run = submit(client)
    while status(client, run)["done"] == 0:  # models are loaded, scoring has begun
        time.sleep(0.1)
    taken: dict[str, list[float]] = {path: [] for path in PATHS}
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        for path, times in taken.items():
            started = time.perf_counter()
            client.get(path.format(run=run))
            times.append(1000 * (time.perf_counter() - started))
            time.sleep(0.02)
    now = status(client, run)
    print(f"run: {now['state']}, {now['done']:,} of {now['total']:,} segments x 3 systems")
    print(f"{'address':36}{'requests':>9}{'median ms':>11}{'95 % ms':>9}{'most ms':>9}")
    for path, times in taken.items():
        ranked = sorted(times)
        figures = ranked[len(ranked) // 2], ranked[int(0.95 * len(ranked))], ranked[-1]
        print(f"{path:36}{len(times):>9}{figures[0]:>11.1f}{figures[1]:>9.1f}{figures[2]:>9.1f}")


def submit(client: httpx.Client) -> str:
    example = resources.files("mtgauge") / "data" / "example" / "de-en.tsv"
    head, *body = example.read_bytes().splitlines(keepends=True)
    fields = {"translation": "e.tsv", "lang": "de-en", "metric": list(METRICS)}
    files = {"file": ("e.tsv", head + b"".join(body) * TIMES)}
    return str(client.post("/runs", data=fields, files=files).json()["id"])


def status(client: httpx.Client, run: str) -> dict[str, int]:
    return dict(client.get(f"/runs/{run}").json())


if __name__ == "__main__":
    main(*map(float, sys.argv[1:2]))
