"""Correlations, resampling and significance: golden values, scipy as judge, and laws."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from mtgauge.meta import accuracy, significance
from mtgauge.stats import correlation, resample
from mtgauge.stats.bootstrap import draw_counts
from mtgauge.stats.resample import bootstrap, bootstrap_tau_wmt

SCIPY = {
    "pearson": lambda x, y: stats.pearsonr(x, y).statistic,
    "spearman": lambda x, y: stats.spearmanr(x, y).statistic,
    "kendall": lambda x, y: stats.kendalltau(x, y).statistic,
}


@pytest.mark.parametrize("module", [correlation, accuracy])
def test_examples_in_the_docstrings(module):
    assert doctest.testmod(module).failed == 0


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


def test_williams_golden():
    gold, m1, m2 = [1, 2, 3, 4, 5], [1.1, 2, 3.1, 4, 5.1], [1.5, 2, 3.1, 4, 5.5]
    assert significance.williams_of(m1, m2, gold) == pytest.approx(
        (4.972307828, 0.019073688), abs=1e-8
    )
    assert float(significance.williams(0.70, 0.60, 0.80, 560)[0]) == pytest.approx(5.2241, abs=5e-5)
    assert np.isnan(significance.williams(0.9, 0.8, 0.9, 3)[1])


@pytest.mark.parametrize("n", [4, 5, 6, 7, 100, 101, 3000])
def test_williams_p_equals_scipy(n):
    t, p = significance.williams([0.7, 0.6, 0.5, 0.6], [0.6, 0.7, 0.5, -0.3], 0.4, n)
    assert p == pytest.approx(stats.t.sf(t, n - 3), abs=1e-13)


def test_kendall_of_a_long_column_equals_scipy():
    rng = np.random.default_rng(3)
    x = rng.normal(size=3000).round(2)
    y = (x + rng.normal(size=3000)).round(1)
    assert correlation.kendall(x, y) == stats.kendalltau(x, y).statistic


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
    ours = bootstrap(scores, human, name, resamples=40, seed=5)
    draws = np.concatenate(list(draw_counts(25, 40, 5))).astype(int)
    for i, counts in enumerate(draws):
        rows = np.repeat(np.arange(25), counts)
        loop = [SCIPY[name](row[rows], human[rows]) for row in scores]
        assert ours[i] == pytest.approx(loop, abs=1e-9)


def test_rank_bootstraps_have_a_limit():
    many = np.arange(resample.RANK_LIMIT + 1.0)
    with pytest.raises(ValueError, match="limited"):
        bootstrap(many, many, "kendall")
    assert np.isnan(bootstrap([1.0, 2.0], [1.0, 2.0])).all()


def test_bootstrap_of_tau_has_the_moments_of_resampling():
    rng = np.random.default_rng(3)
    scores = rng.normal(size=400)
    pairs = np.stack([np.arange(200), np.arange(200, 400)], axis=1)
    ours = bootstrap_tau_wmt(scores, pairs, resamples=20_000)[:, 0]
    won = correlation.concordant(scores, pairs)
    loop = [2 * won[rng.integers(0, 200, 200)].mean() - 1 for _ in range(20_000)]
    assert ours.mean() == pytest.approx(np.mean(loop), abs=0.003)
    assert ours.std() == pytest.approx(np.std(loop), rel=0.03)


def test_permutation_finds_a_difference_and_stops_early_where_there_is_none():
    rng = np.random.default_rng(4)
    human = rng.normal(size=200)
    good, bad = human + rng.normal(size=200), human + 3 * rng.normal(size=200)
    p, made = significance.permutation_test(good, bad, human)
    assert p < 0.01
    assert made == 1000
    p, made = significance.permutation_test(bad, good, human)
    assert p > 0.5
    assert made == 100
    twin = human + rng.normal(size=200)
    assert significance.permutation_test(good, twin, human)[0] > 0.05
    assert np.isnan(significance.permutation_test(np.ones(200), good, human)[0])


def test_permutation_equals_swapping_one_by_one():
    rng = np.random.default_rng(6)
    human = rng.normal(size=30)
    a, b = human + rng.normal(size=30), human + rng.normal(size=30)
    za, zb = stats.zscore(a), stats.zscore(b)
    mask = np.random.default_rng(7).integers(0, 2, size=(50, 30))
    loop = [
        stats.pearsonr(np.where(m, zb, za), human)[0]
        - stats.pearsonr(np.where(m, za, zb), human)[0]
        for m in mask
    ]
    ours = significance._swapped(mask.astype(float), za, zb, (30,), human)
    assert ours == pytest.approx(loop, abs=1e-10)


def test_system_level_permutation_swaps_cells():
    rng = np.random.default_rng(8)
    human = rng.normal(size=12)
    good = human[:, None] + rng.normal(size=(12, 50))
    bad = 0.1 * human[:, None] + 3 * rng.normal(size=(12, 50))
    assert significance.permutation_test(good, bad, human)[0] < 0.05


def test_matrix_and_clusters():
    rng = np.random.default_rng(9)
    human = rng.normal(size=500)
    scores = np.stack([human + k * rng.normal(size=500) for k in (0.5, 0.5, 3.0)])
    for test in ("williams", "bootstrap", "permutation"):
        p = significance.matrix(scores, human, test)
        assert np.isnan(np.diag(p)).all()
        ranks = significance.clusters(correlation.pearson(scores, human).tolist(), p)
        assert ranks == [1, 1, 2]
    assert significance.clusters([float("nan"), 0.5], np.full((2, 2), np.nan)) == [None, 1]


def test_tau_test_draws_both_metrics_together():
    rng = np.random.default_rng(10)
    human = rng.normal(size=600)
    pairs = correlation.darr_pairs(["s"] * 600, human, gap=2.0)
    good, bad = human + rng.normal(size=600), human + 2 * rng.normal(size=600)
    p = significance.tau_matrix(np.stack([good, bad]), pairs)
    assert p[0, 1] < 0.01
    assert p[1, 0] > 0.99
    assert significance.bootstrap_tau_test(good, good, pairs) == 1.0


def _brute_acc_eq(x, h, ids, epsilon):
    per_group = []
    for name in dict.fromkeys(ids):
        rows = [i for i, g in enumerate(ids) if g == name and not np.isnan(x[i] + h[i])]
        hits = []
        for k, i in enumerate(rows):
            for j in rows[k + 1 :]:
                dm = 0.0 if abs(x[i] - x[j]) <= epsilon else x[i] - x[j]
                hits.append(np.sign(dm) == np.sign(h[i] - h[j]))
        if hits:
            per_group.append(np.mean(hits))
    return np.mean(per_group)


def test_acc_eq_published_values():
    gold, metric = [1, 2, 2, 3, 4], [2, 1, 1.5, 5, 3]
    assert accuracy.acc_eq(metric, gold, epsilon=0.0).value == pytest.approx(0.6)
    assert accuracy.acc_eq(metric, gold, epsilon=2.0).value == pytest.approx(0.4)
    assert accuracy.acc_eq(metric, gold).value == pytest.approx(0.7)
    best = accuracy.acc_eq([0, 2, 6, 8], [1, 1, 1, 4])
    assert (best.value, best.epsilon) == (pytest.approx(4 / 6), 4.0)
    assert accuracy.acc_eq([0, 2, 6, 8], [1, 2, 3, 4]).epsilon == 0.0


def test_acc_eq_published_matrix():
    nan = np.nan
    metric = [[0, 5, 2, 3, 2], [nan, 2, 1, 5, 3], [9, 1, 5, 3, 8], [9, 3, 4, 4, 1], [nan] * 5]
    human = [[1, 5, 2, 1, 1], [4, 2, 2, 1, 4], [5, 9, 2, 8, 7], [7, 6, nan, 3, 2], [nan] * 5]
    groups = [str(i) for i in range(5) for _ in range(5)]
    best = accuracy.acc_eq(np.ravel(metric), np.ravel(human), groups)
    assert best.epsilon == 1.0
    assert best.value == pytest.approx(0.4916666666666668)
    plain = accuracy.acc_eq(np.ravel(metric), np.ravel(human), groups, epsilon=0.0)
    assert plain.value == pytest.approx(0.4666666666666667)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000))
def test_acc_eq_equals_brute_force(seed):
    rng = np.random.default_rng(seed)
    x, h = rng.integers(0, 6, 14).astype(float), rng.integers(0, 4, 14).astype(float)
    ids = rng.integers(0, 3, 14).astype(str).tolist()
    best = accuracy.acc_eq(x, h, ids)
    tried = {e: _brute_acc_eq(x, h, ids, e) for e in range(7)}
    assert best.value == pytest.approx(max(tried.values()))
    assert best.epsilon == min(e for e, v in tried.items() if v == pytest.approx(best.value))


def test_chance_levels_are_what_noise_gets():
    rng = np.random.default_rng(11)
    human = rng.integers(0, 3, 400).astype(float)
    noise = [accuracy.acc_eq(rng.normal(size=400), human) for _ in range(10)]
    assert np.mean([a.value for a in noise]) == pytest.approx(noise[0].chance, abs=0.02)
    pairs = [accuracy.pairwise_accuracy(rng.normal(size=400), human) for _ in range(10)]
    assert np.mean([a.value for a in pairs]) == pytest.approx(pairs[0].chance, abs=0.02)


def test_pairwise_accuracy_published_agreement():
    found = accuracy.pairwise_accuracy([1, 1, 2, 1, 2], [1, 2, 3, 3, 4])
    assert (found.value * found.pairs, found.pairs) == (5.0, 10)
    assert np.isnan(accuracy.pairwise_accuracy([1.0], [2.0]).value)


def test_spa_equals_permutations_one_by_one():
    rng = np.random.default_rng(12)
    scores = rng.normal(size=(4, 30)) + np.arange(4)[:, None] * 0.3
    ours = accuracy.p_values(scores, resamples=200, seed=3)
    signs = 2 * np.random.default_rng(3).integers(0, 2, size=(200, 30), dtype=np.int8) - 1
    at = 0
    for i in range(4):
        for j in range(i + 1, 4):
            d = scores[i] - scores[j]
            assert ours[at] == np.mean([(s * d).sum() >= d.sum() for s in signs])
            at += 1


def test_spa_of_a_perfect_metric_and_of_its_opposite():
    rng = np.random.default_rng(13)
    human = rng.normal(size=(5, 200)) + np.arange(5)[:, None]
    assert accuracy.spa(human, human).value == 1.0
    assert accuracy.spa(2 * human + 1, human).value == 1.0
    assert accuracy.spa(-human, human).value < 0.05
    assert accuracy.spa(human, human).chance == pytest.approx(0.5, abs=0.02)
    apart = np.full((2, 4), np.nan)
    apart[0, :2], apart[1, 2:] = 1.0, 2.0
    assert np.isnan(accuracy.spa(apart, apart).value), "no shared segment, no verdict"


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


@settings(max_examples=40, deadline=None)
@given(st.floats(-0.95, 0.95), st.floats(-0.95, 0.95), st.integers(5, 600))
def test_laws_of_williams(r12, r13, n):
    low = r12 * r13 - np.sqrt((1 - r12**2) * (1 - r13**2))
    high = r12 * r13 + np.sqrt((1 - r12**2) * (1 - r13**2))
    r23 = (low + high) / 2 + 0.3 * (high - low)
    t, p = significance.williams(r12, r13, r23, n)
    back, q = significance.williams(r13, r12, r23, n)
    assert float(t) == pytest.approx(-float(back), abs=1e-9)
    assert float(p + q) == pytest.approx(1.0, abs=1e-9)
