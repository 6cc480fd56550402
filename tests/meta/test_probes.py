"""Probes: the dictionary translation, the reorderings, and the share of equation 2."""

from __future__ import annotations

import numpy as np
import pytest

from mtgauge import Segments, registry
from mtgauge.errors import InputError, UsageError
from mtgauge.meta import probes
from mtgauge.metric import FloatArray, Metric

WORDS = {"ein": ["a", "one"], "hund": ["dog"], "bellt": ["barks"], "laut": ["loudly"]}


@pytest.fixture
def likes_long(monkeypatch):
    """A metric without references that prefers long texts; lower is better in its twin."""

    class Long(Metric):
        def __init__(self) -> None:
            pass

        @property
        def needs(self) -> frozenset[str]:
            return frozenset({"source"})

        def statistics(self, batch: Segments) -> FloatArray:
            return np.array([[float(len(text))] for text in batch.hypotheses])

    class Short(Long):
        higher_is_better = False

    Long.name, Short.name = "likes-long", "likes-short"
    for cls in (Long, Short):
        monkeypatch.setitem(registry._METRICS, cls.name, cls)


def test_word_by_word_keeps_order_case_and_marks():
    texts, known = probes.word_by_word(["Ein Hund bellt, laut!", "Ein Kater."], WORDS)
    assert texts == ["A dog barks, loudly!", "A Kater."]
    assert known == pytest.approx(5 / 6)


def test_word_by_word_cuts_unspaced_scripts():
    texts, known = probes.word_by_word(["你好世界"], {"你好": ["hello"], "世界": ["world"]})
    assert texts == ["hello world"]
    assert known == 1.0


def test_dictionary_formats(tmp_path):
    path = tmp_path / "de-en.txt"
    path.write_text("Hund dog\nhund\thound\nein a\n")
    assert probes.read_dictionary(path) == {"hund": ["dog", "hound"], "ein": ["a"]}
    path.write_text("ein a\nhund\n")
    with pytest.raises(InputError, match="line 2: the line is not two words"):
        probes.read_dictionary(path)


def test_shuffling_changes_order_only_and_is_repeatable():
    texts = ["one two three four five", "ha ha", "alone", ""]
    found = probes.shuffled(texts, seed=1)
    assert found == probes.shuffled(texts, seed=1)
    assert found[0] != texts[0]
    assert [sorted(x.split()) for x in found] == [sorted(x.split()) for x in texts]


def test_source_order_follows_the_source():
    (found,) = probes.source_order(["laut bellt ein Hund"], ["A dog barks loudly today."], WORDS)
    assert found == "loudly today. barks A dog"
    (same,) = probes.source_order(["Kater"], ["A cat."], WORDS)
    assert same == "A cat."


def test_share_counts_strict_preference(likes_long):
    sources, references = ["x", "x", "x"], ["aa", "aaa", "aa"]
    found = probes.probe("w2w", "likes-long", sources, references, ["aaaa", "aaa", "a"], "de-en")
    assert found.d.tolist() == [2.0, 0.0, -1.0]
    assert found.share == pytest.approx(1 / 3), "a tie is no preference"
    turned = probes.probe("w2w", "likes-short", sources, references, ["aaaa", "aaa", "a"], "de-en")
    assert turned.d.tolist() == [-2.0, 0.0, 1.0]
    counts, edges = found.histogram(bins=4)
    assert sum(counts) == 3
    assert edges[2] == 0.0
    assert found.to_dict()["n"] == 3


def test_metrics_with_references_are_refused(likes_long):
    with pytest.raises(UsageError, match="without references"):
        probes.probe("w2w", "chrf", ["x"], ["y"], ["z"])
    with pytest.raises(UsageError, match="as many references"):
        probes.probe("w2w", "likes-long", ["x"], ["y"], [])


def test_no_segments_no_share(likes_long):
    empty = probes.probe("w2w", "likes-long", [], [], [])
    assert np.isnan(empty.share)
    assert empty.to_dict()["share"] is None
