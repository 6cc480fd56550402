"""What `mtgauge train bilstm | bilstm-attention | esim | ruse` does: vectors, seeds, export."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from mtgauge.encode import load_encoder, model_folder
from mtgauge.train.batching import calibration, pearson_by_pair, rounded
from mtgauge.train.context_models import ContextModel
from mtgauge.train.context_task import (
    MAX_TOKENS,
    ContextTask,
    LiveVectors,
    StoredVectors,
    VectorSource,
    all_texts,
)
from mtgauge.train.folder import write_context
from mtgauge.train.loop import Plan, pick_device
from mtgauge.train.regressor_run import packer_of, torch_encoder
from mtgauge.train.seeds import over_seeds
from mtgauge.train.trained_command import Data, data_facts, say

if TYPE_CHECKING:
    from mtgauge.encode.encoder import Encoder


@dataclass(frozen=True)
class Setting:
    encoder: Encoder
    languages: tuple[str, ...]


def prepare(args: argparse.Namespace) -> Setting:
    encoder = load_encoder(args.encoder)
    return Setting(encoder, encoder.languages)


def train(args: argparse.Namespace, setting: Setting, data: Data) -> dict[str, Any]:
    device = pick_device(args.device)
    vectors = _vectors(args, setting.encoder, data, device)

    def make() -> ContextTask:
        model = ContextModel(
            args.stage, len(vectors.layers), vectors.width, args.hidden, args.dropout
        ).to(device)
        return ContextTask(model, data.train, data.dev, vectors, args.view, args.batch, args.plain)

    plan = Plan(
        epochs=args.epochs,
        rate=args.rate,
        schedule="plateau" if args.minutes is None else "linear",
        patience=args.patience,
        bf16=args.bf16,
        minutes=args.minutes,
    )
    kept = over_seeds(make, plan, args.seeds, args.out, args.quiet)
    with torch.inference_mode():
        predicted = kept.task.predict(data.dev)
        test = data.test and pearson_by_pair(
            data.test.lps, kept.task.predict(data.test), data.test.scores
        )
    card = {
        "kind": args.stage,
        "name": f"mtgauge-{args.stage}",
        "view": args.view,
        "encoder": args.encoder,
        "encoder_fingerprint": setting.encoder.fingerprint,
        "layers": list(vectors.layers),
        "max_tokens": MAX_TOKENS,
        "hidden": args.hidden,
        "calibration": calibration(predicted, data.dev.raw),
        **kept.facts(),
        **({"test_pearson": rounded(test)} if test else {}),
        "data": data_facts(args, data),
    }
    assert isinstance(kept.task.model, ContextModel)
    write_context(args.out, kept.task.model, card)
    return card


def _vectors(
    args: argparse.Namespace, encoder: Encoder, data: Data, device: torch.device
) -> VectorSource:
    layers = tuple(range(1, encoder.layers + 1))
    folder = model_folder(args.encoder, "encoder")
    if device.type != "cpu" and folder is not None:
        live = torch_encoder(folder, args.weights)
        packer = packer_of(args.encoder, encoder.max_length)
        return LiveVectors(live, packer, layers, encoder.fingerprint, device)
    say(args, "encoding the texts once")
    parts = [rows for rows in (data.train, data.dev, data.test) if rows is not None]
    texts = all_texts(parts, args.view, args.plain > 0)
    return StoredVectors.build(encoder, texts, layers, args.out / "vectors", args.quiet)
