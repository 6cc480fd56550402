"""nist against NLTK (one reference), a worked example with two, and mteval's length penalty."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from nltk.translate.nist_score import corpus_nist

from mtgauge.data.segments import Segments
from mtgauge.errors import InputError, UsageError
from mtgauge.metric import Metric
from mtgauge.registry import load

REFERENCES = [
    "the committee will meet again on monday to vote on the plan",
    "on monday the plan was sent back to the committee",
    "a vote is expected in the spring of next year",
]
HYPOTHESES = [
    "the committee meets again on monday to vote on the plan of the committee",
    "monday the plan was returned to the committee",
    "in the spring a vote is expected by many people this year",
]


def fitted(spec: str = "nist", refs: list[str] = REFERENCES) -> Metric:
    metric = load(spec)
    metric.fit(refs)
    return metric


def system(metric: Metric, hyps: list[str], refs: Sequence[tuple[str, ...]]) -> float:
    rows = metric.statistics(Segments(hyps, references=refs))
    return float(metric.system_score(rows.sum(axis=0, keepdims=True), np.array([len(hyps)]))[0])


@pytest.mark.parametrize("shorten", [None, 6])
@pytest.mark.parametrize("order", [5, 3])
def test_equals_nltk(shorten: int | None, order: int) -> None:
    hyps = [" ".join(h.split()[:shorten]) for h in HYPOTHESES]
    split = [h.split() for h in hyps]
    expected = corpus_nist([[r.split()] for r in REFERENCES], split, n=order)
    found = system(fitted(f"nist:max_order={order}"), hyps, [(r,) for r in REFERENCES])
    assert found == pytest.approx(expected, abs=1e-9)


def test_two_references_by_hand() -> None:
    # words of the corpus: a a b | a c, five in all; "a" occurs 3 times, "b" and "c" once
    metric = fitted(refs=["a a b", "a c"])
    (row,) = metric.statistics(Segments(["a c a b"], references=[("a a b", "a c")]))
    got = dict(zip(metric.columns, row, strict=True))
    assert got["sys_len"] == 4
    assert got["ref_len"] == 2.5
    # a is clipped by the 2 of the first reference
    assert got["information1"] == pytest.approx(2 * math.log2(5 / 3) + 2 * math.log2(5))
    assert got["information2"] == pytest.approx(2 * math.log2(3 / 1))  # "a c" and "a b"
    assert got["information3"] == 0
    expected = got["information1"] / 4 + got["information2"] / 3  # long enough: no penalty
    assert metric.segment_score(row[None])[0] == pytest.approx(expected)


def test_two_thirds_of_the_length_halve_the_score() -> None:
    metric = fitted(refs=["a b c"])
    row = metric.statistics(Segments(["a b"], references=[("a b c",)]))
    assert metric.segment_score(row)[0] == pytest.approx(0.5 * math.log2(3))


def test_the_corpus_is_asked_for() -> None:
    with pytest.raises(UsageError, match="call fit"):
        load("nist").statistics(Segments(["a"], references=[("a",)]))


def test_the_corpus_may_be_a_file(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(REFERENCES) + "\n", encoding="utf-8")
    refs = [(r,) for r in REFERENCES]
    metric = load(f"nist:corpus={path}")
    assert not metric.needs_corpus
    assert system(metric, HYPOTHESES, refs) == system(fitted(), HYPOTHESES, refs)
    before = metric.versions()["corpus_sha256"]
    path.write_text("another corpus\n", encoding="utf-8")
    assert metric.versions()["corpus_sha256"] != before
    with pytest.raises(InputError, match=r"none\.txt"):
        load(f"nist:corpus={tmp_path / 'none.txt'}").statistics(
            Segments(["a"], references=[("a",)])
        )


def test_empty_translation_is_the_worst() -> None:
    metric = fitted()
    row = metric.statistics(Segments([""], references=[(REFERENCES[0],)]))
    assert metric.segment_score(row)[0] == metric.worst == 0.0
