"""TER's edits, compiled: the fewest insertions, deletions, substitutions and block shifts.

The search is Tercom's greedy one with sacrebleu's limits, so that the number of edits is the same
for every pair (tests hold the two side by side):

1. align hypothesis and reference by edit distance, looking only 25 words off the diagonal;
2. try to move every run of up to 10 hypothesis words that also stands in the reference to the
   place it is aligned with; keep the move that lowers the distance most (then the longest run,
   then the leftmost, then the nearest target);
3. repeat while the distance falls; edits = shifts + remaining distance.

Words are numbers here; the search itself is in `native/shifts.c`.

    words, start = np.array([1, 2, 3, 3, 1, 2]), np.array([0, 3, 6])
    all_edits(words, start, np.array([0]), np.array([1]))   -> [1]
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mtgauge.compare.kernels import call

Ints = NDArray[np.int64]


def all_edits(words: Ints, start: Ints, left: Ints, right: Ints) -> Ints:
    """Edits of pairs (left[i], right[i]) of texts; text k is words[start[k]:start[k + 1]]."""
    out = np.empty(len(left), dtype=np.int64)
    call("all_edits", words, start, left, right, 0, len(left), out)
    return out
