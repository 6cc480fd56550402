"""Where systems differ: scores of groups of segments, by length, by any column, by words and names.

    by_segments(metrics, tables, texts, kept)     one `Slices` per way to group

A group's score is a system score of its segments' rows, so BLEU of a group is corpus BLEU and not a
mean. Entities are grouped by their kind: there a score is the share of them that a system keeps.
For words see engine/contrast.py.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from mtgauge.data.corpus import Chunk
from mtgauge.data.segments import Segments
from mtgauge.engine.ready import Ready
from mtgauge.metric import FloatArray
from mtgauge.metrics.kobe import Kobe
from mtgauge.text.words import unicode_words

LENGTHS = (10, 20, 30, 40)  # words, last of each group; longer ones are a group of their own
MOST_GROUPS = 12  # of a column; what is rarer is one group, "other"


@dataclass(frozen=True)
class Slices:
    """Scores of groups; `scores[measure][system][k]` belongs to `groups[k]`."""

    by: str  # "words in the reference", "domain"
    unit: str  # what `sizes` counts: segments, words, entities
    groups: tuple[str, ...]
    sizes: tuple[int, ...]
    scores: dict[str, dict[str, list[float]]]  # by metric, or by what is measured

    def to_dict(self) -> dict[str, Any]:
        """For JSON; undefined scores are null."""
        return vars(self) | {
            "scores": {
                measure: {name: [_number(x) for x in row] for name, row in systems.items()}
                for measure, systems in self.scores.items()
            }
        }

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Slices:
        scores = {
            measure: {name: [math.nan if x is None else x for x in row] for name, row in s.items()}
            for measure, s in given["scores"].items()
        }
        groups, sizes = tuple(given["groups"]), tuple(given["sizes"])
        return cls(given["by"], given["unit"], groups, sizes, scores)


def by_segments(
    metrics: Mapping[str, Ready],
    tables: Mapping[str, FloatArray],
    texts: Chunk,
    kept: np.ndarray,
    lang: str | None = None,
) -> list[Slices]:
    """Groups by length and by every column, and with kobe of entities.

    `kept` marks the segments that scores count.
    """
    side, words = lengths(texts)
    ways = [(f"words in the {side}", *length_groups(words))]
    ways += [(name, *value_groups(values)) for name, values in texts.columns.items()]
    found = [
        _scored(by, names, np.array(places), metrics, tables, list(texts.systems), kept)
        for by, names, places in ways
    ]
    kobe = next((r.metric for r in metrics.values() if isinstance(r.metric, Kobe)), None)
    return found if kobe is None else [*found, by_entities(kobe, texts, lang)]


def by_entities(kobe: Kobe, texts: Chunk, lang: str | None) -> Slices:
    """Which share of the names, numbers and dates of each kind every system keeps."""
    counts = {
        name: kobe.categories(Segments(lines, texts.sources, texts.references, lang))
        for name, lines in texts.systems.items()
    }
    every = next(iter(counts.values()))
    kinds = sorted(every, key=lambda kind: -every[kind][1])
    kept = {
        name: [100 * mine[kind][0] / mine[kind][1] if kind in mine else math.nan for kind in kinds]
        for name, mine in counts.items()
    }
    sizes = tuple(every[kind][1] for kind in kinds)
    by = "kind of name or number in the source"
    return Slices(by, "entities", tuple(kinds), sizes, {"kept (%)": kept})


def lengths(texts: Chunk) -> tuple[str, list[int]]:
    """How many words each segment has, on the side that is the same for all systems."""
    if texts.references is not None:
        return "reference", [_length(row[0]) if row else 0 for row in texts.references]
    if texts.sources is not None:
        return "source", [_length(text) for text in texts.sources]
    first = next(iter(texts.systems.values()))
    return "translation", [_length(text) for text in first]


@lru_cache(maxsize=1 << 14)
def _length(text: str) -> int:
    """Words of a text; a report asks twice, for groups and for its list of segments."""
    return len(unicode_words(text))


def length_groups(words: Sequence[int]) -> tuple[list[str], list[int]]:
    """Names of the groups, and the group of each segment.

    >>> length_groups([3, 25, 90])
    (['1-10', '11-20', '21-30', '31-40', '41 or more'], [0, 2, 4])
    """
    starts = [1, *(last + 1 for last in LENGTHS)]
    names = [f"{a}-{b}" for a, b in zip(starts, LENGTHS, strict=False)]
    places = np.searchsorted(LENGTHS, words, side="left").tolist()
    return [*names, f"{starts[-1]} or more"], places


def value_groups(values: Sequence[str]) -> tuple[list[str], list[int]]:
    """The same for the values of a column, the most frequent first.

    >>> value_groups(["news", "chat", "news"])
    (['news', 'chat'], [0, 1, 0])
    """
    counts = Counter(values).most_common()
    shown = [value for value, _ in counts[:MOST_GROUPS]]
    names = shown + (["other"] if len(counts) > MOST_GROUPS else [])
    place = {value: k for k, value in enumerate(shown)}
    return names, [place.get(value, MOST_GROUPS) for value in values]


def _scored(
    by: str,
    names: Sequence[str],
    places: np.ndarray,
    metrics: Mapping[str, Ready],
    tables: Mapping[str, FloatArray],
    systems: Sequence[str],
    kept: np.ndarray,
) -> Slices:
    member = (places[None, :] == np.arange(len(names))[:, None]) & kept[None, :]
    sizes = member.sum(axis=1)
    there = [int(k) for k in np.flatnonzero(sizes)]  # a group without segments has no line
    scores: dict[str, dict[str, list[float]]] = {}
    for spec, ready in metrics.items():
        scores[spec] = {}
        for name, rows in zip(systems, tables[spec], strict=True):
            totals = member[there].astype(np.float64) @ rows
            found = ready.metric.system_score(totals, sizes[there].astype(np.float64))
            scores[spec][name] = found.tolist()
    shown, counts = tuple(names[k] for k in there), tuple(int(sizes[k]) for k in there)
    return Slices(by, "segments", shown, counts, scores)


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
