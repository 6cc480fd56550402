"""What a run returns: the one thing that table, page, web application and gate are made of.

result["bleu"]["online-B"].score      one number
result["bleu"]["online-B"].ci         (low, high), or None
result["bleu"]["online-B"].segments   one number per segment, NaN where it is undefined
result.to_dict()                      the JSON of DESIGN section 4; `engine.stored` reads it back
print(result)                         the terminal's table; a notebook shows it as HTML
result.report("report.html")          the page; needs the texts, which `mtgauge.score` keeps

What a result looks like is made in report/, right of this folder: it is looked up among the
package's names when it is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np

from mtgauge._version import __version__
from mtgauge.arguments import refuse_no_choice
from mtgauge.data.corpus import Chunk
from mtgauge.engine.contrast import Contrast
from mtgauge.engine.flags import Flags
from mtgauge.engine.slices import Slices
from mtgauge.engine.trust import ENOUGH, Trust
from mtgauge.errors import ResourceError, UsageError
from mtgauge.explanation import Explanation
from mtgauge.metric import FloatArray
from mtgauge.signature import Signature
from mtgauge.stats.bootstrap import SEED
from mtgauge.stats.paired import ALPHA, Pairwise

T = TypeVar("T")
_TESTS = ("bootstrap", "randomisation", "adjusted")  # fields of `Pairwise`
P_VALUES = tuple(f"p_{kind}" for kind in _TESTS)  # the same of `Versus`, and in tables


@dataclass(frozen=True)
class Versus:
    """A system tested against the baseline."""

    system: str
    p_bootstrap: float
    p_randomisation: float
    p_adjusted: float  # of the randomisation test, corrected over all pairs of systems (Holm)

    @property
    def significant(self) -> bool:
        return self.p_adjusted < ALPHA


@dataclass(frozen=True)
class SystemScore:
    score: float
    segments: FloatArray
    ci: tuple[float, float] | None = None
    versus: Versus | None = None
    rank: int | None = None  # one more than the number of systems that are significantly better

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SystemScore):
            return NotImplemented
        mine, theirs = ({**vars(s), "segments": None, "score": None} for s in (self, other))
        one, two = (np.append(s.segments, s.score) for s in (self, other))
        return mine == theirs and np.array_equal(one, two, equal_nan=True)


@dataclass(frozen=True, eq=False)  # equal scores are equal, as with any mapping
class MetricResult(Mapping[str, SystemScore]):
    """The systems' scores under one metric."""

    name: str
    spec: str
    signature: Signature
    higher_is_better: bool
    systems: dict[str, SystemScore]
    notes: dict[str, int] = field(default_factory=dict)
    unserved: str | None = None  # why there are no scores for this language
    tests: Pairwise | None = None  # all pairs of systems, in the order of `systems`
    trust: Trust | None = None  # what is known of these settings for this language pair

    @property
    def knows_people(self) -> bool:
        """Whether it is known how often people agree with a difference of this metric."""
        return self.trust is not None and self.trust.tells_better

    @property
    def has_no_say(self) -> bool:
        """Whether people went either way with it on pairs of systems, or the other way."""
        return self.trust is not None and self.trust.pairs > 0 and not self.trust.slope_low > 0

    def agreement(self, system: str, other: str) -> tuple[float, float, float] | None:
        """How often people preferred the same of two systems that differ by as much as these,
        with its 95 % interval; None where nothing is known, or of too few segments, or where
        the scores are equal and so prefer neither, or differ by more than was ever seen."""
        difference, trust = self[system].score - self[other].score, self._curve(system)
        if trust is None or not abs(difference) > 0 or trust.is_beyond(difference):
            return None
        return trust.chance_to_agree(difference)

    def is_beyond(self, system: str, other: str) -> bool:
        """Whether two systems differ by more than any of which it is known what people say."""
        trust = self._curve(system)
        return trust is not None and trust.is_beyond(self[system].score - self[other].score)

    def _curve(self, system: str) -> Trust | None:
        """What tells of people's view of a difference, if the system has segments enough."""
        return self.trust if self.knows_people and len(self[system].segments) >= ENOUGH else None

    def __getitem__(self, system: str) -> SystemScore:
        return _get(self.systems, system, "system")

    def __contains__(self, system: object) -> bool:
        return system in self.systems

    def __iter__(self) -> Iterator[str]:
        return iter(self.systems)

    def __len__(self) -> int:
        return len(self.systems)


@dataclass(frozen=True)
class Explained:
    """What one system's score of one segment was made of."""

    spec: str
    system: str
    segment: int  # from 0
    explanation: Explanation


