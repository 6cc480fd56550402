"""Correlations and their bootstrap: golden values, scipy as judge, and laws."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from mtgauge.stats import correlation
from mtgauge.stats.bootstrap import draw_counts
from mtgauge.stats.correlation_bootstrap import (
    RANK_LIMIT,
    resampled_correlations,
    resampled_tau_wmt,
)

SCIPY = {
    "pearson": lambda x, y: stats.pearsonr(x, y).statistic,
    "spearman": lambda x, y: stats.spearmanr(x, y).statistic,
    "kendall": lambda x, y: stats.kendalltau(x, y).statistic,
}


def test_examples_in_the_docstrings():
    assert doctest.testmod(correlation).failed == 0


@pytest.mark.parametrize("name", SCIPY)
def test_correlations_equal_scipy_with_ties(name):
    rng = np.random.default_rng(1)
    scores, human = rng.integers(0, 9, size=(4, 60)).astype(float), rng.normal(size=60)
    ours = getattr(correlation, name)(scores, human)
    assert ours == pytest.approx([SCIPY[name](row, human) for row in scores], abs=1e-12)


@pytest.mark.parametrize("name", SCIPY)
def test_undefined_correlations_are_nan(name):
    function = getattr(correlation, name)
    assert np.isnan(function([3.0, 3.0, 3.0, 3.0], [1.0, 2.0, 3.0, 4.0]))
    assert np.isnan(function([1.0, 2.0, 3.0, 4.0], [0.1 + 0.2] * 4))
    assert np.isnan(function([1.0, 2.0], [1.0, 2.0])), "two points always lie on a line"
    assert np.isnan(function([1.0, np.nan, 2.0, 3.0], [1.0, 2.0, 3.0, 4.0]))


def test_a_constant_that_is_not_exact_in_binary_is_still_constant():
    assert np.isnan(correlation.pearson(np.full(7, 0.1) * 3 / 3 + 1e-17, np.arange(7.0)))


def test_darr_golden():
    pairs = np.array([[0, 1], [2, 3], [4, 5], [6, 7]])
    scores = [0.9, 0.5, 0.5, 0.5, 0.2, 0.3, 0.8, 0.1]
    assert correlation.concordant(scores, pairs).tolist() == [True, False, False, True]
    assert correlation.tau_wmt(scores, pairs) == 0.0


@pytest.mark.parametrize(("gap", "tau", "n"), [(25, 3 / 5, 5), (1, 1 / 3, 6)])
def test_kendall_like_golden_of_mt_metrics_eval(gap, tau, n):
    pairs = correlation.darr_pairs(["s"] * 4, [10, 11, 100, 150], gap)
    assert len(pairs) == n
    assert correlation.tau_wmt([2, 1, 4, 3], pairs) == pytest.approx(tau, abs=1e-15)


def test_darr_keeps_segments_apart_and_drops_the_unjudged():
    pairs = correlation.darr_pairs(["a", "b", "a", "b", "a"], [90, 0, 65, np.nan, 64])
    assert pairs.tolist() == [[0, 2], [0, 4]]
    assert correlation.darr_pairs([], []).shape == (0, 2)
    assert np.isnan(correlation.tau_wmt([1.0, 2.0], np.empty((0, 2), dtype=int)))


def test_mad_rule_removes_the_one_bad_system():
    human = np.array([0.10, 0.12, 0.09, 0.11, 0.13, -2.0])
    assert correlation.outliers(human).tolist() == [False] * 5 + [True]
    scores = np.array([0.13, 0.09, 0.12, 0.10, 0.11, -3.0])
    assert correlation.pearson(scores, human) > 0.99
    assert correlation.robust_pearson(scores, human) < 0
    assert not correlation.outliers([1.0, 1.0, 1.0, 5.0]).any(), "a MAD of 0 marks nobody"


@pytest.mark.parametrize("name", SCIPY)
@pytest.mark.parametrize("ties", [False, True])
def test_bootstrap_equals_a_loop_over_scipy(name, ties):
    rng = np.random.default_rng(2)
    human = rng.normal(size=25)
    scores = human + rng.normal(size=(3, 25))
    if ties:
        scores, human = np.round(scores), np.round(2 * human)
    ours = resampled_correlations(scores, human, name, resamples=40, seed=5)
    draws = np.concatenate(list(draw_counts(25, 40, 5))).astype(int)
    for i, counts in enumerate(draws):
        rows = np.repeat(np.arange(25), counts)
        loop = [SCIPY[name](row[rows], human[rows]) for row in scores]
        assert ours[i] == pytest.approx(loop, abs=1e-9)


def test_rank_bootstraps_have_a_limit():
    many = np.arange(RANK_LIMIT + 1.0)
    with pytest.raises(ValueError, match="limited"):
        resampled_correlations(many, many, "kendall")
    assert np.isnan(resampled_correlations([1.0, 2.0], [1.0, 2.0])).all()


def test_bootstrap_of_tau_has_the_moments_of_resampling():
    rng = np.random.default_rng(3)
    scores = rng.normal(size=400)
    pairs = np.stack([np.arange(200), np.arange(200, 400)], axis=1)
    ours = resampled_tau_wmt(scores, pairs, resamples=20_000)[:, 0]
    won = correlation.concordant(scores, pairs)
    loop = [2 * won[rng.integers(0, 200, 200)].mean() - 1 for _ in range(20_000)]
    assert ours.mean() == pytest.approx(np.mean(loop), abs=0.003)
    assert ours.std() == pytest.approx(np.std(loop), rel=0.03)


# a grid, so that the maps below keep distinct values distinct
COLUMN = arrays(np.float64, 12, elements=st.integers(-400, 400).map(lambda i: i / 8))


@settings(max_examples=60, deadline=None)
@given(COLUMN, COLUMN, st.floats(0.01, 50), st.floats(-20, 20))
def test_laws_of_correlation(x, y, scale, shift):
    assume(np.ptp(x) > 1e-3)
    assume(np.ptp(y) > 1e-3)
    for name in SCIPY:
        function = getattr(correlation, name)
        r = float(function(x, y))
        assert -1 <= r <= 1
        assert float(function(-x, y)) == pytest.approx(-r, abs=1e-9), "sign"
        assert float(function(y, x)) == pytest.approx(r, abs=1e-9), "symmetry"
        order = np.random.default_rng(0).permutation(12)
        assert float(function(x[order], y[order])) == pytest.approx(r, abs=1e-9), "order"
    assert float(correlation.pearson(scale * x + shift, y)) == pytest.approx(
        float(correlation.pearson(x, y)), abs=1e-6
    )
    assert float(correlation.spearman(np.exp(x / 50), y)) == pytest.approx(
        float(correlation.spearman(x, y)), abs=1e-9
    )


@settings(max_examples=60, deadline=None)
@given(arrays(np.float64, 10, elements=st.integers(-5, 5)), st.integers(0, 1000))
def test_laws_of_tau_wmt(x, seed):
    raw = np.random.default_rng(seed).integers(0, 101, 10)
    pairs = correlation.darr_pairs([str(i % 3) for i in range(10)], raw)
    assume(len(pairs))
    tau = float(correlation.tau_wmt(x, pairs))
    assert float(correlation.tau_wmt(2 * x + 3, pairs)) == tau, "monotone maps change nothing"
    tied = np.mean(x[pairs[:, 0]] == x[pairs[:, 1]])
    assert float(correlation.tau_wmt(-x, pairs)) == pytest.approx(-tau - 2 * tied), "ties lose"
    assert float(correlation.tau_wmt(raw, pairs)) == 1.0
    assert float(correlation.tau_wmt(np.zeros(10), pairs)) == -1.0


def test_kendall_of_a_long_column_equals_scipy():
    rng = np.random.default_rng(3)
    x = rng.normal(size=3000).round(2)
    y = (x + rng.normal(size=3000)).round(1)
    assert correlation.kendall(x, y) == stats.kendalltau(x, y).statistic
