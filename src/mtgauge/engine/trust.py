"""How far to trust a number, here: what is known of a metric for a language pair and direction.

    known(signature, "de-en")      a `Trust`, or None where nothing is known of these settings
    trust.chance_to_agree(0.3)     how often people preferred the same system at such a difference

`trust.tsv` holds what `recipes/trust.py` measured on WMT17 and WMT18: Pearson's r with judgements
of segments, the share of system pairs that are ordered as people order them, and one slope. With d
the difference of two systems' scores (positive: the metric prefers the first) people prefer the
first with probability

    p(d) = 1 / (1 + exp(-slope * d))

fitted by maximum likelihood over all pairs of systems of a direction, since one language pair has
too few; p(0) = 1/2 by symmetry. The interval comes from resampling language pairs.

A figure belongs to settings and models: another option or another model's fingerprint is another
metric, of which nothing is known. A language pair without figures has those of its direction (into
English, out of English), and says so. The curve was fitted on 150 segments per system; a run of
fewer than `ENOUGH` gets no chance from it: its difference is mostly the draw of its sentences. Nor
does a difference larger than all that it was fitted on (`largest`): there the curve would go on to
0 or 1, and nothing was seen.

Limits: news, and systems of 2017 and 2018; today's systems are nearer to each other, and harder to
tell apart.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from importlib import resources
from typing import Any

from mtgauge.data.codes import LanguagePair
from mtgauge.signature import Signature

FILE = "trust.tsv"
ENOUGH = 100  # segments of a run, for the curve to speak of its differences
MODELS = ("model", "language_model", "fingerprint", "kb_version", "word-vectors", "remap_sha256")
_BY_LANGUAGE = (
    "tokenize",
    "normalized",
    "asian_support",
)  # settled by the language: asked for, it is an option like any other


@dataclass(frozen=True)
class Trust:
    """What is known of one metric for one language pair, or for a direction (X-en, en-X)."""

    metric: str  # see `key`
    lp: str
    data: str
    segments: int
    pearson: float  # with judgements of segments; NaN: not measured
    systems: int
    pairs: int  # pairs of systems that people did not tie
    accuracy: float  # share of them ordered alike
    slope: float
    slope_low: float
    slope_high: float
    largest: float = math.nan  # difference of two systems of the direction; NaN: not known

    def to_dict(self) -> dict[str, Any]:
        """For JSON; undefined numbers are null."""
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "metric"}
        return {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in values.items()}

    def sentence(self, lang: str) -> str:
        """What is known, for people."""
        known = []
        if not math.isnan(self.pearson):
            known.append(f"r = {self.pearson:.2f} with people on {self.segments:,} segments")
        if self.pairs:
            known.append(f"orders {self.accuracy:.0%} of {self.pairs:,} system pairs as people do")
        where = "" if self.lp == lang else f" ({self.lp}; nothing is known of {lang} itself)"
        return f"{', '.join(known)}, {self.data}{where}"

    @property
    def tells_better(self) -> bool:
        """Whether people surely go with it, or surely against it: the slope's sign is known."""
        return self.slope_low > 0 or self.slope_high < 0

    def is_beyond(self, difference: float) -> bool:
        """Whether a difference is larger than any that the curve was fitted on."""
        return abs(difference) > self.largest

    def chance_to_agree(self, difference: float) -> tuple[float, float, float]:
        """How often people preferred the same system, with its interval."""
        size = abs(difference)
        low, high = sorted((self.slope_low, self.slope_high))
        return _logistic(self.slope * size), _logistic(low * size), _logistic(high * size)


def key(signature: Signature) -> str:
    """Settings and models of a metric, without language and versions of libraries."""
    options = {
        k: v for k, v in signature.changed.items() if k not in _BY_LANGUAGE or k in signature.asked
    }
    models = {k: v for k, v in signature.versions.items() if k in MODELS}
    return "|".join([signature.name, *(f"{k}:{v}" for k, v in sorted((options | models).items()))])


def known(signature: Signature, lang: str | None) -> Trust | None:
    """What is known of these settings for this pair, else for its direction; else None."""
    if lang is None or signature.from_file:
        return None
    mine = _table().get(key(signature), {})
    pair = "-".join(LanguagePair.parse(lang).bases)
    return mine.get(pair) or mine.get(direction(pair))


def direction(lp: str) -> str:
    return "X-en" if lp.endswith("-en") else "en-X" if lp.startswith("en-") else "X-Y"


@lru_cache(maxsize=1)
def _table() -> Mapping[str, Mapping[str, Trust]]:
    text = resources.files("mtgauge.engine").joinpath(FILE).read_text(encoding="utf-8")
    found: dict[str, dict[str, Trust]] = {}
    for row in csv.DictReader(text.splitlines(), delimiter="\t"):
        one = parse(row)
        found.setdefault(one.metric, {})[one.lp] = one
    return found


def parse(row: Mapping[str, str]) -> Trust:
    """A line of the table; an empty cell is an undefined number."""
    kinds = {"metric": str, "lp": str, "data": str, "segments": int, "systems": int, "pairs": int}
    values = {
        f.name: kinds.get(f.name, float)(row[f.name] or ("nan" if f.name not in kinds else "0"))
        for f in fields(Trust)
    }
    return Trust(**values)


def _logistic(x: float) -> float:
    return 1 / (1 + math.exp(-max(-700.0, min(700.0, x))))
