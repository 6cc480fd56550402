"""Common nouns, grounded in concepts by what they mean where they stand.

    inventory = Inventory.read(shipped("concepts"))
    source = inventory.ground(text, spans, vectors, known)       # words and vectors of an encoder
    matched, lost, invented = agree_on_concepts(source, candidate, inventory.near)

A folder holds `card.json`, `nouns.tsv` (the id of a concept and a lemma per line) and
`prototypes.npz`: `rows` (whole numbers, the nouns' first, then those of other words) and `basis`
(directions of the encoder's vectors). A word is a noun if the prototype nearest to it is a noun's
and similar enough. That names its concept; whether it is kept is told by the words' own vectors: a
concept of the source is kept by the word of the translation that is nearest to it, if it is as near
as `near` and keeps no other concept. So synonyms count, and other parts of speech.

Limits: the vectors are of one encoder, which the card names; a noun of two words is two concepts.
"""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from mtgauge.errors import ResourceError
from mtgauge.knowledge.base.keys import WORD
from mtgauge.knowledge.link.agreement import Agreement
from mtgauge.knowledge.link.mention import Mention
from mtgauge.knowledge.link.spans import Spans
from mtgauge.text.words import UNSPACED

CATEGORY = "concept"
FILES = ("nouns.tsv", "prototypes.npz")
_SHORTEST = 3  # letters of a noun, where a script writes spaces
_FILES_WRONG = "Install mtgauge again, or make the folder again with recipes/knowledge/concepts.py."
_UNSPACED = re.compile(f"[{UNSPACED}]")
Vectors = NDArray[np.float32]
Places = NDArray[np.int64]  # (n, 2): first character of each word, and the one after its last


class Grounded(NamedTuple):
    """The words of a text that no known entity has taken; those that are nouns have a concept."""

    words: list[Mention]  # without ids where a word is no noun
    vectors: Vectors  # (n, d), of length 1

    @property
    def nouns(self) -> list[int]:
        """Which of the words are nouns."""
        return [i for i, word in enumerate(self.words) if word.ids]


@dataclass(frozen=True)
class Inventory:
    """Prototypes of nouns, and of other words beside them."""

    ids: tuple[str, ...]  # of the nouns' concepts, in the order of their prototypes
    names: dict[str, str]  # of a concept: the lemma that is listed first
    prototypes: Vectors  # of length 1: nouns, then other words
    basis: Vectors
    least: float  # similarity of a noun with its prototype
    near: float  # cosine of two words of which one keeps the other
    layer: int
    encoder: str  # fingerprint
    fingerprint: str

    @classmethod
    def read(cls, folder: Path) -> Self:
        """From a folder, which is refused if it is not what its card describes."""
        try:
            card: dict[str, Any] = json.loads((folder / "card.json").read_text(encoding="utf-8"))
            if card["fingerprint"] != fingerprint(folder):
                raise ResourceError(
                    f"{folder} is not what its card describes: a file was cut or exchanged. "
                    + _FILES_WRONG
                )
            lines = (folder / "nouns.tsv").read_text(encoding="utf-8").splitlines()
            with np.load(folder / "prototypes.npz", allow_pickle=False) as arrays:
                rows, basis = (arrays[name].astype(np.float32) for name in ("rows", "basis"))
            nouns = [(id, lemma) for id, _, lemma in (line.partition("\t") for line in lines)]
            return cls(
                ids=tuple(id for id, _ in nouns),
                names=dict(reversed(nouns)),
                prototypes=_unit(rows),
                basis=basis,
                least=float(card["least"]),
                near=float(card["near"]),
                layer=int(card["layer"]),
                encoder=str(card["encoder"]),
                fingerprint=str(card["fingerprint"]),
            )
        except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
            raise ResourceError(
                f"{folder} holds no concepts that can be read ({error}). {_FILES_WRONG}"
            ) from None

    def ground(
        self, text: str, places: Places, vectors: Vectors, known: Sequence[Mention] = ()
    ) -> Grounded:
        """The nouns of a text; what `known` mentions have taken is left out.

        `vectors` are of length 1, or 0 for words that the encoder did not read.
        """
        taken = Spans((m.begin, m.end) for m in known)
        free = [
            bool(vector.any()) and not taken.meets(a, b)
            for (a, b), vector in zip(places.tolist(), vectors, strict=True)
        ]
        places, vectors = places[free], vectors[free]
        words = [
            self._word(text, a, b, row)
            for (a, b), row in zip(places.tolist(), self._nearest(vectors), strict=True)
        ]
        return _joined(text, words, vectors)

    def _nearest(self, vectors: Vectors) -> list[int]:
        """Of each word the prototype of the noun that it is; -1: it is none."""
        if not len(vectors):
            return []
        similar = _unit(vectors @ self.basis) @ self.prototypes.T
        best = similar.argmax(axis=1)
        sure = similar[np.arange(len(best)), best] >= self.least
        rows: list[int] = np.where(sure & (best < len(self.ids)), best, -1).tolist()
        return rows

    def _word(self, text: str, begin: int, end: int, row: int) -> Mention:
        word = text[begin:end]
        is_noun = row >= 0 and (_is_single(word) or (len(word) >= _SHORTEST and word.isalpha()))
        return Mention(begin, end, word, (self.ids[row],) if is_noun else (), CATEGORY)


