"""Trained weights into an embedded model folder: `mtgauge train export`.

    models/NAME/  model.onnx  tokenizer.json  card.json

    export("encoder", Path("student.safetensors"), Path("corpus"), Path("models/encoder"))

`facts` are keys that are added to the card (data, objective, scores, licences); the
fingerprint is the SHA-256 of model and tokenizer, so a signature can name exactly these weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mtgauge.encode.model_folder import fingerprint
from mtgauge.train.embedded.corpus import BOS, EOS, MASK, PAD, SEP, UNK, with_frame
from mtgauge.train.embedded.prepare import load_pairs, load_pieces, load_tokenizer
from mtgauge.train.onnx.card import with_facts, write_card
from mtgauge.train.onnx.graph import encoder_graph, fluency_graph
from mtgauge.train.onnx.int8 import sample_inputs
from mtgauge.train.onnx.restore import load_causal, load_encoder

SPECIAL = {"pad": PAD, "bos": BOS, "eos": EOS, "unk": UNK, "mask": MASK, "sep": SEP}
QUANTISATION = (
    "weights int8, a scale per row; activations uint8, a scale per piece, channels balanced on "
    "held-out text; piece table int8, a scale per row; sums exact on every processor"
)


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


def export(
    kind: str, weights: Path, corpus: Path, out: Path, facts: Mapping[str, Any] | None = None
) -> None:
    """Write the folder of one model; `kind` is "encoder" or "fluency"."""
    loaded = load_encoder(weights) if kind == "encoder" else load_causal(weights)
    model = loaded.eval()
    out.mkdir(parents=True, exist_ok=True)
    made = load_tokenizer(corpus)
    seen = sample_inputs(model, sample_rows(corpus, kind))
    own = {name: value.numpy().astype(np.float32) for name, value in model.state_dict().items()}
    shape = model.shape
    if kind == "encoder":
        graph, made = encoder_graph(own, shape, seen), with_frame(made)
    else:
        graph, made = fluency_graph(own, shape, seen), with_frame(made, SEP)
    (out / "model.onnx").write_bytes(graph.SerializeToString())
    made.save(str(out / "tokenizer.json"), pretty=False)
    card = {
        "name": f"mtgauge-{kind}", "kind": kind, "layers": shape.layers, "dim": shape.dim,
        "max_length": shape.positions, "special_tokens": SPECIAL, "lowercase": True,
        "vocabulary": shape.vocabulary, "fingerprint": fingerprint(out, kind),
        "quantisation": QUANTISATION,
    }  # fmt: skip
    write_card(out, with_facts(card, facts or {}))
