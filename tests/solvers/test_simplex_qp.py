"""The small QP against an interior point solver, and on what breaks naive ones."""

from __future__ import annotations

import clarabel
import numpy as np
import pytest
from scipy import sparse

from everypair.solvers.simplex_qp import simplex_qp


def value(H, b, x):
    return b @ x - x @ H @ x / 2


def interior_point(H, b):
    size = b.size
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    rows = sparse.vstack([np.ones((1, size)), -sparse.eye(size)]).tocsc()
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(size)]
    right = np.append(1.0, np.zeros(size))
    quadratic = sparse.csc_matrix(np.triu(H))
    solver = clarabel.DefaultSolver(quadratic, -b, rows, right, cones, settings)
    x = np.maximum(solver.solve().x, 0)
    return x / x.sum()


def corner(size, at=0):
    return np.eye(size)[at]


@pytest.mark.parametrize("rank", [1, 3, 30])
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_maximum_is_that_of_an_interior_point_solver(rank, scale):
    rng = np.random.default_rng(rank)
    for size in (1, 2, 5, 40):
        slopes = rng.standard_normal((size, rank)) * np.sqrt(scale)
        H, b = slopes @ slopes.T, rng.random(size) * 3 * min(scale, 1)
        x = simplex_qp(H, b, corner(size))
        assert x.min() >= 0
        assert x.sum() == pytest.approx(1)
        gradient = b - H @ x
        size_of_terms = np.abs(b).max() + x @ H @ x + 1e-6 * np.abs(H).max()
        assert gradient.max() - gradient @ x <= 1e-9 * size_of_terms
        assert value(H, b, x) >= value(H, b, interior_point(H, b)) - 1e-8 * size_of_terms


def test_any_start_leads_to_the_same_value():
    rng = np.random.default_rng(0)
    slopes = rng.standard_normal((30, 10))
    H, b = slopes @ slopes.T, rng.random(30)
    starts = [corner(30, 3), corner(30, 17), np.full(30, 1 / 30)]
    values = [value(H, b, simplex_qp(H, b, start)) for start in starts]
    np.testing.assert_allclose(values, values[0], rtol=1e-10)


def test_planes_that_repeat_or_nearly_repeat_do_no_harm():
    rng = np.random.default_rng(1)
    slopes = rng.standard_normal((10, 4))
    slopes = np.vstack([slopes, slopes, slopes + 1e-9 * rng.standard_normal((10, 4))])
    H, b = 1e-4 * slopes @ slopes.T, 6.5 + 1e-6 * rng.random(30)
    x = simplex_qp(H, b, corner(30))
    gradient = b - H @ x
    assert gradient.max() - gradient @ x <= 1e-10


def test_flat_planes_put_the_weight_on_the_highest():
    b = np.array([0.0, 2.0, 1.0])
    np.testing.assert_array_equal(simplex_qp(np.zeros((3, 3)), b, corner(3)), [0, 1, 0])
