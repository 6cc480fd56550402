"""A probe from end to end: human translations in, worse texts made, metrics asked.

    pairs = human_translations(["judged.tsv.gz"], lang="de-en")
    run("reorder", pairs, ["xmoverscore"])          -> one `Probe` per metric and language pair
    run_robust(pairs, ["xmoverscore"])              -> one `Robust` per fault, metric and pair

`mtgauge.probe` is these calls. What a probe measures is told in `mtgauge.meta.probes` and
`mtgauge.meta.robust`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, get_args

from mtgauge import registry
from mtgauge.arguments import SPECS, refuse_no_list, whole_number
from mtgauge.data import checks, judged_files
from mtgauge.data.alignment import SOURCE
from mtgauge.data.corpus import Corpus
from mtgauge.data.judgements import Judgements
from mtgauge.data.segments import Segments
from mtgauge.data.watch import in_other_languages
from mtgauge.engine.cache import RowCache
from mtgauge.engine.ready import check_device
from mtgauge.errors import UsageError
from mtgauge.meta import lexicon, probes
from mtgauge.meta.lexicon import Dictionary
from mtgauge.meta.probes import Probe
from mtgauge.meta.robust import Robust, Worse, one_per_segment, robust
from mtgauge.stats.bootstrap import SEED
from mtgauge.text.untranslated import ask_strangers

Kind = Literal["w2w", "reorder", "robust"]


def human_translations(
    data: Sequence[str | Path | Judgements] = (),
    *,
    sources: Sequence[str] | None = None,
    references: Sequence[str] | None = None,
    translations: Sequence[str] | None = None,
    lang: str | None = None,
    unescape: bool = False,
    limit: int | None = None,
) -> list[Segments]:
    """Sources with their human translation as the hypothesis, each segment once, by pair.

    `translations` are other good ones: they are the hypotheses then, and the references references.
    """
    pair = None if lang is None else checks.language_pair(lang)
    if limit is not None:
        limit = whole_number("limit", limit, 1)
    if translations is not None:
        if sources is None or references is None or data:
            raise UsageError("-t goes with -s SRC and -r REF.")
        return [_beside_references(sources, references, translations, pair, unescape, limit)]
    found: list[tuple[str | None, list[tuple[str, str]]]] = []
    if sources is not None or references is not None:
        if sources is None or references is None or data:
            raise UsageError("Give DATA, or both -s SRC and -r REF.")
        corpus = Corpus.from_lists({"references": references}, sources)
        (chunk,) = corpus.chunks(len(references))
        found.append((pair, list(zip(sources, chunk.systems["references"], strict=True))))
    for item in data:
        for table in [item] if isinstance(item, Judgements) else judged_files.read(item, pair):
            if table.sources is None or table.references is None:
                raise UsageError(f"{table.data}: a probe needs sources and references.")
            firsts = [row[0] for row in table.references]
            both = dict.fromkeys(zip(table.sources, firsts, strict=True))
            found.append((table.lp, list(both)))
    if not found:
        raise UsageError("Nothing to probe: give DATA, or -s SRC and -r REF.")
    clean = checks.unescape if unescape else str
    return [
        Segments([clean(r) for _, r in both[:limit]], [clean(s) for s, _ in both[:limit]], lang=lp)
        for lp, both in found
    ]


def _beside_references(
    sources: Sequence[str],
    references: Sequence[str],
    translations: Sequence[str],
    lang: str | None,
    unescape: bool,
    limit: int | None,
) -> Segments:
    """Translations with their sources and references, each a list of equal length."""
    corpus = Corpus.from_lists({"translations": translations}, sources, references)
    (chunk,) = corpus.chunks(len(translations))
    clean = checks.unescape if unescape else str
    return Segments(
        [clean(text) for text in translations[:limit]],
        [clean(text) for text in sources[:limit]],
        [tuple(map(clean, row)) for row in (chunk.references or [])[:limit]],
        lang,
    )


def warnings(translations: Sequence[Segments]) -> list[str]:
    """Sides that are in another language than their pair says: nothing is preferred there."""
    found = []
    for batch in translations:
        sides = {"the translations": batch.hypotheses, SOURCE: batch.sources or ()}
        told = in_other_languages(batch.lang, sides, ask_strangers)
        found += [f"{batch.lang}, {text}" for text in told]
    return found


def run(
    kind: Kind,
    translations: Sequence[Segments],
    metrics: Sequence[str],
    *,
    dictionary: str | Path | None = None,
    parallel: tuple[Sequence[str], Sequence[str]] | None = None,
    worse: Worse | None = None,
    seed: int = SEED,
    cache: RowCache | None = None,
    progress: Callable[[int], object] | None = None,
) -> list[Probe]:
    """One result per metric, language pair and way to make the text worse.

    `parallel` is text (foreign, translated) to learn a dictionary from, for words that
    `dictionary` lacks, or for all; `worse` are versions made by people.
    """
    if kind not in get_args(Kind):
        raise UsageError(f"There is no probe {kind!r}. There are: {', '.join(get_args(Kind))}.")
    _check_metrics(metrics)
    listed = dictionary is not None or parallel is not None
    if kind == "w2w" and not (listed or worse):
        raise UsageError(
            "The w2w probe translates word by word: give --dictionary FILE (MUSE), or --parallel "
            "SRC TGT to learn one from, or --worse FILE with such translations."
        )
    if (listed or worse) and len(translations) > 1:
        raise UsageError("A dictionary is for one language pair: choose it with -l, e.g. -l de-en.")
    words = _words(dictionary, parallel, translations[0].source_lang) if listed else None
    return [
        probes.probe(
            name,
            spec,
            batch.sources or (),
            batch.hypotheses,
            bad,
            batch.lang,
            coverage=coverage,
            cache=cache,
            progress=progress,
        )
        for batch in translations
        for name, bad, coverage in [*_worse(kind, batch, words, seed), *_own(batch, worse)]
        for spec in metrics
    ]


def _words(
    dictionary: str | Path | None,
    parallel: tuple[Sequence[str], Sequence[str]] | None,
    lang: str | None,
) -> Dictionary:
    """What word-by-word translation looks words up in, inflected forms by their lemma."""
    words: Dictionary = {} if dictionary is None else probes.read_dictionary(dictionary)
    if parallel is not None:
        words = lexicon.joined(words, lexicon.learn(*parallel))
    return words if lang is None else lexicon.WithLemmas(words, lang)


def _own(batch: Segments, worse: Worse | None) -> list[tuple[str, list[str], float | None]]:
    """Versions that people made, one per segment."""
    return [(name, list(texts), None) for name, texts in one_per_segment(batch, worse or {})]


def run_robust(
    goods: Sequence[Segments],
    metrics: Sequence[str],
    *,
    faults: Sequence[str] | None = None,
    worse: Worse | None = None,
    seed: int = SEED,
    cache: RowCache | None = None,
    progress: Callable[[int], object] | None = None,
) -> list[Robust]:
    """One result per language pair, fault and metric."""
    _check_metrics(metrics)
    if worse and len(goods) != 1:
        raise UsageError("--worse goes line by line with the texts of -s SRC and -r REF.")
    for spec in metrics:
        if any("reference" in registry.load(spec).needs and not b.references for b in goods):
            raise UsageError(
                f"{spec} compares with the reference, which is the good version here. Give another "
                "good translation with -t FILE, beside -s SRC and -r REF."
            )
    return robust(
        goods, metrics, chosen=faults, worse=worse, seed=seed, cache=cache, progress=progress
    )


def _check_metrics(metrics: Sequence[str]) -> None:
    refuse_no_list(metrics, "metrics", SPECS, filled=True)
    check_device(registry.load(spec) for spec in metrics)


def _worse(
    kind: Kind, batch: Segments, words: Dictionary | None, seed: int
) -> list[tuple[str, list[str], float | None]]:
    """(name of the probe, worse texts, share of words in the dictionary)."""
    sources, references = batch.sources or (), batch.hypotheses
    if kind == "w2w":
        return [] if words is None else [("w2w", *probes.word_by_word(sources, words))]
    found: list[tuple[str, list[str], float | None]] = [
        ("random order", probes.shuffled(references, seed), None)
    ]
    if words is not None:
        ordered = probes.source_order(sources, references, words)
        found.append(("source order", ordered, probes.word_by_word(sources, words)[1]))
    return found