@dataclass(frozen=True, eq=False)
class Result(Mapping[str, MetricResult]):
    """All metrics of a run, keyed by their specs as they were given."""

    metrics: dict[str, MetricResult]
    systems: tuple[str, ...]
    segments: int
    lang: str | None = None
    warnings: tuple[str, ...] = ()
    checks: dict[str, dict[str, int]] = field(default_factory=dict)
    baseline: str = ""
    seed: int = SEED
    resamples: int = 0
    documents: int = 0  # that were resampled; 0: segments were
    files: dict[str, Any] = field(default_factory=dict)  # names of what was read
    untested: str | None = None  # why there are no tests, where there might have been
    texts: Chunk | None = None  # all of them, where the run kept them
    flags: dict[str, list[Flags]] = field(default_factory=dict)  # warnings by system and segment
    slices: tuple[Slices, ...] = ()  # scores of groups of segments; where texts were kept
    explained: tuple[Explained, ...] = ()
    contrast: Contrast | None = None  # words and phrases, where there are references

    def __getitem__(self, spec: str) -> MetricResult:
        return _get(self.metrics, spec, "metric")

    def __contains__(self, spec: object) -> bool:
        return spec in self.metrics

    def __iter__(self) -> Iterator[str]:
        return iter(self.metrics)

    def __len__(self) -> int:
        return len(self.metrics)

    def __str__(self) -> str:
        return str(_show(self, "terminal"))

    def __repr__(self) -> str:
        what = f"{', '.join(self.metrics)} of {', '.join(self.systems)}"
        noun = "segment" if self.segments == 1 else "segments"
        return f"<Result: {what}; {self.segments:,} {noun}; print() shows the table>"

    def _repr_html_(self) -> str:
        return str(_show(self, "notebook"))

    def report(self, path: str | Path) -> Path:
        """Write the page of this result: one HTML file that needs nothing else."""
        return Path(_show(self, "page", path))

    def to_dict(
        self, *, segments: bool = True, texts: bool = False, by: Collection[str] = ()
    ) -> dict[str, Any]:
        """For JSON; `texts` puts the texts in, so that a page can be made of it later.

        Groups of segments are in with the texts; without them, those that `by` names.
        """
        slices = [s.to_dict() for s in self.slices if texts or s.by in by]
        return {
            "mtgauge": __version__,
            "lang": self.lang,
            "segments": self.segments,
            "systems": list(self.systems),
            "baseline": self.baseline,
            "files": self.files,
            "seed": self.seed,
            "resamples": self.resamples,
            **({"documents": self.documents} if self.documents else {}),
            **({} if self.untested is None else {"untested": self.untested}),
            "checks": self.checks,
            "metrics": [_metric_dict(m, segments) for m in self.metrics.values()],
            **({"slices": slices} if texts or slices else {}),
            **({"texts": vars(self.texts)} if texts and self.texts is not None else {}),
        }

    def to_pandas(self, level: Literal["system", "segment"] = "segment") -> Any:
        """A data frame with one row per metric and system, or per segment, system and metric."""
        refuse_no_choice("level", level, ("system", "segment"))
        if level == "system":
            return data_frame(
                {"metric": spec, "system": name, **_system_row(system)}
                for spec, metric in self.metrics.items()
                for name, system in metric.systems.items()
            )
        return data_frame(
            {"metric": spec, "system": name, "segment": i, "score": float(value)}
            for spec, metric in self.metrics.items()
            for name, system in metric.systems.items()
            for i, value in enumerate(system.segments, 1)
        )


def data_frame(records: Iterable[dict[str, Any]]) -> Any:
    """Records as a pandas data frame, or the error that says how to get pandas."""
    try:
        import pandas
    except ImportError:
        raise ResourceError(
            "to_pandas needs the package pandas: pip install 'mtgauge[pandas]'."
        ) from None
    return pandas.DataFrame(list(records))


def _show(result: Result, form: str, *options: Any) -> Any:
    """One of the forms of `mtgauge.report.notebook`."""
    import mtgauge

    return mtgauge.public("show")(result, form, *options)


def _system_row(system: SystemScore) -> dict[str, Any]:
    low, high = system.ci or (math.nan, math.nan)
    versus = system.versus
    return {
        "score": system.score,
        "ci_low": low,
        "ci_high": high,
        "baseline": None if versus is None else versus.system,
        **{p: math.nan if versus is None else getattr(versus, p) for p in P_VALUES},
        "rank": system.rank,
    }


def _get(values: dict[str, T], key: str, what: str) -> T:
    if key not in values:
        raise UsageError(f"There is no {what} {key!r} in this result: it has {', '.join(values)}.")
    return values[key]


def _metric_dict(metric: MetricResult, segments: bool) -> dict[str, Any]:
    return {
        "name": metric.name,
        "spec": metric.spec,
        "signature": metric.signature.short,
        "signature_full": metric.signature.full,
        "higher_is_better": metric.higher_is_better,
        "systems": {name: _system_dict(metric, name, segments) for name in metric},
        "notes": metric.notes,
        "trust": None if metric.trust is None else metric.trust.to_dict(),
        **({} if metric.tests is None else {"pairs": _pairs_dict(metric)}),
        **({} if metric.unserved is None else {"reason": metric.unserved}),
    }


def _pairs_dict(metric: MetricResult) -> list[dict[str, Any]]:
    """Every pair of systems once, with its three p-values."""
    tests, names = metric.tests, list(metric.systems)
    assert tests is not None
    return [
        {"systems": [names[i], names[j]]}
        | {f"p_{kind}": number(getattr(tests, kind)[i, j]) for kind in _TESTS}
        for i in range(len(names))
        for j in range(i + 1, len(names))
    ]


def _system_dict(metric: MetricResult, name: str, segments: bool) -> dict[str, Any]:
    system = metric[name]
    entry: dict[str, Any] = {"score": number(system.score)}
    if system.ci is not None:
        entry["ci"] = [number(x) for x in system.ci]
    if segments:
        entry["segments"] = [number(x) for x in system.segments.tolist()]
    if system.versus is not None:
        p_values = {p: number(getattr(system.versus, p)) for p in P_VALUES}
        entry["versus"] = {"system": system.versus.system, **p_values}
        if (agreement := metric.agreement(name, system.versus.system)) is not None:
            entry["versus"]["people_agree"] = dict(
                zip(("share", "low", "high"), map(number, agreement), strict=True)
            )
    if system.rank is not None:
        entry["rank"] = system.rank
    return entry


def number(value: float) -> float | None:
    """A number for JSON: undefined is null."""
    return float(value) if math.isfinite(value) else None
