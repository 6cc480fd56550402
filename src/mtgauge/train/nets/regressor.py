"""The sentence-pair regressor of paper 004: one encoder for all views, a small head on top.

    model = Regressor(EmbeddedPairs(encoder), slots=("src", "ref"), pool="compare", head="mlp")
    model({"src": inputs, "ref": inputs})        # (n,) predicted z-scores

A *slot* is one input of the encoder: `src` reads <s> hyp </s> src </s>, `ref` reads
<s> hyp </s> ref </s>, `src+ref` all three texts. Every slot goes through the same encoder, with its
attention mask and its token types; the vectors of all slots, side by side, go into the head:

    linear   y = w . dropout(x) + b
    mlp      y = w . dropout(tanh(W dropout(x) + b')) + b

A slot that is not given is a learned vector, so one model serves hyp+src/hyp+ref, hyp+src and
hyp+ref. The vector of an input is the last layer's first position (`pool="first"`, the paper's) or,
with `pool="compare"`, that beside a*b and |a - b| for the mean vectors a of the translation's
tokens and b of the others: a small encoder need not learn to compare from few judgements.
"""

from __future__ import annotations

from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mtgauge.encode.transformer import Block, Encoder
from mtgauge.errors import UsageError
from mtgauge.train.judged.inputs import Inputs

Pool = Literal["first", "compare"]


class PairEncoder(nn.Module):
    """An encoder as the regressor uses it: padded tensors (n, t) in, last states (n, t, d) out."""

    width: int
    inputs: tuple[str, ...]  # which of input_ids, attention_mask, token_type_ids, langs it reads


class EmbeddedPairs(PairEncoder):
    """The package's own encoder, which has no token types: they are added, and begin at zero."""

    inputs = ("input_ids", "attention_mask", "token_type_ids")

    def __init__(self, encoder: Encoder, freeze: bool = False, dropout: float = 0.1) -> None:
        super().__init__()
        self.encoder = encoder
        self.width = encoder.shape.dim
        self.types = nn.Embedding(2, self.width)
        nn.init.zeros_(self.types.weight)
        self.dropout = nn.Dropout(dropout)
        if freeze:
            encoder.pieces.weight.requires_grad = False

    def forward(self, ids: Tensor, mask: Tensor, types: Tensor, langs: Tensor) -> Tensor:
        e = self.encoder
        place = torch.arange(ids.shape[1], device=ids.device)
        x: Tensor = self.dropout(e.norm(e.pieces(ids) + e.positions(place) + self.types(types)))
        seen = (mask > 0)[:, None, None, :]
        for block in e.blocks:
            assert isinstance(block, Block)
            q, k, v = block.qkv(x).unflatten(-1, (3, block.heads, -1)).unbind(-3)
            q, k, v = (y.transpose(1, 2) for y in (q, k, v))
            mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=seen).transpose(1, 2)
            x = block.norm1(x + self.dropout(block.out(mixed.flatten(-2))))
            x = block.norm2(x + self.dropout(block.network(x)))
        return x


