"""Weights on disk: safetensors of a run, and int8 rows (.npz) that travel light.

    save(model, shape, path)             an embedded model, fp16, its shape in the header
    load_weights(path)                   what `save` wrote: tensors and shape
    save_trained(path, model, facts)     what a metric's training moved, fp16, with its facts
    load_trained(path, model)            put that into a model; what its card says of it
    quantise_rows(weights), load_rows    matrices as int8 with one scale per row

A file is written under another name first: a kill while writing leaves the old one in place.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from mtgauge.encode.transformer import Shape
from mtgauge.errors import ResourceError, UsageError

Arrays = dict[str, NDArray[np.generic]]
TRAINED = "weights.safetensors"  # of a metric, in its folder
KEPT_FACTS = ("steps", "epochs", "seconds", "mean", "warm")  # of an earlier run, for the card


def write_tensors(
    path: Path, tensors: Mapping[str, Tensor], header: Mapping[str, str] | None = None
) -> None:
    """All of the file or nothing of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".fresh")
    whole = {name: t.detach().contiguous().clone().cpu() for name, t in tensors.items()}
    save_file(whole, fresh, metadata={"format": "pt", **(header or {})})
    os.replace(fresh, path)


def _read(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Tensors in float32, and the header."""
    with safe_open(path, "pt") as stored:
        names = stored.keys()
        return {name: stored.get_tensor(name).float() for name in names}, stored.metadata() or {}


def save(model: nn.Module, shape: Shape, path: Path) -> None:
    half = {name: value.half() for name, value in model.state_dict().items()}
    write_tensors(path, half, {"shape": json.dumps(asdict(shape))})


def load_weights(path: Path) -> tuple[dict[str, Tensor], Shape]:
    """What `save` wrote, in float32."""
    try:
        tensors, header = _read(path)
        return tensors, Shape(**json.loads(header["shape"]))
    except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
        raise ResourceError(
            f"{path} holds no weights of `mtgauge train encoder` or `fluency` ({error})."
        ) from None


def save_trained(path: Path, model: nn.Module, facts: Mapping[str, Any]) -> None:
    half = {n: p.half() for n, p in model.named_parameters() if p.requires_grad}
    write_tensors(path, half, {"facts": json.dumps(facts)})


def load_trained(path: str | Path, model: nn.Module) -> dict[str, Any]:
    """Put stored weights (a file, or the folder of a run) into a model; what its card says."""
    path = Path(path)
    if path.is_dir():
        path = path / TRAINED
    try:
        tensors, header = _read(path)
    except (OSError, SafetensorError) as error:
        raise ResourceError(f"{path} cannot be read ({error}).") from None
    own = model.state_dict()
    lacking = [n for n, p in model.named_parameters() if p.requires_grad and n not in tensors]
    strange = [n for n, t in tensors.items() if n not in own or own[n].shape != t.shape]
    if lacking or strange:
        raise UsageError(
            f"{path} is of another model ({', '.join([*lacking, *strange][:3])}, ...): "
            "say the same --pool, --head, --hidden, --views and --freeze-embeddings."
        )
    model.load_state_dict(tensors, strict=False)
    facts = json.loads(header.get("facts", "{}"))
    return {"warm": {name: facts[name] for name in KEPT_FACTS if name in facts}}


def quantise_rows(weights: Mapping[str, NDArray[np.float32]]) -> Arrays:
    """Matrices to int8 with one scale per row (`NAME.scale`); vectors stay fp16."""
    out: Arrays = {}
    for name, value in weights.items():
        if value.ndim == 2 and min(value.shape) > 1:
            scale = np.maximum(np.abs(value).max(1, keepdims=True), 1e-8) / 127
            out[name] = np.round(value / scale).astype(np.int8)
            out[name + ".scale"] = scale[:, 0].astype(np.float32)
        else:
            out[name] = value.astype(np.float16)
    return out


def load_rows(paths: Sequence[Path]) -> dict[str, Tensor]:
    """What `quantise_rows` made, from one file or several, as fp32 tensors."""
    stored: Arrays = {}
    for path in paths:
        try:
            with np.load(path, allow_pickle=False) as part:
                stored |= {name: part[name] for name in part.files}
        except (OSError, EOFError, zipfile.BadZipFile, ValueError) as error:
            raise ResourceError(
                f"{path} holds no stored weights ({error}): `mtgauge train teacher` and the "
                "scripts in recipes/ write such files."
            ) from None
    out = {}
    for name, value in stored.items():
        if not name.endswith(".scale"):
            tensor = torch.from_numpy(np.ascontiguousarray(value)).float()
            if name + ".scale" in stored:
                tensor *= torch.from_numpy(stored[name + ".scale"].astype(np.float32))[:, None]
            out[name] = tensor
    return out
