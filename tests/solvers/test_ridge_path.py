"""The L2 path from solution to solution is the path of single fits, for less work."""

from contextlib import contextmanager
from functools import partial

import numpy as np
import pytest
from counting import counted_work, rows

from everypair.linalg.matrix import as_matrix
from everypair.pairs import auc, pair_point
from everypair.penalties import L2
from everypair.rows import Rows
from everypair.solvers import choose, ridge_path
from everypair.solvers.choose import minimise
from everypair.solvers.foretelling import Known, KnownPath
from everypair.solvers.newton import NewtonMatrix
from everypair.solvers.path_beside import extrapolated
from everypair.solvers.problem import Problem
from everypair.solvers.ridge_path import RidgeProblem

LOSSES = ["logistic", "squared_hinge", "exponential", "square", "hinge"]
ALPHAS = np.geomspace(10.0, 1e-5, 7)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n_rows", [300, 16_000])
def test_a_path_has_the_solutions_of_single_fits(loss, n_rows):
    """The smaller without a sample that goes ahead, the larger with one."""
    X, y = rows(n_rows, 5)
    matrix, pairs = as_matrix(X), Rows.of(y)
    path = RidgeProblem(matrix, pairs, loss)
    tol = 1e-9
    for alpha in ALPHAS:
        along = path.fit(alpha, tol=tol, max_iter=100)
        alone = minimise(matrix, pairs, loss, alpha, tol=tol)
        assert along.distance <= tol
        assert along.objective == pytest.approx(alone.objective, rel=3 * tol)
        np.testing.assert_allclose(along.scores, X @ along.coef, atol=1e-10)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_a_sample_large_enough_for_a_sample_of_its_own_goes_ahead(loss, monkeypatch):
    """As with 150,000 rows."""
    for module in (choose, ridge_path):
        monkeypatch.setattr(module, "LEAST_SAMPLE", 100)
    X, y = rows(12_000, 5)
    sample, sampled = Rows.sample, []
    monkeypatch.setattr(
        Rows, "sample", lambda self, size: sampled.append(self.n_rows) or sample(self, size)
    )
    path = RidgeProblem(as_matrix(X), Rows.of(y), loss)
    found = dict(path.along(ALPHAS, tol=1e-6, max_iter=100))
    assert min(sampled) < 12_000
    assert sorted(found) == list(range(ALPHAS.size))
    assert max(fit.distance for fit in found.values()) <= 1e-6


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_alphas_may_repeat_and_rise(loss):
    X, y = rows(16_000, 5)
    path = RidgeProblem(as_matrix(X), Rows.of(y), loss)
    for alpha in [1e-2, 1e-2, 1e-3, 1e-1, 1e-1 * (1 + 1e-12), 1e-4, 1e-2]:
        assert path.fit(alpha, tol=1e-8, max_iter=100).distance <= 1e-8


def test_a_path_of_the_hinge_keeps_its_matrix():
    """On many rows a fit by itself needs matrices of its own, of a sample or of all rows."""
    X, y = rows(16_000, 5)
    matrix, pairs, alphas = as_matrix(X), Rows.of(y), np.geomspace(1.0, 1e-3, 12)
    path = RidgeProblem(matrix, pairs, "hinge")
    with counted_work(*X.shape) as along:
        for alpha in alphas:
            assert path.fit(alpha, tol=1e-6, max_iter=100).distance <= 1e-6
    with counted_work(*X.shape) as alone:
        for alpha in alphas:
            minimise(matrix, pairs, "hinge", alpha)
    assert along["hessians"] <= min(1.5, 0.5 * alone["hessians"])
    assert along["pair_sums"] <= 0.75 * alone["pair_sums"]


def test_a_path_starts_where_it_is_told():
    X, y = rows(2000, 5)
    path = RidgeProblem(as_matrix(X), Rows.of(y), "logistic")
    found = path.fit(1e-3, tol=1e-10, max_iter=100)
    path.fit(1.0, tol=1e-10, max_iter=100)
    path.start_at(found.coef)
    assert path.fit(1e-3, tol=1e-9, max_iter=100).n_iter == 0


