"""What `stream` and `rerank` cost, per pair and in memory: one run, side by side.

    python bench/scale.py                              # small: a few minutes
    python bench/scale.py --most 1000000               # a million pairs, once
    python bench/scale.py --parts stream growth        # some parts only
    python bench/scale.py --workers 2                  # growth and metrics in two processes

Parts:

    stream     the same pairs through `stream` and through `score`
    growth     `stream` from 10,000 pairs to --most: cost per pair, peak memory
    places     this process, worker processes and Ray: overhead, scaling (engines.py, threads free)
    metrics    cost per pair and peak memory of every metric
    driver     `stream` without a metric: what reading, rules and writing cost; skipping, too
    mbr        minimum Bayes risk against encoding both texts of every pair, and against what
               comet-mbr does: every line encoded once, in its order, in batches of 8
    cluster    arithmetic for 10^8 and 10^10 pairs from the costs of this run (cluster.py)

Every measurement of `stream` and `score` is a process of its own, so that its peak memory is its
own; costs are processor time of the run, workers included, after models are loaded. Texts are
random words of the example data, 18 words on average and all different: nothing is remembered from
one pair to the next. Pin threads to have cores compared: OMP_NUM_THREADS=1 MTGAUGE_THREADS=1.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import cluster
from mtgauge import registry
from mtgauge.data.records import TextRecords
from mtgauge.engine.demo import example
from mtgauge.engine.stream.plan import BLOCK

METRIC = "xmoverscore:lm=off"
PARTS = ("stream", "growth", "places", "metrics", "driver", "mbr", "cluster")
SKIPPED = ("nist",)  # learns from all references: not for streams


def pairs(many: int) -> Iterator[dict[str, str]]:
    """Distinct records of a length as corpora have it."""
    (chunk,) = example("de-en").chunks(1000)
    assert chunk.sources is not None
    rng = random.Random(17)
    german = sorted({word for text in chunk.sources for word in text.split()})
    english = sorted({w for texts in chunk.systems.values() for t in texts for w in t.split()})
    for i in range(many):
        size = min(60, max(3, round(rng.gauss(18, 8))))
        row = [" ".join(rng.choices(words, k=size)) for words in (german, english, english)]
        yield {"source": f"{row[0]} {i}", "target": f"{row[1]} {i}", "reference": f"{row[2]} {i}"}


def lay(folder: Path, many: int) -> Path:
    path = folder / f"{many}.jsonl"
    if not path.exists():
        with path.open("w", encoding="utf-8") as out:
            for row in pairs(many):
                out.write(json.dumps(row, ensure_ascii=False) + "\n")
    return path


# one measurement, in a process of its own


def measure(
    kind: str, path: Path, metrics: list[str], workers: int | None, rules: Sequence[str] = ()
) -> dict[str, float]:
    """Seconds of the run, processor seconds and peak memory (MiB) of the process."""
    order = {"kind": kind, "path": str(path), "metrics": metrics, "workers": workers}
    order |= {"rules": list(rules)}
    done = subprocess.run(
        [sys.executable, __file__, "--job", json.dumps(order)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    if done.returncode:
        raise SystemExit(f"{order}\n{done.stderr}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def job(order: dict[str, Any]) -> None:
    import resource

    from mtgauge.data.corpus import Corpus
    from mtgauge.encode import configure
    from mtgauge.engine.local import score_corpus
    from mtgauge.engine.places import Where, open_place
    from mtgauge.engine.stream.plan import Plan
    from mtgauge.engine.stream.run import ENCODERS, stream
    from mtgauge.engine.summary import Comparing

    path, metrics = Path(order["path"]), order["metrics"]
    configure(**ENCODERS)

    def by_score(file: Path, out: Path) -> None:
        with Corpus.from_arguments(
            [f"{file}:target"], f"{file}:source", [f"{file}:reference"]
        ) as corpus:
            score_corpus(corpus, metrics, "de-en", how=Comparing(ci=False))

    def by_stream(file: Path, out: Path) -> None:
        needs = {side for spec in metrics for side in registry.load(spec).needs}
        references = ["reference"] if "reference" in needs or not needs else []
        plan = Plan([file], metrics, references=references, lang="de-en", add=order["rules"])
        stream(plan, out, place=place)

    with (
        tempfile.TemporaryDirectory() as name,
        open_place(Where(workers=order["workers"])) as place,
    ):
        folder = Path(name)
        found: dict[str, float] = {}
        for kind, run in {"score": by_score, "stream": by_stream}.items():
            if order["kind"] in ("both", kind):
                run(path.with_name("warm.jsonl"), folder / "warm")  # loaded and compiled
        if order["kind"] == "both":
            for turn in range(3):
                for kind, run in {"score": by_score, "stream": by_stream}.items():
                    used = _used(lambda r=run, t=turn: r(path, folder / str(t)))
                    found[kind] = min(used, found.get(kind, used))
        else:
            started = time.perf_counter()
            found["used"] = _used(lambda: by_stream(path, folder / "out"))
            found["seconds"] = time.perf_counter() - started
    for key, who in (("peak", resource.RUSAGE_SELF), ("worker", resource.RUSAGE_CHILDREN)):
        found[key] = resource.getrusage(who).ru_maxrss // 1024
    print(json.dumps(found))


# the parts


def show_stream(folder: Path, args: argparse.Namespace) -> None:
    found = measure("both", lay(folder, args.pairs), [METRIC], None)
    print(f"\nstream v score: {METRIC}, {args.pairs:,} pairs, in turn, the best of three each")
    for kind in ("score", "stream"):
        print(f"{kind:8s} {found[kind] / args.pairs * 1e6:9.1f} us of processor per pair")
    print(f"stream / score {found['stream'] / found['score']:.3f} (aim: 1.05)")


def show_growth(folder: Path, args: argparse.Namespace) -> None:
    print(f"\ngrowth: stream -m {METRIC}, workers {args.workers or 'none'}")
    size, first = min(10_000, args.most), None
    while size <= args.most:
        found = measure("stream", lay(folder, size), [METRIC], args.workers)
        each = found["used"] / size * 1e6
        first = first or each
        worker = f", worker {found['worker']:,}" if args.workers else ""
        print(
            f"{size:10,d} pairs {each:9.1f} us of processor per pair ({each / first:.3f} of the "
            f"first), {size / found['seconds']:,.0f} pairs/s, peak {found['peak']:,} MiB{worker}"
        )
        size *= 10


def show_places() -> None:
    """Processes of all cores are among them, so threads are not pinned there."""
    print("\nplaces", flush=True)
    free = {k: v for k, v in os.environ.items() if k not in ("OMP_NUM_THREADS", "MTGAUGE_THREADS")}
    script = Path(__file__).with_name("engines.py")
    subprocess.run([sys.executable, script, "--segments", "1000"], check=True, env=free)


def show_metrics(folder: Path, args: argparse.Namespace) -> dict[str, float]:
    print(f"\nmetrics: {args.pairs:,} pairs each, one process")
    path = lay(folder, args.pairs)
    costs = {}
    specs = [name for name in registry.names() if name not in (*SKIPPED, "blend")]
    for spec in [METRIC, *specs]:
        found = measure("stream", path, [spec], None)
        costs[spec] = found["used"] / args.pairs * 1e6
        print(f"{spec:24s} {costs[spec]:10.1f} us per pair, peak {found['peak']:6,} MiB")
    return costs


def show_driver(folder: Path, args: argparse.Namespace) -> float:
    many = max(20_000, args.pairs)
    path = lay(folder, many)
    print(f"\ndriver: {many:,} records without a metric, records/s of one core")
    rates: dict[str, float] = {}
    for name, rules in (
        ("read and write", []),
        ("lengths, ratio, copy", ["source_length", "target_length", "length_ratio", "copy"]),
        ("duplicate", ["duplicate"]),
        ("scripts", ["source_script", "target_script"]),
        ("languages", ["source_lang", "target_lang"]),
        ("foreign", ["source_foreign", "target_foreign"]),
        ("untranslated", ["untranslated"]),
    ):
        rates[name] = many / measure("stream", path, [], None, rules)["used"]
        print(f"{name:24s} {rates[name]:10,.0f}")
    records = TextRecords([path], "jsonl", ["source", "target"])
    print(f"{'skip (taking up again)':24s} {many / _used(lambda: records.skip(many)):10,.0f}")
    return rates["read and write"]


def show_mbr(args: argparse.Namespace) -> None:
    import mtgauge
    from mtgauge.encode import configure

    print("\nmbr: bertscore, lists of n candidates of which a tenth are repeats; processor seconds")
    print(f"{'n':>4s} {'here':>10s} {'pairwise':>10s} {'gain':>6s} {'comet-mbr':>10s} {'gain':>6s}")
    for n in args.candidates:
        texts = [row["target"] for row in pairs(args.segments * n)]
        groups = [texts[i : i + n] for i in range(0, len(texts), n)]
        for group in groups:
            group[1 : 1 + n // 10] = [group[0]] * (n // 10)
        configure(memory_gb=1.5)
        mtgauge.rerank([["Loaded.", "Compiled."]], mbr=["bertscore"], lang="de-en")
        here = _used(lambda g=groups: mtgauge.rerank(g, mbr=["bertscore"], lang="de-en"))
        configure(memory_gb=0)  # nothing is remembered from here on
        every = _pairwise(texts[:n]) * args.segments
        flat = [text for group in groups for text in group]
        compared = here - _encoding(list(dict.fromkeys(flat)), len(flat)) + _encoding(flat, 8)
        print(
            f"{n:4d} {here:8.2f} s {every:8.1f} s {every / here:5.1f}x {compared:8.2f} s "
            f"{compared / here:5.2f}x"
        )
    print("pairwise: 2 n^2 encodings per segment, here: as many as there are distinct texts")


def _pairwise(texts: list[str]) -> float:
    """Encoding both texts of every pair of one segment, and comparing them.

    Along a diagonal each text is hypothesis once and reference once, so that a batch holds 2n texts
    for n pairs; references are changed a little, since equal texts are encoded once.
    """
    import mtgauge
    from mtgauge.data.segments import Segments

    metric = mtgauge.load("bertscore")
    n, others = len(texts), [(f"{text} .",) for text in texts]
    metric.rows(Segments(texts[:1], None, others[:1], "de-en"))

    def run() -> None:
        for shift in range(n):
            metric.rows(Segments(texts, None, others[shift:] + others[:shift], "de-en"))

    return _used(run)


def _encoding(texts: list[str], batch: int) -> float:
    """Encoding texts in their order, so many at a time."""
    from mtgauge.encode import load_encoder

    encoder = load_encoder("embedded")
    encoder.encode(texts[:1], encoder.default_layer["reference"])

    def run() -> None:
        for start in range(0, len(texts), batch):
            encoder.encode(texts[start : start + batch], encoder.default_layer["reference"])

    return _used(run)


def _used(function: Any) -> float:
    """Processor seconds of this process and of the workers that it has."""
    started = _processor_seconds()
    function()
    return _processor_seconds() - started


def _processor_seconds() -> float:
    """Linux only: a worker's user and system time are fields 14 and 15 of its `stat`."""
    ticks = 0
    for task in Path("/proc/self/task").iterdir():
        for worker in (task / "children").read_text().split():
            after_name = Path("/proc", worker, "stat").read_text().rpartition(")")[2].split()
            ticks += int(after_name[11]) + int(after_name[12])
    return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--job", help=argparse.SUPPRESS)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--pairs", type=int, default=2000, help="of stream and metrics")
    parser.add_argument("--most", type=int, default=10_000, help="of growth")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--candidates", type=int, nargs="+", default=[8, 32], help="of mbr")
    parser.add_argument("--segments", type=int, default=8, help="of mbr")
    parser.add_argument("--gpu", type=float, default=26_022, help="pairs/s: contextual_gpu.py")
    args = parser.parse_args()
    if args.job:
        job(json.loads(args.job))
        return
    costs, driver = {METRIC: 3300.0}, 30_000.0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lay(folder, BLOCK * (args.workers or 0) or 200).rename(folder / "warm.jsonl")
        if "stream" in args.parts:
            show_stream(folder, args)
        if "growth" in args.parts:
            show_growth(folder, args)
        if "places" in args.parts:
            show_places()
        if "metrics" in args.parts:
            costs = show_metrics(folder, args)
        if "driver" in args.parts:
            driver = show_driver(folder, args)
    if "mbr" in args.parts:
        show_mbr(args)
    if "cluster" in args.parts:
        print(f"\ncluster: {METRIC}, simulated")
        cluster.table(float(np.round(costs[METRIC])), driver, args.gpu, mtbf=1000)


if __name__ == "__main__":
    main()
