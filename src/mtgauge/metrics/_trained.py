"""What the trained metrics share: the model folder, the scale of a score and how to read it.

A model predicts the z-score that people would give (0 is the average translation of the judged
systems, 1 one standard deviation better). For a user that means little, so its card also holds a
calibration, fitted on held-out judgements: the mean 0-100 judgement at each prediction (never
falling), and between which values 80 % of single judgements there lie.

    regressor:scale=100        the calibrated mean judgement, 0 to 100
    metric.explain(segment)    z-score, 0-100, range and a plain-language band

Limits: the range is that of people's judgements of WMT news translation; other text, other range.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from mtgauge.data.segments import Segments
from mtgauge.errors import ResourceError
from mtgauge.metric import Explanation, FloatArray, Metric, Task
from mtgauge.metrics._references import MultiReference
from mtgauge.models import shipped

Scale = Literal["z", "100"]
WORST = -3.0  # training scores are cut there
BANDS = (
    (80.0, "good: most people see the meaning kept"),
    (65.0, "fair: meaning mostly kept, faults are seen"),
    (50.0, "weak: part of the meaning is lost"),
    (0.0, "poor: most people see the meaning lost"),
)


def model_folder(model: str, name: str) -> Path:
    """`embedded` is the model that comes with the package; anything else is a folder."""
    if model == "embedded":
        folder = shipped(name)
        if not folder.is_dir():
            raise ResourceError(
                f"This installation has no ready-made {name} model. Train one with "
                f"`mtgauge train {name}` and name its folder: {name}:model=DIR."
            )
        return folder
    folder = Path(model).expanduser()
    if not folder.is_dir():
        raise ResourceError(f"{name}: there is no model folder {model}. `mtgauge train` makes one.")
    return folder


def fingerprint(folder: Path) -> str:
    """First 16 hexadecimal digits of the SHA-256 over the folder's ONNX and tokenizer files."""
    digest = hashlib.sha256()
    for path in sorted([*folder.glob("*.onnx"), *folder.glob("tokenizer.json")]):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]


@cache
def open_folder(folder: Path, kind: str) -> TrainedFolder:
    """A model is opened once for all metrics of a process that name it."""
    return TrainedFolder(folder, kind)


class TrainedFolder:
    """What `mtgauge train` wrote: ONNX files and a card, checked before anything is scored."""

    def __init__(self, folder: Path, kind: str) -> None:
        self.folder = folder
        self._sessions: dict[str, Any] = {}
        path = folder / "card.json"
        try:
            self.card: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise ResourceError(
                f"{folder} has no card.json: it is no model, or its training has not ended. "
                "Run the same `mtgauge train` again; it goes on where it stopped."
            ) from None
        except ValueError as error:
            raise ResourceError(f"{path} is not JSON ({error}). Fetch the folder again.") from None
        if self.card.get("kind") != kind:
            raise ResourceError(f"{path} describes a {self.card.get('kind')}, not a {kind}.")
        found = fingerprint(folder)
        if found != self.card.get("fingerprint"):
            raise ResourceError(
                f"{folder} is not what its card describes: fingerprint {found}, the card says "
                f"{self.card.get('fingerprint')}. A file was cut or exchanged; fetch it again."
            )

    def session(self, name: str) -> Any:
        """The ONNX file of this name, opened on first use."""
        if name not in self._sessions:
            self._sessions[name] = self._open(name)
        return self._sessions[name]

    def _open(self, name: str) -> Any:
        import onnxruntime

        from mtgauge.encode.tokens.embedded import cores

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = cores()
        options.log_severity_level = 3
        path = self.folder / name
        try:
            return onnxruntime.InferenceSession(
                str(path), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # onnxruntime has one class per status, and no common base
            raise ResourceError(f"{path} cannot be loaded ({error}). Fetch it again.") from None

    def run(self, name: str, **inputs: NDArray[Any]) -> NDArray[np.float32]:
        """The one output of an ONNX file."""
        output: NDArray[np.float32] = self.session(name).run(None, inputs)[0]
        return output


def length_batches(lengths: NDArray[np.int64], budget: int) -> list[NDArray[np.int64]]:
    """Rows by length, longest first, in batches of at most `budget` padded tokens."""
    order = np.argsort(-lengths, kind="stable")
    batches, at = [], 0
    while at < len(order):
        size = max(1, budget // max(int(lengths[order[at]]), 1))
        batches.append(order[at : at + size])
        at += size
    return batches


class TrainedMetric(Metric):
    """Base of metrics that predict a human z-score with a model from a folder."""

    cost = "encoder"
    tolerance = 2e-3  # int8 activations round differently when a batch's padding changes

    def __init__(self, model: str, view: str, scale: Scale, multi_ref: MultiReference) -> None:
        self.model = model
        self.view = view
        self.scale = scale
        self.multi_ref = multi_ref

    @property
    def bounds(self) -> tuple[float, float]:
        return (0.0, 100.0) if self.scale == "100" else (-np.inf, np.inf)

    @property
    def worst(self) -> float:
        return 0.0 if self.scale == "100" else WORST

    def resolve(self, task: Task) -> Self:
        settled = super().resolve(task)
        if self.scale == "100":
            self._calibration  # noqa: B018  a model without one is refused now
        return settled

    @cached_property
    def folder(self) -> TrainedFolder:
        return open_folder(model_folder(self.model, self.name), self.name)

    @property
    def card(self) -> dict[str, Any]:
        return self.folder.card

    def predict(self, batch: Segments) -> FloatArray:
        """One z-score per segment, (n,)."""
        raise NotImplementedError

    def statistics(self, batch: Segments) -> FloatArray:
        if not len(batch):
            return np.empty((0, 1))
        z = self.predict(batch)
        return (self.calibrate(z) if self.scale == "100" else z)[:, None]

    def calibrate(self, z: FloatArray) -> FloatArray:
        """Mean human judgement, 0 to 100, at each predicted z-score."""
        table = self._calibration
        return np.interp(z, table["z"], table["mean"])

    @property
    def _calibration(self) -> dict[str, list[float]]:
        table: dict[str, list[float]] | None = self.card.get("calibration")
        if not table:
            raise ResourceError(
                f"The {self.name} model {self.model} has no calibration for scale=100: its "
                "validation data had no column raw (0 to 100). Use scale=z."
            )
        return table

    def versions(self) -> dict[str, str]:
        return {"fingerprint": self.card["fingerprint"]}

    def explain(self, segment: Segments) -> Explanation:
        z = float(self.predict(segment)[0])
        facts: dict[str, Any] = {"z": round(z, 4)}
        if self.card.get("calibration"):
            table = self._calibration
            mean = float(self.calibrate(np.array([z]))[0])
            low, high = (float(np.interp(z, table["z"], table[side])) for side in ("low", "high"))
            facts["0 to 100"] = round(mean, 1)
            facts["80 % of judgements lie between"] = [round(low), round(high)]
            facts["reading"] = next(text for least, text in BANDS if mean >= least)
        score = facts["0 to 100"] if self.scale == "100" else z
        return Explanation(self.name, score, facts=facts)
