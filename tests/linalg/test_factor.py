"""Wide factors of a kernel: sums in single precision are those in double precision, rounded."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from everypair.linalg import factor, low_rank, row_sums
from everypair.linalg.dense import DenseMatrix
from everypair.linalg.factor import FactorMatrix, Inverse, ProductFactor
from everypair.linalg.row_sums import without_subnormals
from everypair.pairs import pair_point
from everypair.pairs.ranked_classes import SortedScores
from everypair.pairs.sorted import HuberHingePoint
from everypair.rows import Rows


def far_from_zero(n_rows, n_columns, seed=0):
    """Rows about a mean, as kernel features are."""
    rng = np.random.default_rng(seed)
    return 0.3 * rng.standard_normal((n_rows, n_columns)) + np.linspace(1, 3, n_columns)


@pytest.mark.parametrize("share_of_positives", [0.1, 0.6])
@pytest.mark.parametrize("width", [0.05, 2.0])
def test_hessian_in_single_precision_is_the_hessian(share_of_positives, width):
    rng = np.random.default_rng(1)
    X, positive = far_from_zero(700, 20), rng.random(700) < share_of_positives
    pairs = Rows.uncut(positive, rng.random(700), None)
    point = HuberHingePoint(SortedScores(pairs, rng.standard_normal(700)), width)
    exact = point.hessian(DenseMatrix(X))
    rough = point.hessian(FactorMatrix(X).rough)
    assert 0 < np.max(np.abs(rough - exact)) <= 1e-5 * np.max(np.abs(exact))


def test_gram_in_single_precision_reads_only_rows_with_a_weight():
    X = far_from_zero(600, 12)
    weights = np.where(np.arange(600) % 3 == 0, 1.0, 0.0)
    X[weights == 0] = np.nan
    factor = FactorMatrix(np.ascontiguousarray(X))
    factor.rough = type(FactorMatrix(np.ones((2, 2))).rough)(X.astype(np.float32))
    factor.rough.centre = np.zeros(12)
    read = X[weights > 0]
    np.testing.assert_allclose(factor.rough.gram(weights), read.T @ read, rtol=1e-5)


def test_squared_hinge_of_a_factor_has_the_same_hessian_too():
    rng = np.random.default_rng(2)
    X, positive = far_from_zero(300, 8), rng.random(300) < 0.4
    point = pair_point("squared_hinge", Rows.uncut(positive, None, None), rng.standard_normal(300))
    exact, rough = point.hessian(DenseMatrix(X)), point.hessian(FactorMatrix(X).rough)
    np.testing.assert_allclose(rough, exact, atol=1e-5 * np.abs(exact).max())


@pytest.mark.parametrize("wraps", [False, True], ids=["factor", "product"])
def test_rows_without_a_multiplier_are_not_read(wraps):
    rng = np.random.default_rng(0)
    values, c = rng.standard_normal((400, 250)), rng.standard_normal(400)
    c[100:] = 0.0
    unread = values.copy()
    unread[100:] = np.nan
    factor, expected = FactorMatrix(unread), values.T @ c
    if wraps:
        triangle = np.diag(np.linspace(1, 2, 250))
        factor = ProductFactor(factor, Inverse.of(triangle, 1.0))
        expected = np.linalg.solve(triangle, expected)
    np.testing.assert_allclose(factor.pull_back(c), expected, rtol=1e-12)


def test_products_in_single_precision_have_no_subnormal_numbers():
    """Their squares are zero or normal, and no number moves by more than its last digits."""
    rng = np.random.default_rng(0)
    size = 10.0 ** rng.uniform(-45, 0, 20_000)
    numbers = (size * rng.choice([-1, 1], size.size)).astype(np.float32)
    rounded = without_subnormals(numbers.copy())
    assert np.all((rounded == 0) | (rounded**2 >= np.finfo(np.float32).tiny))
    np.testing.assert_allclose(rounded, numbers, rtol=2e-7, atol=5e-19)
    wide = size.copy()
    assert np.array_equal(without_subnormals(wide), size)


def test_a_rough_hessian_multiplies_no_subnormal_numbers(monkeypatch):
    """Neither in the Gram matrix of the rows nor in the sums over windows."""
    left = {}

    def told(of, block):
        without_subnormals(block)
        left[of] = min(left.get(of, 1.0), float(np.abs(block[block != 0]).min()))
        return block

    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 5)) * 10.0 ** rng.uniform(-45, 0, (300, 5))
    pairs = Rows.uncut(np.arange(300) < 60)
    point = HuberHingePoint(SortedScores(pairs, rng.standard_normal(300)), 0.5)
    exact = point.hessian(DenseMatrix(X))
    monkeypatch.setattr(factor, "without_subnormals", partial(told, "gram"))
    monkeypatch.setattr(row_sums, "without_subnormals", partial(told, "windows"))
    rough = point.hessian(FactorMatrix(X).rough)
    np.testing.assert_allclose(rough, exact, rtol=0, atol=1e-5 * np.abs(exact).max())
    assert min(left["gram"], left["windows"]) > 1e-19


def test_a_hessian_may_take_a_share_of_the_memory_that_is_free(monkeypatch):
    """More than the factor's own bytes where there is room, and no more than these where not."""
    of = FactorMatrix(far_from_zero(60, 50))
    monkeypatch.setattr(low_rank, "available_memory", lambda: 1e9)
    assert of.hessian_room == low_rank.MEMORY_SHARE * 1e9
    assert DenseMatrix(of.X).hessian_room == of.nbytes
    monkeypatch.setattr(low_rank, "available_memory", lambda: 0.0)
    assert of.hessian_room == of.nbytes
