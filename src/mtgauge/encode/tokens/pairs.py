"""Two or three texts as one input of a sentence-pair model.

    packer = Packer.of(tokenizer, max_length=128)
    packer.pack([("Ein Test.", "A test.")])       # <s> Ein Test . </s> A test . </s>

Token types are 0 for the first text with its begin and separator and 1 for the rest; the mask is 1
on real tokens. Too long an input is cut from its longest text, so that a long source cannot push
the translation out, and counted. Where an encoder wants a language for each token (XLM), `langs`
gives one number per text, and separators belong to the text before them.

Limits: words are never cut by characters; what is cut is whole tokens at a text's end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mtgauge.encode.ragged import IntArray
from mtgauge.errors import ResourceError

if TYPE_CHECKING:
    from tokenizers import Tokenizer


@dataclass(frozen=True)
class Packed:
    """A padded batch: (n, t) each."""

    ids: IntArray
    mask: IntArray
    types: IntArray
    langs: IntArray
    cut: int  # inputs that were too long

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class Packer:
    tokenize: Callable[[Sequence[str]], list[list[int]]]  # texts to ids without special tokens
    begin: int
    between: tuple[int, ...]
    end: int
    pad: int
    max_length: int

    @classmethod
    def of(cls, tokenizer: Tokenizer, max_length: int) -> Packer:
        """From a tokenizer.json, with the special tokens that it puts around a pair itself."""

        def tokenize(texts: Sequence[str]) -> list[list[int]]:
            encodings = tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
            return [encoding.ids for encoding in encodings]

        tokenizer.no_truncation()
        pads = (tokenizer.token_to_id(token) for token in ("<pad>", "[PAD]"))
        pad = next((number for number in pads if number is not None), 0)
        single, pair = tokenizer.encode("a"), tokenizer.encode("a", "a")
        around = special_runs(single.ids, single.special_tokens_mask)
        if len(around) != 2 or not all(len(run) == 1 for run in around):
            raise ResourceError(
                "The tokenizer does not put one special token before a text and one after it: "
                "mtgauge does not know how to join two texts for it."
            )
        runs = special_runs(pair.ids, pair.special_tokens_mask)
        between = runs[1] if len(runs) == 3 else around[1]
        return cls(tokenize, around[0][0], tuple(between), around[1][0], pad, max_length)

    def lengths(self, ids: Sequence[Sequence[int]]) -> int:
        """Tokens of one input before it is cut."""
        return 2 + sum(map(len, ids)) + len(self.between) * (len(ids) - 1)

    def pack(
        self, inputs: Sequence[tuple[str, ...]], langs: Sequence[tuple[int, ...]] | None = None
    ) -> Packed:
        """Texts that belong together, as one padded batch."""
        flat = self.tokenize([text for texts in inputs for text in texts])
        at, rows = 0, []
        for texts in inputs:
            rows.append(flat[at : at + len(texts)])
            at += len(texts)
        return self.pack_ids(rows, langs)

    def pack_ids(
        self,
        rows: Sequence[Sequence[Sequence[int]]],
        langs: Sequence[tuple[int, ...]] | None = None,
    ) -> Packed:
        cut = 0
        joined: list[tuple[list[int], list[int], list[int]]] = []
        for number, texts in enumerate(rows):
            kept = self._fit(texts)
            cut += kept is not texts
            ids, types, speech = [self.begin], [0], [langs[number][0] if langs else 0]
            for place, text in enumerate(kept):
                last = place == len(kept) - 1
                piece = [*text, *([self.end] if last else self.between)]
                ids += piece
                types += [min(place, 1)] * len(piece)
                speech += [langs[number][place] if langs else 0] * len(piece)
            joined.append((ids, types, speech))
        width = max((len(ids) for ids, _, _ in joined), default=0)
        out = np.zeros((4, len(joined), width), dtype=np.int64)
        out[0] = self.pad
        for i, (ids, types, speech) in enumerate(joined):
            out[0, i, : len(ids)], out[1, i, : len(ids)] = ids, 1
            out[2, i, : len(ids)], out[3, i, : len(ids)] = types, speech
            out[3, i, len(ids) :] = speech[-1]
        return Packed(out[0], out[1], out[2], out[3], cut)

    def _fit(self, texts: Sequence[Sequence[int]]) -> Sequence[Sequence[int]]:
        sizes = [len(text) for text in texts]
        if self.lengths(texts) <= self.max_length:
            return texts
        return [text[:size] for text, size in zip(texts, self.fit(sizes), strict=True)]

    def fit(self, sizes: Sequence[int]) -> list[int]:
        """How much of each text is kept, of so many tokens each."""
        sizes = list(sizes)
        over = 2 + sum(sizes) + len(self.between) * (len(sizes) - 1) - self.max_length
        while over > 0:
            longest = sizes.index(max(sizes))
            others = sorted(sizes)[:-1]
            # down to the next longest at once, or one token where two are equal
            step = min(over, max(1, sizes[longest] - (others[-1] if others else 0)))
            sizes[longest] -= step
            over -= step
        return sizes


def special_runs(ids: Sequence[int], special: Sequence[int]) -> list[list[int]]:
    """Special tokens before, between and after the texts."""
    runs: list[list[int]] = []
    inside = False
    for number, is_special in zip(ids, special, strict=True):
        if is_special and not inside:
            runs.append([])
        if is_special:
            runs[-1].append(number)
        inside = bool(is_special)
    return runs
