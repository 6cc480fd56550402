"""Best-match metrics on a GPU: segments a second, share of the matrix peak, who waits for whom.

    python bench/contextual_gpu.py                                 # 5 systems x 20,000 segments
    python bench/contextual_gpu.py --device cpu --size small --segments 40     # to try it out

Two encoders: one of BERT-base size with random weights (random_encoder.py), as from the hub, and
the embedded one with its weights restored in torch. For each, BERTScore (reference) and XMoverScore
(source, best matches, no language model), from texts to rows of statistics, in bfloat16. The first
pass over all texts is not timed; the best of `--rounds` passes is printed, and the slowest. Each
pass starts without the words that the one before had tokenised.

    in the model    CUDA events around every batch: also what the device waits there for its host
    peak            a bfloat16 product of two 8192 x 8192 matrices, measured in the same run
    operations      those of real tokens (24 d^2 + 4 d length, per token and layer)
    host            seconds of the main thread: tokenising, giving work to the device; of the
                    comparing thread: units and best matches, its waiting for the device included

Scores of a sample are computed again in float32 on the CPU, and the example data is scored with the
embedded encoder beside its stored scores (onnxruntime, int8). `--transport` adds three runs of
XMoverScore with exact transport: as users have it, without its comparison, and without the forward
pass: if the first two take equally long, transport holds up nothing.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import torch

from mtgauge.data.segments import Segments
from mtgauge.encode.load import configure, configured, current_settings
from mtgauge.encode.tokens.device import DeviceEncoder
from mtgauge.encode.tokens.hub import HubEncoder
from mtgauge.encode.tokens.restored import RestoredEncoder
from mtgauge.metric import FloatArray
from mtgauge.metrics._contextual import ContextualMetric
from mtgauge.metrics.bertscore import BERTScore
from mtgauge.metrics.xmoverscore import XMoverScore
from mtgauge.models import shipped
from random_encoder import SIZES, WORDS, random_bert, texts

Model = Callable[[], DeviceEncoder]
SYSTEMS = 5
SAMPLE = 200  # segments that are scored on the CPU as well


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
    """Seconds of the device in the model, of the host in its steps, and what was encoded."""

    def __init__(self, encoder: DeviceEncoder, metric: ContextualMetric, device: str) -> None:
        self.device = device
        self.marks: list[tuple[Any, Any]] = []
        self.sizes: list[tuple[Any, int]] = []  # lengths of a batch's texts, layers
        self.host = {"tokenising": 0.0, "giving work": 0.0, "comparing": 0.0}
        self.before = [(x, dict(x.__dict__)) for x in (encoder, metric)]
        encoder.states = self.states(encoder.states)  # type: ignore[method-assign]
        encoder.tokenize_lean = self.timed(  # type: ignore[method-assign]
            "tokenising", encoder.tokenize_lean
        )
        encoder._block = self.timed("giving work", encoder._block)  # type: ignore[method-assign]
        metric._fill = self.timed("comparing", metric._fill)  # type: ignore[method-assign]

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        for watched, before in self.before:
            for name in ("states", "tokenize_lean", "_block", "_fill"):
                if name not in before:
                    watched.__dict__.pop(name, None)

    def timed(self, step: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*inputs: Any) -> Any:
            start = time.perf_counter()
            try:
                return function(*inputs)
            finally:
                self.host[step] += time.perf_counter() - start

        return run

    def states(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(batch: Any, layers: tuple[int, ...], lang: str | None) -> Any:
            self.sizes.append((batch.lengths, max(layers)))
            start = self.mark()
            found = function(batch, layers, lang)
            self.marks.append((start, self.mark()))
            return found

        return run

    def mark(self) -> Any:
        if self.device != "cuda":
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        event.record()
        return event

    @property
    def seconds(self) -> float:
        synchronise(self.device)
        if self.device == "cuda":
            return float(sum(start.elapsed_time(end) for start, end in self.marks)) / 1e3
        return float(sum(end - start for start, end in self.marks))

    def operations(self, width: int) -> float:
        total = 0.0
        for lengths, layers in self.sizes:
            n = lengths.double()
            total += float((24 * width**2 * n + 4 * width * n**2).sum()) * layers
        return total

    @property
    def tokens(self) -> int:
        return sum(int(lengths.sum()) for lengths, _ in self.sizes)


def timed(metric: ContextualMetric, batch: Segments, device: str) -> tuple[float, FloatArray]:
    metric.model.__dict__.pop("_by_word", None)  # words of an earlier pass are not known
    start = time.perf_counter()
    rows = metric.statistics(batch)
    synchronise(device)
    return time.perf_counter() - start, rows


def measure(
    name: str, metric: ContextualMetric, batch: Segments, peak: float, args: argparse.Namespace
) -> FloatArray:
    """Print what one metric takes, and give its rows."""
    encoder = metric.model
    assert isinstance(encoder, DeviceEncoder)
    timed(metric, batch, args.device)  # shapes were met, memory is there
    runs = sorted(timed(metric, batch, args.device)[0] for _ in range(args.rounds))
    with Watch(encoder, metric, args.device) as watch:
        watched, rows = timed(metric, batch, args.device)
        busy, work = watch.seconds, watch.operations(width_of(encoder))
    best, n = runs[0], len(batch)
    print(f"\n{name}: {n / best:,.0f} segments/s ({n:,} in {best:.2f} s; slowest {runs[-1]:.2f} s)")
    print(f"  {watch.tokens:,} tokens in {len(watch.marks)} batches, layer {watch.sizes[0][1]}")
    print(f"  watched run {watched:.2f} s: device in the model {busy:.2f} s ({busy / watched:.0%})")
    inside, over_all = work / busy / peak, work / best / peak
    print(f"  share of the peak: {inside:.1%} in the model, {over_all:.1%} over all")
    print("  host: " + ", ".join(f"{step} {s:.2f} s" for step, s in watch.host.items()))
    return rows


def width_of(encoder: DeviceEncoder) -> int:
    network = getattr(encoder, "network", None)
    return int(network.shape.dim if network is not None else encoder.config.hidden_size)  # type: ignore[attr-defined]


@contextmanager
def using(encoder: DeviceEncoder) -> Iterator[None]:
    """All metrics on this encoder, whose vectors stay where they are: on the CPU too."""
    encoder.stays = True
    usual = ContextualMetric.model
    ContextualMetric.model = property(lambda _: encoder)  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        ContextualMetric.model = usual  # type: ignore[method-assign]


def deviation(metric: ContextualMetric, encoder: Model, batch: Segments, rows: FloatArray) -> None:
    """How far scores of a sample are from those of the same weights in float32 on the CPU."""
    some = batch.take(range(min(SAMPLE, len(batch))))
    with configured(device="cpu", dtype="float32"), using(encoder()):
        exact = metric.statistics(some)
    gap = np.abs(metric.segment_score(exact) - metric.segment_score(rows[: len(some)]))
    print(f"  from float32 on the CPU: {gap.max():.1e} at most, {gap.mean():.1e} in the mean")


def stored_scores() -> None:
    """The example data with the embedded encoder, beside its stored scores."""
    folder = resources.files("mtgauge.data") / "example"
    golden = json.loads((folder / "golden.json").read_text("utf-8"))
    worst = 0.0
    for lang in ("de-en", "ru-en"):
        with (folder / f"{lang}.tsv").open(encoding="utf-8") as file:
            table = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
        for system in golden["bertscore"][lang]:
            batch = Segments(
                [row[system] for row in table],
                [row["source"] for row in table],
                [(row["reference"],) for row in table],
            )
            metric = BERTScore()
            rows = metric.statistics(batch)
            score = float(metric.system_score(rows.sum(0)[None], np.array([len(rows)]))[0])
            worst = max(worst, abs(score - golden["bertscore"][lang][system]))
    print(f"\nexample data, bertscore: {worst:.1e} at most from the stored system scores (int8)")


def hidden_transport(folder: str, batch: Segments, args: argparse.Namespace) -> None:
    """Whether exact transport on the host holds up the device."""
    metric = XMoverScore(preset="repo2021", encoder=folder, lm="off", dropout=0.0, layer=args.layer)
    timed(metric, batch, args.device)
    usual = min(timed(metric, batch, args.device)[0] for _ in range(args.rounds))
    compare = metric.compare
    metric.compare = lambda left, lefts, *_: np.zeros((len(lefts), 1))  # type: ignore[method-assign]
    without = min(timed(metric, batch, args.device)[0] for _ in range(args.rounds))
    metric.compare = compare  # type: ignore[method-assign]
    encoder = metric.model
    kept: list[Any] = []
    inner = encoder.encode_in_place

    def keep(*inputs: Any) -> Any:
        kept.append(inner(*inputs))
        return kept[-1]

    few = batch.take(range(min(len(batch), 8192)))
    encoder.encode_in_place = keep  # type: ignore[method-assign, assignment]
    timed(metric, few, args.device)
    given = iter(kept)
    encoder.encode_in_place = lambda *_: next(given)  # type: ignore[method-assign]
    alone, _ = timed(metric, few, args.device)
    del encoder.encode_in_place
    n = len(batch)
    print(f"\nXMoverScore, exact transport: {n / usual:,.0f} segments/s")
    print(f"  with comparison {usual:.2f} s, without {without:.2f} s: {usual / without:.3f} times")
    print(f"  without the forward pass: {len(few) / alone:,.0f} segments/s")


def embedded_words(encoder: DeviceEncoder) -> Any:
    """Words that are one piece for the embedded encoder."""
    words = [
        n[1:] for n in encoder.vocabulary if n.startswith("▁") and n[1:].isalpha() and len(n) > 3
    ]
    return np.array(words)


def batch_of(segments: int, words: Any) -> Segments:
    """All systems, each sentence with one source and one reference."""
    sources, references = texts(segments, words), texts(segments, words)
    hypotheses = texts(segments * SYSTEMS, words)
    return Segments(hypotheses, sources * SYSTEMS, [(text,) for text in references] * SYSTEMS)


def hub(folder: str, peak: float, args: argparse.Namespace) -> None:
    batch = batch_of(args.segments, WORDS)

    def model() -> DeviceEncoder:
        return HubEncoder(folder, current_settings())

    with using(model()):
        for metric in (
            BERTScore(encoder=folder),
            XMoverScore(encoder=folder, layer=args.layer, lm="off"),
        ):
            rows = measure(
                f"{metric.name}, {args.size} size from the hub", metric, batch, peak, args
            )
            deviation(metric, model, batch, rows)


def embedded(peak: float, args: argparse.Namespace) -> None:
    def model() -> DeviceEncoder:
        return RestoredEncoder(shipped("encoder"), current_settings())

    encoder = model()
    batch = batch_of(args.segments, embedded_words(encoder))
    with using(encoder):
        for metric in (BERTScore(), XMoverScore(lm="off")):
            rows = measure(f"{metric.name}, embedded encoder", metric, batch, peak, args)
            deviation(metric, model, batch, rows)
        stored_scores()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--size", choices=SIZES, default="base")
    parser.add_argument("--segments", type=int, default=20_000, help="of each of five systems")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda")
    parser.add_argument("--only", choices=("hub", "embedded"), help="one encoder alone")
    parser.add_argument("--transport", action="store_true", help="exact transport too")
    args = parser.parse_args()
    args.layer = SIZES[args.size][0] * 2 // 3
    name = torch.cuda.get_device_name() if args.device == "cuda" else "CPU"
    print(f"{name}, {len(os.sched_getaffinity(0))} cores, torch {torch.__version__}")
    peak = matrix_peak(args.device, 8192 if args.device == "cuda" else 1024)
    print(f"bfloat16 peak, measured: {peak / 1e12:.1f} TFLOP/s")
    configure(device=args.device, dtype="bfloat16", memory_gb=0.0)
    with tempfile.TemporaryDirectory() as folder:
        random_bert(Path(folder), args.size)
        if args.only != "embedded":
            hub(folder, peak, args)
        if args.only != "hub":
            embedded(peak, args)
        if args.transport:
            with using(HubEncoder(folder, current_settings())):
                hidden_transport(folder, batch_of(args.segments, WORDS), args)


if __name__ == "__main__":
    main()
