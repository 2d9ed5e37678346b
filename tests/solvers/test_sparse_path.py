"""Elastic-net fits over every pair, held against the definition and independent solvers."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from everypair.linalg.matrix import as_matrix
from everypair.pairs import LOSSES
from everypair.pairs.brute import BrutePoint
from everypair.rows import Rows
from everypair.solvers.elastic_net import SparseProblem, alpha_grid, minimise_sparse
from lab.data.simulate import simulate

SMOOTH = ("logistic", "squared_hinge", "square", "exponential")
ALL = (*SMOOTH, "hinge")


@pytest.fixture(scope="module")
def data():
    """The size the definition is affordable at: n = 80, p = 30, 24 negatives, weights."""
    X, y = simulate("M4", 80, 30, positive_share=0.7, random_state=1)
    weight = np.random.default_rng(0).uniform(0.2, 2, 80)
    return X, Rows.uncut(y == 1, weight)


def objective(loss, pairs, X, w, l1, l2):
    value = BrutePoint(LOSSES[loss], pairs, X @ w).value()
    return value + l1 @ np.abs(w) + l2 @ w**2 / 2


def proximal_gradient(loss, pairs, X, l1, l2, steps=20_000):
    """Accelerated, with restarts, on the sum over all pairs written out."""
    differences = (X[pairs.positives][:, None] - X[pairs.negatives][None]).reshape(-1, X.shape[1])
    weights = np.outer(pairs.share[pairs.positives], pairs.share[pairs.negatives]).ravel()
    most = {"logistic": 0.25, "squared_hinge": 2.0, "square": 2.0}[loss]
    gram = (differences * weights[:, None]).T @ differences
    step = 1 / (most * np.linalg.eigvalsh(gram)[-1])
    w = ahead = np.zeros(X.shape[1])
    t = 1.0
    for _ in range(steps):
        slope = differences.T @ (weights * LOSSES[loss].slope(differences @ ahead))
        moved = ahead - step * slope
        new = np.sign(moved) * np.maximum(0, np.abs(moved) - step * l1) / (1 + step * l2)
        if (ahead - new) @ (new - w) > 0:
            t = 1.0
        t_new = (1 + np.sqrt(1 + 4 * t * t)) / 2
        ahead = new + (t - 1) / t_new * (new - w)
        if np.abs(new - w).max() < 1e-13:
            return new
        w, t = new, t_new
    return w


def hinge_by_linear_program(pairs, X, l1):
    """``min sum w u + l1.(p + q)``, ``u >= 1 - x.(p - q)``: the L1 hinge as it is."""
    differences = (X[pairs.positives][:, None] - X[pairs.negatives][None]).reshape(-1, X.shape[1])
    weights = np.outer(pairs.share[pairs.positives], pairs.share[pairs.negatives]).ravel()
    eye = sparse.eye(weights.size, format="csr")
    rows = sparse.csr_matrix(differences)
    found = linprog(
        np.concatenate([weights, l1, l1]),
        A_ub=sparse.hstack([-eye, -rows, rows]),
        b_ub=-np.ones(weights.size),
        method="highs",
    )
    n, p = weights.size, X.shape[1]
    return found.fun, found.x[n : n + p] - found.x[n + p :]


@pytest.mark.parametrize("l1_ratio", [1.0, 0.5])
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "square"])
def test_solution_equals_proximal_gradient_on_every_pair(data, loss, l1_ratio):
    X, pairs = data
    weights = np.random.default_rng(1).uniform(0.5, 1.5, 30)
    problem = SparseProblem(as_matrix(X), pairs, loss, l1_ratio, weights)
    for alpha in problem.alpha_max * np.array([0.5, 0.1, 0.02]):
        fit = problem.fit(alpha, tol=1e-8, max_iter=100)
        l1, l2 = alpha * l1_ratio * weights, alpha * (1 - l1_ratio) * weights
        plain = proximal_gradient(loss, pairs, X, l1, l2)
        np.testing.assert_allclose(fit.coef, plain, atol=1e-6)
        assert np.array_equal(fit.coef != 0, plain != 0), "the supports differ"
        assert fit.objective == pytest.approx(objective(loss, pairs, X, fit.coef, l1, l2))


@pytest.mark.parametrize("share", [0.5, 0.1, 0.02])
def test_hinge_equals_its_linear_program(data, share):
    X, pairs = data
    weights = np.random.default_rng(1).uniform(0.5, 1.5, 30)
    problem = SparseProblem(as_matrix(X), pairs, "hinge", 1.0, weights)
    alpha = share * problem.alpha_max
    fit = problem.fit(alpha, tol=1e-8, max_iter=200)
    value, coef = hinge_by_linear_program(pairs, X, alpha * weights)
    assert fit.distance <= 1e-8
    assert fit.objective == pytest.approx(value, rel=2e-8)
    assert np.array_equal(fit.coef != 0, np.abs(coef) > 1e-9), "the supports differ"
    np.testing.assert_allclose(fit.coef, coef, atol=1e-6)


@pytest.mark.parametrize("l1_ratio", [1.0, 0.9, 0.3])
@pytest.mark.parametrize("loss", ALL)
def test_gap_and_kkt_residual_reach_1e_8_along_the_path(data, loss, l1_ratio):
    X, pairs = data
    # Of the hinge, solves end at a share of what their rounding costs, and the limit of two of them
    # costs less: with little L1, 1.7e-8 is left at the smallest alpha, and the user is warned.
    most = 2e-8 if (loss, l1_ratio) == ("hinge", 0.3) else 1e-8
    problem = SparseProblem(as_matrix(X), pairs, loss, l1_ratio, np.ones(30))
    alphas = alpha_grid(problem.alpha_max, 6, 1e-3)
    for alpha in alphas:
        fit = problem.fit(alpha, tol=1e-8, max_iter=200)
        assert fit.distance - fit.rounding <= most
        if loss == "hinge":  # whose narrow roundings round the margins, too
            assert fit.rounding <= 2e-8
            continue
        assert fit.distance <= 1e-8
        slope = X.T @ BrutePoint(LOSSES[loss], pairs, X @ fit.coef).gradient()
        slope += alpha * (1 - l1_ratio) * fit.coef
        bound, at_zero = alpha * l1_ratio, fit.coef == 0
        largest = max(
            np.max(np.abs(slope[at_zero]) - bound, initial=0),
            np.max(np.abs(slope + bound * np.sign(fit.coef))[~at_zero], initial=0),
        )
        assert fit.kkt_residual <= 1e-8
        assert largest <= 2e-8 * problem.alpha_max * l1_ratio


@pytest.mark.parametrize("l1_ratio", [1.0, 0.4])
@pytest.mark.parametrize("loss", ALL)
def test_certificate_is_a_lower_bound_at_any_point(data, loss, l1_ratio):
    """``P (1 - gap)`` never exceeds the minimum, however early the solver is stopped."""
    X, pairs = data
    problem = SparseProblem(as_matrix(X), pairs, loss, l1_ratio, np.ones(30))
    for share in (0.3, 0.01):
        alpha = share * problem.alpha_max
        best = minimise_sparse(
            as_matrix(X), pairs, loss, alpha, l1_ratio, np.ones(30), tol=1e-9, max_iter=300
        )
        for steps in (1, 2, 4):
            rough = SparseProblem(as_matrix(X), pairs, loss, l1_ratio, np.ones(30)).fit(
                alpha, tol=1e-12, max_iter=steps
            )
            slack = 1e-9 * best.objective
            assert rough.objective * (1 - rough.distance) <= best.objective + slack
            assert rough.objective >= best.objective - slack


@pytest.mark.parametrize("l1_ratio", [1.0, 0.5])
@pytest.mark.parametrize("loss", ALL)
def test_alpha_max_is_where_the_first_coefficient_enters(data, loss, l1_ratio):
    X, pairs = data
    weights = np.random.default_rng(1).uniform(0.5, 1.5, 30)
    X = as_matrix(X)
    alpha_max = SparseProblem(X, pairs, loss, l1_ratio, weights).alpha_max
    for share, entered in ((2.0, 0), (1.0, 0), (0.999, 1)):
        fit = minimise_sparse(X, pairs, loss, share * alpha_max, l1_ratio, weights, tol=1e-8)
        assert np.count_nonzero(fit.coef) == entered


@pytest.mark.parametrize("loss", ALL)
def test_unpenalised_features_equal_a_tiny_penalty(data, loss):
    X, pairs = data
    free = np.ones(30)
    free[[3, 7]] = 0
    nearly = np.where(free == 0, 1e-9, 1.0)
    problem = SparseProblem(as_matrix(X), pairs, loss, 1.0, free)
    alpha = 0.1 * problem.alpha_max
    fit = problem.fit(alpha, tol=1e-7, max_iter=200)
    reference = minimise_sparse(
        as_matrix(X), pairs, loss, alpha, 1.0, nearly, tol=1e-9, max_iter=300
    )
    assert fit.distance <= 1e-7
    assert fit.objective == pytest.approx(reference.objective, rel=1e-6)
    if loss != "hinge":
        np.testing.assert_allclose(fit.coef, reference.coef, atol=1e-4)


@pytest.mark.parametrize("loss", SMOOTH)
def test_alpha_max_beside_unpenalised_features(data, loss):
    X, pairs = data
    weights = np.ones(30)
    weights[:2] = 0
    alpha_max = SparseProblem(as_matrix(X), pairs, loss, 1.0, weights).alpha_max
    for share, entered in ((1.0001, 2), (0.999, 3)):
        fit = minimise_sparse(as_matrix(X), pairs, loss, share * alpha_max, 1.0, weights, tol=1e-8)
        assert np.count_nonzero(fit.coef) == entered


def test_path_equals_single_fits(data):
    X, pairs = data
    problem = SparseProblem(as_matrix(X), pairs, "logistic", 1.0, np.ones(30))
    alphas = alpha_grid(problem.alpha_max, 6, 1e-2)
    for alpha in alphas:
        fit = problem.fit(alpha, tol=1e-9, max_iter=100)
        alone = minimise_sparse(as_matrix(X), pairs, "logistic", alpha, 1.0, np.ones(30), tol=1e-9)
        np.testing.assert_allclose(fit.coef, alone.coef, atol=1e-7)


@pytest.mark.parametrize("form", ["csr", "csc", "float32", "fortran"])
@pytest.mark.parametrize("loss", ["logistic", "square", "squared_hinge", "hinge"])
def test_every_form_of_X_gives_the_same_fit(loss, form):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((150, 60)) * (rng.random((150, 60)) < 0.2)
    X = X.astype(np.float32).astype(np.float64)
    pairs = Rows.uncut(X[:, :3].sum(axis=1) + rng.logistic(size=150) > 1)
    other = {
        "csr": sparse.csr_array,
        "csc": sparse.csc_array,
        "float32": np.float32,
        "fortran": np.asfortranarray,
    }[form](X)
    fits = []
    for form_of_x in (X, other):
        problem = SparseProblem(as_matrix(form_of_x), pairs, loss, 1.0, np.ones(60))
        fits.append(problem.fit(0.1 * problem.alpha_max, tol=1e-8, max_iter=200))
    assert fits[1].distance <= 1e-8
    np.testing.assert_allclose(fits[0].coef, fits[1].coef, atol=1e-5)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_sparse_X_is_never_written_out_whole(monkeypatch, loss):
    n_rows, n_columns = 3000, 400
    X = sparse.random_array((n_rows, n_columns), density=0.02, rng=np.random.default_rng(0))
    X = X.tocsr()
    pairs = Rows.uncut(np.random.default_rng(1).random(n_rows) < 0.3)
    largest = 0
    write_out = sparse.csr_array.toarray

    def watched(self, *args, **kwargs):
        nonlocal largest
        largest = max(largest, self.shape[0] * self.shape[1])
        return write_out(self, *args, **kwargs)

    monkeypatch.setattr(sparse.csr_array, "toarray", watched)
    problem = SparseProblem(as_matrix(X), pairs, loss, 1.0, np.ones(n_columns))
    fit = problem.fit(0.01 * problem.alpha_max, tol=1e-6, max_iter=100)
    assert fit.distance <= 1e-6
    assert np.count_nonzero(fit.coef) > n_columns / 2
    assert largest <= 2**17, "a block of rows holds at most 2^20 bytes"


def test_many_more_columns_than_rows():
    X, y = simulate("M4", 200, 20_000, random_state=0)
    problem = SparseProblem(as_matrix(X), Rows.uncut(y == 1), "logistic", 1.0, np.ones(20_000))
    alphas = alpha_grid(problem.alpha_max, 10, 0.05)
    *_, last = (problem.fit(alpha, tol=1e-8, max_iter=100) for alpha in alphas)
    assert last.distance <= 1e-8
    assert 20 <= np.count_nonzero(last.coef) <= 200
    pairs = Rows.uncut(y == 1)
    slope = np.abs(X.T @ BrutePoint(LOSSES["logistic"], pairs, X @ last.coef).gradient())
    assert slope.max() <= alphas[-1] * (1 + 1e-7)


def test_copies_of_a_column_share_nothing_but_converge():
    """A singular Hessian: ten copies of every column."""
    X, y = simulate("M1", 100, 6, positive_share=0.5, random_state=2)
    repeated = np.tile(X, (1, 10))
    pairs = Rows.uncut(y == 1)
    single = SparseProblem(as_matrix(X), pairs, "logistic", 1.0, np.ones(6))
    alpha = 0.05 * single.alpha_max
    one = single.fit(alpha, tol=1e-8, max_iter=100)
    ten = minimise_sparse(as_matrix(repeated), pairs, "logistic", alpha, 1.0, np.ones(60), tol=1e-8)
    assert ten.distance <= 1e-8
    np.testing.assert_allclose(ten.coef.reshape(10, 6).sum(axis=0), one.coef, atol=1e-6)


def test_constant_columns_and_huge_offsets_do_no_harm(data):
    X, pairs = data
    shifted = np.column_stack([X + 1e6, np.ones(80), np.zeros(80)])
    weights = np.ones(32)
    plain = minimise_sparse(as_matrix(X), pairs, "logistic", 0.05, 1.0, np.ones(30), tol=1e-7)
    other = minimise_sparse(as_matrix(shifted), pairs, "logistic", 0.05, 1.0, weights, tol=1e-6)
    assert other.distance <= 1e-6
    np.testing.assert_allclose(other.coef[:30], plain.coef, atol=1e-4)
    assert not other.coef[30:].any()
