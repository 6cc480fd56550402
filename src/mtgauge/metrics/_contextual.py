"""What the metrics on contextual vectors share: from a batch of segments to scores of text pairs.

A metric compares a left text (the source, or a reference) with a right one (the hypothesis):

    batch -> distinct pairs -> windows of pairs -> tokens of the window's texts -> units -> scores

Windows keep the vectors of a large batch from being in memory all at once. Pairs that share a left
text stand together, so it is encoded in one window only. While the next window is encoded, a worker
thread makes units of the last one and compares them, so that transport does not hold up a GPU.

A subclass states `side` ("source" or "reference"), writes `units` and `compare`, and has the
parameters `encoder`, `layer`, `unescape` and `lowercase`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace
from typing import ClassVar, Literal

import numpy as np

from mtgauge.data.checks import unescape
from mtgauge.data.segments import Segments
from mtgauge.encode import load_encoder
from mtgauge.encode.ragged import IntArray, distinct
from mtgauge.encode.sentence.encoders import SentenceEncoder
from mtgauge.encode.tokens.encoder import Encoder, TokenVectors
from mtgauge.encode.tokens.units import Units
from mtgauge.errors import UsageError
from mtgauge.metric import FloatArray, Metric
from mtgauge.metrics._presets import PresetMetric

WINDOW = 1024  # pairs
TOLERANCE = {"float32": 1e-5, "float16": 1e-3, "bfloat16": 5e-3}  # by what the encoder computes in
Case = Literal["auto", "on", "off"]
MultiReference = Literal["best", "mean"]


class ContextualMetric(PresetMetric):
    cost: ClassVar[str] = "encoder"
    side: ClassVar[Literal["source", "reference"]] = "reference"

    encoder: str
    layer: int | None
    multi_ref: MultiReference = "best"

    @property
    def needs(self) -> frozenset[str]:
        return frozenset({self.side})

    @property
    def tolerance(self) -> float:  # type: ignore[override]
        return TOLERANCE[self.model.dtype]

    def units(self, tokens: TokenVectors, side: str) -> Units:
        """Units of distinct texts; `side` is "source", "reference" or "hypothesis"."""
        raise NotImplementedError

    def compare(self, left: Units, lefts: IntArray, right: Units, rights: IntArray) -> FloatArray:
        """(p, k) scores of p pairs: text lefts[i] of `left` with text rights[i] of `right`."""
        raise NotImplementedError

    def statistics(self, batch: Segments) -> FloatArray:
        pairs, rows = self.pairs(batch)
        unique, index = distinct(pairs)
        values = self.score_pairs(unique, batch)
        return reduce_pairs(self, values[index], rows, len(batch), self.multi_ref)

    # pairs

    def pairs(self, batch: Segments) -> tuple[list[tuple[str, str]], IntArray]:
        """(left, right) texts as the encoder sees them, and the row that each belongs to."""
        clean = cleaner(self.options, self.model.lowercase)
        return text_pairs(self.name, batch, self.side, clean)

    def score_pairs(self, pairs: list[tuple[str, str]], batch: Segments) -> FloatArray:
        """(p, k) scores of distinct pairs, window by window."""
        warn_of_language(self, self.model, batch, self.side)
        values = np.empty((len(pairs), len(self.columns)))
        left_lang = batch.source_lang if self.side == "source" else batch.target_lang
        order = np.argsort(distinct([left for left, _ in pairs])[1], kind="stable")
        running: Future[None] | None = None
        with ThreadPoolExecutor(1) as worker:
            for start in range(0, len(order), WINDOW):
                window = order[start : start + WINDOW]
                left, lefts = distinct([pairs[i][0] for i in window])
                right, rights = distinct([pairs[i][1] for i in window])
                left_tokens = self.encode_left(left, left_lang)
                right_tokens = self.encode(right, batch.target_lang)
                if running is not None:
                    running.result()
                running = worker.submit(
                    self._fill, values, window, left_tokens, lefts, right_tokens, rights
                )
            if running is not None:
                running.result()
        return values

    def _fill(
        self,
        values: FloatArray,
        window: IntArray,
        left_tokens: TokenVectors,
        lefts: IntArray,
        right_tokens: TokenVectors,
        rights: IntArray,
    ) -> None:
        """Scores of one window; a pair with a side that has no unit keeps the worst value."""
        left = self.units(left_tokens, self.side)
        right = self.units(right_tokens, "hypothesis")
        worst = self.empty_pair
        full = (np.diff(left.offsets)[lefts] > 0) & (np.diff(right.offsets)[rights] > 0)
        values[window[~full]] = worst
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

    def layers(self) -> int | tuple[int, ...]:
        """The layer in force: the option, or what the encoder's card advises for this side."""
        layer: int | None = self.options.layer
        return self.model.default_layer[self.side] if layer is None else layer

    def encode(self, texts: list[str], lang: str | None) -> TokenVectors:
        tokens = self.model.encode(texts, self.layers(), lang)
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
        many = self.model.turned if self.side == "source" else 0
        if not many:
            return tokens
        signs = np.ones(tokens.vectors.shape[1], np.float32)
        signs[-many:] = -1
        return replace(tokens, vectors=tokens.vectors * signs)

    def versions(self) -> dict[str, str]:
        """The model in force, as name@fingerprint/layer, and its precision, for the signature."""
        model = self.model
        layers = "+".join(map(str, model.resolve(self.layers())))
        return {"model": f"{model.name}@{model.fingerprint[:8]}/{layers}", "dtype": model.dtype}

    def labels(self, units: Units, text: str) -> tuple[str, ...]:
        """What to show for the units of one text."""
        names = self.model.vocabulary
        return tuple(
            text[start:end] or names[number]
            for (start, end), number in zip(units.spans, units.ids, strict=True)
        )


