"""Kernels by blocks, columns and expansions."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels, rbf_kernel
from sklearn.svm import SVC

from everypair.estimators._kernel import CentredRBF, training_kernel
from everypair.linalg.kernels import Kernel, check_symmetric, default_gamma
from everypair.linalg.low_rank import GrowingFactor


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


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csc_array])
@pytest.mark.parametrize("name", KERNELS)
def test_diagonal_and_columns_are_those_of_the_matrix(X, name, form):
    K = whole(KERNELS[name], X)
    rows, columns = np.array([3, 70, 12]), np.array([5, 3])
    shaped = X if name == "laplacian" else form(X)
    for kernel in (KERNELS[name].on(shaped), Kernel("precomputed").on(form(K))):
        np.testing.assert_allclose(kernel.diagonal(), K.diagonal(), atol=1e-12)
        np.testing.assert_allclose(kernel.columns(columns), K[:, columns], atol=1e-12)
        np.testing.assert_allclose(kernel.columns(columns, rows), K[rows][:, columns], atol=1e-12)
        scores = kernel.expansion(columns).scores(kernel.X, np.array([1.0, -2.0]))
        np.testing.assert_allclose(scores, K[:, columns] @ [1.0, -2.0], atol=1e-12)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_function_is_a_kernel_whatever_it_returns(X, form):
    own = Kernel(lambda X, Z: form(np.exp(-0.3 * ((X[:, None] - Z[None]) ** 2).sum(axis=2)))).on(X)
    rows = np.arange(80)
    np.testing.assert_allclose(own.columns(rows), whole(KERNELS["rbf"], X), atol=1e-12)


def test_an_empty_expansion_is_zero(X):
    nothing = KERNELS["rbf"].on(X).expansion(np.empty(0, dtype=np.intp))
    np.testing.assert_array_equal(nothing.scores(X, np.empty(0)), np.zeros(80))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_gamma_scale_is_that_of_scikit_learn(X, form):
    shaped = form(np.where(X > 0.5, X + 3, 0))
    svc = SVC().fit(shaped, np.arange(80) % 2)
    assert default_gamma(shaped, "scale") == pytest.approx(svc._gamma)
    assert default_gamma(shaped, "auto") == 1 / 5
    assert default_gamma(form(np.ones((3, 2))), "scale") == 1.0


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csc_array])
def test_a_matrix_that_is_not_symmetric_is_refused_by_its_worst_entry(form):
    K = np.random.default_rng(1).standard_normal((1200, 7))
    K = K @ K.T
    check_symmetric(form(K))
    check_symmetric(form(K + 1e-12 * np.triu(K)))
    check_symmetric(form(K.astype(np.float32)))
    K[1150, 15] += 0.5
    K[40, 41] += 1.5
    with pytest.raises(
        ValueError, match=r"not symmetric: entry \(40, 41\) is .* and entry \(41, 40"
    ):
        check_symmetric(form(K))


def test_kernel_matrix_is_never_built_whole():
    X = np.random.default_rng(2).standard_normal((8000, 3))
    kernel = Kernel("rbf", gamma=0.1).on(X)
    tracemalloc.start()
    factor = GrowingFactor(kernel)
    factor.grow(np.ones(8000), 256, 1e-3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert factor.left_out <= 1e-3
    assert peak < 8000 * 8000 * 8 / 10


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
        GrowingFactor(make(X)).grow(np.ones(80), 10, 1e-6)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_a_matrix_is_symmetric_up_to_rounding_or_refused(X, make):
    K = rbf_kernel(X)
    check_symmetric(make(K * (1 + 1e-9 * np.tri(len(K)))))
    K[3, 5] += 1e-3
    with pytest.raises(ValueError, match="not symmetric"):
        check_symmetric(make(K))


def test_compiled_values_of_the_rbf_kernel_are_those_of_the_definition():
    rng = np.random.default_rng(0)
    X = 1e4 + rng.standard_normal((300, 5)) * np.array([1, 1, 1, 3, 30])
    kernel = training_kernel(Kernel("rbf", gamma=0.3), X)
    columns = np.arange(0, 300, 7)
    distances = ((X[:, None] - X[columns]) ** 2).sum(axis=2)
    values = kernel.columns(columns)
    np.testing.assert_allclose(values, np.exp(-0.3 * distances), rtol=1e-9, atol=1e-300)
    some = np.array([5, 3, 280])
    np.testing.assert_array_equal(kernel.columns(columns, some), values[some])
    # Predictions do without compiled code and agree.
    a = rng.standard_normal(columns.size)
    np.testing.assert_allclose(kernel.expansion(columns).scores(X, a), values @ a, atol=1e-12)


@pytest.mark.parametrize("size", [1e160, np.nan])
def test_rows_without_a_finite_kernel_are_refused_in_a_fit(size):
    X = np.full((4, 2), size)
    X[::2] *= -1
    with np.errstate(over="ignore", invalid="ignore"), pytest.raises(ValueError, match="infinite"):
        CentredRBF(X, 1.0).in_a_fit(X, X)
