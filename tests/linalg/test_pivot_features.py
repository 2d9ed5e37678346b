"""Features of all rows over pivots of some: the same kept, in single precision, and streamed."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from everypair.linalg import pivot_features
from everypair.linalg.factor import FactorMatrix
from everypair.linalg.kernels import Kernel
from everypair.linalg.low_rank import GrowingFactor
from everypair.linalg.pivot_features import (
    PivotFeatures,
    StreamedFactor,
    drawn_features,
    features_of_all_rows,
    most_pivots,
)


def drawn(kernel, rank, n_rows):
    sample = np.sort(np.random.default_rng(1).choice(n_rows, n_rows // 2, replace=False))
    factor = GrowingFactor(kernel.take(sample))
    factor.grow(np.ones(sample.size), rank, 0.0)
    basis = factor.low_rank
    return sample[basis.pivots], basis.triangle


def rows(n_rows, n_columns=4, seed=0):
    return np.random.default_rng(seed).standard_normal((n_rows, n_columns))


@settings(max_examples=15, deadline=None)
@given(
    n_rows=st.integers(40, 1300),
    rank=st.integers(1, 20),
    seed=st.integers(0, 100),
    name=st.sampled_from(["rbf", "poly"]),
    is_sparse=st.booleans(),
)
def test_streamed_products_equal_those_of_the_kept_features(n_rows, rank, seed, name, is_sparse):
    X = rows(n_rows, seed=seed)
    kernel = Kernel(name, gamma=0.3, coef0=1.0).on(sparse.csr_matrix(X) if is_sparse else X)
    features = PivotFeatures(kernel, *drawn(kernel, rank, n_rows))
    array, left = features.kept(np.float64)
    kept, streamed = FactorMatrix(array), StreamedFactor(features)
    w, c = rows(1, array.shape[1], 2)[0], rows(1, n_rows, 3)[0]
    close = {"rtol": 1e-10, "atol": 1e-10 * np.abs(array).max() * n_rows}
    np.testing.assert_allclose(streamed.dot(w), kept.dot(w), **close)
    np.testing.assert_allclose(streamed.pull_back(c), kept.pull_back(c), **close)
    np.testing.assert_allclose(streamed.sizes.lengths, kept.sizes.lengths, **close)
    np.testing.assert_allclose(streamed.gram(c**2), kept.gram(c**2), rtol=1e-8, atol=1e-6)
    some = np.arange(0, n_rows, 3)
    np.testing.assert_array_equal(streamed.take(some).X, features[some])
    np.testing.assert_allclose(features.left(), left, atol=1e-12 * kernel.diagonal().max())


def test_features_and_what_they_leave_out_are_those_of_the_kernel():
    X = rows(300)
    kernel = Kernel("rbf", gamma=0.3).on(X)
    pivots, triangle = drawn(kernel, 40, 300)
    matrix, basis = features_of_all_rows(kernel, pivots, triangle)
    K = kernel.columns(np.arange(300))
    G = matrix.take(np.arange(300)).X
    np.testing.assert_allclose(G @ G.T[:, pivots], K[:, pivots], atol=1e-10)
    assert basis.left_out == pytest.approx(1 - np.trace(G @ G.T) / 300)
    w = rows(1, 40, 5)[0]
    np.testing.assert_allclose(K[:, pivots] @ basis.coefficients(w), G @ w, atol=1e-8)


def test_large_features_are_kept_in_single_precision_and_larger_ones_not_at_all(monkeypatch):
    kernel = Kernel("rbf", gamma=0.3).on(rows(300))
    of = drawn(kernel, 20, 300)
    double, _ = features_of_all_rows(kernel, *of)
    monkeypatch.setattr(pivot_features, "DOUBLE_BYTES", 8 * 300 * 20 - 1)
    single, _ = features_of_all_rows(kernel, *of)
    monkeypatch.setattr(pivot_features, "SINGLE_BYTES", 4 * 300 * 20 - 1)
    streamed, _ = features_of_all_rows(kernel, *of)
    assert double.X.dtype == np.float64
    assert single.X.dtype == np.float32
    assert isinstance(streamed, StreamedFactor)
    w = rows(1, 20, 5)[0]
    np.testing.assert_allclose(single.dot(w), single.X.astype(np.float64) @ w, atol=1e-13)
    np.testing.assert_allclose(single.dot(w), double.dot(w), atol=1e-5)
    np.testing.assert_allclose(single.rough.dot(w), double.dot(w), atol=1e-5)
    np.testing.assert_allclose(streamed.dot(w), double.dot(w), atol=1e-12)


def test_a_gram_matrix_in_single_precision_is_rough_but_right():
    X = rows(900, 30).astype(np.float32)
    weight = np.abs(rows(1, 900, 1)[0])
    rough = FactorMatrix(X).rough
    about = X - rough.centre
    wanted = about.T @ (weight[:, None] * about)
    np.testing.assert_allclose(rough.gram(weight), wanted, rtol=1e-4, atol=1e-2)


def test_streamed_products_never_hold_all_features(monkeypatch):
    monkeypatch.setattr(pivot_features, "SINGLE_BYTES", 0)
    n_rows, rank = 8_000, 100
    kernel = Kernel("rbf", gamma=0.3).on(rows(n_rows))
    of = drawn(Kernel("rbf", gamma=0.3).on(kernel.X[:1000]), rank, 1000)
    tracemalloc.start()
    try:
        matrix, _ = features_of_all_rows(kernel, *of)
        matrix.pull_back(matrix.dot(np.ones(rank)))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * n_rows * rank / 2


class Counted:
    """A kernel function that counts its values."""

    n_values = 0

    def __call__(self, X, Z):
        Counted.n_values += X.shape[0] * Z.shape[0]
        return np.exp(-0.3 * ((X[:, None] - Z[None]) ** 2).sum(axis=2))


def test_pivots_of_a_sample_take_one_pass_over_the_kernel():
    X, rank = rows(3000), 30
    kernel = Kernel(Counted()).on(X)
    sample = np.arange(0, 3000, 10)
    Counted.n_values = 0
    _, basis = drawn_features(kernel, sample, np.ones(3000), rank, 0.0)
    diagonals = 64 * (3000 + 3000 + 300)  # blocks of 64 rows; of all rows twice, of the sample
    assert Counted.n_values <= 3000 * rank + 300 * rank + diagonals
    assert np.all(np.isin(basis.pivots, sample))


def test_fewer_pivots_where_their_features_would_not_fit():
    assert most_pivots(20_000, 989) == 989
    assert most_pivots(1_000_000, 1000) == 2**31 // 4_000_000
    assert most_pivots(100_000_000, 1000) == 500
