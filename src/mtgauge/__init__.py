"""mtgauge measures machine translation quality."""

from mtgauge import metrics
from mtgauge._version import __version__
from mtgauge.data.segments import Segments
from mtgauge.registry import load

__all__ = ["Segments", "__version__", "load", "metrics"]
