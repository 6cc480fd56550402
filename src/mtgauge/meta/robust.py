"""Robustness: how often does a version with a known fault score at least as high as a good one?

    goods = [Segments(translations, sources, references, "de-en")]      # references: None without
    found = robust(goods, ["xmoverscore", "kobe"])
    found[0].fault, found[0].metric, found[0].share

The faults are those of meta/faults.py; `worse` adds versions of the user's own. A tie counts as a
win of the fault: the metric has not seen it. 0 is best, and a metric that guesses has a half.

Left out, and counted, are good versions without a score (KoBE where the source names nothing) and
those that already have the metric's worst: there is no worse score for the fault to get.

A text in another language is a source or translation of the run's other language pairs, or a
sentence of foreign.tsv; never one of a near relation of the target (text/language.py), which good
translations may look like.

Limits: a good version is a human translation or what the user says is one; a fault is made without
understanding, so now and then a changed clause or date does no harm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from mtgauge.data.codes import LanguagePair
from mtgauge.data.segments import Segments
from mtgauge.engine.cache import RowCache
from mtgauge.engine.ready import make_ready
from mtgauge.errors import LanguageError, UsageError
from mtgauge.meta import faults, slips
from mtgauge.meta.probes import segment_scores
from mtgauge.metric import Task
from mtgauge.signature import Signature, over
from mtgauge.stats.bootstrap import SEED
from mtgauge.text.language import kin

ALL = "all"  # the language pair of a sum over language pairs
Worse = Mapping[str, Sequence[str]]  # name of a fault: one text per segment, "" for none


@dataclass(frozen=True)
class Robust:
    """One fault under one metric: of `n` faulty versions `wins` scored at least as high."""

    fault: str
    metric: str
    signature: Signature
    lp: str
    cases: int  # faulty versions made
    unscored: int  # of these, left out because the good version has no score
    at_worst: int  # or has the worst one
    wins: int

    @property
    def n(self) -> int:
        return self.cases - self.unscored - self.at_worst

    @property
    def share(self) -> float:
        """NaN where nothing could be compared."""
        return self.wins / self.n if self.n else float("nan")

    def to_dict(self) -> dict[str, Any]:
        return vars(self) | {
            "signature": self.signature.short,
            "signature_full": self.signature.full,
            "n": self.n,
            "share": self.share if self.n else None,
        }


def robust(
    goods: Sequence[Segments],
    specs: Sequence[str],
    *,
    chosen: Sequence[str] | None = None,
    worse: Worse | None = None,
    seed: int = SEED,
    cache: RowCache | None = None,
    progress: Callable[[int], object] | None = None,
) -> list[Robust]:
    """One row per language pair, fault and metric, then the sums over language pairs.

    `chosen` are names of faults, all by default; those in `worse` are added. A metric that cannot
    serve a language pair has no rows there; one that serves none is refused.
    """
    goods = _by_pair(goods)
    pairs = [_pair(batch) for batch in goods]
    rows: list[Robust] = []
    for batch, pair in zip(goods, pairs, strict=True):
        foreign = _foreign(pair, goods, pairs)
        faulty = _versions(batch, pair, foreign, seed, chosen) | _own(batch, worse or {})
        for spec in specs:
            try:
                rows += _one(batch, faulty, spec, cache, progress)
            except LanguageError:
                if len(goods) == 1:
                    raise
    unserved = [spec for spec in specs if not any(row.metric == spec for row in rows)]
    if unserved:
        raise LanguageError(f"{unserved[0]} serves none of {', '.join(map(str, pairs))}.")
    return rows + (_sums(rows) if len(goods) > 1 else [])


def _by_pair(goods: Sequence[Segments]) -> list[Segments]:
    """The texts of each language pair together, whatever data sets they are from."""
    groups: dict[str | None, list[Segments]] = {}
    for batch in goods:
        groups.setdefault(batch.lang, []).append(batch)
    return [
        group[0]
        if len(group) == 1
        else Segments(
            [text for batch in group for text in batch.hypotheses],
            [text for batch in group for text in batch.sources or ()],
            lang=lang,
        )
        for lang, group in groups.items()
    ]


def _pair(batch: Segments) -> LanguagePair:
    if batch.lang is None:
        raise UsageError("The robust probe makes faults of a language: give it with -l de-en.")
    return LanguagePair.parse(str(batch.lang))


def _versions(
    batch: Segments,
    pair: LanguagePair,
    foreign: Sequence[str],
    seed: int,
    chosen: Sequence[str] | None,
) -> dict[str, list[str | None]]:
    """{fault: one text, or None, per segment}."""
    texts = zip(batch.sources or (), batch.hypotheses, strict=True)
    goods = [faults.Good(source, good, pair) for source, good in texts]
    return faults.make_all(goods, foreign=foreign, seed=seed, faults=chosen)


def _own(batch: Segments, worse: Worse) -> dict[str, list[str | None]]:
    """The user's versions, as `_versions` gives them."""
    for name in worse:
        if name in faults.names():
            raise UsageError(f"{name} is the name of a fault that is made here: choose another.")
    return {
        name: [text if text.strip() else None for text in versions]
        for name, versions in one_per_segment(batch, worse)
    }


