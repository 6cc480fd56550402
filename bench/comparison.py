"""Comparison of systems beside sacrebleu: resampling alone, and end to end.

    python bench/comparison.py [--segments 3000] [--systems 10]

Prints seconds of both in one process on the same synthetic texts, and their ratio. Both sides run
1,000 paired resamples of BLEU; ours adds 1,000 randomisation trials to the same time. Also prints
the time to import mtgauge and to show its help, and the peak memory of a million segments.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest, _bootstrap_resample

import mtgauge
from mtgauge import registry
from mtgauge.data.segments import Segments
from mtgauge.stats import bootstrap, paired


def texts(n: int, systems: int, seed: int = 0) -> tuple[list[str], dict[str, list[str]]]:
    """References of news-like length, and systems that change some of their words."""
    rng = np.random.default_rng(seed)
    vocabulary = np.array([f"w{int(i)}" for i in range(5000)])
    weights = 1 / np.arange(1, 5001)
    weights /= weights.sum()
    lengths = rng.integers(8, 45, size=n)
    words = rng.choice(vocabulary, size=int(lengths.sum()), p=weights)
    ends = np.cumsum(lengths)
    references = [" ".join(words[e - k : e]) + "." for e, k in zip(ends, lengths, strict=True)]
    found = {}
    for s in range(systems):
        changed = np.where(rng.random(len(words)) < 0.25 + 0.02 * s, rng.permutation(words), words)
        found[f"s{s}"] = [" ".join(changed[e - k : e]) for e, k in zip(ends, lengths, strict=True)]
    return references, found


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def show(what: str, ours: float, theirs: float) -> None:
    print(f"{what:48} ours {ours:8.3f} s   peer {theirs:8.3f} s   ratio {theirs / ours:7.1f} x")


def resampling(references: list[str], systems: dict[str, list[str]]) -> None:
    metric = registry.load("bleu")
    n = len(references)
    batch = Segments(
        [t for s in systems.values() for t in s],
        references=[(r,) for r in references] * len(systems),
    )
    table = metric.rows(batch).reshape(len(systems), n, -1)

    def ours() -> None:
        (scores,) = bootstrap.resampled_scores([metric], [table])
        real = metric.system_score(table.sum(axis=1), np.full(len(systems), float(n)))
        paired.p_bootstrap(scores, real)

    peer = BLEU(references=[references])
    statistics = [peer._extract_corpus_statistics(s, None) for s in systems.values()]

    def theirs() -> None:
        for lines in statistics:
            _bootstrap_resample(lines, peer)

    show(f"1,000 resamples, {len(systems)} systems, statistics given", timed(ours), timed(theirs))


def end_to_end(references: list[str], systems: dict[str, list[str]]) -> None:
    def ours() -> None:
        mtgauge.score(systems, references=references, metrics=["bleu"])

    def theirs() -> None:
        test = PairedTest(
            list(systems.items()), {"bleu": BLEU()}, [references], test_type="bs", n_samples=1000
        )
        test()

    show("end to end (ours with randomisation tests too)", timed(ours), timed(theirs))


def start_up() -> None:
    for what, code in (
        ("import numpy", "import numpy"),
        ("import mtgauge", "import mtgauge"),
        ("mtgauge --help", "from mtgauge.cli import main; main(['--help'])"),
    ):
        best = min(
            timed(
                lambda code=code: subprocess.run(  # type: ignore[misc]
                    [sys.executable, "-c", code], stdout=subprocess.DEVNULL, check=True
                )
            )
            for _ in range(5)
        )
        print(f"{what:48} {best:8.3f} s (best of 5, whole process)")


def million(n: int) -> None:
    """Peak memory of `score -m bleu` over n segments, in a process of its own."""
    references, systems = texts(min(n, 20_000), 1)
    times = n // len(references)
    with tempfile.TemporaryDirectory() as folder:
        for name, lines in (("ref.txt", references), ("hyp.txt", systems["s0"])):
            with (Path(folder) / name).open("w", encoding="utf-8") as file:
                for _ in range(times):
                    file.write("\n".join(lines) + "\n")
        size = sum(p.stat().st_size for p in Path(folder).iterdir())
        command = [sys.executable, "-m", "mtgauge", "score", "--quiet", "-m", "bleu"]
        command += ["-t", f"{folder}/hyp.txt", "-r", f"{folder}/ref.txt"]
        start = time.perf_counter()
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        assert status == 0
    print(
        f"{times * len(references):,} segments ({size / 2**20:,.0f} MiB of text), bleu, intervals: "
        f"{seconds:.0f} s, peak {usage.ru_maxrss / 1024:,.0f} MiB"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--segments", type=int, default=3000)
    parser.add_argument("--systems", type=int, default=10)
    parser.add_argument("--stream", type=int, default=1_000_000, help="segments of the memory test")
    args = parser.parse_args()
    references, systems = texts(args.segments, args.systems)
    resampling(references, systems)
    end_to_end(references, systems)
    start_up()
    if args.stream:
        million(args.stream)


if __name__ == "__main__":
    main()
