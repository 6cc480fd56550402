"""Aligned word vectors as a token encoder: one store per language, all in one space.

    encoder = StaticEncoder.from_spec("static:de=wiki.de.vectors;en=wiki.en.vectors")
    encoder = StaticEncoder.from_spec("static:RCSLS")     a folder of de.vectors, en.vectors, ...
    encoder.encode(["Ein Satz."], lang="de")

Vectors aligned by MUSE or RCSLS (fasttext.cc publishes them for 44 languages) put translations near
each other, so XMoverScore runs on them as on a multilingual encoder. Make a store of each file with
`mtgauge vectors convert`. A token is a word or a mark, lower-cased; words without a vector are left
out. There is one layer, number 0, and no context: a word has the same vector everywhere.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from string import punctuation

import numpy as np

from mtgauge.encode.load import EncoderSettings
from mtgauge.encode.ragged import offsets_of
from mtgauge.encode.tokens.encoder import BoolArray, Encoder, Tokens, TokenVectors
from mtgauge.encode.words.store import WordVectors
from mtgauge.errors import ResourceError, UsageError

_TOKEN = re.compile(r"\w+|[^\w\s]")


class StaticEncoder(Encoder):
    layers = 0
    lowercase = False  # words are looked up in lower case, texts may stay as they are
    uses_language = True

    def __init__(self, stores: dict[str, WordVectors], settings: EncoderSettings) -> None:
        super().__init__(settings)
        widths = {lang: store.dimensions for lang, store in stores.items()}
        if len(set(widths.values())) != 1:
            raise ResourceError(
                f"Static vectors of one encoder have one size, not {widths}: were they aligned?"
            )
        self.stores = stores
        self.languages = tuple(stores)
        self.default_layer = {"reference": 0, "source": 0}
        self.max_length = 2**31 - 1
        self.name = "static:" + ";".join(sorted(stores))
        prints = [f"{lang}={store.fingerprint}" for lang, store in sorted(stores.items())]
        self.fingerprint = hashlib.sha256(";".join(prints).encode()).hexdigest()[:16]
        self._numbers: dict[str, int] = {}

    @classmethod
    def from_spec(cls, spec: str) -> StaticEncoder:
        """From `static:LANG=FOLDER;LANG=FOLDER`, or a folder that holds LANG.vectors of each."""
        stores: dict[str, WordVectors] = {}
        where = spec.removeprefix("static:")
        whole = Path(where).expanduser()
        if "=" not in where and whole.is_dir():
            found = sorted(whole.glob("*.vectors"))
            where = ";".join(f"{path.stem}={path}" for path in found)
        for item in where.split(";"):
            lang, equals, folder = item.partition("=")
            if not equals or not lang or not folder:
                raise UsageError(
                    f"encoder={spec!r}: write static:LANG=FOLDER;LANG=FOLDER, for example "
                    "static:de=de.vectors;en=en.vectors, in single quotes; or name a folder that "
                    "holds de.vectors, en.vectors and so on."
                )
            stores[lang] = WordVectors.open(Path(folder).expanduser())
        return cls(stores, EncoderSettings())

    @property
    def vocabulary(self) -> list[str]:
        """Words met so far, by number."""
        return list(self._numbers)

    @property
    def punctuation(self) -> BoolArray:
        return np.array([word in set(punctuation) for word in list(self._numbers)], dtype=bool)

    def tokenize(self, texts: Sequence[str]) -> Tokens:
        found = [list(_TOKEN.finditer(text)) for text in texts]
        words = [match.group().lower() for row in found for match in row]
        numbers = self._numbers
        ids = np.array([numbers.setdefault(w, len(numbers)) for w in words], dtype=np.int64)
        spans = np.array([m.span() for row in found for m in row], dtype=np.int64).reshape(-1, 2)
        return Tokens(
            offsets_of([len(row) for row in found]),
            ids,
            spans,
            np.ones(len(ids), dtype=bool),
            np.zeros(len(ids), dtype=bool),
            np.zeros(len(texts), dtype=bool),
        )

    def encode(
        self, texts: Sequence[str], layer: int | tuple[int, ...] = -1, lang: str | None = None
    ) -> TokenVectors:
        self.resolve(layer)
        if lang is None or lang not in self.stores:
            raise ResourceError(
                f"{self.name} has no vectors for {lang!r}. Give the pair with -l, e.g. -l de-en, "
                "and a store for both languages."
            )
        tokens = self.tokenize(texts)
        names = list(self._numbers)
        distinct, where = np.unique(tokens.ids, return_inverse=True)
        rows = self.stores[lang].rows([names[i] for i in distinct])[where]
        known = np.flatnonzero(rows >= 0)
        text = np.repeat(np.arange(len(tokens)), np.diff(tokens.offsets))[known]
        return TokenVectors(
            offsets_of(np.bincount(text, minlength=len(tokens))),
            tokens.ids[known],
            tokens.spans[known],
            tokens.first[known],
            tokens.special[known],
            tokens.truncated,
            self.stores[lang].take(rows[known]),
            left_out=len(rows) - len(known),
        )