def test_a_matrix_factored_for_another_alpha_is_the_matrix_made_there():
    X, y = rows(500, 6)
    loss_at = partial(pair_point, "logistic", Rows.of(y))
    w = np.linspace(-1, 1, 6)
    here, there = (Problem(as_matrix(X), loss_at, L2(alpha)).at(w) for alpha in (1.0, 1e-3))
    matrix = NewtonMatrix(here)
    matrix.learn(here, here.problem.at(w + 0.1))
    matrix.serve(1e-3)
    made = NewtonMatrix(there)
    made.learn(there, there.problem.at(w + 0.1))
    np.testing.assert_allclose(matrix.step(there.gradient), made.step(there.gradient), rtol=1e-8)


def test_extrapolation_is_exact_for_polynomials():
    def curve(x):
        return np.array([1.0, 2.0]) + x * np.array([0.5, -1.0]) + x**2

    known = [(x, curve(x)) for x in (0.0, 1.0, 2.5)]
    np.testing.assert_allclose(extrapolated(known, 4.0), curve(4.0))
    assert extrapolated([], 1.0) == 0


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "exponential", "hinge"])
def test_alphas_side_by_side_have_the_solutions_of_single_fits(loss):
    X, y = rows(16_000, 5)
    matrix, pairs = as_matrix(X), Rows.of(y)
    leader = RidgeProblem(matrix, pairs, loss)
    assert leader.lead()
    train = pairs.weighing(np.arange(16_000) % 5 != 0)
    for of in (pairs, train):
        ahead = KnownPath(leader.known) if leader.known else None
        problem = leader if ahead is None else RidgeProblem(matrix, of, loss, ahead)
        found = dict(problem.along(ALPHAS, tol=1e-9, max_iter=100))
        for k, alpha in enumerate(ALPHAS):
            alone = minimise(matrix, of, loss, alpha, tol=1e-9)
            assert found[k].distance <= 1e-9
            assert found[k].objective == pytest.approx(alone.objective, rel=3e-9)
            np.testing.assert_allclose(found[k].scores, X @ found[k].coef, atol=1e-10)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_a_known_path_that_is_far_off_does_no_harm(loss):
    X, y = rows(16_000, 5)
    matrix, pairs = as_matrix(X), Rows.of(y)
    leader = RidgeProblem(matrix, pairs, loss)
    leader.lead()
    list(leader.along(ALPHAS, tol=1e-4, max_iter=100))
    for size in (1e3, 1e200):
        wrong = {
            alpha: Known(known.w + size, known.matrix) for alpha, known in leader.known.items()
        }
        path = RidgeProblem(matrix, pairs, loss, KnownPath(wrong))
        for _, fit in path.along(ALPHAS, tol=1e-8, max_iter=100):
            assert fit.distance <= 1e-8


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_a_fold_beside_all_rows_has_learnt_nothing_of_its_held_out_rows(loss):
    """Where alpha is large, the solution on all rows is within any tolerance of the fold's own."""
    X, y = rows(20_000, 40)
    matrix, pairs, held_out = as_matrix(X), Rows.of(y), np.arange(20_000) % 5 == 0
    leader = RidgeProblem(matrix, pairs, loss)
    leader.lead()
    alphas = leader.alpha_max * np.geomspace(1, 1e-3, 5)
    list(leader.along(alphas, tol=1e-6, max_iter=100))
    train, tested = pairs.weighing(~held_out), Rows.of(y[held_out])
    seen = auc(tested, matrix.dot(leader.known[alphas[0]].w)[held_out])
    fold = RidgeProblem(matrix, train, loss, KnownPath(leader.known))
    for k, fit in fold.along(alphas, tol=1e-4, max_iter=100):
        own = minimise(matrix, train, loss, alphas[k], tol=1e-10)
        area = auc(tested, own.scores[held_out])
        assert auc(tested, fit.scores[held_out]) == pytest.approx(area, abs=3e-4)
        if k == 0:
            assert seen > area + 2e-3


