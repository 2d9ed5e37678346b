"""Rows without a pair in the window of a hinge are not read: the same sums for less work."""

from functools import partial

import numpy as np
import pytest
from counting import counted_work
from scipy import sparse

from everypair import AUCClassifier
from everypair.linalg import matrix
from everypair.linalg.matrix import as_matrix, rows_that_count
from everypair.pairs import pair_point
from everypair.penalties import L2
from everypair.rows import Rows
from everypair.solvers.hinge import rounded_hinge
from everypair.solvers.newton_cg import CurvedRows
from everypair.solvers.problem import Problem

FORMATS = {"dense": np.asarray, "single": lambda X: X.astype(np.float32), "CSR": sparse.csr_matrix}


def separated(n_rows=400, n_columns=6):
    """Both classes apart: few rows have a pair that is short of the margin."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_columns)) + 5
    y = np.arange(n_rows) % 3 == 0
    X[y, 0] += 5.5
    return X, y, np.eye(n_columns)[0]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("loss", ["squared_hinge", "rounded"])
def test_sums_over_curved_rows_are_the_sums_over_all(form, loss, monkeypatch):
    X, y, w = separated()
    pairs, X = Rows.of(y), as_matrix(FORMATS[form](X))
    loss_at = partial(rounded_hinge, pairs, 0.5)
    if loss == "squared_hinge":
        loss_at = partial(pair_point, loss, pairs)
    now = Problem(X, loss_at, L2(1e-3)).at(w)
    few, direction = CurvedRows(now), np.linspace(-1, 2, X.shape[1])
    assert 0 < few.X.shape[0] < 0.25 * X.shape[0]
    curved = few.X.pull_back(few.product(few.X.dot(direction)))
    hessian = now.loss.hessian(X)
    monkeypatch.setattr(matrix, "COPIED_SHARE", -1.0)
    everything = CurvedRows(now)
    assert everything.X is X
    whole = X.pull_back(everything.product(X.dot(direction)))
    np.testing.assert_allclose(curved, whole, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(hessian, now.loss.hessian(X), rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(hessian @ direction, whole, rtol=1e-8, atol=1e-9)


def test_no_curvature_is_no_product():
    X, y, w = separated()
    X = as_matrix(X)
    now = Problem(X, partial(pair_point, "squared_hinge", Rows.of(y)), L2(1e-3)).at(1e3 * w)
    few = CurvedRows(now)
    assert few.X.shape[0] == 0
    assert few.product(few.X.dot(w)).size == 0
    assert not now.loss.hessian(X).any()


def test_columns_first_are_not_copied():
    X, y, _ = separated()
    weights = np.zeros(y.size)
    assert rows_that_count(as_matrix(sparse.csc_matrix(X)), weights) is None


def wide():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 400))
    signal = X @ (0.3 * rng.standard_normal(400)) + rng.logistic(size=4000)
    return X, signal > np.quantile(signal, 0.95)


@pytest.mark.parametrize(
    ("loss", "passes"),
    [("squared_hinge", 150), pytest.param("hinge", 330, marks=pytest.mark.slow)],
)  # in all of X: 420 and 1,150
def test_wide_hinges_read_few_rows(loss, passes, monkeypatch):
    X, y = wide()

    def work():
        with counted_work(*X.shape) as counted:
            model = AUCClassifier(loss, threshold=0.0).fit(X, y)
        assert model.dual_gap_ <= 1e-6
        return counted["passes"]

    assert work() <= passes
    if loss == "squared_hinge":
        monkeypatch.setattr(matrix, "COPIED_SHARE", -1.0)
        assert work() > 1.5 * passes
