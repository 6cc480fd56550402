"""The two transformers, over ragged batches: no padding except inside attention.

`Ragged` holds a batch as one flat row of pieces; every linear layer runs on real pieces only.
On a CUDA device attention uses torch's variable-length flash kernel, elsewhere it pads in groups of
like length.

    encoder = Encoder(Shape(vocabulary=48_000, dim=384, layers=6, heads=12, inner=1536))
    states = encoder(Ragged.of(rows))            # [layer_0, ..., layer_6], each (pieces, dim)
    states = encoder(Ragged.of(rows), depth=4)   # layers above 4 are not computed
    lm = Causal(Shape(..., embedding=160))       # tied, factorised embedding

The encoder is BERT's arrangement (normalise after adding), so a BERT-like parent's weights fit; the
language model normalises before. Training (`mtgauge.train`) and scoring on a GPU (`encode/tokens`)
share these networks.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True)
class Shape:
    """Sizes of a transformer; `embedding` is the width of its piece table (0: the same as dim).

    `epsilon` is what an encoder's norms add to a variance.
    """

    vocabulary: int
    dim: int
    layers: int
    heads: int
    inner: int
    positions: int = 256
    embedding: int = 0
    epsilon: float = 1e-12


@dataclass(frozen=True)
class Group:
    """Sequences laid out as (n, longest): `index` into the flat row, `mask` of what is real;
    `real` and `flat` say which cells are, and where in the flat row they belong."""

    index: Tensor
    mask: Tensor
    real: Tensor
    flat: Tensor

    def spread(self, values: Tensor) -> Tensor:
        """(pieces, ...) -> (n, longest, ...)"""
        picked = values.index_select(0, self.index.flatten())
        return picked.view(*self.index.shape, *values.shape[1:])

    def gathered(self, values: Tensor) -> Tensor:
        """(n, longest, ...) -> the rows of real cells, in the order of `flat`."""
        return values.flatten(0, 1).index_select(0, self.real)


@dataclass
class Ragged:
    """Sequences end to end: `ids` (pieces,), `start` (sequences + 1,), longest length known."""

    ids: Tensor
    start: Tensor
    longest: int

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]], device: str | torch.device = "cpu") -> Ragged:
        lengths = torch.tensor([len(row) for row in rows])
        flat = torch.tensor([x for row in rows for x in row], dtype=torch.long)
        start = F.pad(lengths.cumsum(0), (1, 0))
        return cls(flat.to(device), start.to(device), int(lengths.max()))

    def __len__(self) -> int:
        return len(self.start) - 1

    def take(self, rows: Tensor) -> Ragged:
        """The chosen sequences, in the order asked for."""
        lengths = self.lengths[rows]
        start = F.pad(lengths.cumsum(0), (1, 0))
        many, longest = torch.stack([start[-1], lengths.max()]).tolist()
        step = torch.arange(many, device=rows.device)
        shift = torch.repeat_interleave(self.start[rows] - start[:-1], lengths, output_size=many)
        return Ragged(self.ids[step + shift], start, longest)

    @functools.cached_property
    def lengths(self) -> Tensor:
        return self.start.diff()

    @functools.cached_property
    def row(self) -> Tensor:
        """Which sequence each piece belongs to."""
        return torch.repeat_interleave(
            torch.arange(len(self), device=self.ids.device), self.lengths, output_size=len(self.ids)
        )

    @functools.cached_property
    def position(self) -> Tensor:
        return torch.arange(len(self.ids), device=self.ids.device) - self.start[self.row]

    @functools.cached_property
    def start32(self) -> Tensor:
        return self.start.int()

    @functools.cached_property
    def groups(self) -> list[Group]:
        """The sequences in groups of like length, for attention that needs padding."""
        order = torch.argsort(self.lengths)
        pieces = self.lengths[order].cumsum(0)
        share = torch.linspace(0, 1, 7, device=self.ids.device)[1:-1] * pieces[-1]
        cuts = [0, *torch.searchsorted(pieces, share).tolist(), len(order)]
        found = []
        for a, b in itertools.pairwise(cuts):
            if b > a:
                rows = order[a:b]
                # fast attention kernels with a bias want a multiple of eight
                longest = -(-int(self.lengths[rows].max()) // 8) * 8
                step = torch.arange(longest, device=self.ids.device)
                mask = step < self.lengths[rows][:, None]
                index = (self.start[rows][:, None] + step) * mask
                real = mask.flatten().nonzero()[:, 0]
                found.append(Group(index, mask, real, index.flatten()[real]))
        return found


@functools.cache
def _flash(device: str) -> Callable[..., Tensor] | None:
    """torch's variable-length attention where it exists and works, else None."""
    if not device.startswith("cuda"):
        return None
    try:
        from torch.nn.attention.varlen import varlen_attn

        causal = "is_causal" in inspect.signature(varlen_attn).parameters

        def attend(q: Tensor, k: Tensor, v: Tensor, start: Tensor, most: int, c: bool) -> Tensor:
            how: dict[str, Any] = {"is_causal": c} if causal else {}
            if c and not causal:
                how = {"window_size": (-1, 0)}
            out = varlen_attn(q, k, v, start, start, most, most, **how)
            assert isinstance(out, Tensor)
            return out

        # the first call may come from where gradients are off
        with torch.inference_mode(False), torch.enable_grad():
            x = torch.randn(8, 2, 32, device=device, dtype=torch.bfloat16, requires_grad=True)
            start = torch.tensor([0, 3, 8], device=device, dtype=torch.int32)
            got = attend(x, x, x, start, 5, True)
            torch.autograd.backward(got.float().sum())
        one = x[3:].transpose(0, 1)[None]
        want = F.scaled_dot_product_attention(one, one, one, is_causal=True)[0].transpose(0, 1)
        return attend if torch.allclose(got[3:], want, atol=2e-2) else None
    except (ImportError, RuntimeError, TypeError):
        return None


