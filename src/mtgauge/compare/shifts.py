"""TER's edits, compiled: the fewest insertions, deletions, substitutions and block shifts.

The search is Tercom's greedy one with sacrebleu's limits, so that the number of edits is the same
for every pair (tests hold the two side by side):

1. align hypothesis and reference by edit distance, looking only `_BEAM` words off the diagonal;
2. try to move every run of up to 10 hypothesis words that also stands in the reference to the
   place it is aligned with; keep the move that lowers the distance most (then the longest run,
   then the leftmost, then the nearest target);
3. repeat while the distance falls; edits = shifts + remaining distance.

Words are numbers here. A shift leaves the words before it alone, so the distance of a candidate
is recomputed from the first moved row on.

    edits(np.array([1, 2, 3]), np.array([3, 1, 2]))   -> 1

This module imports numba: import it inside functions.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Costs = NDArray[np.int32]
Ops = NDArray[np.int8]

_BEAM = 25
_MAX_SHIFT_SIZE = 10
_MAX_SHIFT_DISTANCE = 50
_MAX_CANDIDATES = 1000
_INFINITE = 1 << 30
_KEEP, _SUBSTITUTE, _DELETE, _INSERT = 0, 1, 2, 3


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def all_edits(words: Ints, start: Ints, left: Ints, right: Ints) -> Ints:
    """Edits of pairs (left[i], right[i]) of texts; text k is words[start[k]:start[k + 1]]."""
    out = np.empty(len(left), dtype=np.int64)
    for i in range(len(left)):
        h, r = left[i], right[i]
        out[i] = edits(words[start[h] : start[h + 1]], words[start[r] : start[r + 1]])
    return out


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def edits(hyp: Ints, ref: Ints) -> int:
    """Edits that turn one text into the other."""
    n, m = len(hyp), len(ref)
    if n == 0 or m == 0:
        return n + m
    cost = np.empty((n + 1, m + 1), dtype=np.int32)
    trial = np.empty((n + 1, m + 1), dtype=np.int32)
    op = np.empty((n + 1, m + 1), dtype=np.int8)
    trial_op = np.empty((n + 1, m + 1), dtype=np.int8)
    shifts, tried = 0, 0
    while True:
        _distance(hyp, ref, cost, op, 1)
        gain, moved, tried = _best_shift(hyp, ref, cost, op, trial, trial_op, tried)
        if tried >= _MAX_CANDIDATES or gain <= 0:
            distance: int = cost[n, m]
            return shifts + distance
        shifts += 1
        hyp = moved


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _distance(hyp: Ints, ref: Ints, cost: Costs, op: Ops, first: int) -> None:
    """Fill rows `first`.. of the edit-distance table; the row before must be there."""
    n, m = len(hyp), len(ref)
    if first == 1:
        for j in range(m + 1):
            cost[0, j], op[0, j] = j, _INSERT
    ratio = m / n
    beam = _BEAM
    if ratio / 2 > _BEAM:  # so unequal in length that two rows might not overlap
        beam = int(np.ceil(ratio / 2 + _BEAM))
    for i in range(first, n + 1):
        middle = int(np.floor(i * ratio))
        low, high = max(0, middle - beam), min(m + 1, middle + beam)
        if i == n:
            high = m + 1
        for j in range(m + 1):
            cost[i, j] = _INFINITE
        for j in range(low, high):
            if j == 0:
                cost[i, 0], op[i, 0] = cost[i - 1, 0] + 1, _DELETE
                continue
            # of equals the first: substitution, deletion, insertion
            same = hyp[i - 1] == ref[j - 1]
            best = cost[i - 1, j - 1] + (0 if same else 1)
            what = _KEEP if same else _SUBSTITUTE
            if cost[i - 1, j] + 1 < best:
                best, what = cost[i - 1, j] + 1, _DELETE
            if cost[i, j - 1] + 1 < best:
                best, what = cost[i, j - 1] + 1, _INSERT
            if best < _INFINITE:
                cost[i, j], op[i, j] = best, what


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _alignment(op: Ops, n: int, m: int) -> tuple[Ints, Ints, Ints]:
    """For each reference word the hypothesis word it stands at, and which words are wrong."""
    path = np.empty(n + m, dtype=np.int8)
    steps, i, j = 0, n, m
    while i > 0 or j > 0:
        what = op[i, j]
        path[steps] = what
        steps += 1
        if what != _INSERT:
            i -= 1
        if what != _DELETE:
            j -= 1
    align = np.empty(m, dtype=np.int64)
    hyp_wrong, ref_wrong = np.zeros(n, dtype=np.int64), np.zeros(m, dtype=np.int64)
    i, j = -1, -1
    for step in range(steps - 1, -1, -1):
        what = path[step]
        if what != _INSERT:
            i += 1
            hyp_wrong[i] = what != _KEEP
        if what != _DELETE:
            j += 1
            ref_wrong[j] = what != _KEEP
            align[j] = i
    return align, hyp_wrong, ref_wrong


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _best_shift(
    hyp: Ints, ref: Ints, cost: Costs, op: Ops, trial: Costs, trial_op: Ops, tried: int
) -> tuple[int, Ints, int]:
    """(fall of the distance, hypothesis after the shift, candidates tried so far)."""
    n, m = len(hyp), len(ref)
    align, hyp_wrong, ref_wrong = _alignment(op, n, m)
    best_rank = (-_INFINITE, 0, 0, 0)
    best, moved = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    for h in range(n):
        for r in range(max(0, h - _MAX_SHIFT_DISTANCE), min(m, h + _MAX_SHIFT_DISTANCE + 1)):
            wrong_h, wrong_r = 0, 0
            for length in range(1, min(_MAX_SHIFT_SIZE, n - h, m - r) + 1):
                if hyp[h + length - 1] != ref[r + length - 1]:
                    break
                wrong_h += hyp_wrong[h + length - 1]
                wrong_r += ref_wrong[r + length - 1]
                if wrong_h == 0 or wrong_r == 0 or h <= align[r] < h + length:
                    continue
                last = -1
                for offset in range(-1, length):
                    target = 0 if r + offset == -1 else align[r + offset] + 1
                    if target == last:
                        continue
                    last = target
                    _move(hyp, h, length, target, moved)
                    row = min(h, target) + 1  # the first row that the move changes
                    for j in range(m + 1):
                        trial[row - 1, j] = cost[row - 1, j]
                    _distance(moved, ref, trial, trial_op, row)
                    tried += 1
                    rank = (cost[n, m] - trial[n, m], length, -h, -target)
                    if rank > best_rank:
                        best_rank, best, moved = rank, moved, best
                if tried >= _MAX_CANDIDATES:
                    return best_rank[0], best, tried
    return best_rank[0], best, tried


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _move(words: Ints, start: int, length: int, target: int, out: Ints) -> None:
    """`words` with words[start:start + length] taken out and put before `target`.

    A target inside the run itself counts in words after it, which is Tercom's reading.
    """
    if target < start:
        place = target
    elif target > start + length:
        place = target - length
    else:
        place = target
    i = 0
    for k in range(len(words)):
        if k < start or k >= start + length:
            if i == place:
                i += length
            out[i] = words[k]
            i += 1
    for k in range(length):
        out[place + k] = words[start + k]
