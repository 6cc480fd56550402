"""Encoders and language models by name, and the settings that hold for the whole process.

    configure(device="cpu", cache="~/.cache/mtgauge")
    load_encoder("embedded")              # or a folder, a hub id, static:LANG=FILE;LANG=FILE
    load_language_model("embedded")       # or a folder, a hub id
    load_language_model("ngrams", "fi")   # piece pairs of one language

A model is loaded once and shared by all metrics that name it, so a text that two metrics need is
encoded once. `configure` drops loaded models if a setting has changed.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakSet

from mtgauge.encode.model_folder import model_folder
from mtgauge.errors import UsageError
from mtgauge.models import shipped

if TYPE_CHECKING:
    from mtgauge.encode.lm import LanguageModel
    from mtgauge.encode.tokens.encoder import Encoder

_CLASSES = {  # imported when they are wanted: some need torch
    ("encoder", "onnx"): "tokens.embedded.OnnxEncoder",
    ("encoder", "torch"): "tokens.restored.RestoredEncoder",
    ("encoder", "hub"): "tokens.hub.HubEncoder",
    ("fluency", "onnx"): "lm.OnnxLanguageModel",
    ("fluency", "torch"): "lm_restored.RestoredLanguageModel",
    ("fluency", "hub"): "lm.HubLanguageModel",
}
DTYPES = ("auto", "float32", "bfloat16", "float16")


@dataclasses.dataclass(frozen=True)
class EncoderSettings:
    device: str = "auto"  # auto, cpu, cuda, cuda:N, mps; auto: embedded models on the CPU
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    cache: str | None = None  # folder of the disk cache; None: no disk cache
    cache_gb: float = 4.0  # oldest vectors are dropped beyond this size
    memory_gb: float = 1.5  # vectors kept in memory, shared by the metrics of a run
    tokens_per_batch: int = 0  # 0: the model's own choice
    remember: Literal["run", "shard"] = "run"  # whether a shard may meet vectors of another one


_settings = EncoderSettings()
_loaded: WeakSet[Encoder | LanguageModel] = WeakSet()


def current_settings() -> EncoderSettings:
    return _settings


def configure(**changes: object) -> EncoderSettings:
    """Set fields of `EncoderSettings` for this process."""
    global _settings
    unknown = changes.keys() - {f.name for f in dataclasses.fields(EncoderSettings)}
    if unknown:
        raise UsageError(f"encode.configure has no setting {', '.join(sorted(unknown))}.")
    new = dataclasses.replace(_settings, **changes)  # type: ignore[arg-type]
    if new.dtype not in DTYPES:
        raise UsageError(f"dtype {new.dtype!r} is not one of {', '.join(DTYPES)}.")
    if new != _settings:
        _settings = new
        load_encoder.cache_clear()
        load_language_model.cache_clear()
    return _settings


@contextlib.contextmanager
def configured(**changes: object) -> Iterator[None]:
    """Settings for the time of a `with` block."""
    before = _settings
    configure(**changes)
    try:
        yield
    finally:
        configure(**dataclasses.asdict(before))


def forget_texts() -> None:
    """Drop vectors and scores of texts that models keep in memory, where a shard must stand alone.

    In torch a text's vectors differ in the last bits by the texts beside it: a run that is taken up
    again would write other bits if it met vectors of an earlier shard.
    """
    if _settings.remember == "shard":
        for model in _loaded:
            model.forget()


@lru_cache(maxsize=4)
def load_encoder(spec: str) -> Encoder:
    """`embedded`, a folder, a hub id, or `static:LANG=FILE;LANG=FILE`."""
    if spec.startswith("static:"):
        from mtgauge.encode.tokens.static import StaticEncoder

        return StaticEncoder.from_spec(spec)
    found: Encoder = _opened(spec, "encoder")
    return found


@lru_cache(maxsize=8)
def load_language_model(spec: str, lang: str | None = None) -> LanguageModel:
    """`embedded`, a folder, a hub id of a causal language model, or `ngrams` of a language."""
    if spec == "ngrams":
        from mtgauge.encode.ngrams import PiecePairs

        pairs = PiecePairs(shipped("ngrams"), lang, _settings)
        _loaded.add(pairs)
        return pairs
    found: LanguageModel = _opened(spec, "fluency")
    return found


def _opened(spec: str, kind: str) -> Any:
    """The model of this kind, in the way in which it runs here."""
    folder = model_folder(spec, kind)
    way = "hub" if folder is None else "torch" if _in_torch(folder) else "onnx"
    module, _, name = _CLASSES[kind, way].rpartition(".")
    found = getattr(import_module(f"mtgauge.encode.{module}"), name)(folder or spec, _settings)
    _loaded.add(found)
    return found


def _in_torch(folder: Path) -> bool:
    """Whether a model that onnxruntime runs on the CPU is to run on a GPU, and can in torch."""
    from mtgauge.encode.onnx_weights import restorable

    return _settings.device not in ("auto", "cpu") and restorable(folder)
