"""Training BiLSTM, BiLSTM+attention and ESIM: judged segments and frozen vectors.

    vectors = StoredVectors.build(encoder, texts, layers, folder)     # each text encoded once
    task = ContextTask(model, train, dev, vectors, view="ref")
    fit(task, Plan(epochs=75, rate=4e-4), out)

Vectors of all layers lie in one file of half-precision numbers, read where needed (memory-mapped),
so an epoch costs no encoding and little memory: 3,360 segments on a 6x384 encoder take 1 GB.
`LiveVectors` keeps nothing and encodes every batch anew, which a GPU does faster than a disk reads.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from tqdm import tqdm

from mtgauge.encode.encoder import Encoder
from mtgauge.encode.layers import layer_blocks
from mtgauge.encode.pairs import Packer
from mtgauge.errors import InputError
from mtgauge.train.batching import bucketed, pearson_by_pair
from mtgauge.train.context_models import ContextModel
from mtgauge.train.judged import Rows, as_wmt17
from mtgauge.train.model import Encoder as TorchEncoder
from mtgauge.train.model import Ragged

View = Literal["ref", "src"]
MAX_TOKENS = 100  # word pieces a text, as in the authors' code


class VectorSource(Protocol):
    """Token vectors of texts, padded: (n, layers, t, d) and the mask of real tokens (n, t)."""

    fingerprint: str
    layers: tuple[int, ...]
    width: int

    def lengths(self, texts: Sequence[str]) -> NDArray[np.int64]: ...
    def batch(self, texts: Sequence[str], device: torch.device) -> tuple[Tensor, Tensor]: ...


class StoredVectors:
    """Vectors on disk: `vectors.f16` holds (tokens, layers, d), `index.json` where each text is."""

    def __init__(self, folder: Path) -> None:
        index = json.loads((folder / "index.json").read_text(encoding="utf-8"))
        self.fingerprint: str = index["fingerprint"]
        self.layers: tuple[int, ...] = tuple(index["layers"])
        self.width: int = index["width"]
        self._place: dict[str, tuple[int, int]] = index["place"]
        shape = (index["tokens"], len(self.layers), self.width)
        self._vectors = np.memmap(folder / "vectors.f16", np.float16, mode="r", shape=shape)

    @classmethod
    def build(
        cls,
        encoder: Encoder,
        texts: Sequence[str],
        layers: tuple[int, ...],
        folder: Path,
        quiet: bool = False,
    ) -> StoredVectors:
        """Encode the distinct texts, unless the folder already holds exactly them."""
        unique = sorted(set(texts))
        digest = hashlib.sha256("\0".join([encoder.fingerprint, str(layers), *unique]).encode())
        path = folder / "index.json"
        if path.exists() and json.loads(path.read_text())["digest"] == digest.hexdigest():
            return cls(folder)
        folder.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        place: dict[str, tuple[int, int]] = {}
        at, width = 0, 0
        with (folder / "vectors.f16").open("wb") as file:
            blocks = layer_blocks(encoder, unique, layers, MAX_TOKENS)
            for i, block, _ in tqdm(blocks, total=len(unique), disable=quiet, unit="text"):
                block.astype(np.float16).tofile(file)
                place[unique[i]] = (at, at + len(block))
                at, width = at + len(block), block.shape[2]
        index = {
            "digest": digest.hexdigest(),
            "fingerprint": encoder.fingerprint,
            "layers": list(layers),
            "width": width,
            "tokens": at,
            "place": place,
        }
        fresh = path.with_suffix(".fresh")  # the index comes last: a killed build is built again
        fresh.write_text(json.dumps(index), encoding="utf-8")
        os.replace(fresh, path)
        return cls(folder)

    def lengths(self, texts: Sequence[str]) -> NDArray[np.int64]:
        return np.array([self._place[text][1] - self._place[text][0] for text in texts])

    def batch(self, texts: Sequence[str], device: torch.device) -> tuple[Tensor, Tensor]:
        places = [self._place[text] for text in texts]
        longest = max(1, *(end - start for start, end in places))
        out = np.zeros((len(texts), longest, len(self.layers), self.width), dtype=np.float32)
        mask = np.zeros((len(texts), longest), dtype=np.int64)
        for i, (start, end) in enumerate(places):
            out[i, : end - start] = self._vectors[start:end]
            mask[i, : end - start] = 1
        x = torch.from_numpy(out).to(device).transpose(1, 2)
        return x, torch.from_numpy(mask).to(device)


class LiveVectors:
    """The embedded encoder in torch, run for every batch: the fast way on a GPU."""

    def __init__(
        self,
        encoder: TorchEncoder,
        packer: Packer,
        layers: tuple[int, ...],
        fingerprint: str,
        device: torch.device,
    ) -> None:
        self.encoder = encoder.to(device).eval().requires_grad_(False)
        self.packer = packer
        self.layers = layers
        self.fingerprint = fingerprint
        self.width = encoder.shape.dim
        self._ids: dict[str, list[int]] = {}

    def _tokens(self, texts: Sequence[str]) -> list[list[int]]:
        new = [text for text in dict.fromkeys(texts) if text not in self._ids]
        most = min(MAX_TOKENS, self.packer.max_length - 2)
        for text, ids in zip(new, self.packer.tokenize(new), strict=True):
            self._ids[text] = ids[:most]
        return [self._ids[text] for text in texts]

    def lengths(self, texts: Sequence[str]) -> NDArray[np.int64]:
        return np.array([len(ids) for ids in self._tokens(texts)])

    @torch.no_grad()
    def batch(self, texts: Sequence[str], device: torch.device) -> tuple[Tensor, Tensor]:
        rows = [[self.packer.begin, *ids, self.packer.end] for ids in self._tokens(texts)]
        ragged = Ragged.of(rows, device)
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            states = self.encoder(ragged)
        lengths = ragged.lengths - 2  # the special tokens are left out
        step = torch.arange(max(1, ragged.longest - 2), device=device)
        mask = step < lengths[:, None]
        index = (ragged.start[:-1, None] + 1 + step) * mask
        stacked = torch.stack([states[layer][index] for layer in self.layers], 1).float()
        return stacked * mask[:, None, :, None], mask.long()


class ContextTask:
    def __init__(
        self,
        model: ContextModel,
        train: Rows,
        dev: Rows,
        vectors: VectorSource,
        view: View,
        batch: int = 32,
        plain: float = 0.0,
    ) -> None:
        self.model: nn.Module = model
        self.vectors = vectors
        self.view, self.size, self.plain = view, batch, plain
        self.train, self.dev = train, dev
        self._first = {rows: others(rows, view) for rows in (train, dev)}
        self._lengths = vectors.lengths(self._first[train]) + vectors.lengths(
            list(train.hypotheses)
        )
        settings = [vectors.fingerprint, view, batch, plain, model.head]
        self.fingerprint = "|".join(map(str, [*settings, train.digest(), dev.digest()]))

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    def groups(self) -> list[tuple[list[nn.Parameter], float]]:
        return [(list(self.model.parameters()), 1.0)]

    def batches(self, epoch: int, seed: int) -> list[tuple[NDArray[np.int64], bool]]:
        """Rows, and whether this batch is seen lower-cased and tokenised."""
        rng = np.random.default_rng([seed, epoch])
        rows = bucketed(self._lengths, self.size, rng)
        return [(batch, bool(rng.random() < self.plain)) for batch in rows]

    def loss(self, batch: tuple[NDArray[np.int64], bool], seed: int) -> Tensor:
        rows, plain = batch
        predicted = self._forward(self.train, rows, plain)
        weights = torch.tensor(self.train.weights[rows], device=self.device, dtype=torch.float32)
        human = torch.tensor(self.train.scores[rows], device=self.device, dtype=torch.float32)
        return (weights * (predicted.float() - human) ** 2).sum() / weights.sum()

    def predict(self, rows: Rows) -> NDArray[np.float64]:
        """z-scores of training or validation rows; the model is in evaluation mode."""
        self._first.setdefault(rows, others(rows, self.view))
        out = np.empty(len(rows))
        order = np.argsort(self.vectors.lengths(list(rows.hypotheses)), kind="stable")
        for start in range(0, len(order), 128):
            batch = order[start : start + 128]
            out[batch] = self._forward(rows, batch, False).float().cpu().numpy()
        return out

    def validate(self) -> dict[str, float]:
        return pearson_by_pair(self.dev.lps, self.predict(self.dev), self.dev.scores)

    def _forward(self, rows: Rows, at: NDArray[np.int64], plain: bool) -> Tensor:
        first = [self._first[rows][i] for i in at]
        second = [rows.hypotheses[int(i)] for i in at]
        if plain:
            second = [as_wmt17(text) for text in second]
            first = [as_wmt17(text) for text in first] if self.view == "ref" else first
        a, a_mask = self.vectors.batch(first, self.device)
        b, b_mask = self.vectors.batch(second, self.device)
        score: Tensor = self.model(a, a_mask, b, b_mask)
        return score


def others(rows: Rows, view: View) -> list[str]:
    """What a translation is compared with: all references, or all sources."""
    texts = rows.references if view == "ref" else rows.sources
    found = [text for text in texts if text is not None]
    if len(found) != len(rows):
        name = "reference" if view == "ref" else "source"
        files = sorted({f for f, t in zip(rows.files, texts, strict=True) if t is None})
        raise InputError(
            f"{len(rows) - len(found)} segments have no {name} ({', '.join(files)})",
            remedy=f"Leave those files out, or train with another view than {view}.",
        )
    return found


def all_texts(parts: Sequence[Rows], view: View, plain: bool) -> list[str]:
    """Every text that a training run will ask vectors of."""
    texts = [t for rows in parts for t in (*others(rows, view), *rows.hypotheses)]
    if plain:
        texts += [as_wmt17(text) for text in dict.fromkeys(texts)]
    return texts
