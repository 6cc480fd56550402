"""SmolLM2-135M (Apache-2.0) as the language model's English teacher: a Llama, read-only.

    python recipes/reader.py pack SmolLM2.gguf --out DIR            # reader-1.npz, reader-2.npz
    python recipes/reader.py prepare SmolLM2.gguf --corpus CORPUS   # its pieces join the corpus
    python recipes/reader.py train --reader DIR/reader-*.npz --corpus CORPUS --out RUN --seconds 900

`train` is `mtgauge train fluency` with a reader. It reads a sentence, real or corrupted, and says
how likely each word is; the student is trained to say the same of the same words, whatever pieces
either cuts them into.

Q4_1: 32 weights are (d, m: fp16; 16 bytes), w = d q + m; Q8_0: (d: fp16; 32 int8), w = d q.
Limits: GGUF files of this model in F32, Q4_1 and Q8_0; needs the package gguf to read them.
"""

from __future__ import annotations

import argparse
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from tokenizers import Tokenizer, models, pre_tokenizers
from torch import Tensor

from mtgauge import train
from mtgauge.commands.flags import read
from mtgauge.commands.train.embedded import add_stage
from mtgauge.encode.transformer import Causal, Ragged, attention, log_probability
from mtgauge.errors import ResourceError
from mtgauge.train.embedded.build import packed_pieces
from mtgauge.train.embedded.corpus import BOS, EOS, as_written, pieces_of_types
from mtgauge.train.embedded.corrupt import Table, corrupt, expand, framed, same_width
from mtgauge.train.embedded.fluency import drawn
from mtgauge.train.embedded.objective import follow, word_means
from mtgauge.train.embedded.prepare import MARK, load_types
from mtgauge.train.embedded.sampler import ParallelCorpus
from mtgauge.train.loop.fit import pick_device
from mtgauge.train.settings import LanguageModelTraining, StudentRun

BEGIN = 0  # <|endoftext|>
SHARE = 0.4  # of a batch's rows that the reader is shown
HEADS, SHARED, BASE, EPSILON = 9, 3, 100_000.0, 1e-5


def pack(gguf_file: Path, folder: Path, parts: int = 2) -> None:
    """The raw blocks of every tensor, spread over `parts` files of like size."""
    from gguf import GGUFReader

    tensors = GGUFReader(str(gguf_file)).tensors
    size, files = [0] * parts, [dict[str, NDArray[np.generic]]() for _ in range(parts)]
    for tensor in sorted(tensors, key=lambda t: -t.n_bytes):
        least = size.index(min(size))
        size[least] += tensor.n_bytes
        files[least][f"{tensor.name}:{tensor.tensor_type.name}"] = np.asarray(tensor.data)
    folder.mkdir(parents=True, exist_ok=True)
    for i, file in enumerate(files):
        np.savez(folder / f"reader-{i + 1}.npz", **file)  # type: ignore[arg-type]


def prepare(gguf_file: Path, corpus: Path) -> None:
    """Pieces of every type of the corpus in the reader's vocabulary, into pieces.npz."""
    theirs = tokenizer(gguf_file)
    theirs.save(str(corpus / "reader.json"))
    types = [as_written(t.removeprefix(MARK)) for t in load_types(corpus)]
    with np.load(corpus / "pieces.npz", allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    arrays |= packed_pieces("reader", pieces_of_types(theirs, types, 8))
    np.savez(corpus / "pieces.npz", **arrays)


def tokenizer(gguf_file: Path) -> Tokenizer:
    """Its byte-level BPE."""
    from gguf import GGUFReader

    fields = GGUFReader(str(gguf_file)).fields
    tokens = fields["tokenizer.ggml.tokens"].contents()
    merges = [tuple(m.split(" ")) for m in fields["tokenizer.ggml.merges"].contents()]
    made = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, merges))
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(False)]
    )
    return made


def _weights(data: NDArray[np.generic], kind: str, device: str) -> Tensor:
    """One tensor as bf16 (fp32 off a GPU)."""
    dtype = torch.bfloat16 if device.startswith("cuda") else torch.float32
    raw = torch.from_numpy(np.ascontiguousarray(data)).to(device)
    if kind == "F32":
        return raw.to(dtype)
    if kind not in ("Q4_1", "Q8_0"):
        raise ValueError(f"blocks of kind {kind} are not known")
    rows = raw.shape[0]
    if kind == "Q8_0":
        blocks = raw.view(rows, -1, 34)
        scale = blocks[..., :2].contiguous().view(torch.float16).float()
        whole = blocks[..., 2:].contiguous().view(torch.int8).float()
        return (whole * scale).flatten(1).to(dtype)
    blocks = raw.view(rows, -1, 20)
    pair = blocks[..., :4].contiguous().view(torch.float16).float()
    packed = blocks[..., 4:]
    whole = torch.cat([packed & 15, packed >> 4], -1).float()
    return (whole * pair[..., :1] + pair[..., 1:]).flatten(1).to(dtype)


def _norm(x: Tensor, weight: Tensor) -> Tensor:
    return F.rms_norm(x.float(), x.shape[-1:], weight.float(), EPSILON).to(x.dtype)


