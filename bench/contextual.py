"""How fast XMoverScore is, beside the papers' per-pair procedure: one run, one encoder, ratios.

    python bench/contextual.py                          # 6 x 384, 5 systems x 1,000 segments
    python bench/contextual.py --size base --shares     # 12 x 768, without the peer
    python bench/contextual.py --encoder embedded       # an encoder of yours: shares only
    python bench/contextual.py --encoder embedded --text src.de hyp.en     # of your own text
    python bench/contextual.py --memory                 # peak memory of 100,000 segments

The encoder has random weights (random_encoder.py). The language model is off on both sides, and so
is the flow dropout of 2021, which rests on PyEMD's rounding. The same weights run in float32, in
bfloat16 and in int8 (the export of the embedded encoder); for each the seconds, the ratio, and what
the precision does to the scores are printed. OMP_NUM_THREADS=1 keeps other work on the machine from
disturbing the ratio, since threads then do not wait for each other. On a GPU: contextual_gpu.py.

The share that is not the encoder's forward pass is processor time of a second run, in which the
forward pass hands out what it computed in the first, over that of the first. All words are new to
it: the table of tokenised words is emptied before. Words drawn at random seldom recur, as those of
a text do, so `--text` is nearer to what users have.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mtgauge import encode
from mtgauge.data.segments import Segments
from mtgauge.encode.tokens.encoder import Encoder
from mtgauge.engine.places import SHARD
from mtgauge.metrics.xmoverscore import XMoverScore
from random_encoder import SIZES, WORDS, int8_of, random_bert, texts

Float = NDArray[np.float64]


@dataclass
class Measured:
    scores: Float
    seconds: float
    used: float  # processor time
    rest: float  # share of the processor time that is not the forward pass

    def print(self, name: str) -> None:
        rate = len(self.scores) / self.seconds
        print(
            f"{name:20s} {self.seconds:8.2f} s {rate:9.1f} segments/s, "
            f"{self.rest:.1%} of the processor time is not the forward pass"
        )


class Replay:
    """Keeps what the forward pass gave, and gives it again."""

    def __init__(self, encoder: Encoder) -> None:
        self.outputs: dict[bytes, Any] = {}  # by tokens: batches run side by side, in any order
        self.encoder, self.run = encoder, encoder.rows
        encoder.rows = self.record  # type: ignore[method-assign, assignment]

    def record(self, ids: Any, *others: Any) -> Any:
        return self.outputs.setdefault(ids.tobytes(), self.run(ids, *others))

    def start(self) -> None:
        self.encoder.rows = lambda ids, *_: self.outputs[ids.tobytes()]  # type: ignore[method-assign]
        vars(self.encoder).pop("_by_word", None)  # words are new again


def metric_for(folder: str, layer: int) -> XMoverScore:
    return XMoverScore(preset="repo2021", encoder=folder, layer=layer, lm="off", dropout=0.0)


def ours(folder: str, batch: Segments, layer: int | None, dtype: str) -> Measured:
    """Scores, seconds, and the share of the rest, by a fresh encoder without memory of texts."""
    encode.configure(dtype=dtype, device="cpu", memory_gb=0.0)
    encoder = encode.load_encoder(folder)
    metric = metric_for(folder, encoder.default_layer["source"] if layer is None else layer)
    metric.statistics(batch.take([0]))  # models and compiled loops are loaded
    replay = Replay(encoder)
    start, used = time.perf_counter(), time.process_time()
    scores = metric.statistics(batch)[:, 0]
    seconds, used = time.perf_counter() - start, time.process_time() - used
    replay.start()
    start = time.process_time()
    metric.statistics(batch)
    return Measured(scores, seconds, used, (time.process_time() - start) / used)


def beside_the_papers(size: str, systems: int, segments: int) -> None:
    from reference_xmover import PerPair

    source, hypotheses = texts(segments), texts(segments * systems)
    batch = Segments(hypotheses, source * systems)
    layer = SIZES[size][0] * 2 // 3  # as 8 of 12
    with tempfile.TemporaryDirectory() as name:
        folder, small = Path(name) / "bert", Path(name) / "int8"
        random_bert(folder, size)
        int8_of(folder, small)
        peer = PerPair(str(folder), layer)
        peer.score(source[:2], hypotheses[:2])
        start, used = time.perf_counter(), time.process_time()
        want = np.concatenate(  # the authors score one system after the other
            [
                peer.score(source, hypotheses[i * segments : (i + 1) * segments])
                for i in range(systems)
            ]
        )
        theirs, used = time.perf_counter() - start, time.process_time() - used
        print(f"{size} encoder, {systems} systems x {segments} segments")
        print(f"{'per-pair procedure':20s} {theirs:8.2f} s {len(batch) / theirs:9.1f} segments/s")
        for dtype, where in (("float32", folder), ("bfloat16", folder), ("int8", small)):
            found = ours(str(where), batch, layer, "auto" if dtype == "int8" else dtype)
            found.print(f"mtgauge {dtype}")
            change = np.abs(found.scores - want)
            same = np.corrcoef(found.scores, want)[0, 1]
            print(
                f"{'':20s} {theirs / found.seconds:8.2f} times as fast ({used / found.used:.2f} by "
                "processor time); scores change by "
                f"{change.mean():.1e} on average, {change.max():.1e} at most, r = {same:.6f}"
            )


def shares(size: str, systems: int, segments: int) -> None:
    """Shares of a random encoder: in float32, and in int8 where fitting does not take minutes."""
    batch = Segments(texts(segments * systems), texts(segments) * systems)
    print(f"{size} encoder, {systems} systems x {segments} segments")
    layer = SIZES[size][0] * 2 // 3
    with tempfile.TemporaryDirectory() as name:
        folder, small = Path(name) / "bert", Path(name) / "int8"
        random_bert(folder, size)
        ours(str(folder), batch, layer, "float32").print("float32")
        if size == "small":
            int8_of(folder, small)
            ours(str(small), batch, layer, "auto").print("int8")


def one_encoder(spec: str, segments: int, files: list[Path] | None) -> None:
    if files:
        sides = [file.read_text("utf-8").splitlines()[:segments] for file in files]
    else:
        words = known_words(encode.load_encoder(spec))
        sides = [texts(segments, words) for _ in range(2)]
    source, hypotheses = sides
    ours(spec, Segments(hypotheses, source), None, "auto").print(spec)


def known_words(encoder: Encoder) -> NDArray[np.str_]:
    """Words that are one piece of the encoder's, so that texts are as long as those of news."""
    marked = [t[1:] for t in encoder.vocabulary if t[:1] in ("▁", "Ġ") and t[1:].isalpha()]
    return np.array(marked or [t for t in encoder.vocabulary if t.isalpha()] or WORDS)


