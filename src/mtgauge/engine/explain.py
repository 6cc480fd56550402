"""What one segment's score was made of.

    found = mtgauge.explain(["The cat sat."], references=["The cat sat down."], metric="chrf")
    found.score, found.findings, found.remarks, found.to_dict()

The lists are those of `mtgauge.score`, of one system: a metric that is fitted on references (NIST,
idf) sees all of them, as it does when it scores. `segment` counts from 1. Of a text longer than
`EXPLAINED` characters only the beginning is explained, since edits and links grow with its square;
the score is that of the whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mtgauge.data import checks
from mtgauge.data.corpus import Corpus
from mtgauge.data.segments import Segments
from mtgauge.engine.entities import Kept, kept_by_kind, refuse_other
from mtgauge.engine.local import references_per_segment, task_of
from mtgauge.engine.places import SHARD
from mtgauge.engine.ready import Ready, check_device, make_ready
from mtgauge.errors import InputError, UsageError
from mtgauge.explanation import Explanation
from mtgauge.metric import Metric
from mtgauge.metrics.kobe import Kobe

EXPLAINED = 1500
_REASONS = {
    "untranslated": "{:.0%} of the translation is not in the target language.",
    "unrelated": "It has hardly anything to do with its source: {:.0%} of the way to the worst.",
}


def explain(
    hypotheses: Sequence[str],
    sources: Sequence[str] | None = None,
    references: Sequence[str | Sequence[str]] | None = None,
    metric: str = "chrf",
    lang: str | None = None,
    *,
    segment: int = 1,
) -> Explanation:
    """The explanation of one segment under a metric; `segment` counts from 1."""
    corpus = Corpus.from_lists({"system": hypotheses}, sources, references)
    return explain_corpus(corpus, metric, lang, segment)


def explain_corpus(corpus: Corpus, spec: str, lang: str | None, segment: int) -> Explanation:
    """What `explain` and the command line share."""
    if isinstance(segment, bool) or not hasattr(segment, "__index__"):
        raise UsageError(f"segment={segment!r} is not a whole number.")
    ready = _ready(corpus, spec, lang)
    chunk, before = None, 0
    for part in corpus.chunks(SHARD):  # to the end: files of different length are refused there
        if before < segment <= before + len(part):
            chunk = part.only(segment - 1 - before)
        before += len(part)
    if chunk is None:
        raise InputError(
            f"there is no segment {segment}", remedy=f"Segments are counted from 1 to {before:,}."
        )
    (texts,) = chunk.systems.values()
    return explain_alone(ready.metric, Segments(texts, chunk.sources, chunk.references, lang))


def explain_alone(metric: Metric, alone: Segments) -> Explanation:
    """The explanation of one segment, with its texts, the score of a run, and what lowered it."""
    alone = metric.cut(alone)
    short, longer = alone.cut(EXPLAINED)
    found = metric.explained(short)
    found = replace(found, sentences=_sentences(short), meaning=metric.meaning)
    if longer:
        score = float(metric.segment_score(metric.filled_rows(alone))[0])
        remark = f"The first {EXPLAINED:,} characters are explained; the score is of the whole."
        found = replace(found, score=score, remarks=(remark, *found.remarks))
    shares = {name: float(values[0]) for name, values in metric.guards(alone).items()}
    reason = max(shares, key=shares.__getitem__)  # the greater one lowers the score
    if not shares[reason]:
        return found
    score = float(metric.segment_score(metric.rows(alone))[0])
    facts = {reason: round(shares[reason], 4), "score without it": found.score}
    said = _REASONS[reason].format(shares[reason])
    remark = f"{said} That moves the score from {found.score:.4f} to {score:.4f}."
    if found.findings or found.remarks:
        remark += " What follows is about the former."
    return replace(
        found,
        score=score,
        facts=found.facts | facts,
        remarks=(remark, *found.remarks),
        unit=found.unit if found.findings else "",
    )


def _sentences(alone: Segments) -> dict[str, str]:
    """The texts of one segment by their side; several references are numbered."""
    sides = {} if alone.sources is None else {"source": alone.sources[0]}
    references = () if alone.references is None else alone.references[0]
    many = len(references) > 1
    for number, text in enumerate(references, 1):
        sides[f"reference {number}" if many else "reference"] = text
    return sides | {"hypothesis": alone.hypotheses[0]}


def categories(corpus: Corpus, spec: str, lang: str | None) -> Kept:
    """Kept and all source entities by kind: figure 3 of the paper on KoBE, for one system."""
    refuse_other(spec)
    metric = _ready(corpus, spec, lang).metric
    assert isinstance(metric, Kobe)
    (kept,) = kept_by_kind(corpus, metric, lang).values()
    return kept


def _ready(corpus: Corpus, spec: str, lang: str | None) -> Ready:
    if lang is not None:
        lang = checks.language_pair(lang)
    if len(corpus.systems) != 1:
        names = ", ".join(corpus.systems)
        raise UsageError(f"Explain one system at a time; name its column. There are: {names}.")
    ready = make_ready(
        spec,
        task_of(corpus, lang),
        references=corpus.reference_texts,
        number=references_per_segment(corpus),
    )
    check_device([ready.metric])
    return ready
