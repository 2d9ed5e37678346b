"""The small QP against an interior point solver, and on what breaks naive ones."""

from __future__ import annotations

import clarabel
import numpy as np
import pytest
from scipy import sparse

from everypair.solvers.simplex_qp import SimplexQP


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


@pytest.mark.parametrize("rank", [1, 3, 30])
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_maximum_is_that_of_an_interior_point_solver(rank, scale):
    rng = np.random.default_rng(rank)
    for size in (1, 2, 5, 40):
        slopes = rng.standard_normal((size, rank)) * np.sqrt(scale)
        H, b = slopes @ slopes.T, rng.random(size) * 3 * min(scale, 1)
        x = SimplexQP().solve(H, b, 1.0)
        assert x.min() >= 0
        assert x.sum() == pytest.approx(1)
        gradient = b - H @ x
        size_of_terms = np.abs(b).max() + x @ H @ x + 1e-6 * np.abs(H).max()
        assert gradient.max() - gradient @ x <= 1e-9 * size_of_terms
        assert value(H, b, x) >= value(H, b, interior_point(H, b)) - 1e-8 * size_of_terms


def test_a_start_from_another_problem_leads_to_the_same_value():
    rng = np.random.default_rng(0)
    slopes = rng.standard_normal((60, 10))
    H, warm = slopes @ slopes.T, SimplexQP()
    for size in range(2, 61, 3):
        part, b, scale = H[:size, :size].copy(), rng.random(size), 10.0 ** rng.uniform(-3, 3)
        best = value(scale * part, b, SimplexQP().solve(part, b, scale))
        x = warm.solve(part, b, scale)
        assert value(scale * part, b, x) == pytest.approx(best, rel=1e-9)


def test_forgetting_variables_at_zero_changes_nothing():
    rng = np.random.default_rng(1)
    slopes = rng.standard_normal((40, 6))
    H, b, qp = slopes @ slopes.T, rng.random(40), SimplexQP()
    before = qp.solve(H, b, 1.0).copy()
    kept = before > 0
    qp.keep(kept)
    after = qp.solve(H[np.ix_(kept, kept)], b[kept], 1.0)
    np.testing.assert_allclose(after, before[kept], atol=1e-12)


def test_planes_that_repeat_or_nearly_repeat_do_no_harm():
    rng = np.random.default_rng(1)
    slopes = rng.standard_normal((10, 4))
    slopes = np.vstack([slopes, slopes, slopes + 1e-9 * rng.standard_normal((10, 4))])
    H, b = 1e-4 * slopes @ slopes.T, 6.5 + 1e-6 * rng.random(30)
    x = SimplexQP().solve(H, b, 1.0)
    gradient = b - H @ x
    assert gradient.max() - gradient @ x <= 1e-10


def test_flat_planes_put_the_weight_on_the_highest():
    b = np.array([0.0, 2.0, 1.0])
    np.testing.assert_allclose(SimplexQP().solve(np.zeros((3, 3)), b, 1.0), [0, 1, 0])
