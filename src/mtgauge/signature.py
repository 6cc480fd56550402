"""The signature: one line that makes a number reproducible, to paste into a paper.

    chrf|word_order:2|refs:1|lang:de-en|mtgauge:0.1.0|sacrebleu:2.6.0

`short` has the name, the options that differ from the defaults, facts of the run (number of
references, language pair) and the versions and models that move the number; `full` has every option
that applies. `restore` makes the same metric from either. A metric that is settled for its run
(`engine/ready.py`) signs what was used in place of every `auto`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from mtgauge import registry
from mtgauge._version import __version__
from mtgauge.errors import UsageError
from mtgauge.metric import Metric
from mtgauge.options import declared, format_value

Fields = dict[str, str]


@dataclass(frozen=True)
class Signature:
    """The parts of a signature, as text; `str` gives the short form."""

    name: str
    changed: Fields = field(default_factory=dict)  # options that differ from the defaults
    options: Fields = field(default_factory=dict)  # every option that applies
    facts: Fields = field(default_factory=dict)
    versions: Fields = field(default_factory=dict)
    asked: Fields = field(default_factory=dict)  # `changed`, before it was settled for a run

    @property
    def short(self) -> str:
        return _line(self.name, self.changed | self.facts | self.versions)

    @property
    def full(self) -> str:
        return _line(self.name, self.options | self.changed | self.facts | self.versions)

    @property
    def from_file(self) -> bool:
        """Whether the scores came with the data, and no metric of ours made them."""
        return self.facts.get("from") == "file"

    def __str__(self) -> str:
        return self.short


def sign(
    metric: Metric, facts: Mapping[str, str] | None = None, asked: Metric | None = None
) -> Signature:
    """The signature of a metric; `asked` is what it was before it was settled."""
    values = metric.params()
    applying = {k for k, option in declared(type(metric)).items() if option.in_force(values)}
    return Signature(
        metric.name,
        {k: format_value(v) for k, v in metric.changed().items()},
        {k: format_value(v) for k, v in values.items() if k in applying},
        dict(facts or {}),
        {"mtgauge": __version__, **metric.versions()},
        {k: format_value(v) for k, v in (asked or metric).changed().items()},
    )


def over(signatures: Sequence[Signature], lang: str) -> Signature:
    """The signature of a mean over language pairs.

    What was settled differently (BLEU's tokeniser) stands as it was asked for.
    """
    first = signatures[0]
    if all((s.changed, s.options) == (first.changed, first.options) for s in signatures):
        changed, options = first.changed, first.options
    else:
        changed = first.asked
        options = {k: v for k, v in first.options.items() if k in changed or _same(k, signatures)}
    versions = {
        key: "+".join(dict.fromkeys(s.versions[key] for s in signatures if key in s.versions))
        for key in dict.fromkeys(key for s in signatures for key in s.versions)
    }
    facts = first.facts | ({"lang": lang} if "lang" in first.facts else {})
    return replace(first, changed=changed, options=options, facts=facts, versions=versions)


def _same(key: str, signatures: Sequence[Signature]) -> bool:
    return len({s.options.get(key) for s in signatures}) == 1


def _line(name: str, fields: Fields) -> str:
    return "|".join([name, *(f"{k}:{registry.quote(v)}" for k, v in fields.items())])


def reread(short: str, full: str) -> Signature:
    """A signature from its two lines as they were written; which part is what is not known.

    >>> reread("bleu|refs:1", "bleu|max_order:4|refs:1").full
    'bleu|max_order:4|refs:1'
    """
    name, *_ = registry.split_quoted(short, "|", short)
    return Signature(name, options=_fields(full), facts=_fields(short))


def differences(mine: Signature, theirs: Signature) -> dict[str, tuple[str, str]]:
    """What two signatures say differently: {key: (mine, theirs)}, "-" where one is silent.

    >>> differences(reread("chrf", "chrf|beta:2|refs:1"), reread("chrf", "chrf|beta:3|refs:1"))
    {'beta': ('2', '3')}
    """
    one, other = ({"metric": s.name} | _fields(s.full) for s in (mine, theirs))
    return {
        key: (one.get(key, "-"), other.get(key, "-"))
        for key in one | other
        if one.get(key) != other.get(key)
    }


def _fields(line: str) -> Fields:
    _, *items = registry.split_quoted(line, "|", line)
    pairs = [item.partition(":") for item in items]
    return {key: registry.unquote(value) for key, _, value in pairs}


def restore(text: str) -> Metric:
    """The metric that wrote this signature, short or full.

    >>> restore("wer|tokenize:none|multi_ref:mean|refs:1|mtgauge:0.1.0").params()["multi_ref"]
    'mean'
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
