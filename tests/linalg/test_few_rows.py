"""Few rows are summed in NumPy as compiled loops sum many."""

from __future__ import annotations

from math import fsum

import numpy as np
import pytest

from everypair._compiled import doubled_wins
from everypair.linalg import few_rows
from everypair.linalg.dense import DenseMatrix
from everypair.linalg.few_rows import chebyshev, doubled_wins_of_few, exact_sum_of_few
from everypair.pairs import smooth
from everypair.pairs.smooth import LOGISTIC_KERNELS, SmoothPoint
from everypair.rows import Rows


@pytest.mark.parametrize("n_terms", [2, 3, 4, 7, 8, 14])
def test_polynomials_are_those_of_the_definition(n_terms):
    t = np.linspace(-1, 1, 301)
    expected = np.cos(np.arange(n_terms)[:, None] * np.arccos(t))
    np.testing.assert_allclose(chebyshev(t, n_terms), expected, atol=1e-14)


@pytest.mark.parametrize("scale", [1e-250, 1.0, 1e250])
@pytest.mark.parametrize("size", [1, 2, 1000, 2500])
def test_the_sum_has_twice_the_precision(size, scale):
    values = np.random.default_rng(size).standard_normal(size) * scale
    values -= values.mean()
    assert exact_sum_of_few(values) == pytest.approx(fsum(values), rel=1e-12, abs=0)


def test_sums_of_what_is_infinite_are_not_finite():
    for values in ([np.inf, 1.0], [np.nan, 1.0], [1.7e308, 1.7e308]):
        assert not np.isfinite(exact_sum_of_few(np.array(values)))
    assert exact_sum_of_few(np.array([])) == 0


def test_pairs_won_are_counted_with_ties():
    rng = np.random.default_rng(0)
    positives, negatives = (np.sort(rng.integers(0, 40, n).astype(float)) for n in (70, 90))
    assert doubled_wins_of_few(positives, negatives) == doubled_wins(positives, negatives)


@pytest.mark.parametrize("spread", [0.3, 3.0, 40.0, 1e6])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["C", "F"])
def test_few_rows_have_the_sums_of_compiled_loops(monkeypatch, spread, dtype, order):
    """Weighted rows; scores in few boxes, on a large grid, and in boxes with gaps."""
    rng = np.random.default_rng(1)
    X = np.asarray(rng.standard_normal((400, 5)), dtype=dtype, order=order)
    scores = spread * rng.standard_normal(400)
    pairs = Rows.uncut(rng.random(400) < 0.3, 0.5 + rng.random(400))
    weights = rng.standard_normal(400)

    def sums():
        matrix, point = DenseMatrix(X), SmoothPoint(LOGISTIC_KERNELS, pairs, scores)
        return (
            point.value(), point.gradient(), point.product(weights), point.hessian(matrix),
            point.hessian(matrix, accuracy=1e-5), matrix.pull_back(weights), matrix.sizes.means,
            matrix.sizes.lengths,
        )  # fmt: skip

    assert few_rows.few_rows(X.shape)
    of_few = sums()
    for module in (smooth, few_rows):
        monkeypatch.setattr(module, "FEW_ROWS", 0)
    for few, many in zip(of_few, sums(), strict=True):
        size = np.max(np.abs(many))
        np.testing.assert_allclose(few, many, rtol=1e-11, atol=1e-11 * size)
