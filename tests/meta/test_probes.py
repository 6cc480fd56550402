"""Probes: the dictionary translation, the reorderings, and the share of equation 2."""

from __future__ import annotations

import numpy as np
import pytest

from mtgauge import Segments, cli, registry
from mtgauge.errors import InputError, UsageError
from mtgauge.meta import lexicon, probes
from mtgauge.metric import FloatArray, Metric
from mtgauge.report import api

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


def test_inflected_words_are_found_by_their_lemma():
    words = lexicon.WithLemmas({"pes": ["dog"], "vidět": ["see"], "muž": ["man"]}, "cs")
    texts, known = probes.word_by_word(["Muž vidí psa."], words)
    assert texts == ["Man see dog."]
    assert known == 1.0
    assert "kočka" not in words
    assert probes.word_by_word(["Muž vidí psa."], words.words)[1] == pytest.approx(1 / 3)


GERMAN = ["der hund schläft", "der kater schläft", "ein hund bellt", "ein kater frisst", "hund"] * 4
ENGLISH = ["the dog sleeps", "the cat sleeps", "a dog barks", "a cat eats", "dog"] * 4


def test_a_dictionary_is_learned_from_parallel_text(tmp_path, capsys, likes_long):
    pytest.importorskip("thot.alignment")
    learned = lexicon.learn(GERMAN, ENGLISH)
    assert {w: t[0] for w, t in learned.items()} == {
        "der": "the", "hund": "dog", "kater": "cat", "schläft": "sleeps", "ein": "a",
        "bellt": "barks", "frisst": "eats",
    }  # fmt: skip
    both = lexicon.joined({"hund": ["hound"]}, learned)
    assert (both["hund"], both["kater"]) == (["hound"], ["cat"])
    for name, lines in (("de", GERMAN), ("en", ENGLISH)):
        (tmp_path / name).write_text("\n".join(lines) + "\n", "utf-8")
    (tmp_path / "src").write_text("Ein Hund schläft.\n", "utf-8")
    (tmp_path / "ref").write_text("A dog is asleep.\n", "utf-8")
    (tmp_path / "expert.en").write_text("One dog, a sleeping one, it sleeps.\n", "utf-8")
    texts = ["-s", str(tmp_path / "src"), "-r", str(tmp_path / "ref"), "-l", "de-en"]
    parallel = ["--parallel", str(tmp_path / "de"), str(tmp_path / "en")]
    own = ["--worse", str(tmp_path / "expert.en")]
    assert cli.main(["probe", "w2w", *texts, *parallel, *own, "-m", "likes-long", "--quiet"]) == 0
    shown = capsys.readouterr().out
    rows = {line.split()[2]: line for line in shown.splitlines()[1:] if "likes-long" in line}
    assert "100 %" in rows["w2w"], "every word of the source was learned"
    assert "0.0 %" in rows["w2w"], "'A dog sleeps.' is shorter than the reference"
    assert "100.0 %" in rows["expert.en"]
    (tmp_path / "expert.en").write_text("one\ntwo\n", "utf-8")
    assert cli.main(["probe", "w2w", *texts, *own, "-m", "likes-long", "--quiet"]) == 3


def test_pictures_of_probes(tmp_path, likes_long):
    pytest.importorskip("matplotlib")
    found = api.probe(
        "w2w", metrics=["likes-long"], sources=["ein hund", "laut"], references=["a dog", "loud"],
        lang="de-en", worse={"mine": ["a dogs", "l"]},
    )  # fmt: skip
    (picture,) = found.plot(tmp_path / "figures")
    assert picture.name == "mine.de-en.likes-long.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert found.rows[0].share == 0.5