class HubPairs(PairEncoder):
    """A transformers model (BERT, XLM, XLM-R, ...), given everything that it can read."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model
        config = model.config
        self.width = int(getattr(config, "hidden_size", None) or config.emb_dim)
        self.has_types = getattr(config, "type_vocab_size", 1) > 1
        self.has_langs = bool(getattr(config, "use_lang_emb", False))
        self.inputs = (
            "input_ids",
            "attention_mask",
            *(("token_type_ids",) if self.has_types else ()),
            *(("langs",) if self.has_langs else ()),
        )

    def forward(self, ids: Tensor, mask: Tensor, types: Tensor, langs: Tensor) -> Tensor:
        more = {"token_type_ids": types} if self.has_types else {}
        more |= {"langs": langs} if self.has_langs else {}
        states: Tensor = self.model(input_ids=ids, attention_mask=mask, **more).last_hidden_state
        return states


class Head(nn.Module):
    def __init__(
        self, slots: int, width: int, kind: Literal["linear", "mlp"], hidden: int, dropout: float
    ) -> None:
        super().__init__()
        self.absent = nn.Parameter(torch.zeros(slots, width))
        size = slots * width
        layers: list[nn.Module] = [nn.Dropout(dropout)]
        if kind == "mlp":
            layers += [nn.Linear(size, hidden), nn.Tanh(), nn.Dropout(dropout)]
        self.regress = nn.Sequential(*layers, nn.Linear(hidden if kind == "mlp" else size, 1))

    def forward(self, states: Tensor, given: Tensor) -> Tensor:
        """`states` (n, slots, width), `given` (n, slots) of 0 and 1."""
        present = given.unsqueeze(-1).to(states.dtype)
        x = states * present + self.absent * (1 - present)
        score: Tensor = self.regress(x.flatten(1)).squeeze(-1)
        return score


class Regressor(nn.Module):
    def __init__(
        self,
        encoder: PairEncoder,
        slots: tuple[str, ...],
        pool: Pool = "first",
        head: Literal["linear", "mlp"] = "linear",
        hidden: int = 256,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.slots = slots
        self.pool = pool
        self.width = encoder.width * (3 if pool == "compare" else 1)
        self.head = Head(len(slots), self.width, head, hidden, dropout)

    def vector(self, ids: Tensor, mask: Tensor, types: Tensor, langs: Tensor) -> Tensor:
        """(n, width) of one slot."""
        states: Tensor = self.encoder(ids, mask, types, langs)
        if self.pool == "first":
            return states[:, 0]
        a = _mean(states, mask * (1 - types))
        b = _mean(states, mask * types)
        return torch.cat([states[:, 0], a * b, (a - b).abs()], 1)

    def forward(self, inputs: dict[str, Inputs]) -> Tensor:
        """Scores of rows whose slots are given together."""
        return self.answer(self.vectors(inputs))

    def vectors(self, inputs: dict[str, Inputs]) -> dict[str, Tensor]:
        """(n, width) of each slot; every slot holds the same rows."""
        sizes = {len(given.ids) for given in inputs.values()}
        if len(sizes) != 1 or not set(inputs) <= set(self.slots):
            raise UsageError(
                f"Slots {', '.join(inputs)} do not hold the same rows, or are unknown."
            )
        n = sizes.pop()
        found = self.vector(*joined(list(inputs.values()))).float().view(len(inputs), n, -1)
        return dict(zip(inputs, found, strict=True))

    def answer(self, vectors: dict[str, Tensor]) -> Tensor:
        """Scores from the vectors of the slots that are given."""
        given = [float(slot in vectors) for slot in self.slots]
        some = next(iter(vectors.values()))
        nothing = torch.zeros_like(some)
        states = torch.stack([vectors.get(slot, nothing) for slot in self.slots], 1)
        score: Tensor = self.head(states, some.new_tensor(given).expand(len(some), -1))
        return score


def joined(parts: list[Inputs]) -> Inputs:
    """The rows of several slots as one batch, padded to the widest: one pass of the encoder."""
    width = max(part.ids.shape[1] for part in parts)
    padded = [[F.pad(x, (0, width - x.shape[1])) for x in part] for part in parts]
    ids, mask, types, langs = (torch.cat(column) for column in zip(*padded, strict=True))
    return Inputs(ids, mask, types, langs)


def _mean(states: Tensor, mask: Tensor) -> Tensor:
    weights = mask.to(states.dtype).unsqueeze(-1)
    return (states * weights).sum(1) / weights.sum(1).clamp(min=1)


def load_hub(spec: str) -> Any:
    """A transformers model with the weights of its checkpoint, every one of them."""
    from mtgauge.encode import hub

    return hub.load_model(spec, hub.load_config(spec), hub.Place("cpu", "float32"))
