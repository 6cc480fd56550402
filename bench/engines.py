"""What a place costs: this process, worker processes and Ray, beside each other in one run.

    python bench/engines.py [--segments 4000] [--metric bertscore]
    python bench/engines.py --command SOURCE TRANSLATION REFERENCE -l de-en [--metric bertscore]

The overhead per segment is that of a metric that costs next to nothing (word error rate of one-word
texts): everything else is reading, sending and gathering. Starting workers is not in it; it is
printed apart. Scaling is segments per second of a metric that works for its scores: one process on
one core and on all (what `score` does by itself), two processes of one core each, one and two Ray
actors (one alone takes all cores). Rows of all places are compared bit for bit. `--command` times
the whole of `mtgauge score` on texts of your own instead, on one core, on all, and with a process
per core. Wall-clock times: on an idle machine only.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator

import numpy as np

from mtgauge.data.segments import Segments
from mtgauge.encode import configure
from mtgauge.engine.places import SHARD, Place, Where, open_place, shards
from mtgauge.engine.ready import Ready, serve
from mtgauge.metric import FloatArray, Task

WORDS = "the cat sat on a mat and did not see how far the dog was from it today in Berlin".split()
METRICS = ["bertscore", "xmoverscore:lm=off", "regressor"]
PLACES = {
    "this process": Where(),
    "2 processes": Where(workers=2),
    "1 Ray actor": Where("ray", 1),
    "2 Ray actors": Where("ray", 2),
}


def texts(n: int, words: int, seed: int) -> list[str]:
    draw = np.random.default_rng(seed)
    return [" ".join(draw.choice(WORDS, words)) + f" {i}" for i in range(n)]


def made_up(n: int, words: int) -> Segments:
    references = [(text,) for text in texts(n, words, 1)]
    return Segments(texts(n, words, 2), texts(n, words, 3), references, "de-en")


def timed(place: Place, metrics: dict[str, Ready], batch: Segments) -> tuple[float, FloatArray]:
    """Seconds of the best of three runs, and the rows."""
    best, rows = float("inf"), np.empty(0)
    (spec,) = metrics
    for _ in range(3):
        start = time.perf_counter()
        rows = np.concatenate([tables[spec] for tables in place.run(metrics, shards(batch))])
        best = min(best, time.perf_counter() - start)
    return best, rows


def in_every_place(spec: str, batch: Segments) -> Iterator[tuple[str, float, float]]:
    """(place, seconds to start, seconds to score) for each place; rows are the same."""
    configure(memory_gb=0.0)  # every run encodes anew
    metrics = serve([spec], Task.of(batch))[0]
    expected = None
    for name, where in PLACES.items():
        start = time.perf_counter()
        with open_place(where) as place:
            list(place.run(metrics, [batch.take([0])] * 4))
            opened = time.perf_counter() - start
            seconds, rows = timed(place, metrics, batch)
        expected = rows if expected is None else expected
        assert np.array_equal(rows, expected), f"{name}: other rows than in this process"
        yield name, opened, seconds


def overhead(segments: int) -> None:
    batch = made_up(segments, 1)
    print(f"wer of {segments:,} one-word texts, shards of {SHARD}: what a place itself costs")
    base = 0.0
    for name, opened, seconds in in_every_place("wer", batch):
        each = seconds / segments * 1e6
        base = base or each
        print(
            f"{name:14s} {each:8.1f} us per segment ({each - base:+.1f}), started in {opened:.1f} s"
        )


def scaling(spec: str, segments: int) -> None:
    print(f"\n{spec}, {segments:,} segments of 20 words: segments per second")
    code = (
        "import sys; sys.path.insert(0, 'bench'); import engines as e; "
        f"print(e.alone({spec!r}, {segments}))"
    )
    one = None
    for cores in (1, len(os.sched_getaffinity(0))):
        limits = dict.fromkeys(("OMP_NUM_THREADS", "MTGAUGE_THREADS"), str(cores))
        found = subprocess.check_output([sys.executable, "-c", code], env=os.environ | limits)
        rate = float(found.split()[-1])
        one = one or rate
        print(f"{f'one process, {cores} cores':24s} {rate:8.1f} {rate / one:6.2f} x")
    for name, _, seconds in in_every_place(spec, made_up(segments, 20)):
        if name != "this process":
            rate = segments / seconds
            print(f"{name:24s} {rate:8.1f} {rate / (one or rate):6.2f} x")


def whole_command(spec: str, files: list[str], lang: str) -> None:
    """Seconds of `mtgauge score`, start and end included."""
    print(f"\nmtgauge score -m {spec} of {', '.join(files)}: seconds")
    source, translation, reference = files
    words = ["-s", source, "-t", translation, "-r", reference, "-l", lang, "-m", spec, "--quiet"]
    code = "import sys; from mtgauge.entry import main; sys.exit(main())"
    here = sorted(os.sched_getaffinity(0))
    ways = {
        "one core": (here[:1], []),
        f"{len(here)} cores": (here, []),
        f"{len(here)} processes": (here, ["--workers", str(len(here))]),
    }
    one = None
    for name, (cores, more) in ways.items():
        limits = dict.fromkeys(("OMP_NUM_THREADS", "MTGAUGE_THREADS"), str(len(cores)))
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, "-c", code, "score", *words, *more],
            env=os.environ | limits,
            preexec_fn=lambda cores=cores: os.sched_setaffinity(0, cores),  # type: ignore[misc]
            stdout=subprocess.DEVNULL,
            check=True,
        )
        seconds = time.perf_counter() - start
        one = one or seconds
        print(f"{name:14s} {seconds:8.1f} {one / seconds:6.2f} x")


def alone(spec: str, segments: int) -> float:
    """Segments per second in this process, with the cores that the environment allows."""
    configure(memory_gb=0.0)
    batch = made_up(segments, 20)
    with open_place() as place:
        return segments / timed(place, serve([spec], Task.of(batch))[0], batch)[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--segments", type=int, default=4000)
    parser.add_argument("--metric", nargs="+", default=METRICS)
    parser.add_argument("--command", nargs=3, metavar=("SOURCE", "TRANSLATION", "REFERENCE"))
    parser.add_argument("-l", "--lang", default="de-en")
    args = parser.parse_args()
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    if args.command:
        for spec in args.metric:
            whole_command(spec, args.command, args.lang)
        return
    overhead(5 * args.segments)
    for spec in args.metric:
        scaling(spec, args.segments)


if __name__ == "__main__":
    main()