class LlamaReader:
    """Llama's forward pass, without gradients."""

    def __init__(self, weights: dict[str, Tensor]) -> None:
        self.w = weights
        self.layers = sum(name.endswith("attn_norm.weight") for name in weights)

    @classmethod
    def load(cls, files: Sequence[Path], device: str = "cpu") -> LlamaReader:
        weights = {}
        for file in files:
            try:
                with np.load(file, allow_pickle=False) as stored:
                    for key in stored.files:
                        name, kind = key.split(":")
                        weights[name] = _weights(stored[key], kind, device)
            except (OSError, EOFError, zipfile.BadZipFile, ValueError, RuntimeError) as error:
                raise ResourceError(
                    f"{file} holds no weights of `recipes/reader.py pack` ({error})."
                ) from None
        return cls(weights)

    @staticmethod
    def _turn(x: Tensor, position: Tensor) -> Tensor:
        """Rotary positions on neighbouring pairs, as GGUF files order them."""
        width = x.shape[-1]
        step = torch.arange(0, width, 2, device=x.device).float()
        angle = position.float()[:, None] * BASE ** (-step / width)
        cos, sin = angle.cos()[:, None], angle.sin()[:, None]
        a, b = x[..., ::2].float(), x[..., 1::2].float()
        return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2).to(x.dtype)

    @torch.no_grad()
    def __call__(self, batch: Ragged) -> Tensor:
        """log p(next piece | pieces so far), (pieces,); the last of each sequence means nothing."""
        with torch.autocast(batch.ids.device.type, enabled=False):
            x = self._states(batch)
            return log_probability(x, self.w["token_embd.weight"], batch.ids.roll(-1))

    def _states(self, batch: Ragged) -> Tensor:
        w = self.w
        x = F.embedding(batch.ids, w["token_embd.weight"])
        for i in range(self.layers):
            own = f"blk.{i}."
            h = _norm(x, w[own + "attn_norm.weight"])
            q = F.linear(h, w[own + "attn_q.weight"]).view(len(h), HEADS, -1)
            k = F.linear(h, w[own + "attn_k.weight"]).view(len(h), SHARED, -1)
            v = F.linear(h, w[own + "attn_v.weight"]).view(len(h), SHARED, -1)
            q, k = self._turn(q, batch.position), self._turn(k, batch.position)
            k, v = (y.repeat_interleave(HEADS // SHARED, 1) for y in (k, v))
            seen = attention(q, k, v, batch, causal=True).flatten(-2)
            x = x + F.linear(seen, w[own + "attn_output.weight"])
            h = _norm(x, w[own + "ffn_norm.weight"])
            gate = F.silu(F.linear(h, w[own + "ffn_gate.weight"]))
            up = F.linear(h, w[own + "ffn_up.weight"])
            x = x + F.linear(gate * up, w[own + "ffn_down.weight"])
        return _norm(x, w["output_norm.weight"])


def word_chances(log_p: Tensor, batch: Ragged, word: Tensor, words: int) -> Tensor:
    """Log-probability of each word: the sum over its pieces; log_p[i] is of piece i + 1."""
    counted = batch.position[1:] > 0
    return log_p.new_zeros(words).index_add(0, word[1:], log_p[:-1].float() * counted)


class Reading:
    """How far the student's word log-probabilities are from the reader's, real and corrupted.

    Slips are only judged this way, never learned as text.
    """

    def __init__(self, reader: Callable[[Ragged], Tensor]) -> None:
        self.reader = reader
        self._tables: tuple[Table, Table] | None = None  # the student's pieces and the reader's

    def __call__(
        self, model: Causal, corpus: ParallelCorpus, rows: Tensor, rng: torch.Generator
    ) -> Tensor:
        rows = drawn(rows, SHARE, rng)
        if self._tables is None:
            own, theirs = corpus.tables("student", BOS, EOS), corpus.tables("reader", BEGIN, BEGIN)
            self._tables = own, theirs
        source, target = corpus.padded(rows, "source"), corpus.padded(rows, "target")
        slips = corrupt(target, source, corpus.lang[rows], corpus.slips, 1, rng)[:, 0]
        slots = torch.cat(same_width([target, slips]))
        words, starts = framed(slots, self._tables[0].frame)
        (batch, word), (read, read_word) = (expand(words, starts, t) for t in self._tables)
        wanted = word_chances(self.reader(read), read, read_word, len(words)).clamp(min=-25)
        log_p = log_probability(model(batch), model.pieces.weight, batch.ids.roll(-1))
        mine = word_chances(log_p, batch, word, len(words))
        inside = torch.ones_like(words, dtype=torch.bool)
        inside[starts[:-1]] = False
        near = F.smooth_l1_loss(mine[inside], wanted[inside], beta=2.0)
        row = torch.repeat_interleave(
            torch.arange(len(slots), device=rows.device), starts.diff(), output_size=len(words)
        )
        means = [word_means(x[inside], row[inside], len(slots)) for x in (mine, wanted)]
        return near / 2 + follow(means[0], means[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parts = parser.add_subparsers(dest="part", required=True)
    for name, where in (("pack", "--out"), ("prepare", "--corpus")):
        part = parts.add_parser(name)
        part.add_argument("gguf", type=Path)
        part.add_argument(where, dest="where", type=Path, required=True)
    own = parts.add_parser("train")
    own.add_argument("--reader", type=Path, nargs="+", required=True)
    add_stage("fluency", own)
    args = parser.parse_args()
    if args.part == "train":
        reader = LlamaReader.load(args.reader, str(pick_device(args.device)))
        also = {"read": Reading(reader)}
        train.language_model(read(StudentRun, args), read(LanguageModelTraining, args), also)
    elif args.part == "pack":
        pack(args.gguf, args.where)
    else:
        prepare(args.gguf, args.where)


if __name__ == "__main__":
    main()