def text_pairs(
    name: str, batch: Segments, side: str, clean: Callable[[str], str]
) -> tuple[list[tuple[str, str]], IntArray]:
    """(left, right) for every hypothesis and each of its left texts, and the rows of the pairs."""
    if side == "source":
        if batch.sources is None:
            raise UsageError(f"{name} needs the source texts: give them with -s.")
        lefts: Sequence[tuple[str, ...]] = [(source,) for source in batch.sources]
    else:
        if batch.references is None:
            raise UsageError(f"{name} needs references: give them with -r.")
        lefts = batch.references
    counts = [len(row) for row in lefts]
    if not all(counts):
        raise UsageError(f"{name}: segment {counts.index(0) + 1} has no reference.")
    rows = np.repeat(np.arange(len(batch)), counts)
    pairs = [
        (clean(left), clean(right))
        for row, right in zip(lefts, batch.hypotheses, strict=True)
        for left in row
    ]
    return pairs, rows


def reduce_pairs(
    metric: Metric, values: FloatArray, rows: IntArray, n: int, multi_ref: MultiReference
) -> FloatArray:
    """From pairs to rows: the best reference by segment score, or the mean over references.

    Every row has at least one pair, in order of rows.
    """
    if len(values) == n:
        return values
    if multi_ref == "mean":
        sums = np.zeros((n, values.shape[1]))
        np.add.at(sums, rows, values)
        return np.asarray(sums / np.bincount(rows, minlength=n)[:, None])
    order = np.lexsort((metric.segment_score(values), rows))  # a row's last pair is its best
    last = np.append(rows[order][1:] != rows[order][:-1], True)
    return np.asarray(values[order[last]])


def warn_of_language(
    metric: Metric, encoder: Encoder | SentenceEncoder, batch: Segments, side: str
) -> None:
    """Warn, once for a pair, of a language that the encoder does not know."""
    warned: set[str] = metric.__dict__.setdefault("_warned", set())
    if not batch.lang or not encoder.languages or batch.lang in warned:
        return
    warned.add(batch.lang)
    wanted = {batch.target_lang} | ({batch.source_lang} if side == "source" else set())
    unknown = sorted(str(x) for x in wanted - set(encoder.languages))
    if unknown:
        warnings.warn(
            f"{metric.name}: the encoder {encoder.name} was not trained on {', '.join(unknown)}; "
            f"it knows {', '.join(encoder.languages)}. Scores may be noise.",
            stacklevel=2,
        )


def cleaner(options: SimpleNamespace, advice: bool) -> Callable[[str], str]:
    """The text as a model sees it: HTML escapes undone (some are double), case by option."""
    lower = advice if options.lowercase == "auto" else options.lowercase == "on"

    def clean(text: str) -> str:
        if options.unescape:
            text = unescape(text)
        return text.lower() if lower else text

    return clean
