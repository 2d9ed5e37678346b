"""Bounds on the coefficients of `AUCClassifier`: the certified minimum in the box."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from everypair import AUCClassifier
from everypair.pairs.brute import BrutePoint
from everypair.pairs.losses import LOSSES
from everypair.penalties import ElasticNet
from everypair.rows import Rows

BOXES = {
    "all rise": (0.0, np.inf),
    "all fall": (-np.inf, 0.0),
    "narrow": (-0.1, 0.2),
    "off zero": (np.array([0.3, -np.inf, -0.1, 0.0, -2.0, 0.05]), 0.6),
    "fixed": (np.array([0.2, -1, -1, -1, -1, -1.0]), np.array([0.2, 1, 1, 0, 1, 1.0])),
}


def rows(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 6)) @ (np.eye(6) + 0.5)
    y = X @ [1.0, -1, 0.5, 0, -0.3, 0.2] + 2 * rng.logistic(size=n) > 0.5
    return X, y


def reference(X, y, loss, alpha, l1_ratio, bounds):
    """L-BFGS-B on the definition, |w| by its parts: w = a - b with a, b >= 0."""
    of_rows, p = Rows.uncut(y), X.shape[1]
    lower, upper = (np.broadcast_to(b, (p,)) for b in bounds)

    def objective(parts):
        w = parts[:p] - parts[p:]
        point = BrutePoint(LOSSES[loss], of_rows, X @ w)
        slope = X.T @ point.gradient() + alpha * (1 - l1_ratio) * w
        value = point.value() + alpha * (1 - l1_ratio) / 2 * w @ w + alpha * l1_ratio * parts.sum()
        return value, np.concatenate([slope, -slope]) + alpha * l1_ratio

    # The parts of a coefficient of one sign are bounded one by one.
    box = [(max(lo, 0), max(hi, 0)) for lo, hi in zip(lower, upper, strict=True)]
    box += [(max(-hi, 0), max(-lo, 0)) for lo, hi in zip(lower, upper, strict=True)]
    start = np.array([lo for lo, _ in box])
    found = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=box,
                     options={"ftol": 1e-16, "gtol": 1e-12, "maxiter": 20000})  # fmt: skip
    return found.fun, found.x[:p] - found.x[p:]


@pytest.mark.parametrize("box", BOXES)
@pytest.mark.parametrize("penalty", ["l2", "l1", "elasticnet"])
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "square", "exponential"])
def test_the_minimum_is_that_of_an_independent_solver(loss, penalty, box):
    X, y = rows()
    model = AUCClassifier(loss, penalty, alpha=0.02, bounds=BOXES[box], tol=1e-8, max_iter=300).fit(
        X, y
    )
    l1_ratio = {"l2": 0.0, "l1": 1.0, "elasticnet": 0.5}[penalty]
    value, w = reference(X, y, loss, 0.02, l1_ratio, BOXES[box])
    assert model.objective_ == pytest.approx(value, rel=1e-7)
    np.testing.assert_allclose(model.coef_[0], w, atol=2e-3)
    assert model.dual_gap_ <= 1e-8
    lower, upper = BOXES[box]
    assert np.all((model.coef_[0] >= lower) & (model.coef_[0] <= upper))


@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_the_hinge_keeps_its_bounds_and_its_certificate(penalty):
    X, y = rows()
    model = AUCClassifier("hinge", penalty, alpha=0.05, bounds=(0, 0.3), tol=1e-6).fit(X, y)
    assert model.dual_gap_ <= 1e-6
    assert np.all((model.coef_ >= 0) & (model.coef_ <= 0.3))
    of_rows, rng = Rows.uncut(y), np.random.default_rng(1)

    def objective(w):
        size = w @ w / 2 if penalty == "l2" else np.abs(w).sum()
        return BrutePoint(LOSSES["hinge"], of_rows, X @ w).value() + 0.05 * size

    assert objective(model.coef_[0]) == pytest.approx(model.objective_)
    for _ in range(300):
        w = np.clip(model.coef_[0] + 0.05 * rng.standard_normal(6), 0, 0.3)
        assert objective(w) >= model.objective_ * (1 - 1e-6)


def test_the_limit_of_the_hinge_does_not_leave_the_bounds():
    """The line through the solutions of two roundings leads out of them here."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5000, 5)) + np.linspace(-2, 4, 5)
    y = X @ [1, 0.3, -1, -1, 1] + 2 * rng.logistic(size=5000) > 5
    for upper in (0.2, 0.3):
        model = AUCClassifier("hinge", alpha=0.05, bounds=(0, upper), tol=1e-8).fit(X, y)
        assert model.coef_.max() == upper
        assert model.dual_gap_ <= 1e-8


