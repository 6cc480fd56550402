"""Agreement by slice: sentence length, quality band, system; and all pairs pooled.

    for judgements, scores in sliced(judgements, scores, "length"):
        evaluate(judgements, scores)

A slice is called `data[label]`. Correlations within a slice are lower than over all, because the
range is narrower (paper 004, Table 5: r for good and for bad translations apart): compare slices
of one metric with care, and metrics within one slice freely.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from mtgauge.data.codes import bases
from mtgauge.data.judgements import IntArray, Judgements
from mtgauge.errors import UsageError
from mtgauge.meta.scoring import Scores
from mtgauge.signature import over
from mtgauge.text.words import UNSPACED_LANGUAGES

By = Literal["length", "quality", "system"]
LENGTHS = (10, 20, 30, 40)  # words of the reference, or of the source


def sliced(
    judgements: Judgements, scores: Sequence[Scores], by: By
) -> Iterator[tuple[Judgements, list[Scores]]]:
    """The slices that hold any judged translation, in order."""
    for label, rows in _slices(judgements, by):
        if len(rows) and not np.isnan(judgements.human[rows]).all():
            part = judgements.take(rows, f"{judgements.data}[{label}]")
            yield part, [replace(s, segments=s.segments[np.sort(rows)]) for s in scores]


def _slices(judgements: Judgements, by: By) -> Iterator[tuple[str, IntArray]]:
    if by == "quality":
        with np.errstate(invalid="ignore"):
            yield "human < 0", np.flatnonzero(judgements.human < 0)
            yield "human >= 0", np.flatnonzero(judgements.human >= 0)
    elif by == "system":
        for system, rows in judgements.rows_by_system().items():
            yield f"system {system}", rows
    else:
        lengths = _lengths(judgements)
        edges = [0, *LENGTHS, np.inf]
        for low, high in itertools.pairwise(edges):
            label = f"{int(low) + 1}-{int(high)} words" if high < np.inf else f"over {low:g} words"
            yield label, np.flatnonzero((lengths > low) & (lengths <= high))


def _lengths(judgements: Judgements) -> IntArray:
    if judgements.references is not None:
        texts, lang = [row[0] for row in judgements.references], bases(judgements.lp)[1]
    elif judgements.sources is not None:
        texts, lang = list(judgements.sources), bases(judgements.lp)[0]
    else:
        raise UsageError("--by length needs references or sources.")
    if lang in UNSPACED_LANGUAGES:  # about two characters make a word
        return np.array([max(1, (len(text) + 1) // 2) for text in texts])
    return np.array([max(1, len(text.split())) for text in texts])


def pooled(
    judgements: Sequence[Judgements], scores: Sequence[Sequence[Scores]]
) -> tuple[Judgements, list[Scores]]:
    """Several language pairs as one, `lp` "pooled"; segments of different pairs stay apart.

    `scores[k]` belongs to `judgements[k]`; metrics that not every pair has are left out.
    """
    names = [s.metric for s in scores[0] if all(s.metric in {x.metric for x in y} for y in scores)]
    whole = Judgements(
        data=judgements[0].data,
        lp="pooled",
        systems=[f"{j.lp} {system}" for j in judgements for system in j.systems],
        sids=[f"{j.lp} {sid}" for j in judgements for sid in j.sids],
        human=np.concatenate([j.human for j in judgements]),
        raw=np.concatenate([j.raw for j in judgements if j.raw is not None])
        if all(j.raw is not None for j in judgements)
        else None,
        dataset=judgements[0].dataset,
    )
    found = []
    for name in names:
        parts = [next(s for s in column if s.metric == name) for column in scores]
        segments = np.concatenate([p.segments for p in parts])
        served = [p for p in parts if p.unserved is None]
        signature = over([p.signature for p in served or parts], "pooled")
        unserved = None if served else parts[0].unserved
        found.append(Scores(name, signature, segments, {}, unserved=unserved))
    return whole, found
