"""What rounding makes of a gap is reported apart, ends the steps, and is bounded row by row."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from everypair import AUCClassifier, auc_path
from everypair.linalg.matrix import as_matrix
from everypair.linalg.vectors import length
from everypair.pairs import pair_point
from everypair.penalties import L2
from everypair.rows import Rows
from everypair.solvers.choose import minimise
from everypair.solvers.elastic_net import SparseProblem
from everypair.solvers.problem import Problem, settled
from everypair.solvers.progress import Judgement
from everypair.solvers.rounding import hinge_error

SAYS_SO = "float64 cannot show a smaller one"


def data(offset=0.0, n_rows=500):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, 10))
    return X + offset, X[:, 0] + X[:, 1] + rng.standard_normal(n_rows) > 1


@pytest.mark.parametrize("penalty", ["l1", "elasticnet", "l2"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic", "square", "exponential"])
def test_steps_end_where_rounding_alone_is_above_tol(loss, penalty):
    X, y = data(offset=3e9)
    with pytest.warns(ConvergenceWarning, match=SAYS_SO) as caught:
        model = AUCClassifier(loss, penalty, alpha=1e-3).fit(X, y)
    assert "raise max_iter" not in str(caught[0].message)
    assert "StandardScaler" in str(caught[0].message)
    assert model.n_iter_ <= 40
    plain, y = data()
    best = AUCClassifier(loss, penalty, alpha=1e-3).fit(plain, y)
    assert model.objective_ == pytest.approx(best.objective_, rel=model.dual_gap_)


def test_a_path_says_that_rounding_is_in_the_way():
    X, y = data(offset=1e9)
    with pytest.warns(ConvergenceWarning, match=SAYS_SO):
        auc_path(X, y, n_alphas=5)


@pytest.mark.parametrize(
    ("penalty", "tol"), [("l1", 1e-12), ("l1", 1e-14), ("l2", 1e-13), ("l2", 1e-14)]
)
def test_a_tolerance_below_what_float64_can_show_is_named_on_ordinary_data(penalty, tol):
    X, y = data()
    with pytest.warns(ConvergenceWarning, match=f"{SAYS_SO}.*raise tol"):
        AUCClassifier("hinge", penalty, alpha=1e-3, tol=tol, max_iter=1000).fit(X, y)


def test_too_few_steps_are_not_blamed_on_rounding():
    X, y = data()
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        AUCClassifier("logistic", alpha=1e-6, tol=1e-9, max_iter=2).fit(X, y)


def test_no_warning_at_an_offset_that_float64_bears():
    X, y = data(offset=1e4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for penalty in ("l1", "elasticnet", "l2"):
            AUCClassifier("hinge", penalty, alpha=1e-3).fit(X, y)


def test_a_gap_is_done_within_tol_or_when_little_is_left_beside_rounding():
    assert Judgement(1.0, 1e-6).done(1e-6)
    assert not Judgement(1.0, 1.2e-6, 0.8e-6).done(1e-6)  # a step can take off enough
    assert Judgement(1.0, 3e-6, 2.5e-6).done(1e-6)
    assert not Judgement(1.0, 5e-6, 2.5e-6).done(1e-6)
    assert Judgement(1.0, 1.05e-3, 1e-3).done(1e-6)
    assert not Judgement(1.0, np.nan, np.nan).done(1e-6)
    # A share asks for less of what steps can take off, never for less rounding.
    assert Judgement(1.0, 0.85e-6, 0.8e-6).done(1e-6, share=0.5)
    assert not Judgement(1.0, 0.95e-6, 0.8e-6).done(1e-6, share=0.5)


def test_the_hinge_covers_every_drift_that_is_left_in_the_scores():
    """One row among many may drift by as much as all of them together."""
    X, y = data(n_rows=20_000)
    y[:] = False
    y[0] = True
    w, exact = np.ones(10), X @ np.ones(10)
    loss_at = partial(pair_point, "hinge", Rows.uncut(y))
    problem = Problem(as_matrix(X), loss_at, L2(1e-3), by_row=True)
    value = problem.at(w, exact).point.value
    covered = hinge_error(problem.score_error(w), y.size, value, lambda least: 1.0, tol=0.0)
    left = 0
    for drift in np.geomspace(1e-15, 1e-9, 50):
        scores = exact.copy()
        scores[0] += drift
        now = problem.at(w, scores)
        if settled(now) is now:
            left += 1
            assert abs(value - now.point.value) <= covered
    assert 0 < left < 50


def test_scores_that_steps_have_added_up_stay_within_their_bound():
    X, y = data(offset=1e3)
    matrix, rng = as_matrix(X), np.random.default_rng(0)
    exact = X.astype(np.longdouble)
    for by_row in (True, False):
        loss_at = partial(pair_point, "logistic", Rows.uncut(y))
        problem = Problem(matrix, loss_at, L2(1e-3), by_row=by_row)
        now = problem.at(np.zeros(10))
        for _ in range(30):
            step = rng.standard_normal(10)
            now = now.moved(0.7, step, matrix.dot(step), problem.product_error(step))
            off = np.abs(exact @ now.w - now.scores)
            assert (off.max() if by_row else length(off.astype(float))) <= now.point.error


def outlier_without_weight(size):
    """Norms of columns see the row, no pair does."""
    X, y = data()
    X[0, 0] = size
    weight = np.ones(y.size)
    weight[0] = 0.0
    return as_matrix(X), Rows.uncut(y, weight)


@pytest.mark.parametrize(
    ("loss", "l1_ratio", "size"),
    [("logistic", 1.0, 1e7), ("logistic", 0.5, 1e8), ("hinge", 1.0, 1e7), ("hinge", 0.5, 1.2e8)],
)
def test_a_row_without_a_part_in_the_gradient_does_not_widen_the_bound(
    loss, l1_ratio, size, monkeypatch
):
    def distance():
        problem = SparseProblem(*outlier_without_weight(size), loss, l1_ratio, np.ones(10))
        return problem.fit(1e-3, tol=1e-6, max_iter=200).distance

    assert distance() <= 1e-6
    nothing = np.full(10, np.inf)
    monkeypatch.setattr("everypair.solvers.problem.pulled_error_by_rows", lambda *given: nothing)
    assert distance() > 1e-6  # the norms of the columns alone are too rough here


def test_rows_are_read_again_only_where_the_tolerance_needs_it():
    X, pairs = outlier_without_weight(1e9)
    w = minimise(X, pairs, "logistic", 1e-3, tol=1e-12).coef
    at = partial(Problem, X, partial(pair_point, "logistic", pairs), L2(1e-3))
    rough, fine = at(tol=1e-2).at(w), at(tol=1e-9).at(w)
    assert 100 * fine.gap_bound[1] < rough.gap_bound[1] <= 1e-3 * rough.value
