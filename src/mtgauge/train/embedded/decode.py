"""Translations drawn from the language model: `<s> x <sep>` goes in, pieces of y come out.

    drawn = translate(model, prefixes, heat=torch.full((n,), 0.5), most=40, rng=g)   # (n, 40), -1

`heat` is each row's temperature: near 0 the likeliest translation, 1 the model's own spread. Keys
and values of the prefix are computed once (ragged), then one piece per row and step is added.

Limits: as many steps as `most`; a translation that has not ended by then is cut off.
"""

from __future__ import annotations

import torch
from torch import Tensor

from mtgauge.encode.transformer import Block, Causal, Ragged, attention
from mtgauge.train.embedded.corpus import BYTES, EOS, SPECIAL

LOOK = 8  # steps between two looks whether all rows have ended


class _Memory:
    """Keys and values of every block, (rows, heads, columns, width): prefixes, then new pieces."""

    def __init__(self, model: Causal, prefixes: Ragged, most: int) -> None:
        self.model, self.most = model, most
        self.lengths = prefixes.lengths
        self.wide = prefixes.longest
        columns = torch.arange(self.wide + most, device=prefixes.ids.device)
        self.seen = columns < self.lengths[:, None]
        self.seen[:, self.wide :] = True  # what is not yet written is cut off by the step
        self.keys: list[Tensor] = []
        self.values: list[Tensor] = []
        x = model.embed(prefixes)
        at = torch.arange(self.wide, device=columns.device)
        inside = at < self.lengths[:, None]
        self.index = (prefixes.start[:-1, None] + at) * inside
        for block in model.blocks:
            assert isinstance(block, Block)
            q, k, v = block.split(x).unbind(1)
            self.keys.append(self._laid_out(k))
            self.values.append(self._laid_out(v))
            x = block.join(x, attention(q, k, v, prefixes, causal=True))
        self.first = model.before_softmax(x[prefixes.start[1:] - 1])

    def _laid_out(self, x: Tensor) -> Tensor:
        rows, wide = self.index.shape
        laid = x.new_zeros(rows, x.shape[1], wide + self.most, x.shape[2])
        laid[:, :, :wide] = x[self.index].transpose(1, 2)
        return laid

    def step(self, ids: Tensor, done: int) -> Tensor:
        """What stands before the softmax after one more piece per row, the `done`-th from 0."""
        model, end = self.model, self.wide + done + 1
        place = (self.lengths + done).clamp(max=model.shape.positions - 1)
        x = model.widen(model.pieces(ids)) + model.positions(place)
        unseen = ~self.seen[:, None, None, :end]
        for block, keys, values in zip(model.blocks, self.keys, self.values, strict=True):
            assert isinstance(block, Block)
            q, k, v = block.split(x).unbind(1)
            keys[:, :, end - 1], values[:, :, end - 1] = k, v
            near = q[:, :, None] @ keys[:, :, :end].transpose(2, 3) / q.shape[-1] ** 0.5
            share = near.float().masked_fill(unseen, -torch.inf).softmax(-1).to(v.dtype)
            x = block.join(x, (share @ values[:, :, :end])[:, :, 0])
        return model.before_softmax(x)


@torch.no_grad()
def translate(
    model: Causal, prefixes: Ragged, heat: Tensor, most: int, rng: torch.Generator
) -> Tensor:
    """Pieces (rows, most) drawn after each prefix, -1 from the end on; never empty."""
    device = prefixes.ids.device
    barred = torch.zeros(model.shape.vocabulary, device=device)
    barred[: len(SPECIAL) + len(BYTES)] = -torch.inf
    out = torch.full((len(prefixes), most), -1, device=device)
    ended = torch.zeros(len(prefixes), dtype=torch.bool, device=device)
    with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
        memory = _Memory(model, prefixes, most)
        hidden = memory.first
        for done in range(most):
            chance = (hidden @ model.pieces.weight.T).float() + barred
            noise = torch.rand(chance.shape, device=device, generator=rng).clamp_(1e-9, 1 - 1e-7)
            drawn = (chance - heat[:, None] * noise.log_().neg_().log_()).argmax(1)
            ended |= drawn == EOS
            out[:, done] = torch.where(ended, -1, drawn)
            if done == 0:
                barred[EOS] = 0.0
            if done % LOOK == LOOK - 1 and bool(ended.all()):
                break
            hidden = memory.step(torch.where(ended, EOS, drawn), done)
    return out
