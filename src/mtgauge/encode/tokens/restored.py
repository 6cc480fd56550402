"""The embedded encoder, or one of your own training, in torch: how it runs on a GPU.

    encoder = RestoredEncoder(shipped("encoder"), EncoderSettings(device="cuda"))
    encoder.encode_in_place(["Ein Satz."], layer=5)

The folder is the one that onnxruntime runs on the CPU (`embedded.py`). Weights are unpacked from
its 8 bits (`onnx_weights.py`); activations, which onnxruntime rounds to 8 bits as well, are
bfloat16 here, so that scores differ from the CPU's by that rounding (docs/encoders.md states how
far). Needs torch (extra `hub`), not onnxruntime.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mtgauge.encode import hub
from mtgauge.encode.load import EncoderSettings
from mtgauge.encode.onnx_weights import restored
from mtgauge.encode.ragged import IntArray, offsets_of
from mtgauge.encode.tokens.device import TOKENS, DeviceEncoder, fetched, upload
from mtgauge.encode.tokens.embedded import OnnxEncoder
from mtgauge.encode.tokens.encoder import Vectors

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from torch import Tensor

    from mtgauge.encode.transformer import Encoder, Ragged


class RestoredEncoder(DeviceEncoder, OnnxEncoder):
    def __init__(self, folder: Path, settings: EncoderSettings) -> None:
        self.place = hub.place(settings)
        super().__init__(folder, settings)
        self.tokens_per_batch = settings.tokens_per_batch or TOKENS
        self.parallel = 1
        self.dtype = self.place.dtype
        self.out_of_memory = hub.out_of_memory()

    @property
    def backend(self) -> Tokenizer:
        return self.model.tokenizer

    @cached_property
    def network(self) -> Encoder:
        import torch

        from mtgauge.encode.transformer import Encoder

        network = restored(self.model.folder / "model.onnx", Encoder)
        return network.to(self.place.device, getattr(torch, self.place.dtype))

    def states(self, batch: Ragged, layers: tuple[int, ...], lang: str | None) -> list[Tensor]:
        found = self.network(batch, depth=max(layers))
        return [found[number] for number in layers]

    def forward(
        self, ids: IntArray, mask: IntArray, layers: tuple[int, ...], lang: str | None
    ) -> list[Vectors]:
        import torch

        from mtgauge.encode.transformer import Ragged

        inside = mask.astype(bool)
        lengths = inside.sum(axis=1)
        where = self.place.device
        with torch.inference_mode():
            batch = Ragged(
                upload(ids[inside], where), upload(offsets_of(lengths), where), int(lengths.max())
            )
            states = [fetched(x) for x in self.states(batch, layers, lang)]
        padded = [np.zeros((*inside.shape, x.shape[1]), np.float32) for x in states]
        for out, rows in zip(padded, states, strict=True):
            out[inside] = rows
        return padded
