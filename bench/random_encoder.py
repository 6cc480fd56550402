"""Encoders with random weights for benches, and texts of words that they know.

    random_bert(folder, "small")            # 6 x 384 for transformers; "base" is 12 x 768
    int8_of(folder, other)                  # the same weights as an ONNX folder, int8

Speed does not depend on the weights, but what rounding does to a score does: real weights round
better and worse than these. Texts are random words, as many as a news sentence has (about 27
tokens); every word is one token.
"""

from __future__ import annotations

import json
import string
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mtgauge.encode.hub import quiet

SIZES = {"small": (6, 384, 12, 1536), "base": (12, 768, 12, 3072)}
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
RNG = np.random.default_rng(0)
WORDS = np.unique(
    ["".join(RNG.choice(list(string.ascii_lowercase), RNG.integers(2, 9))) for _ in range(3000)]
)


def texts(n: int, words: NDArray[np.str_] = WORDS) -> list[str]:
    lengths = np.maximum(RNG.gamma(6, 4, n).astype(int), 3)
    drawn = np.split(words[RNG.integers(0, len(words), int(lengths.sum()))], np.cumsum(lengths))
    return [" ".join(row) for row in drawn[:-1]]


def random_bert(folder: Path, size: str) -> None:
    """A BERT with random weights whose vocabulary is the bench's words."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    vocabulary = {t: i for i, t in enumerate([*SPECIAL, *WORDS.tolist()])}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    layers, width, heads, inner = SIZES[size]
    config = BertConfig(
        vocab_size=30_000,
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=inner,
    )
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]"}
    with quiet():
        BertModel(config).save_pretrained(folder)
        PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(folder)


def int8_of(folder: Path, out: Path) -> None:
    """The same weights by the embedded encoder's own export, form `rows`."""
    from tokenizers import Tokenizer
    from transformers import BertModel

    from mtgauge.encode.model_folder import fingerprint
    from mtgauge.encode.tokens.packed import renamed
    from mtgauge.encode.transformer import Encoder, Shape
    from mtgauge.train.onnx.graph import encoder_graph
    from mtgauge.train.onnx.int8 import sample_inputs

    with quiet():
        bert = BertModel.from_pretrained(folder).eval()
    c = bert.config
    shape = Shape(
        c.vocab_size, c.hidden_size, c.num_hidden_layers, c.num_attention_heads, c.intermediate_size
    )
    encoder = Encoder(shape).eval()
    weights = renamed(bert.state_dict(), shape.layers)
    weights["positions.weight"] = weights["positions.weight"][: shape.positions]
    encoder.load_state_dict(weights)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    sample = [encoding.ids for encoding in tokenizer.encode_batch(texts(64))]
    peaks = sample_inputs(encoder, sample)
    tables = {name: x.numpy() for name, x in encoder.state_dict().items()}
    out.mkdir()
    graph = encoder_graph(tables, shape, peaks)
    (out / "model.onnx").write_bytes(graph.SerializeToString())
    tokenizer.save(str(out / "tokenizer.json"))
    card = {
        "name": "random-int8",
        "kind": "encoder",
        "layers": shape.layers,
        "max_length": shape.positions,
        "special_tokens": {"pad": "[PAD]"},
        "fingerprint": fingerprint(out, "encoder"),
    }
    (out / "card.json").write_text(json.dumps(card), encoding="utf-8")
