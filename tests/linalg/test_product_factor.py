"""G = K T as K and T: the products of G, and bounds on what they round by."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import cholesky, solve_triangular

from everypair.linalg.factor import FactorMatrix, Inverse, ProductFactor
from everypair.linalg.matrix import rows_that_count
from everypair.pairs import pair_point
from everypair.pairs.point import growth
from everypair.pairs.ranked_classes import SortedScores
from everypair.pairs.sorted import HuberHingePoint
from everypair.rows import Rows


def split(n_rows=700, rank=40, gamma=0.3, seed=0):
    """The factor as a product, and the features themselves."""
    X = np.random.default_rng(seed).standard_normal((n_rows, 4))
    K = np.exp(-gamma * ((X[:, None] - X[None, :rank]) ** 2).sum(axis=2))
    triangle = cholesky(K[:rank], lower=True)
    G = solve_triangular(triangle, K.T, lower=True).T
    return ProductFactor(FactorMatrix(K), Inverse.of(triangle, 1.0)), np.ascontiguousarray(G), K


def test_products_are_those_of_the_features():
    factor, G, _ = split()
    rng = np.random.default_rng(1)
    w, c = rng.standard_normal(G.shape[1]), rng.standard_normal(G.shape[0])
    np.testing.assert_allclose(factor.dot(w), G @ w, atol=1e-9)
    np.testing.assert_allclose(factor.dot_and_sizes(w), G @ w, atol=1e-9)
    np.testing.assert_allclose(factor.pull_back(c), c @ G, atol=1e-8)
    some = np.arange(0, 700, 3)
    np.testing.assert_allclose(factor.take(some).dot(w), G[some] @ w, atol=1e-9)
    np.testing.assert_allclose(factor.X[some], G[some], atol=1e-9)


def test_sizes_bound_those_of_the_features_and_of_the_terms_of_a_product():
    factor, G, K = split()
    T = np.abs(np.linalg.inv(np.linalg.cholesky(K[:40])).T)
    terms = np.abs(K) @ T
    about = np.abs(G - G.mean(axis=0))
    sizes = factor.sizes
    np.testing.assert_allclose(sizes.means, G.mean(axis=0), atol=1e-10)
    assert np.all(sizes.lengths >= (1 - 1e-9) * np.linalg.norm(terms, axis=0))
    assert np.all(sizes.spreads >= (1 - 1e-9) * np.linalg.norm(G - G.mean(axis=0), axis=0))
    assert factor.longest >= (1 - 1e-9) * np.linalg.norm(terms, axis=1).max()
    weight = np.random.default_rng(2).random(700)
    assert np.all(factor.pull_back_distances(weight) >= (1 - 1e-9) * (weight @ about))


@pytest.mark.parametrize("gamma", [0.3, 0.01])
def test_rounding_is_within_its_bound(gamma):
    """In longer numbers, at a condition of the pivots' kernel of up to 1e12."""
    factor, _, K = split(gamma=gamma, rank=30)
    w = np.random.default_rng(3).standard_normal(30)
    exact = K.astype(np.longdouble) @ (factor._inverse.matrix.astype(np.longdouble) @ w)
    off = float(np.max(np.abs(factor.dot(w) - exact)))
    assert 0 < off <= growth(30) * factor.reach_of_rows(w)


def ill_conditioned():
    """A product, its K, multipliers c, and the w = G'c of which |T w| is much less than |T| |w|."""
    factor, G, K = split(gamma=0.01, rank=30)
    c = np.sin(np.arange(700.0))
    return factor, K, c, G.T @ c


@pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-18, reason="no longer numbers")
def test_products_with_the_inverse_have_more_bits_than_double_precision():
    factor, _, _, w = ill_conditioned()
    T, inverse = factor._inverse.matrix.astype(np.longdouble), factor._inverse
    for exact, fine, plain in (
        (T @ w, inverse.times(w), inverse.matrix @ w),
        (w @ T, inverse.turned(w), w @ inverse.matrix),
    ):
        assert np.max(np.abs(fine - exact) / np.abs(exact)) < 2.3e-16
        assert np.max(np.abs(plain - exact) / np.abs(exact)) > 5e-16


def test_scores_are_bounded_by_the_terms_of_their_sums():
    factor, K, _, w = ill_conditioned()
    of_terms = float((np.abs(K) @ np.abs(factor._inverse.times(w))).max())
    assert of_terms <= factor.reach_of_rows(w) < 5 * of_terms
    assert factor.reach_of_rows(w) < 0.1 * factor.longest * np.linalg.norm(w)


def test_bounds_hold_where_the_diagonal_reaches_over_twelve_decades():
    """What one pivot is in units of the largest says nothing of the others."""
    K = np.diag(np.concatenate([[1e12], np.ones(39)]))
    inverse = Inverse.of(np.sqrt(K), 1e6)
    factor = ProductFactor(FactorMatrix(K), inverse)
    for w in np.eye(40)[[0, 1]]:
        exact = float((inverse.longest * inverse.roots) @ np.abs(inverse.matrix @ w))
        assert exact <= factor.reach_of_rows(w) <= 5 * exact


