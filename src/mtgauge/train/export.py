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

from mtgauge.train.build import load_pieces
from mtgauge.train.corpus import BOS, EOS, MASK, PAD, SEP, UNK, with_frame
from mtgauge.train.descend import load_weights
from mtgauge.train.encoder import load_encoder
from mtgauge.train.fluency import load_causal
from mtgauge.train.graph import Float, encoder_graph, fluency_graph
from mtgauge.train.model import Ragged
from mtgauge.train.prepare import load_pairs

SPECIAL = {"pad": PAD, "bos": BOS, "eos": EOS, "unk": UNK, "mask": MASK, "sep": SEP}

QUANTISATION = {
    "blocks": "int8 weights, a scale a block of at most 128 of one row; piece table int8, a scale a"
    " row (encoder) or block (fluency); activations float32 in and out",
    "rows": "weights 7 bits stored in int8, a scale a row; activations 8 bits, a scale a piece,"
    " channels balanced on held-out text; piece table int8, a scale a row (encoder) or block"
    " (fluency)",
}


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


def measure_peaks(model: nn.Module, rows: list[list[int]]) -> dict[str, Float]:
    """The largest absolute input of each channel of every linear layer, by the layer's name."""
    peaks: dict[str, Float] = {}

    def watch(name: str) -> Any:
        def seen(_: nn.Module, given: tuple[torch.Tensor, ...], __: torch.Tensor) -> None:
            most = given[0].abs().reshape(-1, given[0].shape[-1]).amax(0).numpy()
            peaks[name] = np.maximum(peaks[name], most) if name in peaks else most

        return seen

    hooks = [
        layer.register_forward_hook(watch(name))
        for name, layer in model.named_modules()
        if isinstance(layer, nn.Linear)
    ]
    with torch.no_grad():
        for begin in range(0, len(rows), 64):
            model(Ragged.of(rows[begin : begin + 64]))
    for hook in hooks:
        hook.remove()
    return peaks


def export(
    kind: str, weights: Path, corpus: Path, out: Path, facts: Path | None = None,
    form: str = "blocks",
) -> None:  # fmt: skip
    """Write the folder of one model; `kind` is "encoder" or "fluency", `form` as in `graph`."""
    stored, shape = load_weights(weights)
    out.mkdir(parents=True, exist_ok=True)
    made = Tokenizer.from_file(str(corpus / "tokenizer.json"))
    peaks = None
    if form == "rows":
        net = load_encoder(weights) if kind == "encoder" else load_causal(weights)
        peaks = measure_peaks(net.eval(), sample_rows(corpus, kind))
    if kind == "encoder":
        own = _own(stored, "encoder.")
        model = encoder_graph(own, shape.heads, shape.layers, shape.dim, peaks)
        made = with_frame(made)
    else:
        model = fluency_graph(_own(stored, ""), shape.heads, shape.layers, peaks)
        made = with_frame(made, SEP)
    blob = model.SerializeToString()
    (out / "model.onnx").write_bytes(blob)
    made.save(str(out / "tokenizer.json"), pretty=False)
    mark = hashlib.sha256(blob + (out / "tokenizer.json").read_bytes()).hexdigest()[:16]
    card = {
        "name": f"mtgauge-{kind}", "kind": kind, "layers": shape.layers, "dim": shape.dim,
        "max_length": shape.positions, "special_tokens": SPECIAL, "lowercase": True,
        "vocabulary": shape.vocabulary, "fingerprint": mark,
        "quantisation": QUANTISATION[form],
    }  # fmt: skip
    if facts is not None:
        card |= json.loads(facts.read_text(encoding="utf-8"))
    text = json.dumps(card, indent=1, ensure_ascii=False)
    (out / "card.json").write_text(text + "\n", encoding="utf-8")
