"""Scores without refitting against models refitted on what is left."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from everypair.linalg.matrix import as_matrix
from everypair.rls import dual, pairs_won
from everypair.rls.leave_out import PairsLeftOut, fold_scores_dual, fold_scores_primal
from everypair.rls.spectrum import Spectrum
from everypair.rows import Rows

RIDGES = np.array([5e-6, 5e-4, 5e-2, 5.0, 5e4])


def data(weighted):
    rng = np.random.default_rng(4)
    n = 30
    positive = rng.random(n) < 0.35
    X = (rng.standard_normal((n, 4)) + 2).round(1)
    X[positive, 0] += 0.7
    # Twins of different class are tied whatever the model.
    X[np.flatnonzero(positive)[:2]] = X[np.flatnonzero(~positive)[:2]]
    return X, positive, rng.integers(1, 4, n).astype(float) if weighted else np.ones(n)


def refitted(K, positive, weight, left_out, ridge):
    rest = np.setdiff1d(np.arange(positive.size), left_out)
    weights = dual.PairWeights(Rows.uncut(positive[rest], weight[rest]))
    solution = dual.solve(K[np.ix_(rest, rest)], weights, ridge)
    return K[np.ix_(left_out, rest)] @ solution.coef - solution.midpoint


def refitted_pairs(K, positive, weight, ridge):
    rows, columns = np.flatnonzero(positive), np.flatnonzero(~positive)
    out = np.empty((rows.size, columns.size))
    for a, i in enumerate(rows):
        for b, j in enumerate(columns):
            high, low = refitted(K, positive, weight, np.array([i, j]), ridge)
            out[a, b] = high - low
    return out


FORMS = ["linear kernel", "rows", "rbf"]


def kernel_and_spectrum(form, X, positive, weight):
    centred = X - X.mean(axis=0)
    K = rbf_kernel(X, gamma=0.2) if form == "rbf" else centred @ centred.T
    if form == "rows":
        return K, lambda ratio: Spectrum.of_rows(X, positive, weight, ratio)
    return K, lambda ratio: Spectrum.of_kernel(K, positive, weight, ratio)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_leave_pair_out_equals_refitting(form, weighted):
    X, positive, weight = data(weighted)
    K, decompose = kernel_and_spectrum(form, X, positive, weight)
    left_out = PairsLeftOut(decompose, positive, weight)
    aucs = left_out.auc(RIDGES)
    pairs = np.outer(weight[positive], weight[~positive])
    for ridge, auc in zip(RIDGES, aucs, strict=True):
        expected = refitted_pairs(K, positive, weight, ridge)
        largest = abs(expected).max()
        got = left_out.differences(ridge)
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-7 * min(1, largest))
        tied = abs(expected) < 1e-9 * largest
        assert tied.sum() >= 2
        won = np.where(tied, 0.5, expected > 0)
        np.testing.assert_allclose(auc, np.sum(pairs * won) / pairs.sum(), atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n_folds", [2, 4, 30])
def test_folds_equal_refitting(form, weighted, n_folds):
    X, positive, weight = data(weighted)
    K, decompose = kernel_and_spectrum(form, X, positive, weight)
    rng = np.random.default_rng(0)
    everything = np.arange(30)
    tests = np.array_split(rng.permutation(30), n_folds)
    folds = [(np.setdiff1d(everything, test), test) for test in tests]
    if form == "rows":
        scores = fold_scores_primal(as_matrix(X), positive, weight, folds, RIDGES)
    else:
        scores = fold_scores_dual(decompose, positive, weight, folds, RIDGES)
    for (_, test), got in zip(folds, scores, strict=True):
        for k, ridge in enumerate(RIDGES):
            expected = refitted(K, positive, weight, test, ridge)
            np.testing.assert_allclose(
                got[:, k], expected, rtol=0, atol=1e-7 * min(1, abs(expected).max())
            )


@pytest.mark.parametrize("form", FORMS)
def test_folds_that_leave_more_out_than_they_test_equal_refitting(form):
    X, positive, weight = data(False)
    K, decompose = kernel_and_spectrum(form, X, positive, weight)
    rng = np.random.default_rng(1)
    folds = []
    for _ in range(3):
        order = rng.permutation(30)
        folds.append((np.sort(order[:15]), order[15:21]))
    if form == "rows":
        scores = fold_scores_primal(as_matrix(X), positive, weight, folds, RIDGES)
    else:
        scores = fold_scores_dual(decompose, positive, weight, folds, RIDGES)
    for (train, test), got in zip(folds, scores, strict=True):
        weights = dual.PairWeights(Rows.uncut(positive[train]))
        for k, ridge in enumerate(RIDGES):
            solution = dual.solve(K[np.ix_(train, train)], weights, ridge)
            expected = K[np.ix_(test, train)] @ solution.coef - solution.midpoint
            np.testing.assert_allclose(
                got[:, k], expected, rtol=0, atol=1e-7 * min(1, abs(expected).max())
            )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n_bytes", [1, 2**25])
def test_the_count_of_many_values_at_once_equals_one_by_one(form, n_bytes, monkeypatch):
    rng = np.random.default_rng(3)
    n, ridges = 80, np.logspace(-8.5, 4.5, 40)
    X, positive = rng.standard_normal((n, 4)), np.arange(n) < 25
    X[positive, 0] += 0.5
    weight = np.ones(n)
    _, decompose = kernel_and_spectrum(form, X, positive, weight)
    left_out = PairsLeftOut(decompose, positive, weight)
    expected = [np.mean(left_out.differences(ridge) > 0) for ridge in ridges]
    monkeypatch.setattr(pairs_won, "PLANE_BYTES", n_bytes)
    monkeypatch.setattr(pairs_won, "NEAR_BYTES", n_bytes)
    np.testing.assert_allclose(left_out.auc(ridges), expected, atol=1e-12)


def test_one_row_of_a_class_cannot_be_left_out():
    positive = np.array([True, False, False, False])
    with pytest.raises(ValueError, match="there is 1 positive row"):
        PairsLeftOut(lambda ratio: None, positive, np.ones(4))


def test_too_many_distinct_weights_are_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="15 x 15"):
        PairsLeftOut(lambda ratio: None, np.arange(30) < 15, rng.random(30))
