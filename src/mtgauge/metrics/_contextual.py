"""What the metrics on contextual vectors share: from a batch of segments to scores of text pairs.

A metric compares a left text (the source, or a reference) with a right one (the hypothesis):

    batch -> distinct pairs -> windows of pairs -> tokens of the window's texts -> units -> scores

Windows keep the vectors of a large batch from being in memory all at once. Pairs that share a left
text stand together, so it is encoded in one window only. While the next window is encoded, a worker
thread makes units of the last one and compares them, so that transport does not hold up a GPU.
Where the encoder runs on one, vectors stay there (`encode/tokens/device.py`): `units` and `compare`
are the same.

A subclass states `side` ("source" or "reference"), writes `units` and `compare`, and has the
options `encoder`, `layer`, `unescape` and `lowercase`. `resolve` settles layer and case.
"""

from __future__ import annotations

import warnings
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Annotated, ClassVar, Literal, Self

import numpy as np

from mtgauge.data.segments import Segments
from mtgauge.encode import load_encoder
from mtgauge.encode.ragged import IntArray, distinct
from mtgauge.encode.sentence.encoders import SentenceEncoder
from mtgauge.encode.tokens.device import DeviceTokens, beside
from mtgauge.encode.tokens.encoder import Encoder, TokenVectors
from mtgauge.encode.tokens.units import Units
from mtgauge.errors import UsageError
from mtgauge.metric import FloatArray, Task, model_label
from mtgauge.metrics._presets import Case, PresetMetric, cleaner, settled_case
from mtgauge.metrics._references import MultiReference, compared_with, one_row_each

EncoderName = Annotated[str, "model whose vectors are compared: embedded, a folder or a hub id"]
Layer = Annotated[int, "layer the vectors are taken from, -1: the last; none: the model's advice"]
TOLERANCE = {"float32": 1e-5, "float16": 1e-3, "bfloat16": 5e-3}  # by what the encoder computes in


