"""Texts to vectors: encoders of tokens and sentences, language models, remapping.

load.py          models by name; settings of the process (device, precision, cache)
model_folder.py  folders of ONNX models; card.py checks card.json, runtime.py runs onnxruntime
shared.py        tables that a model takes from another one of the package
batches.py       texts in batches by a budget of tokens
ragged.py        rows of all texts in one block, with offsets
cache.py         vectors on disk between runs
lm.py            target-side language models
tokens/          token encoders: embedded, hub, static; units of comparison; pairs as one input
words/           static word vectors: stores, files of other programs, look-up
sentence/        one vector per text
remap/           CLP and UMD, and the word pairs that they are fitted on

from mtgauge import encode
encode.configure(device="cpu", cache="~/.cache/mtgauge")
vectors = encode.load_encoder("embedded").encode(["Guten Morgen."], layer=-1)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mtgauge.encode.load import EncoderSettings, configure, load_encoder, load_language_model

__all__ = ["EncoderSettings", "configure", "load_encoder", "load_language_model"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from mtgauge.encode import load

    return getattr(load, name)
