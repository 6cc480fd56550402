"""Fine-tuning the sentence-pair regressor on judged segments, with views dropped at random.

    task = RegressorTask(model, packer, train, dev, views={"hyp+src/hyp+ref": 0.5, "hyp+src": 0.5})
    fit(task, Plan(epochs=4, rate=1e-4, schedule="linear"), out)

A batch holds one view, drawn with the given shares, so that a model meets every view that it will
serve; rows without a reference come in batches of their own, as hyp+src. The texts of a row are
fetched by its number for every slot, so the views of an example cannot come apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from mtgauge.encode.pairs import Packed, Packer
from mtgauge.errors import InputError
from mtgauge.metrics.regressor import INPUTS
from mtgauge.train.batching import bucketed, pearson_by_pair
from mtgauge.train.judged import Rows, as_wmt17
from mtgauge.train.regressor_model import Regressor

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Batch:
    rows: IntArray
    view: str
    plain: bool  # lower-cased and tokenised, as WMT17 is


class Texts:
    """Rows as token numbers; each distinct text is tokenised once."""

    def __init__(self, rows: Rows, packer: Packer) -> None:
        self.rows = rows
        self.packer = packer
        columns = {"hyp": rows.hypotheses, "src": rows.sources, "ref": rows.references}
        known = dict.fromkeys(t for texts in columns.values() for t in texts if t is not None)
        unique = list(known)
        ids = dict(zip(unique, packer.tokenize(unique), strict=True))
        self.ids = {
            name: [None if t is None else ids[t] for t in texts] for name, texts in columns.items()
        }

    def has(self, view: str) -> NDArray[np.bool_]:
        """Rows whose texts suffice for a view."""
        parts = {part for slot in INPUTS[view] for part in slot.split("+")}
        return np.array(
            [all(self.ids[part][i] is not None for part in parts) for i in range(len(self.rows))]
        )

    def pack(
        self, slot: str, rows: IntArray, langs: Mapping[str, int] | None, plain: bool
    ) -> Packed:
        parts = ("hyp", *slot.split("+"))
        inputs = [[self._text(part, int(i), plain) for part in parts] for i in rows]
        return self.packer.pack_ids(inputs, self._languages(parts, rows, langs))

    def _text(self, part: str, row: int, plain: bool) -> list[int]:
        if plain and part != "src":
            column = self.rows.hypotheses if part == "hyp" else self.rows.references
            return self.packer.tokenize([as_wmt17(column[row] or "")])[0]
        ids = self.ids[part][row]
        if ids is None:
            raise InputError(f"segment {row + 1} has no {part} text for this view")
        return ids

    def _languages(
        self, parts: Sequence[str], rows: IntArray, langs: Mapping[str, int] | None
    ) -> list[tuple[int, ...]] | None:
        if langs is None:
            return None
        found = []
        for i in rows:
            source, target = self.rows.lps[int(i)].split("-")
            found.append(tuple(langs[source if part == "src" else target] for part in parts))
        return found


class RegressorTask:
    def __init__(
        self,
        model: Regressor,
        packer: Packer,
        train: Rows,
        dev: Rows,
        views: Mapping[str, float],
        batch: int = 16,
        plain: float = 0.0,
        langs: Mapping[str, int] | None = None,
        head_share: float = 5.0,
    ) -> None:
        self.model: nn.Module = model
        self.views, self.size, self.plain, self.langs = dict(views), batch, plain, langs
        self.head_share = head_share
        self.answers: dict[str, list[str]] = {}
        self.train, self.dev = train, dev
        self.packer = packer
        self.texts = {rows: Texts(rows, packer) for rows in (train, dev)}
        self._served = {view: self.texts[train].has(view) for view in self.views}
        idle = ~np.logical_or.reduce(list(self._served.values()))
        if idle.any():
            files = sorted({train.files[i] for i in np.flatnonzero(idle).tolist()})
            raise InputError(
                f"{int(idle.sum())} training segments lack a text that every view needs "
                f"({', '.join(files)})",
                remedy=f"The views are {', '.join(self.views)}: add one, or leave the files out.",
            )
        columns = self.texts[train].ids
        self._lengths = np.array(
            [sum(len(column[i] or ()) for column in columns.values()) for i in range(len(train))]
        )
        settings = [self.views, batch, plain, packer.max_length, model.slots, model.pool]
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
        names = list(self.views)
        # rows that can be read in the same views share batches
        kinds: dict[tuple[bool, ...], list[int]] = {}
        for i in range(len(self.train)):
            kinds.setdefault(tuple(bool(self._served[v][i]) for v in names), []).append(i)
        found: list[Batch] = []
        for kind, rows in sorted(kinds.items()):
            possible = [name for name, there in zip(names, kind, strict=True) if there]
            shares = np.array([self.views[name] for name in possible])
            at = np.array(rows)
            for part in bucketed(self._lengths[at], self.size, rng):
                view = possible[int(rng.choice(len(possible), p=shares / shares.sum()))]
                found.append(Batch(at[part], view, bool(rng.random() < self.plain)))
        return [found[i] for i in rng.permutation(len(found))]

    def loss(self, batch: Batch, seed: int) -> Tensor:
        predicted = self._forward(self.train, batch)
        weights = torch.tensor(
            self.train.weights[batch.rows], device=self.device, dtype=torch.float32
        )
        human = torch.tensor(self.train.scores[batch.rows], device=self.device, dtype=torch.float32)
        return (weights * (predicted.float() - human) ** 2).sum() / weights.sum()

    def choose_answers(self) -> None:
        """With both texts: is the mean with the answer from the reference alone better?"""
        both, alone = "hyp+src/hyp+ref", "hyp+ref"
        if both in self.views and alone in self.views:
            plain = self.correlations(self.dev)[both]
            self.answers = {both: [both, alone]}
            if not self.correlations(self.dev)[both] > plain:
                self.answers = {}

    def predict(self, rows: Rows, view: str) -> NDArray[np.float64]:
        """z-scores in a view, the mean of its answers; NaN where a row lacks a text for it."""
        answers = self.answers.get(view, [view])
        return np.asarray(np.mean([self._predict(rows, name) for name in answers], axis=0))

    def _predict(self, rows: Rows, view: str) -> NDArray[np.float64]:
        if rows not in self.texts:
            self.texts[rows] = Texts(rows, self.packer)
        texts = self.texts[rows]
        out = np.full(len(rows), np.nan)
        there = np.flatnonzero(texts.has(view))
        lengths = np.array([len(texts.ids["hyp"][i] or ()) for i in there.tolist()])
        order = there[np.argsort(lengths, kind="stable")] if len(there) else there
        for start in range(0, len(order), 128):
            at = order[start : start + 128]
            out[at] = self._forward(rows, Batch(at, view, False)).float().cpu().numpy()
        return out

    def validate(self) -> dict[str, float]:
        return self.correlations(self.dev)

    def correlations(self, rows: Rows) -> dict[str, float]:
        """Pearson by view and pair; `average` is the mean over the views' averages."""
        found: dict[str, float] = {}
        averages = []
        for view in self.views:
            predicted = self.predict(rows, view)
            there = np.flatnonzero(~np.isnan(predicted))
            lps = [rows.lps[i] for i in there.tolist()]
            result = pearson_by_pair(lps, predicted[there], rows.scores[there])
            averages.append(result.pop("average"))
            found |= {f"{view} {lp}": r for lp, r in result.items()} | {view: averages[-1]}
        return found | {"average": float(np.mean(averages))}

    def sample(self, most: int) -> list[list[int]]:
        """Inputs of some validation rows as piece numbers, each slot in turn."""
        found: list[list[int]] = []
        for view in self.views:
            at = np.flatnonzero(self.texts[self.dev].has(view))[:most]
            for slot in INPUTS[view]:
                packed = self.texts[self.dev].pack(slot, at, self.langs, False)
                found += [
                    ids[real == 1].tolist()
                    for ids, real in zip(packed.ids, packed.mask, strict=True)
                ]
        return found

    def _forward(self, rows: Rows, batch: Batch) -> Tensor:
        texts = self.texts[rows]
        inputs = {
            slot: texts.pack(slot, batch.rows, self.langs, batch.plain)
            for slot in INPUTS[batch.view]
        }
        score: Tensor = self.model(inputs)
        return score
