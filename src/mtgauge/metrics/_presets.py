"""Presets: a metric whose published versions disagree names each one, and pins its switches.

A switch left at None takes its value from the preset; one that is given wins over it. `params()`
shows the values in force, so the signature spells out every switch whatever the preset says.

    @metric("example")
    class Example(PresetMetric):
        presets = {"default": {"ngram": 1}, "paper": {"ngram": 2}}
        preset: Literal["default", "paper"] = "default"
        ngram: int | None = None

    Example(preset="paper").options.ngram        # 2

`cleaner` is how text is prepared by the switches `unescape` and `lowercase`, which most of them
have: `lowercase=auto` follows the card of the model.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Annotated, Any, ClassVar, Literal

from mtgauge.data.checks import unescape
from mtgauge.errors import UsageError
from mtgauge.metric import Metric

PRESET = "version of the metric, which sets the options that are not given"
Case = Annotated[
    Literal["auto", "on", "off"], "read all text in lower case; auto: if the model was trained so"
]
Unescape = Annotated[bool, "read HTML escapes such as &amp; as what they stand for"]


class PresetMetric(Metric):
    presets: ClassVar[dict[str, dict[str, Any]]]
    preset: str

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        plain = super().defaults()
        return cls._resolve(plain, plain["preset"])

    def baseline(self) -> dict[str, Any]:
        return self._resolve(super().defaults(), self.preset) | {"preset": self.preset}

    def params(self) -> dict[str, Any]:
        return self._resolve(super().params(), self.preset)

    def changed(self) -> dict[str, Any]:
        usual = self.defaults()["preset"]
        return ({"preset": self.preset} if self.preset != usual else {}) | super().changed()

    @property
    def options(self) -> SimpleNamespace:
        """The parameters in force, as attributes."""
        return SimpleNamespace(**self.params())

    @classmethod
    def _resolve(cls, values: dict[str, Any], preset: str) -> dict[str, Any]:
        if preset not in cls.presets:
            raise UsageError(
                f"{cls.name} has no preset {preset!r}. There are: {', '.join(cls.presets)}."
            )
        pinned = cls.presets[preset]
        return {k: pinned.get(k) if v is None else v for k, v in values.items()}


def settled_case(choice: Case, *advice: bool) -> Case:
    """`choice`, or for "auto" what all models advise; "auto" still where they disagree."""
    if choice != "auto" or len(set(advice)) != 1:
        return choice
    return "on" if advice[0] else "off"


def cleaner(options: SimpleNamespace, advice: bool) -> Callable[[str], str]:
    """The text as a model sees it: HTML escapes undone (some are double), case by option."""
    lower = advice if options.lowercase == "auto" else options.lowercase == "on"

    def clean(text: str) -> str:
        if options.unescape:
            text = unescape(text)
        return text.lower() if lower else text

    return clean
