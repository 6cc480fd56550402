"""Inverse document frequency of word pieces, for BERTScore, MoverScore and XMoverScore.

    idf(piece) = log((M + 1) / (df(piece) + 1))        of M texts df contain the piece

A piece that no text contains has log(M + 1). The texts are `off` (all weights 1), `references`
(those of the run, through `fit`) or a file, one per line. Where all weights of a text are 0, as
with a corpus of one text, they count as equal.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Self

import numpy as np

from mtgauge.data import readers
from mtgauge.data.segments import Segments
from mtgauge.encode.ragged import distinct
from mtgauge.encode.tokens.encoder import Tokens
from mtgauge.errors import ResourceError, UsageError
from mtgauge.metric import FloatArray, Task
from mtgauge.metrics._contextual import ContextualMetric
from mtgauge.metrics._presets import cleaner

BLOCK = 4096  # texts
Idf = Annotated[str, "weigh pieces that are rare in these texts more: off, references or a FILE"]
SourceIdf = Annotated[str, "weigh pieces of the source that are rare in a FILE more; off: alike"]
HypIdf = Annotated[str, "weigh pieces of the translation that are rare in a FILE more; off: alike"]


class IdfMixin(ContextualMetric):
    idf: str | None

    @property
    def idf_sources(self) -> list[str]:
        """What the weights of either side are learned from."""
        return [self.options.idf]

    @property
    def needs_corpus(self) -> bool:
        return "references" in self.idf_sources

    def check(self) -> None:
        super().check()
        if self.needs_corpus and self.side == "source":
            raise UsageError(f"{self.name} has no references: idf and hyp_idf are files of texts.")

    def resolve(self, task: Task) -> Self:
        settled = super().resolve(task)
        settled.read_idf()
        return settled

    def statistics(self, batch: Segments) -> FloatArray:
        # before the windows, whose units are made beside the encoder: one tokenizer, one thread
        self.read_idf()
        return super().statistics(batch)

    def read_idf(self) -> None:
        """Document frequencies of the files that are named, unless they are known."""
        for source in self._files():
            if source not in self.__dict__.get("_idf", {}):
                self.learn_idf(_read(source), source)

    def _files(self) -> list[str]:
        return [s for s in dict.fromkeys(self.idf_sources) if s not in ("off", "references")]

    def fit(self, references: Iterable[str]) -> None:
        self.learn_idf(references)

    def versions(self) -> dict[str, str]:
        """A file of texts is named by its digest."""
        digests = [hashlib.sha256("\n".join(_read(s)).encode()).hexdigest()[:8]
                   for s in self._files()]  # fmt: skip
        return super().versions() | ({"idf_sha256": "+".join(digests)} if digests else {})

    def learn_idf(self, texts: Iterable[str], source: str = "references") -> None:
        """Document frequencies of `texts`, kept as one weight per token id, by their source."""
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
        weights = self.idf_formula(counts, len(rows))
        self.__dict__["_idf"] = self.__dict__.get("_idf", {}) | {source: weights}

    def idf_formula(self, counts: FloatArray, texts: int) -> FloatArray:
        """Weights of pieces that so many of the texts contain."""
        return np.asarray(np.log((texts + 1) / (counts + 1)))

    def token_weights(self, tokens: Tokens, source: str) -> FloatArray:
        """One weight per token, by the texts that `source` names; special tokens have none."""
        if source == "off":
            return np.where(tokens.special, 0.0, 1.0)
        if source == "references" and source not in self.__dict__.get("_idf", {}):
            raise UsageError(f"{self.name}:idf=references must see the references first: call fit.")
        self.read_idf()  # of one segment, by `explain`
        known: dict[str, FloatArray] = self.__dict__["_idf"]
        return np.where(tokens.special, 0.0, known[source][tokens.ids])


def _read(source: str) -> list[str]:
    path = Path(source).expanduser()
    if not path.is_file():
        raise ResourceError(f"idf from {source}: there is no such file of texts.")
    return [text for _, text in readers.raw_lines(path, source)]
