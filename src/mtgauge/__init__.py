"""mtgauge measures machine translation quality.

    import mtgauge
    result = mtgauge.score(hypotheses={"a": [...]}, references=[...], metrics=["bleu", "chrf"])
    result["bleu"]["a"].score
"""

from mtgauge import metrics
from mtgauge._version import __version__
from mtgauge.data.segments import Segments
from mtgauge.engine.local import score
from mtgauge.registry import load

__all__ = ["Segments", "__version__", "load", "metrics", "score"]
