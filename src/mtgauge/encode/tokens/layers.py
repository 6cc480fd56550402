"""Several layers of an encoder for each text, as the trained metrics of paper 002 need them.

    for i, block in layer_blocks(encoder, texts, layers=(1, 2, 3), most=100):
        block.shape                       # (tokens, 3, d), special tokens left out

Each distinct text is encoded once, and blocks come in order of length, longest first, so that the
caller can reduce a block (mix its layers, store it) before the next one is made: all layers of all
texts at once would not fit in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from mtgauge.encode.batches import side_by_side, token_batches
from mtgauge.encode.ragged import IntArray
from mtgauge.encode.tokens.encoder import BoolArray, Encoder, Vectors


def layer_blocks(
    encoder: Encoder,
    texts: Sequence[str],
    layers: tuple[int, ...],
    most: int,
    lang: str | None = None,
) -> Iterator[tuple[int, Vectors, bool]]:
    """(index of the text, its vectors, whether it was cut to `most` tokens) for distinct texts."""
    tokens = encoder.tokenize(texts)
    lengths = np.diff(tokens.offsets)

    def run(batch: IntArray) -> tuple[Vectors, BoolArray]:
        ids, inside, rows = encoder.padded(tokens, batch)
        real = inside.copy()
        real[inside] = ~tokens.special[rows]
        outputs = encoder.forward(ids, inside.astype(np.int64), layers, lang)
        return np.stack(outputs, axis=2), real

    batches = token_batches(lengths, encoder.tokens_per_batch)
    for batch, (stacked, real) in side_by_side(run, batches, encoder.parallel):
        for row, text in enumerate(batch):
            block = stacked[row][real[row]]
            cut = len(block) > most or bool(tokens.truncated[text])
            yield int(text), block[:most], cut
