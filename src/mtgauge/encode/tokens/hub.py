"""Encoders from the model hub or a local folder, through transformers (extra `hub`).

Any AutoModel family works: BERT, XLM (language ids are passed), XLM-R, DistilBERT, MPNet and
others. Fast tokenisers are used where there is one. For families whose layers end in their own norm
the model is loaded only up to the layer that is used. How models are loaded: `encode/hub.py`. On
a GPU vectors stay there (`device.py`), and models of BERT's build run without padding
(`packed.py`).

    encoder = HubEncoder("bert-base-multilingual-cased", EncoderSettings(device="auto"))
    encoder.encode(["Ein Satz."], layer=8, lang="de")
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from mtgauge.encode import hub
from mtgauge.encode.hub import FromHub
from mtgauge.encode.load import EncoderSettings
from mtgauge.encode.ragged import IntArray, offsets_of
from mtgauge.encode.tokens.device import TOKENS, DeviceEncoder
from mtgauge.encode.tokens.encoder import BoolArray, Tokens, Vectors
from mtgauge.encode.tokens.encodings import pack, word_begins
from mtgauge.encode.tokens.packed import packed, packs
from mtgauge.errors import ResourceError

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from torch import Tensor

    from mtgauge.encode.transformer import Encoder, Ragged

# Families whose block k gives hidden state k whatever comes after: they may be cut there.
CUTTABLE = frozenset(
    "bert camembert distilbert electra mpnet roberta xlm xlm-roberta xlm-roberta-xl".split()
)


class HubEncoder(FromHub, DeviceEncoder):
    def __init__(self, spec: str, settings: EncoderSettings) -> None:
        self.open_hub(spec, settings)
        if self.place.device.startswith("cuda"):
            self.tokens_per_batch = TOKENS
        super().__init__(settings)
        self.layers = int(self.config.num_hidden_layers)
        self.default_layer = {"reference": self.layers, "source": self.layers}
        self.pad_id = self.tokenizer.pad_token_id or 0
        self.dtype = self.place.dtype
        self.uses_language = bool(getattr(self.config, "use_lang_emb", False))
        if self.uses_language:
            self.languages = tuple(self.config.lang2id)
        self.pads = not packs(self.config)
        self._loaded: tuple[int, Any] | None = None
        self._packed: tuple[Any, Encoder] | None = None

    def _model(self, depth: int) -> Any:
        """The model, at least `depth` layers of it."""
        if self._loaded is None or self._loaded[0] < depth:
            config = copy.deepcopy(self.config)
            # One layer at least: transformers 5 records the embeddings as what layer 1 is given.
            depth = max(depth, 1)
            if config.model_type in CUTTABLE:
                config.num_hidden_layers = depth
            else:
                depth = self.layers
            model = hub.load_model(self.name, config, self.place)
            size = model.get_input_embeddings().weight.shape[0]
            if len(self.tokenizer) > size:
                raise ResourceError(
                    f"The tokenizer of {self.name!r} has {len(self.tokenizer)} tokens and the "
                    f"model {size}: they do not belong together."
                )
            self._loaded = depth, model
        return self._loaded[1]

    @cached_property
    def fingerprint(self) -> str:  # type: ignore[override]
        return hub.fingerprint(self.name)

    def tokenize(self, texts: Sequence[str]) -> Tokens:
        if not texts:
            return pack([])  # which transformers cannot do
        if not self.tokenizer.is_fast:
            return self._tokenize_slowly(texts)
        if self._by_word is not None:
            return self._by_word(texts)
        batch = self.tokenizer(
            list(texts),
            truncation=True,
            max_length=self.max_length,
            return_overflowing_tokens=False,
            return_offsets_mapping=True,
            return_special_tokens_mask=True,
        )
        return pack(batch.encodings)

    def _tokenize_slowly(self, texts: Sequence[str]) -> Tokens:
        """For families without a fast tokenizer (XLM): words from the piece marks, no spans."""
        full = [self.tokenizer(t, truncation=False)["input_ids"] for t in texts]
        cut = [
            self.tokenizer(t, truncation=True, max_length=self.max_length)["input_ids"]
            for t in texts
        ]
        offsets = offsets_of([len(row) for row in cut])
        ids = np.array([i for row in cut for i in row], dtype=np.int64)
        special = np.isin(ids, self.tokenizer.all_special_ids)
        pieces = [self.vocabulary[i] for i in ids]
        ends = np.array([p.endswith("</w>") for p in pieces], dtype=bool) | special
        return Tokens(
            offsets,
            ids,
            np.zeros((len(ids), 2), dtype=np.int64),
            word_begins(np.cumsum(ends) - ends, offsets),
            special,
            np.array([len(f) > len(c) for f, c in zip(full, cut, strict=True)], dtype=bool),
        )

    def forward(
        self, ids: IntArray, mask: IntArray, layers: tuple[int, ...], lang: str | None
    ) -> list[Vectors]:
        return [x.float().cpu().numpy() for x in self._states(ids, mask, layers, lang)]

    def rows(
        self, ids: IntArray, inside: BoolArray, layers: tuple[int, ...], lang: str | None
    ) -> list[Vectors]:
        import torch

        # Padding stays on the device, and so does half of each number where it is float16.
        states = self._states(ids, inside.astype(np.int64), layers, lang)
        real = torch.from_numpy(np.flatnonzero(inside)).to(self.place.device)
        return [x.flatten(0, 1).index_select(0, real).cpu().float().numpy() for x in states]

    def _states(
        self, ids: IntArray, mask: IntArray, layers: tuple[int, ...], lang: str | None
    ) -> list[Any]:
        """The wanted layers on the device, each (batch, length, d)."""
        import torch

        model = self._model(max(layers))
        inputs = {"input_ids": torch.from_numpy(ids), "attention_mask": torch.from_numpy(mask)}
        if self.uses_language:
            inputs["langs"] = torch.full(ids.shape, self._language_id(lang))
        here = {name: x.to(self.place.device) for name, x in inputs.items()}
        with torch.inference_mode():
            states = model(**here, output_hidden_states=True).hidden_states
        return [states[number] for number in layers]

    # on the device

    @property
    def backend(self) -> Tokenizer | None:
        if not self.tokenizer.is_fast:
            return None
        backend: Tokenizer = self.tokenizer.backend_tokenizer
        # transformers sets both anew whenever it uses the tokenizer itself
        backend.enable_truncation(self.max_length)
        backend.no_padding()
        return backend

    def states(self, batch: Ragged, layers: tuple[int, ...], lang: str | None) -> list[Tensor]:
        model = self._model(max(layers))
        if self.pads:
            return self._padded(model, batch, layers, lang)
        if self._packed is None or self._packed[0] is not model:
            self._packed = model, packed(model, model.config)
        found = self._packed[1](batch, depth=max(layers))
        return [found[number] for number in layers]

    def _padded(
        self, model: Any, batch: Ragged, layers: tuple[int, ...], lang: str | None
    ) -> list[Tensor]:
        """By transformers, which wants rows of one length; real tokens alone are handed on."""
        import torch

        length = min(-(-batch.longest // 8) * 8, self.max_length)
        step = torch.arange(length, device=self.place.device)
        inside = step < batch.lengths[:, None]
        at = (batch.start[:-1, None] + step).clamp(max=len(batch.ids) - 1)
        ids = torch.where(inside, batch.ids[at], self.pad_id).long()
        inputs = {"input_ids": ids, "attention_mask": inside.long()}
        if self.uses_language:
            inputs["langs"] = torch.full_like(ids, self._language_id(lang))
        states = model(**inputs, output_hidden_states=True).hidden_states
        real = batch.row * length + batch.position
        return [states[number].flatten(0, 1).index_select(0, real) for number in layers]

    def _language_id(self, lang: str | None) -> int:
        known = self.config.lang2id
        if lang is None or lang not in known:
            raise ResourceError(
                f"{self.name} needs the language of each text, and {lang!r} is not one it knows: "
                f"{', '.join(sorted(known))}. Give the pair with -l, e.g. -l de-en."
            )
        return int(known[lang])
