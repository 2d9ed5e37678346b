"""Climbs on the sphere: gradients, monotony, and where they arrive."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from everypair.linalg.matrix import as_matrix
from everypair.pairs import LOSSES
from everypair.pairs.brute import BrutePoint
from everypair.rows import Rows
from everypair.solvers.column_moments import class_covariance, column_moments
from everypair.solvers.rank_statistic import AllPairsStatistic, RandomOrder
from everypair.solvers.sphere import (
    LbfgsClimber,
    Sphere,
    _tangent,
    climb_by_gradients,
    climb_path,
)

CLIMBERS = {"gradients": lambda: climb_by_gradients, "lbfgs": LbfgsClimber}


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 5)) @ rng.standard_normal((5, 5)) + 3
    positive = X @ np.array([1.0, -1.0, 0.5, 0.0, 0.2]) + 2 * rng.logistic(size=300) > 4
    return X, Rows.uncut(positive, rng.random(300) + 0.1)


def statistics(pairs):
    order = RandomOrder.draw(pairs, np.random.RandomState(0))
    return {"linear": order.statistic(1), "all": AllPairsStatistic(pairs)}


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, sparse.csc_matrix])
def test_class_moments_are_those_of_numpy(problem, kind):
    X, pairs = problem
    moments = column_moments(as_matrix(kind(X)), pairs)
    classes = [(X[rows], pairs.share[rows]) for rows in (pairs.positives, pairs.negatives)]
    means = [np.average(rows, axis=0, weights=weight) for rows, weight in classes]
    np.testing.assert_allclose(moments.separation, means[0] - means[1], rtol=1e-10)
    by_numpy = [np.cov(rows.T, aweights=weight, ddof=0) for rows, weight in classes]
    np.testing.assert_allclose(moments.variance, np.diag(by_numpy[0] + by_numpy[1]), rtol=1e-9)
    weight = np.where(pairs.positive, 0.3, 0.7) * pairs.share  # 30 % positives
    of_all = np.cov(X.T, aweights=weight, ddof=0)
    np.testing.assert_allclose(moments.variance_of_all(0.3), np.diag(of_all), rtol=1e-9)
    covariance = class_covariance(as_matrix(kind(X)), pairs)
    if kind is np.asarray:
        np.testing.assert_allclose(covariance, (by_numpy[0] + by_numpy[1]) / 2, atol=1e-10)
    else:
        assert covariance is None


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e8])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array])
def test_sparse_columns_far_from_zero_have_the_moments_of_dense_ones(
    problem, kind, dtype, offset, monkeypatch
):
    monkeypatch.setattr("everypair.linalg.sparse.BLOCK_BYTES", 8 * 100)  # many blocks
    X, pairs = problem
    # A far column, one near zero, one with zeros in it, a constant one and an empty one.
    X = np.column_stack(
        [X[:, 0] + offset, X[:, 1], np.where(X[:, 2] > 3, X[:, 2], 0),
         np.full(len(X), offset + 1), 0 * X[:, 3]]
    ).astype(dtype)  # fmt: skip
    dense, other = (column_moments(as_matrix(rows), pairs) for rows in (X, kind(X)))
    for ours, theirs in zip(other, dense, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
    by_numpy = np.var(X[pairs.positives, 0].astype(float) - offset)
    if dtype == np.float64:
        plain = column_moments(as_matrix(kind(X)), Rows.uncut(pairs.positive))
        assert plain.variance_of_positives[0] == pytest.approx(by_numpy, rel=1e-9)
    assert other.variance[3] == other.variance[4] == 0


@pytest.mark.parametrize("statistic", ["linear", "all"])
def test_gradient_along_the_sphere_is_that_of_finite_differences(problem, statistic):
    """Of the loss as a function of a direction of any length: it has no part along u."""
    X, pairs = problem
    statistic = statistics(pairs)[statistic]
    sphere, u = Sphere.around(as_matrix(X), pairs, 0.3)
    radius, step = 3.0, 1e-5
    across = radius * sphere.pull_back(statistic.at(radius * sphere.scores(u)).gradient)
    gradient = _tangent(across, u)

    def loss(v):
        return statistic.loss(radius * sphere.scores(v / np.linalg.norm(v)))

    differences = [(loss(u + step * e) - loss(u - step * e)) / (2 * step) for e in np.eye(5)]
    np.testing.assert_allclose(gradient, differences, atol=1e-8)
    assert abs(gradient @ u) < 1e-14 < abs(across @ u)


def test_a_climb_that_ran_out_of_steps_has_not_converged(problem):
    X, pairs = problem
    sphere, start = Sphere.around(as_matrix(X), pairs, 0.3)
    settings = (sphere, AllPairsStatistic(pairs), start, 5.0)
    assert LbfgsClimber()(*settings, 100, 1e-6).converged
    cut_short = LbfgsClimber()(*settings, 3, 1e-6)
    assert not cut_short.converged
    assert cut_short.n_iter == 3


def test_a_climb_goes_as_far_as_rounding_lets_it(problem):
    X, pairs = problem
    sphere, start = Sphere.around(as_matrix(X), pairs, 0.3)
    climb = LbfgsClimber()(sphere, AllPairsStatistic(pairs), start, 5.0, 500, 1e-300)
    assert climb.converged
    assert climb.n_iter < 500
    assert climb.slope < 1e-6


@pytest.mark.parametrize("radius", [50.0, 1e3])
def test_a_nearly_perfect_ranking_is_climbed_as_well(radius):
    """The loss is too small for the squares of its gradients."""
    rng = np.random.default_rng(0)
    positive = np.arange(200) < 80
    X = rng.standard_normal((200, 3)) + np.where(positive[:, None], [30.0, 20.0, 0.0], 0.0)
    pairs = Rows.uncut(positive)
    sphere, start = Sphere.around(as_matrix(X), pairs, 0.4)
    climb = LbfgsClimber()(sphere, AllPairsStatistic(pairs), start, radius, 200, 1e-2)
    assert climb.converged
    assert 0 <= climb.loss <= climb.history[0] < 1e-6
    assert np.all(np.isfinite(climb.direction))


@pytest.mark.parametrize("statistic", ["linear", "all"])
@pytest.mark.parametrize("climber", CLIMBERS)
def test_statistic_never_falls_within_a_radius(problem, climber, statistic):
    X, pairs = problem
    sphere, start = Sphere.around(as_matrix(X), pairs, 0.3)
    climbs = climb_path(
        sphere, statistics(pairs)[statistic], start, (0.1, 0.5, 0.9, 0.99),
        CLIMBERS[climber](), 100, 1e-4,
    )  # fmt: skip
    steps = list(climbs)
    for step in steps:
        losses = np.array(step.climb.history)
        assert np.all(np.diff(losses) <= 0)
        assert losses[-1] == step.climb.loss
        assert np.linalg.norm(step.climb.direction) == pytest.approx(1.0, abs=1e-12)
    assert sum(step.climb.n_iter for step in steps) > 5
    assert np.all(np.diff([step.radius for step in steps]) > 0)


@pytest.mark.parametrize("climber", CLIMBERS)
@pytest.mark.parametrize("saturation", [0.1, 0.5])
def test_climb_arrives_where_scipy_does_on_the_written_out_statistic(problem, climber, saturation):
    X, pairs = problem
    sphere, start = Sphere.around(as_matrix(X), pairs, 0.3, class_covariance(as_matrix(X), pairs))
    statistic = AllPairsStatistic(pairs)
    (step,) = climb_path(sphere, statistic, start, (saturation,), CLIMBERS[climber](), 2000, 1e-9)

    def written_out(v):
        w = step.radius * sphere.scale * v / np.linalg.norm(v)
        return BrutePoint(LOSSES["sigmoid"], pairs, X @ w).value()

    found = minimize(written_out, np.ones(5), method="Nelder-Mead",
                     options={"maxiter": 4000, "maxfev": 4000, "xatol": 1e-7, "fatol": 1e-13,
                              "adaptive": True})  # fmt: skip
    assert step.climb.converged
    assert step.climb.loss <= found.fun + 1e-7
    if found.fun < step.climb.loss + 1e-7:
        cosine = found.x @ step.climb.direction / np.linalg.norm(found.x)
        assert cosine == pytest.approx(1.0, abs=1e-4)


def test_other_starts_arrive_at_the_same_place(problem):
    X, pairs = problem
    sphere, start = Sphere.around(as_matrix(X), pairs, 0.3)
    rng = np.random.default_rng(0)
    settings = (sphere, AllPairsStatistic(pairs))
    here = LbfgsClimber()(*settings, start, 5.0, 500, 1e-8)
    for _ in range(3):
        other = start + rng.standard_normal(5)
        there = LbfgsClimber()(*settings, other / np.linalg.norm(other), 5.0, 500, 1e-8)
        np.testing.assert_allclose(there.direction, here.direction, atol=1e-5)
