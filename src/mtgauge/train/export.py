"""Trained weights into an embedded model folder: `mtgauge train export`.

    models/NAME/  model.onnx  tokenizer.json  card.json

    export("encoder", Path("student.safetensors"), Path("tokenizer.json"), Path("models/encoder"))

`facts` is a JSON file whose keys are added to the card (data, objective, scores, licences); the
fingerprint is the SHA-256 of model and tokenizer, so a signature can name exactly these weights.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from mtgauge.train.corpus import BOS, EOS, MASK, PAD, SEP, UNK, with_frame
from mtgauge.train.encoder import load_weights
from mtgauge.train.graph import Float, encoder_graph, fluency_graph

SPECIAL = {"pad": PAD, "bos": BOS, "eos": EOS, "unk": UNK, "mask": MASK, "sep": SEP}


def _own(weights: dict[str, Any], prefix: str) -> dict[str, Float]:
    """The exported part of the weights as float32 arrays."""
    return {
        name.removeprefix(prefix): value.numpy().astype(np.float32)
        for name, value in weights.items()
        if name.startswith(prefix)
    }


def export(kind: str, weights: Path, tokenizer: Path, out: Path, facts: Path | None = None) -> None:
    """Write the folder of one model; `kind` is "encoder" or "fluency"."""
    stored, shape = load_weights(weights)
    out.mkdir(parents=True, exist_ok=True)
    made = Tokenizer.from_file(str(tokenizer))
    if kind == "encoder":
        model = encoder_graph(_own(stored, "encoder."), shape.heads, shape.layers, shape.dim)
        made = with_frame(made)
    else:
        model = fluency_graph(_own(stored, ""), shape.heads, shape.layers)
        made = with_frame(made, SEP)
    blob = model.SerializeToString()
    (out / "model.onnx").write_bytes(blob)
    made.save(str(out / "tokenizer.json"), pretty=False)
    mark = hashlib.sha256(blob + (out / "tokenizer.json").read_bytes()).hexdigest()[:16]
    card = {
        "name": f"mtgauge-{kind}", "kind": kind, "layers": shape.layers, "dim": shape.dim,
        "max_length": shape.positions, "special_tokens": SPECIAL, "lowercase": True,
        "vocabulary": shape.vocabulary, "fingerprint": mark,
        "quantisation": "int8 weights, a scale a block of at most 128 of one row; piece table int8,"
        " a scale a row (encoder) or block (fluency); activations float32 in and out",
    }  # fmt: skip
    if facts is not None:
        card |= json.loads(facts.read_text(encoding="utf-8"))
    text = json.dumps(card, indent=1, ensure_ascii=False)
    (out / "card.json").write_text(text + "\n", encoding="utf-8")
