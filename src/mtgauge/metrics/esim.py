"""BiLSTM, BiLSTM+attention, ESIM (Mathur, Baldwin and Cohn 2019) and RUSE, on frozen vectors.

Token vectors of the reference and of the translation (a learned mix of an encoder's layers) go
through a BiLSTM; what the two sides share is pooled and a small network predicts the human
z-score. `ruse` is the cheap baseline: mean vectors instead of a BiLSTM. The formulas, and the
training, are in `train/nets/heads.py`; here the models run on onnxruntime.

    mtgauge score -t hyp -r ref -m esim bilstm-attention
    mtgauge score -t hyp -r ref -m esim:model=DIR,scale=100
    mtgauge score -s src -t hyp -m esim:model=DIR,view=src        # a model trained with view=src

A folder holds model.onnx (inputs first, first_mask, second, second_mask), weights.safetensors and
card.json, which names the encoder (with its fingerprint), its layers and their mix.

Limits: each text is cut to the card's `max_tokens` pieces (100, as the authors do), which is
counted; a head works with the encoder that it was trained on and no other.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray

from mtgauge.data.checks import unescape
from mtgauge.data.segments import Segments
from mtgauge.encode.batches import side_by_side, token_batches
from mtgauge.encode.ragged import IntArray
from mtgauge.errors import ResourceError, UsageError
from mtgauge.metric import FloatArray, Task, Untranslated
from mtgauge.metrics._references import MultiReference, compared_with, one_row_each
from mtgauge.metrics._trained import ModelName, Scale, TrainedMetric
from mtgauge.options import When
from mtgauge.registry import metric, options

if TYPE_CHECKING:
    from mtgauge.encode.tokens.encoder import Encoder

WINDOW = 512  # pairs whose vectors are in memory at once
BUDGET = 4096  # padded tokens per batch


@options
class ContextMetric(TrainedMetric):
    meaning = "predicted human z-score (0: average, +1: one deviation better); 0-100 with scale=100"
    paper = "Mathur et al. 2019, Putting Evaluation in Context"

    model: ModelName = "embedded"
    view: Annotated[Literal["ref", "src"], "what the translation is compared with"] = "ref"
    scale: Scale = "z"
    multi_ref: Annotated[MultiReference, When("view", "ref")] = "best"
    untranslated: Annotated[Untranslated, When("view", "src")] = "worst"

    @property
    def needs(self) -> frozenset[str]:
        return frozenset({"reference" if self.view == "ref" else "source"})

    @property
    def uses_device(self) -> bool:
        return not str(self.card["encoder"]).startswith("static:")

    def resolve(self, task: Task) -> Self:
        settled = super().resolve(task)
        self.encoder  # noqa: B018  the wrong one is refused now
        return settled

    @cached_property
    def encoder(self) -> Encoder:
        """The encoder whose vectors the head was trained on; another one is refused."""
        from mtgauge.encode import load_encoder

        if self.card["view"] != self.view:
            raise UsageError(
                f"{self.model} was trained with view={self.card['view']}, not {self.view}: "
                f"say {self.name}:model=...,view={self.card['view']}, or train another."
            )
        encoder = load_encoder(self.card["encoder"])
        if encoder.fingerprint != self.card["encoder_fingerprint"]:
            raise ResourceError(
                f"The {self.name} model {self.model} was trained on vectors of the encoder "
                f"{self.card['encoder']} with fingerprint {self.card['encoder_fingerprint']}; the "
                f"one here has {encoder.fingerprint}. Train it again on this encoder."
            )
        return encoder

    def predict(self, batch: Segments) -> FloatArray:
        (side,) = self.needs
        texts, owner = compared_with(self.name, batch, side)
        rights = (batch.hypotheses[i] for i in owner.tolist())
        pairs = [(unescape(x), unescape(y)) for x, y in zip(texts, rights, strict=True)]
        lang = batch.source_lang if side == "source" else batch.target_lang
        scores = self._score_pairs(pairs, lang, batch.target_lang)
        return one_row_each(scores[:, None], owner, self.multi_ref, scores)[:, 0]

    def _score_pairs(
        self, pairs: list[tuple[str, str]], lang: str | None, target: str | None
    ) -> FloatArray:
        unique = list(dict.fromkeys(pairs))
        number = {pair: i for i, pair in enumerate(unique)}
        scores = np.empty(len(unique))
        for start in range(0, len(unique), WINDOW):
            window = unique[start : start + WINDOW]
            scores[start : start + WINDOW] = self._window(window, lang, target)
        return scores[[number[pair] for pair in pairs]]

    def _window(
        self, pairs: list[tuple[str, str]], lang: str | None, target: str | None
    ) -> FloatArray:
        first = self._mixed([first for first, _ in pairs], lang)
        second = self._mixed([second for _, second in pairs], target)
        lengths = np.array([len(first[a]) + len(second[b]) for a, b in pairs])

        def run(batch: IntArray) -> NDArray[np.float32]:
            left, left_mask = _pad([first[pairs[i][0]] for i in batch])
            right, right_mask = _pad([second[pairs[i][1]] for i in batch])
            return self.folder.run(
                "model.onnx",
                first=left,
                first_mask=left_mask,
                second=right,
                second_mask=right_mask,
            )

        scores = np.empty(len(pairs))
        batches = token_batches(lengths, BUDGET)
        for batch, found in side_by_side(run, batches, self.folder.parallel):
            scores[batch] = found
        return scores

    def _mixed(self, texts: list[str], lang: str | None) -> dict[str, NDArray[np.float32]]:
        """(tokens, d) of each distinct text: the learned mix of the encoder's layers."""
        from mtgauge.encode.tokens.layers import layer_blocks

        mix = np.array(self.card["mix"], dtype=np.float32)
        layers, most = tuple(self.card["layers"]), int(self.card["max_tokens"])
        unique = list(dict.fromkeys(texts))
        found: dict[str, NDArray[np.float32]] = {}
        for i, block, cut in layer_blocks(self.encoder, unique, layers, most, lang):
            found[unique[i]] = np.einsum("tld,l->td", block, mix)
            self.notes["truncated"] += cut
        return found


def _pad(blocks: list[NDArray[np.float32]]) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """(n, t, d) and its mask; a text without tokens is one zero vector."""
    longest = max(1, *(len(block) for block in blocks))
    out = np.zeros((len(blocks), longest, blocks[0].shape[1]), dtype=np.float32)
    mask = np.zeros((len(blocks), longest), dtype=np.int64)
    for i, block in enumerate(blocks):
        out[i, : len(block)] = block
        mask[i, : max(1, len(block))] = 1
    return out, mask


@metric("bilstm")
class BiLSTM(ContextMetric):
    summary = "Trained: pooled BiLSTM states of translation and reference, compared by a network."


@metric("bilstm-attention")
class BiLSTMAttention(ContextMetric):
    summary = "Trained: BiLSTM states of each side attended by the other, pooled and compared."


@metric("esim")
class ESIM(ContextMetric):
    summary = "Trained: inference model that aligns, compares and composes the two sides."


@metric("ruse")
class RUSE(ContextMetric):
    summary = "Trained: mean vectors of translation and reference, compared by a network."
    paper = "Shimanaka, Kajiwara and Komachi 2018, RUSE: its features on our sentence vectors"
