"""A prepared corpus on the training device, and batches drawn from it.

A language's chance grows with its pairs to the power `temper` times its boost; inside a language an
origin's pairs weigh as `ORIGIN_WEIGHT` says (news and debates over menus and scripture), and very
short sentences weigh less. Batches hold sentences of like length, of about `words` target words.

    corpus = Corpus.load(folder, device="cuda")
    for rows in corpus.batches(words=12_000, seed=1): ...      # endless; row numbers
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor

from mtgauge.errors import ResourceError, UsageError
from mtgauge.train.embedded.corpus import IntArray, Side
from mtgauge.train.embedded.corrupt import Slips, Table
from mtgauge.train.embedded.prepare import Pairs, load_pairs, load_pieces

ORIGIN_WEIGHT = {
    "mlqe": 4.0, "ud-pud": 4.0, "newstest2008-14": 4.0, "xquad": 2.0, "tico19": 2.0,
    "opensource-guide": 1.5, "europarl": 1.0, "kaznu": 1.0, "mozilla-www": 0.8, "k8s": 0.7,
    "godot-docs": 0.7, "ms-d365": 0.7, "ms-misc": 0.7, "tatoeba": 0.6, "tatoeba-ccby": 0.6,
    "multi30k": 0.6, "lo-help": 0.5, "bible": 0.5, "python-docs": 0.5, "gnome-user-docs": 0.4,
    "gimp-help": 0.3, "firefox-l10n": 0.3, "calibre": 0.3, "lo-ui": 0.3,
}  # fmt: skip
BOOST = {
    "lv": 2.2, "tr": 2.2, "zh": 2.2, "fi": 1.9, "ru": 1.8, "cs": 1.8, "de": 1.6, "et": 1.6,
    "ro": 1.4, "he": 1.6, "hu": 1.6,
}  # fmt: skip


def load_tokenizer(folder: Path, name: str = "tokenizer") -> Tokenizer:
    """A tokenizer of a prepared corpus: its own, or its `teacher`'s."""
    file = folder / f"{name}.json"
    if not file.is_file():
        how = " --teacher-tokenizer" if name == "teacher" else ""
        raise ResourceError(f"{file} is not there: `mtgauge train prepare{how}` makes it.")
    return Tokenizer.from_file(str(file))


@dataclass(frozen=True)
class Corpus:
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
    ) -> Corpus:
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
        weights = [
            _weights(p, temper, BOOST.get(n, 1.0), without)
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

    def only(self, rows: Tensor) -> Corpus:
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
        """Row numbers of batches of like length, for ever."""
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
        flat = self.source if side == "source" else self.target
        start = self.source_start if side == "source" else self.target_start
        length = start[rows + 1] - start[rows]
        step = torch.arange(int(length.max()), device=rows.device)
        mask = step < length[:, None]
        return torch.where(mask, flat[(start[rows][:, None] + step) * mask].long(), -1)


def _weights(
    pairs: Pairs, temper: float, boost: float, without: Sequence[str] = ()
) -> NDArray[np.float64]:
    origin = np.array([
        0.0 if name in without else ORIGIN_WEIGHT.get(name, 1.0) for name in pairs.origins
    ])  # fmt: skip
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
    return Slips(
        put(confusion), put(others), put((np.cumsum(smooth) / smooth.sum()).astype(np.float32)),
        put(np.concatenate(keys) if keys else np.zeros(0, np.int64)),
        put(np.concatenate(found).astype(np.int64) if found else np.zeros((0, 4), np.int64)),
        put(cumulative),
    )  # fmt: skip
