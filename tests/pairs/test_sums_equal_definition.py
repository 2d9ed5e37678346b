"""Every fast pair sum against the sum written out over pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from strategies import ranked_data

from everypair.linalg import order
from everypair.linalg.dense import DenseMatrix
from everypair.linalg.matrix import as_matrix
from everypair.linalg.threads import thread_limit
from everypair.pairs import LOSSES, auc, pair_point
from everypair.pairs import brute as definition
from everypair.pairs.brute import BrutePoint
from everypair.pairs.losses import LOGISTIC, huber_hinge
from everypair.pairs.ranked_classes import SortedScores
from everypair.pairs.smooth import ROUGH_ACCURACY
from everypair.pairs.sorted import HuberHingePoint
from everypair.rows import Rows

CASES = [*LOSSES, "huber_hinge 1", "huber_hinge 1e-3"]


@pytest.fixture(autouse=True, params=[False, True], ids=["", "sorted by keys"])
def however_sorted(request, monkeypatch):
    """Small classes are sorted directly unless told otherwise."""
    if request.param:
        monkeypatch.setattr(order, "ROWS_FOR_KEYS", 1)
        monkeypatch.setattr(order, "SAMPLED_VALUES", 1)


def both(case, pairs, scores):
    """The fast point and the definition's."""
    if case.startswith("huber_hinge"):
        width = float(case.split()[1])
        fast = HuberHingePoint(SortedScores(pairs, scores), width)
        return fast, BrutePoint(huber_hinge(width), pairs, scores)
    return pair_point(case, pairs, scores), BrutePoint(LOSSES[case], pairs, scores)


def scales_of(case):
    """exp(-z) leaves the range of float64 at margins of 700."""
    return (1e-8, 1e-3, 1.0, 30.0) if case == "exponential" else (1e-8, 1e-3, 1, 30.0, 1e3, 1e8)


def value_tolerance(slow):
    """1e-12 (1 + mean |margin|); losses that grow faster than z are held relative to themselves."""
    mean_margin = np.sum(slow.weights * np.abs(slow.margins))
    fast_growing = slow.loss.name in ("square", "squared_hinge", "exponential")
    return 1e-12 * (1 + mean_margin + (slow.value() if fast_growing else 0))


def curvature_scale(case, slow, pairs, scores, vector):
    """The largest entry of ``H v``.

    The sigmoid's second derivative changes sign and vanishes at ties; its sums are held
    relative to the same sums of its envelope ``sigma(z) sigma(-z)`` instead.
    """
    if case != "sigmoid":
        return np.max(np.abs(slow.product(vector)))
    envelope = BrutePoint(LOGISTIC, pairs, scores)
    differences = vector[pairs.positives][:, None] - vector[pairs.negatives][None, :]
    per_pair = envelope.weights * LOGISTIC.curvature(envelope.margins) * np.abs(differences)
    return max(per_pair.sum(axis=0).max(), per_pair.sum(axis=1).max())


def assert_close(actual, expected, largest):
    """To 1e-10 of the largest entry; numbers below 1e-300 are as good as zero."""
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-10 * largest + 1e-300)


def check(case, pairs, scores, rng):
    fast, slow = both(case, pairs, scores)
    assert abs(fast.value() - slow.value()) <= value_tolerance(slow)
    expected = slow.gradient()
    assert_close(fast.gradient(), expected, np.max(np.abs(expected)))
    vector = rng.standard_normal(pairs.n_rows)
    scale = curvature_scale(case, slow, pairs, scores, vector)
    assert_close(fast.product(vector), slow.product(vector), scale)
    X = rng.standard_normal((pairs.n_rows, 3)) + 2
    expected = slow.hessian(X)
    largest = np.max(np.abs(expected))
    if case == "sigmoid":
        columns = [curvature_scale(case, slow, pairs, scores, x) for x in X.T]
        largest = max(largest, pairs.n_rows * max(columns))
    assert_close(fast.hessian(DenseMatrix(X)), expected, largest)
    for share in (0.2, 0.9):  # entry by entry, and written out for BLAS
        thin = X * (rng.random(X.shape) < share)
        expected = slow.hessian(thin)
        largest = max(np.max(np.abs(expected)), largest)
        for form in (sparse.csr_array, sparse.csc_array):
            assert_close(fast.hessian(as_matrix(form(thin))), expected, largest)
    if case != "sigmoid":
        assert abs(fast.dual_value() - slow.dual_value()) <= 10 * value_tolerance(slow)


@pytest.mark.parametrize("case", CASES)
@settings(max_examples=20)
@given(data=st.data())
def test_fast_sums_equal_the_definition(case, data):
    check(case, *data.draw(ranked_data(scales=scales_of(case))))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("scale", [1e-8, 1.0, 30.0, 1e8])
def test_fast_sums_equal_the_definition_at_two_thousand_rows(case, scale):
    if scale not in scales_of(case):
        pytest.skip("exp(-z) overflows at this scale")
    rng = np.random.default_rng(0)
    positive = rng.random(2000) < 0.1
    scores = scale * (rng.standard_normal(2000) + positive)
    check(case, Rows.uncut(positive, rng.integers(0, 4, 2000).astype(float)), scores, rng)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
@settings(max_examples=2000)
@given(data=st.data())
def test_fast_sums_equal_the_definition_many_times(case, data):
    check(case, *data.draw(ranked_data(max_rows=3000, scales=scales_of(case))))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("keys", [False, True])