@contextmanager
def counted_points():
    """The vectors of scores whose rows were ordered or laid into boxes."""
    seen = []

    def counting(*args):
        seen.append(args[-1])
        return pair_point(*args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ridge_path, "pair_point", counting)
        yield seen


def test_twenty_alphas_of_a_fold_cost_few_passes():
    """A fit each took 134 passes, 19 Hessians and as many pair sums; one alone takes 12 passes.
    (Counts, not seconds.) A pass may be with 8 vectors at a time. Three passes of a fold make its
    gradients at the solutions of all rows. 20 certificates alone are 40 pair sums."""
    shape = 30_000, 30
    X, y = rows(*shape)
    matrix, pairs = as_matrix(X), Rows.of(y)
    for loss, of_all, of_fold in (("logistic", 74, 52), ("squared_hinge", 108, 54)):
        leader = RidgeProblem(matrix, pairs, loss)
        leader.lead()
        alphas = leader.alpha_max * np.geomspace(1, 1e-8, 20)
        with counted_work(*shape) as work:
            list(leader.along(alphas, tol=1e-6, max_iter=100))
        assert work["pair_sums"] <= of_all
        assert work["passes"] <= 25
        assert work["hessians"] <= 2.5
        fold = RidgeProblem(
            matrix, pairs.weighing(np.arange(shape[0]) % 5 != 0), loss, KnownPath(leader.known)
        )
        with counted_work(*shape) as work, counted_points() as points:
            list(fold.along(alphas, tol=1e-4, max_iter=100))
        assert 2 * len(points) == work["pair_sums"]  # no rows are ordered for nothing
        assert work["pair_sums"] <= of_fold
        assert work["passes"] <= 13
        assert work["hessians"] == 0


def test_twenty_alphas_of_the_hinge_cost_little_more():
    """From alpha to alpha a fold took 109 pair sums and as many passes, all rows 184 and 164. Some
    of the last alphas end at corners: Hessians of all rows are made there."""
    shape = 30_000, 30
    X, y = rows(*shape)
    matrix, pairs = as_matrix(X), Rows.of(y)
    leader = RidgeProblem(matrix, pairs, "hinge")
    assert leader.lead()
    alphas = leader.alpha_max * np.geomspace(1, 1e-8, 20)
    with counted_work(*shape) as work:
        found = dict(leader.along(alphas, tol=1e-6, max_iter=100))
    assert max(fit.distance for fit in found.values()) <= 1e-6
    assert work["pair_sums"] <= 142
    assert work["passes"] <= 34
    assert work["hessians"] <= 4.5
    fold = RidgeProblem(
        matrix, pairs.weighing(np.arange(shape[0]) % 5 != 0), "hinge", KnownPath(leader.known)
    )
    with counted_work(*shape) as work:
        found = dict(fold.along(alphas, tol=1e-4, max_iter=100))
    assert max(fit.distance for fit in found.values()) <= 1e-4
    assert work["pair_sums"] <= 60
    assert work["passes"] <= 15
    assert work["hessians"] == 0


@pytest.mark.parametrize(
    ("loss", "passes", "pair_sums", "hessians"),
    [("logistic", 65, 67, 2.5), ("squared_hinge", 76, 77, 2.5)],
)
def test_twenty_alphas_one_after_the_other_cost_few_passes(loss, passes, pair_sums, hessians):
    """A fit each took 134 passes and 19 Hessians; one alone takes 12. (Counts, not seconds.)"""
    shape = 30_000, 30
    X, y = rows(*shape)
    path = RidgeProblem(as_matrix(X), Rows.of(y), loss)
    alphas = path.alpha_max * np.geomspace(1, 1e-8, 20)
    with counted_work(*shape) as work:
        for alpha in alphas:
            path.fit(alpha, tol=1e-4, max_iter=100)
    assert work["passes"] <= passes
    assert work["pair_sums"] <= pair_sums
    assert work["hessians"] <= hessians