def _joined(text: str, words: list[Mention], vectors: Vectors) -> Grounded:
    """Neighbouring characters of one concept as one word, where a script writes no spaces."""
    runs: list[tuple[int, int]] = []
    for at, word in enumerate(words):
        if at and _goes_on(words[at - 1], word):
            runs[-1] = runs[-1][0], at + 1
        else:
            runs.append((at, at + 1))
    if len(runs) == len(words):
        return Grounded(words, vectors)
    whole = [
        words[a]._replace(end=words[b - 1].end, text=text[words[a].begin : words[b - 1].end])
        for a, b in runs
    ]
    return Grounded(whole, _unit(np.stack([vectors[a:b].mean(axis=0) for a, b in runs])))


def agree_on_concepts(source: Grounded, candidate: Grounded, near: float) -> Agreement:
    """Which nouns of the source are kept, by which words, and which of the candidate are new.

    Pairs are made from the nearest on; a word of the candidate keeps one noun. A noun of the
    candidate is new if it keeps nothing and no word of the source is near to it.
    """
    nouns = source.nouns
    similar = source.vectors @ candidate.vectors.T
    left, right = np.nonzero(similar[nouns] >= near)
    order = np.argsort(-similar[nouns][left, right], kind="stable")
    partner: dict[int, int] = {}
    for i, j in zip(left[order].tolist(), right[order].tolist(), strict=True):
        if nouns[i] not in partner and j not in partner.values():
            partner[nouns[i]] = j
    matched = []
    for i, j in sorted(partner.items()):
        word, keeper = source.words[i], candidate.words[j]
        matched.append((word, keeper if keeper.ids else keeper._replace(ids=word.ids)))
    lost = [source.words[i] for i in nouns if i not in partner]
    known: list[bool] = np.any(similar >= near, axis=0).tolist()
    invented = [candidate.words[j] for j in candidate.nouns if not known[j]]
    return Agreement(matched, lost, invented)


def words_of(text: str) -> Places:
    """Where the words of a text begin and end; single characters where a script has no spaces."""
    return np.array([m.span() for m in WORD.finditer(text)], np.int64).reshape(-1, 2)


def fingerprint(folder: Path) -> str:
    """Eight hexadecimal digits that tell this inventory from another."""
    digest = hashlib.sha256()
    for name in FILES:
        digest.update((folder / name).read_bytes())
    return digest.hexdigest()[:8]


def _goes_on(before: Mention, word: Mention) -> bool:
    """Whether two characters that stand side by side are of one concept."""
    return (
        bool(word.ids)
        and before.ids == word.ids
        and before.end == word.begin
        and _is_single(before.text)
        and _is_single(word.text)
    )


def _is_single(word: str) -> bool:
    """Whether it is a character of a script that writes no spaces."""
    return _UNSPACED.match(word) is not None


def _unit(vectors: Vectors) -> Vectors:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(norms, 1e-30), dtype=np.float32)
