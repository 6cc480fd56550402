"""The English teacher: all-mpnet-base-v2 (Apache-2.0), over ragged batches.

What it teaches: which words of two English sentences match (states of a middle layer), and where a
sentence lies (mean of the last). Weights travel as int8 rows, about a
quarter of fp32 (`recipes/pack_teacher.py` makes them of the published ones).

    teacher = Teacher.load([Path("teacher.npz")], device="cuda")
    middle = teacher(batch, upto=7)
    last = teacher(batch, upto=12, states=middle, after=7)

Limits: English, lower-cased; MPNet's arrangement only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from mtgauge.encode.transformer import Ragged
from mtgauge.errors import ResourceError, UsageError
from mtgauge.train.nets.weights import Arrays, load_rows

FIRST, LAST, HEADS, BUCKETS = 0, 2, 12, 32
NAMES = (
    "embeddings.word_embeddings.weight", "embeddings.position_embeddings.weight",
    "embeddings.LayerNorm.weight", "encoder.relative_attention_bias.weight",
    "encoder.layer.0.attention.attn.q.weight",
)  # fmt: skip


Pair = tuple[Tensor, Tensor]  # weight and bias


def layer_end(
    x: Tensor, mixed: Tensor, out: Pair, norm1: Pair, up: Pair, down: Pair, norm2: Pair
) -> Tensor:
    """A layer's result from its input and what its attention gave."""
    size = x.shape[-1:]
    x = F.layer_norm(x + F.linear(mixed, *out), size, *norm1, 1e-5)
    inner = F.gelu(F.linear(x, *up))
    return F.layer_norm(x + F.linear(inner, *down), size, *norm2, 1e-5)


class Teacher:
    """MPNet's forward pass, in bf16 on a GPU unless another precision is asked for."""

    def __init__(
        self, weights: dict[str, Tensor], device: str = "cpu", dtype: torch.dtype | None = None
    ) -> None:
        if dtype is None:
            dtype = torch.bfloat16 if device.startswith("cuda") else torch.float32
        self.w = {name: value.to(device, dtype) for name, value in weights.items()}
        self.layers = 1 + max(
            int(n.split(".")[2]) for n in weights if n.startswith("encoder.layer")
        )
        for i in range(self.layers):
            own = f"encoder.layer.{i}.attention.attn."
            for kind in ("weight", "bias"):
                parts = [self.w.pop(own + f"{x}.{kind}") for x in "qkv"]
                self.w[own + "qkv." + kind] = torch.cat(parts)

    @classmethod
    def load(
        cls, paths: Sequence[Path], device: str = "cpu", dtype: torch.dtype | None = None
    ) -> Teacher:
        weights = load_rows(paths)
        if missing := [name for name in NAMES if name not in weights]:
            files = ", ".join(map(str, paths))
            raise ResourceError(f"{files}: no whole MPNet model, {missing[0]} is missing.")
        return cls(weights, device, dtype)

    def save(self, path: Path) -> None:
        """The weights as `load` reads them, in fp16, as a file that ends in .npz."""
        out: Arrays = {}
        for name, value in self.w.items():
            half = value.detach().half().cpu().numpy()
            if ".attn.qkv." in name:
                parts = np.split(half, 3)
                out |= {
                    name.replace(".qkv.", f".{x}."): p for x, p in zip("qkv", parts, strict=True)
                }
            else:
                out[name] = half
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(path, **out)  # type: ignore[arg-type]

    def refuse_above(self, layer: int) -> None:
        if layer > self.layers:
            raise UsageError(f"Layer {layer} of the teacher is wanted, and it has {self.layers}.")

    def _pair(self, name: str) -> Pair:
        return self.w[name + ".weight"], self.w[name + ".bias"]

    def split(self, layer: int, x: Tensor) -> Tensor:
        """Queries, keys and values of a layer, side by side."""
        return F.linear(x, *self._pair(f"encoder.layer.{layer}.attention.attn.qkv"))

    def ends(self, layer: int) -> list[Pair]:
        """The weights that `layer_end` takes."""
        names = ("attention.attn.o", "attention.LayerNorm", "intermediate.dense", "output.dense",
                 "output.LayerNorm")  # fmt: skip
        return [self._pair(f"encoder.layer.{layer}.{name}") for name in names]

    def embedded(self, ids: Tensor, position: Tensor) -> Tensor:
        """Layer 0 of pieces at these positions, from 0."""
        places = self.w["embeddings.position_embeddings.weight"]
        x = F.embedding(ids, self.w["embeddings.word_embeddings.weight"])
        x = x + places[(position + 2).clamp(max=len(places) - 1)]
        return F.layer_norm(x, x.shape[-1:], *self._pair("embeddings.LayerNorm"), 1e-5)

    def bias(self, longest: int) -> Tensor:
        """The relative-position bias added to every attention score, (heads, n, n)."""
        table = self.w["encoder.relative_attention_bias.weight"]
        step = torch.arange(longest, device=table.device)
        apart = step[None, :] - step[:, None]
        half, exact = BUCKETS // 2, BUCKETS // 4
        far = apart.abs().clamp(min=1).float()
        large = exact + (torch.log(far / exact) / math.log(128 / exact) * (half - exact)).long()
        bucket = torch.where(apart.abs() < exact, apart.abs(), large.clamp(max=half - 1))
        return table[bucket + (apart > 0) * half].permute(2, 0, 1)

    @torch.no_grad()
    def __call__(
        self, batch: Ragged, upto: int, states: Tensor | None = None, after: int = 0
    ) -> Tensor:
        """`states_of` without gradients."""
        return self.states_of(batch, upto, states, after)

    def states_of(
        self, batch: Ragged, upto: int, states: Tensor | None = None, after: int = 0
    ) -> Tensor:
        """States of layer `upto`, (pieces, 768), in the teacher's own precision; from the pieces,
        or from the batch's `states` of layer `after`."""
        self.refuse_above(upto)
        with torch.autocast(batch.ids.device.type, enabled=False):
            x = self.embedded(batch.ids, batch.position) if states is None else states
            bias = self.bias(-(-batch.longest // 8) * 8)
            masks = [
                bias[None, :, : group.mask.shape[1], : group.mask.shape[1]]
                + torch.where(group.mask, 0.0, -1e4).to(x.dtype)[:, None, None, :]
                for group in batch.groups
            ]
            for i in range(after, upto):
                x = self._layer(i, x, batch, masks)
            return x

    def _layer(self, layer: int, x: Tensor, batch: Ragged, masks: list[Tensor]) -> Tensor:
        qkv = self.split(layer, x).view(len(x), 3, HEADS, -1)
        out = torch.empty_like(x).view(len(x), HEADS, -1)
        for group, bias in zip(batch.groups, masks, strict=True):
            q, k, v = group.spread(qkv).permute(2, 0, 3, 1, 4)
            got = F.scaled_dot_product_attention(q, k, v, attn_mask=bias).transpose(1, 2)
            out[group.flat] = group.gathered(got)
        return layer_end(x, out.flatten(-2), *self.ends(layer))
