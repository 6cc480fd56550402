"""The protocol of token encoders: texts in, ragged token vectors out.

An encoder turns n texts into `TokenVectors`: all tokens of all texts in one block with offsets, and
for every token its id, its characters in the text, whether it begins a word, whether it is special
([CLS], [SEP]), and its vector at the wanted layer (0 is the embedding output, -1 the last layer).

    encoder = load_encoder("embedded")
    vectors = encoder.encode(["Ein Satz.", "Noch einer."], layer=-1)
    vectors.vectors[vectors.offsets[1] : vectors.offsets[2]]       # rows of the second text

A subclass writes `tokenize` and `forward`; this class does the rest. Each distinct text is encoded
once, in batches by a budget of tokens (`batches.py`). Vectors of recent texts stay in a memory
window shared by all metrics of the process, and on disk where a cache folder is configured.

Limits: a text longer than `max_length` tokens is cut; `truncated` says which ones.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from string import punctuation
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mtgauge.encode.batches import run_batches
from mtgauge.encode.load import EncoderSettings
from mtgauge.encode.ragged import IntArray, distinct, offsets_of, ranges, take
from mtgauge.errors import UsageError

if TYPE_CHECKING:
    from mtgauge.encode.cache import DiskCache

Vectors = NDArray[np.float32]
BoolArray = NDArray[np.bool_]
ALIKE = 0.8  # of the longest text of a batch: shorter ones wait for the next
WORD_MARKS = ("▁", "Ġ", "##", "</w>")  # SentencePiece, byte-level BPE, WordPiece, XLM's BPE


@dataclass(frozen=True)
class Tokens:
    """Tokens of n texts, N in all."""

    offsets: IntArray  # (n + 1,)
    ids: IntArray  # (N,)
    spans: IntArray  # (N, 2): characters in the text; (0, 0) where unknown or special
    first: BoolArray  # (N,): begins a word
    special: BoolArray  # (N,)
    truncated: BoolArray  # (n,)

    def __len__(self) -> int:
        return len(self.offsets) - 1


@dataclass(frozen=True)
class TokenVectors(Tokens):
    vectors: Vectors  # (N, d)
    left_out: int = 0  # words without a vector (static encoders)

    def moved(self, vectors: Vectors) -> TokenVectors:
        """The same tokens with other vectors."""
        return TokenVectors(
            self.offsets,
            self.ids,
            self.spans,
            self.first,
            self.special,
            self.truncated,
            vectors,
            self.left_out,
        )


class Encoder:
    """Base of token encoders; see the module's docstring."""

    name: str
    fingerprint: str  # of weights and tokenizer
    dtype: str = "float32"  # precision of the computation; vectors are float32 always
    layers: int
    max_length: int
    pad_id: int = 0
    languages: tuple[str, ...] = ()  # empty: not stated
    lowercase: bool = False  # the model's advice
    default_layer: dict[str, int]  # {"reference": ..., "source": ...}
    turned: int = 0  # last numbers of a source's vectors that change sign across languages
    unrelated: Mapping[str, float] = MappingProxyType({})  # constants of metrics/_unrelated.py
    remaps: Path | None = None  # folder of remaps that it brings: word/ and sentence/
    uses_language: bool = False  # whether `lang` changes the vectors (XLM)
    out_of_memory: tuple[type[Exception], ...] = (MemoryError,)
    tokens_per_batch: int = 4096
    parallel: int = 1  # batches at a time
    stays: bool = False  # whether vectors stay on the device that made them (`device.py`)
    window: int = 1024  # pairs of texts that a metric encodes at a time
    ahead: int = 1  # windows that may wait for their comparison meanwhile

    def __init__(self, settings: EncoderSettings) -> None:
        self.settings = settings
        if settings.tokens_per_batch:
            self.tokens_per_batch = settings.tokens_per_batch
        self._window: OrderedDict[tuple[str, str], Vectors] = OrderedDict()
        self._window_bytes = 0
        self._lock = threading.RLock()  # a server may ask from several threads

    def turn(self, vectors: Vectors) -> Vectors:
        """A source's vectors, with the numbers that stand for its language turned."""
        if not self.turned:
            return vectors
        signs = np.ones(vectors.shape[1], np.float32)
        signs[-self.turned :] = -1
        return vectors * signs

    # what a subclass writes

    def tokenize(self, texts: Sequence[str]) -> Tokens:
        raise NotImplementedError

    def forward(
        self, ids: IntArray, mask: IntArray, layers: tuple[int, ...], lang: str | None
    ) -> list[Vectors]:
        """The wanted layers of a padded batch, each (batch, length, d), float32."""
        raise NotImplementedError

    def rows(
        self, ids: IntArray, inside: BoolArray, layers: tuple[int, ...], lang: str | None
    ) -> list[Vectors]:
        """The wanted layers at the real tokens of a padded batch, each (tokens, d), float32."""
        outputs = self.forward(ids, inside.astype(np.int64), layers, lang)
        return [output[inside] for output in outputs]

    @property
    def vocabulary(self) -> list[str]:
        """Token strings by id."""
        raise NotImplementedError

    # what it gets for that

    def encode(
        self,
        texts: Sequence[str],
        layer: int | tuple[int, ...] = -1,
        lang: str | None = None,
    ) -> TokenVectors:
        """Token vectors of `texts`; several layers are joined by `power_means`."""
        layers = self.resolve(layer)
        unique, index = distinct(texts)
        tokens = self.tokenize(unique)
        names = [self._key(text, layers, lang) for text in unique]
        with self._lock:
            found = self._recall(names)
            missing = np.array([i for i, n in enumerate(names) if n not in found], dtype=np.int64)
            for batch, blocks in run_batches(
                self,
                np.diff(tokens.offsets)[missing],
                lambda batch: self._run(tokens, missing[batch], layers, lang),
                ALIKE,
            ):
                found |= {names[i]: b for i, b in zip(missing[batch], blocks, strict=True)}
            self._remember([(names[i], found[names[i]]) for i in missing])
        rows, offsets = take(tokens.offsets, index)
        wanted = [found[names[i]] for i in index]
        vectors = np.concatenate(wanted) if wanted else np.empty((0, 0), np.float32)
        return TokenVectors(
            offsets,
            tokens.ids[rows],
            tokens.spans[rows],
            tokens.first[rows],
            tokens.special[rows],
            tokens.truncated[index],
            vectors,
        )

    def encode_in_place(
        self, texts: Sequence[str], layer: int | tuple[int, ...] = -1, lang: str | None = None
    ) -> TokenVectors:
        """As `encode`; where `stays` says so, vectors are left on the device."""
        return self.encode(texts, layer, lang)

    def resolve(self, layer: int | tuple[int, ...]) -> tuple[int, ...]:
        """Layer numbers from 0 to `layers`; negative ones count from the end."""
        wanted = (layer,) if isinstance(layer, int) else tuple(layer)
        for number in wanted:
            if not -self.layers - 1 <= number <= self.layers:
                raise UsageError(
                    f"{self.name} has layers 0 (embeddings) to {self.layers}; there is no "
                    f"layer {number}."
                )
        return tuple(n if n >= 0 else self.layers + 1 + n for n in wanted)

    @cached_property
    def punctuation(self) -> BoolArray:
        """By token id: is the token one ASCII punctuation mark?"""
        return np.array([strip_marks(t) in set(punctuation) for t in self.vocabulary], dtype=bool)

    # batching

    def _run(
        self, tokens: Tokens, texts: IntArray, layers: tuple[int, ...], lang: str | None
    ) -> list[Vectors]:
        """Vectors of each of the texts, which make one batch."""
        ids, inside, _ = self.padded(tokens, texts)
        packed = self.rows(ids, inside, layers, lang)
        rows = packed[0] if len(packed) == 1 else power_means(packed)
        return np.split(rows, offsets_of(inside.sum(axis=1))[1:-1])

    def padded(self, tokens: Tokens, texts: IntArray) -> tuple[IntArray, BoolArray, IntArray]:
        """Ids of the texts as one batch, which of them are tokens, and the rows of those."""
        starts = tokens.offsets[texts]
        lengths = tokens.offsets[texts + 1] - starts
        inside = np.arange(lengths.max()) < lengths[:, None]
        rows = ranges(starts, lengths)
        ids = np.full(inside.shape, self.pad_id, dtype=np.int64)
        ids[inside] = tokens.ids[rows]
        return ids, inside, rows

    # memory window and disk cache

    def forget(self) -> None:
        """Empty the memory window."""
        with self._lock:
            self._window.clear()
            self._window_bytes = 0

    def _key(self, text: str, layers: tuple[int, ...], lang: str | None) -> tuple[str, str]:
        where = ";".join(map(str, layers)) + (f"@{lang}" if self.uses_language else "")
        return where, text

    @cached_property
    def _disk(self) -> DiskCache | None:
        if self.settings.cache is None:
            return None
        from mtgauge.encode.cache import DiskCache

        identity = f"{self.fingerprint}/{self.dtype}"
        return DiskCache(self.settings.cache, identity, self.settings.cache_gb)

    def _recall(self, names: list[tuple[str, str]]) -> dict[tuple[str, str], Vectors]:
        found = {name: self._window[name] for name in names if name in self._window}
        for name in found:
            self._window.move_to_end(name)
        if self._disk is not None:
            read = self._disk.get([name for name in names if name not in found])
            self._keep(read.items())
            found |= read
        return found

    def _remember(self, fresh: list[tuple[tuple[str, str], Vectors]]) -> None:
        self._keep(fresh)
        if self._disk is not None:
            self._disk.put(fresh)

    def _keep(self, items: Iterable[tuple[tuple[str, str], Vectors]]) -> None:
        limit = int(self.settings.memory_gb * 2**30)
        for name, rows in items if limit else ():
            # A copy, since a view of one text would keep its whole batch alive.
            self._window[name] = rows.copy()
            self._window_bytes += rows.nbytes
        while self._window_bytes > limit and self._window:
            _, old = self._window.popitem(last=False)
            self._window_bytes -= old.nbytes


def power_means(layers: Sequence[Vectors]) -> Vectors:
    """(N, 3d): minimum, mean and maximum over layers, each layer's rows scaled to length 1."""
    stack = np.stack([x / (np.linalg.norm(x, axis=1, keepdims=True) + 1e-30) for x in layers])
    parts = [stack.min(axis=0), stack.mean(axis=0), stack.max(axis=0)]
    return np.concatenate(parts, axis=1).astype(np.float32)


def strip_marks(token: str) -> str:
    """A token string without the marks of word begin and continuation."""
    for mark in WORD_MARKS:
        if len(token) > len(mark):
            token = token.removeprefix(mark).removesuffix(mark)
    return token
