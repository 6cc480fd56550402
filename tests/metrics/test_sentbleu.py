"""sentbleu: the value of Moses' own test, its formula by hand, the published WMT17 numbers."""

from __future__ import annotations

import gzip
import math
from pathlib import Path

import numpy as np
import pytest

from mtgauge.data.segments import Segments
from mtgauge.registry import load

# signed Pearson of sentBLEU with the judgements, as the WMT17 metrics task published it
WMT17 = {"cs": 0.435, "de": 0.432, "fi": 0.571, "lv": 0.393, "ru": 0.484, "tr": 0.538, "zh": 0.512}


def score(hypothesis: str, *references: str, spec: str = "sentbleu") -> float:
    metric = load(spec)
    rows = metric.statistics(Segments([hypothesis], references=[references]))
    return float(metric.segment_score(rows)[0])


def test_adds_one_at_every_order() -> None:
    # 3 of 4 words, 1 of 3 bigrams, 0 of 2 trigrams, 0 of 1 four-gram; brevity 1 - 5/4
    inside = math.log(4 / 5) + math.log(2 / 4) + math.log(1 / 3) + math.log(1 / 2)
    expected = math.exp(inside / 4 + 1 - 5 / 4)
    assert score("the cat x sat", "the cat today has sat") == pytest.approx(expected, abs=1e-12)


def test_value_of_moses_own_test() -> None:
    """Its BleuScorerTest: 6/6 words, 4/5 bigrams, 2/4 trigrams, 1/3 four-grams, length 7."""
    assert score("a b c d e f", "e f x a b c d") == pytest.approx(0.5985, abs=1e-4)


def test_short_and_empty_texts() -> None:
    assert score("yes", "yes") == 1.0
    assert score("", "yes") == score("  ", "yes") == score("", "") == 0.0
    assert score("no", "yes") == pytest.approx((1 / 2) ** (1 / 4))


def test_clips_by_all_references_and_takes_the_nearest_length() -> None:
    both = score("a b c d", "a b x", "c d y z")
    # 4 words; "a b" and "c d" of 3 bigrams; of lengths 3 and 4 the nearest is 4
    inside = math.log(5 / 5) + math.log(3 / 4) + math.log(1 / 3) + math.log(1 / 2)
    assert both == pytest.approx(math.exp(inside / 4), abs=1e-12)


def test_counts_text_that_is_not_tokenised() -> None:
    metric = load("sentbleu")
    refs = [("A cat .",)] * 3
    metric.statistics(Segments(["A cat.", "A cat .", "A cat"], references=refs))
    assert metric.notes["untokenised"] == 1
    raw = load("sentbleu:tokenize=13a")
    raw.statistics(Segments(["A cat."], references=[("A cat .",)]))
    assert "untokenised" not in raw.notes
    assert score("A cat.", "A cat .", spec="sentbleu:tokenize=13a") == 1.0


@pytest.mark.shared
def test_reproduces_the_published_correlations(shared: Path) -> None:
    with gzip.open(shared / "wmt" / "da17.tsv.gz", "rt", encoding="utf-8", newline="\n") as file:
        header, *lines = [line.rstrip("\n").split("\t") for line in file]
    column = {name: i for i, name in enumerate(header)}
    metric = load("sentbleu")
    for language, published in WMT17.items():
        rows = [line for line in lines if line[column["lp"]] == f"{language}-en"]
        batch = Segments(
            [row[column["hypothesis"]] for row in rows],
            references=[(row[column["reference"]],) for row in rows],
            lang=f"{language}-en",
        )
        human = [float(row[column["human"]]) for row in rows]
        found = np.corrcoef(metric.segment_score(metric.statistics(batch)), human)[0, 1]
        assert found == pytest.approx(published, abs=0.0015), language
