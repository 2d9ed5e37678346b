"""The hinge on sparse rows by coordinate ascent on its dual."""

import numpy as np
import pytest
from scipy import sparse

from everypair import AUCClassifier
from everypair._compiled import ascend_rows
from everypair.linalg.matrix import as_matrix
from everypair.pairs import pair_point
from everypair.pairs.projected import all_tied
from everypair.rows import Rows
from everypair.solvers import dual_ascent
from everypair.solvers.choose import minimise
from everypair.solvers.corner import out_of_reach
from everypair.solvers.ridge_path import RidgeProblem
from lab.benchmarks.core import text_like_data


@pytest.fixture
def ascents(monkeypatch):
    """Each ascent that was begun."""
    begun, plain = [], dual_ascent._Ascent.__init__

    def begin(ascent, *args):
        plain(ascent, *args)
        begun.append(ascent)

    monkeypatch.setattr(dual_ascent._Ascent, "__init__", begin)
    return begun


def text(n_rows=3000, n_columns=2500, seed=4, dtype=np.float64):
    X, y = text_like_data(n_rows, n_columns, seed=seed)
    return X.astype(dtype), np.asarray(y)


def objective(X, pairs, w, alpha):
    return pair_point("hinge", pairs, X @ w).value() + alpha / 2 * w @ w


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [False, True])
def test_it_ends_in_the_solution_of_the_roundings(weighted, dtype, ascents):
    X, y = text(dtype=dtype)
    rng = np.random.default_rng(0)
    weight = rng.integers(1, 4, y.size).astype(float) if weighted else np.ones(y.size)
    pairs, alpha = Rows.of(y, weight), 1e-4
    mine = minimise(as_matrix(X), pairs, "hinge", alpha)
    other = minimise(as_matrix(X.tocsc()), pairs, "hinge", alpha, max_iter=1000)
    assert len(ascents) == 1
    (ascent,) = ascents
    assert ascent.found.gap <= 1e-6  # it was not given up
    assert mine.distance <= 1e-6
    value = objective(X, pairs, mine.coef, alpha)
    np.testing.assert_allclose(mine.objective, value, rtol=1e-9)
    np.testing.assert_allclose(value, other.objective, rtol=3e-6)
    assert out_of_reach(pairs, ascent.found.gradient) < 1e-12
    dual = -ascent.found.gradient[pairs.positives].sum()
    dual -= np.sum((X.T @ ascent.found.gradient) ** 2) / (2 * alpha)
    assert value - dual <= 1.01e-6 * value
    assert dual <= other.objective


def test_text_takes_few_readings(ascents):
    """20 Newton steps and more, with hundreds of products, by the roundings."""
    X, y = text(6000, 6000, seed=7)
    found = minimise(as_matrix(X), Rows.uncut(y), "hinge", 1e-4)
    assert found.distance <= 1e-6
    assert found.n_iter <= 16
    assert ascents[0].n_read <= 20 * y.size


@pytest.mark.parametrize(
    ("shape", "seed", "share", "readings"),
    [((12_000, 6_000), 3, 0.03, 16), ((5_000, 5_000), 1, 0.1, 40)],
)
def test_a_round_that_falls_back_is_not_the_beginning_of_the_end(
    shape, seed, share, readings, ascents
):
    """More and more rows used to be tied from there on, until no multiplier moved."""
    X, y = text_like_data(*shape, seed=seed, share=share)
    found = minimise(as_matrix(X), Rows.uncut(np.asarray(y)), "hinge", 1e-4)
    assert found.distance <= 1e-6
    assert ascents[0].found.gap <= 1e-6
    assert found.n_iter <= 24
    assert ascents[0].n_read <= readings * y.size


def test_sweeps_end_at_the_sums_of_the_ties():
    X, y = text(1500, 900)
    pairs, alpha = Rows.uncut(y), 1e-3
    held, size = all_tied(pairs), float(as_matrix(X).compressed_rows[-1].mean())
    gradient = held.gradient.copy()
    ascend_rows(
        *as_matrix(X).compressed_rows, pairs.positive.astype(float), alpha, 0.1 * size / alpha,
        held.tie, held.lower, held.upper, 60, 1e-3, np.arange(y.size), np.ones(1, np.uint64),
        held.levels.copy(), np.zeros(X.shape[1]), gradient,
    )  # fmt: skip
    assert np.abs(gradient).sum() > 0.1
    assert abs(gradient.sum()) < 1e-3 * np.abs(gradient).sum()


def test_where_rounds_lag_newton_goes_on(ascents, monkeypatch):
    """A column that is far from zero and large makes coordinates useless."""
    monkeypatch.setattr(dual_ascent, "LEAST_ALPHA", 1e-300)
    X, y = text(1500, 900)
    X = sparse.hstack([X, sparse.csr_matrix(np.full((y.size, 1), 300.0))]).tocsr()
    X[:, 3] *= 50
    found = minimise(as_matrix(X.tocsr()), Rows.uncut(y), "hinge", 1e-4, max_iter=300)
    assert len(ascents) == 1
    assert ascents[0].found.gap > 1e-6
    assert found.distance <= 1e-6


def test_few_steps_are_no_more_than_asked_for():
    X, y = text(1500, 900)
    found = minimise(as_matrix(X), Rows.uncut(y), "hinge", 1e-4, max_iter=3)
    assert found.n_iter == 3
    assert found.distance < 1
    assert np.isfinite(found.coef).all()


@pytest.mark.parametrize("change", ["CSC", "dense", "groups"])
def test_it_is_for_compressed_rows_without_groups(change, ascents):
    X, y = text(400, 350)
    pairs = Rows.uncut(y)
    if change == "CSC":
        X = X.tocsc()
    elif change == "dense":
        X = X.toarray()
    else:
        pairs = Rows.of(y, within=np.arange(y.size) % 3)
    minimise(as_matrix(X), pairs, "hinge", 1e-3)
    assert not ascents


def test_a_start_is_where_a_fit_begins(ascents):
    """Without an ascent, which would begin at zero: a warm start goes on from fit to fit."""
    X, y = text(400, 350)
    model = AUCClassifier("hinge", alpha=1e-3, warm_start=True).fit(X, y)
    ascents.clear()
    assert model.fit(X, y).dual_gap_ <= 1e-6
    assert not ascents


def test_along_a_path_every_alpha_is_tried_by_ascent(ascents):
    """From the solution at the alpha before, roundings took up to a hundred times as long."""
    X, y = text()
    path = RidgeProblem(as_matrix(X), Rows.uncut(y), "hinge")
    for alpha in (3e-4, 1e-4, 3e-5):
        assert path.fit(alpha, tol=1e-6, max_iter=100).distance <= 1e-6
    assert len(ascents) == 3
    assert all(ascent.found.gap <= 1e-6 for ascent in ascents)


def test_rows_that_are_long_for_their_alpha_are_left_to_the_roundings():
    X = sparse.random(800, 600, 0.02, format="csr", random_state=0)
    y = np.asarray(X[:, :30].sum(axis=1)).ravel() > 0.5
    assert AUCClassifier("hinge").fit(1e6 * X, y).dual_gap_ <= 1e-6
