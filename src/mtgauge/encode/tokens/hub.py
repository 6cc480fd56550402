"""Encoders from the model hub or a local folder, through transformers (extra `hub`).

Any AutoModel family works: BERT, XLM (language ids are passed), XLM-R, DistilBERT, MPNet and
others. Fast tokenisers are used where there is one. The maximum length comes from the
configuration, not from the tokenizer's placeholder of 1e30. For families whose layers end in their
own norm the model is loaded only up to the layer that is used.

    encoder = HubEncoder("bert-base-multilingual-cased", EncoderSettings(device="auto"))
    encoder.encode(["Ein Satz."], layer=8, lang="de")

Device `auto` takes CUDA, then MPS, then the CPU; dtype `auto` takes bfloat16 on CUDA and float32
elsewhere. Weights are read from safetensors only: a pickle is refused.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from mtgauge.encode.load import EncoderSettings
from mtgauge.encode.ragged import IntArray, offsets_of
from mtgauge.encode.tokens.embedded import pack, word_begins
from mtgauge.encode.tokens.encoder import BoolArray, Encoder, Tokens, Vectors
from mtgauge.errors import ResourceError

# Families whose block k gives hidden state k whatever comes after: they may be cut there.
CUTTABLE = frozenset(
    "bert camembert distilbert electra mpnet roberta xlm xlm-roberta xlm-roberta-xl".split()
)


@dataclass(frozen=True)
class Place:
    device: str
    dtype: str


def _torch() -> Any:
    try:
        import torch
        import transformers  # noqa: F401
    except ImportError:
        raise ResourceError(
            "Hub models need torch and transformers: pip install 'mtgauge[hub]'. The embedded "
            "models need neither."
        ) from None
    return torch


def place(settings: EncoderSettings) -> Place:
    """Device and precision for these settings; a device that is not there is refused."""
    torch = _torch()
    device = settings.device
    has_mps = torch.backends.mps.is_available()
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "mps" if has_mps else "cpu"
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise ResourceError(f"Device {device} was asked for, but no CUDA GPU is there. Use cpu.")
    if device == "mps" and not has_mps:
        raise ResourceError("Device mps was asked for, but this machine has none. Use cpu.")
    try:
        torch.device(device)
    except RuntimeError:
        raise ResourceError(f"There is no device {device!r}: auto, cpu, cuda, mps.") from None
    dtype: str = settings.dtype
    if dtype == "auto":
        dtype = "bfloat16" if device.startswith("cuda") else "float32"
    return Place(device, dtype)


def out_of_memory() -> tuple[type[Exception], ...]:
    return (MemoryError, _torch().OutOfMemoryError)


@contextmanager
def plain_errors(spec: str) -> Iterator[None]:
    """Turn what the hub raises into one sentence that says what to do."""
    try:
        yield
    except Exception as error:  # several libraries are below, with no common base
        chain: list[str] = []
        cause: BaseException | None = error
        while cause is not None:
            chain.append(f"{type(cause).__name__} {cause}")
            cause = cause.__cause__ or cause.__context__
        story = " ".join(chain).lower()
        if "gated" in story:
            say = "is gated: accept its terms on the hub, and log in with `hf auth login`"
        elif "safetensors" in story and ("pickle" in story or "torch.load" in story):
            say = "has its weights as a pickle; convert them to safetensors"
        elif "couldn't connect" in story or "offline" in story or "localentrynotfound" in story:
            say = "is not in the local cache and the hub cannot be reached; give a folder instead"
        elif "404" in story or "not a valid model identifier" in story or "repositorynot" in story:
            say = "is neither a folder here nor a model on the hub; check the name"
        else:
            first = str(error).strip().splitlines()
            say = f"cannot be loaded: {first[0] if first else type(error).__name__}"
        raise ResourceError(f"Model {spec!r} {say}.") from error


@contextmanager
def quiet() -> Iterator[None]:
    """No chatter of transformers on loading (unused pooler, cut layers)."""
    from transformers.utils import logging

    level = logging.get_verbosity()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        logging.enable_progress_bar()


def load_config(spec: str) -> Any:
    _torch()
    from transformers import AutoConfig

    with plain_errors(spec), quiet():
        return AutoConfig.from_pretrained(spec)


def load_tokenizer(spec: str) -> Any:
    from transformers import AutoTokenizer

    with plain_errors(spec), quiet():
        return AutoTokenizer.from_pretrained(spec, use_fast=True)


def load_model(spec: str, config: Any, where: Place, causal: bool = False) -> Any:
    import torch
    from transformers import AutoModel, AutoModelForCausalLM

    family = AutoModelForCausalLM if causal else AutoModel
    with plain_errors(spec), quiet():
        model = family.from_pretrained(
            spec,
            config=config,
            use_safetensors=True,
            **{_dtype_keyword(): getattr(torch, where.dtype)},
        )
    return model.to(where.device).eval()


def _dtype_keyword() -> str:
    """What `from_pretrained` calls the precision; the older name is on its way out."""
    from transformers import __version__

    major, minor = map(int, __version__.split(".")[:2])
    return "dtype" if (major, minor) >= (4, 56) else "torch_dtype"


def maximum_length(config: Any, tokenizer: Any) -> int:
    """Longest input in tokens, special ones included."""
    limit = getattr(config, "max_position_embeddings", None) or 512
    if config.model_type in ("roberta", "camembert", "xlm-roberta", "xlm-roberta-xl"):
        limit -= config.pad_token_id + 1  # their positions start after the padding index
    elif config.model_type == "mpnet":
        limit -= 2  # as above, with a padding index that is 1 whatever the configuration says
    return int(min(limit, tokenizer.model_max_length))


def fingerprint(spec: str) -> str:
    """Hash of configuration, tokenizer and weight files (the ends of large ones)."""
    from transformers.utils import cached_file

    digest = hashlib.sha256()
    names = ["config.json", "tokenizer.json", "vocab.json", "merges.txt", "vocab.txt"]
    index = cached_file(
        spec, "model.safetensors.index.json", _raise_exceptions_for_missing_entries=False
    )
    if index is None:
        names.append("model.safetensors")
    else:
        names += sorted(set(json.loads(Path(index).read_text("utf-8"))["weight_map"].values()))
    for name in names:
        path = cached_file(spec, name, _raise_exceptions_for_missing_entries=False)
        if path is not None:
            digest.update(_ends(Path(path)))
    return digest.hexdigest()[:16]


def _ends(path: Path, size: int = 2**20) -> bytes:
    with path.open("rb") as file:
        head = file.read(size)
        length = path.stat().st_size
        file.seek(max(length - size, 0))
        return str(length).encode() + head + file.read(size)


class HubEncoder(Encoder):
    def __init__(self, spec: str, settings: EncoderSettings) -> None:
        self.place = place(settings)
        if self.place.device.startswith("cuda"):
            self.tokens_per_batch = 32768
        super().__init__(settings)
        self.name = spec
        self.config = load_config(spec)
        self.tokenizer = load_tokenizer(spec)
        self.layers = int(self.config.num_hidden_layers)
        self.default_layer = {"reference": self.layers, "source": self.layers}
        self.max_length = maximum_length(self.config, self.tokenizer)
        self.pad_id = self.tokenizer.pad_token_id or 0
        self.dtype = self.place.dtype
        self.uses_language = bool(getattr(self.config, "use_lang_emb", False))
        if self.uses_language:
            self.languages = tuple(self.config.lang2id)
        self.out_of_memory = out_of_memory()
        self._loaded: tuple[int, Any] | None = None

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
            model = load_model(self.name, config, self.place)
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
        return fingerprint(self.name)

    @cached_property
    def vocabulary(self) -> list[str]:
        return list(map(str, self.tokenizer.convert_ids_to_tokens(range(len(self.tokenizer)))))

    def tokenize(self, texts: Sequence[str]) -> Tokens:
        if not texts:
            return pack([])  # which transformers cannot do
        if not self.tokenizer.is_fast:
            return self._tokenize_slowly(texts)
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

    def _language_id(self, lang: str | None) -> int:
        known = self.config.lang2id
        if lang is None or lang not in known:
            raise ResourceError(
                f"{self.name} needs the language of each text, and {lang!r} is not one it knows: "
                f"{', '.join(sorted(known))}. Give the pair with -l, e.g. -l de-en."
            )
        return int(known[lang])
