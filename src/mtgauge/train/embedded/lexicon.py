"""Word translation tables learned from the parallel text itself: IBM model 1, both directions.

    t(f | e)  <-  sum over sentence pairs of  t(f | e) / sum_e' t(f | e')       (and f, e swapped)

The expected counts of the two directions are joined by their geometric mean, which removes the rare
words that one direction alone fastens on everything. From the tables come

    translations   the likeliest English words of a foreign word (word-by-word output, warm start)
    confusions     English words that share a translation: e -> f -> e', the slips of a translator

    table = learn(pairs)                       # Translations: word, english (n, 4), share (n, 4)

Limits: a cap on the word pairs looked at (`most`) keeps a language within seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mtgauge.train.embedded.corpus import IntArray, Side
from mtgauge.train.embedded.prepare import Pairs

KEPT = 4  # translations kept of a word


@dataclass(frozen=True)
class Translations:
    """`english[i, k]` is the k-th likeliest translation of `word[i]`, with `share[i, k]`."""

    word: IntArray
    english: IntArray
    share: NDArray[np.float32]
    counts: sparse.csr_matrix  # (types, types) expected counts foreign x English


def learn(
    pairs: Pairs, types: int, *, most: int = 6_000_000, longest: int = 28, rounds: int = 4,
    seed: int = 1,
) -> Translations:  # fmt: skip
    source, target = _choose(pairs, most, longest, seed)
    key_f, group_f, key_e, group_e = _cross(source, target)
    keys, inverse = np.unique(key_f * types + key_e, return_inverse=True)
    f, e = (keys // types).astype(np.int64), (keys % types).astype(np.int64)
    forward = _expected(inverse, e, group_f, rounds, types)
    backward = _expected(inverse, f, group_e, rounds, types)
    joint = np.sqrt(forward * backward)
    keep = joint > 0.3
    counts = sparse.csr_matrix((joint[keep], (f[keep], e[keep])), shape=(types, types))
    return _best(counts)


def _choose(pairs: Pairs, most: int, longest: int, seed: int) -> tuple[Side, Side]:
    """Random pairs of moderate length until their word pairs number `most`."""
    n, m = pairs.source.lengths, pairs.target.lengths
    order = np.random.default_rng(seed).permutation(len(pairs))
    order = order[(n[order] <= longest) & (m[order] <= longest)]
    order = order[np.cumsum(n[order] * m[order]) <= most]
    return pairs.source.take(order), pairs.target.take(order)


def _cross(source: Side, target: Side) -> tuple[NDArray[np.int64], ...]:
    """All word pairs of each sentence pair, and which foreign and English token each belongs to."""
    n, m = source.lengths, target.lengths
    per_token = np.repeat(m, n)
    token_f = np.repeat(np.arange(len(source.flat)), per_token)
    first = np.repeat(np.repeat(target.start[:-1], n), per_token)
    begun = np.concatenate([[0], np.cumsum(per_token)])[:-1]
    token_e = first + np.arange(len(token_f)) - np.repeat(begun, per_token)
    found = source.flat[token_f], token_f, target.flat[token_e], token_e
    return tuple(x.astype(np.int64) for x in found)


def _expected(
    inverse: NDArray[np.int64],
    given: NDArray[np.int64],
    group: NDArray[np.int64],
    rounds: int,
    types: int,
) -> NDArray[np.float64]:
    """Expected counts per distinct word pair after `rounds` of EM for t(. | given)."""
    chance: NDArray[np.float64] = np.ones(len(given))
    counts: NDArray[Any] = chance
    for _ in range(rounds):
        entry = chance[inverse]
        # 1e-3 is the empty word: it takes what nothing explains
        total = np.bincount(group, entry) + 1e-3
        counts = np.bincount(inverse, entry / total[group], minlength=len(given))
        norm = np.bincount(given, counts, minlength=types)
        chance = counts / norm[given]
    return np.asarray(counts, dtype=np.float64)


def _best(counts: sparse.csr_matrix) -> Translations:
    """The `KEPT` largest entries of each non-empty row."""
    filled = np.flatnonzero(np.diff(counts.indptr))
    english = np.zeros((len(filled), KEPT), np.int32)
    share = np.zeros((len(filled), KEPT), np.float32)
    for i, row in enumerate(filled):
        part = slice(counts.indptr[row], counts.indptr[row + 1])
        value, column = counts.data[part], counts.indices[part]
        top = np.argsort(-value)[:KEPT]
        english[i, : len(top)] = column[top]
        share[i, : len(top)] = value[top] / value.sum()
    return Translations(filled.astype(np.int32), english, share, counts)


def confusions(tables: list[Translations], types: int, kept: int = 8) -> tuple[IntArray, IntArray]:
    """(words, others): for each English word up to `kept` others that share its translations.

    Rows are drawn from uniformly, so a likely neighbour is repeated where there are fewer.
    """
    total = sparse.csr_matrix((types, types))
    for table in tables:
        c = table.counts
        rows = np.asarray(c.sum(1)).ravel()
        columns = np.asarray(c.sum(0)).ravel()
        back = sparse.diags(1 / np.maximum(rows, 1e-9)) @ c  # p(e' | f)
        there = (c @ sparse.diags(1 / np.maximum(columns, 1e-9))).T.tocsr()  # p(f | e)
        for matrix in (back, there):
            matrix.data[matrix.data < 0.03] = 0
            matrix.eliminate_zeros()
        total = total + there @ back
    total = total.tolil(copy=False).tocsr() if not sparse.isspmatrix_csr(total) else total
    total.setdiag(0)
    total.data[total.data < 0.02] = 0
    total.eliminate_zeros()
    return _best_many(total, kept)


def _best_many(matrix: sparse.csr_matrix, kept: int) -> tuple[IntArray, IntArray]:
    filled = np.flatnonzero(np.diff(matrix.indptr))
    others = np.zeros((len(filled), kept), np.int32)
    for i, row in enumerate(filled):
        part = slice(matrix.indptr[row], matrix.indptr[row + 1])
        top = np.argsort(-matrix.data[part])[:kept]
        others[i] = np.resize(matrix.indices[part][top], kept)
    return filled.astype(np.int32), others
