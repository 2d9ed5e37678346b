"""A binned matrix answers as the array that it stands for."""

import numpy as np
import pytest

from everypair.linalg.binned import BinnedMatrix, BinnedRows
from everypair.linalg.dense import DenseMatrix
from everypair.pairs import pair_point
from everypair.rows import Rows
from everypair.solvers.choose import minimise


@pytest.fixture
def both():
    rng = np.random.default_rng(0)
    bins, widths = (7, 300, 2, 1), (3, 5, 1, 2)
    tables = [rng.standard_normal((b, w)) for b, w in zip(bins, widths, strict=True)]
    codes = np.array([rng.integers(0, b, 500) for b in bins], dtype=np.uint16)
    dense = np.hstack([t[c] for t, c in zip(tables, codes, strict=True)])
    return BinnedMatrix(BinnedRows(codes, tables)), DenseMatrix(dense), rng


def test_products_and_sums_are_those_of_the_written_array(both):
    binned, dense, rng = both
    v, w = rng.standard_normal(binned.shape[1]), rng.standard_normal(500)
    positive_weight = np.abs(w)
    np.testing.assert_allclose(binned.dot(v), dense.dot(v), atol=1e-12)
    np.testing.assert_allclose(binned.pull_back(w), dense.pull_back(w), atol=1e-11)
    np.testing.assert_allclose(binned.pull_back_moments(w), dense.pull_back_moments(w), atol=1e-11)
    np.testing.assert_allclose(binned.centre, dense.centre)
    np.testing.assert_allclose(binned.gram(w), dense.gram(w), atol=1e-10)
    np.testing.assert_allclose(binned.sizes.means, dense.sizes.means, atol=1e-12)
    np.testing.assert_allclose(binned.sizes.spreads, dense.sizes.spreads, rtol=1e-9, atol=1e-5)
    np.testing.assert_allclose(
        binned.pull_back_distances(positive_weight),
        dense.pull_back_distances(positive_weight),
        atol=1e-9,
    )
    assert binned.longest == pytest.approx(dense.longest)
    rows = np.array([3, 499, 3])
    np.testing.assert_array_equal(binned.written_out(rows), dense.written_out(rows))
    np.testing.assert_allclose(binned.take(rows).dot(v), dense.take(rows).dot(v), atol=1e-12)
    np.testing.assert_array_equal(
        binned.columns(np.array([1, 4])).X, dense.columns(np.array([1, 4])).X
    )
    mine, theirs = (m.class_moments(rows, None) for m in both[:2])
    np.testing.assert_allclose(mine.scatter, theirs.scatter, atol=1e-12)


@pytest.mark.parametrize("loss", ["logistic", "sigmoid"])
def test_hessian_and_minimum_are_those_of_the_written_array(both, loss):
    binned, dense, rng = both
    rows = Rows.uncut(dense.X[:, 0] + rng.standard_normal(500) > 0.5)
    point = pair_point(loss, rows, dense.dot(np.ones(dense.shape[1])))
    np.testing.assert_allclose(point.hessian(binned), point.hessian(dense), atol=1e-11)
    one, other = (minimise(X, rows, loss, 1e-2, tol=1e-10) for X in (binned, dense))
    np.testing.assert_allclose(one.coef, other.coef, atol=1e-7)
    if loss == "logistic":
        assert one.distance <= 1e-10


def test_moments_and_sizes_are_those_of_the_rows_written_out():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 5, (3, 40)).astype(np.uint8)
    matrix = BinnedMatrix(
        BinnedRows(codes, [rng.standard_normal((5, width)) for width in (2, 1, 3)])
    )
    X, weight = matrix.X[np.arange(40)], rng.random(40)
    np.testing.assert_allclose(matrix.pull_back_moments(weight), [weight @ X, weight @ X**2])
    np.testing.assert_allclose(matrix.sizes.means, X.mean(axis=0), atol=1e-14)
    np.testing.assert_allclose(matrix.sizes.lengths, np.linalg.norm(X, axis=0))


def test_curves_are_the_scores_of_rows_in_each_bin(both):
    binned, dense, rng = both
    coef = rng.standard_normal(binned.shape[1])
    curves = binned.curves(coef)
    assert [curve.size for curve in curves] == [7, 300, 2, 1]
    added = [curve[codes] for curve, codes in zip(curves, binned.X.codes, strict=True)]
    np.testing.assert_allclose(np.sum(added, axis=0), dense.dot(coef), atol=1e-12)
