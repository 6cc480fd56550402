"""The task of training BiLSTM, BiLSTM+attention, ESIM or RUSE: judged rows and frozen vectors.

task = HeadTask(model, train, dev, vectors, view="ref")
fit(task, Plan(epochs=75, rate=4e-4), out)
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from mtgauge.errors import InputError
from mtgauge.train.judged.codes import Coded, IntArray
from mtgauge.train.loop.batching import bucketed, by_length, pearson_by_pair, weighted_error
from mtgauge.train.metrics.vectors import VectorSource
from mtgauge.train.nets.heads import ContextModel


class HeadTask:
    def __init__(
        self,
        model: ContextModel,
        train: Coded,
        dev: Coded,
        vectors: VectorSource,
        view: str,
        batch: int = 32,
    ) -> None:
        self.model: nn.Module = model
        self.vectors = vectors
        self.view, self.size = view, batch
        self.train, self.dev = train, dev
        for rows in (train, dev):
            refuse_missing(rows, view)
        self._lengths = self._sizes(train)
        settings = [vectors.fingerprint, view, batch, model.head]
        self.fingerprint = "|".join(map(str, [*settings, train.digest(), dev.digest()]))

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    def groups(self) -> list[tuple[list[nn.Parameter], float]]:
        return [(list(self.model.parameters()), 1.0)]

    def batches(self, epoch: int, seed: int) -> list[IntArray]:
        return bucketed(self._lengths, self.size, np.random.default_rng([seed, epoch]))

    def loss(self, batch: IntArray, seed: int) -> Tensor:
        return weighted_error(self._forward(self.train, batch), self.train, batch)

    def predict(self, rows: Coded) -> NDArray[np.float64]:
        """z-scores of any rows; the model is in evaluation mode."""
        refuse_missing(rows, self.view)
        out = np.empty(len(rows))
        for batch in by_length(self._sizes(rows), 128):
            out[batch] = self._forward(rows, batch).float().cpu().numpy()
        return out

    def settle(self) -> None:
        """Nothing is remembered of other weights."""

    def validate(self) -> dict[str, float]:
        return self.correlations(self.dev)

    def correlations(self, rows: Coded) -> dict[str, float]:
        return pearson_by_pair(rows.lps.tolist(), self.predict(rows), rows.scores)

    def _sizes(self, rows: Coded) -> IntArray:
        """Tokens of both texts, row by row."""
        sizes = self.vectors.lengths
        return np.asarray(sizes[rows.numbers[self.view]] + sizes[rows.numbers["hyp"]])

    def _forward(self, rows: Coded, at: IntArray) -> Tensor:
        both = np.concatenate([rows.numbers[self.view][at], rows.numbers["hyp"][at]])
        vectors, mask = self.vectors.batch(both, self.device)
        n = len(at)
        score: Tensor = self.model(vectors[:n], mask[:n], vectors[n:], mask[n:])
        return score


def refuse_missing(rows: Coded, view: str) -> None:
    """A head compares a translation with its reference, or with its source, in every row."""
    lacking = rows.numbers[view] < 0
    if lacking.any():
        name = "reference" if view == "ref" else "source"
        files = sorted(set(rows.files[lacking].tolist()))
        raise InputError(
            f"{int(lacking.sum())} segments have no {name} ({', '.join(files)})",
            remedy=f"Leave those files out, or train with another view than {view}.",
        )
