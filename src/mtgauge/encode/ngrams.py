"""The embedded piece pairs: which piece of a word follows which, counted per target language.

    log p(w | v) = log p_vw              where the pair v w was kept
                   b_v + log p_w         elsewhere                    (Kneser and Ney 1995)
    odds(w | v)  = log p(w | v) - log f_w                             cut to [-2, 4]

f_w is how frequent the piece w is by itself, so a rare word is no fault of a text. The mean of the
odds over a text is the syntactic log-odds ratio of Pauls and Klein (2012), or how much neighbours
tell of each other: whether pieces stand side by side as they do in the language. Uncut, the second
half of a rare name would count more than the rest of its sentence.

    model = load_language_model("ngrams", "fi")
    model.logprobs(["Kissa istui matolla."])
    model.odds(["Kissa istui matolla."])

The folder's card.json (kind "ngrams") names the encoder's tokenizer by its SHA-256, and the file of
every language by its own. LANG.safetensors holds, for V pieces,

    counts    (V,) uint16   kept pairs that begin with v
    followers (k,) uint16   the w of these pairs, rising under each v
    gains     (k,) uint8    (log p_vw - log p_w) / STEP, from -MIDDLE
    backoff   (V,) uint8    -b_v / STEP
    rarity    (V,) uint8    -log p_w / STEP
    alone     (V,) uint8    -log f_w / STEP

`recipes/ngrams.py` makes it. Limits: it looks one piece back and at no source, so a fluent text
about anything else is good to it; little of its text is news.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mtgauge.data.seal import sha256_of
from mtgauge.encode.card import read_card
from mtgauge.encode.lm import ODDS, FloatArray, LanguageModel
from mtgauge.encode.load import EncoderSettings
from mtgauge.encode.model_folder import names_by_number, read_tokenizer
from mtgauge.encode.ragged import IntArray
from mtgauge.encode.tokens.encoder import Tokens
from mtgauge.encode.tokens.encodings import pack
from mtgauge.errors import LanguageError, ResourceError
from mtgauge.models import shipped

if TYPE_CHECKING:
    from tokenizers import Tokenizer

STEP = 0.1  # nats; what is rounded off vanishes in the mean over a text
MIDDLE = 64  # the number that stands for a gain of nothing
ALL_PIECES = 1 << 30  # of a text are read at once: there is no window


class PiecePairs(LanguageModel):
    """Piece pairs of one language."""

    lowercase = True

    def __init__(self, folder: Path, lang: str | None, settings: EncoderSettings) -> None:
        super().__init__(settings)
        card = read_card(folder / "card.json", "ngrams")
        self.name, self.fingerprint = card["name"], card["fingerprint"]
        self.languages = tuple(card["languages"])
        self.max_length = ALL_PIECES
        if lang not in card["languages"]:
            asked = f"the language {lang}" if lang else "a target language that nobody named (-l)"
            raise LanguageError(
                f"{self.name} has no piece pairs of {asked}. "
                f"It knows: {' '.join(self.languages)}. Use lm=embedded or lm=off."
            )
        self._read(folder / f"{lang}.safetensors", card["languages"][lang])
        self._tokenizer_sha256 = card["tokenizer_sha256"]

    def _read(self, path: Path, digest: str) -> None:
        from safetensors.numpy import load_file

        _check(path, digest)
        found = load_file(path)
        contexts = np.arange(len(found["counts"]))
        self._pairs = np.repeat(contexts, found["counts"]) << 16 | found["followers"]
        self._gains = (found["gains"].astype(np.float32) - MIDDLE) * STEP
        self._backoff, self._log_p, self._log_f = (
            found[name].astype(np.float32) * -STEP for name in ("backoff", "rarity", "alone")
        )

    @cached_property
    def tokenizer(self) -> Tokenizer:
        return _tokenizer(self._tokenizer_sha256)

    @cached_property
    def vocabulary(self) -> list[str]:
        return names_by_number(self.tokenizer)

    def token_ids(self, texts: Sequence[str], bos: bool) -> list[list[int]]:
        return [e.ids for e in self.tokenizer.encode_batch(list(texts), add_special_tokens=bos)]

    def pieces(self, text: str) -> Tokens:
        return pack(self.tokenizer.encode_batch([text], add_special_tokens=False))

    def forward(self, ids: IntArray, lengths: IntArray) -> NDArray[np.float32]:
        left, right = ids[:, :-1], ids[:, 1:]
        pairs = left << 16 | right
        at = np.searchsorted(self._pairs, pairs) % len(self._pairs)
        kept = self._pairs[at] == pairs
        by_context = np.where(kept, self._gains[at], self._backoff[left])
        return np.asarray(self._log_p[right] + by_context, dtype=np.float32)

    def odds(self, texts: Sequence[str], bos: bool = True) -> tuple[FloatArray, IntArray]:
        values, offsets = self.logprobs(texts, bos)
        rows = self.token_ids(texts, bos)
        scored = np.fromiter((i for ids in rows for i in ids[1:]), np.int64, len(values))
        return np.clip(values - self._log_f[scored], *ODDS), offsets


@cache
def _tokenizer(digest: str) -> Tokenizer:
    """The encoder's tokenizer, one for all languages."""
    path = shipped("encoder") / "tokenizer.json"
    _check(path, digest)
    return read_tokenizer(path)


def _check(path: Path, digest: str) -> None:
    """Refuse a file that is missing, was cut or exchanged."""
    if not path.is_file() or sha256_of(path) != digest:
        raise ResourceError(
            f"{path} is missing, or not what the card of the piece pairs describes. "
            "Install mtgauge again."
        )
