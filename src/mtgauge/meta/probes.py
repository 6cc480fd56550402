"""Probes: does a metric without references prefer translationese to a human translation?

    W2W = 1/n sum I( m(x, x') - m(x, y*) > 0 )          Zhao et al. 2020, equation 2

x is the source, y* its human translation, and x' a text that is plainly worse: x word by word
through a bilingual dictionary, or y* with its words in another order. d = m(x, x') - m(x, y*) of
each segment is the d-statistic; a metric that understands has d < 0 nearly always. A tie is no
preference, so it does not count.

    words = read_dictionary("de-en.txt.gz")
    translated, found = word_by_word(sources, words)
    result = probe("w2w", "cosine", sources, references, translated, "de-en")
    result.share, result.histogram()

Word-by-word translation takes the first entry of the dictionary, of an inflected form that it lacks
that of its lemma (lexicon.py); other words, numbers and punctuation stay as they are. The share of
source words found is reported: below about a half the probe says little. Limits: source order is
found through the dictionary, so unaligned words follow the word before them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mtgauge import registry
from mtgauge.data import readers
from mtgauge.data.segments import Segments
from mtgauge.engine.cache import RowCache
from mtgauge.engine.places import rows_of
from mtgauge.engine.ready import Ready, make_ready
from mtgauge.errors import InputError, UsageError
from mtgauge.metric import Task
from mtgauge.signature import Signature
from mtgauge.stats.bootstrap import SEED
from mtgauge.stats.correlation import FloatArray
from mtgauge.text.words import longest_match, unicode_words


@dataclass(frozen=True)
class Probe:
    """d of every segment, and what follows from it."""

    probe: str
    metric: str
    signature: Signature
    lp: str | None
    d: FloatArray  # NaN where a score is undefined
    coverage: float | None = None  # share of source words the dictionary knows

    @property
    def known(self) -> FloatArray:
        return self.d[~np.isnan(self.d)]

    @property
    def share(self) -> float:
        """How often the worse text scores strictly higher; NaN without segments."""
        return float(np.mean(self.known > 0)) if len(self.known) else float("nan")

    @property
    def equal(self) -> int:
        """How many worse texts score exactly as the human translation: no preference."""
        return int((self.known == 0).sum())

    def histogram(self, bins: int = 20) -> tuple[list[int], list[float]]:
        """(counts, edges) of d; the edges are symmetric about 0, which is one of them."""
        limit = float(np.abs(self.known).max()) if len(self.known) else 1.0
        counts, edges = np.histogram(self.known, bins=bins, range=(-(limit or 1.0), limit or 1.0))
        return counts.tolist(), edges.tolist()

    def to_dict(self) -> dict[str, Any]:
        counts, edges = self.histogram()
        known = self.known
        return {
            "probe": self.probe,
            "metric": self.metric,
            "signature": self.signature.short,
            "signature_full": self.signature.full,
            "lp": self.lp,
            "n": len(known),
            "share": self.share if len(known) else None,
            "d_mean": float(known.mean()) if len(known) else None,
            "d_sd": float(known.std(ddof=1)) if len(known) > 1 else None,
            "histogram": {"counts": counts, "edges": edges},
            "coverage": self.coverage,
        }


def probe(
    name: str,
    spec: str,
    sources: Sequence[str],
    references: Sequence[str],
    worse: Sequence[str],
    lang: str | None = None,
    *,
    coverage: float | None = None,
    cache: RowCache | None = None,
    progress: Callable[[int], object] | None = None,
) -> Probe:
    """d of a metric that looks at the source alone; one that needs a reference is refused."""
    asked = registry.load(spec)
    if "reference" in asked.needs:
        raise UsageError(
            f"{spec} compares with the reference, which every other text differs from: probes are "
            "for metrics without references (such as xmoverscore, cosine, kobe)."
        )
    if not len(sources) == len(references) == len(worse):
        raise UsageError("A probe needs as many references and worse texts as sources.")
    ready = make_ready(spec, Task(frozenset({"source"}), lang))
    size = len(sources)
    batch = Segments([*references, *worse], [*sources, *sources], None, lang)
    scores = segment_scores(ready, batch, cache, progress)
    d = scores[size:] - scores[:size]
    return Probe(name, spec, ready.signature, lang, d, coverage)


def segment_scores(
    ready: Ready,
    batch: Segments,
    cache: RowCache | None = None,
    progress: Callable[[int], object] | None = None,
) -> FloatArray:
    """Scores turned so that higher is better, shard by shard, through the cache."""
    metric = ready.metric
    scores = metric.segment_score(rows_of(ready, batch, cache=cache, progress=progress))
    return scores if metric.higher_is_better else -scores


# Worse texts


def read_dictionary(path: str | Path) -> dict[str, list[str]]:
    """Word pairs, one per line, by space or tab (MUSE); entries keep their order."""
    path = Path(path)
    readers.must_exist(path)
    found: dict[str, list[str]] = {}
    for number, line in readers.raw_lines(path, str(path)):
        fields = line.split("\t") if "\t" in line else line.split(" ")
        if len(fields) != 2 or not all(field.strip() for field in fields):
            raise InputError(
                "the line is not two words, separated by a space or tab", file=path, line=number
            )
        word, translation = fields[0].strip().lower(), fields[1].strip()
        found.setdefault(word, []).append(translation)
    return found


def word_by_word(sources: Sequence[str], words: Mapping[str, list[str]]) -> tuple[list[str], float]:
    """Every source through the dictionary, word by word, and the share of words it knows."""
    tokenize = longest_match(words)
    known = total = 0
    translated = []
    for source in sources:
        line = []
        for token in tokenize(source):
            entries = words.get(token.lower())
            if any(c.isalpha() for c in token):
                total += 1
                known += entries is not None
            line.append(entries[0] if entries else token)
        text = _joined(line)
        # German nouns are no reason for capitals, the beginning of a sentence is
        translated.append(text[:1].upper() + text[1:] if source[:1].isupper() else text)
    return translated, known / total if total else float("nan")


def shuffled(texts: Sequence[str], seed: int = SEED) -> list[str]:
    """Words of each text in random order; a text of two words or more always changes."""
    found = []
    for i, text in enumerate(texts):
        words = text.split()
        order = words[:]
        rng = random.Random(f"{seed} {i}")
        for _ in range(20):  # a text such as "ha ha" has no other order
            rng.shuffle(order)
            if order != words:
                break
        found.append(" ".join(order))
    return found


def source_order(
    sources: Sequence[str], references: Sequence[str], words: Mapping[str, list[str]]
) -> list[str]:
    """Words of each reference in the order of the source words they translate."""
    tokenize = longest_match(words)
    found = []
    for source, reference in zip(sources, references, strict=True):
        places: dict[str, list[int]] = {}
        for place, token in enumerate(tokenize(source)):
            for translation in words.get(token.lower(), [token]):
                places.setdefault(translation.lower(), []).append(place)
        keys: list[tuple[int, int]] = []
        last = -1
        for i, word in enumerate(reference.split()):
            plain = "".join(unicode_words(word)[:1]).lower()
            free = places.get(plain)
            if free:
                last = free.pop(0)  # a second "the" goes with the second article
            keys.append((last, i))
        order = [i for _, i in sorted(keys)]
        tokens = reference.split()
        found.append(" ".join(tokens[i] for i in order))
    return found


def _joined(tokens: Sequence[str]) -> str:
    """Words with spaces between them, closing marks attached."""
    text = ""
    for token in tokens:
        attached = len(token) == 1 and token in ".,;:!?%)]}»”’。，；：！？、"
        text += token if attached or not text else f" {token}"
    return text
