"""Texts in arrays of fixed shape: a training step that never waits for the host.

A ragged batch (`transformer.Ragged`) has to ask the GPU how long it is. Here every batch has one of
a few widths that the host knows beforehand, rows are laid out by searching cumulative lengths, and
everything between two steps is queued without an answer.

    texts = lay_out(slots, table, longest=32)       # word slots (n, S), -1 empty, to pieces (n, 32)
    states = encode(encoder, texts)                 # [layer_0, ...], each (n, 32, dim)
    found = match(a, inner_a, b, inner_b)           # best matches of (n, k, la) in (n, lb)

Limits: a text longer than the width is cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from mtgauge.encode.transformer import Block, Encoder
from mtgauge.train.embedded import objective as o
from mtgauge.train.embedded.corrupt import Table
from mtgauge.train.embedded.prepare import load_pieces
from mtgauge.train.embedded.sampler import ParallelCorpus
from mtgauge.train.embedded.teacher import HEADS, Teacher, layer_end

TURNED = 48  # last numbers of a source's vectors that change sign across languages
WIDTHS = (16, 24, 32, 40, 48, 64, 96)  # pieces of a text with its frame; multiples of eight


@dataclass(frozen=True)
class Texts:
    """Pieces (n, longest) with their frame; `word` is the slot of each inner piece."""

    ids: Tensor
    real: Tensor  # not padding
    inner: Tensor  # neither padding nor frame
    word: Tensor
    first: Tensor  # (n, slots) where each word's pieces begin
    size: Tensor  # (n, slots) how many it has


def together(parts: Sequence[Texts]) -> Texts:
    """Texts of one width as one batch; words are no longer told apart by slot and size."""

    def joined(name: str) -> Tensor:
        return torch.cat([getattr(t, name) for t in parts])

    first, size = parts[0].first, parts[0].size
    return Texts(joined("ids"), joined("real"), joined("inner"), joined("word"), first, size)


def lay_out(slots: Tensor, table: Table, longest: int) -> Texts:
    """Rows of word slots (n, S; -1 empty) as framed pieces (n, longest)."""
    n, wide = slots.shape
    filled = slots >= 0
    words = slots.clamp(min=0)
    begin = table.start[words]
    size = (table.start[words + 1] - begin) * filled
    end = size.cumsum(1)
    place = torch.arange(longest - 2, device=slots.device).expand(n, -1).contiguous()
    word = torch.searchsorted(end, place, right=True).clamp(max=wide - 1)
    total = end[:, -1:].clamp(max=longest - 2)
    inside = place < total
    first = end - size
    at = begin.gather(1, word) + place - first.gather(1, word)
    found = table.flat[torch.where(inside, at, 0)]
    opening, closing = (table.flat[table.start[t]] for t in table.frame)
    step = torch.arange(longest, device=slots.device).expand(n, -1)
    ids = F.pad(torch.where(inside, found, 0), (1, 1))
    ids = torch.where(step == 0, opening, torch.where(step == total + 1, closing, ids))
    inner, word = F.pad(inside, (1, 1)), F.pad(word, (1, 1))
    return Texts(ids, step <= total + 1, inner, word, first + 1, size)


def framed_ids(ids: Tensor, length: Tensor) -> Texts:
    """Framed pieces that are at hand (n, longest) and their lengths, as `Texts` without words."""
    step = torch.arange(ids.shape[1], device=ids.device)
    inner = (step > 0) & (step < length[:, None] - 1)
    none = torch.zeros_like(ids)
    return Texts(ids, step < length[:, None], inner, none, none, none)


def _bias(real: Tensor, dtype: torch.dtype) -> Tensor:
    return torch.where(real, 0.0, -1e4).to(dtype)[:, None, None, :]


def encode(encoder: Encoder, texts: Texts) -> list[Tensor]:
    """States of every layer, (n, longest, dim)."""
    n, longest = texts.ids.shape
    x = encoder.norm(encoder.pieces(texts.ids) + encoder.positions.weight[:longest]).flatten(0, 1)
    states = [x]
    for block in encoder.blocks:
        assert isinstance(block, Block)
        qkv = block.split(states[-1]).view(n, longest, 3, block.heads, -1)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        bias = _bias(texts.real, q.dtype).expand(n, block.heads, longest, longest)
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=bias).transpose(1, 2)
        states.append(block.join(states[-1], mixed.reshape(n * longest, block.heads, -1)))
    return [s.view(n, longest, -1) for s in states]


class FixedTeacher:
    """The English teacher over texts of fixed shape."""

    def __init__(self, teacher: Teacher, fuse: bool = False) -> None:
        self.teacher, self.layers = teacher, teacher.layers
        self.end = torch.compile(layer_end, dynamic=True) if fuse else layer_end

    @torch.no_grad()
    def __call__(
        self, texts: Texts, upto: int, states: Tensor | None = None, after: int = 0
    ) -> Tensor:
        """States of layer `upto`, (n, longest, 768)."""
        n, longest = texts.ids.shape
        with torch.autocast(texts.ids.device.type, enabled=False):
            x = states
            if x is None:
                x = self.teacher.embedded(texts.ids, torch.arange(longest, device=texts.ids.device))
            bias = self.teacher.bias(longest)[None] + _bias(texts.real, x.dtype)
            x = x.flatten(0, 1)
            for i in range(after, upto):
                qkv = self.teacher.split(i, x).view(n, longest, 3, HEADS, -1)
                q, k, v = qkv.permute(2, 0, 3, 1, 4)
                mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=bias).transpose(1, 2)
                x = self.end(x, mixed.reshape(n * longest, -1), *self.teacher.ends(i))
            return x.view(n, longest, -1)


def unit(states: Tensor) -> Tensor:
    return F.normalize(states.float(), dim=-1)


def turned(states: Tensor) -> Tensor:
    """The vectors of a source, as they are compared with a translation's."""
    return torch.cat([states[..., :-TURNED], -states[..., -TURNED:]], -1)


