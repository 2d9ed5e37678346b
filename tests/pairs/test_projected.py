"""The dual set of the hinge: the nearest point of it, against a quadratic program over pairs."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from everypair.pairs.projected import all_tied, project
from everypair.pairs.ranked_classes import SortedScores
from everypair.pairs.sorted import HingePoint
from everypair.rows import Rows
from everypair.solvers.corner import out_of_reach

STIFFNESS = np.array([0.4, 1.7])


def drawn(seed, weighted, n_rows=11, ties=False):
    rng = np.random.default_rng(seed)
    positive = np.arange(n_rows) < rng.integers(2, n_rows - 2)
    rng.shuffle(positive)
    weight = rng.integers(1, 5, n_rows).astype(float) if weighted else np.ones(n_rows)
    ahead = rng.integers(-2, 3, n_rows) / 2 if ties else rng.standard_normal(n_rows)
    return Rows.of(positive, weight), np.asarray(ahead, dtype=float)


def multipliers_of_pairs(pairs):
    """c as a linear map of theta, by definition."""
    columns = []
    for i in pairs.positives:
        for j in pairs.negatives:
            c = np.zeros(pairs.n_rows)
            c[i], c[j] = -pairs.share[i] * pairs.share[j], pairs.share[i] * pairs.share[j]
            columns.append(c)
    return np.array(columns).T


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_the_projection_is_the_nearest_point_that_pairs_can_make(seed, weighted, ties):
    pairs, ahead = drawn(seed, weighted, ties=ties)
    d = pairs.share * np.where(pairs.positive, *STIFFNESS)
    of_pairs = multipliers_of_pairs(pairs)
    nearest = lsq_linear(
        of_pairs / np.sqrt(d)[:, None], np.sqrt(d) * ahead, (0.0, 1.0), tol=1e-14, max_iter=1000
    )
    held = project(pairs, ahead, STIFFNESS)
    np.testing.assert_allclose(held.gradient, of_pairs @ nearest.x, atol=1e-6)
    assert out_of_reach(pairs, held.gradient) < 1e-13
    mine = np.sum((held.gradient - d * ahead) ** 2 / d)
    assert mine <= 2 * nearest.cost + 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_ties_share_a_level_and_others_have_the_gradient_of_the_hinge(seed):
    pairs, ahead = drawn(seed, weighted=True, n_rows=40)
    held = project(pairs, ahead, STIFFNESS)
    d = pairs.share * np.where(pairs.positive, *STIFFNESS)
    level = ahead - held.gradient / d
    tied = held.tie >= 0
    np.testing.assert_allclose(level[tied], held.levels[held.tie[tied]], atol=1e-12)
    assert np.all(np.diff(held.levels) < 0)
    assert np.all(held.lower <= held.gradient)
    assert np.all(held.gradient <= held.upper)
    assert np.array_equal(held.lower[~tied], held.upper[~tied])
    hinge = HingePoint(SortedScores(pairs, level + pairs.positive)).gradient()
    np.testing.assert_allclose(held.gradient[~tied], hinge[~tied], atol=1e-12)


def test_all_rows_may_be_tied():
    pairs, _ = drawn(0, weighted=True)
    held = all_tied(pairs)
    assert not held.gradient.any()
    np.testing.assert_allclose(held.lower.sum(), -1)
    np.testing.assert_allclose(held.upper.sum(), 1)
