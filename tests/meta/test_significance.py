"""Tests between metrics, and accuracies: golden values, brute force, and laws."""

from __future__ import annotations

import doctest
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from mtgauge.meta import accuracy, significance
from mtgauge.stats import correlation


def test_examples_in_the_docstrings():
    assert doctest.testmod(accuracy).failed == 0


def test_williams_golden():
    gold, m1, m2 = [1, 2, 3, 4, 5], [1.1, 2, 3.1, 4, 5.1], [1.5, 2, 3.1, 4, 5.5]
    r12, r13, r23 = (correlation.pearson(a, b) for a, b in ((m1, gold), (m2, gold), (m1, m2)))
    t, p = significance.williams(r12, r13, r23, 5)
    assert (float(t), float(p)) == pytest.approx((4.972307828, 0.019073688), abs=1e-8)
    assert float(significance.williams(0.70, 0.60, 0.80, 560)[0]) == pytest.approx(5.2241, abs=5e-5)
    assert np.isnan(significance.williams(0.9, 0.8, 0.9, 3)[1])


@pytest.mark.parametrize("n", [4, 5, 6, 7, 100, 101, 3000])
def test_williams_p_equals_scipy(n):
    t, p = significance.williams([0.7, 0.6, 0.5, 0.6], [0.6, 0.7, 0.5, -0.3], 0.4, n)
    assert p == pytest.approx(stats.t.sf(t, n - 3), abs=1e-13)


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
    assert best.value == pytest.approx(4 / 6)
    assert best.epsilon == 4.0
    assert accuracy.acc_eq([0, 2, 6, 8], [1, 2, 3, 4]).epsilon == 0.0


def test_acc_eq_published_matrix():
    nan = np.nan
    metric: Any = [[0, 5, 2, 3, 2], [nan, 2, 1, 5, 3], [9, 1, 5, 3, 8], [9, 3, 4, 4, 1], [nan] * 5]
    human: Any = [[1, 5, 2, 1, 1], [4, 2, 2, 1, 4], [5, 9, 2, 8, 7], [7, 6, nan, 3, 2], [nan] * 5]
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
