"""Models of transformers, from the hub or a local folder (extra `hub`): found, checked, loaded.

    config = load_config("bert-base-multilingual-cased")
    model = load_model("bert-base-multilingual-cased", config, place(EncoderSettings()))

Device `auto` takes CUDA, then MPS, then the CPU; dtype `auto` takes bfloat16 on CUDA and float32
elsewhere. No code of a model folder is run, weights are read from safetensors only (a pickle is
refused), and a checkpoint that lacks weights of its model is refused: they would be random.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from mtgauge.encode.load import EncoderSettings
from mtgauge.errors import ResourceError


@dataclass(frozen=True)
class Place:
    device: str
    dtype: str


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        raise ResourceError(
            "Hub models, and all models on a GPU, need torch: pip install 'mtgauge[hub]'. The "
            "embedded models need nothing more on the CPU."
        ) from None
    return torch


def _need_transformers() -> None:
    try:
        import transformers  # noqa: F401
    except ImportError:
        raise ResourceError(
            "Hub models need transformers: pip install 'mtgauge[hub]'. The embedded models do not."
        ) from None


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


class FromHub:
    """What encoders and language models of transformers have in common."""

    name: str
    place: Place
    config: Any
    tokenizer: Any
    max_length: int
    out_of_memory: tuple[type[Exception], ...]

    def open_hub(self, spec: str, settings: EncoderSettings) -> None:
        """Configuration and tokenizer; the weights are loaded by who knows how many layers."""
        self.name = spec
        self.place = place(settings)
        self.config = load_config(spec)
        self.tokenizer = load_tokenizer(spec)
        self.max_length = maximum_length(self.config, self.tokenizer)
        self.out_of_memory = out_of_memory()

    @cached_property
    def vocabulary(self) -> list[str]:
        return list(map(str, self.tokenizer.convert_ids_to_tokens(range(len(self.tokenizer)))))


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
        elif "trust_remote_code" in story:
            say = "brings Python code of its own, and mtgauge runs no code of a model"
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
    _need_transformers()
    from transformers import AutoConfig

    with plain_errors(spec), quiet():
        return AutoConfig.from_pretrained(spec, trust_remote_code=False)


def load_tokenizer(spec: str) -> Any:
    from transformers import AutoTokenizer

    with plain_errors(spec), quiet():
        return AutoTokenizer.from_pretrained(spec, use_fast=True, trust_remote_code=False)


def load_model(spec: str, config: Any, where: Place, causal: bool = False) -> Any:
    import torch
    from transformers import AutoModel, AutoModelForCausalLM

    family = AutoModelForCausalLM if causal else AutoModel
    with plain_errors(spec), quiet():
        model, report = family.from_pretrained(
            spec,
            config=config,
            trust_remote_code=False,
            use_safetensors=True,
            output_loading_info=True,
            **{_dtype_keyword(): getattr(torch, where.dtype)},
        )
    # A pooler is never used here; anything else that is missing would be random numbers.
    missing = sorted(name for name in report["missing_keys"] if "pooler" not in name)
    if missing:
        some = ", ".join([*missing[:3], *(["..."] if len(missing) > 3 else [])])
        raise ResourceError(
            f"The checkpoint {spec!r} lacks {len(missing)} weights of its model ({some}): they "
            "would be random. Does its config.json belong to it?"
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
    """Hash of configuration, tokenizer and weight files."""
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
            with Path(path).open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:16]
