"""The signature: one line that makes a number reproducible, to paste into a paper.

    chrf|beta:2|char_order:6|word_order:0|...|refs:1|mtgauge:0.1.0|sacrebleu:2.6.0

Name, every parameter (defaults too, since a default may change), facts of the run (number of
references, language pair, truncated texts) and the versions that move the number. `restore` makes
the same metric from it.
"""

from __future__ import annotations

from collections.abc import Mapping

from mtgauge import registry
from mtgauge._version import __version__
from mtgauge.errors import UsageError
from mtgauge.metric import Metric


def signature(metric: Metric, facts: Mapping[str, str] | None = None) -> str:
    fields = {k: registry.format_value(v) for k, v in metric.params().items()}
    fields |= {k: v for k, v in (facts or {}).items() if k not in fields}
    fields |= {"mtgauge": __version__, **metric.versions()}
    return "|".join([metric.name, *(f"{k}:{registry.quote(v)}" for k, v in fields.items())])


def restore(text: str) -> Metric:
    """The metric that wrote this signature.

    >>> restore("wer|tokenize:none|case:off|multi_ref:best|refs:1|mtgauge:0.1.0").name
    'wer'
    """
    name, *items = registry.split_quoted(text, "|", text)
    known = registry.get(name).defaults()
    pairs = [item.partition(":") for item in items]
    if not all(separator for _, separator, _ in pairs):
        raise UsageError(f"{text!r} is not a signature: expected name|key:value|...")
    values = ",".join(
        f"{key}={registry.quote(registry.unquote(value))}"
        for key, _, value in pairs
        if key in known
    )
    return registry.load(name + (":" + values if values else ""))
