"""The push towards the top equals its definition, written out pair by pair."""

import numpy as np
import pytest

from everypair.pairs import pair_point
from everypair.pairs.pushed import PushedPoint
from everypair.pairs.smooth import LOGISTIC_KERNELS, SmoothPoint
from everypair.rows import Rows


def definition(rows, scores, power):
    """The p-norm over the negatives of their mean logistic loss."""
    positives, negatives = rows.classes
    margins = scores[positives][:, None] - scores[negatives][None, :]
    losses = rows.share[positives] @ np.logaddexp(0, -margins)
    return (rows.share[negatives] @ losses**power) ** (1 / power)


def pushed_point(rows, scores, power):
    return PushedPoint(SmoothPoint(LOGISTIC_KERNELS, rows, scores), power)


def some_rows(seed, n=60, weighted=True):
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < 0.3
    positive[:2] = True, False
    weight = rng.integers(0, 4, n).astype(float) if weighted else None
    if weighted:
        weight[:2] = 1
    scores = np.round(3 * rng.standard_normal(n), 1)  # ties
    return Rows.uncut(positive, weight), scores


@pytest.mark.parametrize("power", [1.5, 2, 4])
@pytest.mark.parametrize("weighted", [True, False])
def test_value_and_gradient_equal_the_definition(power, weighted):
    rows, scores = some_rows(3, weighted=weighted)
    point = pushed_point(rows, scores, power)
    assert point.value() == pytest.approx(definition(rows, scores, power), rel=1e-12)
    step = 1e-5
    for k in range(0, scores.size, 7):
        ahead, behind = scores.copy(), scores.copy()
        ahead[k] += step
        behind[k] -= step
        slope = definition(rows, ahead, power) - definition(rows, behind, power)
        assert point.gradient()[k] == pytest.approx(slope / (2 * step), rel=1e-6, abs=1e-9)


def test_a_power_of_one_is_the_mean_over_pairs():
    rows, scores = some_rows(5)
    pushed, plain = pushed_point(rows, scores, 1.0), pair_point("logistic", rows, scores)
    assert pushed.value() == pytest.approx(plain.value(), rel=1e-12)
    np.testing.assert_allclose(pushed.gradient(), plain.gradient(), rtol=1e-10)
    np.testing.assert_allclose(pushed.curvature(), plain.curvature(), rtol=1e-10)


def test_curvature_of_the_negatives_is_that_of_the_norm_without_its_negative_term():
    rows, scores = some_rows(7, n=400, weighted=False)
    power, step = 3.0, 1e-3
    point = pushed_point(rows, scores, power)
    norm = definition(rows, scores, power)
    for k in rows.negatives[::40]:
        moved = [scores + d * (np.arange(scores.size) == k) for d in (-step, 0, step)]
        below, here, above = (definition(rows, s, power) for s in moved)
        # d2 L = (what `curvature` has) - (p - 1) (dL)^2 / L
        bend = (above - 2 * here + below) / step**2 + (power - 1) * point.gradient()[k] ** 2 / norm
        assert point.curvature()[k] == pytest.approx(bend, rel=1e-3, abs=1e-8)


def test_pairs_that_are_all_won_by_far_give_zero_not_nan():
    rows = Rows.uncut(np.array([True, False, False]))
    point = pushed_point(rows, np.array([2000.0, -2000.0, -2000.0]), 4.0)
    assert point.value() == 0
    assert np.all(point.gradient() == 0)
    assert np.all(point.curvature() == 0)
