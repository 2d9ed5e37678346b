"""Closed forms against the paper's equations written out with the explicit L.

The paper has a sum over the pairs, lam |w|^2 and labels 2 apart; we have a mean, ridge |w|^2 and a
margin of 1. With ridge = lam / (A B) its solution is twice ours and its objective 4 A B times ours.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from everypair.linalg.matrix import as_matrix
from everypair.rls import dual, primal
from everypair.rls.moments import PairMoments
from everypair.rows import Rows


def explicit_L(positive, weight=None):
    """Eq. (9), one entry at a time; weighted: a pair counts the product of its weights."""
    n = positive.size
    weight = np.ones(n) if weight is None else weight
    L = np.zeros((n, n))
    for i in np.flatnonzero(positive):
        for j in np.flatnonzero(~positive):
            pair = weight[i] * weight[j]
            L[i, i] += pair
            L[j, j] += pair
            L[i, j] -= pair
            L[j, i] -= pair
    return L


def data(seed=0, n=50, p=6, share=0.3, offset=0.0):
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < share
    positive[:2], positive[2:4] = True, False
    X = rng.standard_normal((n, p)) + offset
    X[positive, 0] += 1
    return X, positive, rng.integers(1, 5, n) * rng.random()


def sides(positive):
    return np.where(positive, 1.0, -1.0)


def of_pairs(positive, weight=None):
    """A B."""
    weight = np.ones(positive.size) if weight is None else weight
    return weight[positive].sum() * weight[~positive].sum()


def test_L_of_unit_weights_is_equation_9():
    positive = np.array([True, False, False, True, False])
    expected = np.where(np.equal.outer(positive, positive), 0, -1) + np.diag([3, 2, 2, 3, 2])
    np.testing.assert_array_equal(explicit_L(positive), expected)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("lam", [1e-4, 1.0, 1e3])
def test_primal_equals_equation_11(lam, weighted):
    X, positive, weight = data()
    weight = weight if weighted else None
    L = explicit_L(positive, weight)
    expected = np.linalg.solve(X.T @ L @ X + lam * np.eye(6), X.T @ L @ sides(positive))
    total = of_pairs(positive, weight)
    solution = primal.solve(PairMoments.of(as_matrix(X), positive, weight), lam / total)
    np.testing.assert_allclose(2 * solution.coef, expected, rtol=1e-8)
    assert solution.gap < 1e-12
    margins = (X @ expected)[positive][:, None] - (X @ expected)[~positive]
    pairs = 1.0 if weight is None else np.outer(weight[positive], weight[~positive])
    objective = np.sum(pairs * (2 - margins) ** 2) + lam * expected @ expected
    np.testing.assert_allclose(4 * total * solution.objective, objective, rtol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("lam", [1e-1, 1.0, 1e3])
def test_dual_equals_equation_8(lam, kernel, weighted):
    X, positive, weight = data()
    weight = weight if weighted else None
    K = X @ X.T if kernel == "linear" else rbf_kernel(X)
    L, y = explicit_L(positive, weight), sides(positive)
    expected = np.linalg.solve(L @ K + lam * np.eye(y.size), L @ y)
    total = of_pairs(positive, weight)
    solution = dual.solve(K, dual.PairWeights(Rows.uncut(positive, weight)), lam / total)
    size = abs(expected).max()
    np.testing.assert_allclose(2 * solution.coef, expected, rtol=0, atol=1e-8 * size)
    f = K @ expected
    np.testing.assert_allclose(2 * (solution.scores + solution.midpoint), f, atol=1e-8)
    weights = np.ones(y.size) if weight is None else weight
    means = [np.average(f[c], weights=weights[c]) for c in (positive, ~positive)]
    np.testing.assert_allclose(2 * solution.midpoint, np.mean(means), atol=1e-8)
    objective = (y - f) @ L @ (y - f) + lam * expected @ K @ expected
    np.testing.assert_allclose(4 * total * solution.objective, objective, rtol=1e-9)
    assert solution.gap < 1e-10


def test_direction_is_that_of_the_class_covariances():
    X, positive, _ = data()
    ridge = 0.01
    P, N = X[positive], X[~positive]
    S = np.cov(P.T, bias=True) + np.cov(N.T, bias=True) + ridge * np.eye(6)
    direction = np.linalg.solve(S, P.mean(axis=0) - N.mean(axis=0))
    coef = primal.solve(PairMoments.of(as_matrix(X), positive), ridge).coef
    np.testing.assert_allclose(
        coef / np.linalg.norm(coef), direction / np.linalg.norm(direction), rtol=1e-10
    )


def test_without_a_penalty_the_solution_of_least_norm_is_taken():
    X, positive, _ = data()
    X = np.column_stack([X, X[:, 0] + X[:, 1], np.ones(len(X))])  # collinear and constant
    # One row a pair: the definition as a least squares problem.
    rows = (X[positive][:, None] - X[~positive]).reshape(-1, X.shape[1])
    expected = np.linalg.lstsq(rows, np.full(len(rows), 1.0), rcond=1e-10)[0]
    solution = primal.solve(PairMoments.of(as_matrix(X), positive), 0.0)
    np.testing.assert_allclose(solution.coef, expected, atol=1e-9)
    assert solution.gap < 1e-10
    of_rows = dual.solve(X @ X.T, dual.PairWeights(Rows.uncut(positive)), 0.0)
    np.testing.assert_allclose(X.T @ of_rows.coef, expected, atol=1e-8)
    assert of_rows.gap < 1e-10


def test_separable_rows_without_a_penalty_are_interpolated():
    rng = np.random.default_rng(0)
    X, positive = rng.standard_normal((10, 30)), np.arange(10) < 4
    rows = (X[positive][:, None] - X[~positive]).reshape(-1, 30)
    expected = np.linalg.lstsq(rows, np.full(len(rows), 1.0), rcond=1e-10)[0]
    by_moments = primal.solve(PairMoments.of(as_matrix(X), positive), 0.0)
    np.testing.assert_allclose(by_moments.coef, expected, atol=1e-9)
    by_rows = dual.solve(X @ X.T, dual.PairWeights(Rows.uncut(positive)), 0.0)
    np.testing.assert_allclose(X.T @ by_rows.coef, expected, atol=1e-9)


@pytest.mark.parametrize("lam", [1e-9, 1e-5])
def test_a_singular_kernel_and_a_tiny_penalty_keep_the_function(lam):
    X, positive, _ = data(offset=10.0)
    X = np.repeat(X[:, :3], 2, axis=0)
    positive = np.repeat(positive, 2)
    ridge = lam / of_pairs(positive)
    w = primal.solve(PairMoments.of(as_matrix(X), positive), ridge).coef
    solution = dual.solve(X @ X.T, dual.PairWeights(Rows.uncut(positive)), ridge)
    np.testing.assert_allclose(X.T @ solution.coef, w, rtol=1e-7)
    assert solution.gap < 1e-6


def test_an_indefinite_kernel_is_refused():
    K = np.diag([1.0, 1.0, -5.0, 1.0])
    weights = dual.PairWeights(Rows.uncut(np.array([True, True, False, False])))
    with pytest.raises(ValueError, match="not positive semi-definite"):
        dual.solve(K, weights, 1e-3)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize("weighted", [False, True])
def test_moments_equal_their_definition(make, weighted):
    X, positive, weight = data(n=300)
    X[abs(X) < 0.5] = 0
    weights = weight if weighted else np.ones(300)
    moments = PairMoments.of(as_matrix(make(X)), positive, weight if weighted else None)
    for members, side in ((positive, moments.positive), (~positive, moments.negative)):
        rows, w = X[members], weights[members]
        np.testing.assert_allclose(side.weight, w.sum())
        np.testing.assert_allclose(side.mean, np.average(rows, axis=0, weights=w), atol=1e-13)
        covariance = np.cov(rows.T, aweights=w, bias=True)
        np.testing.assert_allclose(side.covariance, covariance, atol=1e-12)


def test_moments_far_from_the_origin_keep_their_digits():
    X, positive, _ = data(n=400)
    near = PairMoments.of(as_matrix(X), positive)
    X[positive] += 1e7  # the classes apart as well
    far = PairMoments.of(as_matrix(X + 1e7), positive)
    np.testing.assert_allclose(far.within, near.within, atol=1e-7)


@given(st.integers(0, 10**6), st.integers(1, 6))
def test_moments_of_parts_add_up_in_any_order(seed, n_parts):
    X, positive, weight = data(seed % 7, n=60)
    rng = np.random.default_rng(seed)
    whole = PairMoments.of(as_matrix(X), positive, weight)
    total = PairMoments.none(6)
    for rows in np.array_split(rng.permutation(60), n_parts):
        total = PairMoments.of(as_matrix(X[rows]), positive[rows], weight[rows]) + total
    np.testing.assert_allclose(total.pair_weight, whole.pair_weight)
    np.testing.assert_allclose(total.apart, whole.apart, atol=1e-12)
    np.testing.assert_allclose(total.within, whole.within, atol=1e-12)


@given(st.integers(0, 10**6), st.floats(0.1, 20))
def test_loss_by_classes_equals_the_sum_over_pairs(seed, size):
    rng = np.random.default_rng(seed)
    _, positive, weight = data(seed % 5)
    f = size * rng.standard_normal(positive.size) + size
    weights = dual.PairWeights(Rows.uncut(positive, weight))
    margins = f[positive][:, None] - f[~positive]
    pairs = np.outer(weight[positive], weight[~positive])
    scaled = weights.root * f
    loss = pairs.sum() * weights.mean_loss(scaled)
    np.testing.assert_allclose(loss, np.sum(pairs * (margins - 1) ** 2), rtol=1e-10)
    expected = explicit_L(positive, weight) @ f
    got = pairs.sum() * weights.root * weights.apply_L(scaled)
    np.testing.assert_allclose(got, expected, atol=1e-9 * abs(expected).max())
