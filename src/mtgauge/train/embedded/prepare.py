"""Parallel text and a tokenizer into the arrays that training reads: `mtgauge train prepare`.

    corpus/
      tokenizer.json   types.txt.xz        word types, the most frequent first
      LANG.npz                             packed: source, target (type numbers), lengths, origin
      lexicon.npz                          see `lexicon`
      heldout.npz                          pairs kept out of training, for retrieval

Texts of languages without spaces are stored as pieces, one type per piece, because whole runs of
characters would hardly be seen twice.
"""

from __future__ import annotations

import json
import lzma
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from mtgauge.encode.ragged import offsets_of
from mtgauge.errors import ResourceError
from mtgauge.train.embedded.corpus import IntArray, Side, pack, read_pairs, split_words, unpack

UNSPACED = frozenset({"zh", "ja", "th"})
MARK = "▁"


@dataclass(frozen=True)
class Pairs:
    """Texts of one language pair as type numbers; `origin[i]` indexes `origins`."""

    source: Side
    target: Side
    origin: NDArray[np.int16]
    origins: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.source)


class _Vocabulary:
    """Numbers for strings, in order of appearance, with counts."""

    def __init__(self) -> None:
        self.number: dict[str, int] = {}

    def __call__(self, words: Iterable[str]) -> list[int]:
        number = self.number
        return [number.setdefault(word, len(number)) for word in words]


def marked_words(tokenizer: Tokenizer, text: str, unspaced: bool) -> list[str]:
    """Words with their boundary mark; for unspaced text the pieces themselves."""
    if unspaced:
        return list(tokenizer.encode(text, add_special_tokens=False).tokens)
    return [MARK + word for word in split_words(text)]


def _language(job: tuple[str, str, list[str], int, dict[str, int]]) -> tuple[str, list[str], Pairs]:
    lang, tokenizer_file, files, longest, caps = job
    tokenizer = Tokenizer.from_file(tokenizer_file)
    vocabulary, origins = _Vocabulary(), dict[str, int]()
    sides = (array("i"), array("i"))
    lengths = (array("i"), array("i"))
    origin, taken = array("h"), dict[str, int]()
    for file in files:
        for foreign, english, tag in read_pairs(Path(file)):
            taken[tag] = taken.get(tag, 0) + 1
            if taken[tag] > caps.get(tag, 1 << 40):
                continue
            rows = (
                vocabulary(marked_words(tokenizer, foreign, lang in UNSPACED)),
                vocabulary(marked_words(tokenizer, english, False)),
            )
            if not all(2 <= len(row) <= longest for row in rows):
                continue
            for side, length, row in zip(sides, lengths, rows, strict=True):
                side.extend(row)
                length.append(len(row))
            origin.append(origins.setdefault(tag, len(origins)))
    made = [
        Side(np.array(flat, np.int32), offsets_of(n))
        for flat, n in zip(sides, lengths, strict=True)
    ]
    pairs = Pairs(made[0], made[1], np.array(origin, np.int16), tuple(origins))
    return lang, list(vocabulary.number), pairs


