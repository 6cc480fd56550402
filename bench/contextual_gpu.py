"""XMoverScore on a GPU: segments a second, share of the matrix peak, who waits for whom.

    python bench/contextual_gpu.py                     # BERT-base size, bfloat16, 5 systems x 2,000
    python bench/contextual_gpu.py --device cpu --size small --segments 100      # to try it out

The encoder has random weights (random_encoder.py) and gives layer 8 of 12, bigrams and Euclidean
transport as the preset `repo2021` has them, without its dropout; no language model. The peak is
measured in the same run: a bfloat16 product of two 8192 x 8192 matrices. Operations are those of
real tokens (24 d^2 + 4 d length, a token and layer); what padding costs is not credited.

Three runs tell whether transport holds the GPU up: one as users have it, one whose comparison is
left out, and one whose forward pass hands out what it computed before. Comparison runs in a thread
beside the forward pass of the next window: if the first two take equally long, it holds up nothing.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from mtgauge import encode
from mtgauge.data.segments import Segments
from mtgauge.encode.ragged import IntArray
from mtgauge.encode.tokens.hub import HubEncoder
from mtgauge.encode.tokens.units import Units
from mtgauge.metric import FloatArray
from mtgauge.metrics.xmoverscore import XMoverScore
from random_encoder import SIZES, random_bert, texts

SYSTEMS = 5


def matrix_peak(device: str, side: int, rounds: int = 20) -> float:
    """Operations a second of one large bfloat16 product."""
    x = torch.randn(side, side, device=device, dtype=torch.bfloat16)
    y = torch.randn(side, side, device=device, dtype=torch.bfloat16)
    for _ in range(3):
        x @ y
    synchronise(device)
    start = time.perf_counter()
    for _ in range(rounds):
        x @ y
    synchronise(device)
    return 2 * side**3 * rounds / (time.perf_counter() - start)


def synchronise(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


class Watch:
    """Time that the device spends in the model, and the lengths of the texts it was given."""

    def __init__(self, model: Any, device: str) -> None:
        self.device, self.padded = device, 0
        self.lengths: list[torch.Tensor] = []
        self.marks: list[Any] = []
        model.register_forward_pre_hook(self.before, with_kwargs=True)
        model.register_forward_hook(self.after)

    def mark(self) -> None:
        if self.device == "cuda":
            self.marks.append(torch.cuda.Event(enable_timing=True))  # type: ignore[no-untyped-call]
            self.marks[-1].record()
        else:
            self.marks.append(time.perf_counter())

    def before(self, model: Any, args: Any, inputs: dict[str, Any]) -> None:
        self.padded += inputs["input_ids"].numel()
        self.lengths.append(inputs["attention_mask"].sum(1))
        self.mark()

    def after(self, model: Any, args: Any, output: Any) -> None:
        self.mark()

    @property
    def seconds(self) -> float:
        synchronise(self.device)
        spans = list(zip(self.marks[::2], self.marks[1::2], strict=True))
        if self.device == "cuda":
            return float(sum(start.elapsed_time(end) for start, end in spans)) / 1e3
        return float(sum(end - start for start, end in spans))

    def operations(self, config: Any) -> float:
        lengths, width = torch.cat(self.lengths).double(), config.hidden_size
        each = 24 * width**2 * lengths + 4 * width * lengths**2
        return float(each.sum()) * int(config.num_hidden_layers)

    @property
    def tokens(self) -> int:
        return int(torch.cat(self.lengths).sum())


class Spy:
    """Calls a function, and keeps its time and what it gave."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.seconds = function, 0.0
        self.results: list[Any] = []

    def __call__(self, *inputs: Any) -> Any:
        start = time.perf_counter()
        result = self.function(*inputs)
        self.seconds += time.perf_counter() - start
        self.results.append(result)
        return result


def nothing(left: Units, lefts: IntArray, right: Units, rights: IntArray) -> FloatArray:
    """In place of a comparison."""
    return np.zeros((len(lefts), 1))


def timed(metric: XMoverScore, batch: Segments) -> tuple[float, FloatArray]:
    start = time.perf_counter()
    scores = metric.statistics(batch)[:, 0]
    return time.perf_counter() - start, scores


def measure(folder: str, segments: int, device: str, layer: int) -> None:
    encode.configure(device=device, dtype="bfloat16", memory_gb=0.0)
    encoder = encode.load_encoder(folder)
    assert isinstance(encoder, HubEncoder)
    metric = XMoverScore(preset="repo2021", encoder=folder, layer=layer, lm="off", dropout=0.0)
    batch = Segments(texts(segments * SYSTEMS), texts(segments) * SYSTEMS)
    metric.statistics(batch)  # a whole pass: shapes were met, memory is there, loops are compiled
    model = encoder._model(layer)
    peak = matrix_peak(device, 8192 if device == "cuda" else 1024)
    print(f"bfloat16 peak, measured: {peak / 1e12:.1f} TFLOP/s")

    watch = Watch(model, device)
    forward, compare = Spy(encoder.rows), Spy(metric.compare)
    encoder.rows, metric.compare = forward, compare  # type: ignore[method-assign, assignment]
    seconds, scores = timed(metric, batch)
    busy, operations = watch.seconds, watch.operations(model.config)
    rate = len(batch) / seconds
    print(f"{SYSTEMS} systems x {segments:,} segments: {seconds:.2f} s, {rate:,.0f} segments/s")
    print(f"  {watch.tokens:,} tokens, {watch.padded / watch.tokens - 1:.1%} padding on top")
    print(f"  the device is in the model for {busy:.2f} s ({busy / seconds:.1%} of the time)")
    inside, over_all = operations / busy / peak, operations / seconds / peak
    print(f"  share of the peak: {inside:.1%} while in the model, {over_all:.1%} over all")
    print(f"  comparison (costs and transport) took {compare.seconds:.2f} s in its own thread")

    metric.compare = nothing  # type: ignore[method-assign]
    without, _ = timed(metric, batch)
    print(f"without comparison: {without:.2f} s; with it {seconds / without:.3f} times that")
    given = iter(forward.results)
    encoder.rows, metric.compare = lambda *_: next(given), compare.function  # type: ignore[method-assign]
    host, again = timed(metric, batch)
    assert (again == scores).all()
    print(f"without the forward pass: {host:.2f} s, {len(batch) / host:,.0f} segments/s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--size", choices=SIZES, default="base")
    parser.add_argument("--segments", type=int, default=2000, help="of each of five systems")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda")
    args = parser.parse_args()
    name = torch.cuda.get_device_name() if args.device == "cuda" else "CPU"
    print(f"{name}, {len(os.sched_getaffinity(0))} cores, torch {torch.__version__}")
    with tempfile.TemporaryDirectory() as folder:
        random_bert(Path(folder), args.size)
        measure(folder, args.segments, args.device, SIZES[args.size][0] * 2 // 3)


if __name__ == "__main__":
    main()
