"""The names of one language as the linker asks for them: by their first word.

    index = kb.index("en")
    index.branch("new")      # Branch: what begins with "new": New York, New Delhi, ...
    index.branch("table")    # None: no name begins so

Nothing is read before it is asked for. A question reads the names that share its first letters
from the file and keeps them, so opening costs nothing, memory follows the texts and not the size
of the knowledge base, and a knowledge base of millions of names is as quick as a small one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

IS_WEAK, IS_CASED, IS_SURE, IS_ACRONYM = 1, 2, 4, 8
FLAG_BITS = 4
Codes = int | tuple[int, ...]
Row = tuple[str, int, float]
_LETTERS = 4
_LAST = "\U0010ffff"


class Branch:
    """All names that begin with one word.

    A code is `entity << 4 | flags`, where the flags are IS_WEAK, IS_CASED (written with a capital
    letter), IS_SURE and IS_ACRONYM (all capitals); several codes stand best first. `codes` are
    those of the word alone, `longer` those of the names of more words by their keys, `later` the
    words that occur in them after the first. `small` says that a name has no capital.
    """

    __slots__ = ("codes", "first", "later", "longer", "reach", "small")

    def __init__(self, first: str) -> None:
        self.first = first
        self.codes: Codes | None = None
        self.longer: dict[str, Codes] = {}
        self.later: set[str] = set()
        self.reach = 1
        self.small = False

    def longer_names(self) -> Branch:
        """The same without the name that is the word alone."""
        other = Branch(self.first)
        other.longer, other.later = self.longer, self.later
        other.reach, other.small = self.reach, self.small
        return other


class Index:
    """Branches by first word; `rows(low, high)` reads (key, code, preference) of those keys."""

    def __init__(self, rows: Callable[[str, str], Iterable[Row]]) -> None:
        self._rows = rows
        self._branches: dict[str, Branch] = {}
        self._read: set[str] = set()

    def branch(self, word: str) -> Branch | None:
        """What begins with a folded word, or None."""
        letters = word[:_LETTERS]
        if letters not in self._read:
            self._read.add(letters)
            # a word shorter than that is looked up as it stands: "usa" and "usa ..."
            short = len(letters) < _LETTERS
            self._grow(self._rows(letters, letters + ("!" if short else _LAST)))
        return self._branches.get(word)

    def _grow(self, rows: Iterable[Row]) -> None:
        found: dict[str, dict[int, float]] = {}
        for key, code, preference in rows:
            found.setdefault(key, {})[code] = preference
        for key, preferences in found.items():
            first, *others = key.split(" ")
            branch = self._branches.get(first)
            if branch is None:
                branch = self._branches[first] = Branch(first)
            codes = _ordered(preferences)
            if others:
                branch.longer[key] = codes
                branch.later.update(others)
                branch.reach = max(branch.reach, 1 + len(others))
            else:
                branch.codes = codes
            branch.small |= any(not code & IS_CASED for code in preferences)


def _ordered(codes: dict[int, float]) -> Codes:
    """Codes by falling preference; of one entity named by language and by script, the better."""
    if len(codes) == 1:
        return next(iter(codes))
    best: dict[int, int] = {}
    for code in sorted(codes, key=lambda c: (-codes[c], c)):
        best.setdefault(code >> FLAG_BITS, code)
    return tuple(best.values()) if len(best) > 1 else next(iter(best.values()))
