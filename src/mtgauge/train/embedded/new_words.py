"""Drawn pieces as the corpus's word types; words it has never seen become new types of it.

    types, start = as_words(folder, flat_pieces, piece_start)

A word begins at each piece with the boundary mark. Known words are found by a number made of their
pieces; the rest by their text, cut again by the tokenizers, so that a word spelled from unusual
pieces is still the usual word. `types.txt.xz`, `pieces.npz` and `english.npy` of the corpus grow.
"""

from __future__ import annotations

import lzma
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor

from mtgauge.train.embedded.corpus import as_written, pack, pieces_of_types, unpack
from mtgauge.train.embedded.prepare import MARK, load_pieces, load_tokenizer, load_types
from mtgauge.train.progress import say

LONGEST = 8  # pieces of a word that tell it from others
MOST = 6  # pieces of a type, as in `build.write_pieces`


def _keys(pieces: Tensor, place: Tensor, word: Tensor, words: int) -> Tensor:
    """A number for each word that depends on its first pieces and their order."""
    mixed = np.random.default_rng(5).integers(1 << 61, 1 << 62, LONGEST) | 1
    factor = torch.from_numpy(mixed).to(pieces.device)
    here = place < LONGEST
    share = (pieces[here].long() + 1) * factor[place[here]]
    return torch.zeros(words, dtype=torch.long, device=pieces.device).index_add(
        0, word[here], share
    )


def _places(begin: Tensor) -> tuple[Tensor, Tensor]:
    """From flags of words' first pieces: the word of each piece, and its place inside."""
    word = begin.long().cumsum(0) - 1
    first = begin.nonzero()[:, 0]
    return word, torch.arange(len(begin), device=begin.device) - first[word]


def as_words(folder: Path, flat: Tensor, start: Tensor) -> tuple[Tensor, Tensor]:
    """Pieces of translations as word types, new ones for words that the corpus does not know."""
    device = flat.device
    tokenizer = load_tokenizer(folder)
    names = [tokenizer.id_to_token(i) or "" for i in range(tokenizer.get_vocab_size())]
    opens = torch.tensor([name.startswith(MARK) for name in names], device=device)
    begin = opens[flat]
    begin[start[:-1]] = True
    word, place = _places(begin)
    count = int(word[-1]) + 1
    keys = _keys(flat, place, word, count)
    sentence_start = F.pad(word[start[1:] - 1] + 1, (1, 0))
    known = _known(folder, device)
    at = torch.searchsorted(known[0], keys).clamp(max=len(known[0]) - 1)
    hit = known[0][at] == keys
    types = torch.where(hit, known[1][at], -1)
    strange, which = torch.unique(keys[~hit], return_inverse=True)
    if len(strange):
        example = torch.full((len(strange),), count, dtype=torch.long, device=device)
        missing = (~hit).nonzero()[:, 0]
        example = example.scatter_reduce(0, which, missing, "amin")
        first = begin.nonzero()[:, 0]
        ends = F.pad(first[1:], (0, 1), value=len(flat))
        a, b = first[example].cpu().numpy(), ends[example].cpu().numpy()
        pieces = flat.cpu().numpy()
        texts = ["".join(names[p] for p in pieces[i:j]) for i, j in zip(a, b, strict=True)]
        new = torch.from_numpy(_extend(folder, tokenizer, texts)).to(device)
        types[~hit] = new[which]
    return types, sentence_start


def _known(folder: Path, device: torch.device) -> tuple[Tensor, Tensor]:
    """Sorted keys of the corpus's English words, and their types."""
    english = np.load(folder / "english.npy", allow_pickle=False)
    side = load_pieces(folder, "student")
    types = np.flatnonzero((english > 0) & (side.lengths > 0))
    mine = side.take(types)
    begin = np.zeros(len(mine.flat), bool)
    begin[mine.start[:-1]] = True
    word, place = _places(torch.from_numpy(begin))
    keys = _keys(torch.from_numpy(mine.flat), place, word, len(types))
    ordered, order = keys.sort()
    return ordered.to(device), torch.from_numpy(types)[order].to(device)


def _extend(folder: Path, tokenizer: Tokenizer, texts: list[str]) -> NDArray[np.int64]:
    """Types of words by their text; the corpus's files grow by those that are new."""
    names = load_types(folder)
    number = {name: i for i, name in enumerate(names)}
    marked = [text if text.startswith(MARK) else MARK + text for text in texts]
    new = list(dict.fromkeys(text for text in marked if text not in number))
    number |= {text: len(names) + i for i, text in enumerate(new)}
    say(f"{len(new)} words that the corpus does not have")
    bare = [text.replace(MARK, " ").strip() for text in new]
    with np.load(folder / "pieces.npz", allow_pickle=False) as stored:
        arrays = {name: unpack(stored[name].tobytes()) for name in stored.files}
    made = {}
    for name in [name for name in arrays if not name.endswith("_lengths")]:
        own = name == "student"
        cutter = tokenizer if own else load_tokenizer(folder, name)
        spelt = [as_written(text) for text in bare] if name == "reader" else bare
        side = pieces_of_types(cutter, spelt, MOST)
        made[name] = np.concatenate([arrays[name], side.flat])
        made[name + "_lengths"] = np.concatenate([arrays[name + "_lengths"], side.lengths])
    packed = {name: np.frombuffer(pack(value), np.uint8) for name, value in made.items()}
    english = np.load(folder / "english.npy", allow_pickle=False)
    # all are written before any is put in its place: a killed run leaves the corpus whole
    with (folder / "pieces.part").open("wb") as handle:
        np.savez(handle, **packed)  # type: ignore[arg-type]
    with (folder / "english.part").open("wb") as handle:
        np.save(handle, np.concatenate([english, np.zeros(len(new), english.dtype)]))
    with lzma.open(folder / "types.part", "wt", encoding="utf-8", preset=0) as text_file:
        text_file.write("\n".join([*names, *new]))
    for part, whole in (("pieces", "npz"), ("english", "npy"), ("types", "txt.xz")):
        (folder / f"{part}.part").replace(folder / f"{part}.{whole}")
    return np.array([number[text] for text in marked], np.int64)
