"""The solvers against scipy on the objective written out over pairs."""

from __future__ import annotations

from functools import partial

import clarabel
import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from everypair.linalg.matrix import as_matrix
from everypair.pairs import LOSSES, auc, pair_point
from everypair.pairs.brute import BrutePoint
from everypair.penalties import L2
from everypair.rows import Rows
from everypair.solvers import choose
from everypair.solvers.choose import minimise
from everypair.solvers.hinge import _share_of_move, rounded_problem
from everypair.solvers.hinge_certificate import judge_as_hinge
from everypair.solvers.newton import NewtonMatrix
from everypair.solvers.problem import Problem

SMOOTH_CONVEX = [name for name, loss in LOSSES.items() if loss.convex and name != "hinge"]


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    positive = X @ np.array([1.0, -1.0, 0.5, 0.0]) + rng.logistic(size=60) > 1
    return X, Rows.uncut(positive, rng.random(60) + 0.1)


def written_out(loss, pairs, X, alpha):
    def objective(w):
        point = BrutePoint(LOSSES[loss], pairs, X @ w)
        return point.value() + alpha / 2 * w @ w, X.T @ point.gradient() + alpha * w

    return objective


@pytest.mark.parametrize("solver", ["newton", "newton-cg"])
@pytest.mark.parametrize("alpha", [1.0, 1e-3])
@pytest.mark.parametrize("loss", SMOOTH_CONVEX)
def test_minimiser_is_what_scipy_finds(problem, loss, alpha, solver):
    X, pairs = problem
    fit = minimise(as_matrix(X), pairs, loss, alpha, solver=solver, tol=1e-13)
    settings = {"gtol": 1e-12, "ftol": 1e-16, "maxiter": 10_000}
    scipy = minimize(
        written_out(loss, pairs, X, alpha),
        np.zeros(4),
        jac=True,
        method="L-BFGS-B",
        options=settings,
    )
    np.testing.assert_allclose(fit.coef, scipy.x, atol=1e-6)
    assert fit.objective == pytest.approx(scipy.fun, rel=1e-10)
    assert 0 <= fit.distance <= 1e-13


@pytest.mark.parametrize("alpha", [1e-1, 1e-3])
def test_sigmoid_minimum_is_where_scipy_stays(problem, alpha):
    X, pairs = problem
    fit = minimise(as_matrix(X), pairs, "sigmoid", alpha, tol=1e-10)
    objective = written_out("sigmoid", pairs, X, alpha)
    settings = {"gtol": 1e-12, "ftol": 1e-16}
    scipy = minimize(objective, fit.coef, jac=True, method="L-BFGS-B", options=settings)
    np.testing.assert_allclose(fit.coef, scipy.x, atol=1e-6)
    logistic = minimise(as_matrix(X), pairs, "logistic", alpha).coef
    assert fit.objective <= objective(logistic)[0]


@pytest.mark.parametrize("solver", ["newton", "newton-cg"])
@pytest.mark.parametrize("alpha", [1.0, 1e-2])
def test_hinge_minimiser_is_what_a_quadratic_program_gives(problem, alpha, solver):
    """min alpha / 2 |v|^2 + w . xi, subject to xi >= 0 and xi_ij >= 1 - (x_i - x_j) . v."""
    X, pairs = problem
    p, n = pairs.positives, pairs.negatives
    differences = (X[p][:, None, :] - X[n][None, :, :]).reshape(-1, 4)
    weights = np.outer(pairs.share[p], pairs.share[n]).ravel()
    slacks, none = sparse.eye(weights.size), sparse.csc_matrix((weights.size, 4))
    quadratic = sparse.block_diag([alpha * sparse.eye(4), 0 * slacks]).tocsc()
    linear = np.concatenate([np.zeros(4), weights])
    rows = [[-sparse.csc_matrix(differences), -slacks], [none, -slacks]]
    bounds = np.concatenate([-np.ones(weights.size), np.zeros(weights.size)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    cones = [clarabel.NonnegativeConeT(bounds.size)]
    program = clarabel.DefaultSolver(
        quadratic, linear, sparse.block_array(rows).tocsc(), bounds, cones, settings
    ).solve()
    # The bound on rounding, a part of the gap, is about 1e-10 here: float64 shows no smaller gap.
    fit = minimise(as_matrix(X), pairs, "hinge", alpha, solver=solver, tol=1e-9, max_iter=500)
    assert fit.objective == pytest.approx(program.obj_val, rel=1e-8)
    assert 0 <= fit.distance <= 1e-9
    assert fit.rounding <= 1e-9
    # P is alpha-strongly convex: so near does a gap pin its minimiser.
    pinned = np.sqrt(2 * fit.distance * fit.objective / alpha) + 1e-8
    assert np.linalg.norm(fit.coef - program.x[:4]) <= pinned


@pytest.mark.parametrize("loss", SMOOTH_CONVEX)
def test_gap_bounds_the_distance_to_the_minimum_anywhere(problem, loss):
    X, pairs = problem

    from everypair.pairs import pair_point

    alpha = 0.05
    best = minimise(as_matrix(X), pairs, loss, alpha, tol=1e-14).objective
    objective = Problem(as_matrix(X), partial(pair_point, loss, pairs), L2(alpha))
    rng = np.random.default_rng(4)
    for scale in (0.1, 1.0, 5.0):
        now = objective.at(scale * rng.standard_normal(4))
        assert now.value - now.gap <= best * (1 + 1e-12)
        written = now.value - (now.loss.dual_value() - now.pulled @ now.pulled / 0.1)
        assert now.gap == pytest.approx(written, rel=1e-9)


def test_hinge_gap_bounds_the_distance_to_the_minimum_anywhere(problem):
    from everypair.pairs.ranked_classes import SortedScores
    from everypair.pairs.sorted import HuberHingePoint

    X, pairs = problem
    best = minimise(as_matrix(X), pairs, "hinge", 0.05, tol=1e-10).objective
    rng = np.random.default_rng(4)
    for width in (1.0, 0.1):
        objective = Problem(
            as_matrix(X),
            lambda s, width=width: HuberHingePoint(SortedScores(pairs, s), width),
            L2(0.05),
        )
        for scale in (0.1, 1.0, 5.0):
            value, distance, _ = judge_as_hinge(objective.at(scale * rng.standard_normal(4)))
            assert value * (1 - distance) <= best * (1 + 1e-10)


def test_square_needs_one_newton_step(problem):
    X, pairs = problem
    assert minimise(as_matrix(X), pairs, "square", 1e-2, solver="newton", tol=1e-12).n_iter == 1


def sample_of(n_rows, monkeypatch):
    for size in ("SAMPLE_ROWS", "LEAST_SAMPLE", "LEAST_HINGE_SAMPLE"):
        monkeypatch.setattr(choose, size, n_rows)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "hinge", "exponential"])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_starting_from_a_sample_does_not_change_the_solution(loss, make, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 5)) * (rng.random((3000, 5)) < 0.7)
    positive = X.sum(axis=1) + rng.logistic(size=3000) > 3
    pairs = Rows.uncut(positive, rng.integers(0, 3, 3000).astype(float))
    plain = minimise(as_matrix(make(X)), pairs, loss, 1e-2, tol=1e-9)
    sample_of(300, monkeypatch)
    sampled = minimise(as_matrix(make(X)), pairs, loss, 1e-2, tol=1e-9)
    assert sampled.distance <= 1e-9
    assert sampled.objective == pytest.approx(plain.objective, rel=2e-9)
    np.testing.assert_allclose(sampled.coef, plain.coef, atol=1e-3)


