"""Training a head on frozen vectors: `mtgauge train bilstm | bilstm-attention | esim | ruse`.

    card = head("esim", JudgedFiles(train=["da16.tsv.gz"], dev=["da15.tsv.gz"]), "my-esim")

Vectors are made batch by batch on a GPU and for packed data (`LiveVectors`), and else once for all,
on disk (`StoredVectors`; `vectors` names a folder that several heads share). The same call again
goes on with a run that was stopped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from mtgauge.arguments import refuse_other
from mtgauge.data.seal import sha256_of
from mtgauge.encode import load_encoder
from mtgauge.encode.model_folder import model_folder
from mtgauge.errors import UsageError
from mtgauge.train.judged.coder import TextCoder, read_coder
from mtgauge.train.judged.codes import Coded, IntArray
from mtgauge.train.judged.files import load
from mtgauge.train.loop.batching import calibration
from mtgauge.train.loop.fit import Plan, pick_device
from mtgauge.train.loop.seeds import over_seeds
from mtgauge.train.metrics.head_task import HeadTask
from mtgauge.train.metrics.vectors import MAX_TOKENS, LiveVectors, StoredVectors, VectorSource
from mtgauge.train.nets.heads import ContextModel
from mtgauge.train.nets.weights import TRAINED, save_trained
from mtgauge.train.onnx import restore
from mtgauge.train.onnx.card import with_facts
from mtgauge.train.onnx.folder import write_head
from mtgauge.train.progress import say
from mtgauge.train.settings import HEADS, HeadName, HeadTraining, JudgedFiles


def head(
    name: HeadName, files: JudgedFiles, out: str | Path, settings: HeadTraining | None = None
) -> dict[str, Any]:
    """Train into a folder; returns its card (with `weights_only`: the facts of the run)."""
    how, out = settings or HeadTraining(), Path(out)
    refuse_other("files", files, JudgedFiles)
    refuse_other("settings", how, HeadTraining)
    if name not in HEADS:
        raise UsageError(f"There is no head {name!r}. There are: {', '.join(HEADS)}.")
    how.check()
    files.check()
    device = pick_device(how.device)
    folder = model_folder(how.encoder, "encoder")
    columns = ("hyp", how.view)
    if folder is not None and (device.type != "cpu" or files.packed is not None):
        coder = replace(read_coder(how.encoder), columns=columns)
        data = load(files, coder, how.quiet)
        vectors: VectorSource = _live(how, coder, folder, data.train, device)
    else:
        encoder = load_encoder(how.encoder)
        data = load(files, TextCoder(None, encoder.languages, columns), how.quiet)
        if not how.quiet:
            say("encoding the texts once")
        layers = tuple(range(1, encoder.layers + 1))
        texts = data.train.book.texts
        assert texts is not None
        wanted = _texts_of([data.train, data.dev, *([data.test] if data.test else [])], columns)
        where = how.vectors or out / "vectors"
        vectors = StoredVectors.build(encoder, texts, layers, where, how.quiet, wanted)
    train, dev, test = data.train, data.dev, data.test
    if files.packed is not None:  # packed for other models too, which need other texts
        train, dev = _with_text(train, how.view), _with_text(dev, how.view)
        test = None if test is None else _with_text(test, how.view)

    def make() -> HeadTask:
        model = ContextModel(name, len(vectors.layers), vectors.width, how.hidden, how.dropout)
        return HeadTask(model.to(device), train, dev, vectors, how.view, how.batch)

    plan = Plan.of(how, schedule="plateau" if how.minutes is None else "linear")
    kept = over_seeds(make, plan, how, out, test)
    model = kept.task.model
    assert isinstance(model, ContextModel)
    facts = kept.facts()
    if how.weights_only:
        save_trained(out / TRAINED, model, facts)
        return facts
    with torch.inference_mode():
        predicted = kept.task.predict(dev)
    card = {
        "kind": name,
        "name": f"mtgauge-{name}",
        "view": how.view,
        "encoder": how.encoder,
        "encoder_fingerprint": vectors.fingerprint,
        "layers": list(vectors.layers),
        "max_tokens": MAX_TOKENS,
        "hidden": how.hidden,
        "calibration": calibration(predicted, dev.raw),
        **facts,
        "data": data.facts,
    }
    card = with_facts(card, how.facts)
    write_head(out, model, card)
    return card


def _texts_of(parts: Sequence[Coded], columns: Sequence[str]) -> IntArray:
    """Numbers of the texts that these rows compare; with --limit a book has others too."""
    numbers = np.unique(np.concatenate([part.numbers[c] for part in parts for c in columns]))
    return numbers[numbers >= 0]


def _with_text(rows: Coded, view: str) -> Coded:
    """The rows that have what a translation is compared with."""
    return rows.take(np.flatnonzero(rows.numbers[view] >= 0))


def _live(
    how: HeadTraining, coder: TextCoder, folder: Path, rows: Coded, device: torch.device
) -> LiveVectors:
    encoder = restore.load_encoder(how.encoder_weights or folder / "model.onnx")
    layers = tuple(range(1, encoder.shape.layers + 1))
    if how.encoder_weights is None:
        mark = load_encoder(how.encoder).fingerprint
    else:  # of weights that are not exported yet
        mark = sha256_of(how.encoder_weights)[:16]
    packer = coder.packer(encoder.shape.positions)
    return LiveVectors(encoder, packer, rows.book, layers, mark, device)
