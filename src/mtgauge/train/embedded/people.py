"""What people said of translations, as a loss: a model's own scores must follow it.

    first, second = rows.framed("src", BOS, EOS), rows.framed("hyp", BOS, EOS)
    people = People.of(first, second, rows, device)
    rows = people.draw(128, rng)
    texts = people.texts(rows)              # the first texts of these rows, then the second
    loss = people.follow(rows, scores)      # 1 - Pearson, each language pair about its own mean

Pairs differ in level (the level of systems, of judges, and of the model itself), so only what
differs inside a pair is learned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from mtgauge.encode.transformer import Ragged
from mtgauge.train.embedded import objective as o
from mtgauge.train.judged.codes import Coded


@dataclass(frozen=True)
class People:
    """Judged rows on the training device; text i and text n + i belong to row i."""

    both: Ragged
    human: Tensor
    group: Tensor
    groups: int

    @classmethod
    def of(
        cls, first: Sequence[Sequence[int]], second: Sequence[Sequence[int]], rows: Coded,
        device: str | torch.device,
    ) -> People:  # fmt: skip
        groups = rows.groups
        names = sorted(set(groups))
        number = {name: i for i, name in enumerate(names)}
        return cls(
            Ragged.of([*first, *second], device),
            torch.tensor(rows.scores, dtype=torch.float32, device=device),
            torch.tensor([number[name] for name in groups], device=device),
            len(names),
        )

    def __len__(self) -> int:
        return len(self.human)

    def draw(self, count: int, rng: torch.Generator) -> Tensor:
        return torch.randint(len(self), (count,), device=self.human.device, generator=rng)

    def texts(self, rows: Tensor) -> Ragged:
        return self.both.take(torch.cat([rows, rows + len(self)]))

    def follow(self, rows: Tensor, scores: Tensor) -> Tensor:
        """How far the scores of these rows are from following people's."""
        group = self.group[rows]

        def about_mean(values: Tensor) -> Tensor:
            return values - o.word_means(values.float(), group, self.groups)[group]

        return o.follow(about_mean(scores), about_mean(self.human[rows]))

    def follow_match(self, rows: Tensor, states: Tensor, batch: Ragged) -> Tensor:
        """The same for best matches (P, R and F) of the second texts in the first."""
        found, _ = o.match_versions(states, batch, len(rows), 1)
        parts = [self.follow(rows, x) for x in found.three]
        return torch.stack(parts).mean()
