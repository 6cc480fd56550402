"""Training the sentence-pair regressor: `mtgauge train regressor`.

    card = regressor(JudgedFiles(train=["da16.tsv.gz"], dev_share=0.1), "my-regressor")

The walk: this file makes encoder and data ready, `loop` trains a `RegressorTask` per seed, `nets`
has the model, and `onnx` writes the folder that `regressor:model=my-regressor` reads. The same call
again goes on with a run that was stopped.
"""

from __future__ import annotations

import copy
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from mtgauge.arguments import refuse_other
from mtgauge.encode.model_folder import model_folder
from mtgauge.encode.tokens import slow
from mtgauge.encode.tokens.pairs import Packer
from mtgauge.errors import UsageError
from mtgauge.metrics.regressor import INPUTS
from mtgauge.train.judged.coder import TextCoder, read_coder
from mtgauge.train.judged.files import load
from mtgauge.train.loop.batching import calibration, rounded
from mtgauge.train.loop.fit import Plan, pick_device
from mtgauge.train.loop.seeds import over_seeds
from mtgauge.train.metrics.regressor_task import RegressorTask
from mtgauge.train.nets.regressor import EmbeddedPairs, HubPairs, Regressor, load_hub
from mtgauge.train.nets.weights import TRAINED, save_trained
from mtgauge.train.onnx.card import with_facts
from mtgauge.train.onnx.folder import write_regressor
from mtgauge.train.onnx.restore import load_encoder
from mtgauge.train.settings import JudgedFiles, RegressorTraining


@dataclass(frozen=True)
class _Pairs:
    """An encoder of sentence pairs, and how it reads texts."""

    encoder: EmbeddedPairs | HubPairs
    coder: TextCoder
    packer: Packer
    language_numbers: dict[str, int] | None = None


def regressor(
    files: JudgedFiles, out: str | Path, settings: RegressorTraining | None = None
) -> dict[str, Any]:
    """Train into a folder; returns its card (with `weights_only`: the facts of the run)."""
    how, out = settings or RegressorTraining(), Path(out)
    refuse_other("files", files, JudgedFiles)
    refuse_other("settings", how, RegressorTraining)
    how.check()
    files.check()
    device = pick_device(how.device)
    pairs = _pairs(how, out)
    data = load(files, pairs.coder, how.quiet)
    slots = tuple(dict.fromkeys(slot for view in how.views for slot in INPUTS[view]))

    def make() -> RegressorTask:
        encoder = copy.deepcopy(pairs.encoder)
        model = Regressor(encoder, slots, how.pool, how.head, how.hidden, how.dropout)
        return RegressorTask(
            model.to(device),
            pairs.packer,
            data.train,
            data.dev,
            how.views,
            how.batch,
            pairs.language_numbers,
            how.head_rate,
        )

    plan = Plan.of(how, schedule="linear", decay=0.01, clip=1.0)
    kept = over_seeds(make, plan, how, out, data.test)
    model = kept.task.model
    assert isinstance(model, Regressor)
    with torch.inference_mode():
        facts = kept.facts() | {"dev_pearson": rounded(kept.task.correlations(data.dev))}
    facts |= {"views": list(how.views), "answers": kept.task.answers}
    if how.weights_only:
        save_trained(out / TRAINED, model, facts)
        return facts
    with torch.inference_mode():
        predicted = np.concatenate([kept.task.predict(data.dev, view) for view in how.views])
    known = ~np.isnan(predicted)
    raw = np.tile(data.dev.raw, len(how.views))
    card = {
        "kind": "regressor",
        "name": "mtgauge-regressor",
        "slots": list(slots),
        "encoder": how.encoder,
        "inputs": list(pairs.encoder.inputs),
        "language_numbers": pairs.language_numbers,
        "width": model.width,
        "pool": how.pool,
        "head": how.head,
        "max_length": how.max_length,
        "calibration": calibration(predicted[known], raw[known]),
        **facts,
        "data": data.facts,
    }
    card = with_facts(card | {"tokenizer_sha256": pairs.coder.digest}, how.facts)
    write_regressor(out, model, card, pairs.coder.tokenizer, kept.task.sample(200))
    return card


def _pairs(how: RegressorTraining, out: Path) -> _Pairs:
    folder = model_folder(how.encoder, "encoder")
    if folder is None:
        hub = HubPairs(load_hub(how.encoder))
        numbers = dict(hub.model.config.lang2id) if hub.has_langs else None
        coder = TextCoder(_hub_tokenizer(how.encoder, out), tuple(numbers or ()))
        return _Pairs(hub, coder, coder.packer(how.max_length), numbers)
    coder = read_coder(how.encoder)
    encoder = load_encoder(how.encoder_weights or folder / "model.onnx")
    if how.max_length > encoder.shape.positions:
        raise UsageError(
            f"--max-length {how.max_length}: the encoder has {encoder.shape.positions} positions."
        )
    own = EmbeddedPairs(encoder, how.freeze_embeddings, how.dropout)
    return _Pairs(own, coder, coder.packer(how.max_length))


def _hub_tokenizer(spec: str, out: Path) -> Path:
    """The tokenizer.json of a hub model in the output folder, or the folder of a slow one."""
    from mtgauge.encode.hub import load_tokenizer

    out.mkdir(parents=True, exist_ok=True)
    path, local = out / "tokenizer.json", Path(spec) / "tokenizer.json"
    if local.is_file():
        shutil.copyfile(local, path)
        return path
    tokenizer = load_tokenizer(spec)
    if not tokenizer.is_fast:
        slow.save(tokenizer, out / slow.FOLDER)
        return out / slow.FOLDER
    tokenizer.backend_tokenizer.save(str(path))
    return path
