"""Score a corpus, shard by shard, in the place that was asked for (`places.py`).

Each shard holds the same segments of all systems, stacked into one `Segments` batch, so that a
metric meets each source and reference once for all systems. Only the statistics rows are kept:
texts leave memory with their shard, and confidence intervals and tests are computed from the rows.

    result = mtgauge.score({"a": [...], "b": [...]}, references=[...], metrics=["bleu"])
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal, Protocol

import numpy as np

from mtgauge import registry
from mtgauge.arguments import SPECS, refuse_no_choice, refuse_no_list
from mtgauge.data import checks, foreign
from mtgauge.data.codes import Language
from mtgauge.data.corpus import Chunk, Corpus
from mtgauge.data.foreign import Foreign
from mtgauge.data.segments import Segments
from mtgauge.data.watch import Strangers, Watch
from mtgauge.engine.foreign import as_ready, partly_scored, refuse_names, rows
from mtgauge.engine.places import Here, Place, shard_size
from mtgauge.engine.ready import serve
from mtgauge.engine.result import MetricResult, Result, SystemScore
from mtgauge.engine.slices import by_segments
from mtgauge.engine.summary import Comparing, summarise
from mtgauge.engine.trust import known
from mtgauge.errors import InputError
from mtgauge.metric import FloatArray, Task
from mtgauge.signature import sign
from mtgauge.stats.bootstrap import RESAMPLES, SEED
from mtgauge.stats.paired import FEWEST, fewest, too_few
from mtgauge.text.untranslated import ask_strangers

Empty = Literal["worst", "skip", "error"]
UNESCAPED = {"texts": "unescaped"}  # a fact of signatures


class Beside(Protocol):
    """What looks at texts while they are scored (`aside.Aside`)."""

    def look(self, chunk: Chunk) -> object: ...

    def strangers(self, texts: Sequence[str], expected: Language) -> Strangers: ...

    def meanwhile(self, result: Result) -> Result:
        """What can be done with the result before the answers are waited for."""
        ...


def score(
    hypotheses: Mapping[str, Sequence[str]] | Sequence[str],
    sources: Sequence[str] | None = None,
    references: Sequence[str | Sequence[str]] | None = None,
    metrics: Sequence[str] = ("bleu", "chrf"),
    lang: str | None = None,
    *,
    empty: Empty = "worst",
    unescape: bool = False,
    ci: bool = True,
    seed: int = SEED,
    baseline: str | None = None,
    documents: Sequence[str] | None = None,
    scores: Mapping[str, Mapping[str, Sequence[float]]] | None = None,
    lower: Collection[str] = (),
    by: Mapping[str, Sequence[str]] | None = None,
    place: Place | None = None,
) -> Result:
    """Scores of every system under every metric.

    A metric that cannot serve the language has no scores, and says why (`unserved`).

    `references[i]` belongs to `hypotheses[...][i]`: one text or a list of alternatives. `lang` is
    a pair such as "de-en". An empty hypothesis gets the metric's worst value (`empty="worst"`),
    or its segment is left out for all systems ("skip"), or it is refused ("error"). Systems are
    tested against `baseline`, the first one by default; `documents[i]` names the document of
    segment i, so that documents are resampled and not segments. `scores` brings segment scores of
    other tools into the same tables, {metric: {system: [...]}}; of those in `lower`, lower is
    better. `by` groups segments, {"domain": ["news", ...]}: reports show scores of every group.
    `place` is where segments are scored (`mtgauge.engine.places`), this process by default.
    """
    corpus = Corpus.from_lists(hypotheses, sources, references, documents, by)
    brought = foreign.given(scores or {}, list(corpus.systems))
    how = Comparing(ci, seed, baseline)
    return score_corpus(
        corpus, metrics, lang, empty=empty, unescape=unescape, how=how, brought=brought,
        lower=lower, keep=True, place=place,
    )  # fmt: skip


def score_corpus(
    corpus: Corpus,
    specs: Sequence[str],
    lang: str | None = None,
    *,
    empty: Empty = "worst",
    unescape: bool = False,
    how: Comparing | None = None,
    progress: Callable[[int], object] | None = None,
    brought: Sequence[Foreign] = (),
    lower: Collection[str] = (),
    keep: bool = False,
    place: Place | None = None,
    beside: Beside | None = None,
) -> Result:
    """What `score` and the command line share.

    `keep` keeps the texts and scores groups of segments: what a report is made of. `beside`
    is shown each chunk before it is scored, and asked for the languages of some lines.
    """
    how = how or Comparing()
    names = tuple(corpus.systems)
    baseline = how.base_of(names)
    if lang is not None:
        lang = checks.language_pair(lang)
    refuse_names(brought, specs, lower)
    refuse_no_list(specs, "metrics", SPECS, filled=not brought)
    refuse_no_choice("empty", empty, ("worst", "skip", "error"))
    facts = ({} if empty == "worst" else {"empty": empty}) | (UNESCAPED if unescape else {})
    metrics, unserved = serve(
        specs,
        task_of(corpus, lang),
        references=lambda: map(checks.unescape if unescape else str, corpus.reference_texts()),
        number=references_per_segment(corpus),
        facts=facts,
    )
    foreign_metrics = {
        one.name: as_ready(one.name, lower=one.name in lower, lang=lang) for one in brought
    }
    watch = Watch(lang, ask_strangers if beside is None else beside.strangers)
    blank: list[np.ndarray] = []
    texts: list[Chunk] = []
    together = shard_size(metrics.values())

    def batches() -> Iterator[Segments]:
        seen = 0
        for given in corpus.chunks(together):
            chunk = given.unescaped() if unescape else given
            if beside is not None:
                beside.look(chunk)  # before anything else: it may be work for another core
            watch.look(given.systems, given.sources, given.references)
            blank.append(_blank(chunk, empty, corpus, seen))
            if keep:
                texts.append(chunk)
            seen += len(chunk)
            yield _stack(chunk, lang)

    gathered: dict[str, list[FloatArray]] = {spec: [] for spec in metrics}
    n = 0
    for i, found in enumerate((place or Here()).run(metrics, batches())):
        size = len(blank[i])
        for spec, table in found.items():
            gathered[spec].append(table.reshape(len(names), size, -1))
        n += size
        if progress is not None:
            progress(size)
    tables = {spec: np.concatenate(parts, axis=1) for spec, parts in gathered.items()}
    for one in brought:
        tables[one.name] = rows(one, names, n)
        foreign_metrics[one.name].metric.notes["partly scored"] = partly_scored(one)
    skipped = np.concatenate(blank) if empty == "skip" else np.zeros(n, dtype=bool)
    if skipped.all():
        raise InputError("every segment has an empty hypothesis", remedy="Use --empty worst.")
    documents = None if corpus.documents is None else [str(x) for x in corpus.documents]
    distinct = len(set(documents or ()))  # documents that are resampled; 0: segments are
    results = summarise(
        metrics | foreign_metrics, tables, names, how, skipped=skipped, documents=documents
    )
    _add_counts(results, watch, names, skipped)
    results = {
        spec: replace(found, trust=known(found.signature, lang)) for spec, found in results.items()
    }
    results |= {spec: _unserved(spec, why, names, n) for spec, why in unserved.items()}
    result = Result(
        {spec: results[spec] for spec in (*specs, *foreign_metrics)},
        names,
        n,
        lang,
        baseline=baseline,
        seed=how.seed,
        resamples=RESAMPLES if how.ci else 0,
        documents=distinct,
        files=corpus.files() | ({"scores": [one.label for one in brought]} if brought else {}),
        untested=_untested(names, how, distinct or n, "document" if distinct else "segment"),
    )
    if keep:
        kept = Chunk.joined(texts)
        slices = by_segments(metrics | foreign_metrics, tables, kept, ~skipped, lang)
        result = replace(result, texts=kept, slices=tuple(slices))
    if beside is not None:
        result = beside.meanwhile(result)
    warnings = tuple(watch.messages(unescaped=unescape))
    if how.ci and 0 < distinct < FEWEST:
        few = too_few(distinct, "document")
        warnings += (f"{few} for intervals: {FEWEST} or more are wanted.",)
    return replace(result, warnings=warnings, checks={name: watch.notes(name) for name in names})


def _untested(names: Sequence[str], how: Comparing, units: int, what: str) -> str | None:
    """Why systems were not tested against each other, where they might have been."""
    if len(names) < 2 or not how.ci or units >= (enough := fewest(len(names))):
        return None
    few = too_few(units, what)
    if len(names) == 2:
        return f"{few}: below {enough} no difference can reach p < 0.05."
    return f"{few} for {len(names)} systems: below {enough} none can reach p < 0.05."


def task_of(corpus: Corpus, lang: str | None) -> Task:
    """What a corpus gives to its metrics."""
    given = {"source": corpus.sources is not None, "reference": bool(corpus.references)}
    return Task(frozenset(side for side, there in given.items() if there), lang)


def references_per_segment(corpus: Corpus) -> int:
    """How many references a segment has; the most, where lists in memory differ in length."""
    return sum(
        max((1 if isinstance(cell, str) else len(cell) for cell in column.values or ()), default=1)
        for column in corpus.references
    )


def _unserved(spec: str, reason: str, names: tuple[str, ...], n: int) -> MetricResult:
    """A metric that cannot serve the language of the run: no scores, and why."""
    metric = registry.load(spec)
    systems = {name: SystemScore(math.nan, np.full(n, np.nan)) for name in names}
    return MetricResult(
        metric.name, spec, sign(metric), metric.higher_is_better, systems, unserved=reason
    )


def _blank(chunk: Chunk, empty: Empty, corpus: Corpus, offset: int) -> np.ndarray:
    """Which segments have an empty hypothesis in some system; refuses them if asked to."""
    found = np.zeros(len(chunk), dtype=bool)
    for name, texts in chunk.systems.items():
        mask = np.array([checks.is_blank(text) for text in texts], dtype=bool)
        if empty == "error" and mask.any():
            raise InputError(
                "the hypothesis is empty",
                file=corpus.systems[name].label,
                line=offset + int(np.argmax(mask)) + 1,
                remedy="Translate it, or allow it with --empty worst or --empty skip.",
            )
        found |= mask
    return found


def _stack(chunk: Chunk, lang: str | None) -> Segments:
    times = len(chunk.systems)
    return Segments(
        [text for texts in chunk.systems.values() for text in texts],
        None if chunk.sources is None else chunk.sources * times,
        None if chunk.references is None else chunk.references * times,
        lang,
    )


def _add_counts(
    results: dict[str, MetricResult],
    watch: Watch,
    names: tuple[str, ...],
    skipped: np.ndarray,
) -> None:
    blank = sum(watch.counts[name]["empty"] for name in names)
    for result in results.values():
        result.notes["empty"] = blank
        result.notes.setdefault("truncated", 0)
        if skipped.any():
            result.notes["skipped"] = int(skipped.sum())
        for name, system in result.systems.items():
            undefined = int(np.isnan(system.segments[~skipped]).sum())
            if undefined:
                result.notes[f"undefined in {name}"] = undefined
