"""Presets: a metric whose published versions disagree names each one, and pins its switches.

A switch left at None takes its value from the preset; one that is given wins over it. `params()`
shows the values in force, so the signature spells out every switch whatever the preset says.

    class Example(PresetMetric):
        presets = {"default": {"ngram": 1}, "paper": {"ngram": 2}}
        def __init__(self, preset: str = "default", ngram: int | None = None) -> None:
            self.preset, self.ngram = preset, ngram

    Example(preset="paper").options.ngram        # 2
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, ClassVar

from mtgauge.errors import UsageError
from mtgauge.metric import Metric


class PresetMetric(Metric):
    presets: ClassVar[dict[str, dict[str, Any]]]
    preset: str

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        plain = super().defaults()
        return cls._resolve(plain, plain["preset"])

    def params(self) -> dict[str, Any]:
        return self._resolve({key: getattr(self, key) for key in self.defaults()}, self.preset)

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
