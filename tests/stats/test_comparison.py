"""Resampling as matrix products, checked against loops and against sacrebleu's own tests."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU, TER
from sacrebleu.significance import PairedTest
from scipy import stats

from mtgauge import registry, score
from mtgauge.metric import Metric
from mtgauge.stats import bootstrap, paired

WORDS = "the a cat dog sat ran on under mat tree and slowly quickly was red blue very old".split()


class Mean(Metric):
    """The plain mean, to test resampling itself."""


def corpus(n: int, noise: float, seed: int) -> tuple[list[str], list[str]]:
    rng = np.random.default_rng(seed)
    references = [" ".join(rng.choice(WORDS, size=rng.integers(5, 18))) for _ in range(n)]
    noisy = []
    for text in references:
        words = [rng.choice(WORDS) if rng.random() < noise else w for w in text.split()]
        noisy.append(" ".join(words))
    return references, noisy


def test_counts_are_resamples_with_replacement() -> None:
    blocks = list(bootstrap.draw_counts(50, 200, seed=3))
    counts = np.concatenate(blocks)
    assert counts.shape == (200, 50)
    assert (counts.sum(axis=1) == 50).all()
    assert counts.var() == pytest.approx(1.0, abs=0.1)  # binomial(50, 1/50)


def test_blocks_do_not_change_the_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = np.concatenate(list(bootstrap.draw_counts(30, 40, seed=1)))
    monkeypatch.setattr(bootstrap, "BLOCK", 100)
    parts = np.concatenate(list(bootstrap.draw_counts(30, 40, seed=1)))
    np.testing.assert_array_equal(whole, parts)


def test_resampled_means_equal_a_loop() -> None:
    rows = np.random.default_rng(0).normal(size=(2, 25, 1))
    (found,) = bootstrap.resampled_scores([Mean()], [rows], resamples=30, seed=7)
    counts = np.concatenate(list(bootstrap.draw_counts(25, 30, seed=7)))
    for draw, line in zip(counts, found, strict=True):
        picked = np.repeat(np.arange(25), draw.astype(int))
        np.testing.assert_allclose(line, rows[:, picked, 0].mean(axis=1))


def test_interval_covers_the_mean_of_a_normal_sample() -> None:
    rows = np.random.default_rng(5).normal(10, 2, size=(1, 400, 1))
    (found,) = bootstrap.resampled_scores([Mean()], [rows])
    ((low, high),) = bootstrap.interval(found)
    half = 1.96 * rows.std() / 20
    assert low == pytest.approx(rows.mean() - half, abs=0.05)
    assert high == pytest.approx(rows.mean() + half, abs=0.05)


@pytest.mark.parametrize(("spec", "peer"), [("bleu", BLEU), ("ter", TER)])
@pytest.mark.parametrize("noise", [0.32, 0.36])
def test_p_values_agree_with_sacrebleu(spec: str, peer: type, noise: float) -> None:
    references, base = corpus(120, 0.3, seed=1)
    _, other = corpus(120, noise, seed=1)
    found = score({"base": base, "other": other}, references=references, metrics=[spec])[spec]
    versus = found["other"].versus
    assert versus is not None
    for kind, ours in (("bs", versus.p_bootstrap), ("ar", versus.p_randomisation)):
        test = PairedTest(
            [("base", base), ("other", other)],
            {spec: peer()},
            [references],
            test_type=kind,
            n_samples=1000,
        )
        theirs = next(v for k, v in test()[1].items() if k != "System")[1].p_value
        spread = 4 * np.sqrt(2 * max(theirs, 0.01) / 1000)  # four standard deviations
        assert ours == pytest.approx(theirs, abs=spread)


def test_identical_systems_do_not_differ() -> None:
    references, base = corpus(40, 0.3, seed=2)
    result = score({"a": base, "b": list(base)}, references=references, metrics=["bleu"])
    versus = result["bleu"]["b"].versus
    assert versus is not None
    assert (versus.p_bootstrap, versus.p_randomisation) == (1.0, 1.0)


def test_rank_counts_the_systems_that_are_better() -> None:
    rng = np.random.default_rng(0)
    hard = rng.normal(size=300)  # segments differ in difficulty, alike for all systems
    means = [0.0, 2.0, 2.001, 4.0]
    rows = np.array([m + hard + 0.1 * rng.normal(size=300) for m in means])[..., None]
    resampled = bootstrap.resampled_scores([Mean()], [rows])
    (found,) = paired.compare_all([Mean()], [rows], resampled) or []
    real = rows.mean(axis=(1, 2))
    assert found.ranks(real, higher_is_better=True) == [4, 2, 2, 1]
    assert found.ranks(real, higher_is_better=False) == [1, 2, 2, 4]


def test_a_chain_of_small_steps_does_not_make_the_worst_equal_to_the_best() -> None:
    rng = np.random.default_rng(1)
    hard = rng.normal(size=400)
    rows = np.array([0.02 * i + hard + 0.2 * rng.normal(size=400) for i in range(20)])[..., None]
    resampled = bootstrap.resampled_scores([Mean()], [rows])
    (found,) = paired.compare_all([Mean()], [rows], resampled) or []
    ranks = found.ranks(rows.mean(axis=(1, 2)), higher_is_better=True)
    assert ranks[-1] == 1
    assert ranks[0] > 10  # every neighbour is a tie, the ends are not
    assert found.adjusted[0, -1] < paired.ALPHA
    assert found.adjusted[9, 10] > paired.ALPHA


def test_one_segment_and_five_are_no_test() -> None:
    rows = np.random.default_rng(0).normal(size=(2, 5, 1))
    resampled = bootstrap.resampled_scores([Mean()], [rows])
    assert paired.compare_all([Mean()], [rows], resampled) is None


def test_randomisation_counts_ties() -> None:
    """Six segments, all better by the same amount: 2 of 64 swaps reach the difference."""
    rows = np.zeros((2, 6, 1))
    rows[1] = 1.0
    (p,) = paired.p_randomisation([Mean()], [rows])
    assert p[0, 1] == 2 / 64
    one = rows[:, :1]
    (p,) = paired.p_randomisation([Mean()], [one], trials=100)
    assert p[0, 1] == 1.0


@pytest.mark.parametrize("block", [500_000, 70])
def test_exact_p_by_all_swaps(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    """Against the exact test: all 2^10 ways to swap ten segments; drawn ones come near it."""
    monkeypatch.setattr(bootstrap, "BLOCK", block)
    rows = np.random.default_rng(3).normal(size=(2, 10, 1))
    rows[1] += 0.6
    delta = (rows[1] - rows[0])[:, 0]
    every = stats.permutation_test(
        [delta], lambda x: float(x.mean()), permutation_type="samples", n_resamples=2**10
    )
    exact = float(every.pvalue)
    (p,) = paired.p_randomisation([Mean()], [rows], trials=512)
    assert p[0, 1] == pytest.approx(exact, abs=1e-12)
    (p,) = paired.p_randomisation([Mean()], [rows], trials=511)
    assert p[0, 1] == pytest.approx(exact, abs=4 * np.sqrt(exact / 511))


@pytest.mark.parametrize("systems", [2, 3, 4, 5, 12])
def test_the_fewest_units_can_tell_systems_apart_and_one_less_cannot(systems: int) -> None:
    """As different as can be, all systems would have rank 1 with one unit less."""
    units = paired.fewest(systems)
    rows = np.arange(systems)[:, None, None] + np.zeros((1, units, 1))
    for n in (units, units - 1):
        (p,) = paired.p_randomisation([Mean()], [rows[:, :n]], trials=10_000)
        assert (paired.holm(p) < paired.ALPHA)[0, -1] == (n == units)
    resampled = bootstrap.resampled_scores([Mean()], [rows])
    assert paired.compare_all([Mean()], [rows], resampled) is not None
    assert paired.compare_all([Mean()], [rows[:, 1:]], resampled) is None


def test_holm_equals_the_textbook() -> None:
    p = np.ones((4, 4))
    p[np.triu_indices(4, 1)] = [0.005, 0.011, 0.02, 0.04, 0.13, np.nan]
    p = np.minimum(p, p.T)
    found = paired.holm(p)[np.triu_indices(4, 1)]
    np.testing.assert_allclose(found, [0.025, 0.044, 0.06, 0.08, 0.13, np.nan])


def test_false_stars_are_rare_however_many_systems() -> None:
    """Ten equal systems, forty times: Holm keeps the chance of any star near 5 %."""
    rng = np.random.default_rng(9)
    wrong = 0
    for trial in range(40):
        rows = rng.normal(size=(10, 60, 1))
        (p,) = paired.p_randomisation([Mean()], [rows], trials=1800, seed=trial)
        wrong += bool((paired.holm(p) < paired.ALPHA).any())
    assert wrong <= 6


def test_how_often_equal_systems_differ() -> None:
    """What docs/stats.md says of both tests: one in twenty, and one in seven."""
    rng = np.random.default_rng(2)
    swapped, drawn = [], []
    for trial in range(300):
        rows = rng.normal(size=(2, 30, 1))
        swapped.append(paired.p_randomisation([Mean()], [rows], 200, trial)[0][0, 1])
        (resampled,) = bootstrap.resampled_scores([Mean()], [rows], 200, trial)
        drawn.append(paired.p_bootstrap(resampled, rows.mean(axis=(1, 2)))[0, 1])
    assert np.mean(np.array(swapped) < paired.ALPHA) == pytest.approx(1 / 20, abs=0.04)
    assert np.mean(np.array(drawn) < paired.ALPHA) == pytest.approx(1 / 7, abs=0.06)


def test_undefined_resamples_are_left_out() -> None:
    scores = np.tile(np.linspace(0, 1, 101)[:, None], (1, 3))
    scores[:10, 1] = np.nan
    scores[:80, 2] = np.nan
    found = bootstrap.interval(scores)
    np.testing.assert_allclose(found[0], [0.025, 0.975])
    np.testing.assert_allclose(found[1], [0.1 + 0.9 * 0.025, 0.1 + 0.9 * 0.975])
    assert np.isnan(found[2]).all()


def test_documents_are_drawn_whole() -> None:
    """Segments of one document that are all alike carry no more than one number."""
    rng = np.random.default_rng(4)
    level = rng.normal(size=30)
    documents = [f"d{i}" for i in range(30) for _ in range(20)]
    rows = np.repeat(level, 20)[None, :, None]
    sums, sizes = bootstrap.by_document(rows, documents)
    assert sums.shape == (1, 30, 1)
    assert (sizes == 20).all()
    (by_segment,) = bootstrap.resampled_scores([Mean()], [rows])
    (by_document,) = bootstrap.resampled_scores([Mean()], [sums], sizes=sizes)
    assert by_document.std() == pytest.approx(level.std() / np.sqrt(30), rel=0.1)
    assert by_segment.std() == pytest.approx(level.std() / np.sqrt(600), rel=0.1)


def test_documents_of_one_segment_each_change_nothing() -> None:
    rows = np.random.default_rng(5).normal(size=(2, 40, 3))
    sums, sizes = bootstrap.by_document(rows, [f"{i:02}" for i in range(40)])
    np.testing.assert_array_equal(sums, rows)
    plain = bootstrap.resampled_scores([Mean()], [rows])
    again = bootstrap.resampled_scores([Mean()], [sums], sizes=sizes)
    np.testing.assert_array_equal(plain[0], again[0])


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**31), st.floats(-3, 3))
def test_p_values_are_probabilities_and_do_not_see_sign(seed: int, shift: float) -> None:
    a = np.random.default_rng(seed).normal(size=(2, 20, 1))
    a[1] += shift
    (up,) = paired.p_randomisation([Mean()], [a], trials=99)
    (down,) = paired.p_randomisation([Mean()], [-a], trials=99)
    assert (up > 0).all()
    assert (up <= 1).all()
    np.testing.assert_array_equal(up, down)


def test_undefined_scores_give_undefined_p() -> None:
    rows = np.ones((2, 10, 1))
    rows[1, 3] = np.nan
    (p,) = paired.p_randomisation([Mean()], [rows], trials=20)
    assert np.isnan(p[0, 1])


def test_all_metrics_see_the_same_draw() -> None:
    references, base = corpus(60, 0.3, seed=3)
    both = score({"s": base}, references=references, metrics=["bleu", "chrf"])
    alone = score({"s": base}, references=references, metrics=["chrf"])
    assert both["chrf"]["s"].ci == alone["chrf"]["s"].ci
    assert registry.load("chrf").higher_is_better
