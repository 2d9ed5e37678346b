"""Constraints of additive models: the certified minimum in the cone, held at every bin."""

import numpy as np
import pytest
from scipy.optimize import minimize

from everypair import AUCAdditive, AUCAdditiveCV
from everypair.estimators._shapes import RIDGE
from everypair.pairs.brute import BrutePoint
from everypair.pairs.losses import LOSSES
from everypair.penalties import ConeL2, ConePart
from everypair.rows import Rows


def wavy(n=600, seed=0):
    """Two columns whose curves go up and down, a useless one; some values are missing."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n, 3))
    y = (np.sin(2 * X[:, 0]) + X[:, 0] / 2 + np.cos(2 * X[:, 1]) + rng.logistic(size=n)) > 0.3
    X[rng.random(n) < 0.1, 0] = np.nan
    return X, y


HOLDS = {
    "increasing": lambda f, c: np.all(np.diff(f) >= 0),
    "decreasing": lambda f, c: np.all(np.diff(f) <= 0),
    "convex": lambda f, c: np.all(np.diff(np.diff(f) / np.diff(c)) >= -1e-9 * np.ptp(f)),
    "concave": lambda f, c: np.all(np.diff(np.diff(f) / np.diff(c)) <= 1e-9 * np.ptp(f)),
}


@pytest.mark.parametrize("kind", ["spline", "steps", "linear"])
@pytest.mark.parametrize(
    "wants", ["increasing", "decreasing", "convex", "concave", ("increasing", "concave")]
)
def test_constraints_hold_at_every_bin_and_the_gap_is_certified(wants, kind):
    X, y = wavy()
    if kind == "steps":
        X = X.round(1)  # 61 steps; the quadratic program of more takes seconds
    model = AUCAdditive(alpha=1e-4, shapes={"x0": kind}, constraints={"x0": wants}).fit(X, y)
    curve, centres = model.curves_[0][:-1], model.shapes_[0].centres
    for want in (wants,) if isinstance(wants, str) else wants:
        assert HOLDS[want](curve, centres)
    assert model.dual_gap_ <= 1e-6
    free = AUCAdditive(alpha=1e-4, shapes={"x0": kind}).fit(X, y)
    assert free.objective_ <= model.objective_ * (1 + 1e-6)


@pytest.mark.parametrize("want", ["increasing", "convex"])
def test_the_minimum_is_that_of_an_independent_solver(want):
    """Steps on eight values: the objective and the constraints written out, by SLSQP."""
    rng = np.random.default_rng(1)
    x = rng.choice([0.0, 1, 2, 4, 5, 8, 9, 11], 200)
    y = np.sin(x) + x / 4 + rng.logistic(size=200) > 1
    model = AUCAdditive(
        alpha=0.01, shapes={"x0": "steps"}, constraints={"x0": want}, tol=1e-10
    ).fit(x[:, None], y)
    values, codes = np.unique(x, return_inverse=True)
    rows = Rows.uncut(y)
    steps = np.diff(np.eye(8), axis=0)
    roughness = steps.T @ steps + RIDGE * np.eye(8)
    slopes = steps / np.diff(values)[:, None]
    lines = steps if want == "increasing" else np.diff(slopes, axis=0)

    def objective(f):
        point = BrutePoint(LOSSES["logistic"], rows, f[codes])
        slope = np.bincount(codes, point.gradient(), 8)
        return (
            point.value() + 0.01 / 2 * f @ roughness @ f,
            slope + 0.01 * roughness @ f,
        )

    found = minimize(
        objective, np.zeros(8), jac=True, method="SLSQP", options={"ftol": 1e-14, "maxiter": 500},
        constraints={"type": "ineq", "fun": lambda f: lines @ f, "jac": lambda f: lines},
    )  # fmt: skip
    assert found.success
    assert model.objective_ == pytest.approx(found.fun, rel=1e-8)
    curve = model.curves_[0][:8]
    np.testing.assert_allclose(curve - curve[0], found.x - found.x[0], atol=1e-4)


def test_the_gap_of_a_cone_is_that_of_the_definition():
    """Young's gap with the supremum of the conjugate by SLSQP; too small a bound would fail."""
    rng = np.random.default_rng(2)
    lines = np.diff(np.eye(4), axis=0)
    penalty = ConeL2(0.7, [ConePart(1, lines)], np.ones(6))
    for _ in range(5):
        u, w = rng.standard_normal((2, 6))
        w[1:5].sort()
        found = minimize(
            lambda v, u=u: u @ v + 0.35 * v @ v, np.zeros(6), method="SLSQP",
            options={"ftol": 1e-14},
            constraints={"type": "ineq", "fun": lambda v: lines @ v[1:5]},
        )  # fmt: skip
        assert penalty.conjugate(u, w) == pytest.approx(-found.fun, rel=1e-7)
        gap = penalty.value(w) - found.fun + w @ u
        assert penalty.young(w, u, 0.0) == pytest.approx(gap, rel=1e-7)
        assert penalty.young(w, u, 0.1) > gap


