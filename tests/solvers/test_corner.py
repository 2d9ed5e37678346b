"""The solution of the hinge itself from the rows at the margin, and the proof that it is one."""

import numpy as np
import pytest
from counting import counted_work, peak_per_row
from scipy import sparse
from scipy.optimize import linprog, minimize

from everypair import AUCClassifier
from everypair.linalg.matrix import as_matrix
from everypair.rows import Rows
from everypair.solvers.choose import minimise
from everypair.solvers.corner import CornerSearch, out_of_reach

ALPHA = 1e-3
FORMATS = {"dense": np.asarray, "single": lambda X: X.astype(np.float32), "CSR": sparse.csr_matrix,
           "CSC": sparse.csc_matrix}  # fmt: skip


def wide(n_rows=240, n_columns=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_columns)) + 2
    return X, X[:, 0] + 0.5 * rng.standard_normal(n_rows) > 2.5


@pytest.fixture
def corners(monkeypatch):
    """Whether each look beside a rounded solution found a corner."""
    found, plain = [], CornerSearch.beside

    def look(search, now):
        corner = plain(search, now)
        found.append(corner is not None)
        return corner

    monkeypatch.setattr(CornerSearch, "beside", look)
    return found


def flow(u, a, v, b):
    """The largest part of the totals that pairs can give, by a linear program."""
    n, m = u.size, v.size
    rows = sparse.kron(sparse.eye(n), np.ones((1, m)))
    columns = sparse.kron(np.ones((1, n)), sparse.eye(m))
    found = linprog(
        -np.ones(n * m), sparse.vstack([rows, columns]), np.concatenate([u, v]),
        bounds=np.column_stack([np.zeros(n * m), np.outer(a, b).ravel()]),
    )  # fmt: skip
    return -found.fun


@pytest.mark.parametrize("weighted", [False, True])
def test_out_of_reach_is_what_the_largest_flow_misses(weighted):
    rng = np.random.default_rng(0)
    reached = 0
    for _ in range(30):
        positive = np.arange(12) < rng.integers(2, 9)
        rng.shuffle(positive)
        weight = rng.integers(1, 5, 12).astype(float) if weighted else np.ones(12)
        pairs = Rows.of(positive, weight)
        i, j = pairs.positives, pairs.negatives
        theta = np.clip(rng.standard_normal((i.size, j.size)) * 2, 0, 1)
        gradient = np.zeros(12)
        gradient[i] = -pairs.share[i] * (theta @ pairs.share[j])
        gradient[j] = pairs.share[j] * (pairs.share[i] @ theta)
        if rng.random() < 0.7:  # other sums with the same totals
            gradient[i] *= rng.uniform(0, 1, i.size) ** 2
            gradient[i] *= -gradient[j].sum() / gradient[i].sum()
        u, v = -gradient[i], gradient[j]
        missed = u.sum() - flow(u, pairs.share[i], v, pairs.share[j])
        assert out_of_reach(pairs, gradient) == pytest.approx(missed, abs=1e-9)
        reached += missed < 1e-9
    assert 5 < reached < 25


def test_negative_multipliers_and_unequal_totals_are_out_of_reach():
    pairs = Rows.of(np.array([True, True, False, False]))
    gradient = np.array([-0.25, -0.25, 0.25, 0.25])
    assert out_of_reach(pairs, gradient) < 1e-15
    assert out_of_reach(pairs, gradient + np.array([0.3, -0.3, 0, 0])) > 0.04
    assert out_of_reach(pairs, gradient + np.array([0, 0, 0.1, 0])) > 0.09
    assert out_of_reach(pairs, 3 * gradient) > 0.4


@pytest.mark.parametrize("form", FORMATS)
def test_wide_rows_end_in_a_corner_that_is_the_solution(form, corners):
    X, y = wide()
    X = X.astype(np.float32).astype(float)
    found = minimise(as_matrix(FORMATS[form](X)), Rows.of(y), "hinge", ALPHA)
    assert corners[-1]
    assert found.distance < 1e-7
    corners.clear()
    fine = minimise(as_matrix(X), Rows.of(y), "hinge", ALPHA, tol=1e-9, to_limit=False)
    assert not corners
    np.testing.assert_allclose(found.coef, fine.coef, rtol=1e-3, atol=1e-4)
    assert found.objective == pytest.approx(fine.objective, rel=1e-7)
    np.testing.assert_allclose(found.scores, X @ found.coef, atol=1e-9)


def test_the_corner_is_the_minimum_by_an_independent_quadratic_program():
    X, y = wide(26, 8)
    differences = (X[y][:, None] - X[~y]).reshape(-1, X.shape[1])
    n_pairs = differences.shape[0]

    def objective(z):
        return ALPHA / 2 * z[:8] @ z[:8] + z[8:].mean()

    def slope(z):
        return np.concatenate([ALPHA * z[:8], np.full(n_pairs, 1 / n_pairs)])

    margins = np.hstack([differences, np.eye(n_pairs)])
    start = np.concatenate([np.zeros(8), np.ones(n_pairs)])
    program = minimize(
        objective, start, jac=slope, method="SLSQP",
        bounds=[(None, None)] * 8 + [(0, None)] * n_pairs,
        constraints={"type": "ineq", "fun": lambda z: margins @ z - 1, "jac": lambda z: margins},
        options={"maxiter": 500, "ftol": 1e-12},
    )  # fmt: skip
    found = minimise(as_matrix(X), Rows.of(y), "hinge", ALPHA)
    assert found.objective == pytest.approx(program.fun, rel=1e-6)
    np.testing.assert_allclose(found.coef, program.x[:8], atol=2e-3)


