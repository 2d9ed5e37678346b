"""Newton's matrices that serve more than one point, and steps along what they give."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from everypair.linalg.matrix import as_matrix
from everypair.pairs import pair_point
from everypair.penalties import L2
from everypair.rows import Rows
from everypair.solvers.choose import HESSIAN_COLUMNS, minimise
from everypair.solvers.line_search import LONGEST_STEP, search_line
from everypair.solvers.newton import CHEAP_COLUMNS, STEPS_OF_A_MATRIX, Newton, NewtonMatrix
from everypair.solvers.problem import Problem
from everypair.solvers.progress import Progress

ALPHA = 1e-3


@pytest.fixture
def objective():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 5)) * np.array([1, 10, 0.1, 1, 1])
    positive = X @ np.array([1.0, -0.1, 5.0, 0.0, 2.0]) + rng.logistic(size=200) > 1
    loss_at = partial(pair_point, "logistic", Rows.uncut(positive))
    return Problem(as_matrix(X), loss_at, L2(ALPHA))


def steps_of(objective, matrix, n_steps):
    now = objective.at(np.zeros(5))
    for _ in range(n_steps):
        after = search_line(now, matrix.step(now.gradient))
        matrix.learn(now, after)
        yield now, after
        now = after


def test_a_matrix_reproduces_the_last_change_that_it_learnt(objective):
    matrix = NewtonMatrix(objective.at(np.zeros(5)))
    for now, after in steps_of(objective, matrix, 4):
        change = after.gradient - now.gradient
        np.testing.assert_allclose(matrix.step(change), now.w - after.w, rtol=1e-9)


def test_what_is_learnt_is_the_update_of_bfgs(objective):
    zero = objective.at(np.zeros(5))
    matrix = NewtonMatrix(zero)
    hessian = zero.loss.hessian(objective.X) + ALPHA * np.eye(5)
    for now, after in steps_of(objective, matrix, 3):
        step, change = after.w - now.w, after.gradient - now.gradient
        pressed = hessian @ step
        hessian += np.outer(change, change) / (change @ step)
        hessian -= np.outer(pressed, pressed) / (step @ pressed)
        expected = -np.linalg.solve(hessian, after.gradient)
        np.testing.assert_allclose(matrix.step(after.gradient), expected, rtol=1e-5)


@pytest.fixture
def made(monkeypatch):
    """The points at which matrices are built."""
    points = []
    plain = NewtonMatrix.__init__
    monkeypatch.setattr(
        NewtonMatrix,
        "__init__",
        lambda self, now, *of: (points.append(now), plain(self, now, *of))[1],
    )
    return points


def test_learning_spares_steps(objective, monkeypatch):
    def n_steps():
        progress = Progress(200)
        now = Newton()(objective.at(np.zeros(5)), lambda now: now.gap <= 1e-12, progress)
        assert now.gap <= 1e-12
        return progress.n_iter

    learning = n_steps()
    monkeypatch.setattr(NewtonMatrix, "learn", lambda *_: None)
    assert learning < n_steps()


def test_a_change_without_curvature_is_not_learnt(objective):
    now = objective.at(np.zeros(5))
    matrix = NewtonMatrix(now)
    matrix.learn(now, now)
    assert matrix.n_learnt == 0


@pytest.mark.parametrize(
    ("share", "n_learnt", "n_made"),
    [(0.9, 1, 1), (0.9, STEPS_OF_A_MATRIX - 1, 1), (0.9, STEPS_OF_A_MATRIX, 2), (1.0, 1, 2)],
)
def test_a_matrix_is_made_again_when_worn_or_cheap(objective, made, share, n_learnt, n_made):
    zero = objective.at(np.zeros(5))
    solver = Newton()
    now = solver(zero, lambda now: now is not zero, Progress(10))
    while solver._matrix.n_learnt < n_learnt:
        solver._matrix.learn(zero, now)
    cheap_from = 5 / CHEAP_COLUMNS * objective.X.shape[0]
    solver.renew(now, int(np.ceil(share * cheap_from)))
    assert len(made) == n_made


@pytest.mark.parametrize("share", [0.1, 0.4])
def test_a_step_that_ends_on_a_slope_is_lengthened(objective, share):
    """A tenth of Newton's step goes on as far as it may; two fifths to about where it is level."""
    now = objective.at(np.zeros(5))
    newton = NewtonMatrix(now).step(now.gradient)
    after = search_line(now, share * newton)
    length = float(after.w @ newton / (newton @ newton))
    assert share < length <= share * LONGEST_STEP + 1e-12
    assert after.value < objective.at(share * newton).value
    slope = float(after.gradient @ newton)
    assert abs(slope) < 0.8 * abs(float(now.gradient @ newton))


