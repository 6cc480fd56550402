"""How surely a text has nothing to do with its source; the guard of metrics without a reference.

    unrelated_shares(sources, hypotheses, "de-en")      # 0 for translations, up to .75

A fluent sentence about something else now and then scores above a translation that a model does not
understand. Four questions are asked, the cheap ones first, so that few texts come to the last:

1. Does the text share a number, a name or a word of one origin with its source (text/anchors.py)?
2. Are best matches of their pieces at least `look`? It counts the lesser m of precision and recall
   (vectors of the embedded encoder, whatever encoder the metric has).
3. Does either text help the embedded language model with the other? With
   g_t = log p(t | before it, other text) - log p(t | before it) for every piece t, in nats,

    gained = log(1 + sum_t max(g_t, 0))         over the pieces of both texts
    lost = log(1 + mean_t max(-g_t, 0))         of the translation; `lost_back` of the source

   Translations gain much on a few words, unrelated texts on none.
4. Do both name one entity of the embedded knowledge base? As kobe counts them, u of both texts
   have no partner; asked only where u could still matter.

Who says yes to the first, second or last is never doubted. Of the others the evidence is

    e = bias + least * m + gained * ... + lost * ... + lost_back * ...
        + numbers * d + names * log(1 + k) + marks * log(1 + p)
        + ratio * |log(n / o)| + length * log(min(n, o)) + entities * log(1 + min(u, 15))
    share = most * (e - from) / (to - from), between 0 and most

with d = 1 if the numbers differ, k the names on both sides, p the kinds of marks that stand on one
side only (quotation marks, a question mark, ...), and n, o the lengths in words plus one.
The constants belong to the models that are asked and are in the encoder's card, under `unrelated`;
`python recipes/calibrate_unrelated.py` fits them. Languages that the encoder does not know, and a
card without the constants, give 0.

Limits: a wrong translation of a sentence about the same thing is not seen, nor are a few words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mtgauge import registry
from mtgauge.data.checks import is_blank
from mtgauge.data.codes import LanguagePair
from mtgauge.data.segments import Segments
from mtgauge.encode import load_encoder, load_language_model
from mtgauge.encode.card import EVIDENCE
from mtgauge.encode.ragged import distinct
from mtgauge.encode.tokens import units as make
from mtgauge.encode.tokens.encoder import Encoder
from mtgauge.encode.tokens.units import Units
from mtgauge.errors import UsageError
from mtgauge.metric import FloatArray, Metric, Task
from mtgauge.text.anchors import anchored, length, marks_differ, names, numbers_differ

WINDOW = 1024  # pairs
MOST_ENTITIES = 15  # that count


class ReferenceFree(Metric):
    """Base of metrics that can do without a reference: an unrelated text loses score."""

    def unrelated_shares(self, batch: Segments) -> FloatArray:
        sides = Task.of(batch).sides
        asked = self.params().get("untranslated") == "worst"
        if not asked or batch.sources is None or not self.reads_source_alone(sides):
            return super().unrelated_shares(batch)
        return unrelated_shares(batch.sources, batch.hypotheses, batch.lang)

    def reads_source_alone(self, sides: frozenset[str]) -> bool:
        """Whether scores depend on the source, and on no reference."""
        return self.reads_source(sides) and "reference" not in self.needs


def unrelated_shares(
    sources: Sequence[str], hypotheses: Sequence[str], lang: str | None
) -> FloatArray:
    """One share in [0, 1] for every segment."""
    shares = np.zeros(len(hypotheses))
    encoder = load_encoder("embedded")
    card = encoder.unrelated
    languages = _known_pair(lang, encoder)
    if not card or languages is None:
        return shares
    rows = suspects(sources, hypotheses)
    for start in range(0, len(rows), WINDOW):
        window = rows[start : start + WINDOW]
        pairs = [(sources[i], hypotheses[i]) for i in window]
        least = least_match(pairs, encoder)
        far = np.flatnonzero(least < card["look"])
        if len(far):
            table = evidence([pairs[i] for i in far], least[far], languages)
            found = table @ [card[name] for name in EVIDENCE]
            most = card["entities"] * np.log1p(MOST_ENTITIES)
            in_doubt = np.flatnonzero(found > card["from"] - most)
            if len(in_doubt):
                doubted = [pairs[i] for i in far[in_doubt]]
                found[in_doubt] += card["entities"] * entities(doubted, languages)
            shares[[window[i] for i in far]] = (found - card["from"]) / (card["to"] - card["from"])
    return card["most"] * np.clip(shares, 0.0, 1.0)


def _known_pair(lang: str | None, encoder: Encoder) -> tuple[str, str] | None:
    """The two languages, if the encoder knows both."""
    try:
        bases = LanguagePair.parse(str(lang)).bases if lang else ()
    except UsageError:  # a metric may be used with names of languages of its own
        return None
    return bases if bases and set(bases) <= set(encoder.languages) else None


def suspects(sources: Sequence[str], hypotheses: Sequence[str]) -> list[int]:
    """Segments in which both sides have words, and nothing in common."""
    both = enumerate(zip(sources, hypotheses, strict=True))
    return [
        i
        for i, (source, text) in both
        if not is_blank(source) and not is_blank(text) and not anchored(source, text)
    ]


def evidence(
    pairs: Sequence[tuple[str, str]], least: FloatArray, languages: tuple[str, str]
) -> FloatArray:
    """(p, 10) by `EVIDENCE`; `least` is what `least_match` found."""
    source, target = languages
    lefts, rights = [x for x, _ in pairs], [y for _, y in pairs]
    gained, lost = _explained(rights, lefts)
    gained_back, lost_back = _explained(lefts, rights)
    sizes = np.array([[length(x), length(y)] for x, y in pairs]) + 1
    columns = [
        np.ones(len(pairs)),
        least,
        np.log1p(gained + gained_back),
        np.log1p(lost),
        np.log1p(lost_back),
        np.array([float(numbers_differ(x, y)) for x, y in pairs]),
        np.log1p([names(x, source) + names(y, target) for x, y in pairs]),
        np.log1p([marks_differ(x, y) for x, y in pairs]),
        np.abs(np.log(sizes[:, 1] / sizes[:, 0])),
        np.log(sizes.min(axis=1)),
    ]
    return np.stack(columns, axis=1)


def entities(pairs: Sequence[tuple[str, str]], languages: tuple[str, str]) -> FloatArray:
    """log(1 + u) of each pair; minus infinity where the two share an entity."""
    kobe = registry.load("kobe:untranslated=keep")
    sources, texts = [x for x, _ in pairs], [y for _, y in pairs]
    shared, left, right = kobe.statistics(Segments(texts, sources, lang="-".join(languages))).T
    alone = np.minimum(left + right - 2 * shared, MOST_ENTITIES)
    return np.where(shared > 0, -np.inf, np.log1p(alone))


def _explained(texts: Sequence[str], given: Sequence[str]) -> tuple[FloatArray, FloatArray]:
    """What pieces gain (the sum) and lose (the mean) in each text when the other one is known.

    The end of the text, the last thing scored, does not count: it tells of lengths alone.
    """
    model = load_language_model("embedded")
    texts, given = ([t.lower() if model.lowercase else t for t in x] for x in (texts, given))
    known, offsets = model.logprobs(texts, given=given)
    gains = known - model.logprobs(texts)[0]
    gains[offsets[1:] - 1] = 0.0
    up, down = (np.add.reduceat(x.clip(min=0.0), offsets[:-1]) for x in (gains, -gains))
    return up, down / np.maximum(np.diff(offsets) - 1, 1)


def least_match(pairs: Sequence[tuple[str, str]], encoder: Encoder) -> FloatArray:
    """The lesser of precision and recall of best matches, as xmoverscore has them."""
    from mtgauge.metrics._matching import GREEDY, greedy

    left, lefts = distinct([x for x, _ in pairs])
    right, rights = distinct([y for _, y in pairs])
    x, y = _units(left, encoder, turned=True), _units(right, encoder, turned=False)
    full = (np.diff(x.offsets)[lefts] > 0) & (np.diff(y.offsets)[rights] > 0)
    least = np.zeros(len(pairs))
    if full.any():
        found = greedy(x, lefts[full], y, rights[full])
        least[full] = found[:, [GREEDY["precision"], GREEDY["recall"]]].min(axis=1)
    return least


def _units(texts: Sequence[str], encoder: Encoder, *, turned: bool) -> Units:
    cased = [text.lower() if encoder.lowercase else text for text in texts]
    tokens = encoder.encode(cased, encoder.default_layer["source"])
    if turned:
        tokens = replace(tokens, vectors=encoder.turn(tokens.vectors))
    kept = make.keep(tokens, encoder.punctuation)
    return make.build(tokens, kept, np.ones(len(kept)), 1)
