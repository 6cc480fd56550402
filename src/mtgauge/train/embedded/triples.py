"""Judged segments as arrays of fixed shape: source, translation and reference.

    judged = Triples.of(coded(rows, tokenizer), device)      # of `watch`; references may be missing
    source, translation, reference = judged.texts(slice(0, 128))
    print(report(encoder, judged, layers=[5]))

Rows are sorted by length, so that neighbours share a width. `report` is what a training chooses by:
correlations into English and out of it, and whether a copy of the source beats its translation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from mtgauge.encode.transformer import Encoder
from mtgauge.train.embedded import fixed as f
from mtgauge.train.embedded import objective as o
from mtgauge.train.embedded.corpus import BOS, EOS
from mtgauge.train.embedded.watch import by_direction, by_pair, evaluated
from mtgauge.train.judged.codes import Coded
from mtgauge.train.loop.batching import pearson_by_pair


@dataclass(frozen=True)
class Triples:
    """Judged rows as padded pieces, sorted by length; text 0 source, 1 translation, 2 reference."""

    ids: Tensor  # (3, n, most) uint16 as int32
    length: Tensor  # (3, n), 2 where there is no text
    human: Tensor
    group: Tensor
    groups: list[str]
    longest: np.ndarray  # (n,) on the host
    order: np.ndarray  # row of the judged data
    weight: np.ndarray  # (n,) how often a row is drawn: a pair counts by the root of its rows

    @classmethod
    def of(cls, judged: Coded, device: str | torch.device, most: int = 128) -> Triples:
        columns = [judged.framed(column, BOS, EOS) for column in ("src", "hyp", "ref")]
        rows = [[[*t[: most - 1], EOS] if len(t) > most else t for t in c] for c in columns]
        length = np.array([[len(t) for t in c] for c in rows])
        order = np.argsort(length.max(0), kind="stable")
        ids = np.zeros((3, len(order), most), np.int32)
        for k, column in enumerate(rows):
            for i, at in enumerate(order):
                ids[k, i, : len(column[at])] = column[at]
        groups = judged.groups
        names = sorted(set(groups))
        number = {name: i for i, name in enumerate(names)}
        group = np.array([number[groups[i]] for i in order])
        human = judged.scores[order].astype(np.float32)

        def put(array: np.ndarray) -> Tensor:
            return torch.from_numpy(np.ascontiguousarray(array)).to(device)

        longest = length.max(0)[order]
        weight = 1 / np.sqrt(np.bincount(group))[group]
        return cls(
            put(ids), put(length[:, order]), put(human), put(group), names, longest, order, weight
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.order)

    def windows(self, count: int, rng: np.random.Generator, many: int = 3) -> Iterator[np.ndarray]:
        """Rows in `many` windows of like length, `count` in all; a pair that has few rows is drawn
        more often than its share."""
        each = max(1, min(count, len(self)) // many)
        wide = min(4 * each, len(self))
        for _ in range(many):
            begin = int(rng.integers(len(self) - wide + 1))
            chance = self.weight[begin : begin + wide]
            picked = rng.choice(wide, each, replace=False, p=chance / chance.sum())
            yield np.sort(picked) + begin

    def texts(self, part: slice | np.ndarray) -> list[f.Texts]:
        wide = int(-(-self.longest[part].max() // 8) * 8)
        wide = min(wide, self.ids.shape[2])
        at = part if isinstance(part, slice) else torch.from_numpy(part).to(self.ids.device)
        return [f.framed_ids(self.ids[k, at, :wide].long(), self.length[k, at])
                for k in range(3)]  # fmt: skip


def states_of(encoder: Encoder, texts: Sequence[f.Texts], layer: int) -> list[Tensor]:
    """Unit vectors of several lists of texts in one pass."""
    found = f.unit(f.encode(encoder, f.together(texts))[layer])
    return list(torch.split(found, [len(t.ids) for t in texts]))


def people_loss(
    encoder: Encoder, people: Triples, count: int, layer: int, rng: np.random.Generator
) -> Tensor:
    """How far best matches of `count` rows are from following people's scores, each language pair
    about its own mean: with the source (turned), and a little with the reference.

    Rows come from a few windows of like length (`Triples.windows`) and are followed together, so
    that short texts are weighed against long ones too.
    """
    free, compared, rows = [], [], []
    for drawn in people.windows(count, rng):
        texts = people.texts(drawn)
        x, c, r = states_of(encoder, texts, layer)
        inner = [t.inner for t in texts]
        free.append(f.match(c[:, None], inner[1][:, None], f.turned(x), inner[0]).three)
        compared.append(f.match(c[:, None], inner[1][:, None], r, inner[2]).three)
        rows.append(drawn)
    chosen = torch.from_numpy(np.concatenate(rows)).to(people.group.device)
    group, scores = people.group[chosen], people.human[chosen]
    has = people.length[2, chosen] > 2

    def about(values: Tensor, kept: Tensor) -> Tensor:
        groups = len(people.groups)
        total = values.new_zeros(groups).index_add(0, group, values * kept)
        number = values.new_zeros(groups).index_add(0, group, kept.float())
        return values - (total / number.clamp(min=1))[group]

    def follow(found: Sequence[Sequence[Tensor]], kept: Tensor) -> Tensor:
        human = about(scores, kept)
        values = [torch.cat([part[:, 0] for part in same]) for same in zip(*found, strict=True)]
        return torch.stack([o.follow(about(v, kept), human, kept) for v in values]).mean()

    return follow(free, torch.ones_like(has)) + 0.3 * follow(compared, has)


@torch.no_grad()
def report(encoder: Encoder, judged: Triples, layers: Sequence[int]) -> str:
    """Pearson with people by group: translation against source (turned) and reference; and how
    often a copy of the source is at least as near to it as the translation."""
    device = judged.ids.device
    found: dict[tuple[int, str], list[Tensor]] = {}
    with evaluated(encoder):
        for begin in range(0, len(judged), 512):
            texts = judged.texts(slice(begin, begin + 512))
            with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
                states = f.encode(encoder, f.together(texts))
            for layer in layers:
                for name, value in _scores(states[layer], [t.inner for t in texts]).items():
                    found.setdefault((layer, name), []).append(value[:, 0])
    scores = {key: torch.cat(parts).double().cpu().numpy() for key, parts in found.items()}
    lines = []
    for layer in layers:
        win = scores.pop((layer, "copy")) >= scores[layer, "src P"]
        lines.append(f"layer {layer} copies win {win.mean():.3f}")
    human = judged.human.double().cpu().numpy()
    groups = [judged.groups[i] for i in judged.group.tolist()]
    for (layer, name), values in scores.items():
        by_group = pearson_by_pair(groups, values, human)
        by_group.pop("average")
        line = by_direction(by_group)
        if name in ("src P", "ref F"):
            line += f"  | {by_pair(by_group)}"
        lines.append(f"layer {layer} {name:6} {line}")
    return "\n".join(lines)


def _scores(states: Tensor, inner: Sequence[Tensor]) -> dict[str, Tensor]:
    """Best matches of each row, (n, 1)."""
    x, c, r = torch.chunk(f.unit(states), 3)
    free = f.match(c[:, None], inner[1][:, None], f.turned(x), inner[0])
    copy = f.match(x[:, None], inner[0][:, None], f.turned(x), inner[0])
    with_reference = f.match(c[:, None], inner[1][:, None], r, inner[2])
    return {
        "src P": free.precision,
        "src R": free.recall,
        "src F": free.f,
        "ref F": with_reference.f,
        "copy": copy.precision,
    }