def test_sample_takes_rows_with_weight_from_both_classes():
    positive = np.zeros(1000, dtype=bool)
    positive[:7] = True
    weight = np.ones(1000)
    weight[500:] = 0
    rows = Rows.uncut(positive, weight).sample(100)
    assert positive[rows].sum() == 7
    assert rows.size == 100
    assert np.all(weight[rows] > 0)
    assert np.unique(rows).size == rows.size


def test_a_row_that_the_sample_missed_does_not_spoil_the_start(monkeypatch):
    """exp(-z) overflows at the sample's solution on that row; zero is the better start."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 3))
    positive = X[:, 0] + rng.standard_normal(2000) > 1
    sample_of(100, monkeypatch)
    outside = np.setdiff1d(np.flatnonzero(~positive), Rows.uncut(positive).sample(100))[0]
    X[outside, 0] = 3000.0
    assert minimise(as_matrix(X), Rows.uncut(positive), "exponential", 1e-3).distance <= 1e-6


def test_history_ends_at_what_was_reached(problem):
    X, pairs = problem
    fit = minimise(as_matrix(X), pairs, "logistic", 1e-3)
    seconds, objective, distance = fit.history[-1]
    assert len(fit.history) == fit.n_iter
    assert (objective, distance) == (fit.objective, fit.distance)
    assert seconds > 0


def test_scores_are_those_of_the_coefficients(problem):
    X, pairs = problem
    fit = minimise(as_matrix(X), pairs, "logistic", 1e-3)
    np.testing.assert_allclose(fit.scores, X @ fit.coef, atol=1e-12)
    assert auc(pairs, fit.scores) > 0.5


def test_newton_matrix_survives_what_single_precision_does_not():
    """A row 1e25 times as long as all that the units were taken from."""
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((4000, 3))
    positive = rows[:, 0] + rng.standard_normal(4000) > 1
    rows[1, 2] = 1e25
    now = Problem(
        as_matrix(rows),
        lambda scores: pair_point("logistic", Rows.uncut(positive), scores),
        L2(1e-3),
    ).at(np.zeros(3))
    with np.errstate(over="ignore", invalid="ignore"):
        step = NewtonMatrix(now).step(now.gradient)
    hessian = now.loss.hessian(now.problem.X) + 1e-3 * np.eye(3)
    np.testing.assert_allclose(step, -np.linalg.solve(hessian, now.gradient), rtol=1e-6)


def test_the_line_through_two_roundings_leads_to_any_width():
    rng = np.random.default_rng(0)
    rows, end, move = rng.standard_normal((30, 3)), rng.standard_normal(3), rng.standard_normal(3)
    pairs = Rows.uncut(np.arange(30) % 2 == 0)

    def solution(width):
        problem = rounded_problem(as_matrix(rows), pairs, L2(1.0), 0.0, width)
        return problem.at(end + width * move)

    before, now = solution(0.5), solution(0.2)
    for width in (0.0, 0.05, 0.1):
        share = _share_of_move(before, now, width)
        np.testing.assert_allclose(
            now.w + share * (now.w - before.w), end + width * move, atol=1e-12
        )


def test_hinge_from_a_sample_does_not_begin_with_a_narrow_rounding():
    """A common factor makes the sample's solution poor in its gap, whatever the rounding; begun at
    the narrowest it hardly moves."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((50_000, 50)) + rng.standard_normal((50_000, 1))
    rows *= np.geomspace(0.3, 3, 50)
    signal = rows @ (0.3 * rng.standard_normal(50)) + rng.logistic(size=50_000)
    positive = signal > np.quantile(signal, 0.95)
    fit = minimise(as_matrix(rows), Rows.uncut(positive), "hinge", 1e-3, tol=1e-3, max_iter=20)
    assert fit.distance <= 1e-3