def test_a_step_to_the_level_is_not_lengthened(objective):
    start = objective.at(np.full(5, 0.1))
    minimum = Newton()(start, lambda now: now.gap <= 1e-14, Progress(100))
    after = search_line(start, minimum.w - start.w)
    np.testing.assert_allclose(after.w, minimum.w)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_step_into_the_flat_finds_back(loss, seed):
    """One positive, hardly a penalty: a step too long ends where no pair is short, and the way back
    has all of its curvature at the far end."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((400, 40))
    positive = np.arange(400) == np.argmax(X[:, 0])
    fit = minimise(as_matrix(X), Rows.uncut(positive), loss, 1e-6, tol=1e-6, max_iter=60)
    assert fit.distance <= 1e-6


def test_a_shortened_step_is_not_shorter_than_it_must_be():
    """A valley with a flat floor, entered from a wall: the parabola stops far too early."""
    X = np.array([[1.0], [0.0]])
    problem = Problem(
        as_matrix(X),
        partial(pair_point, "squared_hinge", Rows.uncut(np.array([True, False]))),
        L2(1e-6),
    )
    after = search_line(problem.at(np.array([1.5])), np.array([-1e3]))
    np.testing.assert_allclose(after.w, 1, atol=0.01)


def test_a_kept_matrix_may_not_raise_the_gap(objective, made):
    """The matrix of zero leads astray far away: its step is not taken, a new one is built."""
    solver = Newton()
    solver._matrix = NewtonMatrix(objective.at(np.zeros(5)))
    far = objective.at(3 * np.random.default_rng(4).standard_normal(5))
    astray = search_line(far, solver._matrix.step(far.gradient))
    assert astray.gap > far.gap
    made.clear()
    solver(far, lambda now: now is not far, Progress(1))
    assert made == [far]


@pytest.mark.parametrize(("loss", "n_made"), [("logistic", False), ("hinge", True)])
def test_many_products_a_step_give_way_to_a_hessian(made, loss, n_made):
    """A narrowly rounded hinge of separable rows; the logistic loss needs few products."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((1000, HESSIAN_COLUMNS + 20))
    positive = X[:, 0] + X[:, 1] > 1
    rest = as_matrix(X), Rows.uncut(positive), loss, ALPHA
    fit = minimise(*rest, to_limit=False)
    assert fit.distance <= 1e-6
    assert bool(made) == n_made
    by_products = minimise(*rest, solver="newton-cg", to_limit=False)
    assert by_products.n_iter >= fit.n_iter
    assert fit.objective <= by_products.objective * (1 + 1e-6)


def test_rows_that_say_too_little_of_all_rows_give_way(objective, monkeypatch):
    """A few rows, of which one column tells nothing, stand for all of them at first."""
    made, init = [], NewtonMatrix.__init__

    def counted(self, now, some_rows=None):
        made.append(some_rows is not None)
        init(self, now, some_rows)

    monkeypatch.setattr(NewtonMatrix, "__init__", counted)
    rows = np.flatnonzero(objective.X.X[:, 2] > 0.05)
    few = objective.X.X[rows] * np.array([1e-3, 1e-3, 1e-3, 1.0, 1.0])
    some = Rows.uncut(objective.at(np.zeros(5)).loss.pairs.positive[rows])

    def of_some(now):
        return as_matrix(few), pair_point("logistic", some, now.scores[rows])

    def solved(now):
        return now.gap <= 1e-9 * now.value

    start = objective.at(np.zeros(5))
    end = Newton(some_rows=of_some)(start, solved, Progress(100))
    assert made[0]
    assert not made[-1]
    assert made == sorted(made, reverse=True)  # once they have given way, they do not come back
    assert len(made) <= 6
    assert solved(end)
    np.testing.assert_allclose(end.w, Newton()(start, solved, Progress(100)).w, rtol=1e-3)