def prepare(
    files: dict[str, list[Path]],
    tokenizer_file: Path,
    out: Path,
    *,
    longest: int = 60,
    heldout: int = 1000,
    cap: Mapping[str, int] | None = None,
    workers: int = 2,
    seed: int = 1,
) -> None:
    """Read all pairs of `files` (language -> files), number the words, keep some out, write.

    Of an origin that `cap` names each language has at most as many pairs.
    """
    out.mkdir(parents=True, exist_ok=True)
    jobs = [
        (lang, str(tokenizer_file), [str(f) for f in names], longest, dict(cap or {}))
        for lang, names in files.items()
    ]
    with get_context("spawn").Pool(workers) as pool:
        done = pool.map(_language, jobs, chunksize=1)
    number, counts = _merge(done)
    rng = np.random.default_rng(seed)
    kept_out: dict[str, bytes] = {}
    for lang, types, pairs in done:
        # words of pairs that were left out have no number and no place
        table = np.array([number.get(word, 0) for word in types], np.int32)
        pairs = Pairs(
            Side(table[pairs.source.flat], pairs.source.start),
            Side(table[pairs.target.flat], pairs.target.start),
            pairs.origin,
            pairs.origins,
        )
        order = rng.permutation(len(pairs))
        few = min(heldout, len(pairs) // 10)
        kept_out |= _packed(pairs, np.sort(order[:few]), prefix=f"{lang}.")
        _write(out / f"{lang}.npz", _packed(pairs, np.sort(order[few:])))
    _write(out / "heldout.npz", kept_out)
    names = sorted(number, key=number.__getitem__)
    with lzma.open(out / "types.txt.xz", "wt", encoding="utf-8", preset=6) as handle:
        handle.write("\n".join(names))
    np.save(out / "english.npy", counts.astype(np.int32))


def _merge(done: list[tuple[str, list[str], Pairs]]) -> tuple[dict[str, int], IntArray]:
    """Type -> number by falling frequency; and how often each type stands on the target side."""
    total: dict[str, int] = {}
    english: dict[str, int] = {}
    for _, types, pairs in done:
        for side, book in ((pairs.source, total), (pairs.target, total), (pairs.target, english)):
            counts = np.bincount(side.flat, minlength=len(types))
            for i in np.flatnonzero(counts):
                book[types[i]] = book.get(types[i], 0) + int(counts[i])
    names = sorted(total, key=lambda word: (-total[word], word))
    number = {word: i for i, word in enumerate(names)}
    return number, np.array([english.get(word, 0) for word in names], np.int32)


def _packed(pairs: Pairs, rows: NDArray[np.int64], prefix: str = "") -> dict[str, bytes]:
    source, target = pairs.source.take(rows), pairs.target.take(rows)
    return {
        prefix + "source": pack(source.flat),
        prefix + "source_lengths": pack(source.lengths),
        prefix + "target": pack(target.flat),
        prefix + "target_lengths": pack(target.lengths),
        prefix + "origin": pack(pairs.origin[rows]),
        prefix + "origins": json.dumps(pairs.origins).encode(),
    }


def _write(path: Path, blobs: dict[str, bytes]) -> None:
    arrays = {key: np.frombuffer(blob, np.uint8) for key, blob in blobs.items()}
    np.savez(path, **arrays)  # type: ignore[arg-type]


def _side(flat: bytes, lengths: bytes) -> Side:
    return Side(unpack(flat), offsets_of(unpack(lengths).astype(np.int64)))


def load_pairs(path: Path, prefix: str = "") -> Pairs:
    """One language of a prepared corpus, or of its held-out part (`prefix="de."`)."""
    with np.load(path, allow_pickle=False) as stored:
        blob = {
            key: stored[prefix + key].tobytes()
            for key in (
                "source", "source_lengths", "target", "target_lengths", "origin", "origins",
            )
        }  # fmt: skip
    source, target = (_side(blob[name], blob[name + "_lengths"]) for name in ("source", "target"))
    origin = unpack(blob["origin"]).astype(np.int16)
    return Pairs(source, target, origin, tuple(json.loads(blob["origins"])))


def load_pieces(folder: Path, name: str) -> Side:
    """Type -> pieces of a vocabulary (`student`, `teacher`, `reader`)."""
    with np.load(folder / "pieces.npz", allow_pickle=False) as stored:
        if name not in stored:
            how = {
                "teacher": "prepare it with --teacher-tokenizer",
                "reader": "recipes/reader.py adds them",
            }
            raise ResourceError(f"{folder} has no pieces for the {name}: {how.get(name, name)}.")
        return _side(stored[name].tobytes(), stored[name + "_lengths"].tobytes())


def load_shares(folder: Path) -> dict[str, dict[str, float]]:
    """How often languages and origins are drawn, where the corpus says so."""
    file = folder / "shares.json"
    return {"languages": {}, "origins": {}} | (
        json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    )


def load_tokenizer(folder: Path, name: str = "tokenizer") -> Tokenizer:
    """A tokenizer of a prepared corpus: its own, or its `teacher`'s."""
    file = folder / f"{name}.json"
    if not file.is_file():
        how = " --teacher-tokenizer" if name == "teacher" else ""
        raise ResourceError(f"{file} is not there: `mtgauge train prepare{how}` makes it.")
    return Tokenizer.from_file(str(file))


def load_types(folder: Path) -> list[str]:
    with lzma.open(folder / "types.txt.xz", "rt", encoding="utf-8", newline="\n") as handle:
        return handle.read().split("\n")
