"""The encoder's warm start: a BERT-like English parent's body, and piece vectors of the parent's.

    python recipes/warm_start.py --corpus CORPUS --parent MINILM       # writes CORPUS/warm.npz
    mtgauge train encoder --corpus CORPUS --start CORPUS/warm.npz ...

MINILM is a folder with model.safetensors and tokenizer.json; for the package's encoder that was
all-MiniLM-L6-v2 (Apache-2.0).

Every word type has a vector in the parent's table: an English word the mean of its pieces there, a
foreign word that of its likeliest translations (`lexicon`). A piece of ours takes the weighted mean
of the types it occurs in, whole words counting most, scaled to the parent's usual length.

Limits: parents with BERT's names (MiniLM), the same width and at least as many layers.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor

from mtgauge.encode.transformer import Shape
from mtgauge.train.embedded.corpus import BOS, EOS, MASK, SEP, Side, pieces_of_types
from mtgauge.train.embedded.prepare import MARK, load_pieces, load_tokenizer, load_types
from mtgauge.train.nets.weights import quantise_rows

Float = NDArray[np.float32]


class Words(NamedTuple):
    """Foreign words of one language: their likeliest translations, and how often they were seen."""

    word: NDArray[np.int32]
    english: NDArray[np.int32]
    share: Float
    mass: Float


def parent_vectors(table: Float, pieces: Side) -> Float:
    """Mean parent vector of each type."""
    count = np.maximum(pieces.lengths, 1)
    owner = np.repeat(np.arange(len(pieces)), pieces.lengths)
    out = np.zeros((len(pieces), table.shape[1]), np.float32)
    for begin in range(0, len(owner), 1 << 20):
        part = slice(begin, begin + (1 << 20))
        np.add.at(out, owner[part], table[pieces.flat[part]])
    return np.asarray(out / count[:, None], dtype=np.float32)


def piece_table(
    parent: Float,
    pieces: Side,
    parent_pieces: Side,
    english: NDArray[np.int32],
    tables: list[Words],
    vocabulary: int,
    seed: int = 1,
) -> Float:
    """Our piece vectors from the parent's, (vocabulary, dim)."""
    usual = float(np.linalg.norm(parent, axis=1).mean())
    known = np.flatnonzero(english > 0)
    vectors = np.zeros((len(pieces), parent.shape[1]), np.float32)
    vectors[known] = parent_vectors(parent, parent_pieces.take(known))
    total = np.zeros((vocabulary, parent.shape[1]), np.float64)
    weight = np.zeros(vocabulary)
    _add(total, weight, pieces, known, vectors[known], english[known].astype(np.float64))
    for table in tables:
        meant = np.einsum("nk,nkd->nd", table.share, vectors[table.english])
        _add(total, weight, pieces, table.word, meant, np.asarray(table.mass * 3.0, np.float64))
    seen = weight > 0
    noise = np.random.default_rng(seed).normal(0, 1, total.shape)
    mean = parent.mean(0)
    out = mean + noise * parent.std(0)
    out[seen] = total[seen] / weight[seen][:, None] + 0.1 * noise[seen] * parent.std(0)
    out *= usual / np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-6)
    return np.asarray(out, dtype=np.float32)


def _add(
    total: NDArray[np.float64], weight: NDArray[np.float64], pieces: Side,
    types: NDArray[np.generic], vectors: Float, mass: NDArray[np.float64],
) -> None:  # fmt: skip
    """Spread each type's vector over its pieces: mass^.75 / pieces^2 each."""
    mine = pieces.take(types.astype(np.int64))
    each = mass**0.75 / np.maximum(mine.lengths, 1) ** 2
    owner = np.repeat(np.arange(len(mine)), mine.lengths)
    np.add.at(weight, mine.flat, each[owner])
    for begin in range(0, len(owner), 1 << 18):
        part = slice(begin, begin + (1 << 18))
        np.add.at(total, mine.flat[part], vectors[owner[part]] * each[owner[part], None])


def warm_start(parent: dict[str, Tensor], shape: Shape, table: Float, special: dict[str, int]) -> (
    dict[str, Tensor]
):  # fmt: skip
    """State of an `Encoder` from a BERT-like parent; `special` maps cls, sep, mask to its ids."""
    words = parent["embeddings.word_embeddings.weight"].float()
    pieces = torch.from_numpy(table.copy())
    for number, name in ((BOS, "cls"), (EOS, "sep"), (SEP, "sep"), (MASK, "mask")):
        pieces[number] = words[special[name]]
    positions = parent["embeddings.position_embeddings.weight"][: shape.positions].float()
    kind = parent["embeddings.token_type_embeddings.weight"][0].float()
    out = {"pieces.weight": pieces, "positions.weight": positions + kind}
    for end in ("weight", "bias"):
        out[f"norm.{end}"] = parent[f"embeddings.LayerNorm.{end}"].float()
    for i in range(shape.layers):
        theirs, mine = f"encoder.layer.{i}.", f"blocks.{i}."
        for end in ("weight", "bias"):
            parts = [parent[f"{theirs}attention.self.{n}.{end}"] for n in ("query", "key", "value")]
            out[f"{mine}qkv.{end}"] = torch.cat(parts).float()
            for part, name in (
                ("out", "attention.output.dense"), ("norm1", "attention.output.LayerNorm"),
                ("up", "intermediate.dense"), ("down", "output.dense"),
                ("norm2", "output.LayerNorm"),
            ):  # fmt: skip
                out[f"{mine}{part}.{end}"] = parent[f"{theirs}{name}.{end}"].float()
    return out


def read_words(corpus: Path) -> list[Words]:
    """The lexicon of every language of a prepared corpus."""
    with np.load(corpus / "lexicon.npz", allow_pickle=False) as stored:
        langs = sorted(name.split(".")[0] for name in stored.files if name.endswith(".word"))
        return [
            Words(
                stored[f"{lang}.word"],
                stored[f"{lang}.english"],
                stored[f"{lang}.share"].astype(np.float32) / 255,
                stored[f"{lang}.mass"],
            )
            for lang in langs
        ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--parent", type=Path, required=True)
    args = parser.parse_args()
    weights = load_file(args.parent / "model.safetensors")
    english = np.load(args.corpus / "english.npy", allow_pickle=False)
    theirs = Tokenizer.from_file(str(args.parent / "tokenizer.json"))
    theirs.no_padding()
    theirs.no_truncation()
    types = [t.removeprefix(MARK) for t in load_types(args.corpus)]
    words = weights["embeddings.word_embeddings.weight"].float().numpy()
    vocabulary = load_tokenizer(args.corpus).get_vocab_size()
    table = piece_table(
        words,
        load_pieces(args.corpus, "student"),
        pieces_of_types(theirs, types, 6),
        english,
        read_words(args.corpus),
        vocabulary,
    )
    layers = sum(name.endswith("intermediate.dense.weight") for name in weights)
    shape = Shape(vocabulary, words.shape[1], layers, 12, 4 * words.shape[1])
    special = {k: theirs.token_to_id(f"[{k.upper()}]") or 0 for k in ("cls", "sep", "mask")}
    made = warm_start(weights, shape, table, special)
    rows = quantise_rows({name: value.numpy() for name, value in made.items()})
    np.savez(args.corpus / "warm.npz", **rows)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
