"""Frozen token vectors that heads are trained on.

    vectors = StoredVectors.build(encoder, book.texts, layers, folder)     # each text encoded once
    x, mask = vectors.batch(numbers, device)                               # (n, layers, t, d)

Vectors of all layers lie in one file of half-precision numbers, read where needed (memory-mapped),
so an epoch costs no encoding and little memory: 3,360 segments on a 6x384 encoder take 1 GB.
`LiveVectors` keeps nothing and encodes every batch anew, which a GPU does faster than a disk reads.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from mtgauge.data.output import write
from mtgauge.encode.tokens.encoder import Encoder
from mtgauge.encode.tokens.layers import layer_blocks
from mtgauge.encode.tokens.pairs import Packer
from mtgauge.encode.transformer import Encoder as TorchEncoder
from mtgauge.encode.transformer import Ragged
from mtgauge.train.judged.codes import Book, IntArray

MAX_TOKENS = 100  # word pieces per text, as in the authors' code


class VectorSource(Protocol):
    """Token vectors of a book's texts, padded: (n, layers, t, d) and the mask of real tokens."""

    fingerprint: str
    layers: tuple[int, ...]
    width: int
    lengths: IntArray  # tokens of each text of the book

    def batch(self, numbers: IntArray, device: torch.device) -> tuple[Tensor, Tensor]: ...


class StoredVectors:
    """Vectors on disk: `vectors.f16` holds (tokens, layers, d), `index.json` where texts begin."""

    def __init__(self, folder: Path) -> None:
        index = json.loads((folder / "index.json").read_text(encoding="utf-8"))
        self.fingerprint: str = index["fingerprint"]
        self.layers: tuple[int, ...] = tuple(index["layers"])
        self.width: int = index["width"]
        self.start = np.array(index["start"])
        self.lengths = np.array(index["lengths"])
        shape = (int(self.lengths.sum()), len(self.layers), self.width)
        stored = np.memmap(folder / "vectors.f16", np.float16, mode="c", shape=shape)
        self._vectors = torch.from_numpy(stored).flatten(1)

    @classmethod
    def build(
        cls,
        encoder: Encoder,
        texts: Sequence[str],
        layers: tuple[int, ...],
        folder: Path,
        quiet: bool = False,
        wanted: IntArray | None = None,
    ) -> StoredVectors:
        """Encode the texts (or those with the numbers `wanted`), unless the folder holds them."""
        numbers = np.arange(len(texts)) if wanted is None else np.unique(wanted)
        chosen = [texts[i] for i in numbers.tolist()]
        digest = hashlib.sha256("\0".join([encoder.fingerprint, str(layers), *chosen]).encode())
        if len(numbers) < len(texts):
            digest.update(numbers.astype("<i8").tobytes())
        path = folder / "index.json"
        if path.exists() and json.loads(path.read_text())["digest"] == digest.hexdigest():
            return cls(folder)
        folder.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        start, lengths = np.zeros(len(texts), np.int64), np.zeros(len(texts), np.int64)
        at, width = 0, 0
        with (folder / "vectors.f16").open("wb") as file:
            blocks = layer_blocks(encoder, chosen, layers, MAX_TOKENS)
            for i, block, _ in tqdm(blocks, total=len(chosen), disable=quiet, unit="text"):
                block.astype(np.float16).tofile(file)
                start[numbers[i]], lengths[numbers[i]] = at, len(block)
                at, width = at + len(block), block.shape[2]
        index = {
            "digest": digest.hexdigest(),
            "fingerprint": encoder.fingerprint,
            "layers": list(layers),
            "width": width,
            "start": start.tolist(),
            "lengths": lengths.tolist(),
        }
        write(path, json.dumps(index))  # the index comes last: a killed build is built again
        return cls(folder)

    def batch(self, numbers: IntArray, device: torch.device) -> tuple[Tensor, Tensor]:
        step = np.arange(max(1, int(self.lengths[numbers].max())))
        mask = step < self.lengths[numbers][:, None]
        index = torch.from_numpy((self.start[numbers][:, None] + step) * mask)
        real = torch.from_numpy(mask)
        found = self._vectors.index_select(0, index.flatten()).to(device).float()
        found = found.view(*index.shape, len(self.layers), self.width)
        found = found.masked_fill_(~real.to(device)[:, :, None, None], 0.0)
        return found.transpose(1, 2), real.to(device).long()


class LiveVectors:
    """The embedded encoder in torch, run for every batch: the fast way on a GPU."""

    def __init__(
        self,
        encoder: TorchEncoder,
        packer: Packer,
        book: Book,
        layers: tuple[int, ...],
        fingerprint: str,
        device: torch.device,
    ) -> None:
        self.encoder = encoder.to(device).eval().requires_grad_(False)
        self.packer, self.book = packer, book
        self.layers = layers
        self.fingerprint = fingerprint
        self.width = encoder.shape.dim
        self.lengths = np.minimum(book.lengths, min(MAX_TOKENS, packer.max_length - 2))

    @torch.no_grad()
    def batch(self, numbers: IntArray, device: torch.device) -> tuple[Tensor, Tensor]:
        sizes = self.lengths[numbers]
        longest = int(sizes.max())
        ends = np.cumsum(sizes + 2)
        both = np.stack([self.book.start[numbers], sizes, ends - sizes - 2])
        text, size, start = torch.from_numpy(both).to(device, non_blocking=True)
        row = torch.repeat_interleave(size + 2, output_size=int(ends[-1]))
        place = torch.arange(int(ends[-1]), device=device) - start[row]
        flat = self.book.on(device)
        ids = flat[(text[row] + place - 1).clamp(0, max(len(flat) - 1, 0))].long()
        ids = torch.where(place == 0, self.packer.begin, ids)
        ids = torch.where(place == size[row] + 1, self.packer.end, ids)
        whole = torch.cat([start, start[-1:] + size[-1:] + 2])
        on_gpu = device.type == "cuda"
        with torch.autocast(device.type, torch.bfloat16, enabled=on_gpu):
            states = self.encoder(Ragged(ids, whole, longest + 2))
        step = torch.arange(max(1, longest), device=device)
        mask = step < size[:, None]
        index = (start[:, None] + 1 + step) * mask  # the special tokens are left out
        kind = torch.bfloat16 if on_gpu else torch.float32
        stacked = torch.stack([states[layer].to(kind)[index] for layer in self.layers], 1)
        return stacked * mask[:, None, :, None], mask.long()