def test_bounds_that_nothing_meets_change_nothing():
    X, y = rows()
    plain = AUCClassifier(alpha=0.01, tol=1e-9).fit(X, y)
    held = AUCClassifier(alpha=0.01, tol=1e-9, bounds=(-50, 50)).fit(X, y)
    np.testing.assert_allclose(held.coef_, plain.coef_, atol=1e-5)
    for bounds in (None, (-50, 50)):
        sparse_fit = AUCClassifier(penalty="l1", alpha=0.01, tol=1e-9, bounds=bounds).fit(X, y)
        assert sparse_fit.objective_ == pytest.approx(
            AUCClassifier(penalty="l1", alpha=0.01, tol=1e-9).fit(X, y).objective_, rel=1e-8
        )


def test_many_sparse_columns_with_weights_that_may_not_fall():
    """Columns that want to be negative stay at zero and cost nothing."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((300, 2000), density=0.02, rng=rng, format="csr")
    y = X[:, :20].sum(axis=1) - X[:, 20:40].sum(axis=1) + 0.2 * rng.standard_normal(300) > 0
    model = AUCClassifier(penalty="l1", alpha=0.002, bounds=(0, np.inf)).fit(X, y)
    assert model.dual_gap_ <= 1e-6
    assert np.all(model.coef_ >= 0)
    assert np.count_nonzero(model.coef_[0, :20]) > 0
    assert np.all(model.coef_[0, 20:40] == 0)
    dense = AUCClassifier(penalty="l1", alpha=0.002, bounds=(0, np.inf)).fit(X.toarray(), y)
    assert dense.objective_ == pytest.approx(model.objective_, rel=1e-6)


def test_a_constant_column_rests_at_its_nearest_bound():
    X, y = rows()
    X[:, 2] = 3.0
    lower = np.array([-1, -1, 0.4, -1, -1, -1.0])
    model = AUCClassifier(alpha=0.01, bounds=(lower, 1.0)).fit(X, y)
    assert model.coef_[0, 2] == 0.4
    assert model.dual_gap_ <= 1e-6


def test_young_s_gap_of_a_box_is_that_of_the_definition():
    """The supremum on a fine grid of each coefficient."""
    rng = np.random.default_rng(0)
    for l1, l2 in ((0.3, 0.0), (0.0, 0.5), (0.3, 0.5)):
        for lower, upper in ((0.0, 1.0), (-2.0, -0.5), (0.25, 3.0), (-1.0, 1.0)):
            one = np.ones(1)
            penalty = ElasticNet(l1 * one, l2 * one, one, lower * one, upper * one)
            grid = np.linspace(lower, upper, 20001)
            for u in rng.standard_normal(5):
                top = np.max(-u * grid - l1 * np.abs(grid) - l2 / 2 * grid**2)
                assert penalty.conjugate(u * one, 0 * one) == pytest.approx(top, abs=1e-4)
                w = rng.uniform(lower, upper, 1)
                gap = penalty.value(w) + top + u * w[0]
                assert penalty.young(w, u * one, 0.0) == pytest.approx(gap, abs=1e-4)
                assert penalty.young(w, u * one, 0.1) >= gap - 1e-4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bounds": (0, 1, 2)}, "has 3 parts"),
        ({"bounds": (np.zeros(4), 1)}, r"shape \(4,\), but X has 6 features"),
        ({"bounds": (0, np.nan)}, "NaN values: use infinity"),
        ({"bounds": (1, 0)}, "feature 0 lies between its bounds 1 and 0"),
        ({"bounds": (0, 1), "loss": "sigmoid"}, "needs a convex loss"),
    ],
)
def test_wrong_bounds_are_named(options, message):
    X, y = rows()
    with pytest.raises(ValueError, match=message):
        AUCClassifier(**options).fit(X, y)


def test_a_wide_l2_fit_with_bounds_says_what_to_use_instead():
    X = sparse.random_array((40, 6000), density=0.01, rng=np.random.default_rng(0), format="csr")
    with pytest.raises(ValueError, match="use penalty='elasticnet'"):
        AUCClassifier(bounds=(0, 1)).fit(X, np.arange(40) % 2)
