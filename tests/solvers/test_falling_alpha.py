"""Classes that come apart: hinges are solved under a penalty that falls to the one asked for."""

from functools import partial

import numpy as np
import pytest
from counting import counted_work
from scipy import sparse

from everypair import AUCClassifier
from everypair.linalg.matrix import as_matrix
from everypair.pairs import pair_point
from everypair.penalties import L2
from everypair.rows import Rows
from everypair.solvers import falling_alpha, working_rows
from everypair.solvers.choose import minimise
from everypair.solvers.falling_alpha import first_alpha
from everypair.solvers.problem import Problem


def square(n=300, share=0.1):
    """As many columns as rows: some w ranks every pair with a margin of one."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, n))
    signal = X @ (0.3 * rng.standard_normal(n)) + rng.logistic(size=n)
    return X, signal > np.quantile(signal, 1 - share)


def at_zero(X, y, alpha, loss="squared_hinge"):
    problem = Problem(as_matrix(X), partial(pair_point, loss, Rows.of(y)), L2(alpha))
    return problem.at(np.zeros(X.shape[1]))


def test_first_alpha_is_where_a_step_along_the_gradient_halves_the_objective():
    X, y = square()
    found = first_alpha(at_zero(X, y, 1e-3))
    assert found > 1
    start = at_zero(X, y, found)
    slope = start.gradient
    lengths = np.linspace(0, 1, 201) / found
    least = min(start.problem.at(-length * slope).value for length in lengths)
    assert least == pytest.approx(start.value / 2, rel=0.05)


def test_columns_with_much_in_common_have_a_first_alpha_too(monkeypatch):
    """No step along the gradient halves the objective there; without it 100 steps left a gap."""
    monkeypatch.setattr(working_rows, "WORTH", 0)
    X, y = square()
    rng = np.random.default_rng(1)
    X = np.hstack([X, rng.standard_normal(X.shape)]) + 2 * rng.standard_normal((y.size, 1))
    X *= np.geomspace(0.3, 3, X.shape[1])
    assert first_alpha(at_zero(X, y, 1e-3)) > 1
    found = minimise(as_matrix(X), Rows.of(y), "squared_hinge", 1e-3)
    assert found.distance <= 1e-6


@pytest.mark.parametrize("why", ["more rows", "large alpha", "another loss", "a start"])
def test_alpha_stays_where_nothing_is_gained(why):
    X, y = square()
    if why == "more rows":
        X = X[:, :100]
    alpha = 10.0 if why == "large alpha" else 1e-3
    start = at_zero(X, y, alpha, "logistic" if why == "another loss" else "squared_hinge")
    if why == "a start":
        start = start.problem.at(np.full(X.shape[1], 1e-3))
    assert first_alpha(start) == alpha


@pytest.mark.parametrize("form", ["dense", "single", "CSR", "weights"])
def test_falling_alpha_ends_in_the_minimum_of_scipy(form):
    from scipy.optimize import minimize

    X, y = square(80, 0.25)
    weight = 1.0 + np.arange(y.size) % 3
    pairs = Rows.of(y, weight) if form == "weights" else Rows.of(y)
    given = {"single": np.float32(X), "CSR": sparse.csr_matrix(X)}.get(form, X)
    matrix, alpha = as_matrix(given), 1e-3
    found = minimise(matrix, pairs, "squared_hinge", alpha, solver="newton-cg")
    assert found.distance <= 1e-6
    problem = Problem(
        as_matrix(np.asarray(given.toarray() if form == "CSR" else given, np.float64)),
        partial(pair_point, "squared_hinge", pairs), L2(alpha),
    )  # fmt: skip

    def value(w):
        now = problem.at(w)
        return now.value, now.gradient

    other = minimize(
        value, found.coef, jac=True, method="L-BFGS-B", options={"ftol": 1e-15, "maxiter": 2000}
    )
    assert found.objective <= other.fun * (1 + 1e-6)


def test_square_data_take_few_steps(monkeypatch):
    monkeypatch.setattr(working_rows, "WORTH", 0)  # the way over all rows
    X, y = square(400)

    def work():
        model = AUCClassifier("squared_hinge", solver="newton-cg", threshold=0.0, max_iter=60)
        with counted_work(*X.shape) as counted:
            model.fit(X, y)
        return model, counted["passes"]

    model, passes = work()
    assert model.dual_gap_ <= 1e-6
    assert model.n_iter_ <= 40
    assert passes <= 900
    monkeypatch.setattr(falling_alpha, "LEAST_FALL", np.inf)
    with pytest.warns(match="above tol"):
        model, _ = work()
    assert model.dual_gap_ > 1e-3
