"""Fine-tuning the sentence-pair regressor on judged segments, in all views that it will serve.

    task = RegressorTask(model, packer, train, dev, views={"hyp+src/hyp+ref": 0.5, "hyp+src": 0.5})
    fit(task, Plan(epochs=4, rate=1e-4, schedule="linear"), out)

The encoder reads each slot of a batch once; every view answers from what it may see of that, and
the errors count by the views' shares. That is what dropping views at random comes to on average,
without the chance and for the price of the widest view. Rows without a reference come in batches of
their own, as hyp+src. The texts of a row are fetched by its number for every slot, so the views of
an example cannot come apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from mtgauge.encode.tokens.pairs import Packer
from mtgauge.errors import InputError
from mtgauge.metrics.regressor import INPUTS
from mtgauge.train.judged.codes import Coded, IntArray
from mtgauge.train.judged.inputs import Inputs, pack
from mtgauge.train.loop.batching import bucketed, by_length, pearson_by_pair, weighted_error
from mtgauge.train.nets.regressor import Regressor

_PREDICTED = 256  # rows per batch where nothing is learned
_ANSWERS = 4  # at most, in a mean of answers


@dataclass(frozen=True)
class Batch:
    rows: IntArray
    views: tuple[str, ...]  # all that these rows can be read in


class RegressorTask:
    def __init__(
        self,
        model: Regressor,
        packer: Packer,
        train: Coded,
        dev: Coded,
        views: Mapping[str, float],
        batch: int = 16,
        langs: Mapping[str, int] | None = None,
        head_share: float = 5.0,
    ) -> None:
        self.model: nn.Module = model
        self.views, self.size, self.langs = dict(views), batch, langs
        self.head_share = head_share
        self.answers: dict[str, list[str]] = {}
        self._known: dict[tuple[Coded, str], Tensor] = {}
        self.train, self.dev = train, dev
        self.packer = packer
        served = np.stack([train.has(view) for view in self.views])
        idle = ~served.any(0)
        if idle.any():
            files = sorted(set(train.files[idle].tolist()))
            raise InputError(
                f"{int(idle.sum())} training segments lack a text that every view needs "
                f"({', '.join(files)})",
                remedy=f"The views are {', '.join(self.views)}: add one, or leave the files out.",
            )
        # rows that can be read in the same views share batches
        names = list(self.views)
        self._kinds = [
            (
                tuple(name for name, is_served in zip(names, kind, strict=True) if is_served),
                np.flatnonzero((kind == served.T).all(1)),
            )
            for kind in np.unique(served.T, axis=0)
        ]
        self._lengths = train.length("hyp", "src", "ref")
        settings = [self.views, batch, packer.max_length, model.slots, model.pool]
        self.fingerprint = "|".join(map(str, [*settings, train.digest(), dev.digest()]))

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    def groups(self) -> list[tuple[list[nn.Parameter], float]]:
        """The head begins at random and learns faster than the encoder."""
        assert isinstance(self.model, Regressor)
        head = list(self.model.head.parameters())
        known = {id(p) for p in head}
        rest = [p for p in self.model.parameters() if p.requires_grad and id(p) not in known]
        return [(rest, 1.0), (head, self.head_share)]

    def batches(self, epoch: int, seed: int) -> list[Batch]:
        rng = np.random.default_rng([seed, epoch])
        found: list[Batch] = []
        for possible, at in self._kinds:
            for part in bucketed(self._lengths[at], self.size, rng):
                found.append(Batch(at[part], possible))
        return [found[i] for i in rng.permutation(len(found))]

    def loss(self, batch: Batch, seed: int) -> Tensor:
        assert isinstance(self.model, Regressor)
        slots = dict.fromkeys(slot for view in batch.views for slot in INPUTS[view])
        inputs = {slot: self._pack(self.train, slot, batch.rows) for slot in slots}
        vectors = self.model.vectors(inputs)
        total = sum(self.views[view] for view in batch.views)
        error = torch.zeros((), device=self.device)
        for view in batch.views:
            answer = self.model.answer({slot: vectors[slot] for slot in INPUTS[view]})
            share = self.views[view] / total
            error = error + share * weighted_error(answer, self.train, batch.rows)
        return error

    def choose_answers(self) -> None:
        """With both texts: the mean of which answers is best? One listed twice counts twice.

        The encoder has read both texts anyway: the answers from either cost next to nothing.
        """
        both = "hyp+src/hyp+ref"
        known = [view for view in (both, "hyp+ref", "hyp+src") if view in self.views]
        if both not in known:
            return
        best = -np.inf
        for size in range(1, _ANSWERS + 1):
            for names in combinations_with_replacement(known, size):
                if {slot for name in names for slot in INPUTS[name]} != set(INPUTS[both]):
                    continue  # one of the two texts would count for nothing
                predicted = self._mean(self.dev, names)
                defined = np.flatnonzero(~np.isnan(predicted))
                found = pearson_by_pair(
                    self.dev.lps[defined].tolist(), predicted[defined], self.dev.scores[defined]
                )["average"]
                if found > best:
                    best, self.answers = found, {both: list(names)}

    def predict(self, rows: Coded, view: str) -> NDArray[np.float64]:
        """z-scores in a view, the mean of its answers; NaN where a row lacks a text for it."""
        return self._mean(rows, self.answers.get(view, [view]))

    def _mean(self, rows: Coded, answers: Sequence[str]) -> NDArray[np.float64]:
        return np.asarray(np.mean([self._predict(rows, name) for name in answers], axis=0))

    def _predict(self, rows: Coded, view: str) -> NDArray[np.float64]:
        assert isinstance(self.model, Regressor)
        out = np.full(len(rows), np.nan)
        complete = np.flatnonzero(rows.has(view))
        if len(complete):
            at = torch.from_numpy(complete).to(self.device)
            vectors = {slot: self._vectors(rows, slot)[at] for slot in INPUTS[view]}
            out[complete] = self.model.answer(vectors).float().cpu().numpy()
        return out

    def _vectors(self, rows: Coded, slot: str) -> Tensor:
        """What the encoder makes of a slot, once for all views; zero where a text is lacking."""
        assert isinstance(self.model, Regressor)
        if (rows, slot) not in self._known:
            parts = ("hyp", *slot.split("+"))
            complete = np.flatnonzero(np.stack([rows.numbers[p] >= 0 for p in parts]).all(0))
            out = torch.zeros(len(rows), self.model.width, device=self.device)
            for batch in by_length(rows.length(*parts)[complete], _PREDICTED):
                at = complete[batch]
                found = self.model.vector(*self._pack(rows, slot, at)).float()
                out[torch.from_numpy(at).to(self.device)] = found
            self._known[rows, slot] = out
        return self._known[rows, slot]

    def forget(self) -> None:
        """To be called when the weights have changed, before rows are predicted again."""
        self._known.clear()

    def settle(self) -> None:
        """The best weights are not the last ones that were validated."""
        self.forget()
        self.choose_answers()

    def validate(self) -> dict[str, float]:
        self.forget()
        return self.correlations(self.dev)

    def correlations(self, rows: Coded) -> dict[str, float]:
        """Pearson by view and pair; `average` is the mean over the views' averages."""
        found: dict[str, float] = {}
        averages = []
        for view in self.views:
            predicted = self.predict(rows, view)
            defined = np.flatnonzero(~np.isnan(predicted))
            lps = rows.lps[defined].tolist()
            result = pearson_by_pair(lps, predicted[defined], rows.scores[defined])
            averages.append(result.pop("average"))
            found |= {f"{view} {lp}": r for lp, r in result.items()} | {view: averages[-1]}
        return found | {"average": float(np.mean(averages))}

    def sample(self, most: int) -> list[list[int]]:
        """Inputs of some validation rows as piece numbers, each slot in turn."""
        found: list[list[int]] = []
        for view in self.views:
            at = np.flatnonzero(self.dev.has(view))[:most]
            for slot in INPUTS[view]:
                packed = self._pack(self.dev, slot, at)
                found += [
                    ids[real == 1].tolist()
                    for ids, real in zip(packed.ids, packed.mask, strict=True)
                ]
        return found

    def _pack(self, rows: Coded, slot: str, at: IntArray) -> Inputs:
        return pack(rows, slot, at, self.packer, self.device, self.langs)
