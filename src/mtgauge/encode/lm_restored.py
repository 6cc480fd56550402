"""The embedded language model, or one of your own training, in torch: how it runs on a GPU.

    model = RestoredLanguageModel(shipped("fluency"), EncoderSettings(device="cuda"))
    model.logprobs(["The cat sat."], given=["Die Katze saß."])

As `tokens/restored.py` for encoders: the folder that onnxruntime runs on the CPU, its weights
unpacked. It computes in float32, since a softmax over 48,000 pieces loses too much in bfloat16.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mtgauge.encode import hub
from mtgauge.encode.lm import OnnxLanguageModel
from mtgauge.encode.load import EncoderSettings
from mtgauge.encode.onnx_weights import restored
from mtgauge.encode.ragged import IntArray, offsets_of
from mtgauge.encode.tokens.device import TOKENS, fetched, upload

if TYPE_CHECKING:
    from mtgauge.encode.transformer import Causal


class RestoredLanguageModel(OnnxLanguageModel):
    dtype = "float32"

    def __init__(self, folder: Path, settings: EncoderSettings) -> None:
        self.place = hub.place(settings)
        super().__init__(folder, settings)
        self.tokens_per_batch = settings.tokens_per_batch or TOKENS // 4
        self.parallel = 1
        self.out_of_memory = hub.out_of_memory()

    @cached_property
    def network(self) -> Causal:
        from mtgauge.encode.transformer import Causal

        return restored(self.model.folder / "model.onnx", Causal).to(self.place.device)

    def forward(self, ids: IntArray, lengths: IntArray) -> NDArray[np.float32]:
        import torch

        from mtgauge.encode.transformer import Ragged, log_probability

        place = np.arange(ids.shape[1])
        inside, read = place < lengths[:, None], place < lengths[:, None] - 1
        where = self.place.device
        with torch.inference_mode():
            batch = Ragged(
                upload(ids[inside], where), upload(offsets_of(lengths), where), int(lengths.max())
            )
            hidden = self.network(batch)[upload(read[inside], where)]
            wanted = upload(ids[:, 1:][read[:, :-1]], where)
            found = log_probability(hidden, self.network.pieces.weight, wanted)
        values = np.zeros((len(ids), ids.shape[1] - 1), np.float32)
        values[read[:, :-1]] = fetched(found)
        return values
