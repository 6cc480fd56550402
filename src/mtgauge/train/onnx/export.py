"""Trained weights into an embedded model folder: `mtgauge train export`.

    models/NAME/  model.onnx  tokenizer.json  card.json

    export("encoder", Path("student.safetensors"), Path("corpus"), Path("models/encoder"))

`facts` is a JSON file whose keys are added to the card (data, objective, scores, licences); the
fingerprint is the SHA-256 of model and tokenizer, so a signature can name exactly these weights.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import nn

from mtgauge.errors import InputError
from mtgauge.train.embedded.corpus import BOS, EOS, MASK, PAD, SEP, UNK, with_frame
from mtgauge.train.embedded.encoder import load_encoder
from mtgauge.train.embedded.fluency import load_causal
from mtgauge.train.embedded.prepare import load_pairs, load_pieces
from mtgauge.train.loop.descend import load_weights
from mtgauge.train.nets.transformer import Ragged
from mtgauge.train.onnx.graph import Float, encoder_graph, fluency_graph

SPECIAL = {"pad": PAD, "bos": BOS, "eos": EOS, "unk": UNK, "mask": MASK, "sep": SEP}

SAMPLES = 6144  # pieces on which a layer is fitted
QUANTISATION = (
    "weights int8, a scale a row; activations uint8, a scale a piece, channels balanced on held-out"
    " text; piece table int8, a scale a row; sums exact on every processor"
)


def _own(weights: dict[str, Any], prefix: str) -> dict[str, Float]:
    """The exported part of the weights as float32 arrays."""
    return {
        name.removeprefix(prefix): value.numpy().astype(np.float32)
        for name, value in weights.items()
        if name.startswith(prefix)
    }


def sample_rows(corpus: Path, kind: str, per_language: int = 8) -> list[list[int]]:
    """Held-out sentences of every language as pieces: what activations are measured on."""
    pieces = load_pieces(corpus, "student")
    rows = []
    with np.load(corpus / "heldout.npz", allow_pickle=False) as stored:
        langs = sorted({name.split(".")[0] for name in stored.files})
    for lang in langs:
        pairs = load_pairs(corpus / "heldout.npz", lang + ".")
        for i in range(min(per_language, len(pairs))):
            x, y = (
                [int(p) for word in side.row(i) for p in pieces.row(int(word))]
                for side in (pairs.source, pairs.target)
            )
            both = [[BOS, *x, SEP, *y, EOS]] if kind == "fluency" else [[BOS, *x, EOS]]
            rows += [*both, [BOS, *y, EOS]]
    return rows


def sample_inputs(model: nn.Module, rows: list[list[int]]) -> dict[str, Float]:
    """Inputs of every linear layer, by its name: `SAMPLES` pieces of these rows, evenly."""
    seen: dict[str, Float] = {}
    batch = Ragged.of(rows)
    every = max(1, len(batch.ids) // SAMPLES)

    def watch(name: str) -> Any:
        def keep(_: nn.Module, given: tuple[torch.Tensor, ...], __: torch.Tensor) -> None:
            seen[name] = given[0][::every].numpy()

        return keep

    hooks = [
        layer.register_forward_hook(watch(name))
        for name, layer in model.named_modules()
        if isinstance(layer, nn.Linear)
    ]
    with torch.no_grad():
        model(batch)
    for hook in hooks:
        hook.remove()
    return seen


def read_facts(path: Path | None) -> dict[str, Any]:
    """More keys for a card, from a JSON file: licence, parent, where the data are from."""
    if path is None:
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"no JSON can be read from it ({error})", file=path) from None
    if not isinstance(found, dict):
        raise InputError("a JSON object is wanted, with keys for the card", file=path)
    return found


def told(card: dict[str, Any], facts: dict[str, Any]) -> dict[str, Any]:
    """The card with the facts that it does not state itself; those of `data` join its own."""
    more = {key: value for key, value in facts.items() if key not in card}
    own, theirs = card.get("data"), facts.get("data")
    if isinstance(own, dict) and isinstance(theirs, dict):
        more["data"] = theirs | own
    return card | more


def export(
    kind: str, weights: Path, corpus: Path, out: Path, facts: Path | None = None
) -> None:  # fmt: skip
    """Write the folder of one model; `kind` is "encoder" or "fluency"."""
    stored, shape = load_weights(weights)
    more = read_facts(facts)
    out.mkdir(parents=True, exist_ok=True)
    made = Tokenizer.from_file(str(corpus / "tokenizer.json"))
    net = load_encoder(weights) if kind == "encoder" else load_causal(weights)
    seen = sample_inputs(net.eval(), sample_rows(corpus, kind))
    if kind == "encoder":
        own = _own(stored, "encoder.")
        model = encoder_graph(own, shape.heads, shape.layers, shape.dim, seen)
        made = with_frame(made)
    else:
        model = fluency_graph(_own(stored, ""), shape.heads, shape.layers, seen)
        made = with_frame(made, SEP)
    blob = model.SerializeToString()
    (out / "model.onnx").write_bytes(blob)
    made.save(str(out / "tokenizer.json"), pretty=False)
    mark = hashlib.sha256(blob + (out / "tokenizer.json").read_bytes()).hexdigest()[:16]
    card = {
        "name": f"mtgauge-{kind}", "kind": kind, "layers": shape.layers, "dim": shape.dim,
        "max_length": shape.positions, "special_tokens": SPECIAL, "lowercase": True,
        "vocabulary": shape.vocabulary, "fingerprint": mark,
        "quantisation": QUANTISATION,
    }  # fmt: skip
    text = json.dumps(told(card, more), indent=1, ensure_ascii=False)
    (out / "card.json").write_text(text + "\n", encoding="utf-8")
