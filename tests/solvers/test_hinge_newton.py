"""Newton's method on the hinge itself, where many pairs make it all but smooth."""

from __future__ import annotations

import numpy as np
import pytest
from counting import counted_work
from scipy import sparse

from everypair.linalg.matrix import as_matrix
from everypair.pairs.ranked_classes import SortedScores
from everypair.pairs.sorted import CentredHingePoint, HingePoint
from everypair.penalties import L2
from everypair.rows import Rows
from everypair.solvers import choose
from everypair.solvers.choose import minimise
from everypair.solvers.hinge import hinge_by_continuation, rounded_problem
from everypair.solvers.hinge_newton import HingeNewton, centred_hinge, plain_hinge
from everypair.solvers.newton import Newton
from everypair.solvers.problem import CloseEnough, better_start
from everypair.solvers.progress import Progress

ALPHA = 1e-3
SHAPE = 16_000, 8


def smooth_rows(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal(SHAPE) + rng.standard_normal((SHAPE[0], 1))
    signal = X @ rng.standard_normal(SHAPE[1]) + 2 * rng.logistic(size=SHAPE[0])
    return X, Rows.of(signal > np.quantile(signal, 0.8))


def stepped_rows():
    """Few values of each column: many pairs have the same margin."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2, SHAPE).astype(float)
    signal = X @ rng.standard_normal(SHAPE[1]) + rng.logistic(size=SHAPE[0])
    return X, Rows.of(signal > np.quantile(signal, 0.8))


def by_roundings(X, pairs, tol):
    start = better_start(rounded_problem(X, pairs, L2(ALPHA), tol), np.zeros(X.shape[1]))
    return hinge_by_continuation(start, Progress(200), Newton(), to_limit=False)[1]


@pytest.mark.parametrize("width", [0.3, 2.0])
def test_the_matrix_counts_the_pairs_at_the_corner(width):
    rng = np.random.default_rng(0)
    X, y, weight = rng.standard_normal((60, 4)), np.arange(60) % 3 == 0, rng.random(60)
    pairs = Rows.of(y, weight)
    now = plain_hinge(as_matrix(X), pairs, ALPHA, 0.0).at(rng.standard_normal(4))
    newton = HingeNewton()
    newton._width = width
    expected = np.zeros((4, 4))
    for i in np.flatnonzero(y):
        for j in np.flatnonzero(~y):
            if abs(1 - (now.scores[i] - now.scores[j])) < width / 2:
                apart = X[i] - X[j]
                expected += pairs.share[i] * pairs.share[j] / width * np.outer(apart, apart)
    windowed = newton._windowed(now)
    found = windowed.loss.hessian(now.problem.X)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert windowed.loss.curvature().any()


def test_the_gap_is_that_of_the_hinge():
    X, pairs = smooth_rows()
    best = by_roundings(as_matrix(X), pairs, 1e-9).objective
    problem = plain_hinge(as_matrix(X), pairs, ALPHA, 1e-6)
    rng = np.random.default_rng(2)
    for size in (0.0, 0.01, 0.3):
        now = problem.at(size * rng.standard_normal(SHAPE[1]))
        assert now.judged.objective - best <= now.judged.distance * now.judged.objective
        gap = np.sum(now.gradient**2) / (2 * ALPHA) / now.value
        assert now.judged.distance == pytest.approx(gap, rel=1e-6)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("rows", [smooth_rows, stepped_rows])
def test_the_solution_is_that_of_the_roundings(rows, form):
    X, pairs = rows()
    found = minimise(as_matrix(form(X)), pairs, "hinge", ALPHA)
    fine = by_roundings(as_matrix(X), pairs, 1e-9)
    assert found.distance <= 1e-6
    assert -1e-9 <= found.objective / fine.objective - 1 <= found.distance + 1e-9
    np.testing.assert_allclose(found.coef, fine.coef, atol=2e-2 * np.abs(fine.coef).max())
    np.testing.assert_allclose(found.scores, X @ found.coef, atol=1e-9)


def test_a_sample_and_few_steps_are_enough_where_margins_are_dense():
    hessians = []
    for seed in range(1, 6):
        X, pairs = smooth_rows(seed)
        with counted_work(*SHAPE) as work:
            fit = minimise(as_matrix(X), pairs, "hinge", ALPHA)
        assert fit.distance <= 1e-6
        assert fit.n_iter <= 5
        hessians.append(work["hessians"])
        assert work["pair_sums"] <= 16
        assert work["passes"] <= 16
    # Of the sample alone, where each counts a fifth; in one of the five of all rows, too.
    assert sorted(hessians)[3] <= 0.21


def test_steps_end_at_a_corner_and_roundings_go_on(monkeypatch):
    calls = []
    plain = choose.hinge_by_continuation

    def counted(*args, **kwargs):
        calls.append(args)
        return plain(*args, **kwargs)

    monkeypatch.setattr(choose, "hinge_by_continuation", counted)
    X, pairs = stepped_rows()
    fit = minimise(as_matrix(X), pairs, "hinge", ALPHA)
    assert len(calls) == 1
    assert fit.distance <= 1e-6
    X, pairs = smooth_rows()
    minimise(as_matrix(X), pairs, "hinge", ALPHA)
    assert len(calls) == 1


def test_a_start_near_the_solution_takes_few_steps():
    X, pairs = smooth_rows()
    first = minimise(as_matrix(X), pairs, "hinge", ALPHA)
    again = minimise(as_matrix(X), pairs, "hinge", 1.1 * ALPHA, start=first.start)
    assert again.distance <= 1e-6
    assert again.n_iter <= 5


def test_a_corner_is_told():
    X, pairs = stepped_rows()
    newton, problem = HingeNewton(), plain_hinge(as_matrix(X), pairs, ALPHA, 1e-6)
    now = newton(better_start(problem, np.zeros(SHAPE[1])), CloseEnough(1e-6), Progress(50))
    assert newton.at_corner
    assert now.judged.distance > 1e-6


def test_a_centred_rounding_has_the_multipliers_of_its_definition():
    rng = np.random.default_rng(4)
    y, weight, scores = np.arange(50) % 3 == 0, rng.random(50), rng.standard_normal(50)
    pairs = Rows.of(y, weight)
    for width in (0.3, 1.5):
        loss = CentredHingePoint(SortedScores(pairs, scores), width)
        gradient, hinge, rounded, short = np.zeros(50), 0.0, 0.0, 0.0
        for i in np.flatnonzero(y):
            for j in np.flatnonzero(~y):
                mass, u = pairs.share[i] * pairs.share[j], 1 - (scores[i] - scores[j])
                theta = np.clip(u / width + 0.5, 0, 1)
                gradient[[i, j]] += mass * theta * np.array([-1, 1])
                hinge += mass * max(0, u)
                inside = (u + width / 2) ** 2 / (2 * width)
                rounded += mass * (inside if 0 < theta < 1 else max(0, u))
                short += mass * (u >= 0.2)
        np.testing.assert_allclose(loss.gradient(), gradient, atol=1e-14)
        assert loss.hinge_value() == pytest.approx(hinge)
        assert loss.unrounded().value() == pytest.approx(hinge)
        assert loss.value() == pytest.approx(rounded)
        assert loss.mass_short(0.2) == pytest.approx(short)


def test_a_centred_rounding_certifies_the_hinge():
    """Value and gap are those of the hinge, and its cost is rho width^2 / 24."""
    X, pairs = smooth_rows()
    fine = by_roundings(as_matrix(X), pairs, 1e-10)
    now = centred_hinge(plain_hinge(as_matrix(X), pairs, ALPHA, 1e-4).at(fine.coef))
    hinge = HingePoint(SortedScores(pairs, now.scores)).value()
    value = hinge + ALPHA / 2 * float(now.w @ now.w)
    assert now.judged.objective == pytest.approx(value, rel=1e-12)
    dual = -now.point.gradient[pairs.positives].sum() - now.pulled @ now.pulled / (2 * ALPHA)
    assert now.judged.distance == pytest.approx((value - dual) / value, rel=1e-6)
    cost = now.judged.distance * value - np.sum(now.gradient**2) / (2 * ALPHA)
    density = (now.loss.mass_short(-0.01) - now.loss.mass_short(0.01)) / 0.02
    assert cost == pytest.approx(density * now.loss.width**2 / 24, rel=0.1)


def test_a_few_steps_around_the_corner_end_within_the_tolerance():
    """Many columns and a small alpha: with multipliers of 0 and 1 the gap stops shrinking."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((16_000, 40))
    signal = X @ rng.standard_normal(40) + 4 * rng.logistic(size=16_000)
    pairs = Rows.of(signal > np.quantile(signal, 0.95))
    matrix, alpha = as_matrix(X), 1e-6
    near = minimise(matrix, pairs, "hinge", 1e-3)
    with counted_work(*X.shape) as work:
        fit = minimise(matrix, pairs, "hinge", alpha, start=near.start)
    assert fit.distance <= 1e-6
    assert fit.rounded is None  # no roundings
    assert work["pair_sums"] <= 24
    assert work["hessians"] <= 4
    start = plain_hinge(matrix, pairs, alpha, 1e-6).at(fit.coef)
    assert start.judged.distance > 1e-6