def test_weights_and_copies_of_rows_have_a_corner_too(corners):
    X, y = wide(200, 80, seed=1)
    weight = np.random.default_rng(2).integers(1, 4, y.size).astype(float)
    found = minimise(as_matrix(X), Rows.of(y, weight), "hinge", ALPHA)
    assert corners[-1]
    assert found.distance < 1e-6
    rows = np.repeat(np.arange(y.size), weight.astype(int))
    corners.clear()
    copied = minimise(as_matrix(X[rows]), Rows.of(y[rows]), "hinge", ALPHA)
    assert copied.objective == pytest.approx(found.objective, rel=1e-6)
    np.testing.assert_allclose(copied.coef, found.coef, atol=2e-3)


def test_several_levels_tie_where_columns_are_few(corners):
    """With few columns ties are pairs of rows at many levels, known at a narrow rounding."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 6))
    y = X[:, 0] + rng.standard_normal(60) > 0
    found = minimise(as_matrix(X), Rows.of(y), "hinge", 1e-2, tol=1e-10)
    assert corners[-1]
    assert found.distance < 1e-9
    margins = (found.scores[y][:, None] - found.scores[~y]).ravel()
    levels = np.unique(np.repeat(found.scores[y], (~y).sum())[np.abs(margins - 1) < 1e-8].round(6))
    assert levels.size > 1


def test_a_corner_spares_steps():
    """Without it 52 steps, 131 passes over X and 27 Hessians."""
    X, y = wide(600, 200)
    model = AUCClassifier("hinge", alpha=ALPHA, threshold=0.0)
    with counted_work(*X.shape) as work:
        model.fit(X, y)
    assert model.dual_gap_ < 1e-6
    assert model.n_iter_ <= 24
    assert work["passes"] <= 70
    assert work["hessians"] <= 14


def test_rows_without_weight_change_nothing(corners):
    X, y = wide(200, 80, seed=1)
    few = minimise(as_matrix(X), Rows.of(y), "hinge", ALPHA)
    n_looks = len(corners)
    assert corners[-1]
    more, other = wide(300, 80, seed=2)
    weight = np.repeat([1.0, 0.0], [200, 300])
    rows = Rows.uncut(np.append(y, other), weight)
    found = minimise(as_matrix(np.vstack([X, more])), rows, "hinge", ALPHA)
    assert len(corners) == 2 * n_looks
    assert corners[-1]
    assert found.n_iter == few.n_iter
    np.testing.assert_allclose(found.coef, few.coef, atol=1e-7)


@pytest.mark.parametrize(("scale", "alpha"), [(1e-12, 1e-3), (1.0, 1e16)])
def test_features_that_hardly_move_the_objective_still_rank(scale, alpha):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 5))
    y = X[:, 0] + 0.3 * rng.standard_normal(200) > 0
    model = AUCClassifier("hinge", alpha=alpha, threshold=0.0).fit(scale * X, y)
    assert model.train_score_ > 0.9


@pytest.mark.parametrize(("offset", "alpha"), [(100, 1e-5), (1000, 1e-4)])
def test_pairs_on_the_margin_do_not_make_a_gap_of_rounding(offset, alpha):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 200)) + offset
    y = rng.random(60) < 0.5
    assert AUCClassifier("hinge", alpha=alpha, threshold=0.0).fit(X, y).dual_gap_ < 1e-6


def test_the_history_ends_with_the_certificate():
    X, y = wide()
    model = AUCClassifier("hinge", alpha=ALPHA, threshold=0.0).fit(X, y)
    assert model.history_[-1][1:] == (model.objective_, model.dual_gap_)
    assert len(model.history_) == model.n_iter_


def test_a_warm_start_begins_at_coefficients_that_were_set():
    X, y = wide()
    model = AUCClassifier("hinge", alpha=ALPHA, threshold=0.0, warm_start=True).fit(X, y)
    np.testing.assert_array_equal(model._start(), model._rounded[1])
    model.coef_ = np.zeros_like(model.coef_)
    assert not model._start().any()


@pytest.mark.parametrize(("dtype", "most"), [(np.float32, 1.6), (np.float64, 0.8)])
def test_no_copy_of_x_is_made_where_rows_are_fewer_than_columns(dtype, most, corners):
    """Blocks of float32 are widened, here all 300 rows at a time."""
    X, y = wide(300, 6000)
    X = X.astype(dtype)
    model = AUCClassifier("hinge", alpha=ALPHA, threshold=0.0)
    model.fit(X, y)
    assert any(corners)
    assert peak_per_row(lambda: model.fit(X, y), 300) < most * X.nbytes / 300
