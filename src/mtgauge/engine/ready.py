"""One way to make a metric ready: load, resolve, check, fit.

    found = make_ready("bleu", Task(frozenset({"reference"}), "de-en"), references=lambda: texts)
    found.metric          settled: nothing about it changes any more
    found.signature       known before the first segment

Every command that scores comes through here: score, meta, explain, probe, training of a blend.
Wrong usage (an option, a missing side) is refused with a UsageError, a missing model with a
ResourceError, a language that the metric cannot serve with a LanguageError, which a run notes in
that cell: `serve` sorts a list of specs into those that are ready and those that cannot be served.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mtgauge import registry
from mtgauge.data.seal import text_digest
from mtgauge.encode.load import current_settings
from mtgauge.errors import LanguageError, UsageError
from mtgauge.metric import Metric, Task
from mtgauge.signature import Signature, sign

References = Callable[[], Iterable[str]]
_FLAGS = {"source": "a source (-s FILE)", "reference": "a reference (-r FILE)"}


@dataclass(frozen=True)
class Order:
    """All that a metric was made ready from: another process makes the same one (`places.py`)."""

    spec: str
    task: Task
    references: tuple[str, ...] = ()  # what it was fitted on; nothing where it learns nothing
    number: int = 1
    facts: Mapping[str, str] = field(default_factory=dict)

    def make(self) -> Ready:
        return make_ready(
            self.spec,
            self.task,
            references=lambda: self.references,
            number=self.number,
            facts=self.facts,
        )


@dataclass(frozen=True)
class Ready:
    """A metric that is settled for a run, and fitted where it must be."""

    spec: str
    metric: Metric
    signature: Signature
    corpus: str = ""  # digest of the references that it was fitted on
    order: Order | None = None  # None: it cannot be made again (scores of other tools)


def make_ready(
    spec: str | Metric,
    task: Task,
    *,
    references: References | None = None,
    number: int = 1,
    facts: Mapping[str, str] | None = None,
) -> Ready:
    """The metric for a run with these sides and languages.

    `references` gives all references of the test set, for metrics that are fitted on them, and
    `number` says how many a segment has; `facts` is what else the signature tells of the run.
    """
    asked = spec if isinstance(spec, Metric) else registry.load(spec)
    name = spec if isinstance(spec, str) else registry.spec_of(spec)
    asked.check()
    _refuse_missing(name, asked.needs - task.sides)
    metric = asked.resolve(task)
    _refuse_missing(name, metric.needs - task.sides)
    metric.check()  # what does nothing in this run is refused too
    corpus, texts = "", []
    if metric.needs_corpus:
        if references is None:
            raise UsageError(f"{name} learns from all references of a test set: none are here.")
        texts = list(references())
        corpus = text_digest(texts).hex()
        metric.fit(texts)
    signed = {"refs": str(number)} if "reference" in metric.needs else {}
    signed |= {"lang": task.lang or "none", **(facts or {})}
    order = Order(name, task, tuple(texts), number, dict(facts or {}))
    return Ready(name, metric, sign(metric, signed, asked), corpus, order)


def serve(
    specs: Sequence[str],
    task: Task,
    *,
    references: References | None = None,
    number: int = 1,
    facts: Mapping[str, str] | None = None,
) -> tuple[dict[str, Ready], dict[str, str]]:
    """Ready metrics by spec, and why the others cannot serve this language; never none at all."""
    found: dict[str, Ready] = {}
    unserved: dict[str, LanguageError] = {}
    loaded: dict[str, Metric] = {}
    for spec in specs:
        if spec in loaded:
            raise UsageError(f"The metric {spec!r} is asked for twice.")
        loaded[spec] = registry.load(spec)
    check_device(loaded.values())
    for spec, metric in loaded.items():
        try:
            ready = make_ready(metric, task, references=references, number=number, facts=facts)
        except LanguageError as error:
            unserved[spec] = error
            continue
        found[spec] = replace(ready, spec=spec)
    if specs and not found:
        raise next(iter(unserved.values()))
    return found, {spec: str(error) for spec, error in unserved.items()}


def serve_all(specs: Sequence[str], task: Task, *, number: int = 1) -> dict[str, Ready]:
    """Ready metrics by spec, for a run that has no place for a metric without scores."""
    if not specs:
        return {}
    found, unserved = serve(specs, task, number=number)
    for spec, why in unserved.items():
        raise LanguageError(f"{spec}: {why}")
    return found


def check_device(metrics: Iterable[Metric]) -> None:
    """Refuse a device that no metric of the run would use."""
    device = current_settings().device
    each = list(metrics)
    if device in ("auto", "cpu") or not each or any(metric.uses_device for metric in each):
        return
    names = ", ".join(dict.fromkeys(metric.name for metric in each))
    raise UsageError(
        f"--device {device} would do nothing: {names} runs on the CPU only. Leave it out."
    )


def _refuse_missing(spec: str, missing: frozenset[str]) -> None:
    if missing:
        needed = " and ".join(_FLAGS[side] for side in sorted(missing))
        raise UsageError(f"{spec} needs {needed}, and none was given.")
