"""Groups that vanish whole: the definition, an independent solver, the certificate."""

import numpy as np
import pytest
from scipy.optimize import minimize

from everypair.linalg.binned import BinnedMatrix, BinnedRows
from everypair.pairs.brute import BrutePoint
from everypair.pairs.losses import LOSSES
from everypair.penalties import GroupNet
from everypair.rows import Rows
from everypair.solvers.group_net import group_strengths, minimise_group_model, minimise_in_groups


def problem(seed=0, n=120, n_parts=5):
    """Columns of bins with smooth tables; the first two have something to do with the classes."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 6, (n_parts, n)).astype(np.uint8)
    tables = [rng.standard_normal((6, width)) for width in rng.integers(1, 4, n_parts)]
    tables = [table - table.mean(axis=0) for table in tables]
    matrix = BinnedMatrix(BinnedRows(codes, tables))
    score = np.sin(codes[0]) + 0.5 * (codes[1] > 2)
    positive = score + 0.3 * rng.logistic(size=n) > 0.4
    return matrix, Rows.uncut(positive, rng.integers(1, 4, n).astype(float))


def objective(X, rows, alpha, l1, starts, w):
    loss = BrutePoint(LOSSES["logistic"], rows, X @ w).value()
    lengths = [np.linalg.norm(part) for part in np.split(w, starts[1:])]
    return loss + float(np.dot(l1, lengths)) + alpha / 2 * w @ w


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("share", [0.02, 0.2, 0.6])
def test_the_minimum_is_that_of_an_independent_solver(seed, share):
    """L-BFGS on lengths that are rounded less and less near zero."""
    matrix, rows = problem(seed)
    weights, most = group_strengths(matrix, rows)
    alpha, l1 = 1e-2, share * most * weights
    found = minimise_in_groups(matrix, rows, "logistic", alpha, l1, tol=1e-10)
    X, starts = matrix.X[np.arange(matrix.shape[0])], matrix.X.places
    value = objective(X, rows, alpha, l1, starts, found.coef)
    assert found.objective == pytest.approx(value, rel=1e-10)
    assert found.distance <= 1e-10

    def smoothed(w, eps=1e-9):
        point = BrutePoint(LOSSES["logistic"], rows, X @ w)
        parts = np.split(w, starts[1:])
        lengths = [np.sqrt(part @ part + eps**2) for part in parts]
        slope = np.concatenate(
            [a * part / size for a, part, size in zip(l1, parts, lengths, strict=True)]
        )
        total = point.value() + np.dot(l1, lengths) + alpha / 2 * w @ w
        return total, X.T @ point.gradient() + slope + alpha * w

    best, start = np.inf, np.full(X.shape[1], 0.01)
    for eps in (1e-2, 1e-4, 1e-6, 1e-9):
        other = minimize(
            smoothed, start, args=(eps,), jac=True, method="L-BFGS-B",
            options={"maxiter": 5000, "ftol": 1e-16, "gtol": 1e-12},
        )  # fmt: skip
        start = other.x
        best = min(best, objective(X, rows, alpha, l1, starts, start))
    assert value <= best + 1e-9 * abs(best)
    np.testing.assert_allclose(found.coef, start, atol=2e-4)


def test_all_groups_vanish_from_the_largest_strength_on_and_not_before():
    matrix, rows = problem()
    weights, most = group_strengths(matrix, rows)
    for share, gone in ((1.0001, True), (0.999, False)):
        found = minimise_in_groups(matrix, rows, "logistic", 1e-3, share * most * weights)
        assert bool(np.all(found.coef == 0)) is gone
        assert found.distance <= 1e-6


@pytest.mark.parametrize("seed", range(4))
def test_young_is_the_definition_and_holds_for_every_error(seed):
    rng = np.random.default_rng(seed)
    starts = np.array([0, 2, 3, 7])
    penalty = GroupNet(0.3, np.array([0.5, 0.0, 2.0, 1.0]), starts, np.ones(9))
    w, u = rng.standard_normal(9), rng.standard_normal(9)
    w[starts[2] : starts[3]] = 0
    sizes = np.array([np.linalg.norm(part) for part in np.split(u, starts[1:])])
    conjugate = np.sum(np.maximum(sizes - penalty.l1, 0) ** 2) / 0.6
    expected = penalty.value(w) + conjugate + w @ u
    assert penalty.young(w, u, 0.0) == pytest.approx(expected, abs=1e-12)
    assert penalty.conjugate(u, w) == pytest.approx(conjugate)
    best = penalty._shrunk(u)
    assert penalty.young(best, u, 0.0) == pytest.approx(0, abs=1e-15)
    error = 0.1 * rng.random(9)
    for _ in range(50):
        other = u + error * rng.uniform(-1, 1, 9)
        assert penalty.young(w, other, 0.0) <= penalty.young(w, u, error) + 1e-12


def test_the_quadratic_model_is_minimised_to_its_optimality_conditions():
    rng = np.random.default_rng(0)
    starts = np.array([0, 3, 4, 9])
    root = rng.standard_normal((12, 12))
    hessian, gradient, start = root @ root.T, 3 * rng.standard_normal(12), rng.standard_normal(12)
    penalty = GroupNet(0.1, np.array([1.0, 2.0, 9.0, 0.0]), starts, np.ones(12))
    w = minimise_group_model(starts, hessian, penalty, start, gradient)
    slope = gradient + hessian @ (w - start) + 0.1 * w
    for part, s, l1 in zip(
        np.split(w, starts[1:]), np.split(slope, starts[1:]), penalty.l1, strict=True
    ):
        if np.any(part):
            np.testing.assert_allclose(s, -l1 * part / np.linalg.norm(part), atol=1e-8)
        else:
            assert np.linalg.norm(s) <= l1