def one_per_segment(batch: Segments, worse: Worse) -> Iterator[tuple[str, Sequence[str]]]:
    """Versions that the user brought, by their name; a wrong number of them is refused."""
    for name, texts in worse.items():
        if len(texts) != len(batch):
            raise UsageError(
                f"--worse {name} has {len(texts)} lines for {len(batch)} segments: they go line by "
                "line with the texts of -s SRC and -r REF."
            )
        yield name, texts


def _foreign(
    pair: LanguagePair, goods: Sequence[Segments], pairs: Sequence[LanguagePair]
) -> list[str]:
    """Texts in languages that are neither of the pair's, nor near to the target."""
    near = {pair.source.base, pair.target.base} | kin(pair.target.base)
    found = [text for language, text in _sentences() if language not in near]
    for batch, other in zip(goods, pairs, strict=True):
        sides = ((other.source, batch.sources or ()), (other.target, batch.hypotheses))
        for language, texts in sides:
            found += [text for text in texts if language.base not in near]
    return found


@cache
def _sentences() -> list[tuple[str, str]]:
    return [(language, sentence) for language, sentence in slips.table("foreign.tsv")]


def _one(
    batch: Segments,
    faulty: Mapping[str, Sequence[str | None]],
    spec: str,
    cache: RowCache | None,
    progress: Callable[[int], object] | None,
) -> list[Robust]:
    """Every fault under one metric and language pair; all texts are scored together."""
    ready = make_ready(
        spec,
        Task.of(batch),
        references=lambda: (text for row in batch.references or () for text in row),
        number=max((len(row) for row in batch.references or ()), default=0),
    )
    size = len(batch)
    cases = [
        (name, i, text)
        for name, texts in faulty.items()
        for i, text in enumerate(texts)
        if text is not None
    ]
    rows = [*range(size), *(i for _, i, _ in cases)]
    asked = batch.take(rows)
    texts = [*batch.hypotheses, *(text for _, _, text in cases)]
    asked = Segments(texts, asked.sources, asked.references, asked.lang)
    scores = segment_scores(ready, asked, cache, progress)
    good, bad = scores[:size], scores[size:]
    worst = ready.metric.worst if ready.metric.higher_is_better else -ready.metric.worst
    found = []
    for name in faulty:
        mine = [at for at, case in enumerate(cases) if case[0] == name]
        owners = good[[cases[at][1] for at in mine]]
        theirs = bad[mine]
        unscored = np.isnan(owners) | np.isnan(theirs)
        at_worst = ~unscored & (owners <= worst)
        wins = ~unscored & ~at_worst & (theirs >= owners)
        counts = (len(mine), int(unscored.sum()), int(at_worst.sum()), int(wins.sum()))
        found.append(Robust(name, spec, ready.signature, str(batch.lang), *counts))
    return found


def _sums(rows: Sequence[Robust]) -> list[Robust]:
    """Over language pairs, by fault and metric."""
    groups: dict[tuple[str, str], list[Robust]] = {}
    for row in rows:
        groups.setdefault((row.fault, row.metric), []).append(row)
    return [
        Robust(
            fault,
            metric,
            over([row.signature for row in group], ALL),
            ALL,
            sum(row.cases for row in group),
            sum(row.unscored for row in group),
            sum(row.at_worst for row in group),
            sum(row.wins for row in group),
        )
        for (fault, metric), group in groups.items()
    ]
