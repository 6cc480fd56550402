"""The compiled TER search makes sacrebleu's edits, move for move."""

from __future__ import annotations

import random

import numpy as np
from sacrebleu.metrics.lib_ter import translation_edit_rate

from mtgauge.metrics import ter


def shuffled(words: list[str], rng: random.Random) -> list[str]:
    """The words with blocks moved and some replaced, as a translation differs from another."""
    words = list(words)
    for _ in range(rng.randint(0, 3)):
        start = rng.randint(0, len(words))
        block = words[start : start + rng.randint(1, 6)]
        del words[start : start + len(block)]
        place = rng.randint(0, len(words))
        words[place:place] = block
    return [w if rng.random() > 0.15 else str(rng.randrange(9)) for w in words]


def pairs() -> tuple[list[list[str]], list[list[str]]]:
    rng = random.Random(17)
    left, right = [], []
    for size, kinds in [(6, 4), (15, 12), (30, 25), (70, 200)] * 10:
        reference = [str(rng.randrange(kinds)) for _ in range(rng.randint(1, size))]
        left.append(shuffled(reference, rng) if rng.random() < 0.8 else reference[::-1])
        right.append(reference)
    # a text repeated over and over exhausts the candidates; a very unequal length, the beam
    left += [["a", "b"] * 14, ["a"], ["b"] * 120, []]
    right += [["b", "a", "c"] * 9, ["a", "c"] * 60, ["b"], ["x"]]
    return left, right


def test_equals_sacrebleu() -> None:
    left, right = pairs()
    of = np.arange(len(left))
    expected = [translation_edit_rate(h, r)[0] for h, r in zip(left, right, strict=True)]
    assert ter._edits(left, right, of).tolist() == expected
