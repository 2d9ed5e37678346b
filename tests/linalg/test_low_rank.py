"""The growing factor: exact where it ends, honest about what it leaves out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from everypair.linalg import low_rank
from everypair.linalg.kernels import Kernel
from everypair.linalg.low_rank import GrowingFactor, rank_that_fits
from everypair.linalg.threads import used_threads


@pytest.fixture
def X():
    return np.random.default_rng(0).standard_normal((300, 5))


@pytest.mark.parametrize("kernel", [Kernel("rbf", gamma=0.3), Kernel("linear"), Kernel("poly")])
def test_complete_factor_reproduces_the_kernel_matrix(X, kernel):
    trained = kernel.on(X)
    factor = GrowingFactor(trained)
    assert factor.grow(np.ones(300), 300, 1e-13)
    K = trained.kernel.values(X, X)
    np.testing.assert_allclose(factor.features @ factor.features.T, K, atol=1e-5 * K.max())
    assert np.unique(factor.pivots).size == factor.rank
    if kernel.function == "linear":
        assert factor.rank == 5


def test_what_is_left_is_the_diagonal_of_the_remainder(X):
    K = rbf_kernel(X, gamma=0.3)
    factor = GrowingFactor(Kernel("rbf", gamma=0.3).on(X))
    for rank in (1, 40, 170):
        assert not factor.grow(np.ones(300), rank, 0.0)
        assert factor.rank == rank
        remainder = K - factor.features @ factor.features.T
        np.testing.assert_allclose(factor.left, remainder.diagonal(), atol=1e-12)
        assert factor.left_out == pytest.approx(np.trace(remainder) / 300)
        # Exact in the rows of the pivots, and the triangle that `coefficients` solves with.
        np.testing.assert_allclose(remainder[factor.pivots], 0.0, atol=1e-10)
        triangle = factor.features[factor.pivots]
        np.testing.assert_array_equal(triangle, np.tril(triangle))


def test_growing_keeps_the_first_columns(X):
    factor = GrowingFactor(Kernel("rbf", gamma=0.3).on(X))
    factor.grow(np.ones(300), 30, 0.0)
    first, pivots = factor.features.copy(), factor.pivots.copy()
    factor.grow(np.ones(300), 60, 0.0)
    np.testing.assert_array_equal(factor.features[:, :30], first)
    np.testing.assert_array_equal(factor.pivots[:30], pivots)


def test_stops_at_the_trace_that_was_asked_for(X):
    factor = GrowingFactor(Kernel("rbf", gamma=0.05).on(X))
    assert factor.grow(np.ones(300), 300, 0.05)
    assert factor.left_out <= 0.05
    assert factor.rank < 300


def test_rows_without_importance_become_no_pivots(X):
    importance = np.r_[np.ones(100), np.zeros(200)]
    factor = GrowingFactor(Kernel("rbf", gamma=0.3).on(X))
    assert factor.grow(importance, 300, 1e-13)
    assert factor.pivots.max() < 100
    assert factor.left_out > 0.01


def test_duplicated_rows_add_no_rank(X):
    doubled = np.concatenate([X[:90], X[:90], X[:90]])
    factor = GrowingFactor(Kernel("rbf", gamma=0.3).on(doubled))
    assert factor.grow(np.ones(270), 270, 1e-13)
    assert factor.rank <= 90
    assert np.all(np.isfinite(factor.features))


def test_coefficients_on_the_pivots_give_the_scores_back(X):
    kernel = Kernel("rbf", gamma=0.3).on(X)
    factor = GrowingFactor(kernel)
    factor.grow(np.ones(300), 200, 0.0)
    w = np.random.default_rng(1).standard_normal(200)
    coefficients = factor.low_rank.coefficients(w)
    scores = kernel.expansion(factor.pivots).scores(X, coefficients)
    np.testing.assert_allclose(scores, factor.features @ w, atol=1e-8)


@pytest.mark.parametrize("change", [np.asarray, sparse.csr_matrix, sparse.csc_matrix])
def test_precomputed_matrix_gives_the_same_factor(X, change):
    K = rbf_kernel(X, gamma=0.3)
    by_rows, by_matrix = (
        GrowingFactor(Kernel("rbf", gamma=0.3).on(X)),
        GrowingFactor(Kernel("precomputed").on(change(K))),
    )
    for factor in (by_rows, by_matrix):
        factor.grow(np.ones(300), 50, 0.0)
    np.testing.assert_array_equal(by_rows.pivots, by_matrix.pivots)
    np.testing.assert_allclose(by_rows.features, by_matrix.features, atol=1e-10)


def test_an_indefinite_kernel_is_refused(X):
    K = rbf_kernel(X, gamma=0.3)
    K[3, 7] = K[7, 3] = 2.0
    with pytest.raises(ValueError, match="not positive semi-definite"):
        GrowingFactor(Kernel("precomputed").on(K)).grow(np.ones(300), 300, 0.0)


def test_a_kernel_that_overflows_is_refused(X):
    K = rbf_kernel(X, gamma=0.3)
    K[5, 0] = K[0, 5] = np.inf
    with pytest.raises(ValueError, match="NaN or infinite"):
        GrowingFactor(Kernel("precomputed").on(K)).grow(np.ones(300), 300, 0.0)


def test_the_rank_that_fits_fills_its_share_of_memory(monkeypatch):
    assert low_rank.available_memory() > 0
    for rank in (1, 17, 999):
        numbers = 2 * 1000 * rank + (6 + used_threads()) * rank**2
        monkeypatch.setattr(low_rank, "available_memory", lambda n=numbers: 2 * 8 * (n + 1))
        assert rank_that_fits(1000) == rank
    monkeypatch.setattr(low_rank, "available_memory", lambda: 1.0)
    assert rank_that_fits(1000) == 1
    monkeypatch.setattr(low_rank, "available_memory", lambda: float("inf"))
    assert rank_that_fits(1000) == 1000
