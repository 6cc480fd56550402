"""Word pairs from parallel sentences, to fit remaps on.

Words are split as the encoder's tokenizer splits them; a word's vector is the mean of its pieces.
By default words i and j are a pair if each is the other's most similar (mutual best cosine), after
the mean vector of each language is subtracted: that takes away the language's own direction, which
otherwise hides the meaning. With a lexicon, a pair is any two words that the lexicon lists; with
`by="fast_align"` one that the statistical aligner of that name (package sil-thot, extra `align`)
links, trained on the very sentences: in both directions, or by `grow-diag-final-and`, which adds
neighbours that one direction links (Koehn et al. 2005; what the authors of XMoverScore did).

    x, z = word_pairs(encoder, layer, sources, targets)              # rows are vectors of pairs
    x, z = word_pairs(encoder, layer, sources, targets, lexicon={("katze", "cat")})
    x, z = sentence_pairs(encoder, sources, targets)

Limits: words that an encoder places badly find no partner, so a remap fitted this way refines what
the encoder knows already; a lexicon does not have this bias, nor does a statistical aligner, which
needs thousands of sentences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from mtgauge.data.codes import bases
from mtgauge.encode.ragged import IntArray
from mtgauge.encode.sentence.encoders import SentenceEncoder
from mtgauge.encode.tokens import units as make
from mtgauge.encode.tokens.encoder import Encoder, Vectors
from mtgauge.errors import ResourceError

Lexicon = frozenset[tuple[str, str]]
ALIGNERS = ("encoder", "fast_align")
SYMMETRISED = ("intersection", "grow-diag-final-and")
ROUNDS = 5  # of expectation maximisation, as fast_align has it
LONGEST = 100  # words; longer sentences are poorly aligned, and were left out by the authors


@dataclass(frozen=True)
class SentenceWords:
    """Words of n sentences with their raw vectors."""

    offsets: IntArray
    vectors: Vectors
    texts: list[str]


def words(
    encoder: Encoder, layer: int, sentences: Sequence[str], lang: str | None
) -> SentenceWords:
    if encoder.lowercase:
        sentences = [sentence.lower() for sentence in sentences]
    tokens = encoder.encode(sentences, layer, lang)
    kept = make.keep(tokens, encoder.punctuation, punctuation=False)
    units = make.build(tokens, kept, np.ones(len(kept)), 1, pieces="mean", normalise=False)
    text = np.repeat(np.arange(len(units)), np.diff(units.offsets))
    starts, ends = tokens.spans[units.ends[:, 0], 0], tokens.spans[units.ends[:, 1], 1]
    names = [
        sentences[i][start:end].lower()
        for i, start, end in zip(text.tolist(), starts, ends, strict=True)
    ]
    return SentenceWords(units.offsets, units.vectors, names)


def word_pairs(
    encoder: Encoder,
    layer: int,
    sources: Sequence[str],
    targets: Sequence[str],
    lang: str | None = None,
    lexicon: Lexicon | None = None,
    by: Literal["encoder", "fast_align"] = "encoder",
    symmetrise: str = "intersection",
) -> tuple[Vectors, Vectors]:
    """Vectors of aligned words, row by row."""
    source_lang, target_lang = bases(lang)
    left = words(encoder, layer, sources, source_lang)
    left = replace(left, vectors=encoder.turn(left.vectors))  # as metrics see sources
    right = words(encoder, layer, targets, target_lang)
    x, z = _centred(left.vectors), _centred(right.vectors)
    spans = [
        (slice(a, b), slice(c, d))
        for (a, b), (c, d) in zip(pairwise(left.offsets), pairwise(right.offsets), strict=True)
        if 0 < b - a <= LONGEST and 0 < d - c <= LONGEST
    ]
    texts = [(left.texts[a], right.texts[c]) for a, c in spans]
    if lexicon is not None:
        found = [_listed(*pair, lexicon) for pair in texts]
    elif by == "fast_align":
        found = linked(texts, symmetrise)
    else:
        found = [mutual_best(x[a] @ z[c].T) for a, c in spans]
    rows = [a.start + i for (a, _), (i, _) in zip(spans, found, strict=True)]
    columns = [c.start + j for (_, c), (_, j) in zip(spans, found, strict=True)]
    if not rows:
        return left.vectors[:0], right.vectors[:0]
    return left.vectors[np.concatenate(rows)], right.vectors[np.concatenate(columns)]


def sentence_pairs(
    encoder: SentenceEncoder, sources: Sequence[str], targets: Sequence[str], lang: str | None
) -> tuple[Vectors, Vectors]:
    source_lang, target_lang = bases(lang)
    if encoder.lowercase:
        sources, targets = [x.lower() for x in sources], [z.lower() for z in targets]
    x, _ = encoder.encode(sources, source_lang)
    z, _ = encoder.encode(targets, target_lang)
    return x, z


def mutual_best(similarity: Vectors) -> tuple[IntArray, IntArray]:
    """Row and column numbers of cells that are the largest of both their row and their column.

    >>> mutual_best(np.array([[0.9, 0.2], [0.8, 0.1]]))
    (array([0]), array([0]))
    """
    best_column = similarity.argmax(axis=1)
    rows = np.arange(len(similarity))
    mutual = similarity.argmax(axis=0)[best_column] == rows
    return rows[mutual], best_column[mutual]


def linked(
    pairs: Sequence[tuple[list[str], list[str]]], symmetrise: str = "intersection"
) -> list[tuple[IntArray, IntArray]]:
    """Word numbers that fast_align links, for each pair of sentences."""
    try:
        from thot.alignment import FastAlignModel, SymmetrizationHeuristic, SymmetrizedAligner
    except ImportError:
        raise ResourceError(
            "fast_align needs the package sil-thot: pip install 'mtgauge[align]'."
        ) from None

    def trained(sides: list[tuple[list[str], list[str]]]) -> Any:
        model = FastAlignModel()
        for source, target in sides:
            model.add_sentence_pair(source, target)
        model.start_training()
        for _ in range(ROUNDS):
            model.train()
        model.end_training()
        return model

    both = trained(list(pairs)), trained([(target, source) for source, target in pairs])
    aligner = SymmetrizedAligner(*both)
    aligner.heuristic = getattr(SymmetrizationHeuristic, symmetrise.upper().replace("-", "_"))
    found = aligner.get_best_alignments([x for x, _ in pairs], [z for _, z in pairs])
    cells = [np.argwhere(matrix.to_numpy()) for _, matrix in found]
    return [(links[:, 0], links[:, 1]) for links in cells]


def _centred(vectors: Vectors) -> Vectors:
    """Vectors without the mean of their language, length 1."""
    if not len(vectors):
        return vectors
    moved = vectors - vectors.mean(axis=0)
    return np.asarray(moved / np.maximum(np.linalg.norm(moved, axis=1, keepdims=True), 1e-30))


def _listed(left: list[str], right: list[str], lexicon: Lexicon) -> tuple[IntArray, IntArray]:
    pairs = [(i, j) for i, x in enumerate(left) for j, z in enumerate(right) if (x, z) in lexicon]
    found = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return found[:, 0], found[:, 1]