def test_the_mean_reach_is_no_less_than_that_of_directions_in_the_mean():
    factor, *_ = split(gamma=0.01, rank=30)
    ways = np.random.default_rng(8).standard_normal((200, 30))
    ways /= np.linalg.norm(ways, axis=1)[:, None]
    reaches = [factor.reach_of_rows(way) for way in ways]
    assert np.mean(reaches) <= factor._inverse.mean_reach < 10 * np.mean(reaches)


@pytest.mark.parametrize("error", [0.0, 1e-6])
def test_a_square_is_within_its_error(error):
    """Of multipliers that are off by a little, in longer numbers; and what sums over the rows are
    off by counts as far as the solution goes, not as far as |T| does."""
    factor, K, c, _ = ill_conditioned()
    T = factor._inverse.matrix.astype(np.longdouble)
    off = np.random.default_rng(9).standard_normal(c.size)
    exact = T.T @ (K.T.astype(np.longdouble) @ (c + error * off / np.linalg.norm(off)))
    pulled = factor.pull_back(c)
    of_sums, of_columns = (growth(n) * np.linalg.norm(c) for n in (factor.chain, 30))
    bound = factor.square_error(pulled, error, of_sums, of_columns)
    assert abs(float(exact @ exact) - pulled @ pulled) <= bound
    if error == 0:
        by_entry = factor.sizes.lengths * of_sums
        assert bound < 0.2 * 2 * np.abs(pulled) @ by_entry


def test_a_hessian_computes_the_rows_in_the_window_and_no_others():
    factor, G, _ = split()
    positive = np.random.default_rng(4).random(700) < 0.3
    # Margins of most pairs are far from the rounded corner.
    scores = np.where(positive, 3.0, -3.0) + np.random.default_rng(5).standard_normal(700)
    loss = pair_point("squared_hinge", Rows.uncut(positive), scores)
    counted = np.flatnonzero(loss.curvature())
    assert 0 < counted.size < 300
    rough = factor.rough
    found = loss.hessian(rough)
    wanted = loss.hessian(FactorMatrix(G))
    np.testing.assert_allclose(found, wanted, atol=1e-4 * np.abs(wanted).max())
    assert counted.size <= rough.X.n_solved < 700
    places = rough.X.places(counted)
    assert places.max() < rough.X.n_solved
    np.testing.assert_allclose(rough.X.solved[places], G[counted], atol=1e-5)
    np.testing.assert_allclose(rough.X[::7], G[::7], atol=1e-5)
    assert rough.X.n_solved < 700
    np.testing.assert_allclose(rough.dot(np.ones(40)), G @ np.ones(40), atol=1e-3)
    np.testing.assert_allclose(loss.hessian(rough), found, atol=1e-6 * np.abs(found).max())


@pytest.mark.parametrize("apart", [0.0, 5.0])
def test_an_exact_hessian_is_that_of_the_features(apart):
    """In double precision, where single precision leaves it indefinite; of rows far apart, few have
    a pair in the window and are copied."""
    factor, G, _ = split()
    positive = np.random.default_rng(6).random(700) < 0.3
    scores = np.random.default_rng(7).standard_normal(700) + apart * positive
    loss = HuberHingePoint(SortedScores(Rows.uncut(positive), scores), 0.5)
    assert (rows_that_count(factor, loss.curvature()) is not None) == (apart > 0)
    found, wanted = loss.hessian(factor), loss.hessian(FactorMatrix(G))
    np.testing.assert_allclose(found, wanted, atol=1e-9 * np.abs(wanted).max())


@pytest.mark.parametrize("scale", [1e-20, 1e-8, 1e8, 1e20])
def test_rows_in_single_precision_are_in_units_of_the_longest(scale):
    factor, G, K = split()
    triangle = np.sqrt(scale) * factor._inverse.triangle
    scaled = ProductFactor(FactorMatrix(scale * K), Inverse.of(triangle, np.sqrt(scale)))
    assert scaled.rough.X._strips[0][1].dtype == np.float32
    np.testing.assert_allclose(scaled.rough.take(np.arange(50)).X, np.sqrt(scale) * G[:50],
                               atol=1e-5 * np.sqrt(scale))  # fmt: skip


def test_rows_out_of_the_range_of_single_precision_stay_in_double():
    factor, _, K = split()
    far = ProductFactor(
        FactorMatrix(1e-30 * K), Inverse.of(1e-15 * factor._inverse.triangle, 1e-15)
    )
    assert far.rough is far


def test_digits_that_single_precision_does_not_have_are_kept(monkeypatch):
    monkeypatch.setattr("everypair.linalg.factor.SINGLE_REACH", 0.0)
    factor, G, _ = split()
    rough = factor.rough
    assert rough.X._strips[0][1].dtype == np.float64
    np.testing.assert_allclose(rough.take(np.arange(50)).X, G[:50], atol=1e-6)
