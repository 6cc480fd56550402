"""Log-likelihoods of many texts at once, under py3langid's model.

    table = Likelihoods(["de", "en"])
    table.of(["Guten Morgen."])              # one row per text, one column per language of `names`

The same sums as `LanguageIdentifier.rank`: each byte moves an automaton, a state may stand for an
n-gram, and a text's likelihood is the weighted sum of the logarithms of its n-grams' counts. There
a Python loop walks one text; here the automaton walks all texts side by side, and products of
matrices sum, which is several times as fast. Sums are in single precision, as there; their order
differs, so the last digits may.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float32]
IntArray = NDArray[np.int64]
_BATCH = 1 << 19  # bytes that are walked together
_TOGETHER = 64  # texts that are summed together: they share n-grams, and so the product is dense
FLOOR = float(np.finfo(np.float32).min)  # of every language, for a text without known n-grams


class _Automaton(NamedTuple):
    rows: IntArray  # where each state's row of `moves` begins
    moves: NDArray[np.integer[Any]]  # the state after each byte
    ngrams: IntArray  # the n-gram that each state stands for; -1: none


@cache
def model() -> Any:
    """py3langid's model, loaded once."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE)


@cache
def _automaton() -> _Automaton:
    loaded = model()
    rows = np.frombuffer(loaded.tk_row, dtype=loaded.tk_row.typecode).astype(np.int64) << 8
    moves = np.frombuffer(loaded.tk_nextmove, dtype=loaded.tk_nextmove.typecode)
    return _Automaton(rows, moves, np.array(loaded.tk_output, dtype=np.int64))


class Likelihoods:
    """Of some languages, by the model's names, which `names` has in the order of the columns."""

    def __init__(self, names: Sequence[str]) -> None:
        classes = model().nb_classes
        self.names = [name for name in model().labels if name in set(names)]
        # a language in two scripts has two columns, of which the likelier counts
        columns = [[k for k, each in enumerate(classes) if each == name] for name in self.names]
        self._columns = np.concatenate(columns)
        self._firsts = np.cumsum([0, *map(len, columns[:-1])])
        self._weights = model().nb_ptc[:, self._columns].astype(np.float32)

    def of(self, texts: Sequence[str]) -> FloatArray:
        found = np.empty((len(texts), len(self.names)), dtype=np.float32)
        encoded = [_bytes(text) for text in texts]
        for rows in _batches([len(each) for each in encoded]):
            found[rows] = self._of([encoded[i] for i in rows])
        return found

    def _of(self, encoded: Sequence[bytes]) -> FloatArray:
        """Of texts that are sorted by length, the longest first."""
        text, ngram = _visited(encoded)
        size = len(model().nb_ptc)
        cells, counts = np.unique(text * size + ngram, return_counts=True)
        text, ngram = cells // size, cells % size
        weights = np.log1p(counts.astype(np.float32))
        starts = np.searchsorted(text, np.arange(0, len(encoded) + _TOGETHER, _TOGETHER))
        sums = np.empty((len(encoded), len(self._columns)), dtype=np.float32)
        for k, (a, b) in enumerate(pairwise(starts.tolist())):
            rows = slice(k * _TOGETHER, (k + 1) * _TOGETHER)
            used, place = np.unique(ngram[a:b], return_inverse=True)
            dense = np.zeros((len(sums[rows]), len(used)), dtype=np.float32)
            dense[text[a:b] - k * _TOGETHER, place] = weights[a:b]
            sums[rows] = dense @ self._weights[used]
        sums += model().nb_pc[self._columns]
        sums[np.bincount(text, minlength=len(encoded)) == 0] = FLOOR
        return np.maximum.reduceat(sums, self._firsts, axis=1)


def _bytes(text: str) -> bytes:
    """As the model reads a text: capitals alone say nothing."""
    if text.isupper():
        text = text.lower()
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    return text.encode("utf-8", errors="surrogatepass")


def _batches(sizes: Sequence[int]) -> Iterator[IntArray]:
    """Rows of texts that are walked together, the longest first."""
    order = np.argsort(-np.array(sizes, dtype=np.int64), kind="stable")
    number = np.cumsum(np.array(sizes, dtype=np.int64)[order]) // _BATCH
    for part in np.split(order, np.flatnonzero(np.diff(number)) + 1):
        if len(part):
            yield part


def _visited(encoded: Sequence[bytes]) -> tuple[IntArray, IntArray]:
    """(text, n-gram) of every place where an n-gram ends."""
    rows, moves, ngrams = _automaton()
    sizes = np.array([len(each) for each in encoded])
    starts = np.cumsum(sizes) - sizes
    letters = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    states = np.zeros(len(encoded), dtype=np.int64)
    visited = np.empty(len(letters), dtype=np.int64)
    # how many texts have a byte at this place: they are the first ones
    reach = len(sizes) - np.searchsorted(sizes[::-1], np.arange(sizes.max(initial=0)), "right")
    for place, n in enumerate(reach.tolist()):
        at = starts[:n] + place
        states = moves[rows[states[:n]] + letters[at]].astype(np.int64)
        visited[at] = states
    found = ngrams[visited]
    text = np.repeat(np.arange(len(encoded)), sizes)
    return text[found >= 0], found[found >= 0]
