"""The gate of `mtgauge check`: may this translation pass?

    decision = decide(result, settings, found)          found: flags by system and segment
    decision.closed, [check for check in decision.checks if check.closed]

Every limit is one check per judged system. Judged are all systems but the baseline; all of them
where there is one only, or where a stored run is the baseline.

- `fail-below METRIC=X`: closed if the score is worse than X (above it, where lower is better).
- `max-drop METRIC=X`: closed if the score is worse than that of the baseline by more than X. With
  `significant`, only if the drop is no chance either: p < 0.05 by the paired randomisation of the
  scores' own table. Where there is no test (too few segments, `--no-ci`) the drop decides.
- `fail-on NAME=N`: closed if more than N segments have the warning.

No limit means much where most of a text is in another language than the pair says: such a source,
reference or baseline is refused, such a system closes the gate unless `fail-on wrong-language=N`
allows as much.

A stored run (`against`) must have the same signatures, segments, source and references. Its texts
are gone, so the test is one of segment scores: only for metrics whose system score is their mean,
which is seen from the numbers themselves.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from mtgauge.data.corpus import Corpus
from mtgauge.data.foreign import Foreign
from mtgauge.data.watch import Watch
from mtgauge.engine import foreign
from mtgauge.engine.flags import Flags
from mtgauge.engine.limits import WARNINGS, Allowed, GateSettings
from mtgauge.engine.places import SHARD
from mtgauge.engine.result import MetricResult, Result, SystemScore
from mtgauge.errors import InputError, LanguageError, UsageError
from mtgauge.signature import differences
from mtgauge.stats.paired import ALPHA, FEWEST, ROUNDING, p_randomisation
from mtgauge.text.untranslated import ask_strangers

_WORST = 10  # segments of a check
_LANGUAGE = "wrong-language"
_HALF = Allowed(0.5, is_share=True)
_CHUNKS = 4  # whose languages are looked at


@dataclass(frozen=True)
class Worst:
    """A segment to look at, and why; `row` counts from 0."""

    row: int
    loss: float = math.nan  # what it scores, or scores less than in the baseline
    why: str = ""


@dataclass(frozen=True)
class Below:
    """A score and the worst that is allowed."""

    rule = "fail-below"
    what: str
    system: str
    limit: float
    score: float
    higher_is_better: bool
    worst: tuple[Worst, ...] = ()

    @property
    def closed(self) -> bool:
        loss = self.limit - self.score
        return (loss if self.higher_is_better else -loss) > _slack(self.limit, self.score)


@dataclass(frozen=True)
class Drop:
    """A score beside that of the baseline; `p` is None where there is no test."""

    rule = "max-drop"
    what: str
    system: str
    limit: float
    score: float
    before: float
    baseline: str
    higher_is_better: bool
    p: float | None
    needs_p: bool  # whether a drop that may be chance is allowed
    worst: tuple[Worst, ...] = ()

    @property
    def loss(self) -> float:
        return self.before - self.score if self.higher_is_better else self.score - self.before

    @property
    def too_large(self) -> bool:
        return self.loss > self.limit + _slack(self.before, self.score)

    @property
    def may_be_chance(self) -> bool:
        return self.p is not None and not self.p < ALPHA

    @property
    def closed(self) -> bool:
        return self.too_large and not (self.needs_p and self.may_be_chance)


@dataclass(frozen=True)
class Flagged:
    """Segments with a warning, and how many of them are allowed."""

    rule = "fail-on"
    what: str
    system: str
    limit: Allowed
    number: int
    segments: int
    worst: tuple[Worst, ...] = ()

    @property
    def closed(self) -> bool:
        return self.number > self.limit.of(self.segments) + ROUNDING


Check = Below | Drop | Flagged


@dataclass(frozen=True)
class Decision:
    checks: tuple[Check, ...]
    texts: Mapping[tuple[str, int], str] = field(default_factory=dict)  # of the worst segments

    @property
    def closed(self) -> bool:
        return any(check.closed for check in self.checks)


def _slack(*values: float) -> float:
    return ROUNDING * max(map(abs, values))


def decide(
    result: Result,
    settings: GateSettings,
    flags: Mapping[str, Sequence[Flags]],
    last: Result | None = None,
    baseline: str | None = None,
    foreign: Sequence[Flagged] = (),
) -> Decision:
    """All checks of a run; `last` is a stored run, `baseline` a system of it.

    `foreign` is what `look_at_languages` found; a limit on the warning may allow it.
    """
    judged = judged_systems(result.systems, result.baseline, last)
    if settings.max_drop and last is None and len(result.systems) == 1:
        raise UsageError(
            "max-drop compares with a baseline: give its translations first (-t OLD NEW), or a "
            "stored run (--against FILE)."
        )
    if last is not None:
        refuse_other_run(result, last, settings.max_drop)
    checks: list[Check] = []
    for name in judged:
        for spec, limit in settings.fail_below.items():
            checks.append(_below(result[spec], name, limit))
        for spec, limit in settings.max_drop.items():
            checks.append(
                _drop(result, spec, name, limit, last, baseline, bool(settings.significant))
            )
        for warning, allowed in (settings.fail_on or {}).items():
            checks.append(_flagged(warning, name, allowed, flags[name]))
    said = (settings.fail_on or {}).get(_LANGUAGE, _HALF)
    told = {check.system for check in checks if check.what == _LANGUAGE and check.closed}
    for check in foreign:
        if check.system not in told and check.number > said.of(check.segments):
            checks.append(check)
    return Decision(tuple(checks))


def judged_systems(names: Sequence[str], baseline: str, last: Result | None) -> list[str]:
    """All but the baseline, where it is one of them and not the only one."""
    return [name for name in names if last is not None or len(names) == 1 or name != baseline]


def look_at_languages(corpus: Corpus, lang: str, judged: Collection[str]) -> list[Flagged]:
    """Checks that judged systems do not pass, since most of them is in another language.

    Where most of the source, the references or the baseline is, nothing can be judged.
    """
    watch = Watch(lang, ask_strangers)
    for chunk in islice(corpus.chunks(SHARD), _CHUNKS):
        watch.look_at_languages(chunk.systems, chunk.sources, chunk.references)
    found = {
        name: Flagged(_LANGUAGE, name, _HALF, *watch.foreign_lines(name)) for name in watch.asked
    }
    if any(check.closed for name, check in found.items() if name not in judged):
        raise InputError(f"nothing was judged: {' '.join(watch.in_other_languages())}")
    return [found[name] for name in judged if name in found and found[name].closed]


def _below(metric: MetricResult, name: str, limit: float) -> Below:
    system = _defined(metric, name, "this run")
    scores = system.segments if metric.higher_is_better else -system.segments
    worst = tuple(Worst(i, float(system.segments[i])) for i in _lowest(scores))
    return Below(metric.spec, name, limit, system.score, metric.higher_is_better, worst)


def _drop(
    result: Result,
    spec: str,
    name: str,
    limit: float,
    last: Result | None,
    baseline: str | None,
    needs_p: bool,
) -> Drop:
    metric = result[spec]
    system = _defined(metric, name, "this run")
    if last is None:
        base = result.baseline
        before = _defined(metric, base, "this run")
        p = None if system.versus is None else system.versus.p_adjusted
    else:
        base = _counterpart(last, name, baseline)
        before = _defined(last[spec], base, "the stored run")
        _refuse_other_segments(spec, system, before)
        p = _p_of_means(system, before, result.seed)
        base = f"{base}, stored"
    gain = system.segments - before.segments
    gain = gain if metric.higher_is_better else -gain
    worst = tuple(Worst(i, float(gain[i])) for i in _lowest(gain) if gain[i] < 0)
    p = None if p is None or math.isnan(p) else p
    return Drop(
        spec, name, limit, system.score, before.score, base, metric.higher_is_better, p, needs_p,
        worst,
    )  # fmt: skip


def _flagged(warning: str, name: str, allowed: Allowed, flags: Sequence[Flags]) -> Flagged:
    found = [(i, f) for i, each in enumerate(flags) for f in each if f.kind == WARNINGS[warning]]
    found.sort(key=lambda pair: -pair[1].severity)
    worst = tuple(Worst(i, why=flag.detail) for i, flag in found[:_WORST])
    return Flagged(warning, name, allowed, len(found), len(flags), worst)


def _lowest(scores: np.ndarray) -> list[int]:
    order = np.argsort(scores, kind="stable")  # what is undefined comes last
    return [int(i) for i in order[:_WORST] if not np.isnan(scores[i])]


def _defined(metric: MetricResult, name: str, where: str) -> SystemScore:
    """The score of a system; a gate cannot judge what is undefined."""
    if metric.unserved is not None:
        raise LanguageError(f"The gate cannot judge {metric.spec}: {metric.unserved}")
    if math.isnan(metric[name].score):
        raise UsageError(
            f"The gate cannot judge {metric.spec} of {name}: its score is undefined in {where}."
        )
    return metric[name]


# A stored run


def refuse_other_run(result: Result, last: Result, specs: Mapping[str, float]) -> None:
    """Numbers of another test set, or made in another way, are no baseline."""
    if last.segments != result.segments:
        raise UsageError(
            f"The stored run has {last.segments:,} segments, this one {result.segments:,}: a drop "
            "between test sets means nothing."
        )
    digests = (last.files.get("digest"), result.files.get("digest"))
    if digests[0] != digests[1]:
        raise UsageError(
            "The stored run has another source or other references (or none are known): score the "
            "baseline again with these, and write it with --json."
        )
    for spec in specs:
        if spec not in last.metrics:
            raise UsageError(
                f"The stored run has no {spec}, only {', '.join(last)}: write it with that metric."
            )
        if different := differences(result[spec].signature, last[spec].signature):
            told = "; ".join(f"{k} is {a}, was {b}" for k, (a, b) in different.items())
            raise UsageError(
                f"The stored run was made in another way, so its {spec} is no baseline: {told}. "
                "Score the baseline again, and write it with --json."
            )


def _counterpart(last: Result, name: str, baseline: str | None) -> str:
    """The stored system to compare with: the one named, of the same name, or the only one."""
    if baseline is not None:
        if baseline not in last.systems:
            raise UsageError(
                f"The stored run has no system {baseline!r}: it has {', '.join(last.systems)}."
            )
        return baseline
    if name in last.systems:
        return name
    if len(last.systems) == 1:
        return last.systems[0]
    raise UsageError(
        f"Which system of the stored run is the baseline of {name}? Name it with --baseline: "
        f"{', '.join(last.systems)}."
    )


def _refuse_other_segments(spec: str, system: SystemScore, before: SystemScore) -> None:
    """Means over different segments are no drop: a tool may have failed on the hard ones."""
    other = np.isnan(system.segments) != np.isnan(before.segments)
    if other.any():
        raise UsageError(
            f"{spec} has a score of segment {np.argmax(other) + 1} in one of the two runs only "
            f"({other.sum():,} such): a drop between different segments means nothing. Score the "
            "same segments in both."
        )


def _p_of_means(system: SystemScore, before: SystemScore, seed: int) -> float | None:
    """p of two scores that are means of their segments; None where they are not, or too few."""
    pair = {"now": system.segments, "before": before.segments}
    both = np.stack(list(pair.values()))
    known = ~np.isnan(both).any(axis=0)
    for scores, each in zip(both, (system, before), strict=True):
        mean = scores[~np.isnan(scores)].mean() if (~np.isnan(scores)).any() else math.nan
        if not abs(mean - each.score) <= 1e-6 * max(abs(each.score), 1.0):
            return None
    if known.sum() < FEWEST:
        return None
    table = foreign.rows(Foreign("", "", pair), ["now", "before"], both.shape[1])
    metric = foreign.as_ready("mean", lower=False, lang=None).metric
    return float(p_randomisation([metric], [table], seed=seed)[0][0, 1])


def with_texts(decision: Decision, corpus: Corpus, *, unescape: bool) -> Decision:
    """The decision with the translations of its worst segments, read again."""
    wanted = {(c.system, w.row) for c in decision.checks if c.closed for w in c.worst}
    return Decision(decision.checks, dict(_texts(corpus, wanted, unescape)) if wanted else {})


def _texts(
    corpus: Corpus, wanted: set[tuple[str, int]], unescape: bool
) -> Iterator[tuple[tuple[str, int], str]]:
    start = 0
    for chunk in corpus.chunks(SHARD):
        chunk = chunk.unescaped() if unescape else chunk
        for name, row in wanted:
            if start <= row < start + len(chunk):
                yield (name, row), chunk.systems[name][row - start]
        start += len(chunk)
