"""The best of n candidates per segment: by quality without a reference, by consensus, or by both.

    found = mtgauge.rerank([["A house.", "One house.", "House a."]], sources=["Ein Haus."],
                           metrics=["xmoverscore"], mbr=["bertscore"], lang="de-en")
    found.best[0]; found.order[0]; found.total[0]; found.scores["mbr:bertscore"][0]

A metric that needs no reference scores each candidate by itself. Minimum Bayes risk takes the
candidates c_1 .. c_n as samples of what a good translation may look like, and a metric u that needs
a reference as the gain (Kumar and Byrne 2004; Eikema and Aziz 2020):

    score(c_i) = 1/n sum_j u(c_i, c_j)         j runs over all candidates, i and repeated ones too

The n^2 comparisons are of n texts. Encoders remember texts (encode/tokens/encoder.py), so each is
encoded once; pairs are handed over in tiles of 32 x 32, so that a tile's 64 texts are prepared for
1,024 comparisons. A metric that reads hypothesis and reference together (regressor) encodes n^2
pairs all the same.

Several metrics are blended: each is turned where lower is better, brought to mean 0 within every
segment, and divided by its deviation from these means over all segments; the weighted sum counts,
to nine decimals. A metric that is undefined for all candidates of a segment is left out there; a
candidate with an undefined score comes last. Equal candidates keep their order: the first wins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mtgauge import registry
from mtgauge.arguments import SPECS, refuse_no_list
from mtgauge.data import checks, columns
from mtgauge.data.alignment import SOURCE
from mtgauge.data.segments import Segments
from mtgauge.data.watch import in_other_languages
from mtgauge.engine.places import Here, Place
from mtgauge.engine.ready import Ready, serve_all
from mtgauge.engine.result import data_frame, number
from mtgauge.errors import InputError, UsageError
from mtgauge.metric import FloatArray, Task
from mtgauge.text.untranslated import ask_strangers

TILE = 32  # texts on either side of a tile
_PAIRS = TILE * TILE  # that are handed over together
_CANDIDATES = 2000  # scored together by metrics without a reference
MBR = "mbr:"  # before a spec, in names of columns


@dataclass(frozen=True)
class Reranked:
    """One entry per segment; scores stand in the order of the candidates."""

    candidates: list[list[str]]
    scores: dict[str, list[FloatArray]]  # by metric; of MBR under "mbr:SPEC"
    total: list[FloatArray]  # what candidates are ordered by; higher is better
    order: list[list[int]]  # candidates, the best first
    signatures: dict[str, str]
    matrices: dict[str, list[FloatArray]] = field(default_factory=dict)  # u(c_i, c_j), if asked for
    notes: dict[str, dict[str, int]] = field(default_factory=dict)  # what each metric counted
    warnings: tuple[str, ...] = ()

    @property
    def choice(self) -> list[int]:
        """The number of the best candidate of every segment, from 0."""
        return [order[0] for order in self.order]

    @property
    def undecided(self) -> int:
        """Segments of several candidates that all score the same: their order says nothing."""
        pairs = zip(self.candidates, self.total, strict=True)
        return sum(len(set(texts)) > 1 and len(np.unique(total)) == 1 for texts, total in pairs)

    @property
    def best(self) -> list[str]:
        """The best candidate of every segment."""
        return [texts[i] for texts, i in zip(self.candidates, self.choice, strict=True)]

    def rows(self) -> Iterator[dict[str, Any]]:
        """One row per candidate, in the order of the input; segments and candidates from 1."""
        for s, texts in enumerate(self.candidates):
            rank = {candidate: place for place, candidate in enumerate(self.order[s], 1)}
            for i, text in enumerate(texts):
                yield {
                    "segment": s + 1,
                    "candidate": i + 1,
                    "rank": rank[i],
                    "total": number(self.total[s][i]),
                    **{name: number(parts[s][i]) for name, parts in self.scores.items()},
                    "text": text,
                }

    def to_dict(self) -> dict[str, Any]:
        return {"signatures": self.signatures, "rows": list(self.rows())}

    def to_pandas(self) -> Any:
        """A data frame with one row per candidate."""
        return data_frame(self.rows())


def rerank(
    candidates: Sequence[Sequence[str]],
    sources: Sequence[str] | None = None,
    metrics: Sequence[str] = (),
    mbr: Sequence[str] = (),
    lang: str | None = None,
    *,
    weights: Sequence[float] | None = None,
    matrix: bool = False,
    place: Place | None = None,
    progress: Callable[[int], object] | None = None,
) -> Reranked:
    """Order the candidates of every segment, the best first.

    `candidates[i]` are the candidates of segment i, `sources[i]` its source. `metrics` score
    without a reference; `mbr` names metrics that take one, which is every candidate in turn.
    `weights` are for a blend, metrics first, then `mbr`; all 1 by default. `matrix` keeps the
    utilities of all pairs.
    """
    if lang is not None:
        lang = checks.language_pair(lang)
    groups = _checked(candidates)
    given = None if sources is None else _sources(sources, len(groups))
    refuse_no_list(metrics, "metrics", SPECS)
    refuse_no_list(mbr, "mbr", SPECS)
    if not metrics and not mbr:
        raise UsageError("By what? Name a metric (-m) or a metric for minimum Bayes risk (--mbr).")
    share = _weights(weights, len(metrics) + len(mbr))
    sides = frozenset() if given is None else frozenset({"source"})
    alone = _ready(metrics, Task(sides, lang))
    paired = _ready(mbr, Task(sides | {"reference"}, lang), needs="reference")
    scores: dict[str, list[FloatArray]] = {}
    matrices: dict[str, list[FloatArray]] = {}
    place = place or Here()
    if alone:
        run = place.run(alone, _batches(groups, given, lang))
        tables = [{s: alone[s].metric.segment_score(t) for s, t in x.items()} for x in run]
        sizes = np.cumsum([len(group) for group in groups])[:-1]
        for spec in alone:
            scores[spec] = np.split(np.concatenate([x[spec] for x in tables]), sizes)
    if paired:
        found = [
            {spec: np.full((len(x), len(x)), np.nan) for spec in paired}
            for x in (dict.fromkeys(group) for group in groups)
        ]
        tiles = list(_tiles(groups))
        batches = (_pairs(tile, groups, given, lang) for tile in tiles)
        for tile, rows in zip(tiles, place.run(paired, batches), strict=True):
            for spec, table in rows.items():
                _fill(tile, paired[spec].metric.segment_score(table), spec, found)
            if progress is not None:
                progress(sum(len(part.lefts) * len(part.rights) for part in tile))
        for spec in paired:
            full = [_expanded(x[spec], group) for x, group in zip(found, groups, strict=True)]
            scores[MBR + spec] = [np.asarray(x.mean(axis=1)) for x in full]
            if matrix:
                matrices[MBR + spec] = full
    ready = [*alone.values(), *paired.values()]
    turned = [1.0 if x.metric.higher_is_better else -1.0 for x in ready]
    total = blended(
        [[f * x for x in p] for f, p in zip(turned, scores.values(), strict=True)], share
    )
    return Reranked(
        groups,
        scores,
        total,
        [_ordered(x) for x in total],
        {name: x.signature.short for name, x in zip(scores, ready, strict=True)},
        matrices,
        {name: dict(x.metric.notes) for name, x in zip(scores, ready, strict=True)},
        tuple(_warnings(lang, groups, given)),
    )


def _warnings(
    lang: str | None, groups: Sequence[Sequence[str]], sources: Sequence[str] | None
) -> list[str]:
    sides = {"the candidates": [text for group in groups for text in group]}
    return in_other_languages(
        lang, sides if sources is None else sides | {SOURCE: sources}, ask_strangers
    )


def blended(parts: Sequence[Sequence[FloatArray]], weights: Sequence[float]) -> list[FloatArray]:
    """What candidates are ordered by: parts[k][s] are the scores of metric k in segment s.

    >>> blended([[np.array([1.0, 3.0])], [np.array([20.0, 10.0])]], [2.0, 1.0])
    [array([-1.,  1.])]
    """
    if len(parts) == 1:
        return list(parts[0])
    total = [np.zeros(len(scores)) for scores in parts[0]]
    for part, weight in zip(parts, weights, strict=True):
        centred = [x - np.nanmean(x) if not np.isnan(x).all() else np.zeros(len(x)) for x in part]
        moves = np.concatenate(centred)
        spread = np.sqrt(np.nanmean(moves**2))
        largest = np.nanmax(np.abs(np.concatenate(part)), initial=0.0)
        if spread <= 1e-9 * largest:  # equal but for rounding
            centred = [np.where(np.isnan(x), x, 0.0) for x in centred]
        for sums, x in zip(total, centred, strict=True):
            sums += weight * x / (spread if spread > 0 else 1.0)
    return [np.round(sums, 9) + 0.0 for sums in total]  # the order must not hang on rounding


def _ordered(scores: FloatArray) -> list[int]:
    """The best first, the first of equals first, undefined ones last."""
    keys = np.where(np.isnan(scores), np.inf, -scores)
    return [int(i) for i in np.argsort(keys, kind="stable")]


# what comes in


def _checked(candidates: Sequence[Sequence[str]]) -> list[list[str]]:
    groups = []
    for i, entry in enumerate(columns.checked_list(candidates, "candidates")):
        texts = columns.checked_list(entry, f"candidates[{i}]")
        if not texts:
            raise InputError(f"candidates[{i}] is empty", remedy="A segment needs a candidate.")
        columns.from_list(texts, f"candidates[{i}]")
        groups.append(texts)
    if not groups:
        raise InputError("there are no candidates")
    return groups


def _sources(sources: Sequence[str], many: int) -> list[str]:
    texts = columns.checked_list(sources, "sources")
    columns.from_list(texts, "sources")
    if len(texts) != many:
        raise InputError(f"{many} lists of candidates but {len(texts)} sources")
    return texts


def _weights(weights: Sequence[float] | None, many: int) -> list[float]:
    if weights is None:
        return [1.0] * many
    numbers = [
        w for w in weights if isinstance(w, int | float | np.number) and np.isfinite(w) and w > 0
    ]
    if not len(weights) == len(numbers) == many:
        raise UsageError(f"weights are {many} numbers above 0, one per metric, metrics before mbr.")
    if many == 1:
        raise UsageError("A weight does nothing with one metric: leave it out.")
    return [float(w) for w in numbers]


def _ready(specs: Sequence[str], task: Task, needs: str | None = None) -> dict[str, Ready]:
    for spec in specs:
        if "reference" in registry.load(spec).needs - task.sides:
            raise UsageError(f"{spec} needs a reference: give it with --mbr, not with -m.")
    found = serve_all(specs, task)
    for spec, ready in found.items():
        if needs is not None and needs not in ready.metric.needs:
            raise UsageError(f"{spec} needs no {needs}: give it with -m, not with --mbr.")
    return found


# metrics without a reference


def _batches(
    groups: list[list[str]], sources: list[str] | None, lang: str | None
) -> Iterator[Segments]:
    texts = [text for group in groups for text in group]
    owners = [s for s, group in enumerate(groups) for _ in group]
    for start in range(0, len(texts), _CANDIDATES):
        part = slice(start, start + _CANDIDATES)
        given = None if sources is None else [sources[s] for s in owners[part]]
        yield Segments(texts[part], given, None, lang)


# minimum Bayes risk


@dataclass(frozen=True)
class _Part:
    """Distinct candidates of one segment, as hypotheses (lefts) and as references (rights)."""

    segment: int
    lefts: range
    rights: range


def _tiles(groups: list[list[str]]) -> Iterator[list[_Part]]:
    """Pairs that are handed over together: whole segments, or squares of a large one."""
    waiting: list[_Part] = []
    pairs = 0
    for s, group in enumerate(groups):
        n = len(set(group))
        if n > 2 * TILE:
            for i in range(0, n, TILE):
                for j in range(0, n, TILE):
                    yield [_Part(s, range(i, min(i + TILE, n)), range(j, min(j + TILE, n)))]
            continue
        waiting.append(_Part(s, range(n), range(n)))
        pairs += n * n
        if pairs >= _PAIRS:
            yield waiting
            waiting, pairs = [], 0
    if waiting:
        yield waiting


def _pairs(
    tile: list[_Part], groups: list[list[str]], sources: list[str] | None, lang: str | None
) -> Segments:
    hypotheses: list[str] = []
    references: list[tuple[str, ...]] = []
    given: list[str] = []
    for part in tile:
        texts = list(dict.fromkeys(groups[part.segment]))
        for i in part.lefts:
            hypotheses += [texts[i]] * len(part.rights)
            references += [(texts[j],) for j in part.rights]
        if sources is not None:
            given += [sources[part.segment]] * (len(part.lefts) * len(part.rights))
    return Segments(hypotheses, None if sources is None else given, references, lang)


def _fill(
    tile: list[_Part], scores: FloatArray, spec: str, found: Sequence[Mapping[str, FloatArray]]
) -> None:
    start = 0
    for part in tile:
        size = len(part.lefts) * len(part.rights)
        square = scores[start : start + size].reshape(len(part.lefts), len(part.rights))
        rows = slice(part.lefts.start, part.lefts.stop)
        found[part.segment][spec][rows, part.rights.start : part.rights.stop] = square
        start += size


def _expanded(matrix: FloatArray, group: Sequence[str]) -> FloatArray:
    """From distinct candidates to all of them."""
    place = {text: i for i, text in enumerate(dict.fromkeys(group))}
    index = [place[text] for text in group]
    return np.asarray(matrix[np.ix_(index, index)])
