"""All of `mtgauge train prepare`: tokenizer, arrays, lexicon, piece tables and the warm start.

    build(Path("parallel"), Path("corpus"), parent=Path("minilm"), teacher_tokenizer=Path("t.json"))

Each part is left alone where its file is already there, so an interrupted build goes on.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from tokenizers import Tokenizer

from mtgauge.errors import InputError
from mtgauge.train.embedded.corpus import (
    Side,
    as_written,
    pack,
    pieces_of_types,
    read_pairs,
    train_tokenizer,
)
from mtgauge.train.embedded.lexicon import Translations, confusions, learn
from mtgauge.train.embedded.prepare import MARK, load_pairs, load_pieces, load_types, prepare
from mtgauge.train.loop.descend import say

INTERFACE = frozenset({"firefox-l10n", "calibre", "gimp-help", "gnome-user-docs", "python-docs"})


def _say(part: str) -> None:
    say(f"{time.strftime('%H:%M:%S')} {part}")


def sample_lines(files: list[Path], per_language: int, seed: int = 1) -> Iterator[str]:
    """Lines to learn pieces from: as many of each language, less of menus, English throughout."""
    rng = random.Random(seed)
    for file in files:
        taken = 0
        for foreign, english, tag in read_pairs(file):
            if tag in INTERFACE and rng.random() < 0.6:
                continue
            yield foreign
            taken += 1
            if taken % 3 == 0 or tag.startswith("newstest"):
                yield english
            if taken >= per_language:
                break


def build(
    parallel: Path,
    out: Path,
    *,
    extra: list[Path] | None = None,
    tokenizer_file: Path | None = None,
    pieces: int = 48_000,
    parent: Path | None = None,
    teacher_tokenizer: Path | None = None,
    reader: Path | None = None,
    longest: int = 60,
    most: int = 0,
    workers: int = 2,
) -> None:
    files: dict[str, list[Path]] = {}
    for file in [*sorted(parallel.glob("??-en.tsv*")), *(extra or [])]:
        files.setdefault(file.name[:2], []).append(file)
    if not files:
        raise InputError(
            "no parallel text here",
            file=str(parallel),
            remedy="put files named XX-en.tsv there (.gz, .xz or .zst too), XX being a language",
        )
    out.mkdir(parents=True, exist_ok=True)
    own = out / "tokenizer.json"
    if tokenizer_file is not None:
        own.write_bytes(tokenizer_file.read_bytes())
    if not own.exists():
        _say("tokenizer")
        lines = sample_lines([f for names in files.values() for f in names], 30_000)
        train_tokenizer(lines, pieces).save(str(own))
    if not (out / "english.npy").exists():
        _say("words")
        caps = {lang: dict.fromkeys(("europarl", "tatoeba"), most) for lang in files if most}
        prepare(files, own, out, longest=longest, caps=caps, workers=workers)
    langs = sorted(p.stem for p in out.glob("??.npz"))
    if not (out / "lexicon.npz").exists():
        _say("lexicon")
        write_lexicon(out, langs, workers)
    if not (out / "pieces.npz").exists():
        _say("pieces")
        if teacher_tokenizer is not None:
            teacher = Tokenizer.from_file(str(teacher_tokenizer))
            teacher.no_padding()
            teacher.no_truncation()
            teacher.save(str(out / "teacher.json"))
        write_pieces(out)
        if reader is not None:
            add_reader(out, reader)
    if parent is not None and not (out / "warm.npz").exists():
        _say("warm start")
        write_warm_start(out, langs, parent)
    _say("done")


def _learn(job: tuple[Path, str, int]) -> Translations:
    folder, lang, types = job
    return learn(load_pairs(folder / f"{lang}.npz"), types)


def write_lexicon(out: Path, langs: list[str], workers: int) -> None:
    types = len(np.load(out / "english.npy", allow_pickle=False))
    with get_context("spawn").Pool(workers) as pool:
        tables = pool.map(_learn, [(out, lang, types) for lang in langs], chunksize=1)
    words, others = confusions(tables, types)
    arrays: dict[str, NDArray[np.generic]] = {
        "confusion_words": words, "confusion_others": others,
    }  # fmt: skip
    for lang, table in zip(langs, tables, strict=True):
        arrays[f"{lang}.word"] = table.word
        arrays[f"{lang}.english"] = table.english
        arrays[f"{lang}.share"] = np.round(table.share * 255).astype(np.uint8)
        mass = np.asarray(table.counts.sum(1)).ravel()[table.word]
        arrays[f"{lang}.mass"] = mass.astype(np.float32)
    np.savez_compressed(out / "lexicon.npz", **arrays)  # type: ignore[arg-type]


def _marked(tokenizer: Tokenizer, types: list[str]) -> Side:
    """Pieces of types: of a word as the tokenizer cuts it, of a bare piece itself."""
    whole = pieces_of_types(tokenizer, [t[1:] if t.startswith(MARK) else "" for t in types], 6)
    rows = [
        whole.row(i).tolist() if t.startswith(MARK) else [tokenizer.token_to_id(t) or 0]
        for i, t in enumerate(types)
    ]
    return Side.of(rows)


def add_reader(out: Path, gguf_file: Path) -> None:
    """Pieces of every type in the vocabulary of the language model's teacher, into pieces.npz."""
    from mtgauge.train.embedded.reader import tokenizer

    types = [as_written(t.removeprefix(MARK)) for t in load_types(out)]
    theirs = tokenizer(gguf_file)
    theirs.save(str(out / "reader.json"))
    side = pieces_of_types(theirs, types, 8)
    with np.load(out / "pieces.npz", allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    arrays["reader"] = np.frombuffer(pack(side.flat), np.uint8)
    arrays["reader_lengths"] = np.frombuffer(pack(side.lengths), np.uint8)
    np.savez(out / "pieces.npz", **arrays)


def write_pieces(out: Path) -> None:
    types = load_types(out)
    sides = {"student": _marked(Tokenizer.from_file(str(out / "tokenizer.json")), types)}
    if (out / "teacher.json").exists():
        teacher = Tokenizer.from_file(str(out / "teacher.json"))
        sides["teacher"] = pieces_of_types(teacher, [t.removeprefix(MARK) for t in types], 6)
    arrays = {}
    for name, side in sides.items():
        arrays[name] = np.frombuffer(pack(side.flat), np.uint8)
        arrays[name + "_lengths"] = np.frombuffer(pack(side.lengths), np.uint8)
    np.savez(out / "pieces.npz", **arrays)  # type: ignore[arg-type]


def write_warm_start(out: Path, langs: list[str], parent: Path) -> None:
    from safetensors.torch import load_file

    from mtgauge.train.embedded.teacher import quantise_rows
    from mtgauge.train.embedded.warm import piece_table, warm_start
    from mtgauge.train.nets.transformer import Shape

    weights = load_file(parent / "model.safetensors")
    english = np.load(out / "english.npy", allow_pickle=False)
    types = load_types(out)
    theirs = Tokenizer.from_file(str(parent / "tokenizer.json"))
    theirs.no_padding()
    theirs.no_truncation()
    parent_pieces = pieces_of_types(theirs, [t.removeprefix(MARK) for t in types], 6)
    words = weights["embeddings.word_embeddings.weight"].float().numpy()
    own = Tokenizer.from_file(str(out / "tokenizer.json"))
    table = piece_table(
        words, load_pieces(out, "student"), parent_pieces, english, _tables(out, langs, len(types)),
        own.get_vocab_size(),
    )  # fmt: skip
    layers = sum(name.endswith("intermediate.dense.weight") for name in weights)
    shape = Shape(own.get_vocab_size(), words.shape[1], layers, 12, 4 * words.shape[1])
    special = {k: theirs.token_to_id(f"[{k.upper()}]") or 0 for k in ("cls", "sep", "mask")}
    made = warm_start(weights, shape, table, special)
    rows = quantise_rows({name: value.numpy() for name, value in made.items()})
    np.savez(out / "warm.npz", **rows)  # type: ignore[arg-type]


def _tables(out: Path, langs: list[str], types: int) -> list[Translations]:
    """The lexicon as `warm` wants it: the counts stand in one column, only their sums matter."""
    tables = []
    with np.load(out / "lexicon.npz", allow_pickle=False) as stored:
        for lang in langs:
            word, mass = stored[f"{lang}.word"], stored[f"{lang}.mass"]
            counts = sparse.csr_matrix(
                (mass, (word, np.zeros(len(word), np.int64))), shape=(types, types)
            )
            share = stored[f"{lang}.share"].astype(np.float32) / 255
            tables.append(Translations(word, stored[f"{lang}.english"], share, counts))
    return tables
