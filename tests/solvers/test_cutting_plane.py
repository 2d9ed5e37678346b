"""The cutting plane's model and bounds."""

from __future__ import annotations

import numpy as np
import pytest

from everypair.linalg.matrix import as_matrix
from everypair.measures import FBeta, Measure, Violation
from everypair.solvers import planes as module
from everypair.solvers.cutting_plane import cutting_plane
from everypair.solvers.planes import Planes, SlackProblem


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 6))
    score = X @ rng.standard_normal(6) + 0.4 * rng.standard_normal(400)
    return X, score > np.quantile(score, 0.7)


def test_planes_lie_below_the_slack_and_touch_it_where_they_were_cut(data):
    X, positive = data
    rng = np.random.default_rng(1)
    problem = SlackProblem(as_matrix(X), positive, FBeta(), 1.0, True)
    planes = Planes(problem)
    points = [0.05 * rng.standard_normal(7) for _ in range(20)]
    for w in points:
        point = problem.at(w)
        planes.add(point.cut, w)
        assert point.cut.offset + point.cut.slope @ w == pytest.approx(point.slack, abs=1e-9)
    for w in [*points, *(0.1 * rng.standard_normal(7) for _ in range(20))]:
        assert np.max(planes.offsets + planes.slopes.products(w)) <= problem.at(w).slack + 1e-9


def test_bound_is_the_minimum_of_the_model(data):
    X, positive = data
    rng = np.random.default_rng(2)
    problem = SlackProblem(as_matrix(X), positive, FBeta(), 0.02, True)
    planes = Planes(problem)
    for _ in range(8):
        point = problem.at(0.05 * rng.standard_normal(7))
        planes.add(point.cut, point.w)

    def model(w):
        return w @ w / 2 + 0.02 * np.max(planes.offsets + planes.slopes.products(w))

    bound, w = planes.lower_bound(), planes.minimum()
    assert model(w) == pytest.approx(bound, rel=1e-9)
    for _ in range(50):
        assert model(w + 0.01 * rng.standard_normal(7)) >= bound


@pytest.mark.parametrize("constant", [False, True])
def test_wide_data_give_the_fit_that_their_rotation_to_few_columns_gives(constant):
    """The first keeps labellings, the second slopes: two stores, one answer."""
    rng = np.random.default_rng(3)
    few = rng.standard_normal((60, 5))
    positive = few[:, 0] + 0.5 * rng.standard_normal(60) > 0.5
    rotation = np.linalg.qr(rng.standard_normal((80, 5)))[0].T
    tall = cutting_plane(as_matrix(few), positive, FBeta(), 0.1, constant=constant, tol=1e-7)
    wide = cutting_plane(
        as_matrix(few @ rotation), positive, FBeta(), 0.1, constant=constant, tol=1e-7
    )
    assert wide.objective == pytest.approx(tall.objective, rel=1e-6)
    np.testing.assert_allclose(rotation @ wide.coef, tall.coef, atol=1e-3)


@pytest.mark.parametrize("stale", [5, 30, 10**6])
def test_dropping_stale_cuts_keeps_the_answer(data, monkeypatch, stale):
    X, positive = data
    monkeypatch.setattr(module, "STALE_STEPS", stale)
    fit = cutting_plane(as_matrix(X), positive, FBeta(), 1.0, constant=True, tol=1e-6)
    whole = cutting_plane(as_matrix(X), positive, FBeta(), 1.0, constant=True, tol=1e-9)
    assert fit.distance <= 1e-6
    assert fit.objective == pytest.approx(whole.objective, rel=2e-6)
    if stale == 5:
        assert fit.n_cuts < fit.n_iter - 10


def test_history_descends_and_ends_at_the_fit(data):
    X, positive = data
    fit = cutting_plane(as_matrix(X), positive, FBeta(), 0.1, constant=True, tol=1e-4)
    seconds, objectives, gaps = zip(*fit.history, strict=True)
    assert list(seconds) == sorted(seconds)
    assert list(objectives) == sorted(objectives, reverse=True)
    assert list(gaps) == sorted(gaps, reverse=True)
    assert (objectives[-1], gaps[-1]) == (fit.objective, fit.distance)
    again = SlackProblem(as_matrix(X), positive, FBeta(), 0.1, True)
    assert again.at(np.append(fit.coef, fit.constant)).objective == fit.objective


def test_even_a_very_small_c_moves_away_from_zero(data):
    X, positive = data
    small, tiny = (
        cutting_plane(as_matrix(X), positive, FBeta(), C, constant=True) for C in (1e-6, 1e-7)
    )
    assert tiny.objective < 1e-7 * 100
    # There w is C times a mean of slopes at zero.
    np.testing.assert_allclose(10 * tiny.coef, small.coef, rtol=0.2)


class Nothing(Measure):
    """No labelling costs anything."""

    def most_violated(self, positive, scores):
        return Violation(0.0, np.zeros(scores.size))


def test_a_measure_without_loss_ends_at_zero(data):
    X, positive = data
    fit = cutting_plane(as_matrix(X), positive, Nothing(), 1.0, constant=True)
    assert (fit.objective, fit.distance, fit.n_iter) == (0.0, 0.0, 1)
    assert not np.any(fit.coef)
