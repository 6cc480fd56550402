"""Fits remaps from parallel text: vectors of paired words or sentences, then CLP or UMD.

    plan = RemapPlan("de-en")
    sources, targets = read_parallel("news.de", "news.en", 2000)
    (fitted,) = fit_remaps(plan, sources, targets, ["clp"])
    fitted.remap.save("de-en.remap");  fitted.found_before, fitted.found_after

`found_before` and `found_after` are the shares of words whose nearest neighbour in the other
language is their partner, on the pairs that the remap was fitted on; `learning_curve` measures them
on held-out sentences, and beside them the share of sentences (means of their tokens' vectors) that
find their translation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from mtgauge.data import columns
from mtgauge.data.checks import is_blank
from mtgauge.data.spool import Spool
from mtgauge.encode.load import load_encoder
from mtgauge.encode.remap.align import Lexicon, sentence_pairs, word_pairs
from mtgauge.encode.remap.maps import Remap, RemapFacts, Unit, fit
from mtgauge.encode.sentence.encoders import load_sentence_encoder
from mtgauge.encode.tokens.encoder import Vectors
from mtgauge.errors import InputError, UsageError

SIZES = (20, 50, 100, 200, 500, 1000, 2000)
HELD_OUT = 200  # sentence pairs of a curve that no remap is fitted on
SAMPLE = 2000  # pairs among which partners are looked for


@dataclass(frozen=True)
class RemapPlan:
    lang: str
    encoder: str = "embedded"
    layer: int | None = None  # None: the encoder's advice for sources
    method: str = "clp"
    unit: Unit = "word"
    align: Literal["encoder", "fast_align"] = "encoder"
    lexicon: Path | None = None  # word pairs, one per line, instead of alignment
    symmetrise: str = "intersection"  # of fast_align's two directions

    def __post_init__(self) -> None:
        if self.unit == "sentence" and self.lexicon is not None:
            raise UsageError("--lexicon pairs words: it does not go with --unit sentence.")
        if self.align != "encoder" and (self.unit == "sentence" or self.lexicon is not None):
            raise UsageError(
                "--align pairs words itself: it goes neither with --lexicon nor sentences."
            )
        if self.symmetrise != "intersection" and self.align != "fast_align":
            raise UsageError("--symmetrise is for the two directions of --align fast_align.")


class FittedRemap(NamedTuple):
    remap: Remap
    found_before: float
    found_after: float


class CurvePoint(NamedTuple):
    sentences: int
    fitted: FittedRemap
    retrieved: float  # share of held-out sentences whose nearest neighbour is their translation


def fit_remaps(
    plan: RemapPlan, sources: Sequence[str], targets: Sequence[str], methods: Sequence[str]
) -> list[FittedRemap]:
    """A remap per method, all on the vectors of one encoding."""
    x, z, facts = _paired_vectors(plan, sources, targets)
    return [_measured(fit(x, z, replace(facts, method=m)), x, z) for m in methods]


def learning_curve(
    plan: RemapPlan, sources: Sequence[str], targets: Sequence[str]
) -> Iterator[CurvePoint]:
    """Remaps fitted on 20, 50, ... sentence pairs, measured on the first ones, held out."""
    if len(sources) <= HELD_OUT + SIZES[0]:
        raise InputError(
            f"{len(sources)} sentence pairs are too few for a curve",
            remedy=f"Give more than {HELD_OUT + SIZES[0]}.",
        )
    held = sources[:HELD_OUT], targets[:HELD_OUT]
    held_x, held_z, facts = _paired_vectors(plan, *held)
    means = sentence_pairs(load_sentence_encoder(plan.encoder, facts.layer), *held, plan.lang)
    for size in (n for n in SIZES if n <= len(sources) - HELD_OUT):
        chosen = slice(HELD_OUT, HELD_OUT + size)
        x, z, facts = _paired_vectors(plan, sources[chosen], targets[chosen])
        fitted = _measured(fit(x, z, facts), held_x, held_z)
        yield CurvePoint(size, fitted, _measured(fitted.remap, *means).found_after)


def _paired_vectors(
    plan: RemapPlan, sources: Sequence[str], targets: Sequence[str]
) -> tuple[Vectors, Vectors, RemapFacts]:
    """Vectors of paired words or sentences, and what they are of."""
    if plan.unit == "sentence":
        encoder = load_sentence_encoder(plan.encoder, plan.layer)
        x, z = sentence_pairs(encoder, sources, targets, plan.lang)
        name, fingerprint, layer = encoder.name, encoder.fingerprint, encoder.layer
        aligned = ""
    else:
        tokens = load_encoder(plan.encoder)
        wanted = tokens.default_layer["source"] if plan.layer is None else plan.layer
        layer = tokens.resolve(wanted)[0]
        lexicon = None if plan.lexicon is None else read_lexicon(plan.lexicon)
        x, z = word_pairs(
            tokens, layer, sources, targets, plan.lang, lexicon, plan.align, plan.symmetrise
        )
        name, fingerprint = tokens.name, tokens.fingerprint
        aligned = plan.align if lexicon is None else "lexicon"
        if plan.symmetrise != "intersection":
            aligned += f" {plan.symmetrise}"
    if len(x) < 2:
        raise InputError(
            f"no {plan.unit} pairs were found in {len(sources)} sentence pairs",
            remedy="Are the two files translations of each other, line by line?",
        )
    facts = RemapFacts(
        plan.method, plan.lang, name, fingerprint, layer, plan.unit, len(x), len(sources), aligned
    )
    return x, z, facts


def _measured(remap: Remap, x: Vectors, z: Vectors) -> FittedRemap:
    x, z = x[:SAMPLE], z[:SAMPLE]
    moved = remap.move(x, "source", both=True), remap.move(z, "target", both=True)
    return FittedRemap(remap, _share_found(x, z), _share_found(*moved))


def _share_found(x: Vectors, z: Vectors) -> float:
    """Precision at 1 by cosine; equal target vectors count as one."""
    x = x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-30)
    z = z / np.maximum(np.linalg.norm(z, axis=1, keepdims=True), 1e-30)
    similarity = x @ z.T
    return float((similarity.max(axis=1) <= np.einsum("nd,nd->n", x, z) + 1e-6).mean())


def read_parallel(source: str, target: str, pairs: int) -> tuple[list[str], list[str]]:
    """The first `pairs` sentence pairs of which neither side is empty; files must be as long."""
    with Spool() as spool:
        left = [str(text) for text in columns.column(source, "source", spool)[0]]
        right = [str(text) for text in columns.column(target, "system", spool)[0]]
    if len(left) != len(right):
        raise InputError(
            f"{len(right)} lines, but {source} has {len(left)}",
            file=target,
            line=min(len(left), len(right)) + 1,
            remedy="Parallel files have the same number of lines.",
        )
    kept = [(x, z) for x, z in zip(left, right, strict=True) if not (is_blank(x) or is_blank(z))][
        :pairs
    ]
    return [x for x, _ in kept], [z for _, z in kept]


def read_lexicon(path: Path) -> Lexicon:
    """Word pairs, `foreign english` per line, separated by a tab or a space."""
    entries = set()
    for number, line in enumerate(columns.column(str(path), "source")[0], start=1):
        words = str(line).lower().split()
        if len(words) != 2:
            raise InputError(
                f"{len(words)} words", file=path, line=number, remedy="A line holds two words."
            )
        entries.add((words[0], words[1]))
    return frozenset(entries)