def match(a: Tensor, inner_a: Tensor, b: Tensor, inner_b: Tensor) -> o.Match:
    """Unit vectors a (n, k, la, d) of k texts each with those of one text b (n, lb, d)."""
    n, k, la, _ = a.shape
    with torch.autocast(a.device.type, enabled=False):
        near = torch.bmm(a.flatten(1, 2), b.transpose(1, 2)).view(n, k, la, -1)
    return o.match(near, inner_a, inner_b[:, None])


def by_word(values: Tensor, word: Tensor, inner: Tensor, slots: int) -> tuple[Tensor, Tensor]:
    """Mean over the pieces of each word, (n, k, longest) -> (n, k, slots); which have any."""
    shape = (*values.shape[:-1], slots)
    total = values.new_zeros(shape).scatter_add(-1, word, values * inner)
    count = values.new_zeros(shape).scatter_add(-1, word, inner.to(values.dtype))
    return total / count.clamp(min=1), count > 0


def word_vectors(states: Tensor, texts: Texts) -> Tensor:
    """Mean vector of each word slot: (n, longest, d) -> (n, slots, d), zero where there is none."""
    n, slots = texts.size.shape
    out = states.new_zeros(n, slots, states.shape[-1])
    where = texts.word[..., None].expand_as(states)
    total = out.scatter_add(1, where, states * texts.inner[..., None])
    seen = states.new_zeros(n, slots).scatter_add(1, texts.word, texts.inner.to(states.dtype))
    return total / seen.clamp(min=1)[..., None]


@dataclass(frozen=True)
class Drawn:
    """Rows of the corpus on its device, and the width that holds them."""

    rows: Tensor
    longest: int
    sampled: bool = False  # whether every row has machine translations

    def __len__(self) -> int:
        return len(self.rows)


def batches(
    corpus: ParallelCorpus, pieces: int, texts: int, seed: int, sampled: bool = False
) -> Iterator[Drawn]:
    """Batches of about `pieces` pieces in `texts` texts a pair, of like length, for ever."""
    device = corpus.source.device
    rng = np.random.default_rng(seed)
    chance = corpus.chance.cpu().numpy()
    length = np.maximum(*(_piece_lengths(corpus, side) for side in ("source", "target"))) + 2
    kind = np.searchsorted(WIDTHS, length).clip(max=len(WIDTHS) - 1)
    sizes = [max(16, pieces // (texts * width) // 16 * 16) for width in WIDTHS]
    waiting: list[list[int]] = [[] for _ in WIDTHS]
    while True:
        rows = np.searchsorted(chance, rng.random(1 << 15)).clip(max=len(kind) - 1)
        for i, queue in enumerate(waiting):
            queue.extend(rows[kind[rows] == i].tolist())
        ready = []
        for i, size in enumerate(sizes):
            while len(waiting[i]) >= size:
                ready.append((waiting[i][:size], WIDTHS[i]))
                del waiting[i][:size]
        for i in rng.permutation(len(ready)):
            mine, longest = ready[i]
            moved = torch.tensor(mine)
            if device.type == "cuda":
                moved = moved.pin_memory().to(device, non_blocking=True)
            yield Drawn(moved, longest, sampled)


def _piece_lengths(corpus: ParallelCorpus, side: str) -> np.ndarray:
    """Student pieces of each text of one side."""
    size = load_pieces(corpus.folder, "student").lengths
    flat = (corpus.source if side == "source" else corpus.target).cpu().numpy()
    start = (corpus.source_start if side == "source" else corpus.target_start).cpu().numpy()
    total = np.concatenate([[0], np.cumsum(size[flat])])
    return np.asarray(total[start[1:]] - total[start[:-1]])
