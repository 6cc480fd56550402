"""What the trained metrics share: the scale of a score and how to read it.

A model predicts the z-score that people would give (0 is the average translation of the judged
systems, 1 one standard deviation better). For a user that means little, so its card also holds a
calibration, fitted on held-out judgements: the mean 0-100 judgement at each prediction (never
falling), and between which values 80 % of single judgements there lie.

    regressor:scale=100        the calibrated mean judgement, 0 to 100
    metric.explain(segment)    z-score, 0-100, range, a plain-language band, words that cost

Limits: the range is that of people's judgements of WMT news translation; other text, other range.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import Annotated, Any, Literal, Self

import numpy as np

from mtgauge.data.segments import Segments
from mtgauge.encode.model_folder import ModelFolder, open_trained
from mtgauge.errors import ResourceError
from mtgauge.explanation import Explanation
from mtgauge.metric import FloatArray, Task, Untranslated
from mtgauge.metrics._omission import UNIT, omissions
from mtgauge.metrics._references import MultiReference
from mtgauge.metrics._unrelated import ReferenceFree

ModelName = Annotated[str, "trained model: embedded, or a folder that mtgauge train made"]
Scale = Annotated[
    Literal["z", "100"], "z-scores of people (0: average), or the 0-100 grade that goes with them"
]
WORST = -3.0  # training scores are cut there
BANDS = (
    (80.0, "good: most people see the meaning kept"),
    (65.0, "fair: meaning mostly kept, faults are seen"),
    (50.0, "weak: part of the meaning is lost"),
    (0.0, "poor: most people see the meaning lost"),
)


class TrainedMetric(ReferenceFree):
    """Base of metrics that predict a human z-score with a model from a folder."""

    cost = "encoder"
    tolerance = 2e-3  # int8 activations round differently when a batch's padding changes

    model: str
    view: str
    scale: Scale
    multi_ref: MultiReference
    untranslated: Untranslated

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
    def folder(self) -> ModelFolder:
        return open_trained(self.model, self.name)

    @property
    def card(self) -> dict[str, Any]:
        return self.folder.card

    @property
    def training(self) -> str:
        """On how much a model of one's own was trained, in words; "" of a shipped one."""
        segments = self.card.get("data", {}).get("train_segments")
        if self.model == "embedded" or not segments:
            return ""
        epochs = self.card["epochs"]
        times = "1 epoch" if epochs == 1 else f"{epochs} epochs"
        said = f"{sum(segments.values()):,} training segments, {times}"
        if (seeds := len(self.card.get("seeds", ()))) > 1:
            said += f"; the best of {seeds} seeds by validation"
            if tested := self.card.get("test_by_seed"):
                mean, deviation = tested["mean"], tested["deviation"]
                said += f", their mean on test data {mean:.3f}, deviation {deviation:.3f}"
        return said

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
        alone = segment.take([0])
        z = float(self.predict(alone)[0])
        facts: dict[str, Any] = {"z": round(z, 4)}
        remarks = [f"z-score {z:.2f}: 0 is the average translation that people judged."]
        if self.card.get("calibration"):
            table = self._calibration
            mean = float(self.calibrate(np.array([z]))[0])
            low, high = (float(np.interp(z, table["z"], table[side])) for side in ("low", "high"))
            facts["0 to 100"] = round(mean, 1)
            facts["80 % of judgements lie between"] = [round(low), round(high)]
            facts["reading"] = next(text for least, text in BANDS if mean >= least)
            remarks.append(
                f"People gave such translations {mean:.0f} of 100 on average, and four in five "
                f"judgements lay between {low:.0f} and {high:.0f}. In short, {facts['reading']}."
            )
        answers = self.answers(alone)
        if len(answers) > 1:
            facts["answers"] = answers
            told = ", ".join(
                f"{view} {value:.2f}" + (f" ({n} times)" if n > 1 else "")
                for (view, value), n in Counter(answers).items()
            )
            remarks.append(f"The z-score is the mean of these answers: {told}.")
        score = z if self.scale == "z" else float(self.calibrate(np.array([z]))[0])
        findings, remark = omissions(self, alone)
        return Explanation(
            self.name,
            score,
            facts=facts,
            findings=findings,
            unit=UNIT if findings else "",
            remarks=(*remarks, remark),
        )

    def answers(self, alone: Segments) -> list[tuple[str, float]]:
        """The answers (view, z-score) whose mean is the z-score, where a model gives several."""
        return []
