"""How many n-grams two sequences share, for many pairs at once.

For each pair (hypothesis h, reference set R) and each order n

    matches_n = sum over n-grams g of  min(count_h(g), max over r in R of count_r(g))

the clipped counts that BLEU, chrF, PER and the word F-score are made of. Sequences are lists of
words or strings (whose items are characters). No hashing: n-grams become exact integers, one
multiplication per order, and are counted by sorting, so a batch of thousands costs a few calls.

    texts = [["a", "b", "a"], ["a", "a", "c"]]
    overlap([texts[0]], [[texts[1]]], np.array([0]), max_order=2)   -> [[2, 0]]

An n-gram is (previous (n-1)-gram, next symbol) = gram * size + symbol. When that number would no
longer fit beside the index of its owner in 62 bits, the grams are renumbered from zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Text = Sequence[str]  # a list of words, or a string as a sequence of characters

_CHUNK = 1 << 18  # symbols counted together: the working set stays near the caches
_LIMIT = 1 << 62


def overlap(
    left: Sequence[Text], right: Sequence[Sequence[Text]], of: Ints, max_order: int
) -> Ints:
    """Clipped matches, shape (len(left), max_order); left[i] is compared with right[of[i]].

    Cheapest when `of` is sorted, so that a reference is counted in one chunk only.
    """
    out = np.zeros((len(left), max_order), dtype=np.int64)
    start, symbols = 0, 0
    for i, text in enumerate(left):
        symbols += len(text)
        if symbols >= _CHUNK or i == len(left) - 1:
            used, local = np.unique(of[start : i + 1], return_inverse=True)
            members = [right[k] for k in used]
            out[start : i + 1] = _count(left[start : i + 1], members, local, max_order)
            start, symbols = i + 1, 0
    return out


def _count(left: Sequence[Text], right: Sequence[Sequence[Text]], of: Ints, orders: int) -> Ints:
    flat = [text for group in right for text in group]
    group = np.repeat(np.arange(len(right)), [len(g) for g in right])
    symbols, size = _encode([*left, *flat])
    length = np.array([len(text) for text in chain(left, flat)], dtype=np.int64)
    owner = np.repeat(np.arange(len(length)), length)
    end = np.repeat(np.cumsum(length), length)  # one past the last symbol of the owner
    out = np.zeros((len(left), orders), dtype=np.int64)

    starts, gram, span = np.arange(len(symbols)), symbols, size
    for n in range(1, orders + 1):
        if n > 1:
            inside = starts + n <= end[starts]
            starts, gram = starts[inside], gram[inside]
            if span * size * len(length) >= _LIMIT:
                values, gram = np.unique(gram, return_inverse=True)
                span = len(values)
            gram = gram * size + symbols[starts + n - 1]
            span *= size
        keys = owner[starts] * span + gram
        split = int(np.searchsorted(owner[starts], len(left)))
        hyp = _distinct(np.sort(keys[:split]))
        ref = _largest(*_distinct(np.sort(keys[split:])), span, group, len(left))
        out[:, n - 1] = _clipped(*hyp, *ref, span, of, len(left))
    return out


def _encode(texts: Sequence[Text]) -> tuple[Ints, int]:
    """All symbols of all texts as numbers below `size`."""
    if texts and isinstance(texts[0], str):
        joined = "".join(str(text) for text in texts).encode("utf-32-le", "surrogatepass")
        points = np.frombuffer(joined, dtype="<u4")
        seen = np.zeros(int(points.max(initial=0)) + 1, dtype=bool)
        seen[points] = True
        rank = np.cumsum(seen, dtype=np.int64) - 1
        return rank[points], max(1, int(rank[-1]) + 1)
    words = list(chain.from_iterable(texts))
    number = {word: i for i, word in enumerate(dict.fromkeys(words))}
    return np.fromiter(map(number.__getitem__, words), np.int64, len(words)), max(1, len(number))


def _distinct(ordered: Ints) -> tuple[Ints, Ints]:
    """Distinct keys and how often each occurs."""
    first = _firsts(ordered)
    counts = np.empty_like(first)
    counts[:-1], counts[-1:] = first[1:] - first[:-1], len(ordered) - first[-1:]
    return ordered[first], counts


def _firsts(ordered: Ints) -> Ints:
    """Where each distinct key begins; `numpy.diff` is twice as slow, and dear for a few keys."""
    is_new = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_new[1:])
    return np.flatnonzero(is_new)


def _largest(keys: Ints, counts: Ints, span: int, group: Ints, before: int) -> tuple[Ints, Ints]:
    """The reference texts' keys by group, with the largest count of any text of the group.

    `before` texts, the hypotheses, are numbered before the first reference.
    """
    keys = group[keys // span - before] * span + keys % span
    if not len(group) or group[-1] + 1 == len(group):  # one reference each: already in order
        return keys, counts
    order = np.argsort(keys, kind="stable")
    keys, counts = keys[order], counts[order]
    first = _firsts(keys)
    return keys[first], np.maximum.reduceat(counts, first) if len(first) else counts


def _clipped(
    hyp: Ints, hyp_count: Ints, ref: Ints, ref_count: Ints, span: int, of: Ints, pairs: int
) -> Ints:
    """Matches of each pair, from the counted keys (owner * span + gram) of both sides."""
    if not len(ref):
        return np.zeros(pairs, dtype=np.int64)
    pair = hyp // span
    wanted = of[pair] * span + hyp % span
    place = np.minimum(np.searchsorted(ref, wanted), len(ref) - 1)
    shared = np.where(ref[place] == wanted, np.minimum(hyp_count, ref_count[place]), 0)
    return np.bincount(pair, weights=shared, minlength=pairs).astype(np.int64)
