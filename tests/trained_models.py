"""A tiny encoder and tiny judged data, for the tests of the trained metrics."""

from __future__ import annotations

import json
import random
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, pre_tokenizers

from mtgauge.encode.model_folder import fingerprint
from mtgauge.encode.transformer import Encoder, Shape
from mtgauge.train.embedded.corpus import with_frame
from mtgauge.train.onnx.graph import encoder_graph
from mtgauge.train.onnx.int8 import sample_inputs

ENGLISH = (
    "the a cat dog bird house tree river green small old sees likes finds under near with "
    "and today often . , not two three city street quiet road warm cold bread"
).split()
GERMAN = {word: f"{word[::-1]}en" if word.isalpha() else word for word in ENGLISH}
SPECIAL = ("<pad>", "<s>", "</s>", "<unk>", "<mask>", "<sep>")
SHAPE = Shape(len(SPECIAL) + 2 * len(ENGLISH), 32, 2, 4, 64, positions=64)


def write_tokenizer(path: Path) -> Path:
    words = [*SPECIAL, *ENGLISH, *(f"{w}_" if w in ENGLISH else w for w in GERMAN.values())]
    vocabulary = {word: i for i, word in enumerate(dict.fromkeys(words))}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.add_special_tokens(list(SPECIAL))
    tokenizer.save(str(path))
    return path


def write_encoder(folder: Path) -> Path:
    """The model folder of a random encoder of two layers."""
    torch.manual_seed(7)
    encoder = Encoder(SHAPE)
    rows = [[1, *range(6, 6 + n), 2] for n in (4, 9, 30)]
    weights = {name: w.numpy() for name, w in encoder.state_dict().items()}
    graph = encoder_graph(weights, SHAPE, sample_inputs(encoder.eval(), rows))
    model = folder / "encoder"
    model.mkdir(parents=True, exist_ok=True)
    (model / "model.onnx").write_bytes(graph.SerializeToString())
    tokenizer = with_frame(Tokenizer.from_file(str(write_tokenizer(folder / "plain.json"))))
    tokenizer.save(str(model / "tokenizer.json"))
    card = {
        "name": "tiny", "kind": "encoder", "layers": SHAPE.layers, "max_length": SHAPE.positions,
        "languages": ["de", "en", "fr"], "special_tokens": {"pad": "<pad>"},
        "fingerprint": fingerprint(model, "encoder"),
    }  # fmt: skip
    (model / "card.json").write_text(json.dumps(card), encoding="utf-8")
    return model


def write_judged(
    path: Path, rows: int, seed: int, lps: tuple[str, ...] = ("de-en",), reference: bool = True
) -> Path:
    """Judged segments whose score is what share of the words is right."""
    rng = random.Random(seed)
    columns = ["lp", "system", "sid", "source", "hypothesis", "human", "raw", "n"]
    columns[4:4] = ["reference"] if reference else []
    lines = ["\t".join(columns)]
    for i in range(rows):
        words = [rng.choice(ENGLISH) for _ in range(rng.randint(6, 12))]
        wrong = rng.random()
        said = [rng.choice(ENGLISH) if rng.random() < wrong else w for w in words]
        right = sum(a == b for a, b in zip(words, said, strict=True)) / len(words)
        fields = [rng.choice(lps), "s", str(i + 1), " ".join(GERMAN[w] for w in words)]
        fields += [" ".join(words)] if reference else []
        fields += [" ".join(said), f"{2 * right - 1:.4f}", f"{100 * right:.1f}", "2"]
        lines.append("\t".join(fields))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
