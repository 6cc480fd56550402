"""The shipped word vectors: compact static vectors from plain text, by PPMI and a truncated SVD.

    python recipes/word_vectors.py --pairs de-en.tsv.zst fr-en.tsv.zst --side en --out DIR

    C_wc   co-occurrences within `window` words, each worth 1 / distance
    M_wc = max(0, log(C_wc total / (C_w. C_.c^0.75)))        context counts smoothed
    M ~ U S V^T  (rank r),   vector of w = d columns of U S^power, the first one left out

Files are tab-separated parallel text (foreign, English, origin), .zst allowed. Each distinct
sentence counts once. Words are lower-cased and cut by the tokeniser of the language, so that STD
finds what it cuts; Chinese and Japanese words are found with jieba or longest match at scoring.

Limits: one pass over the text in memory (40 million words need about 3 GB); a million sentences of
mixed text give vectors far below fastText's of a web crawl.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import eigsh

from mtgauge.encode.words.store import write_store
from mtgauge.text.words import Tokenizer, name_for_language, tokenizer
from mtgauge.train.embedded.corpus import read_pairs
from select_text import WEIGHT


@dataclass(frozen=True)
class VectorSettings:
    size: int = 30_000  # words, and contexts, that are counted
    keep: int = 16_000  # words, the most frequent, that get a vector
    rank: int = 160
    dimensions: int = 144
    power: float = 0.0
    window: int = 5
    smoothing: float = 0.75
    least_count: int = 5


def count_words(
    texts: Iterable[str], tokenize: Tokenizer, settings: VectorSettings
) -> tuple[list[str], NDArray[np.int32]]:
    """The most frequent words, and all texts as word numbers (-1: rare word or end of text)."""
    numbers: dict[str, int] = {}
    counts: Counter[int] = Counter()
    pieces: list[NDArray[np.int32]] = []
    gap = np.full(settings.window, -1, dtype=np.int32)
    for text in texts:
        row = np.array(
            [numbers.setdefault(w, len(numbers)) for w in tokenize(text)], dtype=np.int32
        )
        counts.update(row.tolist())
        pieces += [row, gap]
    kept = [(i, n) for i, n in counts.most_common(settings.size) if n >= settings.least_count]
    renumber = np.full(len(numbers) + 1, -1, dtype=np.int32)
    renumber[[i for i, _ in kept]] = np.arange(len(kept))
    names = list(numbers)
    return [names[i] for i, _ in kept], renumber[np.concatenate(pieces)]


def cooccurrence(stream: NDArray[np.int32], size: int, window: int) -> sparse.csr_matrix:
    """Symmetric counts within `window` words, each worth 1 / distance."""
    none = np.empty(0, dtype=np.int32)
    total = sparse.coo_matrix((none.astype(np.float32), (none, none)), shape=(size, size)).tocsr()
    block = 4_000_000
    for start in range(0, len(stream), block):
        part = stream[start : start + block + window]
        for distance in range(1, window + 1):
            end = min(block, len(part) - distance)
            left, right = part[:end], part[distance : distance + end]
            both = (left >= 0) & (right >= 0)
            value = np.full(int(both.sum()), 1.0 / distance, dtype=np.float32)
            total = (
                total
                + sparse.coo_matrix((value, (left[both], right[both])), shape=(size, size)).tocsr()
            )
    return (total + total.T).tocsr()


def train(
    texts: Iterable[str], tokenize: Tokenizer, settings: VectorSettings
) -> tuple[list[str], NDArray[np.float32]]:
    """Words, most frequent first, and their vectors (words, d)."""
    words, stream = count_words(texts, tokenize, settings)
    counts = cooccurrence(stream, len(words), settings.window).tocoo()
    by_word = np.bincount(counts.row, counts.data, len(words))
    context = by_word**settings.smoothing
    expected = by_word[counts.row] * context[counts.col] / context.sum()
    association = np.log(counts.data / expected).astype(np.float32)
    positive = association > 0
    matrix = sparse.csr_matrix(
        (association[positive], (counts.row[positive], counts.col[positive])),
        shape=(len(words), len(words)),
    )
    # singular vectors by the eigenvectors of M M^T: M itself is not quite symmetric
    values, left = eigsh(
        sparse.linalg.LinearOperator(
            matrix.shape, matvec=lambda x: matrix @ (matrix.T @ x), dtype=np.float32
        ),
        k=min(settings.rank, len(words) - 1),
        v0=np.ones(len(words), dtype=np.float32),
        tol=1e-3,
    )
    # the first singular vector holds how frequent a word is, not what it means
    order = np.argsort(values)[::-1][1 : settings.dimensions + 1]
    singular = np.sqrt(np.maximum(values[order], 0))
    vectors = left[: settings.keep, order] * singular**settings.power
    return words[: settings.keep], vectors.astype(np.float32)


def sentences(files: Iterable[Path], side: str, free: bool = False) -> Iterable[str]:
    """Distinct lower-cased sentences of one side of parallel files named XX-en.*; `free`: only of
    origins that select_text.py knows as free to use."""
    seen: set[int] = set()
    for file in files:
        for foreign, english, origin in read_pairs(file):
            if free and origin not in WEIGHT:
                continue
            text = (english if side == "en" else foreign).lower()
            key = hash(text)
            if key not in seen:
                seen.add(key)
                yield text


def tokenizer_of(lang: str) -> Tokenizer:
    return tokenizer("jieba" if lang == "zh" else name_for_language(lang))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0] if __doc__ else "")
    parser.add_argument("--pairs", nargs="+", type=Path, required=True, metavar="FILE")
    parser.add_argument("--side", required=True, help="language code: en, or that of the files")
    parser.add_argument("--free", action="store_true", help="leave out text that is not free")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    for field in dataclasses.fields(VectorSettings):
        kind = type(field.default)
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=kind, default=field.default)
    parser.add_argument("--dtype", choices=("float16", "int8"), default="int8")
    args = parser.parse_args()
    settings = VectorSettings(
        **{f.name: getattr(args, f.name) for f in dataclasses.fields(VectorSettings)}
    )
    texts = sentences(args.pairs, args.side, args.free)
    words, vectors = train(texts, tokenizer_of(args.side), settings)
    origin = f"PPMI-SVD on {args.side} of {', '.join(file.name for file in args.pairs)}"
    store = write_store(args.out, words, vectors, dtype=args.dtype, origin=origin)
    print(json.dumps(store.header, ensure_ascii=False))


if __name__ == "__main__":
    main()