def test_a_constraint_that_the_data_keep_anyway_changes_nothing():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((500, 2))
    y = X[:, 0] + rng.logistic(size=500) > 0
    plain = AUCAdditive(alpha=1.0, tol=1e-10).fit(X, y)
    held = AUCAdditive(alpha=1.0, tol=1e-10, constraints={"x0": "increasing"}).fit(X, y)
    np.testing.assert_allclose(held.curves_[0], plain.curves_[0], atol=1e-4)


def test_constrained_columns_are_in_no_pair_and_predictions_never_fall():
    rng = np.random.default_rng(4)
    X = rng.uniform(-2, 2, (800, 3))
    y = X[:, 0] * X[:, 1] + X[:, 2] + rng.logistic(size=800) > 0
    free = AUCAdditive(alpha=1e-3, interactions=3).fit(X, y)
    held = AUCAdditive(alpha=1e-3, interactions=3, constraints={"x0": "increasing"}).fit(X, y)
    assert (0, 1) in {(pair.first, pair.second) for pair in free.pairs_}
    assert {(pair.first, pair.second) for pair in held.pairs_} <= {(1, 2)}
    line = np.tile(X[:1], (300, 1))
    line[:, 0] = np.linspace(-3, 3, 300)
    assert np.all(np.diff(held.decision_function(line)) >= 0)
    assert not np.all(np.diff(free.decision_function(line)) >= 0)


def test_the_search_keeps_the_constraints():
    X, y = wavy()
    model = AUCAdditiveCV(
        alphas=[1e-2, 1e-4], cv=3, constraints={"x0": "increasing", "x1": "decreasing"}
    ).fit(X, y)
    assert np.all(np.diff(model.curves_[0][:-1]) >= 0)
    assert np.all(np.diff(model.curves_[1][:-1]) <= 0)
    free = AUCAdditiveCV(alphas=[1e-2, 1e-4], cv=3).fit(X, y)
    assert model.best_score_ < free.best_score_  # these curves do go up and down


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        ({"age": "increasing"}, "'age', which is not a column"),
        ({"x0": "up"}, "has 'up': use one or more of 'increasing'"),
        ({"x0": ("increasing", "decreasing")}, "increasing and decreasing at once"),
    ],
)
def test_wrong_constraints_are_named(constraints, message):
    X, y = wavy(100)
    with pytest.raises(ValueError, match=message):
        AUCAdditive(constraints=constraints).fit(X, y)


def test_constraints_of_categories_and_of_the_sigmoid_are_refused():
    X, y = wavy(100)
    with pytest.raises(ValueError, match="categories, which have no order"):
        AUCAdditive(shapes={"x0": "category"}, constraints={"x0": "increasing"}).fit(X, y)
    with pytest.raises(ValueError, match="need loss='logistic'"):
        AUCAdditive(loss="sigmoid", constraints={"x0": "increasing"}).fit(X, y)


@pytest.mark.parametrize("seed", [1, 3, 5])
def test_the_certificate_is_exact_where_lines_of_the_cone_nearly_depend_on_each_other(seed):
    """Least squares by `nnls` alone leave gaps of 2e-4, 1e-5 and 3e-6 here."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((1500, 4))
    y = X[:, 1] + X[:, 0] ** 2 + rng.logistic(size=1500) > 1
    constraints = dict.fromkeys(["x0", "x1", "x2"], "increasing")
    assert AUCAdditive(alpha=1e-6, constraints=constraints).fit(X, y).dual_gap_ <= 1e-6


def test_a_sign_is_a_straight_line_with_this_slope():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 2))
    y = X[:, 0] - X[:, 1] + rng.logistic(size=300) > 0
    held = AUCAdditive(constraints={"x0": "positive", "x1": "positive"}).fit(X, y)
    free = AUCAdditive(shapes={"x0": "linear", "x1": "linear"}).fit(X, y)
    slope = np.diff(held.curves_[0][:-1]) / np.diff(held.shapes_[0].centres)
    np.testing.assert_allclose(slope, slope[0], rtol=1e-6)
    assert slope[0] > 0
    np.testing.assert_allclose(held.curves_[1], 0, atol=1e-9)
    assert np.ptp(free.curves_[1]) > 1
