"""A few alphas of a path foretell the others on other rows of the same table."""

from functools import partial

import numpy as np
import pytest
from counting import rows

from everypair.linalg.matrix import as_matrix
from everypair.pairs import pair_point
from everypair.penalties import L2
from everypair.rows import Rows
from everypair.solvers.choose import minimise
from everypair.solvers.foretelling import Known, KnownPath, Slopes
from everypair.solvers.newton import NewtonMatrix
from everypair.solvers.problem import Problem


def point_at(X, pairs, loss, alpha, w):
    return Problem(X, partial(pair_point, loss, pairs), L2(alpha)).at(w)


def matrix_at(X, pairs, loss, alpha, w):
    return NewtonMatrix(point_at(X, pairs, loss, alpha, w))


def path_of(X, pairs, loss, alphas):
    found = {}
    for alpha in alphas.tolist():
        w = minimise(X, pairs, loss, alpha, tol=1e-12).coef
        now = point_at(X, pairs, loss, alpha, w)
        found[alpha] = Known(w, NewtonMatrix(now), Slopes.at(now, pairs.share))
    return found


def test_a_matrix_its_root_and_its_solutions_agree():
    X, y = rows(400, 7)
    matrix = matrix_at(as_matrix(X), Rows.of(y), "logistic", 1e-3, np.linspace(-1, 1, 7))
    v = np.arange(7.0)
    np.testing.assert_allclose(matrix.root().T @ (matrix.root() @ v), matrix.times(v), rtol=1e-9)
    np.testing.assert_allclose(matrix.times(matrix.solve(v)), v, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_tellers_foretell_the_other_alphas(loss):
    """The gradient from the known solution to that of other rows, within a few hundredths."""
    X, y = rows(6000, 12)
    matrix, pairs = as_matrix(X), Rows.of(y)
    alphas = np.geomspace(100, 1e-6, 20)
    on_all = path_of(matrix, pairs, loss, alphas)
    path = KnownPath(on_all)
    train = pairs.weighing(np.arange(6000) % 5 != 0)
    gradients = [
        on_all[alpha].matrix.times(
            minimise(matrix, train, loss, alpha, tol=1e-12).coef - on_all[alpha].w
        )
        for alpha in path.alphas
    ]
    told = {j: gradients[j] for j in path.tellers}
    assert len(path.tellers) <= 7
    for k in range(20):
        offset = path.offset(k, told, None)
        if k in path.tellers:
            assert offset is None
            continue
        off = path[k].matrix.times(offset) - gradients[k]
        assert np.linalg.norm(off) <= 0.03 * np.linalg.norm(gradients[k])


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
@pytest.mark.parametrize("far", [0.0, 1e4])
def test_the_gradient_of_a_fold_is_known_nearly(loss, far):
    """From the slopes of all rows, wherever the columns lie; within a fifth of its length."""
    X, y = rows(6000, 12)
    matrix, pairs = as_matrix(X + far), Rows.of(y)
    path = KnownPath(path_of(matrix, pairs, loss, np.geomspace(100, 1e-6, 5)))
    train = pairs.weighing(np.arange(6000) % 5 != 0)
    at_known = path.gradients(matrix, train.share)
    for k, alpha in enumerate(path.alphas):
        gradient = point_at(matrix, train, loss, alpha, path[k].w).gradient
        off = np.linalg.norm(at_known[k] - gradient)
        assert off <= 0.2 * np.linalg.norm(gradient)
    first = path.tellers[0]
    step = path.offset(first, {}, at_known)
    np.testing.assert_allclose(path[first].matrix.times(step), -at_known[first], rtol=1e-6)


def test_on_the_known_rows_nothing_is_left_to_tell():
    X, y = rows(2000, 6)
    matrix, pairs = as_matrix(X), Rows.of(y)
    path = KnownPath(path_of(matrix, pairs, "logistic", np.geomspace(10, 1e-4, 4)))
    assert np.abs(path.gradients(matrix, pairs.share)).max() <= 1e-6
    without = {k: path[i]._replace(slopes=None) for i, k in enumerate(path.alphas)}
    assert KnownPath(without).gradients(matrix, pairs.share) is None


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_what_is_known_of_the_rows_makes_the_tellers_tell_more(loss):
    X, y = rows(6000, 12)
    matrix, pairs = as_matrix(X), Rows.of(y)
    on_all = path_of(matrix, pairs, loss, np.geomspace(100, 1e-6, 20))
    path = KnownPath(on_all)
    train = pairs.weighing(np.arange(6000) % 5 != 0)
    at_known = path.gradients(matrix, train.share)
    offsets = [
        minimise(matrix, train, loss, alpha, tol=1e-12).coef - on_all[alpha].w
        for alpha in path.alphas
    ]
    told = {j: path[j].matrix.times(offsets[j]) for j in path.tellers}
    off = {}
    for which in (None, at_known):
        off[which is None] = sum(
            float(np.sum(path[k].matrix.times(path.offset(k, told, which) - offsets[k]) ** 2))
            for k in range(20)
            if k not in path.tellers
        )
    assert off[False] <= off[True] / 4


def test_alphas_are_numbered_as_they_are_asked_for():
    X, y = rows(300, 3)
    path = KnownPath(path_of(as_matrix(X), Rows.of(y), "logistic", np.array([1.0, 0.1, 0.01])))
    assert path.in_order_of(np.array([0.01, 1.0, 0.1])) == [2, 0, 1]
    assert path.in_order_of(np.array([0.01, 1.0])) is None
    assert path.in_order_of(np.array([0.01, 1.0, 0.5])) is None


def test_a_path_out_of_range_foretells_nothing():
    X, y = rows(300, 3)
    on_all = path_of(as_matrix(X), Rows.of(y), "logistic", np.geomspace(1, 1e-3, 4))
    for size in (np.inf, 1e300):
        wrong = {alpha: Known(size * known.w, known.matrix) for alpha, known in on_all.items()}
        with np.errstate(over="ignore", invalid="ignore"):
            assert KnownPath(wrong).tellers == [0, 1, 2, 3]
