"""What `mtgauge train regressor` does: the encoder in torch, views, seeds, export."""

from __future__ import annotations

import argparse
import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer

from mtgauge import encode
from mtgauge.encode import model_folder
from mtgauge.encode.pairs import Packer
from mtgauge.errors import ResourceError, UsageError
from mtgauge.metrics.regressor import INPUTS
from mtgauge.train.batching import calibration, rounded
from mtgauge.train.encoder import load_encoder
from mtgauge.train.folder import write_regressor
from mtgauge.train.loop import Plan, pick_device
from mtgauge.train.model import Encoder
from mtgauge.train.regressor_model import EmbeddedPairs, HubPairs, Regressor, load_hub
from mtgauge.train.regressor_task import RegressorTask
from mtgauge.train.restore import encoder_from_onnx
from mtgauge.train.seeds import over_seeds
from mtgauge.train.trained_command import VIEWS, Data, data_facts


@dataclass(frozen=True)
class Setting:
    encoder: EmbeddedPairs | HubPairs
    tokenizer: Path
    packer: Packer
    views: dict[str, float]
    languages: tuple[str, ...]
    language_numbers: dict[str, int] | None


def prepare(args: argparse.Namespace) -> Setting:
    views = parse_views(args.views)
    folder = model_folder(args.encoder, "encoder")
    if folder is not None:
        encoder, languages = _embedded(args, folder)
        tokenizer = folder / "tokenizer.json"
        return Setting(
            encoder, tokenizer, packer_of(args.encoder, args.max_length), views, languages, None
        )
    hub = HubPairs(load_hub(args.encoder))
    config = hub.model.config
    tokenizer = _hub_tokenizer(args.encoder, args.out)
    numbers = dict(config.lang2id) if hub.has_langs else None
    return Setting(
        hub,
        tokenizer,
        Packer.of(Tokenizer.from_file(str(tokenizer)), args.max_length),
        views,
        tuple(numbers or ()),
        numbers,
    )


def parse_views(items: list[str]) -> dict[str, float]:
    """{"hyp+src": 0.5} from "hyp+src=0.5"; a view without a share counts 1."""
    views: dict[str, float] = {}
    for item in items:
        name, _, share = item.partition("=")
        if name not in VIEWS:
            raise UsageError(f"There is no view {name!r}. There are: {', '.join(VIEWS)}.")
        try:
            views[name] = float(share) if share else 1.0
        except ValueError:
            raise UsageError(f"--views {item}: {share!r} is not a number.") from None
        if not views[name] > 0:
            raise UsageError(f"--views {item}: a share is more than 0.")
    if "hyp+src+ref" in views and len(views) > 1:
        raise UsageError("hyp+src+ref is an input of its own: train it alone.")
    return views


def packer_of(encoder: str, max_length: int) -> Packer:
    folder = model_folder(encoder, "encoder")
    if folder is None or not (folder / "tokenizer.json").is_file():
        raise ResourceError(f"The encoder {encoder} has no tokenizer.json: name its folder.")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    return Packer.of(tokenizer, max_length)


def torch_encoder(folder: Path, weights: Path | None) -> Encoder:
    """The package's kind of encoder, from torch weights or else from its ONNX file."""
    if weights is not None:
        return load_encoder(weights)
    return encoder_from_onnx(folder / "model.onnx")


def _embedded(args: argparse.Namespace, folder: Path) -> tuple[EmbeddedPairs, tuple[str, ...]]:
    languages = encode.load_encoder(args.encoder).languages
    encoder = torch_encoder(folder, args.weights)
    if args.max_length > encoder.shape.positions:
        raise UsageError(
            f"--max-length {args.max_length}: the encoder has {encoder.shape.positions} positions."
        )
    pairs = EmbeddedPairs(encoder, args.freeze_embeddings, args.dropout)
    return pairs, languages


def _hub_tokenizer(spec: str, out: Path) -> Path:
    """The tokenizer.json of a hub model, in the output folder."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(spec)
    if not tokenizer.is_fast:
        raise ResourceError(f"The encoder {spec} has no fast tokenizer (tokenizer.json).")
    out.mkdir(parents=True, exist_ok=True)
    path = out / "tokenizer.json"
    tokenizer.backend_tokenizer.save(str(path))
    return path


def train(args: argparse.Namespace, setting: Setting, data: Data) -> dict[str, Any]:
    device = pick_device(args.device)
    slots = tuple(dict.fromkeys(slot for view in setting.views for slot in INPUTS[view]))

    def make() -> RegressorTask:
        model = Regressor(
            copy.deepcopy(setting.encoder), slots, args.pool, args.head, args.hidden, args.dropout
        ).to(device)
        return RegressorTask(
            model,
            setting.packer,
            data.train,
            data.dev,
            setting.views,
            args.batch,
            args.plain,
            setting.language_numbers,
            args.head_rate,
        )

    plan = Plan(
        epochs=args.epochs,
        rate=args.rate,
        schedule="linear",
        decay=0.01,
        clip=1.0,
        patience=args.patience,
        bf16=args.bf16,
        minutes=args.minutes,
    )
    kept = over_seeds(make, plan, args.seeds, args.out, args.quiet)
    model = kept.task.model
    assert isinstance(model, Regressor)
    with torch.inference_mode():
        kept.task.choose_answers()
        predicted = np.concatenate([kept.task.predict(data.dev, v) for v in setting.views])
        test = data.test and kept.task.correlations(data.test)
    there = ~np.isnan(predicted)
    raw = np.tile(data.dev.raw, len(setting.views))
    card = {
        "kind": "regressor",
        "name": "mtgauge-regressor",
        "views": list(setting.views),
        "slots": list(slots),
        "answers": kept.task.answers,
        "encoder": args.encoder,
        "inputs": list(setting.encoder.inputs),
        "language_numbers": setting.language_numbers,
        "width": model.width,
        "pool": args.pool,
        "head": args.head,
        "max_length": args.max_length,
        "calibration": calibration(predicted[there], raw[there]),
        **kept.facts(),
        **({"test_pearson": rounded(test)} if test else {}),
        "data": data_facts(args, data),
    }
    write_regressor(args.out, model, card, setting.tokenizer, kept.task.sample(200))
    return card
