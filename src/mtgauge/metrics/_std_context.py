"""Words of STD with the vectors of a contextual encoder in place of static ones.

    words, lefts, rights = in_context(references, hypotheses, encoder, "en")
    travel(words.table, np.concatenate(words.texts), offsets, lefts, rights, settings)

STD gives an n-gram one vector, whatever the text, and asks whether a text has it. So the vector of
a word is, in each pair of texts, the mean over its occurrences in both, and an occurrence's the
mean over its pieces. Numbers of words are therefore of one pair: equal words of two pairs differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from mtgauge.encode.ragged import IntArray
from mtgauge.encode.tokens.encoder import Encoder, Vectors
from mtgauge.encode.words.lookup import NumberedTexts
from mtgauge.text.words import is_punctuation


def in_context(
    references: Sequence[list[str]], hypotheses: Sequence[list[str]], encoder: Encoder, lang: str
) -> tuple[NumberedTexts, IntArray, IntArray]:
    """The words of each pair, numbered pair by pair, and which texts are compared."""
    texts = list(dict.fromkeys(" ".join(t) for t in (*references, *hypotheses)))
    place = {text: i for i, text in enumerate(texts)}
    layer = encoder.resolve(encoder.default_layer["reference"])[0]
    tokens = encoder.encode(texts, layer, lang)
    tables: list[Vectors] = [np.empty((0, tokens.vectors.shape[1]), np.float32)]
    numbered: list[IntArray] = []
    marks: list[bool] = []
    for pair in zip(references, hypotheses, strict=True):
        number: dict[str, int] = {}
        sums: list[Vectors] = []
        counts: list[int] = []
        for words in pair:
            at = place[" ".join(words)]
            rows = slice(tokens.offsets[at], tokens.offsets[at + 1])
            vectors = _occurrences(words, tokens.spans[rows], tokens.vectors[rows],
                                   tokens.special[rows])  # fmt: skip
            for word, vector in zip(words, vectors, strict=True):
                if word in number:
                    sums[number[word]] += vector
                    counts[number[word]] += 1
                else:
                    number[word] = len(number)
                    sums.append(vector.copy())
                    counts.append(1)
        first = len(marks)
        numbered += [np.array([first + number[w] for w in words], np.int64) for words in pair]
        marks += map(is_punctuation, number)
        if sums:
            tables.append((np.stack(sums) / np.array(counts)[:, None]).astype(np.float32))
    known = np.array([len(text) for text in numbered], np.int64)
    found = NumberedTexts(np.concatenate(tables), numbered, known, np.array(marks, bool), 0)
    pairs = np.arange(len(references), dtype=np.int64)
    return found, 2 * pairs, 2 * pairs + 1


def _occurrences(
    words: Sequence[str], spans: IntArray, vectors: Vectors, special: np.ndarray
) -> Vectors:
    """(words, d): the mean of each word's pieces, in the text of the words with spaces between."""
    starts = np.array([0, *accumulate(len(word) + 1 for word in words)])
    kept = np.flatnonzero(~special)
    word = np.searchsorted(starts, spans[kept, 0], side="right") - 1
    found = np.zeros((len(words), vectors.shape[1]), np.float32)
    inside = (word >= 0) & (word < len(words))  # a piece may begin with the space before its word
    np.add.at(found, word[inside], vectors[kept[inside]])
    counts = np.bincount(word[inside], minlength=len(words))
    return np.asarray(found / np.maximum(counts, 1)[:, None], np.float32)
