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
from everypair.solvers.foretelling import Known, KnownPath
from everypair.solvers.newton import NewtonMatrix
from everypair.solvers.problem import Problem


def matrix_at(X, pairs, loss, alpha, w):
    return NewtonMatrix(Problem(X, partial(pair_point, loss, pairs), L2(alpha)).at(w))


def path_of(X, pairs, loss, alphas):
    found = {}
    for alpha in alphas.tolist():
        w = minimise(X, pairs, loss, alpha, tol=1e-12).coef
        found[alpha] = Known(w, matrix_at(X, pairs, loss, alpha, w))
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
        offset = path.offset(k, told)
        if k in path.tellers:
            assert offset is None
            continue
        off = path[k].matrix.times(offset) - gradients[k]
        assert np.linalg.norm(off) <= 0.03 * np.linalg.norm(gradients[k])


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