def memory(segments: int) -> None:
    """Peak memory of many segments by the chunks of a run, vectors remembered as by default.

    Layer 0 of the embedded encoder, as wide as all the others, so that it does not take an hour.
    """
    words = known_words(encode.load_encoder("embedded"))
    metric = metric_for("embedded", 0)
    start = time.perf_counter()
    for done in range(0, segments, SHARD):
        metric.statistics(Segments(texts(SHARD, words), texts(SHARD, words)))
        if (done + SHARD) % (10 * SHARD) == 0:
            print(f"{done + SHARD:9,} segments, peak memory {peak_memory():.2f} GB", flush=True)
    print(f"{segments / (time.perf_counter() - start):.1f} segments/s")


def peak_memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--encoder", help="measure this one instead, without the peer")
    parser.add_argument(
        "--text", type=Path, nargs=2, metavar="FILE", help="source and translation for --encoder"
    )
    parser.add_argument("--shares", action="store_true")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--systems", type=int, default=5)
    parser.add_argument("--segments", type=int, help="of a system (1,000; 100,000 for --memory)")
    args = parser.parse_args()
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    if args.memory:
        memory(args.segments or 100_000)
    elif args.encoder:
        one_encoder(args.encoder, args.segments or 1000, args.text)
    elif args.shares:
        shares(args.size, args.systems, args.segments or 100)
    else:
        beside_the_papers(args.size, args.systems, args.segments or 1000)
    print(f"peak memory of the process {peak_memory():.2f} GB")


if __name__ == "__main__":
    main()
