"""The papers' per-pair procedure for XMoverScore, written down again for comparison only.

Source and hypothesis of every row go through the encoder, in the order given and in batches of
fixed size, whatever was encoded before; all layers are computed; then pair by pair n-grams are
averaged in Python and one PyEMD problem on the (n + m) x (n + m) block matrix is solved. Nothing is
copied from the authors' code; switches are those of the preset `repo2021`, without its dropout.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyemd import emd_with_flow

from mtgauge.encode.hub import quiet

FloatArray = NDArray[np.float64]


class PerPair:
    def __init__(self, folder: str, layer: int, ngram: int = 2, batch: int = 64) -> None:
        import torch
        from transformers import AutoModel, AutoTokenizer

        self.torch: Any = torch
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        with quiet():
            self.model = AutoModel.from_pretrained(folder).eval()
        self.layer, self.ngram, self.batch = layer, ngram, batch

    def score(self, sources: Sequence[str], hypotheses: Sequence[str]) -> FloatArray:
        scores: list[float] = []
        for start in range(0, len(sources), self.batch):
            x = self.vectors(sources[start : start + self.batch])
            y = self.vectors(hypotheses[start : start + self.batch])
            scores += [1 - self.cost(a, b) for a, b in zip(x, y, strict=True)]
        return np.array(scores)

    def vectors(self, texts: Sequence[str]) -> list[FloatArray]:
        batch = self.tokenizer(list(texts), padding=True, return_tensors="pt")
        with self.torch.inference_mode():
            output = self.model(**batch, output_hidden_states=True)
        states = output.hidden_states[self.layer].double().numpy()
        lengths = batch["attention_mask"].sum(dim=1).tolist()
        return [self.ngrams(rows[:n]) for rows, n in zip(states, lengths, strict=True)]

    def ngrams(self, rows: FloatArray) -> FloatArray:
        n = min(self.ngram, len(rows))
        grams = [np.mean(rows[i : i + n], axis=0) for i in range(len(rows) - n + 1)]
        return np.array([gram / np.linalg.norm(gram) for gram in grams])

    def cost(self, x: FloatArray, y: FloatArray) -> float:
        n, m = len(x), len(y)
        joint = np.concatenate([x, y])
        distance = np.sqrt(np.maximum(2 - 2 * joint @ joint.T, 0))
        first, second = np.zeros(n + m), np.zeros(n + m)
        first[:n], second[n:] = 1 / n, 1 / m
        _, flow = emd_with_flow(first, second, distance, backend="cpp")
        return float((np.array(flow)[:n, n:] * distance[:n, n:]).sum())