def test_threads_change_nothing(case, keys, monkeypatch):
    monkeypatch.setattr(order, "ROWS_FOR_KEYS", 1 if keys else 10_000)
    monkeypatch.setattr("everypair.linalg.threads.OPERATIONS_PER_THREAD", 100)
    monkeypatch.setattr("everypair.linalg.threads.OPERATIONS_OF_A_FINE_BLOCK", 100)
    monkeypatch.setattr("everypair.linalg.order.ROWS_OF_A_BUCKET", 20)
    rng = np.random.default_rng(5)
    positive = rng.random(1500) < 0.2
    with thread_limit(3):
        for weight in (rng.random(1500), None):
            check(case, Rows.uncut(positive, weight), 3 * rng.standard_normal(1500), rng)


@pytest.mark.parametrize("offset", [1e6, 1e8])
@pytest.mark.parametrize("case", CASES)
def test_a_common_offset_costs_no_digits(case, offset):
    rng = np.random.default_rng(6)
    positive = rng.random(80) < 0.3
    check(case, Rows.uncut(positive), rng.standard_normal(80) + offset, rng)


def test_rows_that_cancel_in_a_box_still_count_in_the_hessian():
    X = np.array([[10.0], [12.0], [10.0], [12.0]])
    pairs = Rows.uncut(np.array([True, True, False, False]))
    fast, slow = both("logistic", pairs, X[:, 0] / 10)
    np.testing.assert_allclose(fast.hessian(DenseMatrix(X)), slow.hessian(X), rtol=1e-10)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e305])
def test_scores_beyond_use_are_refused(bad):
    pairs, scores = Rows.uncut(np.array([True, False, True])), np.array([bad, 0.0, 1.0])
    for sum_up in (lambda: pair_point("logistic", pairs, scores), lambda: auc(pairs, scores)):
        with pytest.raises(ValueError, match="must be finite"):
            sum_up()


@pytest.mark.parametrize("case", ["logistic", "sigmoid"])
@settings(max_examples=40)
@given(data=st.data())
def test_tails_keep_relative_accuracy(case, data):
    """Perfectly ranked scores: every gradient entry is tiny, and still right to ten digits."""
    pairs, scores, _ = data.draw(ranked_data(max_rows=40, scales=(1.0, 10.0, 30.0)))
    scores = scores - scores.mean() + 200.0 * pairs.positive
    fast, slow = both(case, pairs, scores)
    expected = slow.gradient()
    assert_close(fast.gradient(), expected, np.max(np.abs(expected)))


@settings(max_examples=100)
@given(data=st.data())
def test_auc_equals_the_definition(data):
    pairs, scores, _ = data.draw(ranked_data())
    assert auc(pairs, scores) == pytest.approx(definition.auc(pairs, scores), abs=1e-13)


def test_exponential_overflows_to_infinity_not_nan():
    pairs = Rows.uncut(np.array([True, False, True]))
    assert pair_point("exponential", pairs, np.array([0.0, 2000.0, 1.0])).value() == np.inf


def test_scores_past_the_last_whole_number_are_summed():
    scores = np.array([1e17, 1e17, 1e17 + 64, 1e17 - 64])
    point = pair_point("logistic", Rows.uncut(np.array([True, False, True, False])), scores)
    assert point.value() == pytest.approx(np.log(2) / 4, rel=1e-9)
    assert np.all(np.isfinite(point.gradient()))


def test_rough_hessian_is_within_its_promise():
    rng = np.random.default_rng(1)
    positive = rng.random(2000) < 0.2
    X = DenseMatrix(rng.standard_normal((2000, 5)))
    point = pair_point("logistic", Rows.uncut(positive), 3 * X.dot(np.ones(5)))
    exact, rough = point.hessian(X), point.hessian(X, accuracy=ROUGH_ACCURACY)
    assert 0 < np.max(np.abs(rough - exact)) <= ROUGH_ACCURACY * np.max(np.abs(exact))


def test_rough_hessian_does_not_see_the_units_of_the_features():
    """It works in single precision, whose range ends at 1e38 and whose squares at 1e19."""
    rng = np.random.default_rng(1)
    units = 10.0 ** np.array([-30, -4, 0, 4, 30])
    plain = rng.standard_normal((2000, 5))
    pairs, scores = Rows.uncut(rng.random(2000) < 0.2), 3 * plain.sum(axis=1)
    point = pair_point("logistic", pairs, scores)
    exact = point.hessian(DenseMatrix(plain))
    rough = point.hessian(DenseMatrix(units * (plain + 3)), accuracy=ROUGH_ACCURACY)
    rough /= units * units[:, None]
    np.testing.assert_allclose(rough, exact, rtol=0, atol=ROUGH_ACCURACY * np.max(np.abs(exact)))


@pytest.mark.parametrize("case", [c for c in CASES if c not in ("sigmoid", "hinge")])
def test_gradient_is_the_slope_of_the_value(case):
    rng = np.random.default_rng(2)
    positive = rng.random(40) < 0.3
    pairs, scores, step = Rows.uncut(positive), rng.standard_normal(40), 1e-6
    direction = rng.standard_normal(40)
    up, _ = both(case, pairs, scores + step * direction)
    down, _ = both(case, pairs, scores - step * direction)
    here, _ = both(case, pairs, scores)
    slope = (up.value() - down.value()) / (2 * step)
    assert slope == pytest.approx(here.gradient() @ direction, rel=1e-6)