class ContextualMetric(PresetMetric):
    cost: ClassVar[str] = "encoder"
    side: ClassVar[Literal["source", "reference"]] = "reference"

    encoder: str
    layer: int | None
    lowercase: Case | None
    multi_ref: MultiReference = "best"

    @property
    def needs(self) -> frozenset[str]:
        return frozenset({self.side})

    @property
    def tolerance(self) -> float:  # type: ignore[override]
        return TOLERANCE[self.model.dtype]

    @property
    def uses_device(self) -> bool:
        return not self.encoder.startswith("static:")

    @property
    def window(self) -> int:
        return self.model.window if self.model.stays else 0

    def resolve(self, task: Task) -> Self:
        settled = super().resolve(task)
        warn_of_language(self.name, self.model, task, self.side)
        settled.layer = self.model.resolve(self.last_layer)[0]
        settled.lowercase = settled_case(self.options.lowercase, *self.case_advice(task.lang))
        return settled

    def case_advice(self, lang: str | None) -> tuple[bool, ...]:
        """Whether the models that read the texts want them in lower case."""
        return (self.model.lowercase,)

    def units(self, tokens: TokenVectors, side: str, lang: str | None) -> Units:
        """Units of distinct texts; `side` is "source", "reference" or "hypothesis"."""
        raise NotImplementedError

    def compare(self, left: Units, lefts: IntArray, right: Units, rights: IntArray) -> FloatArray:
        """(p, k) scores of p pairs: text lefts[i] of `left` with text rights[i] of `right`."""
        raise NotImplementedError

    def statistics(self, batch: Segments) -> FloatArray:
        pairs, owner = self.pairs(batch)
        unique, index = distinct(pairs)
        values = self.score_pairs(unique, batch)[index]
        return one_row_each(values, owner, self.multi_ref, self.segment_score(values))

    # pairs

    def pairs(self, batch: Segments) -> tuple[list[tuple[str, str]], IntArray]:
        """(left, right) texts as the encoder sees them, and the segment that each belongs to."""
        clean = cleaner(self.options, self.model.lowercase)
        lefts, owner = compared_with(self.name, batch, self.side)
        known = {text: clean(text) for text in dict.fromkeys(lefts)}  # systems share them
        rights = (batch.hypotheses[i] for i in owner.tolist())
        return [(known[x], clean(y)) for x, y in zip(lefts, rights, strict=True)], owner

    def score_pairs(self, pairs: list[tuple[str, str]], batch: Segments) -> FloatArray:
        """(p, k) scores of distinct pairs, window by window."""
        values = np.empty((len(pairs), len(self.columns)))
        left_lang = batch.source_lang if self.side == "source" else batch.target_lang
        order = np.argsort(distinct([left for left, _ in pairs])[1], kind="stable")
        running: deque[Future[None]] = deque()
        model = self.model
        with ThreadPoolExecutor(1) as worker:
            for start in range(0, len(order), model.window):
                window = order[start : start + model.window]
                left, lefts = distinct([pairs[i][0] for i in window])
                right, rights = distinct([pairs[i][1] for i in window])
                left_tokens = self.encode_left(left, left_lang)
                right_tokens = self.encode(right, batch.target_lang)
                while len(running) >= model.ahead:
                    running.popleft().result()
                todo = values, window, left_tokens, lefts, right_tokens, rights, batch.lang
                running.append(worker.submit(self._fill, *todo))
            for each in running:
                each.result()
        return values

    def _fill(
        self,
        values: FloatArray,
        window: IntArray,
        left_tokens: TokenVectors,
        lefts: IntArray,
        right_tokens: TokenVectors,
        rights: IntArray,
        lang: str | None,
    ) -> None:
        """Scores of one window; a pair with a side that has no unit keeps the worst value."""
        with beside(left_tokens, right_tokens):
            left = self.units(left_tokens, self.side, lang)
            right = self.units(right_tokens, "hypothesis", lang)
            full = (np.diff(left.offsets)[lefts] > 0) & (np.diff(right.offsets)[rights] > 0)
            values[window[~full]] = self.empty_pair
            if full.any():
                values[window[full]] = self.compare(left, lefts[full], right, rights[full])

    @property
    def empty_pair(self) -> FloatArray:
        """The row of a pair of which one side has nothing to compare."""
        return np.full(len(self.columns), self.worst)

    def best_pair(self, segment: Segments) -> tuple[str, str]:
        """The pair to explain: of several references the one that scores best."""
        pairs, _ = self.pairs(segment)
        if not pairs:
            raise UsageError(f"{self.name}: there is no segment to explain.")
        if len(pairs) == 1:
            return pairs[0]
        return pairs[int(np.argmax(self.segment_score(self.score_pairs(pairs, segment))))]

    # the encoder

    @property
    def model(self) -> Encoder:
        return load_encoder(self.encoder)

    @property
    def last_layer(self) -> int:
        """The layer in force: the option, or what the encoder's card advises for this side."""
        layer: int | None = self.options.layer
        return self.model.default_layer[self.side] if layer is None else layer

    def layers(self) -> int | tuple[int, ...]:
        """The layers whose vectors are compared."""
        return self.last_layer

    def encode(self, texts: list[str], lang: str | None) -> TokenVectors:
        tokens = self.model.encode_in_place(texts, self.layers(), lang)
        cut = int(tokens.truncated.sum())
        if cut:
            self.notes["truncated"] += cut
        if tokens.left_out:
            self.notes["oov"] += tokens.left_out
        return tokens

    def encode_left(self, texts: list[str], lang: str | None) -> TokenVectors:
        """Sources or references; of sources the numbers that stand for their language are turned,
        where the encoder was trained so: a text is then no translation of itself."""
        tokens = self.encode(texts, lang)
        if self.side != "source":
            return tokens
        if isinstance(tokens, DeviceTokens):
            return tokens.turned(self.model.turned)
        return tokens.moved(self.model.turn(tokens.vectors))

    def versions(self) -> dict[str, str]:
        """The model, as name@fingerprint, its precision, and how much of a source is turned."""
        model = self.model
        found = {"model": model_label(model.name, model.fingerprint), "dtype": model.dtype}
        # the fingerprint is of weights and tokenizer; this is in the card alone, and changes scores
        turned = model.turned if self.side == "source" else 0
        return found | ({"turned": str(turned)} if turned else {})


def warn_of_language(name: str, encoder: Encoder | SentenceEncoder, task: Task, side: str) -> None:
    """Warn of a language that the encoder does not know."""
    if not task.lang or not encoder.languages:
        return
    wanted = {task.target_lang} | ({task.source_lang} if side == "source" else set())
    unknown = sorted(str(x) for x in wanted - set(encoder.languages))
    if unknown:
        warnings.warn(
            f"{name}: the encoder {encoder.name} was not trained on {', '.join(unknown)}; "
            f"it knows {', '.join(encoder.languages)}. Scores may be noise.",
            stacklevel=2,
        )
