"""`mtgauge report` beside `mtgauge score` with the same metrics: both times, ratios, the page.

    python bench/report.py [--segments 3000] [--times 2] [--data TABLE -l de-en] [-m METRIC ...]

Both run as commands, so that start and model loading count, in turn and --times each; the best
wall time and the best processor time (of all processes and threads) of each count. Without
--metrics it measures bleu and chrf, then the eight metrics of `mtgauge demo`. Without --data the
segments are made of the package's example: two sentences and a number each, so that all are
different, and numbers are looked for in every one. Where Chromium and selenium are there, it also
prints the seconds until the page is open and until its first segments are shown. Aim: a ratio of
1.2 at most, 2 MB, 2 s.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from mtgauge.engine.demo import WITH_REFERENCE, WITHOUT_REFERENCE, example

ROOT = Path(__file__).resolve().parents[1]
SURFACE = ("bleu", "chrf")


def make_data(folder: Path, segments: int) -> Path:
    """A table of the example's systems, in which every segment is another."""
    (chunk,) = example("de-en").chunks(1000)
    assert chunk.sources is not None
    assert chunk.references is not None
    columns = {"source": chunk.sources, "reference": [row[0] for row in chunk.references]}
    columns |= chunk.systems
    n = len(chunk)
    lines = ["\t".join(columns)]
    for k in range(segments):
        i, j = k % n, (k // n) % n
        lines.append("\t".join(f"{c[i]} {c[j]} {1000 + k}" for c in columns.values()))
    path = folder / "systems.tsv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def seconds(*arguments: str) -> tuple[float, float]:
    """Wall time and processor time of a command."""
    command = [sys.executable, "-m", "mtgauge", *arguments, "--quiet"]
    started, before = time.perf_counter(), os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    worked = after.children_user + after.children_system
    worked -= before.children_user + before.children_system
    return time.perf_counter() - started, worked


def opening(page: Path, folder: str) -> str:
    """Seconds in Chromium, or why there are none."""
    sys.path.insert(0, str(ROOT / "tests"))
    try:
        import pytest

        from chromium import browser

        with browser(folder) as driver:
            started = time.perf_counter()
            driver.get(page.as_uri())
            is_open = time.perf_counter() - started
            driver.execute_script("document.getElementById('segments').scrollIntoView()")
            while driver.execute_script("return document.documentElement.dataset.ready") != "yes":
                time.sleep(0.02)
            return f"open {is_open:.2f} s, segments {time.perf_counter() - started:.2f} s"
    except (ImportError, pytest.skip.Exception) as error:
        return f"not opened: {error}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--segments", type=int, default=3000)
    parser.add_argument("--times", type=int, default=2)
    parser.add_argument("--data", type=Path)
    parser.add_argument("-l", "--lang", default="de-en")
    parser.add_argument("-m", "--metrics", nargs="+")
    args = parser.parse_args()
    sets = [args.metrics] if args.metrics else [SURFACE, (*WITH_REFERENCE, *WITHOUT_REFERENCE)]
    with tempfile.TemporaryDirectory() as folder:
        data = args.data or make_data(Path(folder), args.segments)
        for metrics in sets:
            page = Path(folder) / "report.html"
            files = ["-t", str(data), "-l", args.lang, "-m", *metrics]
            pairs = [
                (seconds("score", *files), seconds("report", *files, "-o", str(page)))
                for _ in range(args.times)
            ]
            print(" ".join(metrics))
            for k, what in enumerate(("wall time", "processor time")):
                score, report = (min(pair[side][k] for pair in pairs) for side in (0, 1))
                ratio = f"ratio {report / score:.2f}"
                print(f"  {what:<14}  score {score:.1f} s   report {report:.1f} s   {ratio}")
            print(f"  page {page.stat().st_size / 1e6:.2f} MB, {opening(page, folder)}", flush=True)


if __name__ == "__main__":
    main()
