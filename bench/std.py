"""STD beside the papers' per-pair procedure, vectors at full size, and agreement with people.

    python bench/std.py                        speed, on made-up text from the embedded vocabulary
    python bench/std.py --million              time and memory for 1e4, 1e5 and 1e6 pairs
    python bench/std.py --store                a store of 2 million x 300 words (1.5 GB of disk)
    python bench/std.py --wmt FOLDER [--vectors DIR ...]     WMT15 and WMT16, beside the paper

The procedure that is timed beside ours was written anew from the paper's steps as its authors
carry them out: NLTK's tokeniser, a centroid for every n-gram of the vocabulary, two loops over it
for distances, PyEMD's C++ solver, one pair after another.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyemd
from nltk.tokenize import TreebankWordTokenizer
from numpy.typing import NDArray

from mtgauge import registry
from mtgauge.data.judged_files import read
from mtgauge.data.segments import Segments
from mtgauge.encode.words.store import WordVectors, write_store
from mtgauge.engine.places import SHARD
from mtgauge.metrics.std import STD

Float = NDArray[np.float64]
PAPER = {  # Tables IV and V, fastText crawl vectors, absolute Pearson
    "15": {"cs-en": 0.577, "de-en": 0.603, "fi-en": 0.652, "ru-en": 0.644},
    "16": {"fi-en": 0.536, "ru-en": 0.543, "ro-en": 0.567, "de-en": 0.521},
}


def made_up(pairs: int, seed: int = 0) -> tuple[list[str], list[str]]:
    """References of news-like length, and hypotheses that change and move some words."""
    rng = np.random.default_rng(seed)
    listed = [w for w in list(WordVectors.embedded("en").words())[:12_000] if w.isalpha()]
    vocabulary = np.array(listed, dtype=object)
    share = np.cumsum(1 / np.arange(1, len(vocabulary) + 1))
    references, hypotheses = [], []
    for _ in range(pairs):
        size = int(np.clip(rng.normal(24, 9), 4, 60))
        words = vocabulary[np.searchsorted(share, rng.random(size) * share[-1])]
        others = vocabulary[rng.integers(0, len(vocabulary), size)]
        other = np.where(rng.random(size) < 0.3, others, words)
        if size > 8 and rng.random() < 0.5:
            other = np.concatenate([other[3:], other[:3]])
        references.append(" ".join(words) + ".")
        hypotheses.append(" ".join(other) + ".")
    return references, hypotheses


def cosine(x: Float, y: Float) -> float:
    return float(np.dot(x, y) / (np.linalg.norm(x) * np.linalg.norm(y)))


def papers_way(reference: str, hypothesis: str, vector: dict[str, Float]) -> tuple[float, ...]:
    cut = TreebankWordTokenizer().tokenize
    texts = [[w for w in cut(t.lower()) if w in vector] for t in (reference, hypothesis)]
    return tuple(_papers_order(texts[0], texts[1], n, vector) for n in (1, 2))


def _papers_order(ref: list[str], hyp: list[str], n: int, vector: dict[str, Float]) -> float:
    lists = [[tuple(t[k : k + n]) for k in range(len(t) - n + 1)] for t in (ref, hyp)]
    union = list(set(lists[0]) | set(lists[1]))
    x = {gram: np.concatenate([vector[w] for w in gram]) for gram in union}
    masses = []
    for grams in lists:
        similar = []
        for gram in union:
            centroid = np.mean([x[g] for g in grams], axis=0)  # anew for every n-gram
            similar.append(1.0 if gram in grams else cosine(x[gram], centroid))
        masses.append(np.exp(similar) / np.exp(similar).sum())
    place = [{g: (k + 1) / len(grams) for k, g in enumerate(grams)} for grams in lists]
    distance = np.zeros((len(union), len(union)))
    for i, a in enumerate(union):
        for j, b in enumerate(union):
            moved = abs(place[0][a] - place[1][b]) if a in place[0] and b in place[1] else 0.0
            if moved == 0 and a in place[1] and b in place[0]:
                moved = abs(place[1][a] - place[0][b])
            apart = 0.0 if i == j else 1 - max(cosine(x[a], x[b]), 0.0)
            distance[i, j] = 0.6 * apart + 0.4 * moved
    return float(pyemd.emd(masses[0], masses[1], distance, backend="cpp"))


def speed(pairs: int, slow_pairs: int) -> None:
    references, hypotheses = made_up(pairs)
    store = WordVectors.embedded("en")
    rows = store.take(np.arange(len(store))).astype(np.float64)
    vector = dict(zip(store.words(), rows, strict=True))
    batch = Segments(hypotheses, references=[(r,) for r in references], lang="de-en")
    few = batch.take(range(slow_pairs))
    metric = STD()
    metric.statistics(few)  # compiled by now
    start = time.process_time()
    slow = [papers_way(references[k], hypotheses[k], vector) for k in range(slow_pairs)]
    theirs = (time.process_time() - start) / slow_pairs
    print(f"greatest difference from PyEMD: {np.abs(metric.statistics(few) - slow).max():.1e}\n")
    print("                                   µs a pair    ratio")
    print(f"papers' procedure                {theirs * 1e6:11.0f}")
    for preset in ("pyemd", "lp"):
        timed = registry.load(f"std:preset={preset}")
        timed.statistics(few)
        best = float("inf")
        for _ in range(3):
            start = time.process_time()
            timed.statistics(batch)
            best = min(best, (time.process_time() - start) / pairs)
        print(f"mtgauge std, preset {preset:8}     {best * 1e6:11.0f} {theirs / best:8.0f}")
    print(f"({pairs:,} pairs end to end; CPU time of all threads; papers' on {slow_pairs})\n")


def growth() -> None:
    """Time a pair must not depend on how many there are; a chunk is as large as the engine's."""
    metric = STD()
    metric.statistics(Segments(["a"], references=[("the",)], lang="de-en"))  # compiled by now
    print("    pairs   µs a pair   greatest memory, MB")
    for pairs in (10_000, 100_000, 1_000_000):
        spent = 0.0
        for seed in range(pairs // SHARD):
            references, hypotheses = made_up(SHARD, seed)
            batch = Segments(hypotheses, references=[(r,) for r in references], lang="de-en")
            start = time.process_time()
            metric.statistics(batch)
            spent += time.process_time() - start
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{pairs:9,} {spent / pairs * 1e6:11.0f} {memory:20.0f}")


_SCORE_FROM_STORE = """
import sys, time
from pathlib import Path
from mtgauge.data.segments import Segments
from mtgauge.encode.words.store import WordVectors
from mtgauge.metrics.std import STD
start = time.perf_counter()
WordVectors.open(sys.argv[1]).rows(["w1999999"])
print(f"opened, and a word found, in {(time.perf_counter() - start) * 1e3:.0f} ms")
references, hypotheses = (Path(f).read_text().split("\\n") for f in sys.argv[2:])
batch = Segments(hypotheses, references=[(text,) for text in references], lang="de-en")
STD(vectors=sys.argv[1]).statistics(batch)
status = Path("/proc/self/status").read_text()
resident, mapped = (int(status.split(k)[1].split()[0]) // 1024 for k in ("VmRSS:", "RssFile:"))
print(f"{len(references):,} pairs scored; {resident} MB resident, {mapped} MB of it mapped files")
"""


def full_size_store(words: int = 2_000_000, dimensions: int = 300) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        names = list(WordVectors.embedded("en").words())
        names += [f"w{i}" for i in range(len(names), words)]
        values = np.memmap(Path(scratch) / "v", np.float16, "w+", shape=(words, dimensions))
        rng = np.random.default_rng(1)
        for start in range(0, words, 100_000):
            values[start : start + 100_000] = rng.normal(size=(100_000, dimensions))
        start_time = time.perf_counter()
        write_store(Path(scratch) / "s", names, values)
        print(f"{words:,} x {dimensions} written in {time.perf_counter() - start_time:.0f} s")
        files = [Path(scratch) / "references", Path(scratch) / "hypotheses"]
        for file, texts in zip(files, made_up(10_000), strict=True):
            file.write_text("\n".join(texts), encoding="utf-8")
        command = [sys.executable, "-c", _SCORE_FROM_STORE, f"{scratch}/s", *map(str, files)]
        subprocess.run(command, check=True)


def correlations(folder: Path, stores: list[str]) -> None:
    for year, paper in PAPER.items():
        judged = [j for j in read(folder / f"da{year}.tsv.gz") if j.lp.endswith("-en")]
        print(
            f"\n{f'WMT{year}, segments, Pearson':44} " + " ".join(j.lp for j in judged) + "   mean"
        )
        for vectors in ["embedded", *stores]:
            for options in ("", "preset=lp,", "oov=paper,", "preset=lp,oov=paper,"):
                metric = registry.load(f"std:{options}vectors={vectors}")
                found = []
                for table in judged:
                    scores = metric.segment_score(metric.statistics(table.segments()))
                    found.append(float(np.corrcoef(-scores, table.human)[0, 1]))
                row(f"std:{options}vectors={Path(vectors).name}", found)
        row("paper, fastText crawl 300d", [paper.get(j.lp, float("nan")) for j in judged])


def row(name: str, values: list[float]) -> None:
    cells = " ".join("    -" if np.isnan(x) else f"{x:5.3f}" for x in values)
    print(f"{name:44} {cells}  {np.nanmean(values):5.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--slow-pairs", type=int, default=40)
    parser.add_argument("--million", action="store_true")
    parser.add_argument("--store", action="store_true")
    parser.add_argument("--wmt", type=Path, metavar="FOLDER")
    parser.add_argument("--vectors", nargs="*", default=[], metavar="DIR")
    args = parser.parse_args()
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n")
    if args.wmt:
        correlations(args.wmt, args.vectors)
    elif args.million:
        growth()
    elif args.store:
        full_size_store()
    else:
        speed(args.pairs, args.slow_pairs)


if __name__ == "__main__":
    main()
