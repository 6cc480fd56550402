"""Judged segments as training material: what is refused, how they are split and weighted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtgauge.errors import InputError, UsageError
from mtgauge.train.judged import rows as judged
from mtgauge.train.judged.coder import TextCoder
from mtgauge.train.judged.files import load
from mtgauge.train.loop.batching import bucketed, calibration, pearson_by_pair
from mtgauge.train.settings import JudgedFiles

HEADER = "lp\tsystem\tsid\tsource\treference\thypothesis\thuman\tn"


def write(path: Path, *rows: str, header: str = HEADER) -> Path:
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def row(i: int, source: str = "", human: object = None, lp: str = "de-en", n: int = 1) -> str:
    score = i / 10 if human is None else human
    return f"{lp}\ts\t{i}\t{source or f'Satz {i}'}\tsentence {i}\tphrase {i}\t{score}\t{n}"


def test_missing_scores_are_refused_with_their_number(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", row(1), row(2, human="NA"), row(3, human=""))
    with pytest.raises(InputError, match=r"2 of 3 segments have no score \(2 in a.tsv\)"):
        judged.refuse_bad(judged.read([path]))


def test_constant_scores_are_refused(tmp_path: Path) -> None:
    lines = [row(1), row(2), row(3, human=0.5, lp="fr-en"), row(4, human=0.5, lp="fr-en")]
    with pytest.raises(InputError, match=r"fr-en has no two different scores: all 2 are 0\.5"):
        judged.refuse_bad(judged.read([write(tmp_path / "a.tsv", *lines)]))


def test_scores_of_0_to_100_are_refused(tmp_path: Path) -> None:
    raw = write(tmp_path / "raw.tsv", *(row(i, human=50 + i) for i in range(9)))
    with pytest.raises(InputError, match=r"raw.tsv.*half of the scores lie beyond \+-3"):
        judged.refuse_bad(judged.read([raw]))
    slip = write(tmp_path / "slip.tsv", *(row(i) for i in range(19)), row(19, human=-13))
    assert judged.refuse_bad(judged.read([slip])).scores.min() == -3
    assert judged.refuse_bad(judged.read([slip]), cut=0).scores.min() < -3


def test_unknown_languages_are_refused(tmp_path: Path) -> None:
    rows = judged.read([write(tmp_path / "a.tsv", row(1), row(2), row(3, lp="mi-en"))])
    with pytest.raises(InputError, match="does not know a language of mi-en"):
        judged.refuse_bad(rows, ("de", "en"))
    assert len(judged.refuse_bad(rows, ())) == 3


def test_a_pair_that_was_turned_round_is_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    german = "Die Katze schläft seit heute Morgen auf dem alten Sofa im Wohnzimmer."
    english = "The cat has been sleeping on the old sofa in the living room since this morning."
    lines = [f"{{}}\ts\t{i}\t{german} {i}\t{english} {i}\t{english}\t.{i}\t1" for i in range(9)]
    good = write(tmp_path / "good.tsv", *(line.format("de-en") for line in lines))
    judged.read([good])
    assert not capsys.readouterr().err
    turned = write(tmp_path / "turned.tsv", *(line.format("en-de") for line in lines))
    judged.read([turned])
    assert "turned en-de, all of it is the other way round" in capsys.readouterr().err
    judged.read([good, turned], ["de-en"])
    assert not capsys.readouterr().err
    with pytest.raises(UsageError, match=r"--pairs fr-en: none of them is in good\.tsv"):
        judged.read([good], ["fr-en"])


def test_few_segments_to_choose_by_are_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train, many, few = (
        write(tmp_path / f"{name}.tsv", *(row(i, f"{name} {i}", human=i % 7) for i in range(n)))
        for name, n in (("train", 20), ("many", 100), ("few", 9))
    )
    coder = TextCoder(None, ("de", "en"))
    load(JudgedFiles(train=[train], dev=[many], test=[few]), coder)
    err = capsys.readouterr().err
    assert "warning    de-en: 9 test segments are too few: r of fewer than 100 may be off" in err
    assert "validation segments are" not in err


def test_overlap_of_train_and_dev_is_refused_with_its_number(tmp_path: Path) -> None:
    train = judged.read([write(tmp_path / "a.tsv", *(row(i) for i in range(6)))])
    dev = judged.read([write(tmp_path / "b.tsv", row(10, "Satz 2"), row(11, "Satz 3"))])
    with pytest.raises(InputError, match=r"2 of 6 segments .* validation data \(de-en 2\)"):
        judged.refuse_overlap(train, dev)
    clean = judged.drop(train, judged.overlap(train, dev))
    assert list(clean.sources) == ["Satz 0", "Satz 1", "Satz 4", "Satz 5"]
    judged.refuse_overlap(clean, dev)
    other = judged.read([write(tmp_path / "c.tsv", row(10, "Satz 2", lp="nl-en"))])
    judged.refuse_overlap(train, other)  # another language pair is another task


def test_scores_are_cut_and_weighted_by_the_number_of_judges(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", row(1, human=-12.9), row(2, n=3), row(3, n=1))
    rows = judged.refuse_bad(judged.read([path]))
    assert rows.scores.tolist() == [-3.0, 0.2, 0.3]
    assert rows.weights.tolist() == [0.5, 0.75, 0.5]
    plain = write(tmp_path / "b.tsv", row(1).rsplit("\t", 1)[0], header=HEADER[:-2])
    assert judged.read([plain]).weights.tolist() == [15 / 16]


def test_a_count_of_judges_below_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="column n"):
        judged.read([write(tmp_path / "a.tsv", row(1, n=0))])


def test_escapes_are_undone(tmp_path: Path) -> None:
    rows = judged.read([write(tmp_path / "a.tsv", row(1).replace("phrase", "it &amp;apos;s"))])
    assert rows.hypotheses == ["it 's 1"]


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 8), st.sampled_from(["de-en", "fr-en"])), min_size=8),
    st.floats(0.1, 0.5),
    st.integers(0, 3),
)
def test_a_source_sentence_is_on_one_side_only(
    items: list[tuple[int, str]], share: float, seed: int
) -> None:
    n = len(items)
    rows = judged.Rows(
        ["f"] * n,
        [lp for _, lp in items],
        [f"s{k}" for k, _ in items],
        [None] * n,
        [f"h{i}" for i in range(n)],
        np.arange(n, dtype=float),
        np.ones(n),
        np.full(n, np.nan),
    )
    try:
        train, dev = judged.hold_out(rows, share, None, seed)
    except UsageError:
        return  # everything is one sentence: it says so
    assert not set(train.sources) & set(dev.sources)
    again = judged.hold_out(rows, share, None, seed)
    assert again[1].hypotheses == dev.hypotheses


def test_a_cap_holds_out_no_more(tmp_path: Path) -> None:
    rows = judged.read([write(tmp_path / "a.tsv", *(row(i) for i in range(100)))])
    train, dev = judged.hold_out(rows, 0.5, 7, 1)
    assert (len(train), len(dev)) == (93, 7)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 60), min_size=1, max_size=300), st.integers(1, 40))
def test_batches_hold_every_row_once(lengths: list[int], size: int) -> None:
    batches = bucketed(np.array(lengths), size, np.random.default_rng(0))
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(lengths)))
    assert max(map(len, batches)) <= size


def test_pearson_is_by_pair_and_a_constant_pair_has_none() -> None:
    lps = ["a-b"] * 4 + ["c-d"] * 4
    found = pearson_by_pair(
        lps, np.array([1, 2, 3, 4, 5, 5, 5, 5.0]), np.array([2, 4, 6, 8, 1, 2, 3, 4.0])
    )
    assert found["a-b"] == pytest.approx(1)
    assert np.isnan(found["c-d"])
    assert found["average"] == pytest.approx(1)


def test_calibration_never_falls_and_covers_what_it_says() -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=6000)
    raw = np.clip(60 + 20 * z + rng.normal(scale=10, size=6000), 0, 100)
    table = calibration(z, raw)
    assert table is not None
    for side in ("mean", "low", "high"):
        assert (np.diff(table[side]) >= 0).all()
    low, high = (np.interp(z, table["z"], table[side]) for side in ("low", "high"))
    assert np.mean((raw >= low) & (raw <= high)) == pytest.approx(0.8, abs=0.03)
    assert np.interp(0.0, table["z"], table["mean"]) == pytest.approx(60, abs=2)
    assert calibration(z[:50], raw[:50]) is None
