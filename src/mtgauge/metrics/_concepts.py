"""Concepts for KoBE: the words of texts with the embedded encoder's vectors, and the nouns of both.

    finder = ConceptFinder.embedded()
    finder.ground(["Der Arzt kam."], [known_mentions])      # Grounded, a text each
    finder.agreements(pairs, known)                         # {pair: Agreement of concepts}

A word's vector is the mean of its pieces', of length 1. What a text's words mean is found once;
vectors stay in the encoder's memory, as for every metric.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Self

import numpy as np

from mtgauge.encode import load_encoder
from mtgauge.encode.ragged import distinct
from mtgauge.encode.tokens.encoder import Encoder, TokenVectors
from mtgauge.errors import LanguageError, ResourceError
from mtgauge.knowledge.link.agreement import Agreement
from mtgauge.knowledge.link.concepts import (
    Grounded,
    Inventory,
    Places,
    Vectors,
    agree_on_concepts,
    words_of,
)
from mtgauge.knowledge.link.mention import Mention
from mtgauge.metric import model_label
from mtgauge.models import shipped

Pair = tuple[str, str]
Known = Mapping[str, Sequence[Mention]]  # what each text mentions besides


class ConceptFinder:
    """Grounds the words of texts with an encoder and the inventory that was made with it."""

    def __init__(self, encoder: Encoder, inventory: Inventory) -> None:
        if encoder.fingerprint != inventory.encoder:
            raise ResourceError(
                f"The concepts were made with encoder {inventory.encoder}, not with "
                f"{encoder.fingerprint}: install mtgauge again, or make them again with "
                "recipes/knowledge/concepts.py."
            )
        self.encoder, self.inventory = encoder, inventory

    @classmethod
    def embedded(cls) -> Self:
        return cls(load_encoder("embedded"), embedded_inventory())

    @property
    def languages(self) -> frozenset[str]:
        return frozenset(self.encoder.languages)

    def versions(self) -> dict[str, str]:
        """What a signature says: the model as name@fingerprint, its precision, the inventory."""
        return {
            "model": model_label(self.encoder.name, self.encoder.fingerprint),
            "dtype": self.encoder.dtype,
            "concepts_version": self.inventory.fingerprint,
        }

    def ground(self, texts: Sequence[str], known: Sequence[Sequence[Mention]]) -> list[Grounded]:
        """The nouns of each text, and its other words."""
        read = word_vectors(self.encoder, texts, self.inventory.layer)
        return [
            self.inventory.ground(text, places, vectors, mentions)
            for text, (places, vectors), mentions in zip(texts, read, known, strict=True)
        ]

    def added(
        self, texts: Sequence[str], known: Sequence[Sequence[Mention]], lang: str
    ) -> list[list[Mention]]:
        """What each text mentions, in order: what is known of it, and its nouns."""
        if lang not in self.languages:
            raise LanguageError(
                f"No concepts are found in the language {lang}. They are in: "
                f"{' '.join(sorted(self.languages))}."
            )
        return [
            sorted([*mentions, *(found.words[i] for i in found.nouns)])
            for mentions, found in zip(known, self.ground(texts, known), strict=True)
        ]

    def agreements(
        self, pairs: Sequence[Pair], left: Known, right: Known
    ) -> Iterator[tuple[Pair, Agreement]]:
        """For each of distinct pairs of texts what is kept, lost and new."""
        order = np.argsort(distinct([source for source, _ in pairs])[1], kind="stable")
        window = self.encoder.window
        for start in range(0, len(order), window):
            here = [pairs[i] for i in order[start : start + window]]
            sources, lefts = distinct([source for source, _ in here])
            texts, rights = distinct([text for _, text in here])
            mine = self.ground(sources, [left[text] for text in sources])
            theirs = self.ground(texts, [right[text] for text in texts])
            for pair, i, j in zip(here, lefts, rights, strict=True):
                yield pair, agree_on_concepts(mine[i], theirs[j], self.inventory.near)


def joined(entities: Agreement, nouns: Agreement) -> Agreement:
    """Entities and nouns of one pair of texts."""
    return Agreement(
        entities.matched + nouns.matched,
        entities.lost + nouns.lost,
        entities.invented + nouns.invented,
    )


@cache
def embedded_inventory() -> Inventory:
    folder = shipped("concepts")
    if not folder.is_dir():
        raise ResourceError(
            "This installation has no concepts. Install mtgauge again, or leave kobe:concepts off."
        )
    return Inventory.read(folder)


def word_vectors(
    encoder: Encoder, texts: Sequence[str], layer: int
) -> Iterator[tuple[Places, Vectors]]:
    """The words of each text and their vectors; 0 for a word beyond what the encoder reads."""
    tokens = encoder.encode(texts, layer)
    for number, text in enumerate(texts):
        places = words_of(text)
        yield places, _vectors(tokens, slice(*tokens.offsets[number : number + 2]), places)


def _vectors(tokens: TokenVectors, pieces: slice, places: Places) -> Vectors:
    """Means of the pieces that end inside each word."""
    found = np.zeros((len(places), tokens.vectors.shape[1]), np.float32)
    spans = tokens.spans[pieces]
    last = spans[:, 1] - 1
    word = np.searchsorted(places[:, 0], last, side="right") - 1
    inside = (word >= 0) & (spans[:, 1] > spans[:, 0]) & ~tokens.special[pieces]
    inside[inside] = last[inside] < places[word[inside], 1]
    rows = np.flatnonzero(inside)
    if len(rows):
        begins = np.flatnonzero(np.diff(word[rows], prepend=-1))
        sums = np.add.reduceat(tokens.vectors[pieces][rows], begins, axis=0)
        norms = np.linalg.norm(sums, axis=1, keepdims=True)
        found[word[rows][begins]] = sums / np.maximum(norms, 1e-30)
    return found
