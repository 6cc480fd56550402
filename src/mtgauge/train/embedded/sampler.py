"""A prepared corpus on the training device, and batches drawn from it.

A language's chance grows with its pairs to the power `temper`, and very short sentences weigh less.
`shares.json` of the corpus (`mtgauge train prepare --shares`) says where some are to be drawn more
or less often than that, {"languages": {"lv": 2.2}, "origins": {"menus": 0.3}}; 1 where it does not.
Batches hold sentences of like length, of about `words` target words.

    corpus = ParallelCorpus.load(folder, device="cuda")
    for rows in corpus.batches(words=12_000, seed=1): ...      # endless; row numbers
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mtgauge.errors import ResourceError, UsageError
from mtgauge.train.embedded.corpus import IntArray, Side
from mtgauge.train.embedded.corrupt import Dictionaries, Slips, Table, laid_out
from mtgauge.train.embedded.prepare import Pairs, load_pairs, load_pieces, load_shares


@dataclass(frozen=True)
class ParallelCorpus:
    source: Tensor
    source_start: Tensor
    target: Tensor
    target_start: Tensor
    lang: Tensor
    chance: Tensor  # cumulative
    langs: tuple[str, ...]
    shares: dict[str, float]
    slips: Slips
    folder: Path

    @classmethod
    def load(
        cls, folder: Path, device: str, *, temper: float = 0.5, without: Sequence[str] = ()
    ) -> ParallelCorpus:
        """The corpus of a folder; pairs of an origin in `without` are never drawn."""
        names = sorted(p.stem for p in folder.glob("??.npz"))
        if not names or not (folder / "pieces.npz").exists():
            raise ResourceError(f"{folder} holds no corpus: `mtgauge train prepare` makes one.")
        pairs = [load_pairs(folder / f"{name}.npz") for name in names]
        origins = sorted({origin for p in pairs for origin in p.origins})
        if unknown := set(without) - set(origins):
            raise UsageError(
                f"--without {' '.join(sorted(unknown))}: {folder} has pairs of "
                f"{', '.join(origins)} only."
            )
        wanted = load_shares(folder)
        factor = {o: 0.0 if o in without else wanted["origins"].get(o, 1.0) for o in origins}
        weights = [
            _weights(p, temper, wanted["languages"].get(n, 1.0), factor)
            for n, p in zip(names, pairs, strict=True)
        ]
        total = sum(w.sum() for w in weights)
        if not total:
            raise UsageError(f"--without {' '.join(without)} leaves no pair of {folder}.")
        shares = _shares(names, pairs, weights, total)
        lang = np.concatenate([np.full(len(p), i) for i, p in enumerate(pairs)])
        source, target = _joined([p.source for p in pairs]), _joined([p.target for p in pairs])

        def put(array: NDArray[np.generic]) -> Tensor:
            return torch.from_numpy(np.ascontiguousarray(array)).to(device)

        chance = np.cumsum(np.concatenate(weights)) / total
        return cls(
            put(source.flat), put(source.start), put(target.flat), put(target.start), put(lang),
            put(chance), tuple(names), shares, _slips(folder, names, put), folder,
        )  # fmt: skip

    def only(self, rows: Tensor) -> ParallelCorpus:
        """The same corpus, of which nothing but these rows is drawn."""
        weight = self.chance.diff(prepend=self.chance.new_zeros(1))
        kept = torch.zeros_like(weight)
        kept[rows] = weight[rows]
        if not kept.sum():
            raise UsageError("--without leaves no pair that `mtgauge train sample` translated.")
        return replace(self, chance=(kept / kept.sum()).cumsum(0))

    def tables(self, name: str, first: int, last: int) -> Table:
        """Type -> pieces of a vocabulary (`student`, `teacher`) as prepared in pieces.npz."""
        side = load_pieces(self.folder, name)
        return Table.of(side, first, last, str(self.source.device))

    def batches(self, words: int, seed: int, ahead: int = 16) -> Iterator[Tensor]:
        """Row numbers of batches of like length, without end."""
        device = self.source.device
        rng = torch.Generator(device=device).manual_seed(seed)
        length = self.target_start.diff()
        few = UsageError(f"--words {words}: a batch needs 16 pairs; take more words.")
        if words < 1:
            raise few
        while True:
            draw = torch.rand(words * ahead // 8, device=device, generator=rng, dtype=torch.float64)
            rows = torch.searchsorted(self.chance, draw).clamp(max=len(self.lang) - 1)
            noise = torch.rand(len(rows), device=device, generator=rng)
            rows = rows[torch.argsort(length[rows] + 2 * noise)]
            cut = (length[rows].cumsum(0) // words).cpu()
            parts = [p for p in torch.split(rows, torch.bincount(cut).tolist()) if len(p) > 15]
            if not parts:
                raise few
            for i in torch.randperm(len(parts), generator=rng, device=device).tolist():
                yield parts[i]

    def padded(self, rows: Tensor, side: str) -> Tensor:
        """Type numbers (rows, longest), -1 where a row has ended."""
        if side == "source":
            return laid_out(self.source, self.source_start, rows)
        return laid_out(self.target, self.target_start, rows)


def _weights(
    pairs: Pairs, temper: float, boost: float, factor: Mapping[str, float]
) -> NDArray[np.float64]:
    origin = np.array([factor[name] for name in pairs.origins])
    weight = origin[pairs.origin] * np.minimum(1.0, pairs.target.lengths / 12)
    kept = np.count_nonzero(weight)
    return np.asarray(weight / max(weight.sum(), 1e-9) * kept**temper * boost, dtype=np.float64)


def _shares(
    names: list[str], pairs: list[Pairs], weights: list[NDArray[np.float64]], total: float
) -> dict[str, float]:
    shares: dict[str, float] = {}
    for name, pair, weight in zip(names, pairs, weights, strict=True):
        shares[name] = float(weight.sum() / total)
        for i, origin in enumerate(pair.origins):
            part = float(weight[pair.origin == i].sum() / total)
            shares[origin] = shares.get(origin, 0.0) + part
    return shares


def _joined(sides: list[Side]) -> Side:
    ends = np.cumsum([0] + [len(s.flat) for s in sides])
    start = [s.start[:-1] + ends[i] for i, s in enumerate(sides)]
    return Side(
        np.concatenate([s.flat for s in sides]),
        np.concatenate([*start, ends[-1:]]).astype(np.int64),
    )


def _slips(folder: Path, names: list[str], put: object) -> Slips:
    assert callable(put)
    english = np.load(folder / "english.npy", allow_pickle=False).astype(np.float64)
    with np.load(folder / "lexicon.npz", allow_pickle=False) as stored:
        confusion = np.full(len(english), -1, np.int64)
        words: IntArray = stored["confusion_words"]
        confusion[words] = np.arange(len(words))
        keys, found, share = [], [], []
        for i, name in enumerate(names):
            if f"{name}.word" in stored:
                keys.append(stored[f"{name}.word"].astype(np.int64) + i * len(english))
                found.append(stored[f"{name}.english"])
                share.append(stored[f"{name}.share"].astype(np.float32) / 255)
        others = stored["confusion_others"].astype(np.int64)
    smooth = english**0.75
    cumulative = np.cumsum(np.concatenate(share), 1) if share else np.zeros((0, 4), np.float32)
    common = put((np.cumsum(smooth) / smooth.sum()).astype(np.float32))
    translations = Dictionaries(
        put(np.concatenate(keys) if keys else np.zeros(0, np.int64)),
        put(np.concatenate(found).astype(np.int64) if found else np.zeros((0, 4), np.int64)),
        put(cumulative),
        len(english),
    )
    return Slips(put(confusion), put(others), common, translations)
