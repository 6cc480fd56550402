"""Models in a folder, run by onnxruntime: the encoder that comes with the package, and your own.

A folder holds three files, and may hold remaps of its own (word/en-mul.remap in the folder remaps):

    model.onnx      inputs  input_ids (batch, length) int64, attention_mask (batch, length) int64
                    outputs layer_0 ... layer_L (batch, length, d) float32, layer_0 the embeddings
    tokenizer.json  a file of the `tokenizers` library; its post-processor adds special tokens
    card.json       name, kind ("encoder"), layers, dim, max_length,
                    default_layer {"reference": int, "source": int}, special_tokens {"pad": ...},
                    languages, lowercase, turned, licence, data, objective, scores, quantisation,
                    fingerprint

    encoder = OnnxEncoder(Path("my-model"), EncoderSettings())
    encoder.encode(["Ein Satz."], layer=4)

Layers above the wanted one are not computed (`trim.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from mtgauge.encode.batches import CPU_TOKENS
from mtgauge.encode.load import EncoderSettings
from mtgauge.encode.model_folder import FromFolder
from mtgauge.encode.ragged import IntArray
from mtgauge.encode.tokens.by_word import ByWord, by_word
from mtgauge.encode.tokens.encoder import Encoder, Tokens, Vectors
from mtgauge.encode.tokens.encodings import pack


class OnnxEncoder(FromFolder, Encoder):
    def __init__(self, folder: Path, settings: EncoderSettings) -> None:
        self.tokens_per_batch = CPU_TOKENS
        super().__init__(settings)
        card = self.open_folder(folder, "encoder", settings.device)
        self.layers = card["layers"]
        last = {"reference": self.layers, "source": self.layers}
        self.default_layer = last | card.get("default_layer", {})
        self.turned = card.get("turned", 0)
        self.unrelated = card.get("unrelated", {})
        self.remaps = folder / "remaps"

    @cached_property
    def pad_id(self) -> int:  # type: ignore[override]
        pad = self.model.card.get("special_tokens", {}).get("pad", 0)
        return int(self.model.tokenizer.token_to_id(pad) or 0) if isinstance(pad, str) else int(pad)

    @cached_property
    def _by_word(self) -> ByWord | None:
        return by_word(self.model.tokenizer, self.max_length)

    def tokenize(self, texts: Sequence[str]) -> Tokens:
        if self._by_word is not None:
            return self._by_word(texts)
        return pack(self.model.tokenizer.encode_batch(list(texts)))

    def forward(
        self, ids: IntArray, mask: IntArray, layers: tuple[int, ...], lang: str | None
    ) -> list[Vectors]:
        names = tuple(f"layer_{number}" for number in dict.fromkeys(layers))
        outputs = self.model.run_outputs(names, input_ids=ids, attention_mask=mask)
        return [np.asarray(x, dtype=np.float32) for x in outputs]
