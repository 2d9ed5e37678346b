"""Pivoted Cholesky: the kernel matrix from a few of its columns."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels, rbf_kernel
from sklearn.svm import SVC

from everypair.kernels import Kernel, check_symmetric, default_gamma, pivoted_cholesky


@pytest.fixture
def X():
    return np.random.default_rng(0).standard_normal((80, 5))


KERNELS = {
    "linear": Kernel("linear"),
    "rbf": Kernel("rbf", gamma=0.3),
    "laplacian": Kernel("laplacian", gamma=0.3),
    "poly": Kernel("poly", gamma=0.2, degree=2, coef0=1.0),
    "cosine": Kernel("cosine"),
}


def whole(kernel, X):
    return pairwise_kernels(
        X, metric=kernel.function, filter_params=True,
        gamma=kernel.gamma, degree=kernel.degree, coef0=kernel.coef0,
    )  # fmt: skip


@pytest.mark.parametrize("name", KERNELS)
def test_factor_reproduces_the_kernel_matrix(X, name):
    K = whole(KERNELS[name], X)
    basis = pivoted_cholesky(KERNELS[name].on(X), tol=1e-12, max_rank=80)
    np.testing.assert_allclose(basis.features @ basis.features.T, K, atol=1e-5)
    if name == "linear":
        assert basis.pivots.size == 5


@pytest.mark.parametrize("tol", [0.5, 0.1, 1e-3])
def test_trace_left_out_is_what_it_says_and_at_most_tol(X, tol):
    K = whole(KERNELS["rbf"], X)
    basis = pivoted_cholesky(KERNELS["rbf"].on(X), tol=tol, max_rank=80)
    left = np.trace(K - basis.features @ basis.features.T) / np.trace(K)
    assert basis.left_out == pytest.approx(left, abs=1e-12)
    assert left <= tol
    shorter = pivoted_cholesky(KERNELS["rbf"].on(X), tol=0, max_rank=basis.pivots.size - 1)
    assert shorter.left_out > tol


@pytest.mark.parametrize("name", KERNELS)
def test_coefficients_on_the_pivots_give_the_scores_back(X, name):
    rng = np.random.default_rng(1)
    kernel = KERNELS[name].on(X)
    basis = pivoted_cholesky(kernel, tol=1e-6, max_rank=40)
    w = rng.standard_normal(basis.pivots.size)
    scores = kernel.expansion(basis.pivots).scores(X, basis.coefficients(w))
    np.testing.assert_allclose(scores, basis.features @ w, atol=1e-6)
    matrix = Kernel("precomputed").on(whole(KERNELS[name], X))
    again = pivoted_cholesky(matrix, tol=1e-6, max_rank=40)
    assert again.pivots.size == basis.pivots.size
    w = rng.standard_normal(again.pivots.size)
    scores = matrix.expansion(again.pivots).scores(matrix.X, again.coefficients(w))
    np.testing.assert_allclose(scores, again.features @ w, atol=1e-6)


def test_sparse_and_narrow_rows_give_the_same_factor(X):
    X = X.astype(np.float32)
    dense = pivoted_cholesky(KERNELS["rbf"].on(X.astype(float)), tol=1e-3, max_rank=80)
    for shaped in (X, sparse.csr_matrix(X), sparse.csc_array(X)):
        other = pivoted_cholesky(KERNELS["rbf"].on(shaped), tol=1e-3, max_rank=80)
        np.testing.assert_array_equal(other.pivots, dense.pivots)
        np.testing.assert_allclose(other.features, dense.features, atol=1e-9)


def test_a_function_is_a_kernel(X):
    named = pivoted_cholesky(KERNELS["rbf"].on(X), tol=1e-3, max_rank=80)

    def rbf(X, Z):
        return np.exp(-0.3 * ((X[:, None] - Z[None]) ** 2).sum(axis=2))

    own = pivoted_cholesky(Kernel(rbf).on(X), tol=1e-3, max_rank=80)
    np.testing.assert_allclose(own.features, named.features, atol=1e-9)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_gamma_scale_is_that_of_scikit_learn(X, form):
    shaped = form(np.where(X > 0.5, X + 3, 0))
    svc = SVC().fit(shaped, np.arange(80) % 2)
    assert default_gamma(shaped, "scale") == pytest.approx(svc._gamma)
    assert default_gamma(shaped, "auto") == 1 / 5
    assert default_gamma(form(np.ones((3, 2))), "scale") == 1.0


def test_kernel_matrix_is_never_built_whole():
    X = np.random.default_rng(2).standard_normal((8000, 3))
    kernel = Kernel("rbf", gamma=0.1).on(X)
    tracemalloc.start()
    basis = pivoted_cholesky(kernel, tol=1e-3, max_rank=1000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert basis.left_out <= 1e-3
    assert peak < 8000 * 8000 * 8 / 10


def test_repeated_rows_need_no_further_columns(X):
    basis = pivoted_cholesky(KERNELS["rbf"].on(np.vstack([X, X, X])), tol=1e-12, max_rank=240)
    assert basis.pivots.size <= 80


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda X: Kernel("precomputed").on(X), r"square matrix, but X has shape \(80, 5\)"),
        (lambda X: Kernel("precomputed").on(-(X @ X.T)), "not positive semi-definite"),
        (lambda X: Kernel("rbf", gamma="small").on(X), "gamma='small' is not a rule"),
        (lambda X: Kernel(lambda A, B: np.full((len(A), len(B)), np.nan)).on(X), "NaN"),
        (lambda X: Kernel(lambda A, B: np.ones(3)).on(X), r"returned shape \(3,\)"),
    ],
)
def test_errors_say_what_to_do(X, make, message):
    with pytest.raises(ValueError, match=message):
        pivoted_cholesky(make(X), tol=1e-6, max_rank=10)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_a_matrix_is_symmetric_up_to_rounding_or_refused(X, make):
    K = rbf_kernel(X)
    check_symmetric(make(K * (1 + 1e-9 * np.tri(len(K)))))
    K[3, 5] += 1e-3
    with pytest.raises(ValueError, match="not symmetric"):
        check_symmetric(make(K))
