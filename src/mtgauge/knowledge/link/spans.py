"""Which stretches of a text are taken: asked once per word, so answered without a scan.

>>> taken = Spans([(0, 4), (10, 12)])
>>> taken.meets(3, 5), taken.meets(4, 10)
(True, False)
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from itertools import accumulate


class Spans:
    """Stretches (begin, end) of a text, `end` exclusive; they may overlap."""

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        ordered = sorted(spans)
        self._begins = [begin for begin, _ in ordered]
        self._reach = list(accumulate((end for _, end in ordered), max))

    def meets(self, begin: int, end: int) -> bool:
        """Whether any of them has a character in common with this one."""
        before = bisect_left(self._begins, end)  # those that begin before its end
        return before > 0 and self._reach[before - 1] > begin
