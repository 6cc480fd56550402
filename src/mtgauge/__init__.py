"""mtgauge measures machine translation quality.

    import mtgauge
    result = mtgauge.score(hypotheses={"a": [...]}, references=[...], metrics=["bleu", "chrf"])
    result["bleu"]["a"].score

The public names are below; each is imported when it is first used, so that importing mtgauge costs
a program nothing.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from mtgauge._version import __version__

if TYPE_CHECKING:
    from mtgauge import metrics, train
    from mtgauge.data.judgements import Judgements
    from mtgauge.data.segments import Segments
    from mtgauge.engine.explain import explain
    from mtgauge.engine.local import score
    from mtgauge.engine.rerank import rerank
    from mtgauge.registry import load
    from mtgauge.report.api import meta, probe
    from mtgauge.report.notebook import compare

__all__ = [
    "Judgements",
    "Segments",
    "__version__",
    "compare",
    "explain",
    "load",
    "meta",
    "metrics",
    "probe",
    "rerank",
    "score",
    "train",
]

_HOMES = {
    "Judgements": "mtgauge.data.judgements",
    "Segments": "mtgauge.data.segments",
    "compare": "mtgauge.report.notebook",
    "explain": "mtgauge.engine.explain",
    "load": "mtgauge.registry",
    "meta": "mtgauge.report.api",
    "probe": "mtgauge.report.api",
    "rerank": "mtgauge.engine.rerank",
    "score": "mtgauge.engine.local",
    "show": "mtgauge.report.notebook",  # how results show themselves
}


def public(name: str) -> Any:
    """What a public name stands for, imported now."""
    return getattr(import_module(_HOMES[name]), name)


class CallableFolder(ModuleType):
    """A folder that has the name of a public function, and stands in for it."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        return public(self.__name__.rpartition(".")[2])(*args, **options)


def __getattr__(name: str) -> Any:
    if name in ("compare", "meta", "metrics", "train"):  # folders; two can be called
        return import_module(f"mtgauge.{name}")
    if name in _HOMES:
        return public(name)
    raise AttributeError(f"module 'mtgauge' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
