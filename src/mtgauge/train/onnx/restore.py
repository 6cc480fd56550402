"""The embedded models back in torch: from ONNX, safetensors of a run, or int8 rows.

    encoder = load_encoder(Path("models/encoder/model.onnx"))      # or student.safetensors, .npz
    model = load_causal(Path("models/fluency/model.onnx"))         # or fluency.safetensors

From an ONNX file (`encode/onnx_weights.py`) the torch model gives what onnxruntime gives, up to
rounding.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from torch import Tensor

from mtgauge.encode.onnx_weights import restored
from mtgauge.encode.transformer import Causal, Encoder
from mtgauge.errors import ResourceError
from mtgauge.train.nets.weights import load_rows, load_weights

Model = TypeVar("Model", Encoder, Causal)
STUDENT = "encoder."  # prefix of the encoder among the weights of its training


def load_encoder(path: Path) -> Encoder:
    """An encoder from an ONNX file, or from the safetensors of its training."""
    if path.suffix == ".onnx":
        return restored(path, Encoder)
    weights, shape = load_weights(path)
    own = {k.removeprefix(STUDENT): v for k, v in weights.items() if k.startswith(STUDENT)}
    return _filled(Encoder(shape), own, path)


def load_causal(path: Path) -> Causal:
    """A language model from an ONNX file, or from the safetensors of its training."""
    if path.suffix == ".onnx":
        return restored(path, Causal)
    weights, shape = load_weights(path)
    return _filled(Causal(shape), weights, path)


def _filled(model: Model, weights: dict[str, Tensor], path: Path) -> Model:
    try:
        model.load_state_dict(weights)
    except RuntimeError:
        raise ResourceError(f"{path} holds no {type(model).__name__} but another model.") from None
    return model


def student_weights(path: Path) -> dict[str, Tensor]:
    """What an encoder's training goes on from: its own weights, or those of an encoder alone."""
    if path.suffix not in (".npz", ".onnx"):
        return load_weights(path)[0]
    alone = load_rows([path]) if path.suffix == ".npz" else load_encoder(path).state_dict()
    return {STUDENT + name: value for name, value in alone.items()}
