"""Texts to vectors: encoders of tokens and sentences, language models, remapping.

    encoder.py   the protocol: texts in, ragged token vectors out; batching, memory, disk cache
    embedded.py  models in a folder (model.onnx, tokenizer.json, card.json) on onnxruntime
    hub.py       transformers models by hub id or local folder
    static.py    aligned word vectors as a token encoder
    sentence.py  one vector a sentence
    fluency.py   target-side language models
    remap.py     CLP and UMD; align.py finds the word pairs they are fitted on
    units.py     tokens to the units that metrics compare (filters, words, n-grams)

`configure` sets what holds for the whole process: device, precision, cache folder.

    from mtgauge import encode
    encode.configure(device="cpu", cache="~/.cache/mtgauge")
    vectors = encode.load_encoder("embedded").encode(["Guten Morgen."], layer=-1)

An encoder is loaded once and shared by all metrics that name it, so a text that two metrics need
is encoded once.
"""

from __future__ import annotations

import dataclasses
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from mtgauge.errors import UsageError
from mtgauge.models import shipped

if TYPE_CHECKING:
    from mtgauge.encode.lm import LanguageModel
    from mtgauge.encode.tokens.encoder import Encoder

__all__ = ["Settings", "configure", "load_encoder", "load_language_model", "settings"]

DTYPES = ("auto", "float32", "bfloat16", "float16")


@dataclasses.dataclass(frozen=True)
class Settings:
    device: str = "auto"  # auto, cpu, cuda, cuda:N, mps (hub models only)
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    cache: str | None = None  # folder of the disk cache; None: no disk cache
    cache_gb: float = 4.0  # oldest vectors are dropped beyond this size
    memory_gb: float = 1.5  # vectors kept in memory, shared by the metrics of a run
    tokens_per_batch: int = 0  # 0: 4,096 on a CPU, 32,768 on a GPU


settings = Settings()


def configure(**changes: object) -> Settings:
    """Set fields of `Settings` for this process; loaded models are dropped if one changed."""
    global settings
    unknown = changes.keys() - {f.name for f in dataclasses.fields(Settings)}
    if unknown:
        raise UsageError(f"encode.configure has no setting {', '.join(sorted(unknown))}.")
    new = dataclasses.replace(settings, **changes)  # type: ignore[arg-type]
    if new.dtype not in DTYPES:
        raise UsageError(f"dtype {new.dtype!r} is not one of {', '.join(DTYPES)}.")
    if new != settings:
        settings = new
        load_encoder.cache_clear()
        load_language_model.cache_clear()
    return settings


@lru_cache(maxsize=4)
def load_encoder(spec: str) -> Encoder:
    """`embedded`, a folder, a hub id, or `static:LANG=FILE;LANG=FILE`."""
    if spec.startswith("static:"):
        from mtgauge.encode.tokens.static import StaticEncoder

        return StaticEncoder.from_spec(spec)
    folder = model_folder(spec, "encoder")
    if folder is not None:
        from mtgauge.encode.tokens.embedded import OnnxEncoder

        return OnnxEncoder(folder, settings)
    from mtgauge.encode.tokens.hub import HubEncoder

    return HubEncoder(spec, settings)


@lru_cache(maxsize=4)
def load_language_model(spec: str) -> LanguageModel:
    """`embedded`, a folder, or a hub id of a causal language model."""
    folder = model_folder(spec, "fluency")
    if folder is not None:
        from mtgauge.encode.lm import OnnxLanguageModel

        return OnnxLanguageModel(folder, settings)
    from mtgauge.encode.lm import HubLanguageModel

    return HubLanguageModel(spec, settings)


def model_folder(spec: str, kind: str) -> Path | None:
    """The folder of an ONNX model that `spec` names; None: `spec` is for transformers."""
    if spec == "embedded":
        return shipped(kind)
    folder = Path(spec).expanduser()
    return folder if folder.is_dir() and not (folder / "config.json").exists() else None
