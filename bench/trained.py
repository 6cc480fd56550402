"""The trained metrics: segments a second, beside the same networks in torch, and training time.

    python bench/trained.py [--segments 300] [--train 3360]

Texts are made up, of news-like length. `ours` is what `mtgauge score` does: int8, each distinct
pair read once, batches of like length. The peer is how the papers' programs run: float32 in torch,
32 segments a batch in file order, padded to the longest, one pass a view. Both are on one thread in
one process; a second is one of processor time, so that a busy machine changes the figures less.
`--train` also times one epoch of ESIM on stored vectors, as paper 002 trains it (batch 32).
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer

import mtgauge
from mtgauge.data.segments import Segments
from mtgauge.encode import load_encoder
from mtgauge.encode.tokens.pairs import Packer
from mtgauge.models import shipped
from mtgauge.train.judged.codes import code
from mtgauge.train.judged.inputs import Inputs
from mtgauge.train.judged.rows import Rows
from mtgauge.train.loop.fit import Plan, fit
from mtgauge.train.metrics.head_task import HeadTask
from mtgauge.train.metrics.vectors import StoredVectors
from mtgauge.train.nets.heads import ContextModel
from mtgauge.train.nets.regressor import EmbeddedPairs, Regressor
from mtgauge.train.onnx.restore import load_encoder as load_torch_encoder

WORDS = (
    "the government said on monday that new rules for banks and small firms would come into force "
    "next year while ministers in several european cities still talk about prices energy schools "
    "hospitals trains weather football elections people who live near old rivers mountains"
).split()


def texts(n: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, size=k)) + "." for k in rng.integers(8, 42, size=n)]


def cpu_seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def peer(packer: Packer, model: Regressor, views: list[list[tuple[str, str]]]) -> None:
    with torch.inference_mode():
        for pairs in views:
            for start in range(0, len(pairs), 32):
                packed = packer.pack(pairs[start : start + 32])
                columns = (packed.ids, packed.mask, packed.types, packed.langs)
                model.vector(*Inputs(*map(torch.from_numpy, columns)))


def scoring(n: int) -> None:
    folder = shipped("encoder")
    packer = Packer.of(Tokenizer.from_file(str(folder / "tokenizer.json")), 160)
    model = Regressor(
        EmbeddedPairs(load_torch_encoder(folder / "model.onnx")), ("src", "ref"), "compare", "mlp"
    ).eval()
    hypotheses, sources, references = (texts(n, seed) for seed in (1, 2, 3))
    batch = Segments(hypotheses, sources, [(text,) for text in references], "de-en")
    with_source = list(zip(hypotheses, sources, strict=True))
    with_reference = list(zip(hypotheses, references, strict=True))
    pieces = sum(map(len, packer.tokenize(hypotheses + sources + references))) / (3 * n)
    print(f"{n} segments, {pieces:.0f} pieces a text; segments a second of one core")
    rows = [
        ("regressor:view=hyp+src", [with_source]),
        ("regressor:view=hyp+ref", [with_reference]),
        ("regressor", [with_source, with_reference]),
    ]
    for spec, views in rows:
        metric = mtgauge.load(spec)
        metric.statistics(batch.take([0]))
        ours = n / cpu_seconds(partial(metric.statistics, batch))
        theirs = n / cpu_seconds(partial(peer, packer, model, views))
        print(f"{spec:28} ours {ours:7.1f}   torch {theirs:7.1f}   ratio {ours / theirs:5.1f} x")
    for spec in ("esim", "bilstm-attention", "bilstm", "ruse"):
        metric = mtgauge.load(spec)
        metric.statistics(batch.take([0]))
        print(f"{spec:28} ours {n / cpu_seconds(partial(metric.statistics, batch)):7.1f}")


def training(n: int) -> None:
    rng = np.random.default_rng(0)
    rows = Rows(
        ["made up"] * n,
        ["de-en"] * n,
        [None] * n,
        texts(n, 4),
        texts(n, 5),
        rng.normal(size=n),
        np.ones(n),
        np.full(n, np.nan),
    )
    train, dev = code([rows, rows.take(range(min(n, 200)))], lambda texts: [[] for _ in texts])
    encoder = load_encoder("embedded")
    layers = tuple(range(1, encoder.layers + 1))
    assert train.book.texts is not None
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        vectors = StoredVectors.build(
            encoder, train.book.texts, layers, Path(folder) / "vectors", quiet=True
        )
        stored = time.process_time() - start
        for hidden, batch in ((300, 32), (160, 64)):
            model = ContextModel("esim", len(layers), vectors.width, hidden)
            task = HeadTask(model, train, dev, vectors, "ref", batch)
            start = time.process_time()
            out = Path(folder) / str(hidden)
            fit(task, Plan(epochs=1, rate=4e-4), out, quiet=True)
            epoch = time.process_time() - start
            print(
                f"ESIM of {hidden}, {n} segments, {batch} a batch: vectors once {stored:.0f} s, "
                f"an epoch {epoch:.0f} s of one core"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--segments", type=int, default=300)
    parser.add_argument("--train", type=int, default=0)
    args = parser.parse_args()
    torch.set_num_threads(1)
    if hasattr(os, "sched_setaffinity"):  # onnxruntime takes as many threads as there are cores
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    scoring(args.segments)
    if args.train:
        training(args.train)


if __name__ == "__main__":
    main()
