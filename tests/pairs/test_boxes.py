"""The Chebyshev tables pair by pair, before any summing hides their error."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial.chebyshev import chebvander

from everypair._compiled import COEFFICIENTS
from everypair.pairs import boxes
from everypair.pairs.boxes import PER_UNIT, REACH, REACH_BOXES, WIDTH
from everypair.pairs.smooth import LOGISTIC_KERNELS, SIGMOID_KERNELS, SLOPE_ACCURACY

KERNELS = {
    f"{name} {part}": getattr(kernels, part)
    for name, kernels in (("logistic", LOGISTIC_KERNELS), ("sigmoid", SIGMOID_KERNELS))
    for part in ("value", "slope", "curvature")
}


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
def test_the_worst_pair_of_any_two_boxes_is_met_to_1e_11(kernel):
    t = np.linspace(-1, 1, 33)
    basis = chebvander(t, COEFFICIENTS - 1)
    for distance in range(-REACH_BOXES, REACH_BOXES + 1):
        u = np.longdouble(WIDTH) * (distance + (t[:, None] - t[None, :]) / 2)
        exact = kernel.function(u)
        table = kernel.near[distance + REACH_BOXES]
        error = np.max(np.abs(basis @ table.T @ basis.T - exact))
        assert error <= 1e-11 * np.max(np.abs(exact))


@pytest.mark.parametrize("kernel", ["slope", "slope_from_negatives"])
def test_each_pair_pulls_as_strongly_as_it_should(kernel):
    """Relative to the pair's own slope, as the bounds on rounding take it."""
    kernel = getattr(LOGISTIC_KERNELS, kernel)
    t = np.linspace(-1, 1, 65)
    basis = chebvander(t, COEFFICIENTS - 1)
    for distance in range(-REACH_BOXES, REACH_BOXES + 1):
        u = np.longdouble(WIDTH) * (distance + (t[:, None] - t[None, :]) / 2)
        exact = kernel.function(u)
        table = kernel.near[distance + REACH_BOXES]
        assert np.max(np.abs((basis @ table.T @ basis.T) / exact - 1)) <= SLOPE_ACCURACY


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
def test_past_the_reach_the_ends_are_the_kernel(kernel):
    for u in (REACH, REACH + 3.7, REACH + 40):
        for (constant, linear, *series), sign in ((kernel.above, 1), (kernel.below, -1)):
            end = constant + linear * sign * u
            end += sum(e * np.exp(-m * u) for m, e in enumerate(series, start=1))
            exact = float(kernel.function(np.longdouble(sign * u)))
            assert end == pytest.approx(exact, rel=1e-13, abs=0)


def test_reflected_is_the_kernel_of_minus_u():
    slope = LOGISTIC_KERNELS.slope
    mirror = LOGISTIC_KERNELS.slope_from_negatives
    u = np.linspace(-30, 30, 13).astype(np.longdouble)
    np.testing.assert_array_equal(mirror.function(u), slope.function(-u))
    for end, opposite in ((mirror.above, slope.below), (mirror.below, slope.above)):
        assert end == (opposite[0], -opposite[1], *opposite[2:])


def test_width_is_a_power_of_two_so_that_positions_in_a_box_are_exact():
    assert np.log2(PER_UNIT) == round(np.log2(PER_UNIT))


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
def test_a_box_that_is_wanted_gets_the_same_field_whatever_else_is(kernel, gaps):
    rng = np.random.default_rng(0)
    ids = np.arange(200.0)
    if gaps:
        ids = np.sort(rng.choice(2000, 200, replace=False)).astype(float)
    moments = rng.random((200, COEFFICIENTS))
    wanted = rng.random(200) < 0.1
    some, every = kernel.fields(ids, moments, wanted), kernel.fields(ids, moments)
    size = np.abs(every).max()
    np.testing.assert_allclose(some[wanted], every[wanted], rtol=1e-13, atol=1e-15 * size)
    if gaps:
        assert not some[~wanted].any()


@pytest.mark.parametrize("share", [0.05, 0.5])
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
def test_fields_of_rare_sources_are_those_of_each_source_added_up(kernel, share):
    rng = np.random.default_rng(0)
    ids = np.arange(150.0)
    moments = rng.random((150, COEFFICIENTS)) * (rng.random((150, 1)) < share)
    added = np.zeros_like(moments)
    for k in np.flatnonzero(moments[:, 0]):
        alone = np.zeros_like(moments)
        alone[k] = moments[k]
        added += kernel.fields(ids, alone)
    fields = kernel.fields(ids, moments)
    np.testing.assert_allclose(fields, added, rtol=1e-12, atol=1e-14 * np.abs(added).max())


@pytest.mark.parametrize("kernel", ["slope", "slope_from_negatives"])
def test_each_pair_of_merged_boxes_pulls_as_strongly_as_it_should(kernel):
    """Through the coefficients of the boxes that were merged, on both sides."""
    kernel = getattr(LOGISTIC_KERNELS, kernel)
    t = np.linspace(-1, 1, 33)
    of_box = chebvander(t, COEFFICIENTS - 1) @ boxes._merging().reshape(
        boxes.MERGED, COEFFICIENTS, -1
    )
    at = np.concatenate([(t + 2 * k + 1 - boxes.MERGED) / boxes.MERGED for k in range(4)])
    basis, grid = of_box.reshape(at.size, -1), boxes.MERGED_GRID
    table = grid.table(kernel.function)
    for distance in range(-grid.reach_boxes, grid.reach_boxes + 1):
        u = np.longdouble(grid.width) * (distance + (at[:, None] - at[None, :]) / 2)
        found = basis @ table[distance + grid.reach_boxes].T @ basis.T
        assert np.max(np.abs(found / kernel.function(u) - 1)) <= SLOPE_ACCURACY


@pytest.mark.parametrize("first", [-203, -98, 0, 1])
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
def test_merged_boxes_have_the_fields_of_each(monkeypatch, kernel, first):
    """Of points in the boxes: moments that are none's have no reason to agree."""
    rng = np.random.default_rng(abs(first))
    n_boxes = 201
    ids = np.arange(n_boxes, dtype=float) + first
    points = chebvander(rng.uniform(-1, 1, 3 * n_boxes), COEFFICIENTS - 1)
    points *= rng.random(n_boxes).repeat(3)[:, None]
    moments = np.ascontiguousarray(points.reshape(n_boxes, 3, -1).sum(axis=1))
    merged = kernel.fields(ids, moments)
    monkeypatch.setattr(boxes, "BOXES_TO_MERGE", np.inf)
    np.testing.assert_allclose(merged, kernel.fields(ids, moments), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("n_boxes", [1, 2, 33, 64])
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
def test_one_product_for_all_boxes_is_the_sums_near_and_far(monkeypatch, kernel, n_boxes):
    rng = np.random.default_rng(n_boxes)
    ids = np.arange(n_boxes, dtype=float) - 7
    moments = rng.standard_normal((n_boxes, COEFFICIENTS, 3))
    all_boxes = np.ones(n_boxes, dtype=bool)

    def sums(n_terms):
        some = np.ascontiguousarray(moments[:, :n_terms])
        return kernel.fields(ids, moments[:, :, 0].copy()), kernel.row_fields(
            ids, all_boxes, all_boxes, some
        )

    for n_terms in (4, COEFFICIENTS):
        whole = sums(n_terms)
        with monkeypatch.context() as patch:
            patch.setattr(boxes, "WHOLE_BOXES", 0)
            apart = sums(n_terms)
        for one, other in zip(whole, apart, strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-13 * np.abs(other).max())
