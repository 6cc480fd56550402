"""mtgauge measures machine translation quality.

    import mtgauge
    result = mtgauge.score(hypotheses={"a": [...]}, references=[...], metrics=["bleu", "chrf"])
    result["bleu"]["a"].score

The public names are below; each is imported when it is first used, so that importing mtgauge costs
a program nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mtgauge._version import __version__

if TYPE_CHECKING:
    from mtgauge import metrics, train
    from mtgauge.data.segments import Segments
    from mtgauge.engine.local import score
    from mtgauge.registry import load

__all__ = ["Segments", "__version__", "load", "metrics", "score", "train"]

_HOMES = {
    "Segments": "mtgauge.data.segments",
    "load": "mtgauge.registry",
    "score": "mtgauge.engine.local",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in ("metrics", "train"):
        return import_module(f"mtgauge.{name}")
    raise AttributeError(f"module 'mtgauge' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
