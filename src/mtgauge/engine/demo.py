"""`mtgauge demo` and `mtgauge selftest`: the example in the package, scored.

The example is two small test sets (German and Russian into English, sentences written for it) with
three systems: `literal` translates word by word, `careful` well, `rough` loses meaning. The demo
shows the main job on them; the self-test scores them again and compares with stored scores, which
tells whether this installation gives the numbers it should.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from mtgauge import registry
from mtgauge.data.corpus import Corpus
from mtgauge.engine.explain import explain
from mtgauge.engine.inside import looked_into
from mtgauge.engine.local import score_corpus
from mtgauge.engine.result import Explained, Result, number
from mtgauge.engine.summary import Comparing
from mtgauge.errors import ResourceError, UsageError

PAIRS = ("de-en", "ru-en")
DEMO_PAIR = "de-en"
WITH_REFERENCE = ("bleu", "chrf", "std", "bertscore", "regressor")
WITHOUT_REFERENCE = ("xmoverscore", "kobe", "regressor:view=hyp+src")
EXPLAINED = "xmoverscore"  # the metric whose explanation the demo prints
_FAULT = ("rough", 1)  # of which translation: system, and segment from 0
_EXPLAINED_SEGMENTS = 3  # in the demo's report
_FOLDER = resources.files("mtgauge") / "data" / "example"
TOLERANCE = 1e-6  # of surface metrics; encoders state a larger one, since processors differ


def example(lang: str) -> Corpus:
    """The example test set of a language pair."""
    return Corpus.from_arguments([str(_FOLDER / f"{lang}.tsv")], None, [])


def demo(metrics: tuple[str, ...] = (*WITH_REFERENCE, *WITHOUT_REFERENCE)) -> Result:
    """The example under these metrics, with warnings and some explanations."""
    result = score_corpus(example(DEMO_PAIR), metrics, DEMO_PAIR, keep=True)
    return looked_into(result, _EXPLAINED_SEGMENTS)


def shown_explanation(result: Result) -> Explained | None:
    """A translation that says fourteen for forty, explained by a metric that needs no reference.

    Without that metric the first one explains; None where it has no explanation.
    """
    spec = EXPLAINED if EXPLAINED in result else next(iter(result))
    texts, (system, segment) = result.texts, _FAULT
    assert texts is not None
    lines = texts.systems[system], texts.sources, texts.references
    try:
        found = explain(*lines, spec, result.lang, segment=segment + 1)
    except UsageError:
        return None
    return Explained(spec, system, segment, found)


@dataclass(frozen=True)
class Check:
    """One stored score, recomputed."""

    metric: str
    lang: str
    system: str
    expected: float | None
    found: float | None
    tolerance: float

    @property
    def passed(self) -> bool:
        if self.expected is None or self.found is None:
            return self.expected is self.found
        return abs(self.expected - self.found) <= self.tolerance * max(1.0, abs(self.expected))


def scores(specs: list[str]) -> dict[str, dict[str, dict[str, float | None]]]:
    """{metric: {pair: {system: score}}} on the example, without intervals."""
    found: dict[str, dict[str, dict[str, float | None]]] = {}
    for spec in specs:
        found[spec] = {}
        for lang in PAIRS:
            result = score_corpus(example(lang), [spec], lang, how=Comparing(ci=False))[spec]
            found[spec][lang] = {name: number(s.score) for name, s in result.items()}
    return found


def selftest(specs: list[str] | None = None) -> tuple[list[Check], dict[str, str]]:
    """Checks of all stored metrics, and the reason for each metric that cannot run here."""
    stored = _stored()
    checks, skipped = [], {}
    for spec in specs or sorted(stored):
        if spec not in stored:
            raise UsageError(
                f"There are no stored scores of {spec!r}, but of {', '.join(sorted(stored))}."
            )
        tolerance = max(TOLERANCE, 10 * registry.load(spec).tolerance)
        try:
            found = scores([spec])[spec]
        except ResourceError as error:
            skipped[spec] = str(error)
            continue
        checks += [
            Check(spec, lang, system, value, found[lang][system], tolerance)
            for lang, systems in stored[spec].items()
            for system, value in systems.items()
        ]
    return checks, skipped


def _stored() -> dict[str, Any]:
    path = _FOLDER / "golden.json"
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise ResourceError(
            f"The stored scores cannot be read ({error}): install mtgauge again."
        ) from None


def store(path: Path) -> None:
    """Write the scores of every metric: how `golden.json` is made."""
    found = scores(registry.names())
    path.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")
