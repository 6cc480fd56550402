"""Transport against a linear program, an exact certificate, and its own promises."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from mtgauge.compare.matrices import Matrices
from mtgauge.compare.transport import cost_matrices, relaxed, transport
from mtgauge.errors import UsageError


def linear_program(c: np.ndarray, a: np.ndarray, b: np.ndarray) -> float:
    n, m = c.shape
    rows, columns = np.kron(np.eye(n), np.ones(m)), np.kron(np.ones(n), np.eye(m))
    tight: Any = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog(
        c.ravel(),
        A_eq=np.vstack([rows, columns])[:-1],  # one row follows from the others
        b_eq=np.concatenate([a, b])[:-1],
        method="highs-ds",
        options=tight,
    )
    assert found.success
    return float(found.fun)


def exact_gap(c: np.ndarray, flow: np.ndarray, u: np.ndarray, v: np.ndarray) -> Fraction:
    """Cost of the flow minus the dual bound of (u, v), in exact arithmetic.

    By weak duality no flow with the same marginals can cost less than the bound, so a gap of
    0 proves the flow optimal, whatever a linear program would say.
    """
    n, m = c.shape
    exact = [[Fraction(float(c[i, j])) for j in range(m)] for i in range(n)]
    us, vs = [Fraction(float(x)) for x in u], [Fraction(float(x)) for x in v]
    slack = min(min(exact[i][j] - us[i] - vs[j] for j in range(m)) for i in range(n))
    total, bound, mass = Fraction(0), Fraction(0), Fraction(0)
    for i in range(n):
        for j in range(m):
            f = Fraction(float(flow[i, j]))
            total += f * exact[i][j]
            bound += f * (us[i] + vs[j])
            mass += f
    return total - bound - min(slack, Fraction(0)) * mass


def weights(rng: np.random.Generator, n: int, zeros: bool) -> np.ndarray:
    w = rng.dirichlet(np.full(n, 0.5))
    if zeros and n > 1:
        w[rng.random(n) < 0.4] = 0
        w[rng.integers(n)] += 0.1
    return w / w.sum()


SIDE = st.integers(1, 14)
KINDS = ("random", "ties", "points", "identical", "adversarial", "negative", "constant")


def costs(rng: np.random.Generator, kind: str, n: int, m: int) -> np.ndarray:
    if kind == "ties":
        return rng.integers(0, 3, (n, m)).astype(float)
    if kind == "points":
        x, y = rng.normal(size=(n, 3)), rng.normal(size=(m, 3))
        return np.linalg.norm(x[:, None] - y[None], axis=2)
    if kind == "identical":  # the same points on both sides, some of them repeated
        x = rng.integers(0, 3, (max(n, m), 2)).astype(float)
        return np.linalg.norm(x[:n, None] - x[None, :m], axis=2)
    if kind == "adversarial":
        return 10.0 ** rng.uniform(-9, 6, (n, m))
    if kind == "negative":
        return rng.normal(size=(n, m)) * 10
    if kind == "constant":
        return np.full((n, m), 0.7)
    return rng.random((n, m))


@settings(max_examples=120, deadline=None)
@given(SIDE, SIDE, st.sampled_from(KINDS), st.booleans(), st.integers(0, 10**6))
def test_equals_the_linear_program(n: int, m: int, kind: str, zeros: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    c = costs(rng, kind, n, m)
    a, b = weights(rng, n, zeros), weights(rng, m, zeros)
    result = transport([c], [(a, b)], flow=True)
    assert result.flow is not None
    assert result.duals is not None
    flow, (u, v) = result.flow[0], result.duals[0]
    np.testing.assert_allclose(flow.sum(axis=1), a, rtol=0, atol=1e-12)
    np.testing.assert_allclose(flow.sum(axis=0), b, rtol=0, atol=1e-12)
    assert flow.min() >= 0
    scale = float(np.abs(flow * c).sum()) + 1e-300
    assert abs(result.cost[0] - (flow * c).sum()) <= 1e-12 * scale
    rounding = 1e-15 * float(np.abs(c).max())  # of the potentials, which are as large as costs
    assert 0 <= exact_gap(c, flow, u, v) <= Fraction(1e-9 * scale + rounding)
    if kind != "adversarial":  # where the program's own tolerances say nothing
        lp = linear_program(c, a, b)
        assert abs(result.cost[0] - lp) <= 1e-9 * max(abs(lp), scale)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 25), st.integers(1, 25), st.sampled_from(KINDS), st.integers(0, 10**6))
def test_uniform_weights_and_bounds(n: int, m: int, kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    c = costs(rng, kind, n, m)
    even = (np.full(n, 1 / n), np.full(m, 1 / m))
    cost = transport([c]).cost[0]
    assert cost == pytest.approx(transport([c], [even]).cost[0], rel=1e-9, abs=1e-12)
    assert transport([c.T]).cost[0] == pytest.approx(cost, rel=1e-9, abs=1e-12)
    assert relaxed([c])[0] <= cost + 1e-9 * (1 + abs(cost))
    assert relaxed([c], [even])[0] == pytest.approx(relaxed([c])[0], rel=1e-9, abs=1e-12)


def test_square_uniform_equals_the_assignment() -> None:
    from scipy.optimize import linear_sum_assignment

    rng = np.random.default_rng(5)
    for n in (1, 2, 7, 60):
        c = rng.random((n, n))
        rows, columns = linear_sum_assignment(c)
        assert transport([c]).cost[0] == pytest.approx(c[rows, columns].sum() / n, rel=1e-12)


def test_adversarial_costs_equal_an_exact_search() -> None:
    """Eight orders of magnitude in one matrix; every permutation tried in exact arithmetic."""
    rng = np.random.default_rng(11)
    for _ in range(150):
        n = int(rng.integers(2, 6))
        c = 10.0 ** rng.uniform(-4, 4, (n, n))
        exact = [[Fraction(float(x)) for x in row] for row in c]
        orders = itertools.permutations(range(n))
        best = min(sum(exact[i][p[i]] for i in range(n)) for p in orders) / n
        assert transport([c]).cost[0] == pytest.approx(float(best), rel=1e-9)


def test_equals_pot_on_large_problems() -> None:
    import ot

    rng = np.random.default_rng(6)
    for n, m in ((500, 1), (1, 500), (200, 173), (300, 300)):
        x, y = rng.normal(size=(n, 8)), rng.normal(size=(m, 8))
        c = np.linalg.norm(x[:, None] - y[None], axis=2)
        a, b = weights(rng, n, True), weights(rng, m, True)
        assert transport([c], [(a, b)]).cost[0] == pytest.approx(ot.emd2(a, b, c), rel=1e-9)


@pytest.mark.parametrize("kind", ["points", "ties", "identical", "negative"])
@pytest.mark.parametrize(("n", "m"), [(120, 110), (90, 135), (96, 64)])
def test_mass_moved_in_units_is_optimal(n: int, m: int, kind: str) -> None:
    """Large enough for phases, with masses that are equal, alike and unlike: a proof of each."""
    rng = np.random.default_rng(n)
    c = costs(rng, kind, n, m)
    alike = [rng.uniform(0.7, 1.3, size) for size in (n, m)]
    unlike = [rng.gamma(1.0, size=size) for size in (n, m)]
    for a, b in ((np.ones(n), np.ones(m)), alike, unlike, (np.ones(n), unlike[1])):
        a, b = a / a.sum(), b / b.sum()
        found = transport([c], [(a, b)], flow=True)
        assert found.flow is not None
        assert found.duals is not None
        np.testing.assert_allclose(found.flow[0].sum(axis=1), a, rtol=0, atol=1e-12)
        np.testing.assert_allclose(found.flow[0].sum(axis=0), b, rtol=0, atol=1e-12)
        scale = float(np.abs(found.flow[0] * c).sum() + np.abs(c).max())
        assert 0 <= exact_gap(c, found.flow[0], *found.duals[0]) <= Fraction(1e-12 * scale)


def test_equals_pyemd_within_its_rounding() -> None:
    from pyemd import emd

    rng = np.random.default_rng(7)
    for _ in range(20):
        n, m = rng.integers(1, 20, 2)
        c = rng.random((n, m))
        block = np.zeros((n + m, n + m))
        block[:n, n:], block[n:, :n] = c, c.T
        left = np.concatenate([np.full(n, 1 / n), np.zeros(m)])
        right = np.concatenate([np.zeros(n), np.full(m, 1 / m)])
        theirs = emd(left, right, block, backend="cpp")
        assert transport([c]).cost[0] == pytest.approx(theirs, abs=1e-5)


def test_zero_for_identical_points() -> None:
    x = np.random.default_rng(8).normal(size=(23, 40)).astype(np.float32)
    at = np.array([0, 23])
    for kind in ("euclidean", "sqeuclidean", "cosine"):
        assert transport(cost_matrices(x, at, x[::-1].copy(), at, kind)).cost[0] == 0.0


def test_same_bits_in_any_batch_and_with_any_number_of_threads() -> None:
    rng = np.random.default_rng(9)
    batch = [rng.random((rng.integers(1, 50), rng.integers(1, 50))) for _ in range(300)]
    pairs = [(weights(rng, c.shape[0], True), weights(rng, c.shape[1], True)) for c in batch]
    for given_weights in (None, pairs):
        whole = transport(batch, given_weights, threads=1).cost
        assert (whole == transport(batch, given_weights, threads=2).cost).all()
        assert (whole == transport(batch, given_weights, threads=5).cost).all()
        for i in (0, 17, 299):
            alone = None if given_weights is None else [given_weights[i]]
            assert transport([batch[i]], alone).cost[0] == whole[i]
        turned = None if given_weights is None else given_weights[::-1]
        assert (transport(batch[::-1], turned).cost[::-1] == whole).all()


def test_total_mass_scales_the_cost() -> None:
    c = np.array([[0.0, 1.0], [2.0, 0.5]])
    one = transport([c], [([0.5, 0.5], [0.25, 0.75])], flow=True)
    ten = transport([c], [([5.0, 5.0], [2.5, 7.5])], flow=True)
    assert ten.cost[0] == pytest.approx(10 * one.cost[0], rel=1e-12)
    assert one.flow is not None
    assert ten.flow is not None
    np.testing.assert_allclose(ten.flow[0], 10 * one.flow[0], rtol=1e-12)


@pytest.mark.parametrize(
    ("c", "w", "message"),
    [
        ([[1.0, np.nan]], None, "finite"),
        ([[1.0, np.inf]], None, "finite"),
        ([[1.0, 1e200]], None, "finite"),
        (np.empty((0, 3)), None, "empty"),
        ([1.0, 2.0], None, "two axes"),
        ([[1.0, 2.0]], ([1.0], [0.5, 0.4]), "same total mass"),
        ([[1.0, 2.0]], ([1.0], [1.5, -0.5]), "0 or more"),
        ([[1.0, 2.0]], ([1.0], [np.nan, 1.0]), "0 or more"),
        ([[1.0, 2.0]], ([np.inf], [0.5, 0.5]), "0 or more"),
        ([[1.0, 2.0]], ([0.0], [0.0, 0.0]), "all left weights are 0"),
        ([[1.0, 2.0]], ([1.0], [1.0]), "2 points"),
    ],
)
def test_wrong_input_is_refused(c: object, w: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        transport([c], None if w is None else [w])  # type: ignore[list-item]


def test_one_pair_of_weights_for_each_problem() -> None:
    with pytest.raises(UsageError, match="0 pairs of weights for 1"):
        transport([[[1.0]]], [])


def test_an_empty_batch() -> None:
    assert len(transport([]).cost) == 0
    assert transport([], [], flow=True).flow == []


def test_cost_matrices_by_the_formula() -> None:
    rng = np.random.default_rng(10)
    x, y = rng.normal(size=(12, 5)), rng.normal(size=(9, 5))
    x_at, y_at = np.array([0, 1, 12]), np.array([0, 6, 9])
    parts = ((x[:1], y[:6]), (x[1:], y[6:]))
    squared = [((a[:, None] - b[None]) ** 2).sum(-1) for a, b in parts]
    for p, found in enumerate(cost_matrices(x, x_at, y, y_at, "sqeuclidean")):
        np.testing.assert_allclose(found, squared[p], rtol=1e-12)
    for p, found in enumerate(cost_matrices(x, x_at, y, y_at)):
        np.testing.assert_allclose(found, np.sqrt(squared[p]), rtol=1e-12)
    unit = [v / np.linalg.norm(v, axis=1, keepdims=True) for v in (x, y)]
    cos = unit[0] @ unit[1].T
    cosine = cost_matrices(x, x_at, y, y_at, "cosine")
    np.testing.assert_allclose(cosine[1], 1 - cos[1:, 6:], atol=1e-12)
    single = cost_matrices(x.astype("f4"), x_at, y.astype("f4"), y_at, "sqeuclidean")
    np.testing.assert_allclose(single[1], squared[1], rtol=1e-5)


def test_pairs_of_texts_are_named_by_number() -> None:
    rng = np.random.default_rng(12)
    x, y = rng.normal(size=(9, 4)).astype("f4"), rng.normal(size=(7, 4)).astype("f4")
    x[4] = 0.0
    x_at, y_at = np.array([0, 2, 2, 5, 9]), np.array([0, 3, 7])
    lefts, rights = np.array([2, 0, 2, 3]), np.array([1, 1, 0, 0])
    for kind in ("euclidean", "sqeuclidean", "cosine"):
        found = cost_matrices(x, x_at, y, y_at, kind, (lefts, rights))
        for p, (a, b) in enumerate(zip(lefts, rights, strict=True)):
            left, right = x[x_at[a] : x_at[a + 1]], y[y_at[b] : y_at[b + 1]]
            ends = np.array([0, len(left)]), np.array([0, len(right)])
            alone = cost_matrices(left, ends[0], right, ends[1], kind)[0]
            np.testing.assert_array_equal(found[p], alone)
    with pytest.raises(UsageError, match="Left text 1 has no token"):
        cost_matrices(x, x_at, y, y_at, "euclidean", (np.array([1]), np.array([0])))
    with pytest.raises(UsageError, match="Right texts of pairs have to be from 0 to 1"):
        cost_matrices(x, x_at, y, y_at, "euclidean", (np.array([0]), np.array([2])))


def test_a_zero_vector_is_at_cosine_distance_one() -> None:
    x, at = np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([0, 2])
    assert cost_matrices(x, at, x, at, "cosine")[0].tolist() == [[1.0, 1.0], [1.0, 0.0]]


def test_wrong_vectors_are_refused() -> None:
    x = np.ones((3, 2), dtype=np.float32)
    with pytest.raises(UsageError, match="no token"):
        cost_matrices(x, np.array([0, 0, 3]), x, np.array([0, 1, 3]))
    with pytest.raises(UsageError, match="same numbers"):
        cost_matrices(x, np.array([0, 3]), x, np.array([0, 1, 3]))
    with pytest.raises(UsageError, match="from 0 to the number of tokens"):
        cost_matrices(x, np.array([0, 2]), x, np.array([0, 3]))
    with pytest.raises(UsageError, match="No ground distance"):
        cost_matrices(x, np.array([0, 3]), x, np.array([0, 3]), "manhattan")  # type: ignore[arg-type]


def test_ragged_refuses_what_does_not_fit() -> None:
    with pytest.raises(UsageError, match="where the shapes need 6"):
        Matrices(np.zeros(5), np.array([[2, 3]]))
