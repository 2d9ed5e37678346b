"""Wide X: hinges are solved in the space of the rows that count."""

from functools import partial

import numpy as np
import pytest
from counting import counted_work
from scipy import sparse

from everypair import AUCClassifier
from everypair.linalg.matrix import as_matrix
from everypair.pairs import pair_point
from everypair.pairs.ranked_classes import SortedScores
from everypair.pairs.sorted import HuberHingePoint
from everypair.penalties import L2
from everypair.rows import Rows
from everypair.solvers import choose, working_rows
from everypair.solvers.choose import minimise
from everypair.solvers.problem import Problem
from everypair.solvers.row_grams import RowGrams
from everypair.solvers.row_newton import RowNewton, _Step
from everypair.solvers.working_rows import rows_pay


def square(n=400, share=0.1, n_columns=None):
    rng = np.random.default_rng(0)
    p = n if n_columns is None else n_columns
    X = rng.standard_normal((n, p)) + 3
    signal = X @ (0.3 * rng.standard_normal(p)) + rng.logistic(size=n)
    return X, signal > np.quantile(signal, 1 - share)


def dense_hessian(pairs, scores, inside, height):
    """Of the pairs whose shortfall is ``inside``, from the definition."""
    i, j = pairs.positives, pairs.negatives
    short = 1 - (scores[i][:, None] - scores[j])
    cross = height * np.outer(pairs.share[i], pairs.share[j]) * inside(short)
    out = np.zeros((scores.size, scores.size))
    out[np.ix_(i, j)], out[np.ix_(j, i)] = -cross, -cross.T
    out[i, i], out[j, j] = cross.sum(axis=1), cross.sum(axis=0)
    return out


@pytest.mark.parametrize("loss", ["squared_hinge", "huber"])
def test_a_step_solves_newtons_system_of_the_definition(loss):
    """``(alpha + K H) d = -K (c + alpha b)``: b' = -(c + H d) / alpha."""
    X, y = square(120, 0.3, 200)
    pairs, alpha = Rows.of(y), 1e-2
    X -= X.mean(axis=0)
    gram = X @ X.T
    rng = np.random.default_rng(1)
    b = rng.standard_normal(y.size)
    b -= b.mean()
    b *= 0.7 / np.std(gram @ b)
    scores = gram @ b
    if loss == "huber":
        point = HuberHingePoint(SortedScores(pairs, scores), 1.5)
        inside, height = (lambda u: (u > 0) & (u < 1.5)), 1 / 1.5
    else:
        point = pair_point(loss, pairs, scores)
        inside, height = (lambda u: u > 0), 2.0
    hessian = dense_hessian(pairs, scores, inside, height)
    c = point.gradient()
    change = np.linalg.solve(alpha * np.eye(y.size) + gram @ hessian, -gram @ (c + alpha * b))
    known = RowGrams(as_matrix(X))
    known.add(np.arange(y.size))
    newton = RowNewton(known, None, alpha)
    step = _Step.of(point, alpha, newton._size)
    found = step.solved(newton._gram, -alpha * b, 1e-18)
    expected = c + hessian @ change
    np.testing.assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max())
    assert np.abs(expected + alpha * b).max() > 0.1 * np.abs(expected).max()


@pytest.mark.parametrize("single", [False, True])
def test_whole_steps_end_in_the_minimum_from_anywhere(single):
    X, y = square(150, 0.2, 300)
    pairs, alpha = Rows.of(y), 1e-3
    known = RowGrams(as_matrix(X), single=single)
    known.add(np.arange(y.size))
    newton = RowNewton(known, partial(pair_point, "squared_hinge", pairs), alpha)
    problem = Problem(as_matrix(X), partial(pair_point, "squared_hinge", pairs), L2(alpha))
    rng = np.random.default_rng(2)
    for first in (np.zeros(y.size), rng.standard_normal(y.size)):
        b = first - first.mean()
        scores = X @ (X.T @ b)
        for _ in range(2):  # what single precision left of the first
            b = newton.solved(b, scores, 1e-8)
            w = X.T @ b
            scores = X @ w
        now = problem.at(w)
        assert now.gap <= 1e-6 * now.value


def test_products_of_rows_are_computed_once_and_about_the_means():
    X, _ = square(60)
    asked = []
    matrix = as_matrix(X)
    plain = matrix.row_products

    def row_products(rows, others, unit=None):
        asked.append(rows.size * others.size)
        return plain(rows, others, unit)

    matrix.row_products = row_products
    known = RowGrams(matrix)
    known.add(np.arange(5, 25))
    rows = np.sort(np.random.default_rng(0).choice(60, 25, replace=False))
    found = known.of(rows)
    centred = X - X.mean(axis=0)
    np.testing.assert_allclose(found, centred[rows] @ centred[rows].T, atol=1e-9)
    n_old, n_new = 20, np.setdiff1d(rows, np.arange(5, 25)).size
    assert sum(asked) <= n_old**2 + n_new * n_old + n_new**2
    before = len(asked)
    known.of(rows[::2])
    assert len(asked) == before


