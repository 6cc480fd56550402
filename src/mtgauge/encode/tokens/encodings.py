"""Tokens from what the `tokenizers` library yields.

tokens = pack(tokenizer.encode_batch(["Ein Satz.", "Noch ein Satz."]))
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mtgauge.encode.ragged import IntArray, offsets_of
from mtgauge.encode.tokens.encoder import BoolArray, Tokens

if TYPE_CHECKING:
    from tokenizers import Encoding


def pack(encodings: Sequence[Encoding]) -> Tokens:
    """Ragged tokens from what `tokenizers` yields for each text."""
    offsets = offsets_of([len(e) for e in encodings])
    total = int(offsets[-1])
    flat = chain.from_iterable
    ids = np.fromiter(flat(e.ids for e in encodings), np.int64, total)
    spans = np.fromiter(flat(flat(e.offsets for e in encodings)), np.int64, 2 * total)
    special = np.fromiter(flat(e.special_tokens_mask for e in encodings), bool, total)
    # A special token belongs to no word: None, which as a float is not a number, and so differs
    # from its neighbours.
    words = np.fromiter(flat(e.word_ids for e in encodings), np.float64, total)
    return Tokens(
        offsets,
        ids,
        spans.reshape(total, 2),
        word_begins(words, offsets),
        special,
        np.array([bool(e.overflowing) for e in encodings], dtype=bool),
    )


def word_begins(words: NDArray[Any], offsets: IntArray) -> BoolArray:
    """True where a token's word differs from its left neighbour's."""
    first = np.ones(len(words), dtype=bool)
    first[1:] = words[1:] != words[:-1]
    starts = offsets[:-1]
    first[starts[starts < len(words)]] = True
    return first
