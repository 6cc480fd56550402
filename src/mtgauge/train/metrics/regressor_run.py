"""What `mtgauge train regressor` does: the encoder in torch, views, seeds, export."""

from __future__ import annotations

import argparse
import copy
import hashlib
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer

from mtgauge.commands.train.metrics import VIEWS, Data
from mtgauge.encode.model_folder import model_folder
from mtgauge.encode.tokens.pairs import Packer
from mtgauge.errors import ResourceError, UsageError
from mtgauge.metrics.regressor import INPUTS
from mtgauge.train.embedded.encoder import load_encoder
from mtgauge.train.judged.codes import COLUMNS
from mtgauge.train.loop.batching import calibration, rounded
from mtgauge.train.loop.loop import Plan, pick_device
from mtgauge.train.loop.seeds import over_seeds
from mtgauge.train.metrics.regressor_task import RegressorTask
from mtgauge.train.nets.regressor import EmbeddedPairs, HubPairs, Regressor, load_hub
from mtgauge.train.nets.transformer import Encoder
from mtgauge.train.onnx.export import read_facts, told
from mtgauge.train.onnx.folder import load_warm, write_regressor, write_weights
from mtgauge.train.onnx.restore import encoder_from_onnx


@dataclass(frozen=True)
class EncoderFolder:
    """What is read of an encoder before its weights: languages and tokenizer."""

    tokenizer: Path
    languages: tuple[str, ...]
    columns: tuple[str, ...] = COLUMNS

    @cached_property
    def tokenizer_digest(self) -> str:
        return hashlib.sha256(self.tokenizer.read_bytes()).hexdigest()

    def packer(self, max_length: int) -> Packer:
        tokenizer = Tokenizer.from_file(str(self.tokenizer))
        tokenizer.no_padding()
        return Packer.of(tokenizer, max_length)

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        return self.packer(512).tokenize(texts)


@dataclass(frozen=True)
class Setting:
    encoder: EmbeddedPairs | HubPairs
    folder: EncoderFolder
    packer: Packer
    views: dict[str, float]
    language_numbers: dict[str, int] | None
    columns: tuple[str, ...] = COLUMNS

    @property
    def languages(self) -> tuple[str, ...]:
        return self.folder.languages

    @property
    def tokenizer_digest(self) -> str:
        return self.folder.tokenizer_digest

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        return self.packer.tokenize(texts)


def prepare(args: argparse.Namespace) -> Setting:
    views = parse_views(args.views)
    folder = model_folder(args.encoder, "encoder")
    if folder is not None:
        read = read_folder(args.encoder)
        encoder = _embedded(args, folder)
        return Setting(encoder, read, read.packer(args.max_length), views, None)
    hub = HubPairs(load_hub(args.encoder))
    config = hub.model.config
    numbers = dict(config.lang2id) if hub.has_langs else None
    read = EncoderFolder(_hub_tokenizer(args.encoder, args.out), tuple(numbers or ()))
    return Setting(hub, read, read.packer(args.max_length), views, numbers)


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


def read_folder(encoder: str) -> EncoderFolder:
    """Card and tokenizer of an encoder in a folder; its ONNX file need not be there."""
    folder = model_folder(encoder, "encoder")
    if folder is None or not (folder / "tokenizer.json").is_file():
        raise ResourceError(f"The encoder {encoder} has no tokenizer.json: name its folder.")
    try:
        card = json.loads((folder / "card.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ResourceError(f"The encoder {encoder} has no readable card.json ({error}).") from None
    return EncoderFolder(folder / "tokenizer.json", tuple(card.get("languages", ())))


def torch_encoder(folder: Path, weights: Path | None) -> Encoder:
    """The package's kind of encoder, from torch weights or else from its ONNX file."""
    if weights is not None:
        return load_encoder(weights)
    return encoder_from_onnx(folder / "model.onnx")


def _embedded(args: argparse.Namespace, folder: Path) -> EmbeddedPairs:
    encoder = torch_encoder(folder, args.weights)
    if args.max_length > encoder.shape.positions:
        raise UsageError(
            f"--max-length {args.max_length}: the encoder has {encoder.shape.positions} positions."
        )
    return EmbeddedPairs(encoder, args.freeze_embeddings, args.dropout)


def _hub_tokenizer(spec: str, out: Path) -> Path:
    """The tokenizer.json of a hub model, in the output folder; a local model's as it is."""
    from mtgauge.encode.hub import load_tokenizer

    out.mkdir(parents=True, exist_ok=True)
    path, local = out / "tokenizer.json", Path(spec) / "tokenizer.json"
    if local.is_file():
        shutil.copyfile(local, path)
        return path
    tokenizer = load_tokenizer(spec)
    if not tokenizer.is_fast:
        raise ResourceError(f"The encoder {spec} has no fast tokenizer (tokenizer.json).")
    tokenizer.backend_tokenizer.save(str(path))
    return path


def train(args: argparse.Namespace, setting: Setting, data: Data) -> dict[str, Any]:
    device = pick_device(args.device)
    slots = tuple(dict.fromkeys(slot for view in setting.views for slot in INPUTS[view]))
    before: dict[str, Any] = {}

    def make() -> RegressorTask:
        model = Regressor(
            copy.deepcopy(setting.encoder), slots, args.pool, args.head, args.hidden, args.dropout
        )
        if args.warm is not None:
            before.update(load_warm(args.warm, model))
        return RegressorTask(
            model.to(device),
            setting.packer,
            data.train,
            data.dev,
            setting.views,
            args.batch,
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
        average=args.average,
        minutes=args.minutes,
    )
    kept = over_seeds(make, plan, args.seeds, args.out, args.quiet)
    model = kept.task.model
    assert isinstance(model, Regressor)
    with torch.inference_mode():
        if args.epochs:  # the best weights are not the last ones that were validated
            kept.task.forget()
        kept.task.choose_answers()
        facts = kept.facts() | {"dev_pearson": rounded(kept.task.correlations(data.dev))}
        if data.test is not None:
            facts["test_pearson"] = rounded(kept.task.correlations(data.test))
    facts |= before
    if args.weights_only:
        return write_weights(args.out, model, facts)
    with torch.inference_mode():
        predicted = np.concatenate([kept.task.predict(data.dev, v) for v in setting.views])
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
        **facts,
        "data": data.facts,
    }
    card = told(card, read_facts(args.facts))
    write_regressor(args.out, model, card, setting.folder.tokenizer, kept.task.sample(200))
    return card