def attention(q: Tensor, k: Tensor, v: Tensor, batch: Ragged, causal: bool) -> Tensor:
    """Softmax attention inside each sequence; q, k, v are (pieces, heads, width)."""
    flash = _flash(str(q.device)) if q.dtype == torch.bfloat16 else None
    if flash is not None:
        return flash(q, k, v, batch.start32, batch.longest, causal)
    out = torch.zeros_like(q)
    for group in batch.groups:
        seen = group.mask[:, None, None, :]
        if causal:
            n = group.mask.shape[1]
            seen = seen & torch.ones(n, n, dtype=torch.bool, device=q.device).tril()
        a, b, c = (group.spread(x).transpose(1, 2) for x in (q, k, v))
        got = F.scaled_dot_product_attention(a, b, c, attn_mask=seen).transpose(1, 2)
        out = out.index_copy(0, group.flat, group.gathered(got))
    return out


class Block(nn.Module):
    """Attention and a two-layer network, each added to its input; normalised after or before."""

    def __init__(self, shape: Shape, *, before: bool) -> None:
        super().__init__()
        self.heads, self.before = shape.heads, before
        self.qkv = nn.Linear(shape.dim, 3 * shape.dim)
        self.out = nn.Linear(shape.dim, shape.dim)
        self.up = nn.Linear(shape.dim, shape.inner)
        self.down = nn.Linear(shape.inner, shape.dim)
        self.norm1 = nn.LayerNorm(shape.dim, eps=shape.epsilon if not before else 1e-5)
        self.norm2 = nn.LayerNorm(shape.dim, eps=shape.epsilon if not before else 1e-5)

    def split(self, x: Tensor) -> Tensor:
        """Queries, keys and values, (pieces, 3, heads, width)."""
        y: Tensor = self.qkv(self.norm1(x) if self.before else x)
        return y.view(len(x), 3, self.heads, -1)

    def network(self, x: Tensor) -> Tensor:
        y: Tensor = self.down(F.gelu(self.up(x)))
        return y

    def join(self, x: Tensor, attended: Tensor) -> Tensor:
        """The block's result from its input and what its attention gave, (pieces, heads, width)."""
        x = x + self.out(attended.flatten(-2))
        if self.before:
            return x + self.network(self.norm2(x))
        x = self.norm1(x)
        y: Tensor = self.norm2(x + self.network(x))
        return y

    def forward(self, x: Tensor, batch: Ragged) -> Tensor:
        q, k, v = self.split(x).unbind(1)
        return self.join(x, attention(q, k, v, batch, causal=self.before))

    def fuse(self) -> None:
        """Compile what surrounds the attention: fewer, larger kernels on a GPU."""
        self.split = torch.compile(self.split, dynamic=True)  # type: ignore[method-assign]
        self.join = torch.compile(self.join, dynamic=True)  # type: ignore[method-assign]


