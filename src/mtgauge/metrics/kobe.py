"""KoBE: are the entities of the source in the translation? (Gekhman et al., 2020)

    recall = matches / source entities
    penalty = 1 if c < 2 s else exp(1 - c / (2 s))       s, c: entities of source and candidate
    KoBE = penalty * recall                              over sums of the whole corpus

No reference is needed, and the score can be explained: these entities are lost. The knowledge base
ships with the package (places, currencies, languages, brands, dates); numbers and addresses are
entities too, with `names=on` names outside the knowledge base, and with `concepts=on` common nouns,
which the embedded encoder finds by what they mean (knowledge/link/concepts.py).

    metric = load("kobe")                       # defaults: best for users
    load("kobe:preset=paper")                   # the authors' program: percent, its rounding
    load("kobe:kb=my.sqlite,against=reference")

A segment without source entities has no score (NaN); it adds nothing to the corpus score and is
counted in the notes. Of a translation whose share u is untranslated, 1 - u of the matches count:
the segment's score is 1 - u times as high, and it keeps its weight in the sums. Known limits:
people are found by spelling and sound, not by identity; the penalty is the paper's only guard
against invented entities (`measure=f1` is a stricter one).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np

from mtgauge.data.segments import Segments
from mtgauge.errors import UsageError
from mtgauge.explanation import Explanation
from mtgauge.knowledge.link.agreement import (
    Agreement,
    agree,
    agree_on_names,
    matches_by_sound,
)
from mtgauge.knowledge.link.annotations import Side
from mtgauge.knowledge.link.concepts import CATEGORY
from mtgauge.knowledge.link.mention import Linker, Mention
from mtgauge.metric import FloatArray, Task, Untranslated
from mtgauge.metrics._concepts import ConceptFinder, joined
from mtgauge.metrics._entities import explain_entities
from mtgauge.metrics._mentions import NOTHING, Mentioned, MentionReader, Pair, left_in_source
from mtgauge.metrics._presets import PRESET, PresetMetric
from mtgauge.metrics._references import references_of, sources_of
from mtgauge.options import When
from mtgauge.registry import metric

_NO_PAIR = "kobe needs the language pair to find entities: give it with -l cs-en."
_HAS_BASE = When("annotations", None)
_CATEGORIES = frozenset(  # of the embedded knowledge base, and of what is found without it
    "address concept currency date language name number organisation person place unit".split()
)
_NAMED = frozenset({"place", "person", "organisation", "language"})


@metric("kobe")
class Kobe(PresetMetric):
    summary = "Share of the source's entities that the translation keeps; needs no reference."
    meaning = "1: every name, place, number and date of the source is in the translation; 0: none."
    paper = "Gekhman et al. 2020, KoBE: Knowledge-Based Machine Translation Evaluation"
    columns = ("matches", "source_entities", "candidate_entities")
    longest = 10_000
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "default": {
            "numbers": True,
            "names": False,
            "concepts": False,
            "untranslated": "worst",
            "filter_language": False,
        },
        "paper": {
            "numbers": False,
            "names": False,
            "concepts": False,
            "untranslated": "keep",
            "filter_language": False,  # in the paper's text, but not in the authors' program
        },
    }

    kb: Annotated[str, "knowledge base: embedded, or a file of mtgauge kb build", _HAS_BASE] = (
        "embedded"
    )
    against: Annotated[
        Literal["source", "reference"], "whose entities the translation must keep"
    ] = "source"
    measure: Annotated[
        Literal["recall", "precision", "f1"], "share of its entities, of the translation's, or both"
    ] = "recall"
    preset: Annotated[Literal["default", "paper"], PRESET] = "default"
    numbers: Annotated[bool | None, "numbers and addresses are entities too", _HAS_BASE] = None
    names: Annotated[
        bool | None, "names outside the knowledge base are entities too", _HAS_BASE
    ] = None
    concepts: Annotated[bool | None, "common nouns are entities too", _HAS_BASE] = None
    untranslated: Annotated[Untranslated | None, When("against", "source")] = None
    filter_language: Annotated[
        bool | None, "no entities in what is not the target language", When("untranslated", "keep")
    ] = None
    annotations: Annotated[str | None, "FILE of entities found elsewhere, in place of the base"] = (
        None
    )
    weights: Annotated[tuple[str, ...], "what a kind of entity counts: 'place=2;number=1'"] = ()

    def check(self) -> None:
        super().check()
        if self.kb != "embedded" or not self._reader.has_base:
            self._weights()  # the categories are those of the user
            return
        unknown = self._weights().keys() - _CATEGORIES
        if unknown:
            raise UsageError(
                f"kobe: weights names no category {', '.join(sorted(unknown))}. "
                f"There are: {' '.join(sorted(_CATEGORIES))}."
            )

    @property
    def needs(self) -> frozenset[str]:
        return frozenset({self.against})

    @property
    def bounds(self) -> tuple[float, float]:
        return (0.0, 100.0 if self.preset == "paper" else 1.0)

    @property
    def languages(self) -> frozenset[str] | None:
        """Languages of the knowledge base, and with concepts of the encoder too; None where
        annotations replace it."""
        if not self._reader.has_base:
            return None
        found = self._reader.languages
        return found & self._finder.languages if self._has_concepts else found

    @property
    def uses_device(self) -> bool:
        return self._has_concepts

    def resolve(self, task: Task) -> Self:
        if task.lang is None:
            raise UsageError(_NO_PAIR)
        self._reader.linker(self.against)  # opened once, shared with what is settled later
        return super().resolve(task)

    def versions(self) -> dict[str, str]:
        if not self._reader.has_base:
            return {}
        found = self._finder.versions() if self._has_concepts else {}
        return found | {"kb_version": self._reader.version}

    def use(self, linker: Linker) -> None:
        """Find mentions with a linker of your own (a spaCy pipeline, a service)."""
        self.__dict__["_opened"] = MentionReader(self.kb, own=linker)

    def statistics(self, batch: Segments) -> FloatArray:
        weights = self._weights()
        rows = np.zeros((len(batch), 3))
        for row, found in zip(rows, self.agreements(batch), strict=True):
            kept = sum(weights.get(s.category, 1.0) for s, _ in found.matched)
            lost = sum(weights.get(m.category, 1.0) for m in found.lost)
            mine = sum(weights.get(t.category, 1.0) for _, t in found.matched)
            more = sum(weights.get(m.category, 1.0) for m in found.invented)
            row[:] = kept, kept + lost, mine + more
        self.notes["no_entities"] += int((rows[:, 1] == 0).sum())
        return rows

    def lowered(self, rows: FloatArray, shares: FloatArray, batch: Segments) -> FloatArray:
        """Fewer matches; what either side mentions stays, and with it the penalty."""
        return rows * np.column_stack([1 - shares, np.ones((len(rows), 2))])

    def segment_score(self, rows: FloatArray) -> FloatArray:
        return self._score(rows)

    def system_score(self, totals: FloatArray, n: FloatArray) -> FloatArray:
        return self._score(totals)

    def _score(self, rows: FloatArray) -> FloatArray:
        matches, source, candidate = rows[:, 0], rows[:, 1], rows[:, 2]
        with np.errstate(invalid="ignore", divide="ignore"):
            recall = matches / source
            precision = np.where(candidate > 0, matches / candidate, 0.0)
            both = np.where(matches > 0, 2 * recall * precision / (recall + precision), 0.0)
            score = {"recall": recall, "precision": precision, "f1": both}[self.measure]
            if self.preset == "paper":
                score = np.round(100 * score, 2)  # the authors round before the penalty
            if self.measure == "recall":
                score = score * entity_count_penalty(source, candidate)
        return np.asarray(np.where(source > 0, score, np.nan), dtype=np.float64)

    def explain(self, segment: Segments) -> Explanation:
        alone = segment.take([0])
        score = float(self.segment_score(self.statistics(alone))[0])
        return explain_entities(
            self.name, score, self.against, self.agreements(alone)[0], self._pair(alone),
            self._facts,
        )  # fmt: skip

    def categories(self, batch: Segments) -> dict[str, tuple[float, int]]:
        """{category: (matches, source entities)}: which kinds of entity are lost.

        As in the score a match counts by the share of its text that is translated: what is left of
        a copy of the source is not kept.
        """
        table: dict[str, tuple[float, int]] = {}
        translated = 1 - self.untranslated_shares(batch)
        for found, share in zip(self.agreements(batch), translated.tolist(), strict=True):
            counted = [(source.category, share) for source, _ in found.matched]
            for category, kept in [*counted, *((lost.category, 0.0) for lost in found.lost)]:
                before = table.get(category, (0.0, 0))
                table[category] = (before[0] + kept, before[1] + 1)
        return dict(sorted(table.items()))

    def agreements(self, batch: Segments) -> list[Agreement]:
        """For every row its matched, lost and invented mentions; each distinct text linked once."""
        given, lang = self._given(batch), self._pair(batch)
        reader = self._reader
        mine = reader.read(given, lang[0], self.against)
        theirs = reader.read(batch.hypotheses, lang[1], "hypothesis")
        pairs = list(zip(given, batch.hypotheses, strict=True))
        foreign = left_in_source(pairs, lang) if self.options.filter_language else set()
        known = partial(self._names_of, lang=lang[1])
        audible = not reader.has_base or matches_by_sound(lang[1])
        found: dict[Pair, Agreement] = {}
        for pair in dict.fromkeys(pairs):
            left, right = mine[pair[0]], theirs[pair[1]]
            if pair in foreign:
                right = NOTHING
            mentioned = agree(*self._first_choices(left.mentions, right.mentions))
            if left.names is not None and right.names is not None:
                names = (left.names, right.names) if audible else ([], [])
                text = "" if right is NOTHING else pair[1]
                mentioned = agree_on_names(mentioned, text, right.mentions, names, known)
            if reader.has_base and self.preset != "paper":
                mentioned = self._drop_unfindable(mentioned, lang[1])
            found[pair] = mentioned
        if self._has_concepts:
            self._add_concepts(found, mine, theirs, foreign)
        return [found[pair] for pair in pairs]

    def _add_concepts(
        self,
        found: dict[Pair, Agreement],
        mine: dict[str, Mentioned],
        theirs: dict[str, Mentioned],
        foreign: set[Pair],
    ) -> None:
        """To what was found of each pair, its nouns; a foreign translation has none."""
        read = {pair: (pair[0], "") if pair in foreign else pair for pair in found}
        left = {pair[0]: mine[pair[0]].known for pair in found}
        right = {pair[1]: theirs[pair[1]].known for pair in found} | {"": []}
        nouns = dict(self._finder.agreements(list(dict.fromkeys(read.values())), left, right))
        found.update({pair: joined(seen, nouns[read[pair]]) for pair, seen in found.items()})

    def mentions(
        self, texts: Sequence[str], lang: str, side: Side = "hypothesis"
    ) -> list[list[Mention]]:
        """What each text mentions, weak mentions too; `side` matters for annotations."""
        held = self._reader.read(texts, lang, side)
        found = [held[text].mentions for text in texts]
        if not self._has_concepts:
            return found
        return self._finder.added(texts, found, lang)

    def _drop_unfindable(self, found: Agreement, lang: str) -> Agreement:
        """Without what could not have been found: no name in the target's language, none by sound.

        A single word may be met by its sound, but not in a script without spaces.
        """
        audible = matches_by_sound(lang)
        lost = [
            m
            for m in found.lost
            if m.category not in _NAMED
            or (audible and " " not in m.text)
            or any(self._reader.base.has_name(id, lang) for id in m.ids)
        ]
        return found if len(lost) == len(found.lost) else found._replace(lost=lost)

    def _first_choices(
        self, source: list[Mention], candidate: list[Mention]
    ) -> tuple[list[Mention], list[Mention]]:
        """Under the paper's rules a mention has one entity, whatever the other side says."""
        if self.preset != "paper":
            return source, candidate
        return (
            [m._replace(ids=m.ids[:1]) for m in source if not m.weak],
            [m._replace(ids=m.ids[:1]) for m in candidate if not m.weak],
        )

    def _names_of(self, id: str, lang: str) -> tuple[str, ...]:
        return tuple(self._reader.base.names(id, lang))

    def _given(self, batch: Segments) -> Sequence[str]:
        if self.against == "source":
            return sources_of(self.name, batch)
        references = references_of(self.name, batch)
        if any(len(row) != 1 for row in references):
            raise UsageError("kobe:against=reference takes exactly one reference per segment.")
        return [row[0] for row in references]

    def _pair(self, batch: Segments) -> Pair:
        source, target = batch.source_lang, batch.target_lang
        if source is None or target is None:
            raise UsageError(_NO_PAIR)
        return (source if self.against == "source" else target, target)

    def _weights(self) -> dict[str, float]:
        weights = {}
        for item in self.weights:
            category, equals, value = item.partition("=")
            try:
                weights[category] = float(value)
            except ValueError:
                equals = ""
            if not equals or not weights[category] >= 0:
                raise UsageError(
                    f"kobe: weight {item!r} is not category=number. "
                    "Example: weights='place=2;number=1'."
                )
        return weights

    def _facts(self, mention: Mention, lang: str) -> dict[str, Any]:
        id = mention.ids[0]
        if self._has_concepts and mention.category == CATEGORY:
            name = self._finder.inventory.names.get(id)
            return {"id": id, "category": mention.category, "name": name}
        kb = self._reader.base if self._reader.has_base else None
        name = (kb.name(id, lang) or kb.label(id)) if kb is not None else None
        return {"id": id, "category": mention.category, "name": name}

    @property
    def _reader(self) -> MentionReader:
        """What finds mentions; shared with copies that are settled for a run."""
        if "_opened" not in self.__dict__:
            o = self.options
            self.__dict__["_opened"] = MentionReader(
                self.kb, self.annotations, numbers=o.numbers, names=o.names
            )
        reader: MentionReader = self.__dict__["_opened"]
        return reader

    @property
    def _has_concepts(self) -> bool:
        return bool(self.options.concepts) and self._reader.has_base

    @property
    def _finder(self) -> ConceptFinder:
        return ConceptFinder.embedded()


def entity_count_penalty(source: FloatArray, candidate: FloatArray) -> FloatArray:
    """1 while the candidate has fewer than twice the source's entities, then exp(1 - c / 2s)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        penalty = np.exp(1.0 - candidate / (2.0 * source))
    return np.asarray(np.where(candidate < 2 * source, 1.0, penalty), dtype=np.float64)