@pytest.mark.parametrize("form", ["C", "F", "single", "CSR"])
@pytest.mark.parametrize("unit", [None, 8.0])
def test_row_products_of_every_form(form, unit):
    X, _ = square(90, n_columns=700)
    X = X.astype(np.float32).astype(float)
    given = {"C": X, "F": np.asfortranarray(X), "single": X.astype(np.float32),
             "CSR": sparse.csr_matrix(X)}[form]  # fmt: skip
    centred = (X - X.mean(axis=0)) / (unit or 1.0)
    rng = np.random.default_rng(0)
    rows, others = rng.permutation(90)[:40], rng.permutation(90)[:30]
    matrix = as_matrix(given)
    tolerance = 1e-9 if unit is None else 1e-4
    found = matrix.row_products(rows, rows, unit)
    assert found.dtype == (np.float64 if unit is None else np.float32)
    np.testing.assert_allclose(found, centred[rows] @ centred[rows].T, atol=tolerance)
    np.testing.assert_array_equal(found, found.T)
    found = matrix.row_products(rows, others, unit)
    np.testing.assert_allclose(found, centred[rows] @ centred[others].T, atol=tolerance)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("form", ["dense", "single", "weights", "large", "small"])
def test_the_minimum_is_that_of_the_way_over_all_rows(loss, form, monkeypatch):
    X, y = square(500, 0.1, 600)
    X = X.astype(np.float32).astype(float)
    scale = {"large": 1e25, "small": 1e-25}.get(form, 1.0)
    pairs = Rows.of(y, 1.0 + np.arange(y.size) % 3) if form == "weights" else Rows.of(y)
    given = X.astype(np.float32) if form == "single" else scale * X
    found = minimise(as_matrix(given), pairs, loss, 1e-3 * scale**2)
    assert found.distance <= 1e-6
    assert found.n_iter <= 8
    monkeypatch.setattr(working_rows, "WORTH", 0)
    other = minimise(as_matrix(X), pairs, loss, 1e-3)
    assert other.n_iter > 8
    assert found.objective == pytest.approx(other.objective, rel=2e-6)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_copies_of_rows_and_constant_columns_do_no_harm(loss):
    X, y = square(320, 0.2)
    X[:, ::7] = 4.0
    X[1::2] = X[::2]
    y[1::2] = y[::2]
    found = minimise(as_matrix(X), Rows.of(y), loss, 1e-3)
    assert found.distance <= 1e-6
    half = minimise(as_matrix(X[::2]), Rows.of(y[::2]), loss, 1e-3)
    assert found.objective == pytest.approx(half.objective, rel=2e-6)


def test_few_passes_over_wide_data(monkeypatch):
    """Without the space of the rows 25 steps and 500 passes."""
    X, y = square(600)

    def work(loss):
        model = AUCClassifier(loss, alpha=1e-3, threshold=0.0)
        with counted_work(*X.shape) as counted:
            model.fit(X, y)
        assert model.dual_gap_ <= 1e-6
        return counted["passes"]

    squared, hinge = work("squared_hinge"), work("hinge")
    assert squared <= 50
    assert hinge <= 60
    monkeypatch.setattr(working_rows, "WORTH", 0)
    assert work("squared_hinge") > 4 * squared


@pytest.mark.parametrize("share", [0.1, 0.2])
def test_only_rows_that_count_are_multiplied(share, monkeypatch):
    X, y = square(600, share)
    n_rows, plain = [], RowGrams.add

    def add(known, rows):
        plain(known, rows)
        n_rows.append(known.rows.size)

    monkeypatch.setattr(RowGrams, "add", add)
    found = minimise(as_matrix(X), Rows.of(y), "squared_hinge", 1e-3)
    short = np.count_nonzero(pair_point("squared_hinge", Rows.of(y), found.scores).gradient())
    assert short < 0.6 * y.size
    assert short <= n_rows[-1] <= 1.15 * short


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_few_rows_join_at_once(loss):
    """By a share of those known, 40 rows take 11 rounds."""
    X, y = square(40, 0.3, 600)
    model = AUCClassifier(loss, alpha=1e-3, threshold=0.0).fit(X, y)
    assert model.dual_gap_ <= 1e-6
    assert model.n_iter_ <= 4


def test_a_matrix_that_would_outgrow_x_is_not_made():
    tall, wide = as_matrix(np.zeros((4000, 3000))), as_matrix(np.zeros((3000, 4000)))
    assert rows_pay(wide, 1000)
    assert rows_pay(wide, 2400)
    assert not rows_pay(wide, 2500)  # half of X
    assert not rows_pay(tall, 3001)  # no more rows than columns
    places = np.tile(np.arange(0, 20_000, 1000), 20_000), np.arange(0, 400_001, 20)
    few = as_matrix(sparse.csr_matrix((np.ones(400_000), *places), shape=(20_000, 20_000)))
    assert not rows_pay(few, 3000)


def test_a_way_that_fails_leaves_the_start_as_it_was(monkeypatch):
    """K without a step, or one that leads nowhere: the way over all rows goes on from zero."""
    X, y = square(400)
    monkeypatch.setattr(_Step, "solved", lambda *_: None)
    seen, plain = [], choose.solution_by_rows

    def look(now, *rest):
        seen.append(plain(now, *rest))
        return seen[-1]

    monkeypatch.setattr(choose, "solution_by_rows", look)
    found = minimise(as_matrix(X), Rows.of(y), "squared_hinge", 1e-3)
    assert not seen[0].w.any()
    assert found.distance <= 1e-6