def fuse(model: nn.Module) -> None:
    """Compile the blocks of a model, and the softmax over the vocabulary, in place."""
    global _negative
    for block in model.modules():
        if isinstance(block, Block):
            block.fuse()
    _negative = torch.compile(_negative, dynamic=True)


class Encoder(nn.Module):
    """Piece and position tables, then blocks; returns the states of every layer up to `depth`."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.pieces = nn.Embedding(shape.vocabulary, shape.dim)
        self.positions = nn.Embedding(shape.positions, shape.dim)
        self.norm = nn.LayerNorm(shape.dim, eps=shape.epsilon)
        self.blocks = nn.ModuleList(Block(shape, before=False) for _ in range(shape.layers))
        nn.init.normal_(self.pieces.weight, std=0.02)
        nn.init.normal_(self.positions.weight, std=0.02)

    def forward(self, batch: Ragged, depth: int | None = None) -> list[Tensor]:
        last = self.shape.positions - 1
        x = self.norm(self.pieces(batch.ids) + self.positions(batch.position.clamp(max=last)))
        states = [x]
        for block in self.blocks[:depth]:
            states.append(block(states[-1], batch))
        return states


class Causal(nn.Module):
    """A left-to-right language model with a factorised, tied piece table."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.pieces = nn.Embedding(shape.vocabulary, shape.embedding)
        self.widen = nn.Linear(shape.embedding, shape.dim, bias=False)
        self.positions = nn.Embedding(shape.positions, shape.dim)
        self.blocks = nn.ModuleList(Block(shape, before=True) for _ in range(shape.layers))
        self.norm = nn.LayerNorm(shape.dim)
        self.narrow = nn.Linear(shape.dim, shape.embedding, bias=False)
        nn.init.normal_(self.pieces.weight, std=0.05)
        nn.init.normal_(self.positions.weight, std=0.02)
        for block in self.blocks:
            assert isinstance(block, Block)
            for layer in (block.out, block.down):
                nn.init.normal_(layer.weight, std=0.02 / (2 * shape.layers) ** 0.5)

    def embed(self, batch: Ragged) -> Tensor:
        place = batch.position.clamp(max=self.shape.positions - 1)
        x: Tensor = self.widen(self.pieces(batch.ids)) + self.positions(place)
        return x

    def before_softmax(self, x: Tensor) -> Tensor:
        y: Tensor = self.narrow(self.norm(x))
        return y

    def forward(self, batch: Ragged) -> Tensor:
        """What stands before the softmax, (pieces, embedding): multiply by the piece table."""
        x = self.embed(batch)
        for block in self.blocks:
            x = block(x, batch)
        return self.before_softmax(x)


def _negative(hidden: Tensor, table: Tensor, wanted: Tensor) -> Tensor:
    """-log softmax(hidden @ table.T)[wanted]"""
    logits = (hidden @ table.T).float()
    return logits.logsumexp(1) - logits.gather(1, wanted[:, None])[:, 0]


def log_probability(hidden: Tensor, table: Tensor, wanted: Tensor, chunk: int = 16384) -> Tensor:
    """log softmax(hidden @ table.T)[wanted], in chunks recomputed on the way back."""
    from torch.utils.checkpoint import checkpoint

    pieces: list[Tensor] = []
    for h, w in zip(torch.split(hidden, chunk), torch.split(wanted, chunk), strict=True):
        if torch.is_grad_enabled():
            part = checkpoint(_negative, h, table, w, use_reentrant=False)
            assert isinstance(part, Tensor)
            pieces.append(part)
        else:
            pieces.append(_negative(h, table, w))
    return -torch.cat(pieces)
