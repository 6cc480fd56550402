"""How soon `mtgauge serve` answers while a run is under way.

    python bench/serve.py [SECONDS]

Starts a server, submits a run of heavy metrics over the example in the package, and asks for pages
until the time is over: milliseconds at the median, at the 95th percentile, and the most.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from importlib import resources

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
                measure(found.group(), seconds)
            finally:
                server.send_signal(signal.SIGINT)


def measure(address: str, seconds: float) -> None:
    run = submit(address)
    while status(address, run)["done"] == 0:  # models are loaded, scoring has begun
        time.sleep(0.1)
    taken: dict[str, list[float]] = {path: [] for path in PATHS}
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        for path, times in taken.items():
            started = time.perf_counter()
            get(address + path.format(run=run))
            times.append(1000 * (time.perf_counter() - started))
            time.sleep(0.02)
    now = status(address, run)
    print(f"run: {now['state']}, {now['done']:,} of {now['total']:,} segments x 3 systems")
    print(f"{'address':36}{'requests':>9}{'median ms':>11}{'95 % ms':>9}{'most ms':>9}")
    for path, times in taken.items():
        ranked = sorted(times)
        figures = ranked[len(ranked) // 2], ranked[int(0.95 * len(ranked))], ranked[-1]
        print(f"{path:36}{len(times):>9}{figures[0]:>11.1f}{figures[1]:>9.1f}{figures[2]:>9.1f}")


def submit(address: str) -> str:
    example = resources.files("mtgauge") / "data" / "example" / "de-en.tsv"
    head, *body = example.read_text(encoding="utf-8").splitlines(keepends=True)
    fields = [("translation", "e.tsv"), ("lang", "de-en"), *(("metric", name) for name in METRICS)]
    parts = [f'--b\r\nContent-Disposition: form-data; name="{k}"\r\n\r\n{v}\r\n' for k, v in fields]
    about = 'Content-Disposition: form-data; name="file"; filename="e.tsv"'
    form = "".join(parts) + f"--b\r\n{about}\r\n\r\n{head + ''.join(body) * TIMES}\r\n--b--\r\n"
    kind = {"Content-Type": "multipart/form-data; boundary=b"}
    request = urllib.request.Request(f"{address}/runs", form.encode(), kind)
    return str(json.loads(urllib.request.urlopen(request).read())["id"])


def status(address: str, run: str) -> dict[str, int]:
    return dict(json.loads(get(f"{address}/runs/{run}")))


def get(address: str) -> bytes:
    with urllib.request.urlopen(address) as answer:
        return bytes(answer.read())


if __name__ == "__main__":
    main(*map(float, sys.argv[1:2]))
