"""What `mtgauge train bilstm | bilstm-attention | esim | ruse` does: vectors, seeds, export."""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from mtgauge.commands.train.metrics import Data, say
from mtgauge.encode import load_encoder
from mtgauge.encode.model_folder import model_folder
from mtgauge.train.judged.codes import Coded
from mtgauge.train.loop.batching import calibration, pearson_by_pair, rounded
from mtgauge.train.loop.loop import Plan, pick_device
from mtgauge.train.loop.seeds import over_seeds
from mtgauge.train.metrics.heads_task import (
    MAX_TOKENS,
    ContextTask,
    LiveVectors,
    StoredVectors,
    VectorSource,
    View,
)
from mtgauge.train.metrics.regressor_run import EncoderFolder, read_folder, torch_encoder
from mtgauge.train.nets.heads import ContextModel
from mtgauge.train.onnx.export import read_facts, told
from mtgauge.train.onnx.folder import load_warm, write_context, write_weights

if TYPE_CHECKING:
    from mtgauge.encode.tokens.encoder import Encoder


@dataclass(frozen=True)
class Setting:
    """`encoder` makes vectors once for all, `folder` is for one that makes them batch by batch."""

    encoder: Encoder | None
    folder: EncoderFolder | None
    languages: tuple[str, ...]
    columns: tuple[str, ...]

    @property
    def tokenizer_digest(self) -> str:
        return self.folder.tokenizer_digest if self.folder is not None else ""

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """Pieces where they are needed; stored vectors know their own."""
        return [[] for _ in texts] if self.folder is None else self.folder.tokenize(texts)


def prepare(args: argparse.Namespace) -> Setting:
    """Live vectors on a GPU and for prepared data, stored ones elsewhere."""
    columns = ("hyp", args.view)
    is_folder = model_folder(args.encoder, "encoder") is not None
    if is_folder and (pick_device(args.device).type != "cpu" or args.judged is not None):
        folder = read_folder(args.encoder)
        return Setting(None, folder, folder.languages, columns)
    encoder = load_encoder(args.encoder)
    return Setting(encoder, None, encoder.languages, columns)


def train(args: argparse.Namespace, setting: Setting, data: Data) -> dict[str, Any]:
    device = pick_device(args.device)
    if args.judged is not None:  # prepared for other models too, which need other texts
        held = None if data.test is None else _served(data.test, args.view)
        data = replace(data, train=_served(data.train, args.view), dev=_served(data.dev, args.view))
        data = replace(data, test=held)
    vectors = _vectors(args, setting, data, device)
    before: dict[str, Any] = {}

    def make() -> ContextTask:
        model = ContextModel(
            args.stage, len(vectors.layers), vectors.width, args.hidden, args.dropout
        )
        if args.warm is not None:
            before.update(load_warm(args.warm, model))
        return ContextTask(model.to(device), data.train, data.dev, vectors, args.view, args.batch)

    plan = Plan(
        epochs=args.epochs,
        rate=args.rate,
        schedule="plateau" if args.minutes is None else "linear",
        patience=args.patience,
        bf16=args.bf16,
        average=args.average,
        minutes=args.minutes,
    )
    kept = over_seeds(make, plan, args.seeds, args.out, args.quiet)
    assert isinstance(kept.task.model, ContextModel)
    with torch.inference_mode():
        predicted = kept.task.predict(data.dev)
        test = data.test and pearson_by_pair(
            data.test.lps.tolist(), kept.task.predict(data.test), data.test.scores
        )
    tested = {"test_pearson": rounded(test)} if test else {}
    if args.weights_only:
        return write_weights(args.out, kept.task.model, kept.facts() | tested | before)
    card = {
        "kind": args.stage,
        "name": f"mtgauge-{args.stage}",
        "view": args.view,
        "encoder": args.encoder,
        "encoder_fingerprint": vectors.fingerprint,
        "layers": list(vectors.layers),
        "max_tokens": MAX_TOKENS,
        "hidden": args.hidden,
        "calibration": calibration(predicted, data.dev.raw),
        **kept.facts(),
        **tested,
        **before,
        "data": data.facts,
    }
    card = told(card, read_facts(args.facts))
    write_context(args.out, kept.task.model, card)
    return card


def _served(rows: Coded, view: View) -> Coded:
    """The rows that have what a translation is compared with."""
    return rows.take(np.flatnonzero(rows.numbers[view] >= 0))


def _vectors(
    args: argparse.Namespace, setting: Setting, data: Data, device: torch.device
) -> VectorSource:
    book = data.train.book
    if setting.encoder is None:
        assert setting.folder is not None
        folder = setting.folder.tokenizer.parent
        live = torch_encoder(folder, args.weights)
        packer = setting.folder.packer(live.shape.positions)
        layers = tuple(range(1, live.shape.layers + 1))
        if args.weights is None:
            mark = load_encoder(args.encoder).fingerprint
        else:  # of weights that are not exported yet
            mark = hashlib.sha256(args.weights.read_bytes()).hexdigest()[:16]
        return LiveVectors(live, packer, book, layers, mark, device)
    say(args, "encoding the texts once")
    assert book.texts is not None
    layers = tuple(range(1, setting.encoder.layers + 1))
    return StoredVectors.build(
        setting.encoder, book.texts, layers, args.out / "vectors", args.quiet
    )
