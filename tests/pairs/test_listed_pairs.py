"""Pairs one by one: the rounded hinge over a list, and the list of near neighbours."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from everypair.linalg.dense import DenseMatrix
from everypair.pairs.brute import BrutePoint
from everypair.pairs.listed import ListedHuberHingePoint, PairList
from everypair.pairs.losses import huber_hinge
from everypair.pairs.neighbors import neighbor_pairs
from everypair.rows import Rows


@pytest.mark.parametrize("width", [2.0, 0.1, 1e-4])
def test_a_list_of_every_pair_equals_the_definition(width):
    rng = np.random.default_rng(0)
    positive, weight = rng.random(40) < 0.3, rng.random(40)
    scores, vector, X = rng.standard_normal(40), rng.standard_normal(40), rng.random((40, 3))
    i, j = (m.ravel() for m in np.meshgrid(np.flatnonzero(positive), np.flatnonzero(~positive)))
    listed = ListedHuberHingePoint(PairList.of(i, j, weight[i] * weight[j], 40), scores, width)
    brute = BrutePoint(huber_hinge(width), Rows.uncut(positive, weight), scores)
    assert listed.value() == pytest.approx(brute.value(), rel=1e-12)
    assert listed.dual_value() == pytest.approx(brute.dual_value(), rel=1e-10)
    np.testing.assert_allclose(listed.gradient(), brute.gradient(), atol=1e-14)
    np.testing.assert_allclose(listed.product(vector), brute.product(vector), atol=1e-10)
    np.testing.assert_allclose(listed.hessian(DenseMatrix(X)), brute.hessian(X), atol=1e-10)
    ones = np.eye(40)
    diagonal = [brute.product(ones[k])[k] for k in range(40)]
    np.testing.assert_allclose(listed.curvature(), diagonal, atol=1e-10)


def test_pairs_without_weight_leave_the_list():
    listed = PairList.of(np.array([0, 1]), np.array([2, 3]), np.array([0.0, 4.0]), 4)
    assert listed.n_pairs == 1
    assert listed.total == 4.0
    np.testing.assert_array_equal(listed.positives, [1])
    np.testing.assert_array_equal(listed.share, [0, 1, 0, 1])


def by_the_paper(X, positive, m):
    """Section 3.3 word by word, for rows without ties."""
    distances = cdist(X, X)
    positives, negatives = np.flatnonzero(positive), np.flatnonzero(~positive)
    near = set()
    for j in negatives:
        near |= set(positives[np.argsort(distances[j, positives])[:m]])
    return {(i, j) for i in near for j in negatives[np.argsort(distances[i, negatives])[:m]]}


@pytest.mark.parametrize("m", [1, 3, 1000])
@pytest.mark.parametrize("share", [0.1, 0.5])
@pytest.mark.parametrize("change", [np.asarray, sparse.csr_matrix, lambda X: X + 1e6])
def test_neighbours_are_those_of_section_3_3(m, share, change):
    rng = np.random.default_rng(1)
    X, positive = rng.standard_normal((80, 3)), rng.random(80) < share
    listed = neighbor_pairs(change(X), positive, m)
    assert set(zip(listed.first, listed.second, strict=True)) == by_the_paper(X, positive, m)
    assert listed.total == listed.n_pairs <= m * positive.sum()


def test_neighbours_in_a_kernel_matrix_are_those_in_its_space():
    rng = np.random.default_rng(1)
    X, positive = rng.standard_normal((80, 3)), rng.random(80) < 0.3
    by_rows = neighbor_pairs(X, positive, 4)
    for K in (X @ X.T, sparse.csr_matrix(X @ X.T)):
        by_matrix = neighbor_pairs(K, positive, 4, precomputed=True)
        np.testing.assert_array_equal(by_matrix.first, by_rows.first)
        np.testing.assert_array_equal(by_matrix.second, by_rows.second)


def test_neighbours_do_not_hang_on_the_order_of_equal_rows():
    rng = np.random.default_rng(2)
    X, positive = rng.integers(0, 3, (60, 2)).astype(float), rng.random(60) < 0.4
    order = rng.permutation(60)
    one, other = neighbor_pairs(X, positive, 2), neighbor_pairs(X[order], positive[order], 2)
    assert set(zip(one.first, one.second, strict=True)) == set(
        zip(order[other.first], order[other.second], strict=True)
    )


def test_a_weight_of_two_counts_for_two_neighbours():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    positive = np.array([True, False, False, False])
    plain = neighbor_pairs(X, positive, 2)
    np.testing.assert_array_equal(plain.second, [1, 2])
    weighted = neighbor_pairs(X, positive, 2, np.array([1.0, 2.0, 1.0, 1.0]))
    np.testing.assert_array_equal(weighted.second, [1])
    without = neighbor_pairs(X, positive, 2, np.array([1.0, 0.0, 1.0, 1.0]))
    np.testing.assert_array_equal(without.second, [2, 3])
