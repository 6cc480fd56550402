"""Inverse document frequency of word pieces, for BERTScore and MoverScore.

    idf(piece) = log((M + 1) / (df(piece) + 1))        of M texts df contain the piece

A piece that no text contains has log(M + 1). The texts are `off` (all weights 1), `references`
(those of the run, through `fit`) or a file, one a line. Where all weights of a text are 0, as with
a corpus of one text, they count as equal.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from mtgauge.data import readers
from mtgauge.data.segments import Segments
from mtgauge.encode.ragged import distinct
from mtgauge.encode.tokens.encoder import Tokens
from mtgauge.errors import ResourceError, UsageError
from mtgauge.metric import FloatArray
from mtgauge.metrics._contextual import ContextualMetric, cleaner

BLOCK = 4096  # texts


class IdfMixin(ContextualMetric):
    idf: str | None

    @property
    def idf_sources(self) -> list[str]:
        """What the weights of either side are learned from."""
        return [self.options.idf]

    @property
    def needs_corpus(self) -> bool:
        return "references" in self.idf_sources

    def statistics(self, batch: Segments) -> FloatArray:
        # before the windows, whose units are made beside the encoder: one tokenizer, one thread
        for source in self.idf_sources:
            if source not in ("off", "references", *self.__dict__.get("_idf", {})):
                self.learn_idf(_read(source), source)
        return super().statistics(batch)

    def learn_idf(self, texts: Iterable[str], source: str = "references") -> None:
        """Document frequencies of `texts`, kept as one weight a token id, by their source."""
        clean = cleaner(self.options, self.model.lowercase)
        rows = [clean(text) for text in texts]
        counts = np.zeros(len(self.model.vocabulary))
        for start in range(0, len(rows), BLOCK):
            unique, index = distinct(rows[start : start + BLOCK])
            tokens = self.model.tokenize(unique)
            times = np.bincount(index, minlength=len(unique))
            text = np.repeat(np.arange(len(tokens)), np.diff(tokens.offsets))
            pairs = np.unique(np.stack([text, tokens.ids]), axis=1)
            np.add.at(counts, pairs[1], times[pairs[0]])
        known: dict[str, FloatArray] = self.__dict__.setdefault("_idf", {})
        known[source] = np.log((len(rows) + 1) / (counts + 1))

    def token_weights(self, tokens: Tokens, source: str) -> FloatArray:
        """One weight a token, by the texts that `source` names; special tokens have none."""
        if source == "off":
            return np.where(tokens.special, 0.0, 1.0)
        known: dict[str, FloatArray] = self.__dict__.setdefault("_idf", {})
        if source not in known:
            if source == "references":
                raise UsageError(
                    f"{self.name}:idf=references must see the references first: call fit."
                )
            self.learn_idf(_read(source), source)  # of one segment, by `explain`
        return np.where(tokens.special, 0.0, known[source][tokens.ids])


def _read(source: str) -> list[str]:
    path = Path(source).expanduser()
    if not path.is_file():
        raise ResourceError(f"idf from {source}: there is no such file of texts.")
    return [text for _, text in readers.raw_lines(path, source)]
