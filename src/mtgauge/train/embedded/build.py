"""All of `mtgauge train prepare`: tokenizer, arrays, lexicon and piece tables.

    build(CorpusPreparation(parallel=Path("parallel"), out=Path("corpus")))

Each part is left alone where its file is already there, so an interrupted build goes on.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from mtgauge.errors import InputError
from mtgauge.train.embedded.corpus import (
    Side,
    pack,
    pieces_of_types,
    read_pairs,
    train_tokenizer,
)
from mtgauge.train.embedded.lexicon import Translations, confusions, learn
from mtgauge.train.embedded.prepare import MARK, load_pairs, load_tokenizer, load_types, prepare
from mtgauge.train.progress import say
from mtgauge.train.settings import CorpusPreparation

PER_LANGUAGE = 30_000  # lines from which the pieces of a language are learned


def build(settings: CorpusPreparation) -> None:
    """Make what is missing in `settings.out`."""
    out = settings.out
    files = _files(settings)
    out.mkdir(parents=True, exist_ok=True)
    if settings.shares is not None:
        (out / "shares.json").write_bytes(settings.shares.read_bytes())
    own = out / "tokenizer.json"
    if settings.tokenizer is not None:
        own.write_bytes(settings.tokenizer.read_bytes())
    if not own.exists():
        _begin("tokenizer")
        train_tokenizer(_lines(files), settings.pieces).save(str(own))
    if not (out / "english.npy").exists():
        _begin("words")
        prepare(files, own, out, longest=settings.longest, cap=settings.cap,
                workers=settings.workers)  # fmt: skip
    if not (out / "lexicon.npz").exists():
        _begin("lexicon")
        write_lexicon(out, sorted(p.stem for p in out.glob("??.npz")), settings.workers)
    if not (out / "pieces.npz").exists():
        _begin("pieces")
        write_pieces(out, settings.teacher_tokenizer)
    _begin("done")


def _begin(part: str) -> None:
    say(f"{time.strftime('%H:%M:%S')} {part}")


def _files(settings: CorpusPreparation) -> dict[str, list[Path]]:
    """Files of parallel text by language."""
    files: dict[str, list[Path]] = {}
    for file in [*sorted(settings.parallel.glob("??-en.tsv*")), *settings.extra]:
        files.setdefault(file.name[:2], []).append(file)
    if not files:
        raise InputError(
            "no parallel text here",
            file=str(settings.parallel),
            remedy="put files named XX-en.tsv there (.gz, .xz or .zst too), XX being a language",
        )
    return files


def _lines(files: dict[str, list[Path]]) -> Iterator[str]:
    """Lines to learn pieces from: as many of each file, English with every third."""
    for file in (f for names in files.values() for f in names):
        for taken, (foreign, english, _) in enumerate(read_pairs(file), 1):
            yield foreign
            if taken % 3 == 0:
                yield english
            if taken >= PER_LANGUAGE:
                break


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


def packed_pieces(name: str, side: Side) -> dict[str, NDArray[np.uint8]]:
    """Entries of pieces.npz for one vocabulary."""
    return {
        name: np.frombuffer(pack(side.flat), np.uint8),
        name + "_lengths": np.frombuffer(pack(side.lengths), np.uint8),
    }


def write_pieces(out: Path, teacher_tokenizer: Path | None) -> None:
    """Pieces of every type in the vocabularies of the student and of its teacher."""
    types = load_types(out)
    sides = {"student": _marked(load_tokenizer(out), types)}
    if teacher_tokenizer is not None:
        teacher = Tokenizer.from_file(str(teacher_tokenizer))
        teacher.no_padding()
        teacher.no_truncation()
        teacher.save(str(out / "teacher.json"))
        sides["teacher"] = pieces_of_types(teacher, [t.removeprefix(MARK) for t in types], 6)
    arrays: dict[str, NDArray[np.uint8]] = {}
    for name, side in sides.items():
        arrays |= packed_pieces(name, side)
    np.savez(out / "pieces.npz", **arrays)  # type: ignore[arg-type]
